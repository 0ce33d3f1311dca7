"""What the times of a trace come to."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

import pytest

from pipeproof.ir.recorded import MICROSECOND, Recorded, Span
from pipeproof.ir.transport import NAMED
from pipeproof.timing.recorded import Samples, costs_text, sampled, step_times
from pipeproof.timing.timeline import timeline
from tests.semantics.spans.made import US, earliest, seen
from tests.timing.made import NAMES, known


def samples(spans: Sequence[Span], *, comparable: bool = True) -> Samples:
    return sampled(Recorded(tuple(spans)), comparable=comparable)


def took(rank: int, name: str, *lasts: int) -> list[Span]:
    return [Span(rank, name, n * 10**6 * US, n * 10**6 * US + t * US) for n, t in enumerate(lasts)]


@pytest.mark.parametrize("name", NAMES)
def test_the_trace_of_a_model_gives_its_costs_back(name: str) -> None:
    halves = name in {"zbv", "interleaved_zero_bubble"}
    stages = 3 if name in {"gpipe", "1f1b"} else 6
    costs: Mapping[str, Sequence[str]] = {
        "F": [f"1.{s}25" for s in range(stages)],
        **(
            {"I": ["0.75"] * stages, "W": [f"{s + 1}" for s in range(stages)]}
            if halves
            else {"B": [f"2.{s}00000001" for s in range(stages)]}
        ),
        "comm": ["0.125"] * stages,
    }
    model = known(name, 3, 6, costs, NAMED["rendezvous"])
    found, missing = costs_text(samples(earliest(model)), 10 * US)

    assert missing == ""
    for kind, row in costs.items():
        assert [Fraction(each) for each in found[kind]] == [Fraction(each) for each in row], kind
    assert {*found} == {*costs}


def test_a_median_is_taken_and_the_first_of_several_steps_is_left_out() -> None:
    found = samples([*took(0, "0F0", 900, 3, 1, 2, 80), *took(0, "0B0", 50, 5, 5, 5, 6)])

    assert (found.steps, found.first) == (4, True)
    assert found.of["F", 0] == tuple(t * US for t in (1, 2, 3, 80))
    assert costs_text(found)[0] == {"F": ("2.5",), "B": ("5",)}


@pytest.mark.parametrize(
    ("spans", "missing"),
    [
        ([*took(0, "0F0", 1), *took(1, "1F0", 1), *took(1, "1B0", 1)], "B of stage 0 has no span"),
        ([*took(0, "0B0", 1)], "F of stage 0 has no span"),
        ([*took(0, "0F0", 0)], "F of stage 0 takes no time"),
        ([*took(0, "0F0", 1), *took(2, "2F0", 1)], "F of stage 1 has no span"),
    ],
)
def test_what_is_missing_is_said(spans: list[Span], missing: str) -> None:
    assert costs_text(samples(spans))[1] == missing


def test_a_whole_backward_that_was_not_recorded_is_the_sum_of_its_halves() -> None:
    spans = [
        *took(0, "0F0", 1),
        *took(1, "1F0", 1),
        *took(0, "0B0", 5),
        *(span for r in (0, 1) for span in (*took(r, f"{r}I0", 2), *took(r, f"{r}W0", 1))),
    ]

    assert costs_text(samples(spans))[0]["B"] == ("5", "3")


def test_messages_have_no_time_without_one_clock_or_where_receives_are_only_posted() -> None:
    blocking = known("1f1b", 2, 2, {"comm": "1"}, NAMED["rendezvous"])
    posted = known("1f1b", 2, 2, {"comm": "1"}, NAMED["gloo"])

    assert "comm" in samples(earliest(blocking)).kinds
    assert "comm" not in samples(earliest(blocking), comparable=False).kinds
    assert samples(earliest(posted)).posted
    assert "comm" not in samples(earliest(posted)).kinds


def test_messages_in_the_words_of_the_language_are_known_by_their_value() -> None:
    names = {"0SEND_F0": "SEND F0.0 to=1", "1RECV_F0": "RECV F0.0 from=0"}
    model = known("1f1b", 2, 1, {"comm": "1.5"}, NAMED["rendezvous"])
    spans = [s._replace(name=names.get(s.name, s.name)) for s in earliest(model)]

    assert samples(spans).of["comm", 0] == (15 * US,)


def test_overlaps_are_counted_and_left_out() -> None:
    spans = [*took(0, "0F0", 1), *took(0, "0B0", 1), *took(0, "(0F1;0B2)OVERLAP_F_B", 7)]

    assert samples(spans).shared == 1
    assert costs_text(samples(spans))[0] == {"F": ("1",), "B": ("1",)}


@pytest.mark.parametrize("name", NAMES)
def test_the_times_of_the_earliest_execution_are_those_of_its_timeline(name: str) -> None:
    model = known(name, 3, 6)
    line = timeline(model)
    found = seen(model, [*earliest(model), *earliest(model, 1)])
    for step in step_times(found, comparable=True):
        assert step.makespan == line.makespan * 10 * MICROSECOND // line.unit
        assert step.busy == tuple(line.busy(r) * 10 * US // line.unit for r in range(3))
        assert step.bubble == 1 - Fraction(sum(map(line.busy, range(3))), 3 * line.makespan)
    assert step_times(found, comparable=False)[0].makespan is None
    assert step_times(found, comparable=False)[0].bubble is None
