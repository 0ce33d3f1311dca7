"""What a rank with `order: ready` has waited for before it picked, in one order of its picks."""

from typing import NamedTuple

from pipeproof.ir.operations import IntArray

__all__ = ["Ready", "Stuck"]


class Stuck(NamedTuple):
    """A rank that can pick nothing more: the first row of the first instruction not run.

    `messages` are the rows that what is left waits for, `receives` those of it whose message is
    not posted. `excused` says that something is left that waits for what stands nowhere.
    """

    row: int
    messages: tuple[int, ...]
    receives: tuple[int, ...]
    excused: bool


class Ready(NamedTuple):
    """The needs of what was picked, in rows of the schedule in that order.

    `completed[k]` is a message and the row that was picked after it was complete, shape `(n, 2)`;
    `posted` are the receives, each picked after its message had been posted. `timed` says that
    something was picked which only a message that was late allowed.
    """

    completed: IntArray
    posted: IntArray
    stuck: tuple[Stuck, ...] = ()
    timed: bool = False
