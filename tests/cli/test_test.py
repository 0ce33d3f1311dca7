"""Whether a schedule shows what its file says that it shows."""

import json
from pathlib import Path

import pytest

from pipeproof.errors import ReplayMismatchError, UnsupportedFeatureError
from pipeproof.ir.source import Document, Expectation
from pipeproof.verdict.expected import Agreement, Shown, compare, wanted
from pipeproof.verdict.verdict import (
    FileVerdict,
    Outcome,
    TransportVerdict,
    Undecided,
    Violation,
)
from tests.cli.made import Asked, Command, Judge, raising, verdict, violation

AGREE, DIFFER, UNKNOWN = Agreement.AGREE, Agreement.DIFFER, Agreement.UNKNOWN
DEADLOCK = violation("PP301", (0, 3), (1, 3))


def refuted(*violations: Violation, unknown: tuple[str, ...] = ()) -> Shown:
    first = violations[0] if violations else None
    return Shown("refuted", first, violations, frozenset(unknown))


def expect(verdict: str = "refuted", **more: object) -> Expectation:
    made = Expectation(None, verdict)
    for name, value in more.items():
        object.__setattr__(made, name, value)
    return made


@pytest.mark.parametrize(
    ("expected", "found", "agreement"),
    [
        (expect("proved"), Shown("proved", None, (), frozenset()), AGREE),
        (expect("proved"), refuted(DEADLOCK), DIFFER),
        (expect("refuted"), refuted(DEADLOCK), AGREE),
        (expect("refuted"), Shown("proved", None, (), frozenset()), DIFFER),
        (expect(rule="PP301"), refuted(DEADLOCK), AGREE),
        (expect(rule="PP205"), refuted(DEADLOCK), DIFFER),
        (expect(rule="PP205", alternatives=("PP301",)), refuted(DEADLOCK), AGREE),
        (expect(rule="PP301", at=("r0.3",)), refuted(DEADLOCK), AGREE),
        (expect(rule="PP301", at=("r0.3", "r1.3")), refuted(DEADLOCK), AGREE),
        (expect(rule="PP301", at=("r0.3", "r1.4")), refuted(DEADLOCK), DIFFER),
        (expect(rule="PP301", at=("r0.3",), exact=True), refuted(DEADLOCK), DIFFER),
        (expect(rule="PP301", at=("r1.3", "r0.3"), exact=True), refuted(DEADLOCK), AGREE),
        (expect(rule="PP301", at_any=("r9.9", "r1.3")), refuted(DEADLOCK), AGREE),
        (expect(rule="PP301", at_any=("r9.9",)), refuted(DEADLOCK), DIFFER),
        # Places count only where a violation with the rule is reported.
        (
            expect(rule="PP205", alternatives=("PP301",), at=("r9.9",)),
            refuted(DEADLOCK),
            AGREE,
        ),
        # Places of all violations with that code, also of those that are not the first.
        (
            expect(rule="PP201", at=("r0.1", "r1.1")),
            refuted(violation("PP201", (0, 1)), violation("PP201", (1, 1))),
            AGREE,
        ),
        (
            expect(rule="PP205", alternatives=("PP301",), at=("r2.0",)),
            refuted(DEADLOCK, violation("PP205", (3, 0))),
            DIFFER,
        ),
    ],
)
def test_an_expectation_agrees_or_not(
    expected: Expectation, found: Shown, agreement: Agreement
) -> None:
    assert compare(expected, found)[0] is agreement


@pytest.mark.parametrize(
    ("rule", "places", "agreement"),
    [
        ("PP401", 1, AGREE),
        ("PP401", 2, DIFFER),
        ("PP101", 0, AGREE),
        ("PP202", 2, AGREE),
        ("PP203", 1, DIFFER),
        ("PP204", 3, DIFFER),
        ("PP106", 5, AGREE),
        ("PP205", 5, AGREE),
        ("PP301", 5, AGREE),
    ],
)
def test_a_violation_names_no_more_than_what_shows_it(
    rule: str, places: int, agreement: Agreement
) -> None:
    found = refuted(violation(rule, *((rank, 0) for rank in range(places))))

    assert compare(expect(rule=rule), found)[0] is agreement


@pytest.mark.parametrize(
    ("expected", "agreement"),
    [
        (expect("unknown"), AGREE),
        (expect("unknown", rule="PP505"), AGREE),
        (expect("unknown", rule="PP301"), DIFFER),
        (expect("refuted", rule="PP505"), UNKNOWN),
        (expect("refuted", rule="PP301", alternatives=("PP505",)), UNKNOWN),
        (expect("refuted", rule="PP301"), DIFFER),
        (expect("refuted"), DIFFER),
        (expect("proved"), UNKNOWN),
    ],
)
def test_what_is_undecided_differs_unless_its_rule_is_undecided(
    expected: Expectation, agreement: Agreement
) -> None:
    found = Shown("unknown", None, (), frozenset({"PP505"}))

    assert compare(expected, found)[0] is agreement


