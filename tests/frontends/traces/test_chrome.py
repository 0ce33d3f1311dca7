"""Reading traces: what is an operation, of which rank, when, and where it stands in the file."""

import gzip
import json
import zlib
from random import Random

import pytest

from pipeproof.errors import InputError, LimitError, ParseError
from pipeproof.frontends.traces.chrome import is_operation, read, together
from pipeproof.ir.reading import ReadOptions
from pipeproof.ir.recorded import MICROSECOND, Span

US = MICROSECOND
OPTIONS = ReadOptions()


def event(name: str = "0F0", **more: object) -> dict[str, object]:
    return {"ph": "X", "name": name, "ts": 1, "dur": 2, "pid": 0, "tid": 0, **more}


def spans(events: object, name: str = "a.json", **facts: object) -> tuple[Span, ...]:
    said = {"traceEvents": events, **facts}
    return read(json.dumps(said).encode(), name, OPTIONS).recorded.spans


def refused(data: bytes | str, name: str = "a.json", options: ReadOptions = OPTIONS) -> str:
    with pytest.raises(InputError) as caught:
        read(data if isinstance(data, bytes) else data.encode(), name, options)
    return str(caught.value)


def refused_or_read(data: bytes) -> str:
    try:
        read(data, "a.json", OPTIONS)
    except InputError as error:
        return str(error)
    return ""


def test_a_span_of_torchs_runtime_is_read_among_noise() -> None:
    noise = [
        {"ph": "X", "name": "aten::mm", "ts": 1, "dur": 1, "pid": 3, "tid": 9},
        {"ph": "X", "name": "ampere_sgemm", "cat": "kernel", "ts": "?", "pid": 0, "tid": 7},
        {"ph": "s", "id": 1, "name": "ac2g", "ts": 1, "pid": 1, "tid": 1},
        {"ph": "X", "name": "ProfilerStep#3", "ts": 0, "dur": 99, "pid": 1, "tid": 1},
        {"ph": "i", "name": "0F0"},
        7,
        None,
        ["0F0"],
        {},
        {"ph": {"a": 1}, "name": "0F0"},
        {"ph": "X", "name": 5},
    ]
    found = spans(
        [*noise, event("PP:2SEND_F1", ts=1.5, dur=0.25, pid=4711, cat="user_annotation")],
        distributedInfo={"rank": 2, "backend": "nccl"},
    )

    assert found == (Span(2, "2SEND_F1", 3 * US // 2, 7 * US // 4, file="a.json", event=11),)


def test_begins_and_ends_of_a_thread_make_spans_one_inside_the_other() -> None:
    found = spans(
        [
            event("0F0", ph="B", ts=1),
            event("inner", ph="B", ts=2),
            event("1F0", ph="B", ts=2, tid=1),
            event("", ph="E", ts=3),
            event("", ph="E", ts=4),
            event("", ph="E", ts=9, tid=1),
            event("", ph="E", ts=9, tid=5),
        ]
    )

    assert [(s.name, s.start // US, s.end // US) for s in found] == [("0F0", 1, 4), ("1F0", 2, 9)]


def test_the_rank_is_told_by_what_says_it_best() -> None:
    named = {"ph": "M", "name": "process_name", "pid": 9000, "args": {"name": "Rank 5"}}

    assert spans([event(pid=3)])[0].rank == 3
    assert spans([event(pid=9000, args={"rank": 4})])[0].rank == 4
    assert spans([event(pid=9000), named])[0].rank == 5
    assert spans([event(pid=9000)], "out/rank_6.json")[0].rank == 6
    assert spans([event(pid=9000)], distributedInfo={"rank": 7})[0].rank == 7
    assert spans([event(pid=0), event(pid=1)], "rank_6.json")[1].rank == 1


def test_a_process_id_is_no_rank() -> None:
    said = refused(json.dumps([event(), event(pid=41234)]))

    assert said.startswith("a.json:1:")
    assert "rank 41234 is too large of '0F0'; write distributedInfo.rank" in said
    assert said.endswith("or call the file rank_0")


def test_files_of_torchs_profiler_count_from_a_base_of_their_own() -> None:
    (span,) = spans([event(ts=5)], baseTimeNanoseconds=1_790_857_026_000_000_000)

    assert span.start == (1_790_857_026_000_000 + 5) * US
    assert spans([event(ts=5)], baseTimeNanoseconds="7")[0].start == 5 * US


def test_a_time_is_taken_as_it_is_written() -> None:
    text = '[{"ph":"X","name":"0F0","ts":1730000000123456.789,"dur":0.000000001,"pid":0,"tid":0}]'
    (span,) = read(text.encode(), "a.json", OPTIONS).recorded.spans

    assert span.start == 1730000000123456789 * US // 1000
    assert span.end - span.start == 1


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"ts": "1"}, "the 'ts' of '0F0' is no time"),
        ({"dur": None}, "the 'dur' of '0F0' is no time"),
        ({"dur": -1}, "'0F0' ends before it begins"),
        ({"ts": float("nan")}, "the 'ts' of '0F0' is no time"),
        ({"ts": float("inf")}, "the 'ts' of '0F0' is no time"),
        ({"ts": 10**30}, "the 'ts' of '0F0' is no time"),
        ({"ts": [1]}, "the 'ts' of '0F0' is no time"),
        ({"pid": "x"}, "no rank can be told of '0F0'"),
        ({"ph": "B"}, "'0F0' begins and never ends"),
    ],
)
def test_an_operation_without_a_time_or_a_rank_is_refused_at_its_place(
    wrong: dict[str, object], said: str
) -> None:
    text = "[\n" + json.dumps(event("9B9")) + ",\n  " + json.dumps(event() | wrong) + "]"

    assert refused(text).startswith(f"a.json:3:3: {said}")


