"""Every outcome of what a runtime chooses while it runs, each as a schedule without choices."""

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pipeproof.ir.actions import Kind
from pipeproof.ir.as_run import AsRun
from pipeproof.ir.operations import ANY, NONE
from pipeproof.ir.sets import distinct
from pipeproof.ir.transport import Match, Transport
from pipeproof.lowering.outcomes import (
    Name,
    alternatives,
    chosen,
    open_receives,
    received,
    taken_by_tag,
    unclear,
)
from pipeproof.lowering.waits import write_in
from pipeproof.proofs import ready
from pipeproof.proofs.ready import TooManyError
from pipeproof.semantics.model import Model

__all__ = ["Furthest", "Outcome", "TooManyError", "outcomes", "undecided"]

Furthest = Callable[[Model], npt.NDArray[np.bool_]]
"""Returns which events have happened where nothing more can, shape `(size,)`."""


class Outcome(NamedTuple):
    """One outcome: the schedule in which it came, and what was chosen, in words.

    `picked` says the same as pairs of a choice and its alternative: of each CHOOSE what came, of
    each open receive the rank that it takes from.
    """

    run: AsRun
    label: str
    picked: tuple[tuple[str, str], ...] = ()


def outcomes(run: AsRun, transport: Transport, furthest: Furthest, most: int) -> Iterator[Outcome]:
    """Yield every outcome of the choices of a schedule under a transport, each once.

    A CHOOSE has its alternatives. A receive of whichever rank takes its message once nothing else
    can happen: what was there before is there then, so no match is missed, and every order of
    matches is tried. A match that can be made later, after others, is found after them.

    Args:
        run: the schedule.
        transport: when messages move.
        furthest: the furthest execution of a schedule without choices.
        most: how many outcomes are looked through.

    Raises:
        TooManyError: there are more.

    Source: Vakkalanka, Gopalakrishnan, Kirby, CAV 2008 (POE): wildcards are matched at quiescence.
    """
    number = 0
    names = alternatives(run)
    if prod(map(len, names.values())) > most:
        raise TooManyError
    for picked in product(*names.values()):
        outcome = dict(zip(names, picked, strict=True))
        settled = chosen(run, outcome)
        label = ", ".join(_said(name, what) for name, what in outcome.items())
        for each in _matched(settled, transport, furthest, most - number):
            number += 1
            if number > most:
                raise TooManyError
            named = tuple((f"{n.name} {n.copy} {n.turn}", what) for n, what in outcome.items())
            both = ", ".join(filter(None, (label, each.label)))
            yield Outcome(each.run, both, (*named, *each.picked))


def _matched(run: AsRun, transport: Transport, furthest: Furthest, most: int) -> Iterator[Outcome]:
    """Yield every way in which open receives take their messages."""
    wide = open_receives(run).tolist()
    if "ready" in run.schedule.described:
        for number, order in enumerate(ready.orders(run, transport, furthest, most)):
            yield Outcome(order.run, order.label, (("order of picks", str(number)),))
        return
    if not wide:
        yield Outcome(run, "")
        return
    if transport.match is Match.TAG:
        yield Outcome(received(run, {}, taken_by_tag(run)), "")
        return
    seen: set[frozenset[tuple[int, int]]] = {frozenset()}
    todo: list[frozenset[tuple[int, int]]] = [frozenset()]
    while todo:
        made = todo.pop()
        sources: Mapping[int, int] = dict(made)
        model = _model(received(run, sources, {}, held=True), transport)
        happened = furthest(model)
        further = [made | {match} for match in _possible(run, model, sources, happened)]
        for each in further:
            if each not in seen:
                seen.add(each)
                todo.append(each)
        if len(seen) > 16 * max(most, 1):
            raise TooManyError
        if not further:
            sources, model = _waiting(run, transport, furthest, sources)
            values = _contents(run, model, wide)
            said = ", ".join(
                f"{run.spelled.text(int(run.base[row]))} takes from rank {source}"
                for row, source in sorted(sources.items())
            )
            picked = tuple((_place(run, row), str(sources.get(row, NONE))) for row in wide)
            yield Outcome(received(run, sources, values), said, picked)


def _place(run: AsRun, row: int) -> str:
    """Return what a receive is known by, in every outcome the same."""
    ops = run.operations
    return f"from {ops.rank[row]}.{ops.position[row]}.{ops.member[row]}"


def _model(run: AsRun, transport: Transport) -> Model:
    return Model(run, transport, write_in(run, transport.wait))


