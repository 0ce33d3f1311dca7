"""Real ranks decide together, and keep a copy of each other's parts, over a group of torch's.

Each function is called by all ranks of the default group at the same place.
"""

import json

import torch
from torch import Tensor
from torch import distributed as dist

from pipeproof.execution.checkpoints.decisions import Vote

__all__ = ["all_votes", "handed_back", "handed_on"]


def all_votes(vote: Vote) -> list[Vote]:
    """Return what all ranks say, in their order."""
    mine = _tensor(json.dumps(list(vote)).encode())
    sizes = [torch.zeros(1, dtype=torch.int64) for _ in range(dist.get_world_size())]
    dist.all_gather(sizes, torch.tensor([len(mine)]))
    most = max(int(each) for each in sizes)
    places = [torch.zeros(most, dtype=torch.uint8) for _ in sizes]
    dist.all_gather(places, torch.cat((mine, torch.zeros(most - len(mine), dtype=torch.uint8))))
    return [
        Vote(*json.loads(_data(place[: int(size)])))
        for place, size in zip(places, sizes, strict=True)
    ]


def handed_on(data: bytes) -> bytes:
    """Send this rank's part to the next one; return what this rank keeps for the one before."""
    rank, ranks = dist.get_rank(), dist.get_world_size()
    return _exchanged(data, (rank + 1) % ranks, (rank - 1) % ranks)


def handed_back(kept: bytes, lost: int) -> bytes | None:
    """Return to a rank that has lost its part what the next one keeps; None on the others.

    Args:
        kept: what this rank keeps for the one before.
        lost: the rank that has lost its own.
    """
    rank, peer = dist.get_rank(), (lost + 1) % dist.get_world_size()
    if rank == peer:
        _sent(kept, lost)
    return _received(peer) if rank == lost else None


def _exchanged(data: bytes, to: int, source: int) -> bytes:
    size, there = torch.tensor([len(data)]), torch.zeros(1, dtype=torch.int64)
    sending = dist.isend(size, to)
    dist.recv(there, source)
    _wait(sending)
    place, sent = torch.zeros(int(there), dtype=torch.uint8), _tensor(data)
    sending = dist.isend(sent, to)
    dist.recv(place, source)
    _wait(sending)
    return _data(place)


def _wait(sending: dist.Work | None) -> None:
    if sending is not None:
        sending.wait()


def _sent(data: bytes, to: int) -> None:
    dist.send(torch.tensor([len(data)]), to)
    dist.send(_tensor(data), to)


def _received(source: int) -> bytes:
    size = torch.zeros(1, dtype=torch.int64)
    dist.recv(size, source)
    place = torch.zeros(int(size), dtype=torch.uint8)
    dist.recv(place, source)
    return _data(place)


def _tensor(data: bytes) -> Tensor:
    return torch.frombuffer(bytearray(data), dtype=torch.uint8)


def _data(place: Tensor) -> bytes:
    return place.numpy().tobytes()
