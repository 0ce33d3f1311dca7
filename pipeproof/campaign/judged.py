"""What a schedule is found to be, as the data that tasks and reports pass on."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pipeproof.campaign.task import Json
from pipeproof.errors import UnsupportedFeatureError
from pipeproof.frontends import spec
from pipeproof.ir.reading import ReadOptions
from pipeproof.ir.source import Document
from pipeproof.proofs.asked import Asked, Effort
from pipeproof.proofs.judging import Judging
from pipeproof.schedules import generate
from pipeproof.verdict.verdict import FileVerdict, TransportVerdict

__all__ = ["Judged", "Under", "judge", "judged", "of", "read"]


class Under(NamedTuple):
    """What a schedule is under one transport.

    `first` is the code of the violation that needs the fewest events, `at` its places as
    `r0.3`, in program order, and `rules` the codes of all violations, sorted; all empty where
    nothing is refuted.
    """

    transport: str
    verdict: str
    first: str = ""
    at: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()


class Judged(NamedTuple):
    """What a schedule is, and under each of its transports in order."""

    verdict: str
    under: tuple[Under, ...]

    def first(self, transport: str) -> str:
        """Return the code of the first violation under a transport; empty where there is none."""
        return next((each.first for each in self.under if each.transport == transport), "")


def read(text: str, name: str = "task.yaml") -> Document:
    """Return the one schedule of a spec file given as text.

    Raises:
        InputError: the text is no spec.
        UnsupportedFeatureError: it says what is not modelled.
    """
    return spec.read(text, name, ReadOptions(generate=generate))[0]


def judged(document: Document, transports: Sequence[str] = (), states: int | None = None) -> Judged:
    """Judge a schedule by the graph engine under its own transports, or those named.

    Args:
        document: the schedule.
        transports: names; the schedule's own if empty.
        states: how many states the explorer may look at where the graph engine needs it.
    """
    asked = Asked(transports=tuple(transports), effort=Effort(states=states))
    try:
        return of(Judging(document, asked).verdict())
    except UnsupportedFeatureError:
        return Judged("unknown", ())


def of(verdict: FileVerdict) -> Judged:
    """Return what a verdict says, shortly."""
    return Judged(verdict.outcome.value, tuple(_under(each) for each in verdict.transports))


def _under(verdict: TransportVerdict) -> Under:
    rules = tuple(sorted({each.rule for each in verdict.violations}))
    first = next((each for each in verdict.violations if each.first), None)
    name, word = verdict.name, verdict.outcome.value
    if first is None:
        return Under(name, word, rules=rules)
    at = tuple(f"r{place.rank}.{place.position}" for place in first.at)
    return Under(name, word, first.rule, at, rules)


def judge(body: Mapping[str, Json]) -> Mapping[str, Json]:
    """Do a task of kind `judge`.

    Args:
        body: `text`, a spec; and, if they are there, `transports`, names, and `states`.

    Returns:
        `verdict`, and `under`: for each transport `transport`, `verdict`, `first`, `at`, `rules`.
    """
    document = read(text_of(body, "text"))
    return told(judged(document, names_of(body, "transports"), number_of(body, "states")))


def told(found: Judged) -> dict[str, Json]:
    """Return what is found as data of an answer."""
    return {"verdict": found.verdict, "under": [_told(each) for each in found.under]}


def _told(found: Under) -> dict[str, Json]:
    return {
        "transport": found.transport,
        "verdict": found.verdict,
        "first": found.first,
        "at": list(found.at),
        "rules": list(found.rules),
    }


def text_of(body: Mapping[str, Json], key: str) -> str:
    """Return a text of a body.

    Raises:
        TypeError: there is none.
    """
    found = body.get(key)
    if not isinstance(found, str):
        message = f"the body of a task has no text {key!r}"
        raise TypeError(message)
    return found


def names_of(body: Mapping[str, Json], key: str) -> tuple[str, ...]:
    """Return the texts of a list of a body; none where the key does not stand there."""
    found = body.get(key, ())
    return () if isinstance(found, str | int) else tuple(str(each) for each in found)


def number_of(body: Mapping[str, Json], key: str) -> int | None:
    """Return a number of a body; None where there is none."""
    found = body.get(key)
    return found if isinstance(found, int) else None
