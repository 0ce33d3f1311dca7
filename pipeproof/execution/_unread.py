"""Whether what would read a storage never happens, so that no read shows what became of it."""

from collections.abc import Iterator, Set

from pipeproof.execution._touches import Key
from pipeproof.execution.replayer import Replayer

__all__ = ["is_kept_from_reading"]


def is_kept_from_reading(replayer: Replayer, rows: Set[int]) -> bool:
    """Whether a read of a storage that rows change has not happened, nor can it any more.

    A value that is put there once more behind all of the rows is another one.
    """
    happened = set(replayer.happened)
    return any(
        not happened.intersection(_reading(replayer, reader))
        for reader, key, value in _reads(replayer, rows)
        if not _is_put_again(replayer, max(rows), reader, key, value)
    )


def _reads(replayer: Replayer, rows: Set[int]) -> Iterator[tuple[int, Key, int]]:
    """Yield the reads of what rows change, by others."""
    keys = {key for row in rows for key in _changed(replayer, row)}
    for reader, own in replayer.touches.reads.items():
        if reader not in rows:
            yield from ((reader, each.key, each.value) for each in own if each.key in keys)


def _changed(replayer: Replayer, row: int) -> Iterator[Key]:
    touches = replayer.touches
    yield from (each.key for each in touches.writes.get(row, ()))
    yield from touches.takes.get(row, ())
    if row in touches.frees:
        yield touches.frees[row]


def _is_put_again(replayer: Replayer, row: int, reader: int, key: Key, value: int) -> bool:
    writes = replayer.touches.writes
    return any(
        each.key == key and each.value == value
        for between in range(row + 1, reader)
        for each in writes.get(between, ())
    )


def _reading(replayer: Replayer, row: int) -> Iterator[int]:
    """Yield the event in which a row reads: a message that is sent, when it moves."""
    events = replayer.events
    transfer = events.sent.get(row)
    if transfer is not None:
        yield events.first_transfer + 2 * transfer
    else:
        yield events.started(row)
