"""One execution as a trace of states: against the format, and against the states themselves."""

import json
from itertools import pairwise
from typing import Any

import jsonschema
import pytest

from pipeproof.reports import itf
from pipeproof.reports._chosen import chosen
from pipeproof.reports._layout import execution
from pipeproof.reports._states import GROUPS, changes
from pipeproof.verdict.result import Result
from tests.reports.executions import folded, result
from tests.reports.made import unreadable
from tests.semantics.made import CROSSED, PASSED_ON, text

LEGAL = text(*PASSED_ON, stages=2, placement=[0, 1], transport="buffered")
STUCK = text(*CROSSED, fragment=True, transport="rendezvous")

SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "required": ["vars", "states"],
    "properties": {
        "#meta": {
            "type": "object",
            "properties": {
                "format": {"const": "ITF"},
                "varTypes": {"type": "object", "additionalProperties": {"type": "string"}},
            },
        },
        "params": {"type": "array", "items": {"type": "string"}},
        "vars": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        "states": {"type": "array", "items": {"$ref": "#/$defs/state"}},
        "loop": {"type": "integer"},
    },
    "additionalProperties": False,
    "$defs": {
        "state": {
            "type": "object",
            "properties": {
                "#meta": {
                    "type": "object",
                    "properties": {"index": {"type": "integer", "minimum": 0}},
                }
            },
            "patternProperties": {"^[^#]": {"$ref": "#/$defs/expr"}},
            "additionalProperties": False,
        },
        "special": {
            "oneOf": [
                {
                    "properties": {"#bigint": {"type": "string", "pattern": "^-?[0-9]+$"}},
                    "required": ["#bigint"],
                },
                {
                    "properties": {"#tup": {"$ref": "#/$defs/list"}},
                    "required": ["#tup"],
                },
                {
                    "properties": {"#set": {"$ref": "#/$defs/list", "uniqueItems": True}},
                    "required": ["#set"],
                },
                {
                    "properties": {
                        "#map": {
                            "type": "array",
                            "items": {"$ref": "#/$defs/list", "minItems": 2, "maxItems": 2},
                        }
                    },
                    "required": ["#map"],
                },
                {
                    "properties": {"#unserializable": {"type": "string"}},
                    "required": ["#unserializable"],
                },
            ],
            "type": "object",
            "minProperties": 1,
            "maxProperties": 1,
        },
        "list": {"type": "array", "items": {"$ref": "#/$defs/expr"}},
        "record": {
            "type": "object",
            "patternProperties": {"^[^#]": {"$ref": "#/$defs/expr"}},
            "additionalProperties": False,
        },
        "expr": {
            "anyOf": [
                {"type": "boolean"},
                {"type": "string"},
                {"type": "integer"},
                {"$ref": "#/$defs/list"},
                {"$ref": "#/$defs/special"},
                {"$ref": "#/$defs/record"},
            ]
        },
    },
}
"""The format as https://apalache-mc.org/docs/adr/015adr-trace.html describes it."""


def read(value: Any) -> Any:
    """An expression of the format as a value of Python."""
    if isinstance(value, list):
        return [read(each) for each in value]
    if not isinstance(value, dict):
        return value
    if "#bigint" in value:
        return int(value["#bigint"])
    if "#set" in value:
        return frozenset(map(read, value["#set"]))
    if "#map" in value:
        keys = [read(key) for key, _ in value["#map"]]
        assert len(set(keys)) == len(keys)
        return {read(key): read(each) for key, each in value["#map"]}
    return {key: read(each) for key, each in value.items()}