def test_an_expectation_is_told_in_words() -> None:
    expected = expect(rule="PP301", alternatives=("PP205",), at=("r0.1", "r1.1"), exact=True)

    assert wanted(expected) == "refuted PP301 or PP205 at r0.1, r1.1 and nowhere else"
    assert wanted(expect("refuted", rule="PP1", at_any=("r0.1", "r1.1"))) == (
        "refuted PP1 at one of r0.1, r1.1"
    )


PROGRAMS = "pipeproof: 1\nmicrobatches: 1\ntransport: [gloo, rendezvous]\nranks:\n  - 0F0; 0B0\n"


def written(folder: Path, *entries: str, name: str = "s.yaml") -> Path:
    lines = "".join(f"  - {{{entry}}}\n" for entry in entries)
    path = folder / name
    path.write_text(f"{PROGRAMS}expect:\n{lines}" if entries else PROGRAMS)
    return path


def by_transport(refuting: str) -> Judge:
    """A judge that refutes under one transport."""

    def judge(document: Document, asked: Asked) -> FileVerdict:
        own = tuple(each.name for each in document.schedule.transports)
        transports = tuple(
            TransportVerdict(
                name,
                Outcome.REFUTED if name == refuting else Outcome.PROVED,
                "graph",
                4,
                1,
                (),
                violations=(DEADLOCK,) if name == refuting else (),
            )
            for name in asked.transports or own
        )
        outcome = Outcome.REFUTED if any(t.violations for t in transports) else Outcome.PROVED
        made = verdict(document, outcome)
        object.__setattr__(made, "transports", transports)
        return made

    return judge


def test_an_entry_without_a_transport_speaks_of_all_of_the_files_own(
    command: Command, tmp_path: Path
) -> None:
    command.judge = by_transport("rendezvous")
    path = written(
        tmp_path,
        "verdict: refuted, rule: PP301, at: [r0.3]",
        "transport: gloo, verdict: proved",
        "transport: rendezvous, verdict: refuted",
        "transport: nccl-lazy, verdict: proved",
    )

    assert command("test", path) == 0
    assert command.out == "4 agree, 0 differ, 0 unknown\n"


def test_a_disagreement_is_a_line_with_what_was_wanted_and_what_was_found(
    command: Command, tmp_path: Path
) -> None:
    command.judge = by_transport("gloo")
    path = written(tmp_path, "transport: gloo, verdict: proved", "verdict: refuted, rule: PP201")

    assert command("test", path) == 1
    assert command.out == (
        f"{path}: line 7, gloo: differ: wanted proved; got refuted PP301 at r0.3, r1.3\n"
        f"{path}: line 8: differ: wanted refuted PP201; got refuted PP301 at r0.3, r1.3\n"
        "0 agree, 2 differ, 0 unknown\n"
    )


def test_a_transport_that_the_file_does_not_have_exits_2(command: Command, tmp_path: Path) -> None:
    path = written(tmp_path, "transport: custom, verdict: proved", "verdict: proved")

    assert command("test", path) == 2
    assert f"{path}:7:1: 'custom' is no transport of this file; write one of gloo," in command.err
    assert command.out.endswith("1 agree, 0 differ, 0 unknown\n")


def test_only_unknowns_exit_3(command: Command, tmp_path: Path) -> None:
    undecided = (Undecided("PP505", "storage is not judged"),)
    command.judge = lambda document, _: verdict(document, Outcome.UNKNOWN, unknown=undecided)
    path = written(tmp_path, "verdict: refuted, rule: PP505", "verdict: unknown")

    assert command("test", path) == 3
    assert command.out.endswith("1 agree, 0 differ, 1 unknown\n")


def test_what_is_unsupported_is_unknown(command: Command, tmp_path: Path) -> None:
    command.judge = raising(UnsupportedFeatureError("faults are not judged"))
    path = written(tmp_path, "verdict: proved", "verdict: unknown")

    assert command("test", path) == 3
    assert command.out == (
        f"{path}: line 7: unknown: wanted proved; got unknown (faults are not judged)\n"
        "1 agree, 0 differ, 1 unknown\n"
    )


