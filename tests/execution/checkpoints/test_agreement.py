from __future__ import annotations

from typing import TYPE_CHECKING

from torch import distributed as dist

from pipeproof.execution.checkpoints import files
from pipeproof.execution.checkpoints.agreement import all_votes, handed_back, handed_on
from pipeproof.execution.checkpoints.decisions import Vote, decided, told
from pipeproof.execution.ranks.processes import Returned
from tests.execution.checkpoints.saved import PIPELINE, moment

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeproof.execution.ranks.processes import Processes

FAULT = "wrong value in its outputs: rank 1, stage 1, microbatch 2, forward"


def votes(fault: str, report: Callable[[int | str], None]) -> dict[str, object]:
    """What a rank decides of step 4."""
    report("votes")
    rank = dist.get_rank()
    return told(decided(4, dist.get_world_size(), all_votes(Vote(rank, 4, fault))))


def keeps(part: bytes, report: Callable[[int | str], None]) -> tuple[bytes, bytes | None]:
    """What a rank keeps for another, and what rank 1 gets back."""
    report("hands on")
    kept = handed_on(part)
    report("hands back")
    return kept, handed_back(kept, 1)


def test_real_ranks_reject_together_what_one_of_them_found(processes: Processes) -> None:
    clean = processes.call(votes, ["", ""], limit=60)
    faulty = processes.call(votes, ["", FAULT], limit=60)

    assert [each.value["status"] for each in clean if isinstance(each, Returned)] == [
        "candidate",
        "candidate",
    ]
    assert faulty[0] == faulty[1]
    assert isinstance(faulty[0], Returned)
    assert faulty[0].value["status"] == "rejected"
    assert faulty[0].value["excluded"] == [FAULT]


def test_a_real_rank_gets_its_part_back_from_its_peer(processes: Processes) -> None:
    packed = [files.pack(part) for part in moment(PIPELINE, 50).parts()]

    first, second = processes.call(keeps, packed, limit=60)

    assert first == Returned((packed[1], None))
    assert second == Returned((packed[0], packed[1]))