def test_an_end_before_its_begin_is_refused() -> None:
    text = json.dumps([event(ph="B", ts=5), event(ph="E", ts=4)])

    assert "'0F0' ends before it begins" in refused(text)


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("", "1:1", "this is no JSON"),
        ('{"traceEvents": [\n{]}', "2:2", "this is no JSON"),
        ("[" * 200_000, "1:1", "lists within lists, too deep"),
        ('{"a":' * 100_000, "1:1", "lists within lists, too deep"),
        ("7", "1:1", "no list of trace events"),
        ('{"traceEvents": {}}', "1:1", "no list of trace events"),
        ("{}", "1:1", "no list of trace events"),
        ("[1, 2", "1:6", "this is no JSON"),
    ],
)
def test_what_is_no_trace_is_refused(text: str, place: str, said: str) -> None:
    assert refused(text).startswith(f"a.json:{place}: {said}")


def test_bytes_that_are_no_text_are_refused() -> None:
    assert refused(b'[{"name": "\xff"}]').startswith("a.json:1:12: byte 0xff is no UTF-8")


def test_hostile_names_are_noise() -> None:
    names = [
        "0F0\u202e",
        "<script>",
        "::error::",
        "0" * 5000 + "F0",
        "0F" + "9" * 5000,
        "(0F0;" * 999,
    ]

    assert not any(is_operation(name) for name in names)
    assert spans([event(name) for name in names]) == ()


def test_a_number_of_any_length_is_no_crash() -> None:
    for number in ("9" * 6000, "1e999999999", "1" + "0" * 5000 + ".5", "-0", "1E-400"):
        text = f'[{{"ph":"X","name":"0F0","pid":{number},"ts":{number},"dur":1}}]'
        said = refused_or_read(text.encode())
        assert said == "" or said.startswith("a.json:1:2: ")


def test_a_gzipped_trace_is_read_and_its_places_are_those_unpacked() -> None:
    text = json.dumps([event("x"), event()], indent=1)
    file = read(gzip.compress(text.encode()), "a.json.gz", OPTIONS)

    assert [span.event for span in file.recorded.spans] == [1]
    assert file.place(1) == (10, 2)


def test_a_gzip_bomb_is_refused_before_it_is_unpacked() -> None:
    bomb = gzip.compress(b"[" + b" " * 30_000_000)

    assert "it unpacks to more than 100 times its size" in refused(bomb)
    few = ReadOptions(limits={"trace-bytes": 1000})
    assert "limit 'trace-bytes'" in refused(bomb, options=few)
    assert "limit 'trace-bytes'" in refused(b"[" + b" " * 2000, options=few)


def test_a_damaged_gzip_stream_is_refused() -> None:
    packed = gzip.compress(json.dumps([event()]).encode())

    assert "ends too early" in refused(packed[:-9])
    assert "is damaged" in refused(packed[:12] + b"\xff\xff\xff" + packed[15:])
    with pytest.raises(zlib.error):
        zlib.decompress(packed[:12] + b"\xff\xff\xff" + packed[15:], wbits=31)


def test_more_operations_than_the_limit_are_refused() -> None:
    text = json.dumps([event()] * 3)

    with pytest.raises(LimitError, match="limit 'instructions'"):
        read(text.encode(), "a.json", ReadOptions(limits={"instructions": 2}))


def test_a_dump_of_torch_holds_steps_and_no_times() -> None:
    dumped = [event("0F0", cat="computation", dur=1), event("0SEND_F0", cat="communication", dur=1)]

    assert read(json.dumps(dumped).encode(), "a.json", OPTIONS).recorded.counted
    dumped[0]["dur"] = 2
    assert not read(json.dumps(dumped).encode(), "a.json", OPTIONS).recorded.counted


def test_files_make_up_one_trace_and_no_rank_stands_in_two() -> None:
    one = read(json.dumps([event(pid=0)]).encode(), "a.json", OPTIONS)
    two = read(json.dumps([event(pid=1)]).encode(), "b.json", OPTIONS)

    assert [span.rank for span in together((one, two)).spans] == [0, 1]
    with pytest.raises(ParseError, match=r"b.json:1:1: rank 1 stands in b.json too"):
        together((two, two))


def test_places_are_those_of_the_events_wherever_the_list_stands() -> None:
    text = (
        '{"a": [1, {"b": "]"}], "traceEvents": [7],\n "traceEvents" : [ {},\n'
        '   {"ph":"X","name":"0F0","ts":1,"dur":1,"pid":0}\n ]}'
    )
    file = read(text.encode(), "a.json", OPTIONS)

    assert file.place(file.recorded.spans[0].event) == (3, 4)


def test_random_damage_is_refused_or_read_and_never_a_crash() -> None:
    random = Random(3)
    whole = json.dumps({"traceEvents": [event(), event("0B0", ph="B"), event("", ph="E", ts=9)]})
    for _ in range(400):
        data = bytearray(whole.encode())
        for _ in range(random.randrange(1, 4)):
            data[random.randrange(len(data))] = random.randrange(256)
        said = refused_or_read(bytes(data))
        assert said == "" or said.startswith("a.json:")