def test_an_unreadable_file_exits_2_and_does_not_stop_the_others(
    command: Command, tmp_path: Path
) -> None:
    written(tmp_path, "verdict: proved")
    (tmp_path / "a.yaml").write_text("pipeproof: 2\n")

    assert command("test", tmp_path) == 2
    assert "a.yaml:1:12: " in command.err
    assert command.out.endswith("1 agree, 0 differ, 0 unknown\n")


def test_a_verdict_not_to_be_trusted_exits_4(command: Command, tmp_path: Path) -> None:
    command.judge = raising(ReplayMismatchError("no replay"))

    assert command("test", written(tmp_path, "verdict: proved")) == 4


def test_nothing_to_compare_exits_5(command: Command, tmp_path: Path) -> None:
    assert command("test", tmp_path) == 5
    assert command("test", written(tmp_path)) == 5


def test_a_program_reads_json(command: Command, tmp_path: Path) -> None:
    path = written(tmp_path, "verdict: proved", "verdict: refuted")
    command("test", path, "--format", "json")

    assert json.loads(command.out) == {
        "schema": "pipeproof.test/1",
        "agree": 1,
        "differ": 1,
        "unknown": 0,
        "disagreements": [
            {
                "path": str(path),
                "entry": "line 8",
                "agreement": "differ",
                "wanted": "refuted",
                "got": "proved",
            }
        ],
    }


def indexed(folder: Path, *cases: object) -> Path:
    path = folder / "index.json"
    path.write_text(json.dumps({"cases": cases}))
    return path


@pytest.fixture
def profiles(command: Command) -> list[tuple[str, str, int, int]]:
    """Name, profile, stages and microbatches of what was judged."""
    seen: list[tuple[str, str, int, int]] = []

    def judge(document: Document, asked: Asked) -> FileVerdict:
        schedule = document.schedule
        name = Path(document.name).name
        seen.append((name, schedule.profile, schedule.stages, schedule.microbatches))
        return verdict(document)

    command.judge = judge
    return seen


def test_an_index_speaks_for_a_csv_under_each_profile(
    command: Command, tmp_path: Path, profiles: list[tuple[str, str, int, int]]
) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a.csv").write_text("0F0,0B0\n")
    written(tmp_path, "verdict: proved", name="b.yaml")
    proved = [{"verdict": "proved"}]
    indexed(
        tmp_path,
        {
            "file": "deep/a.csv",
            "stages": 3,
            "microbatches": 4,
            "expect": proved,
            "profiles": {"torch-runtime": [*proved, {"verdict": "refuted", "rule": "PP301"}]},
        },
        {"file": "b.yaml", "expect": [{"verdict": "refuted"}]},
    )

    assert command("test", tmp_path) == 1
    assert sorted(profiles) == [
        ("a.csv", "none", 3, 4),
        ("a.csv", "torch-runtime", 3, 4),
        ("b.yaml", "none", 1, 1),
    ]
    assert "expect[1], profile torch-runtime: differ: wanted refuted PP301; " in command.out
    assert command.out.endswith("3 agree, 1 differ, 0 unknown\n")


def test_a_file_that_an_index_lists_and_that_is_missing_exits_2(
    command: Command, tmp_path: Path
) -> None:
    path = indexed(tmp_path, {"file": "no.csv", "expect": [{"verdict": "proved"}]})

    assert command("test", path) == 2
    assert "no.csv:1:1: it does not exist" in command.err


@pytest.mark.parametrize(
    "case",
    [
        3,
        {},
        {"file": 3},
        {"file": "a.csv", "expect": 3},
        {"file": "a.csv", "expect": [3]},
        {"file": "a.csv", "expect": [{}]},
        {"file": "a.csv", "expect": [{"verdict": "legal"}]},
        {"file": "a.csv", "expect": [{"verdict": "proved", "att": []}]},
        {"file": "a.csv", "expect": [{"verdict": "proved", "at": [3]}]},
        {"file": "a.csv", "expect": [{"verdict": "proved", "rule": 3}]},
        {"file": "a.csv", "expect": [], "stages": "2"},
        {"file": "a.csv", "profiles": []},
    ],
)
def test_an_index_that_says_something_else_exits_2(
    command: Command, tmp_path: Path, case: object
) -> None:
    path = indexed(tmp_path, case)

    assert command("test", tmp_path) == 2
    assert f"{path}:1:1: " in command.err


def test_an_index_that_is_no_json_exits_2_with_its_place(command: Command, tmp_path: Path) -> None:
    (tmp_path / "index.json").write_text('{"cases":\n [}')

    assert command("test", tmp_path) == 2
    assert "index.json:2:3: " in command.err


def test_an_index_of_another_kind_is_passed_over(command: Command, tmp_path: Path) -> None:
    (tmp_path / "index.json").write_text("[1, 2]")

    assert command("test", tmp_path) == 5
