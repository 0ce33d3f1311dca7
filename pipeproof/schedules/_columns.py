"""The orders of all ranks as one operation table."""

from collections.abc import Sequence
from types import MappingProxyType

import numpy as np

from pipeproof.ir.operations import NONE, Bracket, IntArray, Operations, read_only
from pipeproof.ir.values import NO_VALUE
from pipeproof.schedules._order import Order

__all__ = ["operations"]


def operations(orders: Sequence[Order]) -> Operations:
    """Return the table of `orders`, one a rank; linear in the number of rows."""
    joined = np.concatenate([order.joined for order in orders])
    overlaps = joined | np.append(joined[1:], np.False_)
    rows = len(joined)
    return Operations(
        rank=read_only(np.repeat(np.arange(len(orders)), [len(order.kind) for order in orders])),
        position=read_only(np.concatenate([np.cumsum(~order.joined) - 1 for order in orders])),
        member=read_only(joined),
        kind=read_only(np.concatenate([order.kind for order in orders])),
        stage=read_only(np.concatenate([order.stage for order in orders])),
        microbatch=read_only(np.concatenate([order.microbatch for order in orders])),
        value=_filled(rows, NO_VALUE),
        peer=_filled(rows, NONE),
        comm=_filled(rows, 0),
        handle=_filled(rows, NONE),
        bracket=read_only(np.where(overlaps, Bracket.OVERLAP, Bracket.NONE)),
        attributes=MappingProxyType({}),
        torch_words=True,
    )


def _filled(rows: int, value: int) -> IntArray:
    return read_only(np.full(rows, value))
