"""Schedules of files and of texts, run on tensors."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from pipeproof import api
from pipeproof.execution.confirm import Claim, confirm, run_legal
from pipeproof.execution.orders import Events, Style, extended
from pipeproof.execution.replayer import set_up
from pipeproof.execution.witness import EXACT
from pipeproof.frontends import spec
from pipeproof.ir.reading import ReadOptions
from pipeproof.schedules import generate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeproof.execution.confirm import Confirmed, Ran
    from pipeproof.execution.replayer import Replayer
    from pipeproof.ir.source import Document
    from pipeproof.semantics.model import Model
    from pipeproof.verdict.decision import Decision

SPECS = Path(__file__).parents[2] / "specs"


def document(text: str, name: str = "made") -> Document:
    return spec.read(text, name, ReadOptions(generate=generate))[0]


def models(read: Document) -> Iterator[Model]:
    """The schedule under each of its transports."""
    model = api.models(read)
    for transport in api.transports_of(read):
        made = model(transport.name, 1)
        assert made is not None
        yield made


def order(model: Model, seed: int = 0) -> tuple[int, ...]:
    """One whole execution of many."""
    events = Events(model.events, model.frame.first_transfer)
    style = list(Style)[seed % len(Style)]
    return extended(model.happens_before, events, style=style, seed=seed)


def ran(
    read: Document, seed: int = 0, witness: str = EXACT, transports: int | None = None
) -> list[Ran]:
    """What whole executions show, one under each transport, or under the first of them."""
    return [
        run_legal(
            model.frame.run,
            model.frame.transport.match,
            order(model, seed),
            witness=witness,
            seed=seed,
        )
        for model in islice(models(read), transports)
    ]


def played(text: str, seed: int = 0, witness: str = EXACT) -> Replayer:
    """A whole execution of the schedule under its first transport."""
    model = next(models(document(text)))
    replayer = set_up(model.frame.run, model.frame.transport.match, witness, seed)
    replayer.play(order(model, seed))
    return replayer


def claims(text: str, rule: str | None = None) -> Iterator[tuple[Model, Claim]]:
    """Every counterexample, to one rule where it is given."""
    kept: list[tuple[Model, Decision]] = []
    api.judge(document(text), api.Asked(), kept)
    for model, decision in kept:
        for broken in decision.broken:
            if rule in (None, broken.rule.code):
                places = tuple(model.frame.place(spot) for spot in broken.finding.spots)
                trace = tuple(broken.trace.tolist())
                yield model, Claim(broken.rule.code, places, trace, broken.reached)


def answers(
    text: str, rule: str | None = None, *, once: bool = False
) -> Iterator[tuple[Claim, Confirmed]]:
    """What becomes of every counterexample, or of one to each rule."""
    told: set[str] = set()
    for model, claim in claims(text, rule):
        if once and claim.rule in told:
            continue
        told.add(claim.rule)
        match = model.frame.transport.match
        yield claim, confirm(model.frame.run, match, model.happens_before, claim)