def _possible(
    run: AsRun, model: Model, sources: Mapping[int, int], happened: npt.NDArray[np.bool_]
) -> Iterator[tuple[int, int]]:
    """Yield the matches that can be made now: an open receive, and the rank that it takes from.

    The first of a rank's posted receives that take from whichever rank comes first. A message is
    there once its send is posted and every receive before it on its channel has another.
    """
    ops, frame = run.operations, model.frame
    first: set[tuple[int, int]] = set()
    for row in np.flatnonzero(ops.peer == ANY).tolist():
        rank, comm = int(ops.rank[row]), int(ops.comm[row])
        if row in sources or (rank, comm) in first:
            continue
        first.add((rank, comm))
        if not happened[frame.start(np.asarray(row))]:
            continue
        for source in range(frame.ranks):
            line = (ops.rank == source) & (ops.peer == rank) & (ops.comm == comm)
            sends = np.flatnonzero(ops.is_kind(Kind.SEND) & line)
            before = _taken_before(run, sources, row, (source, rank, comm))
            if before < len(sends) and happened[frame.start(sends[before])]:
                yield row, source


def _waiting(
    run: AsRun, transport: Transport, furthest: Furthest, sources: Mapping[int, int]
) -> tuple[Mapping[int, int], Model]:
    """Let open receives that took nothing wait for the messages that nobody has sent yet.

    Each waits for one that is left over, of the value that it names where there is one, unless
    less happens then: a receive of whichever rank keeps nothing back behind it.
    """
    ops, every = run.operations, dict(sources)
    for row in open_receives(run).tolist():
        left = _left_over(run, every, row) if ops.peer[row] == ANY and row not in every else []
        if left:
            named = [source for source, value in left if value == ops.value[row]]
            every[row] = (named or [source for source, _ in left])[0]
    bare, model = (_model(received(run, each, {}), transport) for each in (sources, every))
    programs = 2 * bare.frame.instructions
    if np.array_equal(furthest(bare)[:programs], furthest(model)[:programs]):
        return every, model
    return sources, bare


def _left_over(run: AsRun, sources: Mapping[int, int], row: int) -> list[tuple[int, int]]:
    """Return the ranks that send more than is received of them, and what the row would take."""
    ops, found = run.operations, list[tuple[int, int]]()
    rank, comm = int(ops.rank[row]), int(ops.comm[row])
    toward = ops.is_kind(Kind.SEND) & (ops.peer == rank) & (ops.comm == comm)
    for source in distinct(ops.rank[toward]).tolist():
        sends = np.flatnonzero(toward & (ops.rank == source))
        if _taken_before(run, sources, len(ops), (source, rank, comm)) < len(sends):
            turn = _taken_before(run, sources, row, (source, rank, comm))
            found.append((source, int(ops.value[sends[turn]])))
    return found


def _taken_before(
    run: AsRun, sources: Mapping[int, int], row: int, channel: tuple[int, int, int]
) -> int:
    """Count the receives before `row` that take their message from a channel."""
    ops, (source, rank, comm) = run.operations, channel
    own = ops.is_kind(Kind.RECV) & (ops.rank == rank) & (ops.comm == comm)
    rows = np.flatnonzero(own)
    peers = [sources.get(each, int(ops.peer[each])) for each in rows[rows < row].tolist()]
    return peers.count(source)


def _contents(run: AsRun, model: Model, wide: list[int]) -> dict[int, int]:
    """Return the value that each open receive of any content takes."""
    pairing = model.frame.pairing
    found: dict[int, int] = {}
    for row in wide:
        accepts = run.operations.value[row] == ANY or "v" in run.operations.attributes.get(row, {})
        transfer = int(pairing.of_row[row])
        if accepts and transfer >= 0 and int(pairing.send[transfer]) >= 0:
            found[row] = int(run.operations.value[int(pairing.send[transfer])])
    return found


def undecided(run: AsRun, transport: Transport) -> bool:
    """Whether choices stand there whose outcomes are not looked through.

    A receive of whichever rank where messages pair by their tags, a rank that goes by a choice of
    others that is made again and again, or a ready rank whose needs are not clear.
    """
    if unclear(run) or ready.is_unclear(run, transport):
        return True
    return transport.match is Match.TAG and bool(np.any(run.operations.peer == ANY))


def _said(name: Name, outcome: str) -> str:
    which = f" (choice {name.turn + 1} of it)" if name.turn else ""
    return f"{name.name}{which} is {outcome}"
