"""A boolean for each choice and alternative, and what holds where some of them came."""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

__all__ = ["FALSE", "TRUE", "Booleans"]

TRUE, FALSE = "true", "false"
Bools = npt.NDArray[np.bool_]


class Booleans:
    """The outcomes of choices as booleans: `c2_0` says that choice 2 came out as its first.

    A choice that an outcome knows nothing of has an alternative of its own there.
    """

    def __init__(self, picked: Sequence[tuple[tuple[str, str], ...]]) -> None:
        """Make them.

        Args:
            picked: what each outcome chose; no two the same.
        """
        said = [dict(each) for each in picked]
        names = list(dict.fromkeys(name for each in said for name in each))
        self.alternatives = [
            list(dict.fromkeys(each.get(name, "") for each in said)) for name in names
        ]
        self.which = np.asarray(
            [
                [
                    found.index(each.get(name, ""))
                    for name, found in zip(names, self.alternatives, strict=True)
                ]
                for each in said
            ],
            np.int64,
        ).reshape(len(said), len(names))
        self._came = [
            [_mask(self.which[:, choice] == k) for k in range(len(found))]
            for choice, found in enumerate(self.alternatives)
        ]
        self._defined: list[str] = []
        self._known: dict[tuple[int, int], str] = {}

    def clauses(self) -> Iterator[str]:
        """Yield that each choice has one alternative, and that together they are an outcome."""
        for choice, found in enumerate(self.alternatives):
            own = [f"c{choice}_{k}" for k in range(len(found))]
            yield f"(or {' '.join(own)})"
            yield f"((_ at-most 1) {' '.join(own)})"
        if len(self.which) < np.prod([len(each) for each in self.alternatives]):
            each = (f"(and true {' '.join(self.literals(k))})" for k in range(len(self.which)))
            yield f"(or {' '.join(each)})"

    def literals(self, outcome: int) -> list[str]:
        """Return the booleans that are true in an outcome and in no other all together."""
        return [f"c{choice}_{k}" for choice, k in enumerate(self.which[outcome].tolist())]

    def outcome(self, true: set[str]) -> int:
        """Return the outcome in which these booleans are true."""
        which = [
            next(k for k in range(len(found)) if f"c{choice}_{k}" in true)
            for choice, found in enumerate(self.alternatives)
        ]
        return int(np.flatnonzero(np.all(self.which == which, axis=1))[0])

    def names(self) -> list[str]:
        """Return all of them."""
        return [f"c{n}_{k}" for n, found in enumerate(self.alternatives) for k in range(len(found))]

    def where(self, holds: Bools, among: Bools | None = None) -> str:
        """Return a formula that is true in the outcomes in which something holds, and no others.

        Args:
            holds: where, shape `(outcomes,)`.
            among: the outcomes that the formula is read in; what it says of others is open.
        """
        care = (1 << len(holds)) - 1 if among is None else _mask(among)
        key = _mask(holds) & care, care
        if key not in self._known:
            found = self._tree(*key)
            if " " in found:
                name = f"g{len(self._known)}"
                self._defined.append(f"(= {name} {found})")
                found = name
            self._known[key] = found
        return self._known[key]

    def definitions(self) -> list[str]:
        """Return what the names stand for that `where` gave since this was last asked."""
        found, self._defined = self._defined, []
        return found

    def _tree(self, holds: int, care: int) -> str:
        """Return the formula of outcomes, bit by bit, read in some that hold them."""
        if holds == care:
            return TRUE
        if not holds:
            return FALSE
        choice = self._dividing(holds, care)
        parts: list[str] = []
        for alternative, came in enumerate(self._came[choice]):
            rest = self._tree(holds & came, care & came) if care & came else FALSE
            if rest != FALSE:
                name = f"c{choice}_{alternative}"
                parts.append(name if rest == TRUE else f"(and {name} {rest})")
        return parts[0] if len(parts) == 1 else f"(or {' '.join(parts)})"

    def _dividing(self, holds: int, care: int) -> int:
        """Return the choice whose alternatives leave the fewest outcomes undecided."""
        lacks = care & ~holds
        best, fewest = -1, care.bit_count() + 1
        for choice, alternatives in enumerate(self._came):
            if any(care & came == care for came in alternatives):
                continue
            mixed = sum((care & c).bit_count() for c in alternatives if c & holds and c & lacks)
            if mixed < fewest:
                best, fewest = choice, mixed
        return best


def _mask(outcomes: Bools) -> int:
    return int.from_bytes(np.packbits(outcomes, bitorder="little").tobytes(), "little")
