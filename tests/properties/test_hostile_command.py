"""Whatever a file holds, `pipeproof check` ends with a defined exit code and no traceback."""

import contextlib
import io
import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeproof.cli import run
from tests.properties.test_hostile_input import (
    CELLS,
    CSV,
    CSV_WITH_MESSAGES,
    LINES,
    SPEC_JSON,
    mutated,
)

MANY = settings(
    max_examples=1000,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
FEW = settings(MANY, max_examples=100)
SPEC = """\
pipeproof: 1
stages: 2
microbatches: 2
steps: any
placement: [0, 1]
transport: {completion: buffered, capacity: 2, queue: edge, weak: [cpu], communicators: lazy}
gradients: {reduce: once}
rules: {ignore: [PP506]}
ranks:
  - |
    0F0; [SEND F0.0 to=1 comm=cpu | RECV B1.0 from=1] h=x  # both
    WAIT x
    (0F1;0B0)OVERLAP_F_B
    SEND F0.1 to=1; RECV B1.1 from=1; SIGNAL to=1
    0B1; COLL a ranks=0,1; 0REDUCE; 0STEP
  - ["1RECV_F0 comm=cpu", 1F0, 1B0, 1SEND_B0, RECV F0.1 from=0, "1F1; 1B1",
     SEND B1.1 to=0, "AWAIT from=0; COLL a ranks=0,1", "1REDUCE; 1STEP"]
"""
PLACE = re.compile(r":\d+:\d+: ")


def ends_well(data: bytes, suffix: str) -> int:
    """Check a file that holds `data`; return the exit code."""
    said, complaints = io.StringIO(), io.StringIO()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"file{suffix}"
        path.write_bytes(data)
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(complaints):
            code = run(["check", str(path)])

    assert code in {0, 1, 2, 3, 5}, complaints.getvalue()
    assert "Traceback" not in complaints.getvalue()
    assert code != 2 or PLACE.search(complaints.getvalue())
    return code


def test_what_is_mutated_is_judged() -> None:
    codes = [ends_well(text.encode(), ".yaml") for text in (SPEC, CSV_WITH_MESSAGES, CSV)]

    assert codes[0] in {0, 1, 3}
    assert 2 not in codes


@FEW
@given(mutated(SPEC))
def test_a_mutated_spec_ends_well(text: str) -> None:
    ends_well(text.encode("utf-8", "surrogatepass"), ".yaml")


@FEW
@given(mutated(CSV, CSV_WITH_MESSAGES))
def test_a_mutated_csv_ends_well(text: str) -> None:
    ends_well(text.encode("utf-8", "surrogatepass"), ".csv")


@FEW
@given(CELLS)
def test_cells_end_well(text: str) -> None:
    ends_well(text.encode("utf-8", "surrogatepass"), ".csv")


@FEW
@given(st.one_of(LINES, mutated(SPEC_JSON)))
def test_lines_of_a_spec_and_json_end_well(text: str) -> None:
    ends_well(text.encode("utf-8", "surrogatepass"), ".yaml")


@FEW
@given(st.binary(max_size=300))
def test_bytes_end_well(data: bytes) -> None:
    ends_well(data, ".yaml")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("drawn", "suffix"),
    [
        (mutated(SPEC), ".yaml"),
        (mutated(CSV, CSV_WITH_MESSAGES), ".csv"),
        (CELLS, ".csv"),
        (st.one_of(LINES, mutated(SPEC_JSON)), ".yaml"),
        (st.binary(max_size=300), ".yaml"),
    ],
)
def test_five_thousand_end_well(drawn: st.SearchStrategy[str | bytes], suffix: str) -> None:
    @MANY
    @given(drawn)
    def all_end_well(data: str | bytes) -> None:
        ends_well(
            data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass"), suffix
        )

    all_end_well()
