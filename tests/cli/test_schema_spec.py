"""The schema of spec files says what the reader says, as far as a schema can."""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from pipeproof.frontends import (
    _spec_expect,
    _spec_keys,
    _spec_nodes,
    _spec_schedule,
    _spec_transport,
)
from pipeproof.frontends._profiles import PLANNED, PROFILES
from pipeproof.ir.codes import CODES
from pipeproof.schedules import names
from pipeproof.schedules._known import all_known
from tests.cli.schemas import Json, is_read, schema, spec_texts, typed, validator, wrong

HEAD = "pipeproof: 1\nmicrobatches: 2\n"
RANKS = "ranks: [0F0, 1F0]\n"
PREFIXES = {code[:length] for code in CODES for length in range(2, 6)}


def test_every_spec_that_is_read_is_valid() -> None:
    texts = spec_texts()
    refused = {name: wrong("spec", typed(text)) for name, text in texts.items()}

    assert len(texts) > 400
    assert all(is_read(text, name.partition("#")[0]) for name, text in texts.items())
    assert {name: said for name, said in refused.items() if said} == {}


@dataclass(slots=True)
class Shape:
    """What may stand where: keys, what is needed, words, and the least number."""

    keys: set[str] = field(default_factory=set)
    needs: dict[str, set[str]] = field(default_factory=dict)
    words: dict[str, set[str]] = field(default_factory=dict)
    least: dict[str, int] = field(default_factory=dict)


def read_shape(check: Callable[..., bool], path: str, found: Shape) -> None:
    """Note what a check of the reader accepts: what it was made of, or what it is named."""
    held = inspect.getclosurevars(check).nonlocals
    maker = check.__qualname__.partition(".")[0]
    if check in NAMED:
        for each in NAMED[check]:
            read_shape(each, path, found)
    elif maker == "keys":
        read_keys(held["known"], held["needs"], path, found)
    elif maker == "items":
        read_shape(held["each"], f"{path}[]", found)
    elif maker == "any_of":
        read_shape(held["scalar"], path, found)
        read_shape(held["other"], path, found)
    elif maker == "one_of":
        found.words.setdefault(path, set()).update(held["words"])
    elif maker == "number":
        found.least[path] = held["least"]
    else:
        assert maker == "pattern" or check in LEAVES, check


def read_keys(
    known: Mapping[str, Callable[..., bool]], needs: tuple[str, ...], path: str, found: Shape
) -> None:
    found.needs.setdefault(path, set()).update(needs)
    for key, each in known.items():
        found.keys.add(f"{path}.{key}")
        read_shape(each, f"{path}.{key}", found)


_FAULTS = [_spec_nodes.keys(table, needs=("fault",)) for table in _spec_keys._FAULTS.values()]
_TOKENS = _spec_nodes.keys({"tokens": _spec_nodes.items(_spec_nodes.number())}, needs=("tokens",))
NAMED: Mapping[Callable[..., bool], list[Callable[..., bool]]] = {
    _spec_keys._rank: [_spec_keys.READY, _spec_keys._program],
    _spec_keys._program: [_spec_nodes.items(_spec_keys._instruction)],
    _spec_keys._fault: _FAULTS,
    _spec_keys._coefficients: [_spec_nodes.items(_spec_keys._FRACTION), _TOKENS],
    _spec_keys._profile: [_spec_nodes.one_of(*PROFILES, *PLANNED)],
    _spec_keys._steps: [_spec_nodes.one_of("any"), _spec_nodes.number(1)],
    _spec_keys._version: [_spec_nodes.one_of("1")],
    _spec_expect._entry: [_spec_expect._ENTRY],
    _spec_expect._code: [_spec_nodes.one_of(*CODES)],
    _spec_expect._prefix: [_spec_nodes.one_of(*PREFIXES)],
    _spec_transport.TRANSPORT: [
        _spec_transport._NAME,
        _spec_nodes.items(_spec_transport._NAME),
        _spec_transport._MAPPING,
    ],
    _spec_schedule._mapping: [_spec_nodes.keys(_spec_schedule._KEYS, needs=("name",))],
}
LEAVES = {_spec_nodes.text, _spec_keys._instruction, _spec_keys._message, _spec_keys._op}


def schema_shape(node: Json, path: str, found: Shape) -> None:
    """Note what the schema accepts."""
    assert isinstance(node, dict)
    for each in parts(node):
        schema_shape(each, path, found)
    if "properties" in node:
        found.needs.setdefault(path, set()).update(node.get("required", ()))
        assert node["additionalProperties"] is False or path == ".schedule"
        for key, each in node["properties"].items():
            found.keys.add(f"{path}.{key}")
            schema_shape(each, f"{path}.{key}", found)
    if "items" in node:
        schema_shape(node["items"], f"{path}[]", found)
    if "enum" in node:
        words = (
            str(word).lower() if isinstance(word, bool) else str(word) for word in node["enum"]
        )
        found.words.setdefault(path, set()).update(words)
    if node.get("type") == "integer":
        found.least[path] = node["minimum"]


