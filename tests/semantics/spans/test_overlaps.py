"""Whether a rank computed two things at once."""

import pytest

from pipeproof.semantics.spans.overlaps import overlapping
from tests.semantics.spans.made import US, earliest, jittered, seen
from tests.timing.made import NAMES, known


@pytest.mark.parametrize("name", [*NAMES, "dualpipev"])
def test_no_rank_computes_two_things_at_once_in_an_execution(name: str) -> None:
    model = known(name, 3, 6, {"comm": "1"})

    assert overlapping(seen(model, jittered(earliest(model), 2))) == []


def test_two_computations_that_overlap_are_told_with_both_spans() -> None:
    model = known("gpipe", 2, 3)
    spans = [
        span._replace(end=span.end + 4 * US) if span.name == "0F1" else span
        for span in earliest(model)
    ]
    (offence,) = overlapping(seen(model, spans))

    assert [span.name for span in offence.spans] == ["0F2", "0F1"]
    assert offence.rank == 0
    assert offence.why == "0F2 of rank 0 begins before 0F1 has ended"
    assert overlapping(seen(model, spans), tolerance=4 * US) == []
    assert overlapping(seen(model, spans), tolerance=3 * US) != []


def test_messages_and_members_of_one_overlap_may_be_at_work_beside_others() -> None:
    model = known("dualpipev", 2, 4)
    spans = []
    for span in earliest(model):
        members = span.name[1:].partition(")")[0].split(";") if span.name[0] == "(" else [span.name]
        spans += [span._replace(name=name) for name in members]
    beside = [
        span._replace(end=span.end + 500 * US) if "SEND" in span.name else span for span in spans
    ]

    assert overlapping(seen(model, beside)) == []


def test_a_long_computation_overlaps_all_that_begin_within_it() -> None:
    model = known("gpipe", 1, 3)
    first, *rest = earliest(model)
    assert first.name == "0UNSHARD"
    spans = [s._replace(end=s.end + 100 * US) if s.name == "0F0" else s for s in [first, *rest]]

    assert [s.name for s in overlapping(seen(model, spans))[0].spans] == ["0F1", "0F0"]
