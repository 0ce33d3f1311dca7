"""What a verdict claims, seen on torch tensors in one process."""

from collections.abc import Iterator, Sequence

from pipeproof.errors import UnsupportedFeatureError
from pipeproof.execution.confirm import Answer, Claim, confirm, run_legal
from pipeproof.execution.orders import Events, Style, extended
from pipeproof.execution.witness import InexactError
from pipeproof.semantics.model import Model
from pipeproof.verdict.decision import Decision
from pipeproof.verdict.telling import place
from pipeproof.verdict.verdict import FileVerdict, Outcome, TransportVerdict, Violation

__all__ = ["seen"]

_Kept = Sequence[tuple[Model, Decision]]


def seen(verdict: FileVerdict, kept: _Kept, seed: int) -> tuple[str, str]:
    """Run what is proved and replay the first counterexample of what is refuted.

    Returns:
        A word for what was seen under the first transport that shows something, and what
        contradicts the verdict; empty where nothing does.
    """
    said = "not run"
    for transport in verdict.transports:
        own = [each for each in kept if each[0].frame.transport.name == transport.name]
        try:
            word, wrong = _under(transport, own, seed)
        except (UnsupportedFeatureError, InexactError):
            continue
        if wrong:
            return word, f"{transport.name}: {wrong}"
        said = word if said == "not run" else said
    return said, ""


def _under(verdict: TransportVerdict, kept: _Kept, seed: int) -> tuple[str, str]:
    if verdict.outcome is Outcome.PROVED:
        return _legal(kept, seed)
    first = next((each for each in verdict.violations if each.first), None)
    if first is None:
        return "not run", ""
    found = ""
    for model, claim in _claims(kept, first):
        match = model.frame.transport.match
        became = confirm(model.frame.run, match, model.happens_before, claim)
        if became.answer is Answer.CONFIRMED:
            return "confirmed", ""
        if became.answer is Answer.NOT_OBSERVABLE:
            return "not observable", ""
        found = f"{first.rule} is not reproduced: {became.why}"
    return ("not reproduced", found) if found else ("not run", "")


def _legal(kept: _Kept, seed: int) -> tuple[str, str]:
    models = [model for model, _ in kept if model.frame.run.faults is None]
    if not models:
        return "not run", ""
    model = models[seed % len(models)]
    events = Events(model.events, model.frame.first_transfer)
    style = list(Style)[seed % len(Style)]
    order = extended(model.happens_before, events, style=style, seed=seed)
    ran = run_legal(model.frame.run, model.frame.transport.match, order, seed=seed)
    if ran.wrong:
        return "wrong numbers", f"it is proved, and {ran.wrong}"
    return ("right numbers" if ran.compared else "not run"), ""


def _claims(kept: _Kept, violation: Violation) -> Iterator[tuple[Model, Claim]]:
    for model, decision in kept:
        for broken in decision.broken:
            at = [place(model.frame, spot) for spot in broken.finding.spots]
            if broken.rule.code == violation.rule and {*at} == {*violation.at}:
                places = tuple((each.rank, each.position) for each in at)
                trace = tuple(broken.trace.tolist())
                yield model, Claim(violation.rule, places, trace, broken.reached)
                break
