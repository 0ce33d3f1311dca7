"""Certificates written from what was decided, and checked without any engine."""

from collections.abc import Callable, Iterator, Mapping, Sequence
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
from pipeproof.proofs._outside import outside, unspoken
from pipeproof.semantics.logic import All, Axiom, Enforced, Rule
from pipeproof.semantics.model import Model
from pipeproof.verdict._hops import uncertified
from pipeproof.verdict.certificate import (
    PROVABLE,
    SHOWABLE,
    Certificate,
    Ordered,
    Proved,
    Refuted,
    Statement,
)
from pipeproof.verdict.decision import Broken, Decision
from pipeproof.verdict.replay import accept
from pipeproof.verdict.verdict import Outcome, TransportVerdict

__all__ = ["LeftOut", "verify", "write"]

_TRIES = 20  # violations of one transport that are tried, first first


class LeftOut(NamedTuple):
    """A transport, or some rules under it, of which no certificate speaks, and why."""

    transport: str
    why: str


def write(
    as_run: str,
    rules: Sequence[Rule],
    judged: Sequence[tuple[TransportVerdict, Sequence[tuple[Model, Decision]]]],
) -> tuple[Certificate, tuple[LeftOut, ...]]:
    """Return a certificate for what was judged, each statement replayed, and what it leaves out.

    Args:
        as_run: the schedule as run, in canonical JSON.
        rules: every rule.
        judged: the verdict under each transport, with the models that it was decided on.

    Raises:
        ReplayMismatchError: what is to show that a schedule is legal does not.
    """
    statements: list[Statement] = []
    left_out: list[LeftOut] = []
    for verdict, decided in judged:
        writer = _Writer({rule.code: rule for rule in rules}, verdict)
        statements.extend(writer.statements(decided))
        left_out.extend(LeftOut(verdict.name, why) for why in writer.left_out)
    return Certificate(digest(as_run), __version__, tuple(statements)), tuple(left_out)


def verify(
    certificate: Certificate,
    as_run: str,
    rules: Sequence[Rule],
    models: Callable[[str, int], Model | None],
) -> None:
    """Accept every statement of a certificate about a schedule, without any engine.

    Raises:
        ReplayMismatchError: it speaks of another schedule, or one statement shows not what it says.
    """
    if certificate.schedule != digest(as_run):
        message = "the certificate speaks of another schedule as run"
        raise ReplayMismatchError(message)
    by_code = {rule.code: rule for rule in rules}
    for number, statement in enumerate(certificate.statements):
        try:
            _accept(statement, by_code, models)
        except ReplayMismatchError as error:
            message = f"statement {number} ({printable(statement.transport)}): {error}"
            raise ReplayMismatchError(message) from error


def _accept(
    statement: Statement,
    rules: Mapping[str, Rule],
    models: Callable[[str, int], Model | None],
) -> None:
    name, copies = statement.transport, statement.copies
    model = models(name, copies) if copies in (1, 2) else None
    why = "the schedule has no such transport or copies" if model is None else outside(model)
    if model is None or why:
        raise ReplayMismatchError(why)
    accept(model, rules, statement)


class _Writer:
    """Writes what shows the verdict under one transport."""

    def __init__(self, rules: Mapping[str, Rule], verdict: TransportVerdict) -> None:
        self.rules, self.verdict = rules, verdict
        self.left_out: list[str] = []

    def statements(self, decided: Sequence[tuple[Model, Decision]]) -> Iterator[Statement]:
        """Yield the statement, if there is one."""
        if self.verdict.outcome is Outcome.UNKNOWN:
            self.left_out.append("it is unknown")
            return
        if len(decided) != 1:
            self.left_out.append("the runtime chooses")
            return
        ((model, decision),) = decided
        why = outside(model)
        if why:
            self.left_out.append(why)
            return
        witness = Witness(model)
        if self.verdict.outcome is Outcome.PROVED:
            yield from self._proved(model, witness, decision)
        else:
            yield from self._refuted(model, witness, decision)

    def _proved(self, model: Model, witness: Witness, decision: Decision) -> Iterator[Statement]:
        run = witness.complete()
        if run is None:
            self.left_out.append("not everything happens, and no rule that was asked says why")
            return
        silent = uncertified(model.frame) | unspoken(model, refuted=False)
        codes = sorted(PROVABLE.intersection(decision.instances) - silent)
        pairs = {code: _pairs(model, self.rules[code].axiom) for code in codes}
        asked = sorted(_transfers(model).union(*pairs.values()))
        columns = np.asarray(asked, np.int64).reshape(-1, 2)
        found = witness.ordered(columns[:, 0], columns[:, 1])
        lost = {pair for pair, each in zip(asked, found, strict=True) if each is None}
        shown = tuple(code for code in codes if not lost & pairs[code])
        for code in sorted({*codes} - {*shown}):
            self.left_out.append(f"{code}: that it holds takes too many words")
        if not shown:
            self.left_out.append("no rule is asked for that a certificate can show")
            return
        paths: tuple[Ordered, ...] = tuple(each for each in found if each is not None)
        statement = Proved(self.verdict.name, model.frame.run.copies, shown, run, paths)
        accept(model, self.rules, statement)
        yield statement

    def _refuted(self, model: Model, witness: Witness, decision: Decision) -> Iterator[Statement]:
        wanted = SHOWABLE - uncertified(model.frame) - unspoken(model, refuted=True)
        showable = [each for each in decision.broken if each.rule.code in wanted]
        for broken in showable[:_TRIES]:
            statement = self._shown(model, witness, broken)
            if statement is not None:
                yield statement
                return
        first = decision.broken[0].rule.code
        self.left_out.append(f"{first}, which is broken, is nothing that a certificate can show")

    def _shown(self, model: Model, witness: Witness, broken: Broken) -> Refuted | None:
        statement = witness.refuted(broken.rule, broken, model.frame.run.copies)
        if statement is None:
            return None
        try:
            accept(model, self.rules, statement)
        except ReplayMismatchError:
            return None  # of a violation behind another one: the next may show itself
        return statement


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
