"""Hold an engine to what the three of pipeproof are held to.

```python
import pytest
from pipeproof.testing import conformance
from my_engine import decide


@pytest.mark.parametrize("case", conformance.cases(), ids=str)
def test_my_engine(case: conformance.Case) -> None:
    conformance.check(decide, case)
```

An engine is a function of a model and rules that returns a `Decision`; docs/engines.md says what
both hold. Neither torch nor z3 is imported here.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from pipeproof import api
from pipeproof.campaign.drawn import small_text
from pipeproof.errors import InputError, ReplayMismatchError
from pipeproof.frontends import spec
from pipeproof.ir.reading import ReadOptions
from pipeproof.ir.source import Document
from pipeproof.semantics.found import Finding
from pipeproof.semantics.logic import Rule
from pipeproof.semantics.model import Model
from pipeproof.testing import (
    _written_more,
    _written_order,
    _written_steps,
    _written_storage,
    _written_transports,
)
from pipeproof.testing._brute import Brute
from pipeproof.verdict import replay
from pipeproof.verdict.decision import Broken, Decision

__all__ = ["Case", "Decide", "cases", "check", "drawn"]

Decide = Callable[[Model, tuple[Rule, ...]], Decision]
"""An engine."""

_DRAWN = 60
_TRIES = 100
_Places = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Case:
    """A schedule under one transport, and what an engine has to find of it.

    `told` lists all violations, first first: code and places, as `PP202 r0.1 r1.0, PP105`. It is
    None where a look at every state of every interleaving tells it.
    """

    name: str
    text: str
    told: str | None = None

    def __str__(self) -> str:
        """Return the name, for the ids of parametrized tests."""
        return self.name

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that an engine is asked for."""
        return tuple(rule for rule in api.rules() if not rule.warns)

    @cached_property
    def model(self) -> Model:
        """The schedule under its transport, as an engine is given it."""
        document = _document(self.text, self.name)
        (transport,) = api.transports_of(document)
        model = api.models(document)(transport.name, 1)
        assert model is not None  # noqa: S101  it was asked for by its own name
        return model


def cases() -> tuple[Case, ...]:
    """Return every case: those written by hand, and the first that are drawn."""
    rooms = (_written_order, _written_storage, _written_steps, _written_more, _written_transports)
    written = [Case(each.name, each.text, each.told) for room in rooms for each in room.WRITTEN]
    return (*written, *drawn(range(_DRAWN)))


def drawn(seeds: Iterable[int]) -> tuple[Case, ...]:
    """Return a small schedule for each seed; its verdict is told by looking at every state."""
    return tuple(Case(f"drawn {seed}", _readable(seed)) for seed in seeds)


def _readable(seed: int) -> str:
    for attempt in range(_TRIES):
        text = small_text(seed, attempt)
        try:
            _document(text, "drawn")
        except InputError:
            continue
        return text
    message = f"no schedule can be drawn from {seed}"
    raise ValueError(message)


def _document(text: str, name: str) -> Document:
    (document,) = spec.read(text, name, ReadOptions())
    return document


def check(decide: Decide, case: Case, *, complete: bool = False) -> tuple[str, ...]:
    """Fail unless an engine finds what there is to find of a case, and shows it.

    Args:
        decide: the engine.
        case: one of `cases()`.
        complete: whether it fails, too, where the engine leaves a rule open.

    Returns:
        The codes of the rules that the engine leaves open.

    Raises:
        AssertionError: it says what differs.
    """
    __tracebackhide__ = True  # pytest shows the line that asserts
    decision = decide(case.model, case.rules)
    held = _Held(case, decision, complete=complete)
    differs = list(held.differences())
    if differs:
        lines = "\n".join(f"  {each}" for each in differs)
        message = f"{case.name}: {decision.engine} differs\n{lines}\n{case.text}"
        raise AssertionError(message)
    return tuple(sorted(decision.unknown))