def traced(of: Result) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The head and the states of what is written, which has the form that is asked for."""
    found = json.loads(itf.render(of))
    jsonschema.validate(found, SCHEMA)
    for number, state in enumerate(found["states"]):
        assert state.pop("#meta") == {"index": number}
        assert sorted(state) == sorted(found["vars"])
    assert sorted(found["#meta"]["varTypes"]) == sorted(found["vars"])
    return found["#meta"], [read(state) for state in found["states"]]


@pytest.mark.parametrize("said", [LEGAL, STUCK])
def test_the_states_are_those_between_the_events(said: str) -> None:
    made = result(said)
    shown = chosen(made)
    assert shown is not None
    events = execution(shown.model, shown.decision, shown.broken)
    expected = folded(changes(shown.model, events), len(events))
    _, states = traced(made)
    assert len(states) == len(events) + 1
    for state, told in zip(states, expected, strict=True):
        for group in GROUPS:
            assert state[group] == {
                name: value for (of, name), value in told.items() if of == group
            }


def test_each_event_and_the_one_that_is_illegal_is_named() -> None:
    head, states = traced(result(STUCK))
    assert (head["violation"], head["transport"]) == ("PP301", "rendezvous")
    assert [state["event"]["phase"] for state in states] == ["before", "start", "start"]
    assert states[1]["event"] == {
        "operation": "SEND F0.0 to=1",
        "phase": "start",
        "position": 0,
        "rank": 0,
    }
    assert [state["violated"] for state in states] == [set(), set(), {"PP301"}]
    assert states[-1]["channels"] == {"r0→r1": "F0.0 posted", "r1→r0": "B1.0 posted"}


def test_the_earliest_execution_of_a_legal_schedule_ends_with_nothing_under_way() -> None:
    head, states = traced(result(LEGAL))
    assert head["description"] == "the earliest execution of file0.yaml under buffered"
    assert head["violation"] is None
    assert states[-1]["channels"] == {}
    assert states[-1]["ranks"] == {"r0": "at its end", "r1": "at its end"}
    assert all(before != after for before, after in pairwise(states))


def test_of_several_files_the_first_refuted_one_is_shown_and_the_others_are_named() -> None:
    made = result(LEGAL, STUCK, STUCK)
    both = Result(made.version, (unreadable(), *made.files))
    head, states = traced(both)
    assert head["source"] == "file1.yaml"
    assert len(states) == 3
    assert "3 more are not shown" in head["description"]
    assert [each.partition(":")[0] for each in head["others"]] == [
        "bad.yaml",
        "file0.yaml under buffered",
        "file2.yaml under rendezvous",
    ]


def test_without_a_schedule_there_is_a_head_and_no_state() -> None:
    head, states = traced(Result("1", (unreadable(),)))
    assert (states, head["verdict"]) == ([], "error")
    assert head["description"].startswith("nothing is shown")


def test_a_trace_with_too_many_entries_is_left_out_and_that_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = sum(len(state[group]) for state in traced(result(LEGAL))[1] for group in GROUPS)
    monkeypatch.setattr(itf, "ENTRIES", whole)
    assert traced(result(LEGAL))[1]
    monkeypatch.setattr(itf, "ENTRIES", whole - 1)
    head, states = traced(result(LEGAL))
    assert states == []
    assert f"its states have {whole} entries, more than {whole - 1}" in head["description"]


def test_hostile_text_stays_text() -> None:
    hostile = "</script>::error::\x1b[31m\u202e\"'"
    said = text("0F0; 0B0", title=hostile, transport="buffered")
    written = itf.render(result(said, names=[f"{hostile}.yaml"]))
    assert written.isascii()
    head, _ = traced(result(said, names=[f"{hostile}.yaml"]))
    assert head["source"] == "</script>::error::\\u001b[31m\\u202e\"'.yaml"
    assert all(line.startswith(("{", "]")) for line in written.splitlines())


def test_a_name_of_many_characters_is_cut_and_stays_another_than_its_like() -> None:
    long = ["a" * 200_000 + each for each in "xy"]
    program = f"0F0 out={long[0]}; 0F1 out={long[1]}; 0B0; 0B1"
    _, states = traced(result(text(program, microbatches=2, transport="buffered")))
    names = [name for name in states[-1]["storage"] if "aaa" in name]
    assert len(names) == 2
    assert all(len(name) < 200 for name in names)


def test_equal_results_are_equal_bytes() -> None:
    assert itf.render(result(STUCK, LEGAL)) == itf.render(result(STUCK, LEGAL))
