"""Whether each rank ran its program: nothing missing, nothing more, in its order."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import islice, takewhile

from pipeproof.ir.recorded import Span
from pipeproof.semantics.spans._offence import Offence, called
from pipeproof.semantics.spans.matching import Matched, Named, Unit

__all__ = ["Programs", "diverging"]

_MOST = 20


class Programs:
    """What came of looking at each rank by itself: `partial` that its begin or end lacks."""

    def __init__(self, offences: list[Offence], partial: tuple[int, ...]) -> None:
        self.offences, self.partial = offences, partial


def diverging(found: Matched, *, tolerance: int = 0, partial: bool = False) -> Programs:
    """Return where the spans of a rank are not its program.

    Args:
        found: the trace beside the programs.
        tolerance: how many ticks later than another a span may begin that comes before it.
        partial: whether the recording may begin late and end early.
    """
    offences = [_stray(span) for span in found.stray]
    cut: list[int] = []
    for rank in range(len(found.programs)):
        walk = _Walk(found, rank, tolerance, partial=partial)
        offences += islice(walk.offences(), _MOST)
        if walk.cut:
            cut.append(rank)
    return Programs(offences, tuple(cut))


def _stray(span: Span) -> Offence:
    why = f"{called(span.name)} is on rank {span.rank}, which the schedule does not have"
    return Offence(why, (span,), span.rank, 0)


class _Walk:
    """Goes along the program of a rank and its spans side by side."""

    def __init__(self, found: Matched, rank: int, tolerance: int, *, partial: bool) -> None:
        self.found, self.rank, self.tolerance, self.partial = found, rank, tolerance, partial
        self.program, self.spans = found.programs[rank], list(found.ordered[rank])
        self.cut = False
        self.places: dict[str, list[int]] = defaultdict(list)

    def offences(self) -> Iterator[Offence]:
        if not self.spans:
            return
        known = {unit.key for unit in self.program}
        for at, each in enumerate(self.spans):
            if each.key not in known:
                yield self._unknown(each, at)
        self.spans = [each for each in self.spans if each.key in known]
        if not self.spans:
            return
        told = Counter(each.key for each in self.spans)
        wanted = Counter(unit.key for unit in self.program)
        whole = all(told[key] == wanted[key] * self.found.steps for key in wanted)
        if whole and not self.partial:
            yield from self._in_order()
        else:
            yield from self._along()

    def _unknown(self, each: Named, at: int) -> Offence:
        home = self.found.homes.get(each.key)
        where = "of no rank" if home is None else f"of rank {home}"
        why = f"{called(each.span.name)} is on rank {self.rank}, and stands in the program {where}"
        return Offence(why, (each.span,), self.rank, at)

    # all are there, as often as they must be

    def _in_order(self) -> Iterator[Offence]:
        """Yield the first span that begins before one that comes before it in the program."""
        worst: tuple[Span, Span, Unit] | None = None
        latest: Span | None = None
        group: list[Span] = []
        at = (-1, -1)
        for (step, unit), span in self._paired():
            if (step, unit.instruction) != at:
                latest = max([*filter(None, [latest]), *group], key=_start, default=None)
                group, at = [], (step, unit.instruction)
            group.append(span)
            late = latest is not None and span.start + self.tolerance < latest.start
            if late and latest is not None and (worst is None or span.start < worst[0].start):
                worst = span, latest, unit
        if worst is not None:
            yield self._early(*worst)

    def _paired(self) -> Iterator[tuple[tuple[int, Unit], Span]]:
        """Yield each operation of each step with its span: the n-th of its name."""
        by_key: dict[str, list[Span]] = {}
        for each in self.spans:
            by_key.setdefault(each.key, []).append(each.span)
        occurrences = {key: iter(spans) for key, spans in by_key.items()}
        for step in range(self.found.steps):
            for unit in self.program:
                yield (step, unit), next(occurrences[unit.key])

    def _early(self, span: Span, other: Span, unit: Unit) -> Offence:
        why = (
            f"{called(span.name)} of rank {self.rank} begins before {called(other.name)}, "
            "which comes before it in the program"
        )
        before = sum(each.span.start < span.start for each in self.spans)
        return Offence(why, (span, other), self.rank, before, (self.rank, unit.position))

    # some are missing, or there are more

    def _along(self) -> Iterator[Offence]:
        expected, spans = self._expected(), self.spans
        for at, each in enumerate(spans):
            self.places[each.key].append(at)
        need = Counter(unit.key for unit in expected)
        have = Counter(each.key for each in spans)
        i = j = 0
        while i < len(expected) and j < len(spans):
            self._align(expected, i, j)
            unit, each = expected[i], spans[j]
            if unit.key == each.key:
                i, j = i + 1, j + 1
                need[unit.key] -= 1
                have[unit.key] -= 1
            elif have[unit.key] < need[unit.key]:
                yield self._missing(unit, j)
                need[unit.key] -= 1
                i += 1
            elif have[each.key] > need[each.key]:
                yield self._more(each, j)
                have[each.key] -= 1
                j += 1
            else:
                later = next(e for e in spans[j:] if e.key == unit.key)
                yield self._early(each.span, later.span, self._unit(each.key))
                return
        yield from self._rest(expected[i:], i, j)

    def _rest(self, expected: list[Unit], done: int, j: int) -> Iterator[Offence]:
        """Yield what is missing behind the last span, or stands behind the end of the program."""
        if self.partial:
            self.cut = self.cut or done % len(self.program) > 0
            return
        for unit in expected:
            yield self._missing(unit, j)
        for at in range(j, len(self.spans)):
            yield self._more(self.spans[at], at)

    def _expected(self) -> list[Unit]:
        """Return the operations that are asked for; from the first recorded one if that may be."""
        if not self.partial:
            return [*self.program] * self.found.steps
        first = self._begin([unit.key for unit in self.program])
        self.cut = first > 0
        turned = [*self.program[first:], *self.program[:first]]
        return turned * (len(self.spans) // len(turned) + 2)

    def _begin(self, keys: list[str]) -> int:
        """Return where in the program the first span stands: where most that follow are as well."""
        told = [each.key for each in self.spans]
        places = [n for n, key in enumerate(keys) if key == told[0]]

        def fitting(first: int) -> int:
            turned = (keys[n % len(keys)] for n in range(first, first + len(told)))
            same = (key == other for key, other in zip(turned, told, strict=True))
            return sum(takewhile(bool, same))

        return places[0] if len(places) == 1 else max(places, key=fitting)

    def _align(self, expected: list[Unit], i: int, j: int) -> None:
        """Take members of one instruction, and spans that begin at once, in the order that fits."""
        unit, span = expected[i], self.spans[j].span
        for k in range(i, len(expected)):
            if expected[k].instruction != unit.instruction:
                break
            if expected[k].key == self.spans[j].key:
                expected[i], expected[k] = expected[k], unit
                return
        there = self._next(unit.key, j)
        if there is not None and self.spans[there].span.start <= span.start + self.tolerance:
            heappush(self.places[self.spans[j].key], there)
            self.spans[j], self.spans[there] = self.spans[there], self.spans[j]

    def _next(self, key: str, j: int) -> int | None:
        """Return the first place from `j` on at which a span of that name stands."""
        places = self.places[key]
        while places and (places[0] < j or self.spans[places[0]].key != key):
            heappop(places)
        return places[0] if places else None

    def _unit(self, key: str) -> Unit:
        return next(unit for unit in self.program if unit.key == key)

    def _missing(self, unit: Unit, j: int) -> Offence:
        behind = j >= len(self.spans)
        span = self.spans[-1 if behind else j].span
        why = (
            f"{called(unit.key)} of rank {self.rank} is missing: it comes "
            f"{'behind' if behind else 'before'} {called(span.name)}"
        )
        return Offence(why, (span,), self.rank, j, (self.rank, unit.position))

    def _more(self, each: Named, j: int) -> Offence:
        first = next((e.span for e in self.spans if e.key == each.key and e is not each), each.span)
        why = f"{called(each.span.name)} of rank {self.rank} stands once more than in its program"
        place = (self.rank, self._unit(each.key).position)
        return Offence(why, (each.span, first), self.rank, j, place)


def _start(span: Span) -> int:
    return span.start
