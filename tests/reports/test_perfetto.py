"""One execution on tracks: against the format, and read as a viewer reads it."""

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pipeproof.reports import perfetto
from pipeproof.reports._chosen import chosen
from pipeproof.timing.timeline import timeline
from pipeproof.verdict.result import Result
from tests.reports.executions import result
from tests.reports.made import unreadable
from tests.semantics.made import CROSSED, PASSED_ON, text

COSTS = {"F": 3, "B": 2, "comm": 1}
LEGAL = text(*PASSED_ON, stages=2, placement=[0, 1], transport="buffered", costs=COSTS)
STUCK = text(f"{CROSSED[0]}; LOAD X.0", CROSSED[1], fragment=True, transport="rendezvous")
DUPLICATE = text("0F0; 0B0; 0B0", transport="buffered")
MANY = (
    "0F0; 0SEND_F0; 0F1; 0SEND_F1; 0RECV_B0; 0B0; 0RECV_B1; 0B1; 0STEP",
    "1RECV_F0; 1F0; 1RECV_F1; 1F1; 1B0; 1SEND_B0; 1B1; 1SEND_B1; 1STEP",
)

_MICROSECONDS = {"type": "number", "minimum": 0}
_COMMON = {
    "name": {"type": "string"},
    "cat": {"type": "string"},
    "ts": _MICROSECONDS,
    "pid": {"type": "integer", "minimum": 1},
    "tid": {"type": "integer", "minimum": 0},
    "cname": {"enum": ["good", "bad", "terrible"]},
    "args": {"type": "object"},
}


def phase(letter: str, *required: str, **more: object) -> dict[str, Any]:
    """What an event of one phase holds."""
    return {
        "properties": {"ph": {"const": letter}, **_COMMON, **more},
        "required": ["name", "ph", "ts", "pid", "tid", *required],
        "additionalProperties": False,
    }


METADATA = {
    "process_name": {"name": {"type": "string"}},
    "process_labels": {"labels": {"type": "string"}},
    "process_sort_index": {"sort_index": {"type": "integer"}},
    "thread_name": {"name": {"type": "string"}},
    "thread_sort_index": {"sort_index": {"type": "integer"}},
}
SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "required": ["traceEvents"],
    "properties": {
        "traceEvents": {"type": "array", "items": {"$ref": "#/$defs/event"}},
        "displayTimeUnit": {"enum": ["ms", "ns"]},
        "otherData": {"type": "object"},
    },
    "additionalProperties": False,
    "$defs": {
        "event": {
            "type": "object",
            "oneOf": [
                phase("X", "dur", "cat", dur=_MICROSECONDS),
                phase("i", "s", s={"enum": ["g", "p", "t"]}),
                phase("s", "id", "cat", id={"type": "integer"}),
                phase("f", "id", "cat", id={"type": "integer"}, bp={"const": "e"}),
                *(
                    {
                        **phase("M", "args"),
                        "properties": {
                            **_COMMON,
                            "ph": {"const": "M"},
                            "name": {"const": name},
                            "args": {
                                "properties": args,
                                "required": list(args),
                                "additionalProperties": False,
                            },
                        },
                    }
                    for name, args in METADATA.items()
                ),
            ],
        }
    },
}
"""The parts of Google's Trace Event Format that are used here."""

Slice = tuple[int, int, str]


class Trace:
    """A trace as a viewer takes it: slices by track, nested or apart, and the arrows between."""

    def __init__(self, written: str) -> None:
        found = json.loads(written)
        jsonschema.validate(found, SCHEMA)
        self.data: dict[str, Any] = found["otherData"]
        self.events: list[dict[str, Any]] = found["traceEvents"]
        self.names = {
            (each["name"], each["pid"], each["tid"]): next(iter(each["args"].values()))
            for each in self.of("M")
        }
        self.tracks: dict[str, list[Slice]] = {}
        for each in self.of("X"):
            slice_ = (each["ts"], each["ts"] + each["dur"], each["name"])
            self.tracks.setdefault(self.track(each), []).append(slice_)
        self.arrows = self._arrows()
        times = [each["ts"] for each in self.events if each["ph"] != "M"]
        assert times == sorted(times)

    def of(self, phase: str) -> list[dict[str, Any]]:
        return [each for each in self.events if each["ph"] == phase]

    def track(self, event: dict[str, Any]) -> str:
        """The name of the track of an event, with that of its process."""
        process = self.names["process_name", event["pid"], 0]
        return f"{process} {self.names['thread_name', event['pid'], event['tid']]}"

    def _arrows(self) -> list[tuple[str, str]]:
        """The slices that each arrow leads from and to, innermost where its ends lie.

        A viewer draws an arrow to a slice that begins first the other way round.
        """
        open_: dict[int, Slice] = {}
        found = []
        for each in self.events:
            if each["ph"] not in ("s", "f"):
                continue
            slices = self.tracks[self.track(each)]
            around = [one for one in slices if one[0] <= each["ts"] < one[1]]
            inner = min(around, key=lambda one: one[1] - one[0])
            if each["ph"] == "s":
                assert each["id"] not in open_
                open_[each["id"]] = inner
            else:
                source = open_.pop(each["id"])
                assert source[0] < inner[0]
                found.append((source[2], inner[2]))
        assert not open_
        return found

    def overlaps(self) -> list[tuple[Slice, Slice]]:
        """The pairs of slices of one track that share time, save those inside of another."""
        return [
            (one, other)
            for slices in self.tracks.values()
            for one, other in pairwise(sorted(slices, key=lambda each: (each[0], -each[1])))
            if other[0] < one[1] and other[1] > one[1]
        ] + [
            (one, one)
            for slices in self.tracks.values()
            for one in slices
            if not one[2].endswith(" arrives")
            and any(other[0] < one[1] and one[0] < other[1] for other in slices
                    if other is not one and not other[2].endswith(" arrives"))
        ]  # fmt: skip


