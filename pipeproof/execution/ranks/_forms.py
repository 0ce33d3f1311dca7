"""In which form a message travels where its two ends do not agree on it."""

import math
from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor

__all__ = ["Form", "form"]

_Said = Mapping[str, str]
_TYPES = {
    **dict.fromkeys(("f16", "fp16", "float16", "half"), torch.float16),
    **dict.fromkeys(("bf16", "bfloat16"), torch.bfloat16),
    **dict.fromkeys(("f32", "fp32", "float32", "float"), torch.float32),
    **dict.fromkeys(("f64", "fp64", "float64", "double"), torch.float64),
}


class Form(NamedTuple):
    """How many numbers one end has, of which type, and whether they stand column by column."""

    size: int
    dtype: torch.dtype
    turned: bool = False

    def laid(self, data: Tensor, width: int) -> Tensor:
        """Return numbers in this form; where there are too few, with NaN behind them."""
        flat = data.detach().reshape(-1)
        if self.turned and flat.numel() % width == 0:
            flat = flat.reshape(-1, width).t().reshape(-1)
        room = torch.full((self.size,), torch.nan, dtype=self.dtype)
        few = min(self.size, flat.numel())
        room[:few] = flat[:few].to(self.dtype)
        return room


def form(mine: _Said, other: _Said, size: int, dtype: torch.dtype, *, sends: bool) -> Form:
    """Return the form of one end of a message.

    What both ends say alike changes nothing. Where shapes differ, the end whose shape has fewer
    numbers has fewer in that ratio; where layouts differ, the sender's stands column by column.

    Args:
        mine: what is said at this end.
        other: what is said at the other one.
        size: how many numbers the value has.
        dtype: their type.
        sends: whether this end sends.
    """
    own, theirs = _count(mine, other), _count(other, mine)
    if own < theirs:
        size = max(1, size * own // theirs)
    if _differ(mine, other, "dtype"):
        dtype = _TYPES.get(mine["dtype"], dtype)
    return Form(size, dtype, sends and _differ(mine, other, "layout"))


def _differ(mine: _Said, other: _Said, what: str) -> bool:
    return what in mine and what in other and mine[what] != other[what]


def _count(mine: _Said, other: _Said) -> int:
    """Return how many numbers a shape has, 1 where both ends say the same or one says nothing."""
    if not _differ(mine, other, "shape"):
        return 1
    parts = mine["shape"].replace(",", "x").replace("*", "x").split("x")
    return max(1, math.prod(int(part) for part in parts if part.isdigit()))
