from __future__ import annotations

import tempfile
import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipeproof.errors import UnsupportedFeatureError
from pipeproof.execution.faults.ranks import on_ranks
from tests.execution.faults.campaign import text
from tests.execution.faults.ran import of_text, setting, trial

if TYPE_CHECKING:
    from pipeproof.execution.ranks.processes import Processes
    from pipeproof.ir.faults import Policy

TWO = (2, 1, "linear")
WINDOW = 1.0


def test_healthy_gloo_ranks_take_the_step_of_the_simulated_ones(processes: Processes) -> None:
    ended = on_ranks(processes, setting(*TWO))
    simulated = trial("missing@r0", own=TWO).control

    assert [each.outcome for each in ended] == ["stepped"] * 2
    assert not [each for each in ended if each.findings or each.differs]
    assert [each.after for each in ended] == [each.after for each in simulated]


@pytest.mark.parametrize(
    ("fault", "policy"),
    [("corrupted@r0:0SEND_F0", "recover"), ("delayed@r0:0SEND_F0", "abort")],
)
def test_a_fault_of_a_message_between_processes_is_named_exactly(
    processes: Processes, fault: str, policy: Policy
) -> None:
    found = trial(fault, policy, TWO, partial(on_ranks, processes), WINDOW)

    assert found.is_kept, str(found)


def test_a_process_that_ends_is_a_stopped_rank_and_nothing_of_the_run_remains(
    processes: Processes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def there() -> tuple[int, int, list[str]]:
        open_ = sum(1 for _ in Path("/proc/self/fd").iterdir())
        return threading.active_count(), open_, [each.name for each in tmp_path.iterdir()]

    on_ranks(processes, setting(*TWO))  # the nursery is there from now on
    processes.renew()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = there()
    found = trial("stops@r1:1", "raise", TWO, partial(on_ranks, processes), WINDOW)

    assert found.is_kept, str(found)
    assert [each.outcome for each in found.ended] == ["raised", "stopped"]
    assert there() == before


def test_what_ranks_cannot_run_apart_is_refused_before_any_process_starts(
    processes: Processes,
) -> None:
    own = of_text(text(1, 1).replace("0STEP", "0STEP\n    SAVE"))

    with pytest.raises(UnsupportedFeatureError, match="SAVE behind the step"):
        on_ranks(processes, own)


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault",
    [
        "missing@r2",
        "stops@r1:3",
        "delayed@r1:1F1",
        "delayed@r0:0SEND_F0",
        "dropped@r2:2SEND_B0",
        "duplicated@r0:0SEND_F1",
        "corrupted@r1:1SEND_B0",
        "misshapen@r1:1SEND_F1",
        "turned=mantissa@r1:1SEND_F0",
        "turned=exponent@r1:1B1",
        "turned=sign@r2:2STEP",
    ],
)
@pytest.mark.parametrize("policy", ["raise", "abort", "recover"])
def test_every_kind_of_fault_is_named_on_three_processes(
    processes: Processes, fault: str, policy: Policy
) -> None:
    found = trial(fault, policy, drive=partial(on_ranks, processes))
    dead = fault.startswith(("missing", "stops")) and policy == "recover"

    assert found.is_named, str(found)
    assert dead == bool(list(found.broken()))
