"""Random programs whose values lie in named storage, in pools, and in bounds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import random

__all__ = ["stored_text"]

_TRANSPORTS = (
    *("rendezvous", "rendezvous-edge", "rendezvous-serial", "rendezvous-atomic", "buffered"),
    *("buffered-1", "nccl-lazy", "nccl-eager", "gloo", "nccl-small", "nccl-first"),
)


class _Shape(NamedTuple):
    """How many ranks and microbatches, how many go ahead of their backward, and what is wrong.

    Where `wrong` is 0 there are slots enough and everything is waited for.
    """

    ranks: int
    microbatches: int
    ahead: int
    wrong: float


class _Writer(NamedTuple):
    """What writes the program of one rank."""

    rng: random.Random
    rank: int
    shape: _Shape
    slots: int

    def storage(self, key: str, name: str, microbatch: int) -> str:
        """An attribute that names storage, mostly; now and then none, or another one's."""
        kind = self.rng.random()
        if kind < 0.15:
            return ""
        other = self.rng.random() < self.shape.wrong
        return f" {key}={name}{(microbatch + other) % self.slots}"

    def post(self, lines: list[str], message: str, handle: str) -> None:
        """Add a message, mostly under a handle that is mostly waited for."""
        if self.rng.random() < 0.4:
            lines.append(message)
            return
        lines.append(f"{message} h={handle}")
        if self.rng.random() >= self.shape.wrong * 3:
            lines.append(f"WAIT {handle}")

    def forward(self, m: int) -> list[str]:
        lines: list[str] = []
        place, rank = "", self.rank
        if rank:
            place = self.storage("buf", "i", m)
            self.post(lines, f"RECV F{rank - 1}.{m} from={rank - 1}{place}", f"rf{m}")
        out = self.storage("out", "o", m)
        keep = self.storage("keep", "k", m)
        lines.append(f"{rank}F{m}{place.replace('buf', 'in')}{out}{keep}")
        if rank < self.shape.ranks - 1:
            place = out.replace("out", "buf")
            self.post(lines, f"SEND F{rank}.{m} to={rank + 1}{place}", f"sf{m}")
        return lines

    def backward(self, m: int) -> list[str]:
        lines: list[str] = []
        place, rank = "", self.rank
        if rank < self.shape.ranks - 1:
            place = self.storage("buf", "g", m)
            self.post(lines, f"RECV B{rank + 1}.{m} from={rank + 1}{place}", f"rb{m}")
        out = self.storage("gout", "p", m) if rank else ""
        lines.append(f"{rank}B{m}{place.replace('buf', 'gin')}{out}")
        if rank:
            place = out.replace("gout", "buf")
            self.post(lines, f"SEND B{rank}.{m} to={rank - 1}{place}", f"sb{m}")
        return lines

    def disturb(self, lines: list[str]) -> None:
        """Insert accesses, and let neighbours change places."""
        rng = self.rng
        for _ in range(rng.choice([0, 0, 1, 2])):
            name = f"{rng.choice('iogpk')}{rng.randrange(self.slots)}"
            value = f"F{self.rank}.{rng.randrange(self.shape.microbatches)}"
            text = rng.choice([f"FREE {name}", f"WRITE {name} {value}", f"USE {name} {value}"])
            lines.insert(rng.randint(0, len(lines)), text)
        for _ in range(rng.choice([0, 0, 0, 1, 2])):
            at = rng.randrange(len(lines) - 1)
            lines[at : at + 2] = reversed(lines[at : at + 2])


def _program(rng: random.Random, rank: int, shape: _Shape) -> list[str]:
    ahead = min(shape.microbatches, max(1, shape.ahead + shape.ranks - 1 - rank))
    slots = ahead if shape.wrong == 0 else max(1, ahead - rng.choice([0, 0, 1]))
    writer = _Writer(rng, rank, shape, slots)
    lines: list[str] = []
    forward = backward = 0
    while backward < shape.microbatches:
        if forward < shape.microbatches and forward - backward < ahead:
            lines += writer.forward(forward)
            forward += 1
        else:
            lines += writer.backward(backward)
            backward += 1
    if shape.wrong:
        writer.disturb(lines)
    return _tidy(lines)


def _tidy(lines: list[str]) -> list[str]:
    """The lines without each WAIT for a handle under which nothing was started."""
    started: set[str] = set()
    kept = []
    for line in lines:
        if line.startswith("WAIT ") and line[5:] not in started:
            continue
        if " h=" in line:
            started.add(line.rpartition(" h=")[2])
        kept.append(line)
    return kept


def stored_text(rng: random.Random) -> str:
    """One file: a pipeline whose values lie in storage, a little wrong in about half the cases."""
    shape = _Shape(
        rng.randint(2, 3), rng.randint(1, 4), rng.randint(1, 2), rng.choice([0.0, 0.02, 0.06])
    )
    keys: dict[str, object] = {
        "pipeproof": 1,
        "microbatches": shape.microbatches,
        "transport": rng.choice(_TRANSPORTS),
    }
    if rng.random() < 0.3:
        keys["transport"] = {
            "completion": "buffered",
            "capacity": rng.randint(1, 2),
            "match": "tag",
            "wait": rng.choice(["blocking", "at-use", "explicit"]),
        }
    if rng.random() < 0.5:
        pool: dict[str, object] = {"slots": rng.randint(1, 4)}
        if rng.random() < 0.5:
            pool["guard"] = "wait"
        keys["storage"] = {rng.choice(["stash", "receive", "send"]): pool}
    if rng.random() < 0.5:
        keys["sizes"] = {"F": "1GiB", "B": "1GiB", "keep": "2GiB", "weights": "1GiB"}
        keys["bounds"] = {"memory": f"{rng.randint(5, 12)}GiB"}
    programs = [_program(rng, rank, shape) for rank in range(shape.ranks)]
    lines = [f"{key}: {json.dumps(value)}" for key, value in keys.items()]
    return "\n".join([*lines, f"ranks: {json.dumps(programs)}", ""])
