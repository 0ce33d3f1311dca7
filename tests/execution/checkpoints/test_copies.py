from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipeproof.execution.checkpoints import files
from pipeproof.execution.checkpoints.copies import Copies
from pipeproof.execution.checkpoints.decisions import Decision, Status
from pipeproof.execution.checkpoints.restart import taken_up
from pipeproof.execution.checkpoints.state import CheckpointError, unequal
from tests.execution.checkpoints.saved import PIPELINE, ended, held, moment

if TYPE_CHECKING:
    from pathlib import Path

AT = moment(PIPELINE, 50)
V = Status.VERIFIED


@pytest.fixture(scope="module")
def packed() -> list[bytes]:
    return [files.pack(part) for part in AT.parts()]


@pytest.fixture
def copies(tmp_path: Path, packed: list[bytes]) -> Copies:
    kept = Copies(tmp_path, 2)
    for rank, data in enumerate(packed):
        kept.keep(rank, 4, data)
    return kept


@pytest.mark.parametrize("lost", [0, 1])
def test_a_rank_lost_with_its_disk_goes_on_from_its_peers_copy(copies: Copies, lost: int) -> None:
    copies.lose(lost)
    with pytest.raises(CheckpointError):
        copies.on_disk(lost, 4)

    again = taken_up(AT.setting, copies.parts(4))
    again.play(AT.order[AT.cut :])

    ends = zip(held(again, AT.setting), ended(AT.setting, AT.order), strict=True)
    assert not [name for pair in ends for name in unequal(*pair)]


def test_a_torn_file_is_replaced_by_the_peers_copy(copies: Copies) -> None:
    (path,) = copies.folder.glob("rank-1/step-*.ckpt")
    path.write_bytes(path.read_bytes()[:-3])

    assert not copies.unreadable(4)
    assert not unequal(copies.part(1, 4), AT.parts()[1])


def test_what_neither_disk_nor_peer_has_is_told(copies: Copies) -> None:
    copies.lose(0)
    copies.lose(1)

    assert "rank 1 keeps no copy of step 4 of rank 0" in copies.unreadable(4)


def test_a_copy_lives_with_another_rank_and_on_the_own_disk(
    copies: Copies, packed: list[bytes]
) -> None:
    assert copies.peer(0) == 1
    assert copies.memory[1][0, 4] == packed[0]
    assert copies.on_disk(0, 4) == packed[0]


def test_a_single_rank_has_no_peer(tmp_path: Path, packed: list[bytes]) -> None:
    alone = Copies(tmp_path, 1)
    alone.keep(0, 4, packed[0])

    assert alone.peer(0) is None
    assert alone.on_peer(0, 4) == packed[0]


def test_what_was_decided_is_read_from_the_disks_that_are_left(copies: Copies) -> None:
    decisions = [Decision(3, V, "so"), Decision(4, Status.REJECTED, "so", ("rank 1",))]
    for rank in range(2):
        copies.note(rank, decisions)
    copies.lose(1)

    assert copies.noted() == decisions


def test_disks_that_tell_two_histories_are_refused(copies: Copies) -> None:
    with pytest.raises(CheckpointError, match="tell 0 histories"):
        copies.noted()
    copies.note(0, [Decision(3, V, "so")])
    copies.note(1, [Decision(4, V, "so")])

    with pytest.raises(CheckpointError, match="tell 2 histories"):
        copies.noted()
