"""A name for each finding, whatever stands around it."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from pipeproof.api import Asked, judge_text
from pipeproof.verdict.fingerprint import fingerprint, named_below, skeleton
from pipeproof.verdict.verdict import Place, TraceStep, Violation
from tests.semantics.made import text

FOUND = Violation(
    "PP102",
    "duplicate-operation",
    "0F0 has already taken place",
    (Place(0, 4, "0F0", 4, stage=0, microbatch=0, version=0, ordinal=1),),
    9,
    trace=(TraceStep("0F0", "start", 0, 4),),
)


def prints(*programs: str, **keys: object) -> set[str]:
    verdict = judge_text(text(*programs, **keys), "a.yaml")
    found = [each for transport in verdict.transports for each in transport.violations]
    return {fingerprint("a.yaml", each) for each in found}


def test_a_fingerprint_is_the_same_in_every_version() -> None:
    assert fingerprint("a/b.yaml", FOUND) == "c0861473bc01cd2ca1a7c3ee74083a33"


def test_where_it_stands_how_it_is_shown_and_what_it_costs_do_not_matter() -> None:
    place = FOUND.at[0]._replace(position=11, row=35, version=7)
    moved = replace(FOUND, at=(place,), cost=1, trace=(), reached=False, first=True)

    assert fingerprint("b.yaml", moved) == fingerprint("b.yaml", FOUND)


@pytest.mark.parametrize(
    "place",
    [
        {"rank": 1},
        {"operation": "0F0 keep=b"},
        {"stage": 1},
        {"microbatch": 1},
        {"step": 1},
        {"ordinal": 2},
    ],
    ids=str,
)
def test_what_is_named_matters(place: dict[str, int | str]) -> None:
    other = replace(FOUND, at=(FOUND.at[0]._replace(**place),))  # type: ignore[arg-type]  # by name

    assert fingerprint("b.yaml", other) != fingerprint("b.yaml", FOUND)


def test_rule_cause_number_of_places_and_file_matter() -> None:
    others = [
        replace(FOUND, rule="PP103"),
        replace(FOUND, message="0F0 stands nowhere"),
        replace(FOUND, at=()),
        replace(FOUND, at=FOUND.at * 2),
    ]
    found = {fingerprint("b.yaml", each) for each in (*others, FOUND)}

    assert len(found | {fingerprint("c.yaml", FOUND), fingerprint("x/b.yaml", FOUND)}) == 7


def test_two_ways_to_write_a_path_are_one() -> None:
    assert len({fingerprint(p, FOUND) for p in ("x/b.yaml", "./x/b.yaml", "x\\b.yaml")}) == 1


def test_text_that_is_no_unicode_has_a_fingerprint() -> None:
    odd = replace(FOUND, message="\ud800 \x00 \u202e")

    assert len(fingerprint("\udcff.yaml", odd)) == 32


@pytest.mark.parametrize(
    ("message", "left"),
    [
        (
            "rank 0 sends 3 messages to rank 1, which receives 12",
            "rank 0 sends # messages to rank 1, which receives #",
        ),
        ("0W0 reads version 1 of stage 0 (where over is at1)", "0W0 reads version # of stage 0"),
        (
            "at 0STEP the gradient of stage 0 lacks microbatches 2, 13 (added 2 times)",
            "at 0STEP the gradient of stage 0 lacks microbatches 2, 13 (added # times)",
        ),
        ("sent 2, 3, received 4", "sent #, received #"),
        ("1F0 starts before F0.12 is there", "1F0 starts before F0.12 is there"),
        ("0TIE ranks=0,1 of rank 0 waits", "0TIE ranks=0,1 of rank 0 waits"),
        (
            "lacks microbatches 0, 1, 2 and 5 more (why); and 12 more",
            "lacks microbatches 0, 1, 2 and 5 more (why); and 12 more",
        ),
        ("and 5 more F, 7 in all", "and 5 more F, # in all"),
        ("takes 30, more than 20 of 25", "takes #, more than # of #"),
        ("delay 2, at most 1 is allowed", "delay #, at most # is allowed"),
    ],
)
def test_counts_and_versions_and_the_outcome_are_left_out_of_the_cause(
    message: str, left: str
) -> None:
    assert skeleton(message) == left


def test_a_long_message_takes_no_long_time() -> None:
    assert skeleton("1, " * 100_000 + "1F") == "#, 1F"
    assert skeleton("1" * 200_000 + "F") == "1" * 200_000 + "F"


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a/b.yaml", "a/b.yaml"),
        ("./a/../b.yaml#3", "b.yaml#3"),
        ("/home/me/work/a.yaml", "a.yaml"),
        ("/home/me/worked/a.yaml", "a.yaml"),
        ("../secret/a.yaml", "a.yaml"),
        ("/etc/a.yaml", "a.yaml"),
        ("..a/b.yaml", "..a/b.yaml"),
        ("<stdin>", "<stdin>"),
    ],
)
def test_a_file_elsewhere_is_named_without_its_folders(path: str, name: str) -> None:
    assert named_below(path, "/home/me/work") == name


def test_an_unrelated_instruction_before_a_finding_keeps_its_fingerprint() -> None:
    alone = prints("0F0; 0B0; 0F0", microbatches=1)
    among = prints("WRITE s m; 0F0; USE s m; 0B0; WRITE s m; 0F0", microbatches=1)

    assert alone
    assert alone == among


def test_findings_at_equal_operations_have_fingerprints_of_their_own() -> None:
    assert len(prints("0F0; 0B0; 0F0", microbatches=1)) == 1
    assert len(prints("0F0; 0B0; 0F0; 0F0; 0F0", microbatches=1)) == 3


CROSSED = (
    "0F0; SEND F0.0 to=1; 0F1; SEND F0.1 to=1; RECV B1.0 from=1; 0B0; RECV B1.1 from=1; 0B1",
    "RECV F0.0 from=0; 1F0; 1B0; SEND B1.0 to=0; RECV F0.1 from=0; 1F1; 1B1; SEND B1.1 to=0",
)


def test_a_finding_has_one_fingerprint_under_every_transport() -> None:
    names = ("rendezvous", "rendezvous-edge", "rendezvous-rank")
    verdict = judge_text(text(*CROSSED, microbatches=2), "a", Asked(transports=names))
    found = [{fingerprint("a", v) for v in each.violations} for each in verdict.transports]

    assert [len(each) for each in found] == [1, 1, 1]
    assert found[0] == found[1] == found[2]


def _illegal() -> list[Path]:
    files = sorted(Path("specs/illegal").glob("*.yaml"))
    return random.Random(7).sample(files, 16)


@pytest.mark.parametrize("file", _illegal(), ids=lambda path: path.stem)
def test_lines_more_in_a_file_change_no_fingerprint_and_findings_differ(file: Path) -> None:
    source = file.read_text()
    prints = []
    for written in (source, "# a line more\n\n" + source.replace("\nranks:", "\n\n\nranks:")):
        verdict = judge_text(written, "a.yaml")
        found = [
            {fingerprint("a.yaml", v): (v.rule, v.at, skeleton(v.message)) for v in each.violations}
            for each in verdict.transports
        ]
        prints.append([list(each) for each in found])
        assert [len(each) for each in found] == [
            len(each.violations) for each in verdict.transports
        ]

    assert prints[0] == prints[1]


def test_a_count_or_an_outcome_that_is_another_changes_no_fingerprint() -> None:
    found = [
        fingerprint("a", replace(FOUND, message=f"rank 0 sends {n} messages, rank 1 fewer{where}"))
        for n, where in ((3, ""), (14, ""), (3, " (where over is at1)"))
    ]

    assert len(set(found)) == 1


def test_a_longer_list_is_another_finding_where_it_is_cut() -> None:
    five, six = (replace(FOUND, message=f"0, 1, 2 and {n} more are missing") for n in (5, 6))

    assert fingerprint("a.yaml", five) != fingerprint("a.yaml", six)
