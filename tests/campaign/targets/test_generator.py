"""A grid of configurations: every illegal one is found, told once, and minimised."""

import json

import pytest

from pipeproof.campaign.judged import read
from pipeproof.campaign.store import Row
from pipeproof.campaign.targets.generator import Grid, Point, known_text, points_of
from pipeproof.campaign.targets.named import target_named
from pipeproof.campaign.task import canonical
from tests.campaign.targets.made import hunted


def known(name: str, ranks: int, microbatches: int, lowering: str) -> Point:
    of = {"name": name, "ranks": str(ranks), "microbatches": str(microbatches)}
    text = known_text(name, (ranks, microbatches, None), lowering)
    return Point({**of, "lowering": lowering}, text)


GRID = Grid(
    tuple(known("zbv", 2, m, each) for m in (1, 3) for each in ("torch", "torch-deferred")),
    ("gloo",),
)


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return hunted(GRID)


def test_deferred_receives_are_found_and_minimised_to_two_ranks(rows: list[Row]) -> None:
    told = GRID.told(rows)
    (case,) = told.cases

    assert (case.rule, case.transport, case.minimised) == ("PP202", "gloo", True)
    assert "zbv torch-deferred, 1 configuration, under gloo; minimised to 2 ranks" in case.what
    assert len(read(case.text).schedule.operations) == 4
    assert "--generator zbv --ranks 2 --microbatches 3" in case.command
    assert told.trials == 4
    assert not told.distrust


def test_configurations_are_counted_by_how_they_are_made(rows: list[Row]) -> None:
    (table,) = GRID.told(rows).tables

    assert table.rows == (
        ("zbv torch", "2", "0", "0", "0"),
        ("zbv torch-deferred", "1", "1", "0", "0"),
    )


def test_what_is_no_schedule_is_counted_and_no_find() -> None:
    grid = Grid((Point({"name": "x"}, "# it raised\n"),))
    told = grid.told(hunted(grid))

    assert told.tables[0].rows == (("x", "0", "0", "0", "1"),)
    assert (told.trials, told.cases) == (0, ())


def test_what_was_not_minimised_is_told_all_the_same(rows: list[Row]) -> None:
    looked = [row for row in rows if row.ended.task.kind == "configured"]
    (case,) = GRID.told(looked).cases

    assert not case.minimised
    assert "minimised" not in case.what


def test_a_grid_is_found_again_by_what_it_says_of_itself() -> None:
    assert target_named(json.loads(canonical(GRID.campaign))) == GRID


def test_what_is_no_point_is_refused() -> None:
    with pytest.raises(TypeError, match="no point of a grid"):
        points_of(["x"])


def test_a_known_schedule_is_named_with_its_options() -> None:
    text = known_text("gpipe", (2, 2, 1), "just-in-time", {"backward": "descending"})
    schedule = read(text).schedule

    assert (schedule.ranks, schedule.microbatches, schedule.lowering) == (2, 2, "just-in-time")
    assert "backward: descending" in text


def test_what_is_not_decided_is_no_trial_and_is_counted(rows: list[Row]) -> None:
    first = next(row for row in rows if row.ended.task.kind == "configured")
    answer = {**(first.ended.answer or {}), "verdict": "unknown", "under": []}
    left = first._replace(ended=first.ended._replace(answer=answer))
    told = GRID.told([left if row is first else row for row in rows])

    assert (told.trials, told.undecided) == (3, 1)
    assert "1 configurations are not decided" in told.covered
    assert GRID.told(rows).undecided == 0