def traced(of: Result) -> Trace:
    return Trace(perfetto.render(of))


def test_a_legal_schedule_lies_as_its_timeline_has_it() -> None:
    made = result(LEGAL)
    shown = chosen(made)
    assert shown is not None
    line = timeline(shown.model)
    trace = traced(made)
    drawn = {
        (each["args"]["rank"], each["name"]): (each["ts"], each["ts"] + each["dur"])
        for each in trace.of("X")
        if each["cat"] == "compute"
    }
    assert drawn == {
        (span.rank, f"{span.stage}{span.kind.name}{span.microbatch}"): (
            1000 * span.start,
            1000 * span.end,
        )
        for span in line.spans
    }
    assert trace.data["scale"] == "a unit of time is drawn as 1000 us"
    assert trace.data["speed"] == "a model: it shows neither kernel costs nor network progress"
    assert trace.data["never_happens"] == []


def test_a_message_is_drawn_from_its_post_until_it_has_moved_with_an_arrow() -> None:
    trace = traced(result(LEGAL))
    assert trace.tracks == {
        "rank 0 compute": [(0, 3000, "0F0")],
        "rank 0 send": [(3000, 3002, "SEND F0.0 to=1")],
        "rank 1 receive": [(0, 4000, "RECV F0.0 from=0"), (3999, 4000, "F0.0 arrives")],
        "rank 1 compute": [(4000, 7000, "1F0")],
    }
    assert trace.arrows == [("SEND F0.0 to=1", "F0.0 arrives")]


@pytest.mark.parametrize("under", ["rendezvous", "buffered-1", "gloo", "nccl-lazy", "nccl-eager"])
@pytest.mark.parametrize("costs", [{}, {"comm": "0.3"}, {"F": "1.5", "comm": 2}])
def test_nothing_overlaps_on_a_track_and_every_message_has_its_arrow(
    under: str, costs: dict[str, object]
) -> None:
    trace = traced(result(text(*MANY, microbatches=2, costs=costs), under=(under,)))
    assert trace.overlaps() == []
    assert Counter(trace.arrows) == Counter(
        {
            ("0SEND_F0", "F0.0 arrives"): 1,
            ("0SEND_F1", "F0.1 arrives"): 1,
            ("1SEND_B0", "B1.0 arrives"): 1,
            ("1SEND_B1", "B1.1 arrives"): 1,
        }
    )


def test_messages_under_way_at_once_lie_on_tracks_of_their_own() -> None:
    programs = (
        "0F0; SEND F0.0 to=1 h=s; 0F1; SEND F0.1 to=1 h=s",
        "RECV F0.0 from=0 h=a; RECV F0.1 from=0 h=b; WAIT a; 1F0; WAIT b; 1F1",
    )
    keys = {"microbatches": 2, "stages": 2, "placement": [0, 1], "transport": "buffered"}
    trace = traced(result(text(*programs, **keys, costs={"F": 1, "comm": 5})))
    assert trace.tracks["rank 1 receive"] == [
        (0, 6000, "RECV F0.0 from=0 h=a"),
        (5999, 6000, "F0.0 arrives"),
    ]
    assert trace.tracks["rank 1 receive 2"] == [
        (0, 7000, "RECV F0.1 from=0 h=b"),
        (6999, 7000, "F0.1 arrives"),
    ]
    assert trace.overlaps() == []
    assert trace.tracks["rank 1 other"] == [(0, 6000, "WAIT a"), (7000, 7000, "WAIT b")]


