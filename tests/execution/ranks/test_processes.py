from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipeproof.execution.ranks.processes import Processes, Raised, Returned, Stuck
from tests.execution.ranks import waiting

targets = pytest.importorskip("tests.execution.ranks.targets")

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[3]


def ids(processes: Processes) -> list[int]:
    answers = processes.call(targets.numbered, [0, 1], limit=10)
    return [answer.value[0] for answer in answers if isinstance(answer, Returned)]


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def gone(*processes: int) -> bool:
    """Wait until processes have ended."""
    return until(lambda: not any(map(is_alive, processes)))


def until(holds: Callable[[], bool]) -> bool:
    """Wait for something that happens soon."""
    for _ in range(400):
        if holds():
            return True
        time.sleep(0.05)
    return False


def test_ranks_sum_what_each_is_given(processes: Processes) -> None:
    answers = processes.call(targets.summed, [1, 2], limit=10)

    assert answers == [Returned((0, 3)), Returned((1, 3))]


def test_ranks_stay_alive_from_one_call_to_the_next(processes: Processes) -> None:
    assert ids(processes) == ids(processes)


def test_each_call_starts_with_the_same_random_state(processes: Processes) -> None:
    first = processes.call(targets.numbered, [0, 1], limit=10)

    assert processes.call(targets.numbered, [0, 1], limit=10) == first


def test_a_call_for_more_ranks_has_a_set_of_that_many(processes: Processes) -> None:
    answers = processes.call(targets.summed, [1, 2, 4], limit=10)

    assert answers == [Returned((0, 7)), Returned((1, 7)), Returned((2, 7))]


def test_sends_that_face_each_other_are_stuck_where_each_stands(processes: Processes) -> None:
    assert processes.call(targets.facing, [True, True], limit=0.5) == [Stuck(0), Stuck(0)]


def test_a_rank_that_came_to_its_end_is_not_stuck_beside_one_that_did_not(
    processes: Processes,
) -> None:
    assert processes.call(targets.failing, ["raise", "wait"], limit=0.5) == [
        Raised("as asked", "LookupError", "raise"),
        Stuck("wait"),
    ]


def test_after_a_call_that_raised_the_next_one_has_other_processes(processes: Processes) -> None:
    before = ids(processes)
    processes.call(targets.unreturnable, [0, 1], limit=10)

    assert not set(before) & set(ids(processes))
    assert gone(*before)


def test_a_process_that_ends_is_told_by_name(processes: Processes) -> None:
    first, second = processes.call(targets.failing, ["end", "wait"], limit=0.5)

    assert first == Raised("the process ended: no more", "ProcessEnded", "end")
    assert isinstance(second, Raised)
    assert "onnection" in second.text


def test_what_cannot_be_returned_raises(processes: Processes) -> None:
    first, _ = processes.call(targets.unreturnable, [0, 1], limit=10)

    assert isinstance(first, Raised)
    assert "pickle" in first.text


def test_a_rank_that_computes_is_not_stuck(processes: Processes) -> None:
    assert processes.call(targets.busy, [1.0, 0.1], limit=0.3) == [Returned("over")] * 2


def test_a_rank_that_computes_for_ever_is_stuck_in_the_end(processes: Processes) -> None:
    answers = processes.call(targets.busy, [60.0, 0.0], limit=0.3, at_most=1)

    assert answers == [Stuck(None), Returned("over")]


def test_fresh_memory_is_no_number(processes: Processes) -> None:
    first, _ = processes.call(targets.empty, [3, 1], limit=10)

    assert isinstance(first, Returned)
    assert [math.isnan(each) for each in first.value] == [True] * 3


def test_a_renewed_set_has_other_processes(processes: Processes) -> None:
    before = ids(processes)
    processes.renew()

    assert gone(*before)
    assert not set(before) & set(ids(processes))


def test_ctrl_c_in_a_call_ends_its_set(processes: Processes) -> None:
    before = ids(processes)
    with pytest.raises(KeyboardInterrupt):
        interrupted(processes)

    assert gone(*before)
    assert len(ids(processes)) == 2


def interrupted(processes: Processes) -> None:
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    timer.start()
    processes.call(waiting.asleep, [60, 60], limit=60)


def test_a_module_is_imported_before_the_next_set_is_forked(processes: Processes) -> None:
    asked = ["tabnanny", "tabnanny"]
    before = processes.call(targets.imported, asked, limit=10)
    processes.preload("tabnanny")
    processes.renew()

    assert before == [Returned(value=False)] * 2
    assert processes.call(targets.imported, asked, limit=10) == [Returned(value=True)] * 2


def test_nothing_remains_when_it_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with Processes() as processes:
        alive = processes.call(waiting.asleep, [0, 0], limit=10)
        standing = list(tmp_path.iterdir())

    assert len(standing) == 1
    assert list(tmp_path.iterdir()) == []
    assert gone(*(answer.value for answer in alive if isinstance(answer, Returned)))


def test_everything_ends_with_the_process_that_made_it(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.execution.ranks.waiting"]
    with subprocess.Popen(  # noqa: S603  a program of ours
        command,
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
    ) as run:
        assert run.stdout is not None
        alive = [int(run.stdout.readline()) for _ in range(2)]
        standing = list(tmp_path.iterdir())
        run.kill()

    assert len(standing) == 1
    assert gone(*alive)
    assert until(lambda: not list(tmp_path.iterdir()))
