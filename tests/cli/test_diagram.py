"""`pipeproof diagram` and `check --diagram`: files, exit codes, and nothing injected."""

import os
import re
from pathlib import Path

import pytest

from pipeproof.cli import _diagram, run
from tests.cli.drawings import drawing
from tests.cli.made import Process

ROOT = Path(__file__).parents[2]
HANGS = "specs/illegal/crossed-sends.yaml"
SWAPPED = "specs/illegal/swapped-receive.yaml"
LEGAL = "specs/legal/1f1b-4x8.yaml"


@pytest.fixture(autouse=True)
def _at_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.mark.usefixtures("graphviz")
@pytest.mark.parametrize(
    ("kind", "start"), [("svg", b"<?xml"), ("pdf", b"%PDF-"), ("png", b"\x89PNG")]
)
def test_a_picture_is_of_the_kind_that_its_file_names(
    tmp_path: Path, kind: str, start: bytes
) -> None:
    path = tmp_path / f"a.{kind}"

    assert run(["diagram", HANGS, "-o", str(path)]) == 1
    assert path.read_bytes().startswith(start)
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


@pytest.mark.usefixtures("graphviz")
def test_an_svg_leads_nowhere(tmp_path: Path) -> None:
    path = tmp_path / "a.svg"
    run(["diagram", HANGS, "-o", str(path)])
    text = path.read_text()

    assert set(re.findall(r"<([A-Za-z][\w:]*)", text)) <= {
        *("svg", "g", "title", "polygon", "polyline", "path", "ellipse", "text")
    }
    assert re.findall(r"https?://[^\"'\s]+", text) == ["http://www.w3.org/2000/svg"]
    assert "href" not in text
    assert "<!" not in text


def test_the_dot_text_of_a_schedule_is_always_the_same(process: Process) -> None:
    path = ROOT / "specs/illegal/one-warmup-too-many.yaml"
    texts = {process("diagram", path, PYTHONHASHSEED=seed).out for seed in ("1", "2")}

    assert [text[:19] for text in texts] == ["digraph violation {"]


def test_what_is_proved_is_not_drawn(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code = run(["diagram", LEGAL, "-o", str(tmp_path / "a.svg")])

    assert code == 0
    assert capsys.readouterr().err == f"{LEGAL}: proved, there is nothing to draw\n"
    assert not list(tmp_path.iterdir())


def test_what_is_unknown_is_not_drawn(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("pipeproof: 1\nmicrobatches: 1\nbounds: {memory: 1GiB}\nranks: [0F0]\n")
    drawn = drawing(capsys, str(path))

    assert drawn.code == 3
    assert drawn.text == ""
    assert "unknown, there is nothing to draw" in drawn.err


def test_a_violation_that_stands_at_no_operation_is_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "a.yaml"
    page = (ROOT / "docs/rules/PP902-impossible-makespan.md").read_text()
    path.write_text(page.partition("```yaml refuted\n")[2].partition("```")[0])
    drawn = drawing(capsys, str(path))

    assert (drawn.code, drawn.text) == (1, "")
    assert "stands at no operation" in drawn.err


def test_without_a_file_the_dot_text_goes_to_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    drawn = drawing(capsys, HANGS)

    assert drawn.code == 1
    assert drawn.text.startswith("digraph violation {")


def test_a_rule_is_drawn_by_its_code_or_name(capsys: pytest.CaptureFixture[str]) -> None:
    for word in ("PP202", "pp202", "crossed-messages"):
        assert "PP202 crossed-messages" in drawing(capsys, SWAPPED, "--rule", word).text


def test_a_rule_that_is_not_broken_is_told_and_not_drawn(
    capsys: pytest.CaptureFixture[str],
) -> None:
    drawn = drawing(capsys, SWAPPED, "--rule", "PP502")

    assert (drawn.code, drawn.text) == (1, "")
    assert "PP502 is not broken, there is nothing to draw" in drawn.err


def test_a_rule_that_does_not_exist_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    drawn = drawing(capsys, SWAPPED, "--rule", "PP2020")

    assert drawn.code == 2
    assert "'PP2020' is no rule" in drawn.err


def test_a_transport_is_the_one_that_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert drawing(capsys, HANGS, "--transport", "buffered").code == 0
    assert "under rendezvous" in drawing(capsys, HANGS, "--transport", "rendezvous").text


@pytest.mark.parametrize("name", ["a.jpg", "svg", "a", "a.svg.gz", "a.ps"])
def test_a_file_of_another_kind_is_an_error(capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert run(["diagram", HANGS, "-o", name]) == 2
    assert run(["check", HANGS, "--diagram", name]) == 2
    assert "end it with .svg, .pdf, .png or .dot" in capsys.readouterr().err


def test_a_file_that_cannot_be_written_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diagram", HANGS, "-o", "no-such-folder/a.dot"]) == 2
    assert "no-such-folder/a.dot" in capsys.readouterr().err


# where Graphviz is missing, or fails


def test_without_graphviz_the_text_stands_beside_the_picture(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", "")
    code = run(["diagram", HANGS, "-o", str(tmp_path / "a.svg")])
    err = capsys.readouterr().err

    assert code == 1
    assert "a.svg: not drawn: there is no 'dot' here" in err
    assert f"stands in {tmp_path / 'a.dot'}" in err
    assert [each.name for each in tmp_path.iterdir()] == ["a.dot"]
    assert (tmp_path / "a.dot").read_text() == drawing(capsys, HANGS).text


@pytest.mark.parametrize(
    ("does", "said"),
    [
        ("exec sleep 30", "took more than 0.2 s"),
        ("exit 3", "failed with code 3"),
        ("true", "failed with code 0"),
        ("echo '<svg><a href=\"x\">x</a></svg>'", "wrote more than shapes and text"),
        ("echo '<svg><script>x</script></svg>'", "wrote more than shapes and text"),
    ],
)
def test_where_graphviz_fails_the_text_stands_beside_the_picture(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    does: str,
    said: str,
) -> None:
    program = tmp_path / "bin" / "dot"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nexec 2>/dev/null\n{does}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(_diagram, "SECONDS", 0.2 if "sleep" in does else 10.0)
    code = run(["diagram", HANGS, "-o", str(tmp_path / "a.svg")])

    assert code == 1
    assert said in capsys.readouterr().err
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.dot", "bin"]


# check --diagram


def test_check_draws_the_first_refuted_schedule(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "a.dot"
    code = run(["check", LEGAL, HANGS, SWAPPED, "--diagram", str(path)])

    assert code == 1
    assert "shows specs/illegal/crossed-sends.yaml, the first of 2 refuted" in (
        capsys.readouterr().err
    )
    assert path.read_text() == drawing(capsys, HANGS).text


def test_check_draws_nothing_of_what_is_proved(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code = run(["check", LEGAL, "--diagram", str(tmp_path / "a.svg")])

    assert code == 0
    assert "no schedule is refuted, there is nothing to draw" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("engine", ["graph", "explore", "smt", "all"])
def test_check_draws_whatever_engine_decides(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, engine: str
) -> None:
    path = tmp_path / "a.dot"
    code = run(["check", HANGS, "--engine", engine, "--diagram", str(path)])
    capsys.readouterr()

    assert code == 1
    assert path.read_text() == drawing(capsys, HANGS).text


def test_check_draws_a_schedule_that_stands_in_no_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "a.dot"
    known = ("--schedule", "gpipe", "--ranks", "2", "--microbatches", "2")
    code = run(["check", *known, "--diagram", str(path)])

    assert code == 0
    assert "nothing to draw" in capsys.readouterr().err
