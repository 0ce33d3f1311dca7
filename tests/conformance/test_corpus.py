"""Schedules of real runtimes have the verdicts that are known of them."""

import json
import shutil
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from pipeproof.api import Asked, judge
from pipeproof.cli import run
from pipeproof.frontends import torch_csv
from pipeproof.ir.reading import ReadOptions
from pipeproof.verdict.verdict import TransportVerdict

DATA = Path(__file__).parents[1] / "data"
TORCH = DATA / "torch"
CASES = DATA / "cases"
TRANSPORTS = (
    *("nccl-lazy", "nccl-eager", "nccl-edge", "nccl-direction", "nccl-first", "nccl-small"),
    *("gloo", "rendezvous"),
)
MODES = {"lazy": "nccl-lazy", "eager": "nccl-eager", "dirs": "nccl-direction", "edges": "nccl-edge"}
OF_MESSAGES = ("PP105", "PP201", "PP202", "PP203", "PP204", "PP301", "PP303", "PP405")
OF_BACKWARDS = ("PP402", "PP101", "PP102", "PP103", "PP104")
SMALLEST = 3


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of the corpus, and whether it is legal under each mode of its runtime."""

    file: str
    format: str
    size: tuple[int, int, int]
    modes: tuple[tuple[str, str], ...]

    @property
    def schedule(self) -> str:
        """The class of the runtime that made it."""
        return Path(self.file).name.partition("__")[0]

    @property
    def deferred(self) -> bool:
        return self.file.startswith("defer/")


@cache
def entries() -> tuple[Entry, ...]:
    listed = json.loads((TORCH / "index.json").read_text(encoding="utf-8"))
    return tuple(
        Entry(
            each["file"],
            each["format"],
            (each["ranks"], each["stages"], each["microbatches"]),
            tuple(sorted(each.get("comm_verdicts", {}).items())),
        )
        for each in listed
    )


def legal() -> list[Entry]:
    """Every schedule with messages that the runtime makes on its own."""
    return [each for each in entries() if each.format == "compute_comms" and not each.deferred]


def deferred() -> list[Entry]:
    return [each for each in entries() if each.deferred]


def small() -> list[Entry]:
    """The smallest of each class that have a message."""
    classes: dict[str, list[Entry]] = defaultdict(list)
    for each in legal():
        if each.size[0] > 1:
            classes[each.schedule].append(each)
    return [
        each
        for _, found in sorted(classes.items())
        for each in sorted(found, key=lambda entry: entry.size)[:SMALLEST]
    ]


def judged(entry: Entry, *transports: str) -> tuple[TransportVerdict, ...]:
    text = (TORCH / entry.file).read_text(encoding="utf-8")
    (document,) = torch_csv.read(text, entry.file, ReadOptions(profile="none"))
    return judge(document, Asked(transports=transports)).transports


def named(entry: Entry) -> str:
    return Path(entry.file).stem


def hold_legal(entry: Entry, *transports: str) -> None:
    """Check that a file is proved, and by rules that applied to something."""
    text = (TORCH / entry.file).read_text(encoding="utf-8")
    wanted = {
        *(OF_MESSAGES if "SEND_" in text else ()),
        *(OF_BACKWARDS if any(f"{letter}0" in text for letter in "BI") else ()),
        *(("PP406",) if "UNSHARD" in text else ()),
    }
    for found in judged(entry, *transports):
        assert found.outcome == "proved", (found.name, found.violations, found.unknown)
        assert not {code for code in wanted if not found.instances[code]}


def test_the_corpus_is_whole() -> None:
    assert len(legal()) == 197
    assert len(deferred()) == 49
    assert {each.schedule for each in small()} == {each.schedule for each in legal()}


@pytest.mark.parametrize("entry", small(), ids=named)
def test_a_small_schedule_of_the_runtime_is_proved_under_every_transport(entry: Entry) -> None:
    hold_legal(entry, *TRANSPORTS)


@pytest.mark.parametrize("number", range(10))
def test_a_schedule_of_the_runtime_is_proved_under_one_transport(number: int) -> None:
    """Those of up to four ranks, each under the next of the transports."""
    chosen = [each for each in legal() if each.size[0] < 8]
    for turn, entry in list(enumerate(chosen))[number::10]:
        hold_legal(entry, TRANSPORTS[turn % len(TRANSPORTS)])


@pytest.mark.slow
@pytest.mark.parametrize("entry", legal(), ids=named)
def test_a_schedule_of_the_runtime_is_proved_under_every_transport(entry: Entry) -> None:
    hold_legal(entry, *TRANSPORTS)


@pytest.mark.parametrize("entry", deferred(), ids=named)
def test_deferred_receives_have_the_verdict_of_each_mode(entry: Entry) -> None:
    expected = {MODES[mode]: said for mode, said in entry.modes if mode in MODES}

    for found in judged(entry, *expected):
        rules = {violation.rule for violation in found.violations}
        match expected[found.name]:
            case "OK":
                assert found.outcome == "proved", (found.name, rules)
            case "DEADLOCK":
                assert "PP301" in rules, (found.name, rules)
            case said:
                assert said == "OK+fifo_mismatch"
                assert "PP202" in rules, (found.name, rules)
                assert "PP301" not in rules, (found.name, rules)


def cases() -> list[dict[str, object]]:
    """The schedules with faults that people wrote down, with what each must show."""
    listed = json.loads((CASES / "index.json").read_text(encoding="utf-8"))["cases"]
    assert isinstance(listed, list)
    return listed


def hold_cases(
    chosen: list[dict[str, object]], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Check that the command agrees with the index; orders of computations may be unknown."""
    index = {"schema": "pipeproof.cases/1", "cases": chosen}
    (folder / "index.json").write_text(json.dumps(index), encoding="utf-8")
    for each in chosen:
        path = folder / str(each["file"])
        path.parent.mkdir(exist_ok=True)
        shutil.copy(CASES / str(each["file"]), path)
    run(["test", str(folder), "--format", "json"])
    found = json.loads(capsys.readouterr().out)
    orders = {each["file"] for each in chosen if each["format"] == "compute_only"}

    assert found["differ"] == 0
    assert found["agree"] > len(chosen)
    unknown = {str(Path(each["path"]).relative_to(folder)) for each in found["disagreements"]}
    assert unknown <= orders


def test_small_cases_agree_with_their_index(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(cases()) == 37
    chosen = [each for each in cases() if each["ranks"] in (1, 2)]
    hold_cases(chosen, tmp_path, capsys)


@pytest.mark.slow
def test_all_cases_agree_with_their_index(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hold_cases(cases(), tmp_path, capsys)