def test_an_illegal_schedule_has_steps_and_no_speed_and_what_never_happens_is_told() -> None:
    trace = traced(result(STUCK))
    assert trace.data["axis"] == "steps, one for each instruction"
    assert trace.data["scale"] == "a step is drawn as 1000 us"
    assert trace.data["speed"] == "illegal, not comparable: its axis is steps, not time"
    assert trace.data["never_happens"] == [
        "rank 0: 2 operations from position 1 on, RECV B1.0 from=1",
        "rank 1: 1 operations from position 1 on, RECV F0.0 from=0",
    ]
    assert {name for slices in trace.tracks.values() for _, _, name in slices} == {
        "SEND F0.0 to=1",
        "SEND B1.0 to=0",
    }
    assert trace.names["process_labels", 1, 0] == "steps, not time"
    assert trace.arrows == []
    states = [each["args"]["state"] for each in trace.of("X")]
    assert states == ["started, never complete"] * 2


def test_the_illegal_events_carry_their_rule_and_the_first_one_is_marked() -> None:
    trace = traced(result(DUPLICATE))
    marked = [each for each in trace.of("X") if "rule" in each["args"]]
    assert [(each["name"], each["args"]["position"]) for each in marked] == [("0B0", 2)]
    assert marked[0]["args"]["rule"] == "PP102 duplicate-operation"
    assert marked[0]["args"]["at"] == "file0.yaml:4:20"
    (mark,) = trace.of("i")
    assert (mark["name"], mark["ts"], mark["s"]) == ("PP102 duplicate-operation", 2000, "t")
    assert trace.track(mark) == "rank 0 compute"


def test_what_is_missing_is_marked_where_the_execution_ends() -> None:
    (mark,) = traced(result(text("0F0", transport="buffered", microbatches=2))).of("i")
    assert (mark["name"], mark["ts"], mark["s"]) == ("PP101 missing-operation", 1000, "g")


def test_a_unit_that_thousands_do_not_divide_is_drawn_exactly_on_another_scale() -> None:
    trace = traced(result(text("0F0; 0B0", transport="buffered", costs={"F": "0.0003", "B": 1})))
    assert trace.tracks == {"rank 0 compute": [(0, 3, "0F0"), (3, 10003, "0B0")]}
    assert trace.data["scale"] == "a unit of time is drawn as 10000 us"


def test_processes_and_tracks_are_named_and_in_order() -> None:
    trace = traced(result(text(*MANY, microbatches=2), under=("rendezvous",)))
    names = [value for (kind, *_), value in trace.names.items() if kind == "process_name"]
    assert names == ["rank 0", "rank 1"]
    tracks = [value for (kind, *_), value in trace.names.items() if kind == "thread_name"]
    assert tracks == ["compute", "send", "receive", "other"] * 2
    numbers = [tid for (kind, _, tid) in trace.names if kind == "thread_name"]
    assert len(set(numbers)) == len(numbers)


def test_of_several_files_the_first_refuted_one_is_shown_and_the_others_are_named() -> None:
    made = result(LEGAL, STUCK)
    trace = traced(Result("1", (unreadable(), *made.files)))
    assert trace.data["schedule"] == "file1.yaml"
    assert trace.data["others"] == ["bad.yaml: error", "file0.yaml under buffered: proved"]
    assert "2 more are not shown" in trace.data["description"]


def test_without_a_schedule_or_with_one_too_large_there_are_no_events(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert traced(Result("1", (unreadable(),))).events == []
    monkeypatch.setattr(perfetto, "OPERATIONS", 3)
    trace = traced(result(LEGAL))
    assert trace.events == []
    assert "left out: it has 4 operations, more than 3" in trace.data["description"]


def test_hostile_text_stays_text() -> None:
    hostile = "</script>::error::\x1b[31m\u202e\"'"
    name = "x" * 200_000
    said = text(f"0F0 out={name}; 0B0", title=hostile, transport="buffered")
    written = perfetto.render(result(said, names=[f"{hostile}.yaml"]))
    assert written.isascii()
    assert len(written) < 10_000
    trace = Trace(written)
    assert trace.data["schedule"] == "</script>::error::\\u001b[31m\\u202e\"'.yaml"
    assert trace.of("X")[0]["name"].startswith("0F0 out=xxx")


def test_equal_results_are_equal_bytes() -> None:
    assert perfetto.render(result(STUCK, LEGAL)) == perfetto.render(result(STUCK, LEGAL))


SPECS = sorted(Path("specs/illegal").glob("*.yaml"))[::12]


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_no_track_of_an_illegal_schedule_overlaps(path: Path) -> None:
    trace = traced(result(path.read_text(), names=[path.name]))
    assert trace.of("X")
    assert trace.overlaps() == []
