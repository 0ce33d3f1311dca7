"""The commands that write and check certificates, and how they end."""

import hashlib
import json
from pathlib import Path

import pytest

from pipeproof.cli import run
from tests.properties.certifying import sealed
from tests.semantics.made import CROSSED, PASSED_ON, text

TWO = ["rendezvous", "gloo"]


@pytest.fixture
def written(tmp_path: Path) -> Path:
    return tmp_path / "cert.json"


def spec(folder: Path, *programs: str, **keys: object) -> Path:
    path = folder / "a.yaml"
    path.write_text(text(*programs, **{"fragment": True, "transport": TWO, **keys}))
    return path


def test_a_legal_schedule_is_certified_and_accepted(
    tmp_path: Path, written: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(spec(tmp_path, *PASSED_ON))

    assert run(["certify", path, "-o", str(written)]) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert f"{path}: gloo: certified: proved, 16 rules, 1 paths" in said.err
    assert run(["verify", str(written), path]) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == f"{written}: accepted, 2 statements about {path}\n"


def test_each_outcome_is_told_and_one_that_lacks_is_rejected(
    tmp_path: Path, written: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(spec(tmp_path, "CHOOSE c a|b; 0F0 if=c:a", "1F0", transport="gloo", steps=1))

    assert run(["certify", path, "-o", str(written)]) == 0
    assert "gloo, where c is a: certified: proved" in capsys.readouterr().err
    assert run(["verify", str(written), path]) == 0
    content = json.loads(written.read_text())
    del content["statements"][0]
    written.write_text(sealed(content))
    assert run(["verify", str(written), path]) == 4
    assert "an outcome is missing" in capsys.readouterr().err


def test_a_broken_one_is_certified_with_exit_code_1(tmp_path: Path, written: Path) -> None:
    path = str(spec(tmp_path, *CROSSED, transport="rendezvous"))

    assert run(["certify", path, "-o", str(written)]) == 1
    assert json.loads(written.read_text())["statements"][0]["rule"] == "PP301"
    assert run(["verify", str(written), path]) == 0


def test_without_o_it_goes_to_stdout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["certify", str(spec(tmp_path, *PASSED_ON))]) == 0
    assert json.loads(capsys.readouterr().out)["schema"] == "pipeproof.certificate/1"


def test_what_is_unknown_is_left_out_and_said(
    tmp_path: Path, written: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = spec(tmp_path, "0F0", bounds={"memory": "1GiB"})

    assert run(["certify", str(path), "-o", str(written)]) == 3
    said = capsys.readouterr().err
    assert f"{path}: gloo: left out: it is unknown" in said
    assert "nothing to certify, nothing written" in said
    assert not written.exists()


def test_the_digest_is_that_of_what_convert_prints(
    tmp_path: Path, written: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(spec(tmp_path, *PASSED_ON))
    for options in ([], ["--transport", "buffered-1"], ["--profile", "torch-runtime"]):
        run(["certify", path, "-o", str(written), *options])
        capsys.readouterr()
        run(["convert", path, "--to", "as-run", *options])
        line = capsys.readouterr().out.removesuffix("\n")
        said = json.loads(written.read_text())["schedule"]

        assert said == hashlib.sha256(line.encode()).hexdigest()


def test_other_options_are_another_schedule(
    tmp_path: Path, written: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(spec(tmp_path, *PASSED_ON))
    run(["certify", path, "-o", str(written), "--transport", "buffered"])

    assert run(["verify", str(written), path, "--transport", "buffered"]) == 0
    assert run(["verify", str(written), path]) == 4
    assert "rejected: the certificate speaks of another schedule" in capsys.readouterr().err


def test_what_does_not_hold_is_rejected_with_exit_code_4(
    tmp_path: Path, written: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(spec(tmp_path, *PASSED_ON))
    run(["certify", path, "-o", str(written)])
    content = json.loads(written.read_text())
    content["statements"][1]["paths"] = []
    written.write_text(sealed(content))

    assert run(["verify", str(written), path]) == 4
    assert f"{written}: rejected: statement 1 ('gloo'): PP" in capsys.readouterr().err
    written.write_text(written.read_text().replace("gloo", "nccl"))
    assert run(["verify", str(written), path]) == 4


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff", None])
def test_what_is_no_certificate_is_unreadable(
    tmp_path: Path, written: Path, content: bytes | None, capsys: pytest.CaptureFixture[str]
) -> None:
    if content is not None:
        written.write_bytes(content)

    assert run(["verify", str(written), str(spec(tmp_path, *PASSED_ON))]) == 2
    assert capsys.readouterr().err.startswith(f"{written}:1:1: ")


def test_an_unreadable_schedule_is_told_as_such(tmp_path: Path, written: Path) -> None:
    path = tmp_path / "b.yaml"
    path.write_text("pipeproof: 2\n")

    assert run(["certify", str(path), "-o", str(written)]) == 2
    assert run(["certify", str(tmp_path), "-o", str(written)]) == 2
    assert not written.exists()


def test_transports_go_with_what_was_run(tmp_path: Path) -> None:
    path = str(spec(tmp_path, *PASSED_ON))

    assert run(["convert", path, "--to", "spec", "--transport", "gloo"]) == 2
