"""Which rank holds which part of an execution: its own cells, weights, gradients and messages."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

import torch
from torch import Tensor

from pipeproof.execution.checkpoints._trees import CheckpointError, digest, write_all
from pipeproof.execution.replayer import Met, Replayer

__all__ = ["Entry", "Holders", "columns", "joined", "rows"]


class Entry(NamedTuple):
    """An entry of a table, a set or a list: where it stands among all, its key, and what it is."""

    turn: int
    key: object
    item: object


_Holder = Callable[["Holders", Entry], int]


def columns(entries: Iterable[Entry]) -> list[object]:
    """Return entries as three columns; one of whole numbers alone is a tensor."""
    return [_column(each) for each in zip(*entries, strict=True)]


def _column(values: tuple[object, ...]) -> object:
    numbers = [each for each in values if type(each) is int]
    return torch.tensor(numbers) if len(numbers) == len(values) else list(values)


def rows(table: object) -> list[Entry]:
    """Return the entries that columns hold.

    Raises:
        CheckpointError: they are none.
    """
    if not isinstance(table, list):
        message = "a table of a checkpoint has no columns"
        raise CheckpointError(message)
    read = [each.tolist() if isinstance(each, Tensor) else each for each in table]
    return [Entry(*each) for each in zip(*read, strict=True)]


class Holders:
    """Shares the tables of an execution out among its ranks, and joins them again."""

    def __init__(self, replayer: Replayer) -> None:
        self.replayer = replayer
        self.placement, self.ops = replayer.run.placement, replayer.ops
        self.ranks = replayer.run.schedule.ranks
        stored = replayer.run.storage
        rows = {} if stored is None else dict(zip(stored.storage, stored.rows, strict=True))
        self.storages = {int(each): self.of_row(int(row)) for each, row in rows.items()}

    def of_row(self, row: int) -> int:
        """Return the rank of a row."""
        return int(self.ops.rank[row])

    def of_stage(self, stage: int) -> int:
        """Return the rank of a stage."""
        return self.placement[stage]

    def of_transfer(self, number: int) -> int:
        """Return the rank that keeps a message until it has arrived: its sender's."""
        transfer = self.replayer.events.transfers[number]
        return self.of_row(transfer.send if transfer.send >= 0 else transfer.receive)

    def of_event(self, event: int) -> int:
        """Return the rank at which an event happens."""
        events = self.replayer.events
        if event < events.ends:
            return self.of_row(events.rows[event // 2][0])
        if event < events.first_transfer:
            return event - events.ends
        number, arrives = divmod(event - events.first_transfer, 2)
        receive = events.transfers[number].receive
        return self.of_row(receive) if arrives and receive >= 0 else self.of_transfer(number)

    def of_cell(self, rank: int, value: int) -> int:
        """Return the rank of a memory."""
        return rank if rank >= 0 else self.storages[value]

    def of_loss(self, microbatch: int) -> int:
        """Return the rank of the stage that computes the loss of a microbatch."""
        return self.of_stage(self.replayer.asked.line(microbatch).stages[-1])

    def is_shared_out(self, name: str) -> bool:
        """Whether each rank holds a part of a table, and not all of it."""
        return name in _HOLDERS

    def parts(self, name: str, value: object) -> list[list[Entry]]:
        """Return the entries of a table for each rank; what is not shared out stands with all."""
        found: list[list[Entry]] = [[] for _ in range(self.ranks)]
        for entry in _entries(name, value):
            if name not in _HOLDERS:
                for part in found:
                    part.append(entry)
            else:
                found[_HOLDERS[name](self, entry)].append(entry)
        return found


def _entries(name: str, value: object) -> Iterator[Entry]:
    match value:
        case dict() if name == _NESTED:
            pairs = [((key, row), each) for key, met in value.items() for row, each in met.items()]
            yield from (Entry(n, *pair) for n, pair in enumerate(pairs))
        case dict():
            yield from (Entry(n, *pair) for n, pair in enumerate(value.items()))
        case set():
            yield from (Entry(n, each, None) for n, each in enumerate(sorted(value)))
        case list():
            yield from (Entry(n, n, each) for n, each in enumerate(value))
        case _:
            yield Entry(0, None, value)


def joined(name: str, like: object, parts: list[list[Entry]]) -> object:
    """Return a table from the entries that each rank holds of it.

    Raises:
        CheckpointError: two ranks hold different things where they should hold the same.
    """
    entries = {entry.turn: entry for part in parts for entry in part}
    in_order = [entry for _, entry in sorted(entries.items())]
    match like:
        case dict() if name == _NESTED:
            found: dict[object, dict[object, object]] = {}
            for entry in in_order:
                outer, inner = _pair(entry.key)
                found.setdefault(outer, {})[inner] = entry.item
            return found
        case dict():
            made = like.copy()  # one with defaults stays one
            made.clear()
            made.update((entry.key, entry.item) for entry in in_order)
            return made
        case set():
            return {entry.key for entry in in_order}
        case list():
            return [entry.item for entry in in_order]
        case _:
            return _same(name, parts)


def _same(name: str, parts: list[list[Entry]]) -> object:
    said = [part[0].item for part in parts if part]
    bits = {digest(tree) for each in said for tree in write_all({name: each}).values()}
    if len(said) < len(parts) or len(bits) > 1:
        message = f"the ranks do not say the same of {name}"
        raise CheckpointError(message)
    return said[0]


def _number(value: object) -> int:
    if isinstance(value, (int, str)):
        return int(value)
    message = f"{value!r} is no number of a rank, a stage or a row"
    raise TypeError(message)


def _pair(value: object) -> tuple[object, ...]:
    if isinstance(value, tuple):
        return value
    message = f"{value!r} is no key of several parts"
    raise TypeError(message)


def _by_key(holders: Holders, entry: Entry) -> int:
    return holders.of_stage(_number(_pair(entry.key)[0]))


def _by_stage(holders: Holders, entry: Entry) -> int:
    return holders.of_stage(_number(entry.key))


def _by_rank(holders: Holders, entry: Entry) -> int:
    del holders
    return _number(entry.key)


def _by_row(holders: Holders, entry: Entry) -> int:
    return holders.of_row(_number(entry.key))


def _by_running(holders: Holders, entry: Entry) -> int:
    return holders.of_row(_number(_pair(entry.item)[0]))


def _by_second(holders: Holders, entry: Entry) -> int:
    return holders.of_row(_number(_pair(entry.key)[1]))


def _by_cell(holders: Holders, entry: Entry) -> int:
    return holders.of_cell(*map(_number, _pair(entry.key)))


def _by_met(holders: Holders, entry: Entry) -> int:
    return holders.of_event(entry.item.event) if isinstance(entry.item, Met) else 0


_NESTED = "_met"
_HOLDERS: Mapping[str, _Holder] = MappingProxyType(
    {
        "happened": lambda holders, entry: holders.of_event(_number(entry.item)),
        "met": _by_met,
        "_made": _by_row,
        "_updates": _by_row,
        "_messages": lambda holders, entry: holders.of_transfer(_number(entry.key)),
        "cells": _by_cell,
        "numbers": _by_stage,
        "_sharded": _by_stage,
        "_versions": _by_key,
        "of": _by_key,
        "_norms": _by_key,
        "_turns": _by_key,
        "_ends": _by_key,
        "_running": _by_running,
        _NESTED: _by_second,
        "_losses": lambda holders, entry: holders.of_loss(_number(entry.key)),
        "_labels": lambda holders, entry: holders.of_loss(_number(entry.key)),
        "_withdrawn": _by_key,
        "_rounded": _by_row,
        **dict.fromkeys(("_restart._taken", "_restart._saved", "_restart._kept"), _by_rank),
        **dict.fromkeys(("carry._forth", "carry._back"), _by_key),
        **dict.fromkeys(("graphs._ran", "graphs._with", "_at", "_left", "_parts"), _by_key),
        **dict.fromkeys(("_held", "seen", "_inputs"), _by_key),
    }
)
