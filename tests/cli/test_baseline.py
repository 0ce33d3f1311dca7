"""Accepted findings: `pipeproof baseline` and `check --baseline`."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipeproof.cli import run
from pipeproof.cli._baseline import SCHEMA, read_baseline, written
from pipeproof.cli.check import exit_code
from pipeproof.verdict.result import Entry, Failure, FileReport
from pipeproof.verdict.verdict import Seen, Undecided
from tests.reports.made import accepted

ROOT = Path(__file__).parents[2]
SPEC = """\
pipeproof: 1
stages: 2
microbatches: 2
transport: [rendezvous, buffered]
ranks:
  - {0}
  - {1}
"""
CROSSED = (
    "0F0; 0SEND_F0; 0F1; 0SEND_F1; 0RECV_B0; 0B0; 0RECV_B1; 0B1",
    "1RECV_F0; 1F0; 1B0; 1SEND_B0; 1RECV_F1; 1F1; 1B1; 1SEND_B1",
)
LEGAL = (
    "0F0; 0SEND_F0; 0F1; 0SEND_F1; 0RECV_B0; 0B0; 0RECV_B1; 0B1",
    "1RECV_F0; 1F0; 1RECV_F1; 1F1; 1B0; 1SEND_B0; 1B1; 1SEND_B1",
)
MISSING = (CROSSED[0].removesuffix("; 0B1"), CROSSED[1])
ENTRY = Entry("0" * 32, "PP301", "a.yaml", "they wait", "known", "2026-01-02", ("rendezvous",))


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767312000")  # 2026-01-02
    write("a.yaml", CROSSED)
    write("fine.yaml", LEGAL)


def write(name: str, programs: tuple[str, str]) -> None:
    Path(name).write_text(SPEC.format(*programs))


def entries(path: str = "b.json") -> list[dict[str, Any]]:
    found = json.loads(Path(path).read_text())
    assert found["schema"] == SCHEMA
    accepted = found["accepted"]
    assert isinstance(accepted, list)
    return accepted


def accept(*argv: str) -> int:
    return run(["baseline", "b.json", *argv])


def check(*argv: str) -> int:
    return run(["check", "--baseline", "b.json", *argv])


def test_what_is_accepted_once_no_longer_fails_and_stays_refuted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["check", "a.yaml"]) == 1
    assert accept("a.yaml", "--reason", "known since the spring") == 0
    told = capsys.readouterr().out
    assert "b.json: 1 accepted, 1 of them new\n  new: PP301 in a.yaml under rendezvous: " in told
    (entry,) = entries()
    assert (entry["rule"], entry["path"], entry["transports"], entry["reason"], entry["date"]) == (
        "PP301",
        "a.yaml",
        ["rendezvous"],
        "known since the spring",
        "2026-01-02",
    )

    assert check("a.yaml", "fine.yaml") == 0
    told = capsys.readouterr().out
    assert "a.yaml: refuted (PP301 deadlock) under rendezvous, accepted by the baseline" in told
    assert "nothing new was found; accepted is not proved: what is refuted stays illegal" in told
    assert told.endswith("1 proved, 1 refuted, 0 unknown, 1 finding accepted\n")

    assert check("a.yaml", "--format", "json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["verdict"] == "refuted"
    assert found["baseline"] == {"path": "b.json", "accepted": 1, "gone": [], "elsewhere": 0}
    (violation,) = found["files"][0]["transports"][0]["violations"]
    assert violation["accepted"] == {"reason": "known since the spring", "date": "2026-01-02"}


def test_what_is_new_fails_and_is_told_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert accept("a.yaml", "--reason", "known") == 0
    write("a.yaml", MISSING)
    capsys.readouterr()

    assert check("a.yaml") == 1
    told = capsys.readouterr().out
    assert told.startswith("a.yaml: refuted (PP701 lost-contribution) under rendezvous\n")
    assert "accepted by the baseline on 2026-01-02: known" in " ".join(told.split())
    assert "nothing new" not in told


def test_unrelated_lines_and_another_folder_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert accept("a.yaml", "--reason", "known") == 0
    text = Path("a.yaml").read_text()
    Path("a.yaml").write_text(f"# a line more\n\n{text}")
    assert check("a.yaml") == 0
    assert check("./a.yaml") == check(str(tmp_path / "a.yaml")) == 0
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    assert run(["check", "--baseline", "../b.json", "../a.yaml"]) == 0
    (tmp_path / "sub" / "a.yaml").write_text(text)
    assert run(["check", "--baseline", "../b.json", "a.yaml"]) == 1


def test_a_finding_under_a_transport_that_is_not_named_is_new() -> None:
    assert accept("a.yaml", "--transport", "rendezvous", "--reason", "known") == 0
    assert check("a.yaml", "--transport", "rendezvous") == 0
    assert check("a.yaml", "--transport", "rendezvous-atomic") == 1
    assert accept("a.yaml", "--transport", "rendezvous-atomic") == 2
    assert accept("a.yaml", "--transport", "rendezvous-atomic", "--reason", "later") == 0
    (entry,) = entries()
    assert entry["transports"] == ["rendezvous", "rendezvous-atomic"]
    assert entry["reason"] == "known"
    assert check("a.yaml", "--transport", "rendezvous-atomic") == 0


def test_what_is_gone_is_reported_and_taken_out_when_asked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert accept("a.yaml", "--reason", "known") == 0
    write("a.yaml", LEGAL)
    capsys.readouterr()

    assert check("a.yaml") == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "gone, and in the baseline still: PP301 in a.yaml: " in told
    assert check("a.yaml", "--fail-on", "gone") == 1
    assert check("fine.yaml", "--fail-on", "gone") == 0
    assert "1 entry of the baseline: in files that were not judged now" in capsys.readouterr().out
    assert accept("a.yaml") == 0
    assert "1 gone, kept: --prune takes them out" in capsys.readouterr().out
    assert len(entries()) == 1
    assert accept("fine.yaml", "--prune") == 0
    assert len(entries()) == 1
    assert accept("a.yaml", "--prune") == 0
    assert "1 gone, taken out" in capsys.readouterr().out
    assert entries() == []


def test_of_a_file_that_was_removed_entries_are_gone(capsys: pytest.CaptureFixture[str]) -> None:
    assert accept("a.yaml", "--reason", "known") == 0
    Path("a.yaml").unlink()
    assert check("fine.yaml", "--fail-on", "gone") == 1
    assert accept("fine.yaml", "--prune") == 0
    assert entries() == []
    assert check("fine.yaml", "--fail-on", "gone") == 0


def test_old_entries_keep_their_reasons_and_dates(monkeypatch: pytest.MonkeyPatch) -> None:
    assert accept("a.yaml", "--reason", "known") == 0
    write("c.yaml", CROSSED)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1798848000")  # 2027-01-02
    assert accept("a.yaml", "c.yaml") == 2
    assert len(entries()) == 1
    assert accept("a.yaml", "c.yaml", "--reason", "later") == 0
    assert [(each["path"], each["reason"], each["date"]) for each in entries()] == [
        ("a.yaml", "known", "2026-01-02"),
        ("c.yaml", "later", "2027-01-02"),
    ]
    before = Path("b.json").read_bytes()
    assert accept("c.yaml", "a.yaml") == 0
    assert Path("b.json").read_bytes() == before


@pytest.mark.parametrize("reason", [(), ("--reason", ""), ("--reason", " \n")])
def test_nothing_is_accepted_without_a_reason(
    capsys: pytest.CaptureFixture[str], reason: tuple[str, ...]
) -> None:
    assert accept("a.yaml", *reason) == 2
    assert "1 finding is new; write --reason TEXT" in capsys.readouterr().err
    assert not Path("b.json").exists()


def test_unknown_is_never_accepted(capsys: pytest.CaptureFixture[str]) -> None:
    argv = ("a.yaml", "fine.yaml", "--engine", "explore", "--budget", "states=3")
    assert accept("a.yaml", "--reason", "known") == 0
    assert check(*argv) == 3
    assert "0 refuted, 2 unknown" in capsys.readouterr().out


def test_what_is_accepted_beside_what_is_unknown_exits_3() -> None:
    known = accepted(also=True)
    report = known.files[0]
    assert report.verdict is not None
    (transport,) = report.verdict.transports
    assert exit_code(known) == 0

    open_ = replace(transport, unknown=(Undecided("PP501", "why"),))
    partly = replace(report, verdict=replace(report.verdict, transports=(open_,)))
    assert exit_code(replace(known, files=(partly,))) == 3
    assert exit_code(replace(known, files=(partly,)), exit_zero=True) == 3
    odd = FileReport("odd.yaml", failure=Failure("do not trust this run", 4))
    assert exit_code(replace(known, files=(report, odd))) == 4
    assert exit_code(accepted()) == 1
    assert exit_code(accepted(), exit_zero=True) == 0


def test_a_counterexample_that_is_not_reproduced_is_not_accepted() -> None:
    known = accepted(also=True)
    report = known.files[0]
    assert report.verdict is not None
    (transport,) = report.verdict.transports
    seen = Seen("not reproduced", "it did not happen", "linear")
    violations = tuple(replace(each, seen=seen) for each in transport.violations)
    verdict = replace(report.verdict, transports=(replace(transport, violations=violations),))
    assert exit_code(replace(known, files=(replace(report, verdict=verdict),))) == 4


def test_what_cannot_be_judged_leaves_the_file_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.yaml").write_text("pipeproof: 1\nstages: x\n")
    assert accept("a.yaml", "bad.yaml", "--reason", "known") == 2
    assert "b.json: not written: not everything could be judged" in capsys.readouterr().err
    assert not Path("b.json").exists()
    assert accept("fine.yaml", "--select", "PP8") == 5
    assert not Path("b.json").exists()


@pytest.mark.parametrize("name", ["b.yaml", "b.yml", "b.json"])
def test_json_and_yaml_say_the_same(name: str) -> None:
    assert run(["baseline", name, "a.yaml", "--reason", 'a "reason": [é] # \\ {x}']) == 0
    text = Path(name).read_text()
    assert text.startswith("{" if name.endswith("json") else f"schema: {SCHEMA}\naccepted:\n  - ")
    baseline = read_baseline(name)
    assert baseline.entries[0].reason == 'a "reason": [é] # \\ {x}'
    assert run(["check", "--baseline", name, "a.yaml"]) == 0
    assert written(baseline.entries, name) == text
    assert run(["baseline", name, "a.yaml"]) == 0
    assert Path(name).read_text() == text
    assert read_baseline(name).entries == baseline.entries


def test_a_baseline_of_nothing_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["baseline", "b.yaml", "fine.yaml"]) == 0
    assert Path("b.yaml").read_text() == f"schema: {SCHEMA}\naccepted: []\n"
    assert run(["check", "--baseline", "b.yaml", "a.yaml"]) == 1
    assert run(["check", "--baseline", "b.yaml", "fine.yaml"]) == 0
    assert "accepted" not in capsys.readouterr().out.split("b.yaml: 0 accepted", 1)[1]


def one(**keys: object) -> str:
    """A baseline in JSON with one entry, in which `keys` stand in the place of what is right."""
    entry = json.loads(written([ENTRY], "b.json"))["accepted"][0]
    entry.update(keys)
    kept = {key: value for key, value in entry.items() if value is not None}
    return json.dumps({"schema": SCHEMA, "accepted": [kept]})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "b.json:1:1: nothing stands in the file"),
        ("{", "b.json:2:1: did not find expected node content; write YAML or JSON"),
        ("[]", "b.json:1:1: a list stands here; write a mapping with schema, accepted"),
        ("{}", "b.json:1:1: the key 'schema' is missing; write schema: here"),
        ("schema: pipeproof.baseline/2\naccepted: []\n", "b.json:1:9: 'pipeproof.baseline/2' "),
        ("schema: pipeproof.baseline/1\n", "b.json:1:1: the key 'accepted' is missing"),
        ("schema: pipeproof.baseline/1\naccepted: 3\n", "b.json:2:11: '3' stands here"),
        ("schema: pipeproof.baseline/1\naccepted: [x]\n", "b.json:2:12: 'x' stands here"),
        (
            "schema: pipeproof.baseline/1\naccepted: []\naccept: []\n",
            "b.json:3:1: 'accept' is no key here; write one of schema, accepted, did you mean",
        ),
        ("schema: pipeproof.baseline/1\naccepted: &a []\n", "an anchor stands here"),
        ("schema: pipeproof.baseline/1\nschema: x\n", "'schema' stands here again"),
        ("schema: \x1b[31m\n", "b.json:1:9: character U+001B stands here"),
        ("[" * 99, "nested too deep"),
        (one(reason=None), "the key 'reason' is missing; write reason: here"),
        (one(reason=""), "'' stands here; write why it is accepted"),
        (one(reason=" "), "' ' stands here; write why it is accepted"),
        (one(date="02.01.2026"), "'02.01.2026' stands here; write a date as 2026-11-30"),
        (one(date="2026-02-30"), "'2026-02-30' stands here; write a date"),
        (one(date=["2026-02-03"]), "a list stands here; write a date"),
        (one(date=None), "the key 'date' is missing"),
        (one(fingerprint="X" * 32), "write 32 hexadecimal digits"),
        (one(fingerprint="0" * 31), "write 32 hexadecimal digits"),
        (one(rule="PP999"), "'PP999' stands here; write one of PP101"),
        (one(transports=[]), "an empty list stands here"),
        (one(transports="rendezvous"), "write a list of transports"),
        (one(count=0), "write a whole number from 1"),
        (one(until="2026-01-02"), "'until' is no key here"),
        (one(path=None, message=None), "the key 'path' is missing"),
    ],
)
def test_what_is_no_baseline_is_refused_with_its_place(
    capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    Path("b.json").write_text(text)
    assert check("a.yaml") == 2
    told = capsys.readouterr()

    assert told.out == ""
    assert said in told.err
    assert told.err.startswith("b.json:")
    assert "Traceback" not in told.err
    assert accept("a.yaml", "--reason", "x") == 2
    assert Path("b.json").read_text() == text


def test_a_finding_that_stands_twice_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    Path("b.yaml").write_text(written([ENTRY, ENTRY], "b.yaml"))
    assert run(["check", "--baseline", "b.yaml", "a.yaml"]) == 2
    assert "b.yaml:10:18: '00000000000000000000000000000000' stands here again; it stands at " in (
        capsys.readouterr().err
    )


def test_a_baseline_that_is_not_there_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert check("a.yaml") == 2
    assert "b.json:1:1: it does not exist" in capsys.readouterr().err


@pytest.mark.parametrize("said", ["x", "", "9" * 40, "-" + "9" * 30, "1.5"])
def test_a_date_that_is_none_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], said: str
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", said)
    assert accept("a.yaml", "--reason", "x") == 2
    assert "write seconds since 1970, or unset it" in " ".join(capsys.readouterr().err.split())
    assert not Path("b.json").exists()


def test_a_reason_is_kept_as_plain_text(capsys: pytest.CaptureFixture[str]) -> None:
    evil = "<script>\x1b[31m\n::error::x\u202e```|"
    assert accept("a.yaml", "--reason", evil) == 0
    (entry,) = entries()
    assert entry["reason"] == "<script>\ufffd[31m\ufffd::error::x\ufffd```|"
    for format_ in ("text", "github", "markdown", "json"):
        capsys.readouterr()
        assert check("a.yaml", "--format", format_) == 0
        told = capsys.readouterr().out
        assert not any(line.startswith("::error") for line in told.splitlines())
        assert "\x1b" not in told


def test_every_refuted_spec_can_be_accepted_and_then_nothing_is_new(
    capsys: pytest.CaptureFixture[str],
) -> None:
    paths = [str(path) for path in sorted((ROOT / "specs/illegal").glob("*.yaml"))[::9]]
    assert accept(*paths, "--reason", "a sweep") in {0, 3}
    capsys.readouterr()
    assert check(*paths, "--fail-on", "gone") in {0, 3}
    told = capsys.readouterr().out
    assert check(*paths) in {0, 3}
    assert capsys.readouterr().out == told
    assert " findings accepted\n" in told
    assert Path("b.json").read_text() == written(read_baseline("b.json").entries, "b.json")


def test_what_is_configured_holds_for_both() -> None:
    Path("pipeproof.toml").write_text('transport = ["rendezvous-atomic"]\nbaseline = "b.json"\n')
    assert run(["check", "--no-config", "a.yaml"]) == 1
    assert accept("a.yaml", "--reason", "known") == 0
    assert [each["transports"] for each in entries()] == [["rendezvous-atomic"]]
    assert run(["check", "a.yaml"]) == 0
    assert run(["check", "a.yaml", "--transport", "rendezvous"]) == 1


def test_an_engine_and_its_budget_are_asked_here_too() -> None:
    assert accept("fine.yaml", "--engine", "explore", "--budget", "states=3") == 3
    assert accept("fine.yaml", "--engine", "explore") == 0
