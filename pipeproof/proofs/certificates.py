"""Certificates written from what was decided, and checked without any engine."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from pipeproof import __version__
from pipeproof.engines._witness import Witness
from pipeproof.errors import ReplayMismatchError, printable
from pipeproof.ir.accesses import awaited_reads, supply, writes
from pipeproof.ir.actions import Kind
from pipeproof.ir.canonical import digest
from pipeproof.ir.operations import IntArray
from pipeproof.ir.storage import Stored, Touch
from pipeproof.proofs._outside import outside, unspoken, unwritten
from pipeproof.proofs._settled import chooses, every, is_left_open, settled, source
from pipeproof.semantics.logic import All, Axiom, Enforced, Rule
from pipeproof.semantics.model import Model
from pipeproof.verdict._hops import uncertified
from pipeproof.verdict.certificate import (
    PROVABLE,
    SHOWABLE,
    Certificate,
    Ordered,
    Outcome,
    Proved,
    Refuted,
    Statement,
)
from pipeproof.verdict.decision import Broken, Decision
from pipeproof.verdict.replay import accept
from pipeproof.verdict.verdict import Outcome as Outcomes
from pipeproof.verdict.verdict import TransportVerdict

__all__ = ["LeftOut", "verify", "write"]

_TRIES = 20  # violations of one transport that are tried, first first


Models = Callable[[str, int], Model | None]
"""What models a schedule under a transport by name, None if it has none, in copies."""


class LeftOut(NamedTuple):
    """A transport, or some rules under it, of which no certificate speaks, and why."""

    transport: str
    why: str


def write(
    as_run: str,
    rules: Sequence[Rule],
    judged: Sequence[tuple[TransportVerdict, Sequence[tuple[Model, Decision]]]],
    models: Models,
) -> tuple[Certificate, tuple[LeftOut, ...]]:
    """Return a certificate for what was judged, each statement replayed, and what it leaves out.

    Args:
        as_run: the schedule as run, in canonical JSON.
        rules: every rule.
        judged: the verdict under each transport, with the models that it was decided on.
        models: models the schedule under a transport by name, in copies, its choices left open.

    Raises:
        ReplayMismatchError: what is to show that a schedule is legal does not.
    """
    statements: list[Statement] = []
    left_out: list[LeftOut] = []
    for verdict, decided in judged:
        writer = _Writer({rule.code: rule for rule in rules}, verdict)
        statements.extend(writer.statements(decided, models))
        left_out.extend(LeftOut(verdict.name, why) for why in writer.left_out)
    return Certificate(digest(as_run), __version__, tuple(statements)), tuple(left_out)


def verify(
    certificate: Certificate,
    as_run: str,
    rules: Sequence[Rule],
    models: Models,
) -> None:
    """Accept every statement of a certificate about a schedule, without any engine.

    Raises:
        ReplayMismatchError: it speaks of another schedule, or one statement shows not what it says.
    """
    if certificate.schedule != digest(as_run):
        message = "the certificate speaks of another schedule as run"
        raise ReplayMismatchError(message)
    by_code = {rule.code: rule for rule in rules}
    _demand_every_outcome(certificate.statements, models)
    for number, statement in enumerate(certificate.statements):
        try:
            _accept(statement, by_code, models)
        except ReplayMismatchError as error:
            message = f"statement {number} ({printable(statement.transport)}): {error}"
            raise ReplayMismatchError(message) from error


def _accept(statement: Statement, rules: Mapping[str, Rule], models: Models) -> None:
    name, copies = statement.transport, statement.copies
    model = models(name, copies) if copies in (1, 2) else None
    why = "the schedule has no such transport or copies" if model is None else unwritten(model)
    if model is not None and statement.outcome:
        model = settled(model, statement.outcome)
    why = why or ("" if model is None else outside(model))
    if model is None or why:
        raise ReplayMismatchError(why)
    accept(model, rules, statement)


def _demand_every_outcome(statements: Sequence[Statement], models: Models) -> None:
    """Demand that what is proved is proved of every outcome of the choices, alike."""
    proved: dict[str, list[Proved]] = defaultdict(list)
    for each in statements:
        if isinstance(each, Proved) and each.outcome:
            proved[each.transport].append(each)
    for name, stated in proved.items():
        copies, rules = stated[0].copies, {*stated[0].rules}
        if any((each.copies, {*each.rules}) != (copies, rules) for each in stated):
            message = f"{printable(name)}: its outcomes are not proved of the same rules and copies"
            raise ReplayMismatchError(message)
        model = models(name, copies) if copies in (1, 2) else None
        asked = set() if model is None else {*every(model.frame.run)}
        if sorted(each.outcome for each in stated) != sorted(asked):
            message = f"{printable(name)}: an outcome is missing"
            raise ReplayMismatchError(message)


class _Settled(NamedTuple):
    """One outcome of the choices, and what was decided of it."""

    outcome: Outcome
    model: Model
    decision: Decision


class _Writer:
    """Writes what shows the verdict under one transport."""

    def __init__(self, rules: Mapping[str, Rule], verdict: TransportVerdict) -> None:
        self.rules, self.verdict = rules, verdict
        self.left_out: list[str] = []

    def statements(
        self, decided: Sequence[tuple[Model, Decision]], models: Models
    ) -> Iterator[Statement]:
        """Yield the statements, one for each outcome of what is proved."""
        if self.verdict.outcome is Outcomes.UNKNOWN:
            self.left_out.append("it is unknown")
            return
        asked = self._asked(decided, models)
        why = next(filter(None, (outside(each.model) for each in asked)), "")
        if not asked or why:
            self.left_out.append(why or "the runtime chooses")
        elif self.verdict.outcome is Outcomes.PROVED:
            yield from self._proved(asked)
        else:
            yield from self._refuted(asked)

    def _asked(self, decided: Sequence[tuple[Model, Decision]], models: Models) -> list[_Settled]:
        """Return what was decided, with the outcome that each is of; nothing where it is open."""
        run = decided[0][0].frame.run
        if len(decided) == 1 and not chooses(run):
            return [_Settled((), *decided[0])]
        found = {source(model.frame.run): (model, decision) for model, decision in decided}
        model = models(self.verdict.name, run.copies)
        if model is None or is_left_open(run) or unwritten(model):
            return []
        each = [(outcome, settled(model, outcome)) for outcome in every(model.frame.run)]
        keys = [source(of.frame.run) for _, of in each]
        if len(decided) != len(each) or not found.keys() >= {*keys}:
            return []
        return [
            _Settled(outcome, *found[key]) for (outcome, _), key in zip(each, keys, strict=True)
        ]

    def _proved(self, asked: Sequence[_Settled]) -> Iterator[Statement]:
        written = [each for each in map(self._shows, asked) if each is not None]
        if len(written) < len(asked):
            self.left_out.append("not everything happens, and no rule that was asked says why")
            return
        shown = sorted(set[str].intersection(*({*each.rules} for each in written)))
        if not shown:
            self.left_out.append("no rule is asked for that a certificate can show")
            return
        for each, of in zip(written, asked, strict=True):
            statement = replace(each, rules=tuple(shown), outcome=of.outcome)
            accept(of.model, self.rules, statement)
            yield statement

    def _shows(self, asked: _Settled) -> Proved | None:
        """Return what shows all rules that can be shown of one outcome, None without a run."""
        model = asked.model
        witness = Witness(model)
        run = witness.complete()
        if run is None:
            return None
        silent = uncertified(model.frame) | unspoken(model, refuted=False)
        codes = sorted(PROVABLE.intersection(asked.decision.instances) - silent)
        pairs = {code: _pairs(model, self.rules[code].axiom) for code in codes}
        columns = np.asarray(sorted(_transfers(model).union(*pairs.values())), np.int64).reshape(
            -1, 2
        )
        found = witness.ordered(columns[:, 0], columns[:, 1])
        lost = {
            (before, after)
            for (before, after), each in zip(columns.tolist(), found, strict=True)
            if each is None
        }
        shown = tuple(code for code in codes if not lost & pairs[code])
        for code in sorted({*codes} - {*shown}):
            self.left_out.append(f"{code}: that it holds takes too many words")
        paths: tuple[Ordered, ...] = tuple(each for each in found if each is not None)
        return Proved(self.verdict.name, model.frame.run.copies, shown, run, paths)

    def _refuted(self, asked: Sequence[_Settled]) -> Iterator[Statement]:
        tried = 0
        for each in sorted(asked, key=_cost):
            wanted = SHOWABLE - uncertified(each.model.frame) - unspoken(each.model, refuted=True)
            witness = Witness(each.model)
            for broken in each.decision.broken:
                if broken.rule.code not in wanted or tried >= _TRIES:
                    continue
                tried += 1
                statement = self._shown(each, witness, broken)
                if statement is not None:
                    yield statement
                    return
        codes = [each.decision.broken[0].rule.code for each in asked if each.decision.broken]
        self.left_out.append(f"{codes[0]}, which is broken, is nothing that a certificate can show")

    def _shown(self, asked: _Settled, witness: Witness, broken: Broken) -> Refuted | None:
        statement = witness.refuted(broken.rule, broken, asked.model.frame.run.copies)
        if statement is None:
            return None
        try:
            accept(asked.model, self.rules, statement)
        except ReplayMismatchError:
            return None  # of a violation behind another one: the next may show itself
        return replace(statement, outcome=asked.outcome)


def _cost(asked: _Settled) -> int:
    """Order outcomes by their first violation, those without one last."""
    costs = [each.cost for each in asked.decision.broken]
    return min(costs, default=2**62)


def _pairs(model: Model, axiom: Axiom) -> set[tuple[int, int]]:
    """Return the pairs that an axiom asks to be ordered and no program orders by itself."""
    match axiom:
        case All(axioms):
            return {pair for each in axioms for pair in _pairs(model, each)}
        case Enforced(rel):
            needs, chain = model.needs(rel), model.frame.chain
            apart = np.flatnonzero(chain[needs.before] != chain[needs.after])
            before, after = needs.before[apart], needs.after[apart]
            return set(zip(before.tolist(), after.tolist(), strict=True))
        case _:
            return set()


def _transfers(model: Model) -> set[tuple[int, int]]:
    """Return every message before whatever of its rank touches what it brings or takes.

    Whoever knows the language only asks for these pairs, also where one of them follows from
    another, or from the order of the programs.
    """
    frame, run = model.frame, model.frame.run
    ops = frame.ops
    reading = awaited_reads(run)
    writer = supply(ops, reading, writes(run)).writer
    received = np.flatnonzero((writer >= 0) & (run.is_message & ops.is_kind(Kind.RECV))[writer])
    before = [frame.completed(writer[received])]
    after = [frame.start(reading.rows[received])]
    stored = run.storage
    if stored is not None:
        for touch in (Touch.WRITE, Touch.FREE):
            first, later = _next(stored, touch)
            before.append(frame.completed(stored.rows[first]))
            after.append(frame.start(stored.rows[later]))
    columns = (np.concatenate(each).tolist() for each in (before, after))
    return set(zip(*columns, strict=True))


def _next(stored: Stored, touch: Touch) -> tuple[IntArray, IntArray]:
    """Return the accesses of messages, and the next of one kind of the storage of each."""
    number = np.arange(len(stored))
    chosen = np.where(stored.touch == touch, number, len(stored))
    later = np.append(np.minimum.accumulate(chosen[::-1])[::-1][1:], len(stored))
    moving = np.flatnonzero(stored.moves & ~stored.guarded & (later < len(stored)))
    later = later[moving]
    same = (stored.storage[moving] == stored.storage[later]) & (
        stored.rows[moving] != stored.rows[later]
    )
    return moving[same], later[same]