def parts(node: Mapping[str, Json]) -> Iterator[Json]:
    """Yield what else holds of the same value."""
    if "$ref" in node:
        defined = schema("spec")["$defs"]
        assert isinstance(defined, dict)
        yield defined[str(node["$ref"]).removeprefix("#/$defs/")]
    for key in ("anyOf", "allOf") if "type" not in node else ():
        alternatives = node.get(key, ())
        assert isinstance(alternatives, Sequence)
        yield from alternatives


def shapes() -> tuple[Shape, Shape]:
    reader, written = Shape(), Shape()
    read_shape(_spec_keys.FILE, "", reader)
    root = {key: each for key, each in schema("spec").items() if key != "anyOf"}
    schema_shape(root, "", written)
    return reader, written


def test_the_schema_has_the_keys_of_the_reader_and_no_other() -> None:
    reader, written = shapes()
    options = {f".schedule.{key}" for known in all_known() for key in known.options}

    assert len(reader.keys) > 90
    assert written.keys == reader.keys | options


def test_the_schema_has_the_words_of_the_reader_and_no_other() -> None:
    reader, written = shapes()
    options = {
        f".schedule.{key}": {*each} for one in all_known() for key, each in one.options.items()
    }
    known = {".schedule": set(names()), ".schedule.name": set(names()), **options}

    assert len(reader.words) > 40
    assert written.words == reader.words | known


def test_the_schema_needs_what_the_reader_needs() -> None:
    reader, written = shapes()
    subject = {".faults.among[]": {"fault", "rank", "at", "message", "op"}}  # an alternative each

    assert written.needs == reader.needs | subject


def test_numbers_begin_where_the_reader_has_them_begin() -> None:
    reader, written = shapes()

    assert len(reader.least) > 20
    assert written.least == reader.least


MALFORMED = (
    "stage: 2",
    "transprot: strict",
    "communicators: lazy",
    "title: [a]",
    "title: {a: b}",
    "title:",
    "stages: 0",
    "stages: two",
    "stages: -1",
    "stages: 1.5",
    "stages: 2147483648",
    "stages: 12:30",
    "steps: all",
    "steps: 0",
    "segments: [1]",
    "placement: ring",
    "placement: []",
    "placement: [0, a]",
    "profile: torch",
    "transport: glo",
    "transport: []",
    "transport: [gloo, gloo]",
    "transport: [custom]",
    "transport: {queue: lane}",
    "transport: {completion: rendez-vous}",
    "transport: {capacity: 0}",
    "transport: {communicators: yes}",
    "transport: {weak: []}",
    "transport: {speed: 1}",
    "storage: {receive: {slots: 0}}",
    "storage: {receive: {slot: use mod slots}}",
    "storage: {send: {slots: 1, take: any}}",
    "storage: {stash: {slots: 1, guard: maybe}}",
    "storage: {stash: {slots: 1, slot: 2 mod slots}}",
    "storage: {weights: {slots: 1, per: rank}}",
    "storage: {registers: [losses]}",
    "storage: {cache: {slots: 1}}",
    "storage: [receive]",
    "weights: flush",
    "weights: {policy: flash}",
    "weights: {updates: never}",
    "weights: {staleness: 1}",
    "gradients: {coefficients: median}",
    "gradients: {coefficients: [1/0x2]}",
    "gradients: {coefficients: [0.5]}",
    "gradients: {coefficients: {token: [1]}}",
    "gradients: {reduce: twice}",
    "gradients: {tied: [[0]]}",
    "gradients: {norm: one}",
    "pipelines: [0, 1]",
    "pipelines: [[]]",
    "costs: {F: -1}",
    "costs: {F: fast}",
    "costs: {F: []}",
    "costs: {F: 0}",
    "costs: {B: [1, 0]}",
    "costs: {B: 0.000}",
    "costs: {X: 1}",
    "bounds: {live: many}",
    "bounds: {memory: 3GG}",
    "bounds: {memory: -3}",
    "bounds: {makespan: soon}",
    "bounds: {speed: 1}",
    "sizes: {F: 1 GiB}",
    "sizes: {X: 1}",
    "faults: {at_most: 1}",
    "faults: {among: []}",
    "faults: {among: [{rank: 0}]}",
    "faults: {among: [{rank: 0, fault: stops}]}",
    "faults: {among: [{rank: 0, fault: missing, at: 1}]}",
    "faults: {among: [{rank: 0, message: F0.0, fault: delayed}]}",
    "faults: {among: [{message: F0, fault: lost}]}",
    "faults: {among: [{message: F.0, fault: dropped}]}",
    "faults: {among: [{op: F0, fault: delayed}]}",
    "faults: {among: [{op: 0F0, fault: dropped}]}",
    "faults: {among: [{rank: 0, fault: missing}], policy: ignore}",
    "fragment: no",
    "fragment: 1",
    "rules: {select: [PQ3]}",
    "rules: {select: [P]}",
    "rules: {ignore: PP3}",
    "rules: {fix: [PP3]}",
    "expect: {verdict: proved}",
    "expect: [{rule: PP301}]",
    "expect: [{verdict: maybe}]",
    "expect: [{verdict: refuted, rule: PP3}]",
    "expect: [{verdict: refuted, or: [PP301]}]",
    "expect: [{verdict: refuted, at: [r0.1]}]",
    "expect: [{verdict: refuted, exact: true}]",
    "expect: [{verdict: refuted, rule: PP301, at: [r0]}]",
    "expect: [{verdict: refuted, rule: PP301, at: [r00.1]}]",
    "expect: [{verdict: refuted, rule: PP301, exact: yes}]",
    "expect: [{transport: glo, verdict: proved}]",
)


