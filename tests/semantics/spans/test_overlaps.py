"""Whether a rank computed two things at once."""

import pytest

from pipeproof.ir.recorded import Span
from pipeproof.semantics.spans.overlaps import overlapping
from tests.semantics.made import model
from tests.semantics.spans.made import US, earliest, jittered, seen
from tests.timing.made import NAMES, known


@pytest.mark.parametrize("name", [*NAMES, "dualpipev"])
def test_no_rank_computes_two_things_at_once_in_an_execution(name: str) -> None:
    made = known(name, 3, 6, {"comm": "1"})

    assert overlapping(seen(made, jittered(earliest(made), 2))) == []


def test_two_computations_that_overlap_are_told_with_both_spans() -> None:
    made = known("gpipe", 2, 3)
    spans = [
        span._replace(end=span.end + 4 * US) if span.name == "0F1" else span
        for span in earliest(made)
    ]
    (offence,) = overlapping(seen(made, spans))

    assert [span.name for span in offence.spans] == ["0F2", "0F1"]
    assert offence.rank == 0
    assert offence.why == "0F2 of rank 0 begins before 0F1 has ended"
    assert overlapping(seen(made, spans), tolerance=4 * US) == []
    assert overlapping(seen(made, spans), tolerance=3 * US) != []


def test_messages_and_members_of_one_overlap_may_be_at_work_beside_others() -> None:
    made = known("dualpipev", 2, 4)
    spans = []
    for span in earliest(made):
        members = span.name[1:].partition(")")[0].split(";") if span.name[0] == "(" else [span.name]
        spans += [span._replace(name=name) for name in members]
    beside = [
        span._replace(end=span.end + 500 * US) if "SEND" in span.name else span for span in spans
    ]

    assert overlapping(seen(made, beside)) == []


def test_a_long_computation_overlaps_all_that_begin_within_it() -> None:
    made = known("gpipe", 1, 3)
    first, *rest = earliest(made)
    assert first.name == "0UNSHARD"
    spans = [s._replace(end=s.end + 100 * US) if s.name == "0F0" else s for s in [first, *rest]]

    assert [s.name for s in overlapping(seen(made, spans))[0].spans] == ["0F1", "0F0"]


def test_the_same_computation_of_two_steps_or_two_parts_may_not_be_at_work_at_once() -> None:
    steps = model("0F0", microbatches=1)
    apart = [Span(0, "0F0", 0, 10 * US), Span(0, "0F0", 10 * US, 20 * US)]
    beside = [apart[0], apart[1]._replace(start=5 * US)]

    assert overlapping(seen(steps, apart)) == []
    assert len(overlapping(seen(steps, beside))) == 1

    parts = model("0F0; 0B0 param=a; 0B0 param=b")
    spans = earliest(parts)
    assert overlapping(seen(parts, spans)) == []
    long = [s._replace(end=s.end + 5 * US) if s.name == "0B0 param=a" else s for s in spans]
    assert len(overlapping(seen(parts, long))) == 1
    torch = [s._replace(name=s.name.split()[0]) for s in long]
    assert len(overlapping(seen(parts, torch))) == 1


def test_members_of_one_overlap_in_two_steps_may_not_be_at_work_at_once() -> None:
    made = model("0F0; 0F1; (0F2;0B0)OVERLAP_F_B; 0B1; 0B2", microbatches=3)
    names = ("0F0", "0F1", "0F2", "0B0", "0B1", "0B2")
    at = (0, 10, 20, 25, 60, 70)
    step = [Span(0, n, t * US, (t + 10) * US) for n, t in zip(names, at, strict=True)]
    late = [s._replace(start=s.start + 80 * US, end=s.end + 80 * US) for s in step]
    long = [s._replace(end=110 * US) if s.name == "0F2" else s for s in step]

    assert overlapping(seen(made, [*step, *late])) == []
    assert overlapping(seen(made, [*long, *late])) != []
