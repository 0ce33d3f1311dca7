"""Work, idleness and totals: the formulas of the papers, and counts by hand."""

from fractions import Fraction

import pytest

from pipeproof.timing.measures import measured, peaks, totals
from pipeproof.timing.timeline import timeline
from tests.semantics.made import frame
from tests.timing.made import known

ONE = {"F": "1", "B": "1"}


@pytest.mark.parametrize("name", ["gpipe", "1f1b"])
@pytest.mark.parametrize("ranks", range(1, 7))
@pytest.mark.parametrize("more", [0, 1, 5])
def test_bubble_makespan_and_peaks_are_those_of_the_formulas(
    name: str, ranks: int, more: int
) -> None:
    microbatches = ranks + more
    for costs, each in ((ONE, 2), ({}, 3)):
        made = known(name, ranks, microbatches, costs)
        line = timeline(made)

        assert line.makespan == each * (microbatches + ranks - 1)
        bubble = measured(line, microbatches).bubble
        assert bubble == Fraction(ranks - 1, microbatches + ranks - 1)
    live = [stage.live for stage in totals(made.frame)[0]]
    assert live == [
        microbatches if name == "gpipe" else min(ranks - rank, microbatches)
        for rank in range(ranks)
    ]


@pytest.mark.parametrize("name", ["gpipe", "1f1b"])
def test_throughput_grows_with_the_number_of_microbatches(name: str) -> None:
    found = [measured(timeline(known(name, 4, m)), m).throughput for m in (4, 8, 16, 32)]

    assert found == sorted(set(found))


@pytest.mark.parametrize("name", ["gpipe", "1f1b"])
def test_a_dear_stage_is_worked_for_by_all(name: str) -> None:
    made = known(name, 4, 8, {"F": ["1", "1", "4", "1"], "B": ["2", "2", "8", "2"]})
    line = timeline(made)

    assert line.makespan >= line.busy(2) == 8 * 12
    assert measured(line, 8).busy == (24, 24, 96, 24)


def test_totals_stand_beside_what_must_be() -> None:
    stages, boundaries = totals(known("interleaved_zero_bubble", 2, 4).frame)

    assert [(each.forwards, each.backwards, each.halves) for each in stages] == [(4, 4, 4)] * 4
    assert {each.expected for each in stages} == {4}
    assert [tuple(each) for each in boundaries] == [
        *((0, 1, 4, 4), (1, 0, 4, 4), (1, 2, 4, 4), (2, 1, 4, 4), (2, 3, 4, 4), (3, 2, 4, 4))
    ]


def test_what_is_missing_shows_in_the_totals() -> None:
    stages, boundaries = totals(frame("0F0; 0SEND_F0; 0F1", "1RECV_F0; 1F0", microbatches=2))

    assert [(each.forwards, each.expected) for each in stages] == [(2, 2), (1, 2)]
    assert [tuple(each) for each in boundaries] == [(0, 1, 1, 2)]


def test_neighbours_on_one_rank_pass_on_without_messages() -> None:
    assert totals(frame("0F0; 1F0"))[1] == ()


def test_how_much_must_be_is_open_where_there_are_several_pipelines() -> None:
    stages, _ = totals(frame("0F0; 1F1", microbatches=2, pipelines=[[0], [1]]))

    assert {each.expected for each in stages} == {None}


def test_an_empty_schedule_is_not_divided_by() -> None:
    found = measured(timeline(known("gpipe", 1, 1))._replace(makespan=0, spans=()), 0)

    assert [*found] == [(0,), 0, 0]


def test_stages_of_a_rank_need_not_be_fullest_at_once() -> None:
    made = known("interleaved_1f1b", 4, 16).frame
    by_stage: dict[int, int] = {}
    for stage in totals(made)[0]:
        by_stage[stage.rank] = by_stage.get(stage.rank, 0) + stage.live

    assert peaks(made)[0] == 11 < by_stage[0]