@pytest.mark.parametrize("more", MALFORMED)
def test_a_fault_of_shape_is_refused_by_both(more: str) -> None:
    text = f"{HEAD}{RANKS}{more}\n"

    assert not is_read(text)
    assert wrong("spec", typed(text))


@pytest.mark.parametrize(
    "text",
    [
        "- pipeproof: 1\n",
        "a word",
        "microbatches: 1\nranks: [0F0]\n",
        "pipeproof: 2\nmicrobatches: 1\nranks: [0F0]\n",
        "pipeproof: 1\nranks: [0F0]\n",
        HEAD,
        f"{HEAD}{RANKS}schedule: gpipe\n",
        f"{HEAD}{RANKS}import: {{format: torch-csv, path: a.csv}}\n",
        f"{HEAD}ranks: 0F0\n",
        f"{HEAD}ranks: []\n",
        f"{HEAD}ranks: [{{}}]\n",
        f"{HEAD}ranks: [[[0F0]]]\n",
        f"{HEAD}ranks: [{{order: ready}}]\n",
        f"{HEAD}ranks: [{{order: any, program: 0F0}}]\n",
        f"{HEAD}ranks: [{{order: ready, program: 0F0, limit: 4}}]\n",
        f"{HEAD}ranks: [{{order: ready, program: 0F0, prefer: loss}}]\n",
        f"{HEAD}ranks: [{{order: ready, program: 0F0, then: 0B0}}]\n",
        f"{HEAD}schedule: gpip\n",
        f"{HEAD}schedule: {{ranks: 2}}\n",
        f"{HEAD}schedule: {{name: gpipe, ranks: 0}}\n",
        f"{HEAD}schedule: {{name: gpipe, ranks: 2, lowering: mine}}\n",
        f"{HEAD}schedule: {{name: gpipe, ranks: 2, backward: sideways}}\n",
        f"{HEAD}schedule: {{name: gpipe, ranks: 2, order: [a]}}\n",
        "pipeproof: 1\nimport: a.csv\n",
        "pipeproof: 1\nimport: {format: torch-csv}\n",
        "pipeproof: 1\nimport: {format: csv, path: a.csv}\n",
    ],
)
def test_a_file_that_is_none_is_refused_by_both(text: str) -> None:
    assert not is_read(text)
    assert wrong("spec", typed(text))


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("title", ("1f1b", "2024", "1.5", "true", "no", "12:30", "'quoted'")),
        ("source", ("2024-01-01", "010")),
        ("steps", ("any", "3")),
        ("costs", ("{F: 0.5, comm: '0.5', W: [1, 0]}", "{B: 1}")),
        ("sizes", ("{F: 4096, B: 64MiB, keep: 1.5GB, weights: [1, 2kB]}",)),
        ("gradients", ("{coefficients: [1, 1/2]}", "{coefficients: {tokens: [6, 2]}}")),
        ("transport", ("{weak: default}", "{weak: [a, 0, true]}", "{communicators: eager}")),
        ("expect", ("[]", "[{verdict: proved, transport: custom}]")),
    ],
)
def test_a_scalar_has_the_type_that_its_key_asks_for(key: str, values: tuple[str, ...]) -> None:
    for value in values:
        text = f"{HEAD}{RANKS}{key}: {value}\n"

        assert is_read(text), text
        assert wrong("spec", typed(text)) == [], text


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ("placement: [0]", "there are two stages"),
        ("costs: {F: [1]}", "there are two stages"),
        ("pipelines: [[0, 7]]", "no stage has that number"),
        ("faults: {among: [{op: 0B9, fault: delayed}]}", "it stands nowhere"),
        ("stages: 010", "editors read ten"),
        ("stages: 2.0", "it is a whole number to a schema"),
    ],
)
def test_what_one_key_says_of_another_only_the_reader_knows(more: str, why: str) -> None:
    text = f"{HEAD}{RANKS}{more}\n"

    assert why
    assert not is_read(text)
    assert wrong("spec", typed(text)) == []


@pytest.mark.parametrize("more", ["stages: '2'", "title: null", "fragment: 'true'"])
def test_quoted_numbers_are_read_and_marked(more: str) -> None:
    text = f"{HEAD}{RANKS}{more}\n"

    assert is_read(text)
    assert wrong("spec", typed(text))


def test_what_is_wrong_is_marked_where_it_stands() -> None:
    text = f"{HEAD}ranks: [0F0, 0X0]\nweights: {{policy: flash}}\n"
    found = validator("spec").iter_errors(typed(text))

    assert sorted(re.sub(r"\W+", ".", str(each.json_path)) for each in found) == [
        ".ranks.1.",
        ".weights.policy",
    ]