class _Held:
    """What an engine found of a case, held against what there is."""

    def __init__(self, case: Case, decision: Decision, *, complete: bool) -> None:
        self.case, self.decision, self.complete = case, decision, complete
        self.model = case.model
        self.codes = [rule.code for rule in case.rules]

    def differences(self) -> Iterator[str]:
        yield from self._form()
        if self.complete:
            for code, why in sorted(self.decision.unknown.items()):
                yield f"{code}: it is left open: {why}"
        yield from self._told() if self.case.told is not None else self._looked_at()
        yield from self._shown()

    def _form(self) -> Iterator[str]:
        decision = self.decision
        asked = {*self.codes}
        named = {*decision.unknown, *decision.instances, *(b.rule.code for b in decision.broken)}
        if named - asked:
            yield f"{', '.join(sorted(named - asked))}: nobody asked for it"
        if asked - decision.instances.keys():
            lacking = ", ".join(sorted(asked - decision.instances.keys()))
            yield f"{lacking}: it is not said in how many instances it applied"
        order = [
            (each.cost, each.rule.code, self._places(each.finding)) for each in decision.broken
        ]
        if order != sorted(order):
            yield "what is broken does not stand in order: by cost, then code, then places"

    def _places(self, finding: Finding) -> _Places:
        return tuple(self.model.frame.place(spot) for spot in finding.spots)

    # what there is, written down

    def _told(self) -> Iterator[str]:
        told = _read(self.case.told or "")
        wanted: dict[str, set[_Places]] = defaultdict(set)
        for code, places in told:
            wanted[code].add(places)
        found = self._found()
        for code in self.codes:
            if code not in self.decision.unknown:
                yield from _compare(code, wanted[code], {*found[code]})
        broken = self.decision.broken
        first = (broken[0].rule.code, self._places(broken[0].finding)) if broken else None
        if told and first != told[0] and not self.decision.unknown and first is not None:
            yield f"{told[0][0]}{_said(told[0][1])} needs the fewest events, and is not told first"
        stuck = {"PP201", "PP204", "PP205", "PP301"} & wanted.keys()
        if not self.decision.complete and not stuck and not self.decision.unknown:
            yield "everything happens, and it says that not everything does"

    # what there is, by looking at every state

    def _looked_at(self) -> Iterator[str]:
        brute = Brute(self.model)
        found = self._found()
        for rule in self.case.rules:
            if rule.code in self.decision.unknown:
                continue
            try:
                told = {self._places(each): each for each in brute.broken(rule.axiom)}
            except ValueError:  # no schedule that is drawn has faults
                continue
            either = {**found[rule.code], **told}
            reached = {places for places in either if brute.reached(either[places])}
            yield from _compare(rule.code, {*told} & reached, {*found[rule.code]} & reached)
        for each in self.decision.broken:
            cost = brute.cost(each.finding)
            if cost is not None and cost != each.cost:
                said = _said(self._places(each.finding))
                yield f"{each.rule.code}{said} needs {cost} events before it, not {each.cost}"
        if self.decision.complete != brute.complete and not self.decision.unknown:
            yield f"it is {brute.complete} that everything happens in every execution"

    def _found(self) -> dict[str, dict[_Places, Finding]]:
        found: dict[str, dict[_Places, Finding]] = defaultdict(dict)
        for each in self.decision.broken:
            found[each.rule.code][self._places(each.finding)] = each.finding
        return found

    # executions

    def _shown(self) -> Iterator[str]:
        traced: dict[str, list[Broken]] = defaultdict(list)
        for each in self.decision.broken:
            traced[each.rule.code].append(each)
            try:
                replay.check(self.model, each)
            except ReplayMismatchError as error:
                said = f"{each.rule.code}{_said(self._places(each.finding))}"
                yield f"{said}: its execution does not replay: {error}"
        for code, several in traced.items():
            reached = [each for each in several if each.reached and each.finding.spots]
            if reached and not any(len(each.trace) for each in several):
                yield f"{code}: no execution shows it"


def _compare(code: str, wanted: set[_Places], found: set[_Places]) -> Iterator[str]:
    for places in sorted(wanted - found):
        yield f"{code}{_said(places)}: it is broken there, and the engine does not find it"
    for places in sorted(found - wanted):
        yield f"{code}{_said(places)}: it holds there, and the engine finds it broken"


def _said(places: _Places) -> str:
    return "".join(f" r{rank}.{position}" for rank, position in places) or " (no place)"


def _read(told: str) -> list[tuple[str, _Places]]:
    found = []
    for each in filter(None, told.split(", ")):
        code, *places = each.split(" ")
        numbers = (place[1:].split(".") for place in places)
        found.append((code, tuple((int(rank), int(position)) for rank, position in numbers)))
    return found
