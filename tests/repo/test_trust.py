"""What docs/trust.md says that there is, is there."""

import ast
import re
from pathlib import Path

import pytest

from pipeproof.ir.transport import NAMED
from pipeproof.semantics.assumptions import assumed
from pipeproof.testing import conformance
from tests.properties.mutated import MUTATIONS

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "trust.md").read_text(encoding="utf-8")
FILES = sorted({each.rstrip("/") for each in re.findall(r"`(tests/[\w/.]+)(?:::\w+)?`", TEXT)})
NAMES = sorted(set(re.findall(r"`(tests/[\w/.]+)::(\w+)`", TEXT)))
EDGES = re.findall(r"^\| (\w+) \| (.+) \| (\d+) \| (\d+) \| (\d+) \| \d+ \|$", TEXT, re.MULTILINE)
REGISTER = re.findall(r"^\| (A\d+) \| (.+) \|$", TEXT, re.MULTILINE)


@pytest.mark.parametrize("path", FILES)
def test_what_is_said_to_hold_something_stands_there(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.parametrize(("path", "name"), NAMES)
def test_a_test_that_is_named_stands_there(path: str, name: str) -> None:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))

    assert name in {each.name for each in tree.body if isinstance(each, ast.FunctionDef)}


def test_every_case_of_the_suite_that_is_named_is_one() -> None:
    named = re.findall(r'"([a-z][^"]+)"', TEXT.partition("## What stands behind")[0])
    cases = {each.name for each in conformance.cases()}

    assert len(named) > 4
    assert all(name in cases or f"{name}, rendezvous" in cases for name in named)


def test_every_assumption_that_a_verdict_names_is_in_the_register() -> None:
    told = {
        each
        for transport in NAMED.values()
        for each in assumed(transport, messages=True, collectives=True)
    }

    assert told <= {name for name, _ in REGISTER}
    assert [name for name, _ in REGISTER] == [f"A{number}" for number in range(1, 16)]


def test_each_assumption_says_what_is_wrong_without_it_and_what_would_notice() -> None:
    for name, row in REGISTER:
        cells = row.split(" | ")

        assert len(cells) == 4, name
        assert all(cells), name


def test_every_edge_that_was_spoiled_is_in_the_table_and_somebody_saw_it() -> None:
    assert {f"{edge}: {what}" for edge, what, *_ in EDGES} == {each.name for each in MUTATIONS}
    assert all(int(machine) + int(second) for *_, machine, second in EDGES)
