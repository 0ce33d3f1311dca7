"""Whether each rank ran its program."""

import pytest

from pipeproof.ir.recorded import Span
from pipeproof.semantics.spans.programs import diverging
from tests.semantics import made
from tests.semantics.spans.made import (
    US,
    Change,
    earliest,
    jittered,
    renamed,
    seen,
    shifted,
    swapped,
    twice,
    without,
)
from tests.timing.made import NAMES, known


@pytest.mark.parametrize("name", [*NAMES, "dualpipev"])
def test_the_earliest_execution_of_a_known_schedule_diverges_nowhere(name: str) -> None:
    model = known(name, 3, 6)

    assert diverging(seen(model, earliest(model))).offences == []
    two = [*earliest(model), *earliest(model, 1)]
    assert diverging(seen(model, jittered(two, 1))).offences == []


@pytest.mark.parametrize(
    ("change", "first", "said", "place"),
    [
        (swapped(1, "1F2", "1B0"), "1B0", "begins before 1F2", (1, 3)),
        (without(1, "1F2"), "1SEND_F2", "1F2 of rank 1 is missing: it comes before", (1, 2)),
        (without(0, "0RESHARD"), "0REDUCE_GRAD", "0RESHARD of rank 0 is missing", (0, 8)),
        (twice(1, "1F2"), "1F2", "stands once more than in its program", (1, 2)),
        (renamed("1F2", 1, "1F7"), "1F7", "stands in the program of no rank", None),
        (renamed("1F2", 1, "2F2"), "2F2", "stands in the program of rank 2", None),
    ],
)
def test_what_goes_wrong_on_a_rank_is_found_where_it_does(
    change: Change, first: str, said: str, place: tuple[int, int] | None
) -> None:
    model = known("1f1b", 4, 4)
    offence = diverging(seen(model, change(earliest(model)))).offences[0]

    assert offence.spans[0].name == first
    assert said in offence.why
    if place is not None:
        assert offence.place is not None
        assert offence.place[0] == place[0]


def test_a_rank_that_the_schedule_does_not_have_is_told() -> None:
    model = known("1f1b", 2, 2)
    spans = [*earliest(model), Span(7, "0F0", 0, 1)]

    assert (
        "rank 7, which the schedule does not have" in diverging(seen(model, spans)).offences[0].why
    )


def test_one_fault_of_three_steps_is_found_in_its_step() -> None:
    model = known("1f1b", 2, 4)
    steps = [earliest(model, step) for step in range(3)]
    steps[1] = without(1, "1B2")(steps[1])
    (offence,) = diverging(seen(model, [span for step in steps for span in step])).offences

    assert offence.why.startswith("1B2 of rank 1 is missing")


def test_times_that_are_off_by_the_tolerance_are_no_other_order() -> None:
    model = known("gpipe", 1, 2)
    spans = earliest(model)
    late = [s._replace(start=s.start + 12 * US) if s.name == "0F0" else s for s in spans]

    assert diverging(seen(model, late)).offences
    assert diverging(seen(model, late), tolerance=2 * US).offences == []


def test_what_begins_at_once_may_stand_in_any_order() -> None:
    model = known("1f1b", 2, 2)
    spans = [span._replace(start=0, end=0) for span in reversed(earliest(model))]

    assert diverging(seen(model, spans)).offences == []
    assert diverging(seen(model, [*spans, *shifted(9, 0)(spans[-1:])])).offences


def test_of_many_that_begin_at_once_exactly_what_is_missing_is_told() -> None:
    model = made.model("; ".join(f"0F{m}" for m in range(400)), microbatches=400)
    spans = [span._replace(start=0, end=0) for span in reversed(earliest(model))]
    (offence,) = diverging(seen(model, spans[1:])).offences
    assert offence.why.startswith("0F399 of rank 0 is missing")
    late = [s._replace(start=s.event, end=s.event) for s in reversed(spans) if s.event != 7]
    (offence,) = diverging(seen(model, late), tolerance=400).offences
    assert offence.why.startswith("0F7 of rank 0 is missing")


def test_a_recording_that_begins_late_and_ends_early_is_a_part_where_that_may_be() -> None:
    model = known("1f1b", 2, 4)
    spans = earliest(model)
    cut = [span for span in spans if 20 * US <= span.start < 110 * US]

    assert diverging(seen(model, cut)).offences
    found = diverging(seen(model, cut), partial=True)
    assert (found.offences, found.partial) == ([], (0, 1))
    hole = [span for span in cut if span.name != "1B0"]
    assert len(hole) < len(cut)
    assert diverging(seen(model, hole), partial=True).offences
    whole = diverging(seen(model, spans), partial=True)
    assert (whole.offences, whole.partial) == ([], ())


@pytest.mark.parametrize("name", NAMES)
def test_any_window_of_several_steps_is_a_part(name: str) -> None:
    model = known(name, 2, 3)
    spans = [span for step in range(3) for span in earliest(model, step)]
    moments = sorted({span.start for span in spans})
    for begin, end in zip(moments[::9], reversed(moments[5::7]), strict=False):
        cut = [span for span in spans if begin <= span.start and span.end <= end]
        assert diverging(seen(model, cut), partial=True).offences == []


def test_a_part_begins_where_most_that_follows_fits() -> None:
    program = "HOLD 1; 0F0; HOLD 1; 0F1; 0B0; DROP 1; 0B1; DROP 1"
    model = made.model(program, microbatches=2)
    names = program.split("; ")
    spans = [Span(0, name, n * US, (n + 1) * US) for n, name in enumerate(names)]

    for first in range(len(names) - 1):
        found = diverging(seen(model, spans[first:]), partial=True)
        assert (found.offences, found.partial) == ([], (0,) if first else ())
