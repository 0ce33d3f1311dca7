"""Orders of schedule objects, and the child process that builds them."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from pipeproof.execution.torch_classes import mock_stages, orders_of

ROOT = Path(__file__).parents[2]


def child(folder: Path, source: str, name: str = "Mine") -> dict[str, object]:
    (folder / "mine.py").write_text(source)
    done = subprocess.run(  # noqa: S603  our own module
        [sys.executable, "-m", "pipeproof.execution.torch_classes", f"mine:{name}", "2", "3", "1"],
        capture_output=True,
        check=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        text=True,
        timeout=60,
    )
    said: dict[str, object] = json.loads(done.stdout)
    return said


def test_stages_say_where_they_are() -> None:
    first, second = mock_stages(ranks=4, stages_per_rank=2)

    assert (first.num_stages, first.group_size, first.group_rank) == (8, 4, 0)
    assert (first.stage_index, second.stage_index) == (0, 4)
    assert (first.is_first, second.is_last) == (True, False)


def test_a_mapping_is_read_in_order_of_its_ranks() -> None:
    found = orders_of({1: ["1F0"], 0: ["0F0", None]})

    assert found["rows"] == [["0F0", ""], ["1F0"]]
    assert (found["microbatches"], found["stages"], found["notes"]) == (None, None, [])


def test_the_order_with_messages_is_taken_where_there_is_one() -> None:
    made = SimpleNamespace(
        pipeline_order={0: ["0F0"]},
        pipeline_order_with_comms={0: ["0UNSHARD", "0F0"]},
        _n_microbatches=3,
        _num_stages=1,
    )
    found = orders_of(made)

    assert found["rows"] == [["0UNSHARD", "0F0"]]
    assert (found["microbatches"], found["stages"]) == (3, 1)
    assert found["notes"] == ["the order with messages that torch made is judged"]


def test_reductions_among_computations_only_are_left_to_lowering() -> None:
    both = "(0F1;1B0)OVERLAP_F_B"

    assert orders_of({0: ["0F0", both, "0REDUCE_GRAD"]})["rows"] == [["0F0", both]]
    assert orders_of({0: ["0SEND_F0", "0REDUCE_GRAD"]})["rows"] == [["0SEND_F0", "0REDUCE_GRAD"]]


@pytest.mark.parametrize("wrong", [{}, {1: []}, {0: [], 2: []}, object()])
def test_an_order_for_each_rank_is_needed(wrong: object) -> None:
    with pytest.raises(ValueError, match="for each rank from 0"):
        orders_of(wrong)


def test_a_class_is_built_with_stages_and_microbatches(tmp_path: Path) -> None:
    said = child(
        tmp_path,
        "import sys\nprint('noise'); sys.stdout.write('more')\n"
        "class Mine:\n"
        "    def __init__(self, stages, n):\n"
        "        self.pipeline_order = {r: [f'{r}F{m}' for m in range(n)]\n"
        "                               for r in range(stages[0].group_size)}\n",
    )

    assert said["rows"] == [["0F0", "0F1", "0F2"], ["1F0", "1F1", "1F2"]]


def test_a_function_returns_what_is_judged_and_an_object_is_it(tmp_path: Path) -> None:
    text = "def Mine(stages, n):\n    return {0: ['0F0'], 1: [None]}\nmade = Mine(0, 0)\n"

    assert child(tmp_path, text)["rows"] == [["0F0"], [""]]
    assert child(tmp_path, text, "made")["rows"] == [["0F0"], [""]]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("raise ValueError('first\\nsecond')\n", "ValueError: first"),
        ("import sys; sys.exit(3)\n", "SystemExit: 3"),
        ("", "AttributeError: module 'mine' has no attribute 'Mine'"),
        ("def Mine(a, b): raise KeyError\n", "KeyError: it says nothing"),
        ("Mine = 7\n", "ValueError: an order of actions for each rank from 0 is expected"),
    ],
)
def test_what_goes_wrong_is_one_line(tmp_path: Path, source: str, said: str) -> None:
    error = str(child(tmp_path, source)["error"])

    assert error.startswith(said)
    assert "\n" not in error
