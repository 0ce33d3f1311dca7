"""The formula stands where what it assumes holds, and nowhere else."""

import re
from fractions import Fraction
from pathlib import Path

import pytest

from pipeproof.timing.report import timed
from tests.semantics.made import model
from tests.timing.made import NAMES, known


def test_the_formula_is_that_of_the_papers() -> None:
    assert timed(known("1f1b", 4, 8)).formula == (Fraction(3, 11), "(P-1)/(M+P-1)")
    assert timed(known("interleaved_1f1b", 4, 8)).formula == (Fraction(3, 19), "(P-1)/(vM+P-1)")


@pytest.mark.parametrize("name", ["gpipe", "1f1b", "interleaved_1f1b"])
@pytest.mark.parametrize("ranks", [2, 4])
def test_it_is_the_bubble_that_is_measured(name: str, ranks: int) -> None:
    found = timed(known(name, ranks, 2 * ranks))

    assert found.formula is not None
    assert found.formula[0] == found.measures.bubble


@pytest.mark.parametrize(
    ("name", "costs"),
    [
        ("1f1b", {"comm": "1"}),
        ("1f1b", {"F": ["1", "1", "1", "2"]}),
        ("1f1b", {"L": "1"}),
        ("zbv", None),
        ("interleaved_zero_bubble", None),
    ],
)
def test_there_is_none_where_they_assume_something_else(
    name: str, costs: dict[str, str] | None
) -> None:
    assert timed(known(name, 4, 8, costs)).formula is None


def test_a_fragment_has_no_bounds() -> None:
    assert timed(model("0F0; 0B0", "1F0", fragment=True)).bounds is None


ROW = re.compile(
    r"\| (\w+) \| (\d) \| (\d+), bubble (\.\d+) \| ([\d.]+) \| (\d+), bubble (\.\d+) \| ([\d.]+) \|"
)
TABLE = ROW.findall((Path(__file__).parents[2] / "docs" / "timing.md").read_text())


@pytest.mark.parametrize("row", TABLE, ids=lambda row: str(row[0]))
def test_the_table_in_the_docs_is_what_is_computed(row: tuple[str, ...]) -> None:
    name, chunks, *figures = row
    for (ranks, microbatches), said in zip(
        ((4, 16), (8, 32)), (figures[:3], figures[3:]), strict=True
    ):
        found = timed(known(name, ranks, microbatches))
        assert str(found.line.makespan) == said[0]
        assert f"{float(found.measures.bubble):.3f}" == f"0{said[1]}"
        assert max(found.peaks) / int(chunks) == float(said[2])


def test_every_known_schedule_is_in_the_table() -> None:
    assert {row[0] for row in TABLE} == {*NAMES, "dualpipev"}
