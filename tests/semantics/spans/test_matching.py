"""Which span is of which operation."""

import pytest

from pipeproof.ir.recorded import Span
from pipeproof.semantics.spans.matching import canonical
from tests.semantics.made import model
from tests.semantics.spans.made import earliest, judged, seen, swapped
from tests.timing.made import known


def test_torch_and_the_language_name_the_same_message() -> None:
    made = known("1f1b", 2, 2)
    spans = earliest(made)
    long = [
        span._replace(name="SEND F0.1 to=1") if span.name == "0SEND_F1" else span for span in spans
    ]

    assert any(span.name == "SEND F0.1 to=1" for span in long)
    keys = [[each.key for each in named] for named in seen(made, spans).ordered]
    assert keys == [[unit.key for unit in program] for program in seen(made, spans).programs]


def test_an_overlap_stands_whole_or_in_its_members() -> None:
    made = known("dualpipev", 2, 4)
    whole = earliest(made)
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
        found = seen(made, spans)
        told = sorted(each.key for named in found.ordered for each in named)
        assert told == sorted(unit.key for program in found.programs for unit in program)


def test_what_was_not_recorded_is_not_asked_for_unless_it_computes() -> None:
    made = known("1f1b", 2, 2)
    spans = [span for span in earliest(made) if span.name[1:2] in "FB"]
    found = seen(made, spans)

    assert found.recorded == ("F", "B")
    assert {"SEND", "RECV"} <= {*found.unrecorded}
    assert {unit.key[1] for program in found.programs for unit in program} == {"F", "B"}
    halves = seen(made, [span for span in spans if "B" not in span.name])
    assert {unit.key[1] for program in halves.programs for unit in program} == {"F", "B"}


def test_messages_of_a_schedule_without_such_are_left_out_and_told() -> None:
    made = known("1f1b", 1, 2)
    spans = [*earliest(made), Span(0, "0SEND_F0", 0, 1)]

    assert seen(made, spans).foreign == ("SEND",)
    assert "0SEND_F0" not in [each.key for each in seen(made, spans).ordered[0]]


def test_steps_are_counted_by_most_operations() -> None:
    made = known("1f1b", 2, 4)
    three = [span for step in range(3) for span in earliest(made, step)]

    assert seen(made, earliest(made)).steps == 1
    assert seen(made, three).steps == 3
    assert seen(made, three[1:]).steps == 3
    assert seen(made, [*earliest(made), earliest(made)[0]]).steps == 1
    assert seen(made, []).steps == 0


def test_a_rank_without_a_span_is_absent() -> None:
    made = known("1f1b", 3, 3)

    assert seen(made, [s for s in earliest(made) if s.rank != 1]).absent == (1,)


def test_an_accelerator_measures_where_it_was_recorded_and_the_host_orders() -> None:
    made = known("1f1b", 2, 2)
    host = earliest(made)
    device = [
        span._replace(device=True, start=span.start + 5, end=span.end + 5)
        for span in host
        if span.name[1:2] in "FB"
    ]
    found = seen(made, [*host, *device])

    assert all(each.span.device for named in found.timed for each in named)
    assert not any(each.span.device for named in found.ordered for each in named)


def test_loops_of_torch_name_no_stage() -> None:
    made = known("gpipe", 2, 2)
    spans = [Span(1, f"{word} {m}", 0, 1) for word in ("Forward", "Backward") for m in range(2)]

    assert [e.key for e in seen(made, spans).ordered[1]] == ["1F0", "1F1", "1B0", "1B1"]


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


def test_parts_of_an_operation_are_told_apart_where_the_trace_does() -> None:
    made = model("0F0; 0B0 param=a; 0B0 param=b")
    spans = earliest(made)
    assert judged(made, spans) == ([], [])
    (offence,) = judged(made, swapped(0, "0B0 param=a", "0B0 param=b")(spans))[1]
    assert [span.name for span in offence.spans] == ["0B0 param=b", "0B0 param=a"]
    torch = [span._replace(name=span.name.split()[0]) for span in spans]
    assert judged(made, torch) == ([], [])


def test_a_message_to_another_rank_than_that_of_the_next_stage_has_no_name_of_torch() -> None:
    keys = {"microbatches": 1, "stages": 3, "placement": [0, 1, 2]}
    made = model(
        "0F0; SEND F0.0 to=2; SEND F0.0 to=1",
        "RECV F0.0 from=0; 1F0",
        "RECV F0.0 from=0",
        under="buffered",
        **keys,
    )
    spans = [s._replace(start=n, end=n + 1) for n, s in enumerate(earliest(made))]

    assert judged(made, spans) == ([], [])
    (offence,) = judged(made, swapped(0, "SEND F0.0 to=2", "SEND F0.0 to=1")(spans))[1]
    assert offence.spans[0].name == "SEND F0.0 to=1"
    other = [s._replace(name="0SEND_F0") if s.name == "SEND F0.0 to=2" else s for s in spans]
    assert judged(made, other)[1] != []


def test_members_of_a_bracket_stand_by_their_own_names() -> None:
    made = model(
        "0F0; [SEND F0.0 to=1 | RECV B1.0 from=1]; 0B0",
        "RECV F0.0 from=0; 1F0; 1B0; SEND B1.0 to=0",
    )
    parts: list[Span] = []
    for span in earliest(made):
        names = span.name.strip("[]").split(" | ")
        parts += [span._replace(name=name) for name in names]

    assert len(parts) == len(earliest(made)) + 1
    assert judged(made, parts, 0) == ([], [])
    sends = [span for span in parts if "RECV" not in span.name]
    early = [s._replace(end=s.start) if s.name == "SEND F0.0 to=1" else s for s in sends]
    assert judged(made, early, 0) == ([], [])


def test_operations_of_no_program_are_a_step_of_something_else() -> None:
    made = known("1f1b", 2, 2)

    assert seen(made, [Span(1, "7F7", 0, 1)]).steps == 1
    assert seen(made, [Span(5, "0F0", 0, 1)]).steps == 1
    assert seen(known("1f1b", 1, 2), [Span(0, "0SEND_F0", 0, 1)]).steps == 0
