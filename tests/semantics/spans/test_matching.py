"""Which span is of which operation."""

import pytest

from pipeproof.ir.recorded import Span
from pipeproof.semantics.spans.matching import canonical
from tests.semantics.spans.made import earliest, seen
from tests.timing.made import known


def test_torch_and_the_language_name_the_same_message() -> None:
    model = known("1f1b", 2, 2)
    spans = earliest(model)
    long = [
        span._replace(name="SEND F0.1 to=1") if span.name == "0SEND_F1" else span for span in spans
    ]

    assert any(span.name == "SEND F0.1 to=1" for span in long)
    keys = [[each.key for each in named] for named in seen(model, spans).ordered]
    assert keys == [[unit.key for unit in program] for program in seen(model, spans).programs]


def test_an_overlap_stands_whole_or_in_its_members() -> None:
    model = known("dualpipev", 2, 4)
    whole = earliest(model)
    parts = []
    for span in whole:
        if not span.name.startswith("("):
            parts.append(span)
            continue
        first, second = span.name[1:].partition(")")[0].split(";")
        half = (span.start + span.end) // 2
        parts += [span._replace(name=first, end=half), span._replace(name=second, start=half)]

    assert any(span.name.startswith("(") for span in whole)
    assert len(parts) > len(whole)
    for spans in (whole, parts):
        found = seen(model, spans)
        told = sorted(each.key for named in found.ordered for each in named)
        assert told == sorted(unit.key for program in found.programs for unit in program)


def test_what_was_not_recorded_is_not_asked_for_unless_it_computes() -> None:
    model = known("1f1b", 2, 2)
    spans = [span for span in earliest(model) if span.name[1:2] in "FB"]
    found = seen(model, spans)

    assert found.recorded == ("F", "B")
    assert {"SEND", "RECV"} <= {*found.unrecorded}
    assert {unit.key[1] for program in found.programs for unit in program} == {"F", "B"}
    halves = seen(model, [span for span in spans if "B" not in span.name])
    assert {unit.key[1] for program in halves.programs for unit in program} == {"F", "B"}


def test_messages_of_a_schedule_without_such_are_left_out_and_told() -> None:
    model = known("1f1b", 1, 2)
    spans = [*earliest(model), Span(0, "0SEND_F0", 0, 1)]

    assert seen(model, spans).foreign == ("SEND",)
    assert "0SEND_F0" not in [each.key for each in seen(model, spans).ordered[0]]


def test_steps_are_counted_by_most_operations() -> None:
    model = known("1f1b", 2, 4)
    three = [span for step in range(3) for span in earliest(model, step)]

    assert seen(model, earliest(model)).steps == 1
    assert seen(model, three).steps == 3
    assert seen(model, three[1:]).steps == 3
    assert seen(model, [*earliest(model), earliest(model)[0]]).steps == 1
    assert seen(model, []).steps == 0


def test_a_rank_without_a_span_is_absent() -> None:
    model = known("1f1b", 3, 3)

    assert seen(model, [s for s in earliest(model) if s.rank != 1]).absent == (1,)


def test_an_accelerator_measures_where_it_was_recorded_and_the_host_orders() -> None:
    model = known("1f1b", 2, 2)
    host = earliest(model)
    device = [
        span._replace(device=True, start=span.start + 5, end=span.end + 5)
        for span in host
        if span.name[1:2] in "FB"
    ]
    found = seen(model, [*host, *device])

    assert all(each.span.device for named in found.timed for each in named)
    assert not any(each.span.device for named in found.ordered for each in named)


def test_loops_of_torch_name_no_stage() -> None:
    model = known("gpipe", 2, 2)
    spans = [Span(1, f"{word} {m}", 0, 1) for word in ("Forward", "Backward") for m in range(2)]

    assert [e.key for e in seen(model, spans).ordered[1]] == ["1F0", "1F1", "1B0", "1B1"]


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("(0F7; 7B3)OVERLAP_F_B", "(0F7;7B3)OVERLAP_F_B"),
        ("SEND  F0.1   to=1", "SEND F0.1 to=1"),
        ("(0F0", "(0F0"),
    ],
)
def test_names_are_written_in_one_way(name: str, key: str) -> None:
    assert canonical(name) == key
