"""Whatever a file holds, reading it ends in documents or in mistakes with their places."""

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeproof.errors import InputError, Problem, UnsupportedFeatureError
from pipeproof.frontends import spec, torch_csv
from pipeproof.ir.reading import ReadOptions, decode
from pipeproof.ir.source import Document

Read = Callable[[str, str, ReadOptions], tuple[Document, ...]]

FEW = settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)

SPEC = """\
pipeproof: 1
title: all of the language
stages: 2
microbatches: 2
steps: any
placement: [0, 1]
transport: {completion: buffered, capacity: 2, queue: edge, weak: [cpu], communicators: lazy}
storage: {receive: {slots: 2, slot: microbatch mod slots, guard: wait}, registers: [loss]}
weights: {policy: stash, updates: microbatch}
gradients: {coefficients: [1/2, 1/2], reduce: once, tied: [[0, 1]], norm: all}
pipelines: [[0, 1]]
costs: {F: 1, B: [2, 2], comm: 0.5}
bounds: {live: 4, memory: 70GiB}
sizes: {F: 64MiB}
faults: {among: [{rank: 1, fault: missing}, {op: 1F0, fault: delayed}], policy: raise}
rules: {select: [PP3], ignore: [PP506]}
ranks:
  - |
    0F0 keep=a; [SEND F0.0 to=1 comm=cpu | RECV B1.0 from=1] h=x  # both
    WAIT x
    (0F1;0B0 c=1/2)OVERLAP_F_B
    CHOOSE q a|b; 0STEP if=q:a
  - {order: ready, program: ["1F0", 'COLL a ranks=0,1', "RECV any from=any"], limit: {live: 4}}
expect:
  - {transport: custom, verdict: refuted, rule: PP301, or: [PP205], at: [r0.1], exact: true}
"""
SPEC_JSON = '{"pipeproof": 1, "microbatches": 2, "ranks": ["0F0\\n0B0", ["1F0", "1B0 \\u0063=1"]]}'
CSV = '0F0,0F1,,(0F2;0B0)OVERLAP_F_B\r\n"1F0", 1F1 ,1B0\n'
CSV_WITH_MESSAGES = "0UNSHARD,0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0,1REDUCE_GRAD\n"

PARTS = (
    *("0", "1", "00", "-1", "9" * 30, "any", "h=", "to=", "from=any", "if=q:z", "c=1/0", "w=stash"),
    *(" ", "\t", "\n", "\r", "\r\n", "\n\n", ";", ",", ":", "|", "[", "]", "{", "}", "(", ")", "#"),
    *("'", '"', "&a ", "*a", "!!int ", "<<: ", "- ", "? ", "---\n", "...\n", "%YAML 1.2\n", "\\"),
    *("0F0", "1SEND_F1", "OVERLAP_F_B", "WAIT x", "ranks:", "pipeproof: 1\n", "loop", "strict"),
    *("\x00", "\ufeff", "\ud800", "\x85", "\u2028", "\u00a0", "\u0663", "\U0001f600", "\x1b[31m"),
)


def outcome(read: Read, text: str) -> str:
    """Read `text`; what is raised must be what a caller expects, with its places."""
    documents: tuple[Document, ...] = ()
    problems: tuple[Problem, ...] = ()
    try:
        documents = read(text, "file", ReadOptions())
    except InputError as error:
        problems = error.problems
    except UnsupportedFeatureError:
        return "unsupported"

    assert bool(documents) != bool(problems)
    for problem in problems:
        assert problem.line >= 1
        assert problem.column >= 1
        assert "\x00" not in str(problem)
    for document in documents:
        operations = document.schedule.operations
        for row in range(len(operations)):
            line, column = document.places.place(row)
            assert line >= 1
            assert column >= 1
            assert operations.text(row)
    return "read" if documents else "wrong"


def decoded(read: Read, data: bytes) -> Read:
    """Read `data` instead of a text."""
    return lambda _, name, options: read(decode(data, name), name, options)


@st.composite
def mutated(draw: st.DrawFn, *sources: str) -> str:
    """Draw one of `sources`, cut, doubled and mixed with what files should not hold."""
    text = draw(st.sampled_from(sources))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 12)))
        put = draw(st.one_of(st.sampled_from(PARTS), st.just(text[start:end] * 2)))
        text = text[:start] + put + text[end:]
    return text


PIECES = st.lists(st.sampled_from(PARTS), max_size=40).map("".join)
LINES = st.lists(st.sampled_from(SPEC.splitlines(keepends=True)), max_size=40).map("".join)
CELLS = st.lists(
    st.one_of(
        st.from_regex(r"[0-9]{1,2}(F|B|I|W|SEND_F|UNSHARD|OVERLAP_F_B)[0-9]{0,3}", fullmatch=True),
        st.sampled_from(PARTS),
        st.sampled_from((",", ",", "\n", "(0F0;0B0)OVERLAP_F_B", "()OVERLAP_F_B")),
    ),
    max_size=30,
).map("".join)


@pytest.mark.parametrize("text", [SPEC, SPEC_JSON])
def test_what_is_mutated_is_a_spec(text: str) -> None:
    assert outcome(spec.read, text) == "read"


@pytest.mark.parametrize("text", [CSV, CSV_WITH_MESSAGES])
def test_what_is_mutated_is_a_csv(text: str) -> None:
    assert outcome(torch_csv.read, text) == "read"


@FEW
@given(mutated(SPEC))
def test_mutated_spec(text: str) -> None:
    outcome(spec.read, text)


@FEW
@given(mutated(SPEC))
def test_spec_mutated_otherwise_is_sniffed_without_error(text: str) -> None:
    for front in (spec, torch_csv):
        front.sniff(text, "file")


@FEW
@given(mutated(SPEC_JSON))
def test_mutated_json(text: str) -> None:
    outcome(spec.read, text)


@FEW
@given(LINES)
def test_lines_of_a_spec_in_any_order(text: str) -> None:
    outcome(spec.read, text)


@FEW
@given(PIECES)
def test_pieces_of_specs(text: str) -> None:
    outcome(spec.read, f"pipeproof: 1\nmicrobatches: 1\nranks: {text}")


@FEW
@given(PIECES)
def test_pieces_of_programs(text: str) -> None:
    quoted = text.replace("'", "''")
    outcome(spec.read, f"pipeproof: 1\nmicrobatches: 1\nranks: ['{quoted}']")


@FEW
@given(mutated(CSV, CSV_WITH_MESSAGES))
def test_mutated_csv(text: str) -> None:
    outcome(torch_csv.read, text)


@FEW
@given(CELLS)
def test_cells_of_csvs(text: str) -> None:
    outcome(torch_csv.read, text)


@FEW
@given(st.text(max_size=200))
def test_any_text(text: str) -> None:
    outcome(spec.read, text)
    outcome(torch_csv.read, text)


@FEW
@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    for read in (spec.read, torch_csv.read):
        outcome(decoded(read, data), "")
