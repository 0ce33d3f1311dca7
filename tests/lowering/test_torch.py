"""Torch's lowering: what is added, where it stands, and what torch refuses."""

import dataclasses
from pathlib import Path

import pytest

from pipeproof.api import judge
from pipeproof.errors import UnsupportedFeatureError
from pipeproof.frontends import torch_csv
from pipeproof.ir.reading import ReadOptions
from pipeproof.ir.schedule import Lowering, Schedule
from pipeproof.lowering.lower import lower

TORCH = Path(__file__).parents[1] / "data" / "torch"
PAIRS = sorted(TORCH.glob("*__compute_only.csv"))
DEFERRED = sorted((TORCH / "defer").glob("*.csv"))


def read(text: str, lowering: Lowering = "torch", microbatches: int | None = None) -> Schedule:
    (document,) = torch_csv.read(text, "made", ReadOptions(microbatches=microbatches))
    return dataclasses.replace(document.schedule, lowering=lowering)


def rows(schedule: Schedule) -> list[list[str]]:
    spelled = lower(schedule).spelled
    return [list(spelled.program(rank)) for rank in range(schedule.ranks)]


def cells(path: Path) -> list[list[str]]:
    return [line.split(",") for line in path.read_text().splitlines()]


def stem(path: Path) -> str:
    return path.name.partition("__compute")[0]


def test_the_corpus_is_whole() -> None:
    assert (len(PAIRS), len(DEFERRED)) == (197, 49)


@pytest.mark.parametrize("part", range(8))
def test_every_file_of_the_corpus_is_lowered_cell_for_cell(part: int) -> None:
    for path in PAIRS[part::8]:
        theirs = cells(TORCH / path.name.replace("compute_only", "compute_comms"))
        assert rows(read(path.read_text())) == theirs, path.name


@pytest.mark.parametrize("part", range(4))
def test_deferred_receives_stand_where_torch_puts_them(part: int) -> None:
    for path in DEFERRED[part::4]:
        plain = TORCH / f"{stem(path)}__compute_only.csv"
        assert rows(read(plain.read_text(), "torch-deferred")) == cells(path), path.name


def test_what_is_added_takes_the_place_of_what_it_serves() -> None:
    run = lower(read("0F0,0B0\n1F0,1B0\n"))
    placed = [
        (run.spelled.text(row), int(run.written[row]), bool(run.added[row]))
        for row in range(len(run.spelled))
    ]

    assert placed == [
        ("0UNSHARD", 0, True),
        ("0F0", 0, False),
        ("0SEND_F0", 0, True),
        ("0RECV_B0", 1, True),
        ("0B0", 1, False),
        ("0REDUCE_GRAD", 1, True),
        ("0RESHARD", 1, True),
        ("1UNSHARD", 2, True),
        ("1RECV_F0", 2, True),
        ("1F0", 2, False),
        ("1B0", 3, False),
        ("1SEND_B0", 3, True),
        ("1REDUCE_GRAD", 3, True),
        ("1RESHARD", 3, True),
    ]


def test_the_nth_contribution_is_followed_by_a_reduction() -> None:
    text = "0F0,0F1,0B0,0B1\n"

    assert rows(read(text))[0][-2:] == ["0REDUCE_GRAD", "0RESHARD"]
    assert "0REDUCE_GRAD" not in rows(read(text, microbatches=3))[0]
    assert rows(read(text, microbatches=1))[0].index("0REDUCE_GRAD") == 4


def test_what_torch_refuses_is_lowered_all_the_same_and_said() -> None:
    run = lower(read("0F0,0B0\n1B0,1F0\n"))
    stuck = lower(read("0B0,0F0\n1F0,1B0\n"))

    assert run.refused is None
    assert stuck.refused == "torch refuses this order: rank 0 cannot place 0B0"
    assert "0F0" in list(stuck.spelled.program(0))


def test_a_rank_without_operations_is_refused() -> None:
    run = lower(read("0F0,0B0\n,\n"))

    assert run.refused == "torch refuses this order: rank 1 has no operation"


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (
            "0F0,1F0,2F0,3F0,4F0,4I0,3I0,2I0,1I0,0I0,(0W0;1W0;2W0;3W0;4W0)OVERLAP_F_B",
            ["3UNSHARD", "4UNSHARD", "1I0"],
        ),
        (
            "0F0,1F0,2F0,3F0,4F0,4I0,3I0,2I0,1I0,0I0,4W0,(1W0;3W0;2W0)OVERLAP_F_B,0W0",
            ["3UNSHARD", "2UNSHARD", "0I0"],
        ),
    ],
)
def test_all_stages_of_an_overlap_are_gathered_with_its_first(
    cells: str, expected: list[str]
) -> None:
    """Torch looks for three stages ahead, and takes all of the overlap in which it stops."""
    made = torch_csv.read(cells + "\n", "overlap.csv", ReadOptions())[0].schedule
    program = list(lower(made).spelled.program(0))

    at = program.index(expected[-1])
    assert program[at - 2 : at + 1] == expected


def test_an_order_that_torch_refuses_is_never_proved() -> None:
    """The overlap hands its own value over; torch looks only at what is placed before it."""
    text = "(0F0;1F0)OVERLAP_F_B,1B0,0B0\n"
    verdict = judge(torch_csv.read(text, "refused.csv", ReadOptions())[0])

    assert verdict.verdict == "unknown"
    assert any("torch refuses" in note for note in verdict.notes)


def test_a_deferred_receive_without_a_reader_is_refused_by_torch() -> None:
    text = "0F0,2F0,2B0,0B0\n1F0,3F0,3B0,1B0,1B0\n"
    made = torch_csv.read(text, "left.csv", ReadOptions(lowering="torch-deferred"))[0]

    assert lower(made.schedule).refused is not None


def test_a_computation_order_of_several_steps_is_not_lowered() -> None:
    made = torch_csv.read("0F0,0B0,0F1,0B1\n", "steps.csv", ReadOptions())[0].schedule

    with pytest.raises(UnsupportedFeatureError):
        lower(dataclasses.replace(made, steps=2, microbatches=1))
