"""Updates that are committed or withdrawn later: of which weights, and by which instruction."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import Operations

__all__ = ["Speculation"]

_Part = tuple[int, int]
"""An update of one weight: the row of its STEP, and the weight."""


class _Taken(NamedTuple):
    """A STEP or SKIP, in parts: the weights that it is about, and those that are still open."""

    about: set[int]
    open: dict[int, int]


class Speculation:
    """What COMMIT and ROLLBACK settle of one stage's updates, in the order of its program.

    `settled` holds for each part of a STEP the row that settles it, `lost` those that a ROLLBACK
    withdraws, `back` for each ROLLBACK the weights whose versions it takes back.
    """

    def __init__(
        self, ops: Operations, rows: Iterable[int], about: Callable[[int], list[int]]
    ) -> None:
        """Read the program of a stage.

        Args:
            ops: the table of operations.
            rows: the rows of the stage on its rank.
            about: which weights of the witness a row is about.
        """
        self.settled: dict[_Part, int] = {}
        self.lost: set[_Part] = set()
        self.back: dict[int, tuple[int, ...]] = {}
        self._taken: list[_Taken] = []
        for row in rows:
            single = "param" in ops.attributes.get(row, {})
            match Kind(int(ops.kind[row])):
                case Kind.STEP | Kind.SKIP as kind:
                    self._take(row, about(row), single=single, skipped=kind is Kind.SKIP)
                case Kind.COMMIT:
                    self._commit(row, about(row))
                case Kind.ROLLBACK:
                    self._withdraw(row, about(row))
                case _:
                    pass

    def _take(self, row: int, about: list[int], *, single: bool, skipped: bool) -> None:
        made = {} if skipped else dict.fromkeys(about, row)
        last = self._taken[-1] if self._taken else None
        if single and last is not None and last.about.isdisjoint(about):
            last.about.update(about)
            last.open.update(made)
        else:
            self._taken.append(_Taken(set(about), made))

    def _commit(self, row: int, about: list[int]) -> None:
        for each in self._taken:
            for k in about:
                if k in each.open:
                    self.settled[each.open.pop(k), k] = row

    def _withdraw(self, row: int, about: list[int]) -> None:
        for each in reversed(self._taken):
            back = [k for k in about if k in each.open]
            if back:
                for k in back:
                    part = each.open.pop(k), k
                    self.settled[part] = row
                    self.lost.add(part)
                each.about.difference_update(back)
                if not each.about:
                    self._taken.remove(each)
                self.back[row] = tuple(back)
                return

    def open_at(self, part: _Part, row: int) -> bool:
        """Whether a part of a STEP is settled only behind a row."""
        return self.settled.get(part, -1) > row

    def gone_at(self, part: _Part, row: int) -> bool:
        """Whether a part of a STEP has been withdrawn before a row."""
        return part in self.lost and self.settled[part] < row
