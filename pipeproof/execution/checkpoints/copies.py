"""Where checkpoints are: on the disk of each rank, and in the memory of its peer."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

from pipeproof.execution.checkpoints import files
from pipeproof.execution.checkpoints._trees import CheckpointError
from pipeproof.execution.checkpoints.decisions import Decision, read, told
from pipeproof.execution.checkpoints.state import Part

__all__ = ["Copies"]

_DECISIONS = "decisions.json"


class Copies:
    """The parts of all ranks by step: a folder for each rank's disk, and what its peer keeps.

    The peer of a rank is the next one. A single rank has none.
    """

    def __init__(self, folder: Path, ranks: int) -> None:
        self.folder, self.ranks = folder, ranks
        self.memory: dict[int, dict[tuple[int, int], bytes]] = {r: {} for r in range(ranks)}

    def peer(self, rank: int) -> int | None:
        """Return the rank that keeps a copy of another's parts."""
        return (rank + 1) % self.ranks if self.ranks > 1 else None

    def _path(self, rank: int, step: int) -> Path:
        return self.folder / f"rank-{rank}" / f"step-{step:06}.ckpt"

    def keep(self, rank: int, step: int, data: bytes) -> None:
        """Write a packed part to its rank's disk, and leave a copy with its peer."""
        peer = self.peer(rank)
        files.write(self._path(rank, step), data)
        if peer is not None:
            self.memory[peer][rank, step] = data

    def on_disk(self, rank: int, step: int) -> bytes:
        """Return what is on a rank's disk.

        Raises:
            CheckpointError: nothing can be read there.
        """
        return files.read(self._path(rank, step))

    def on_peer(self, rank: int, step: int) -> bytes:
        """Return what a rank's peer keeps; without a peer, what is on its disk.

        Raises:
            CheckpointError: it keeps nothing.
        """
        peer = self.peer(rank)
        if peer is None:
            return self.on_disk(rank, step)
        data = self.memory[peer].get((rank, step))
        if data is None:
            message = f"rank {peer} keeps no copy of step {step} of rank {rank}"
            raise CheckpointError(message)
        return data

    def part(self, rank: int, step: int) -> Part:
        """Return a part from its rank's disk, or else from the peer.

        Raises:
            CheckpointError: neither has it whole.
        """
        said = []
        for place, get in (("disk", self.on_disk), ("peer", self.on_peer)):
            try:
                return files.unpack(get(rank, step), f"step {step} of rank {rank}, {place}")
            except CheckpointError as error:
                said.append(str(error))
        raise CheckpointError("; ".join(said))

    def parts(self, step: int) -> tuple[Part, ...]:
        """Return the parts of all ranks.

        Raises:
            CheckpointError: one of them is nowhere whole.
        """
        return tuple(self.part(rank, step) for rank in range(self.ranks))

    def unreadable(self, step: int) -> str:
        """Return why a step cannot be read, nothing where it can."""
        try:
            self.parts(step)
        except CheckpointError as error:
            return str(error)
        return ""

    def lose(self, rank: int) -> None:
        """Lose a rank with its disk, and with what it kept for another."""
        shutil.rmtree(self.folder / f"rank-{rank}", ignore_errors=True)
        self.memory[rank] = {}

    def note(self, rank: int, decisions: Sequence[Decision]) -> None:
        """Write to a rank's disk what has been decided."""
        said = json.dumps([told(each) for each in decisions], indent=1, ensure_ascii=False)
        files.write(self.folder / f"rank-{rank}" / _DECISIONS, f"{said}\n".encode())

    def noted(self) -> list[Decision]:
        """Return what has been decided, as the disks say that are still there.

        Raises:
            CheckpointError: none says anything, or two say different things.
        """
        texts = {
            path.read_text(encoding="utf-8") for path in self.folder.glob(f"rank-*/{_DECISIONS}")
        }
        if len(texts) != 1:
            message = f"{self.folder.name}: the disks of the ranks tell {len(texts)} histories"
            raise CheckpointError(message)
        try:
            return [read(each) for each in json.loads(texts.pop())]
        except (ValueError, AttributeError) as error:
            message = f"{self.folder.name}: {_DECISIONS} holds no decisions: {error}"
            raise CheckpointError(message) from error
