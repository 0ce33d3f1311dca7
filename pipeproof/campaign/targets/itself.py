"""Pipeproof itself: random schedules through everything that judges, replays or checks.

Each case is one schedule drawn from a seed. All engines judge it and must say the same; every
counterexample is replayed; its certificate must be accepted by replay and by the second checker,
and a spoiled copy by neither; what is legal or spoiled by construction must be found so.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, Self

from pipeproof.campaign.drawn import broken_rule, drawn
from pipeproof.campaign.judged import number_of, text_of
from pipeproof.campaign.store import Row
from pipeproof.campaign.targets._certified import CertificateError, certified
from pipeproof.campaign.targets._self_told import told
from pipeproof.campaign.targets.target import Told
from pipeproof.campaign.task import Json, Task
from pipeproof.errors import (
    DisagreementError,
    InputError,
    ReplayMismatchError,
    UnsupportedFeatureError,
)
from pipeproof.frontends import spec
from pipeproof.ir.reading import ReadOptions
from pipeproof.ir.spec_text import write_spec
from pipeproof.proofs.asked import ALL, Asked, Effort
from pipeproof.proofs.judging import Judging
from pipeproof.semantics.model import Model
from pipeproof.verdict.decision import Decision
from pipeproof.verdict.verdict import FileVerdict

__all__ = ["KIND", "MIX", "RLIMIT", "STATES", "Itself", "judge", "perform", "tasks"]

KIND = "self"
"""The kind of task."""

MIX = ("every", "small", "legal", "mutant", "every", "small", "legal", "broken")
"""What is drawn, case after case: `mutant` is a legal schedule with a mutation by name."""

STATES = 200_000
"""States of one exploration; a case that needs more is left open, not blamed."""

RLIMIT = 20_000_000
"""Steps of the solver for one schedule and transport."""

_DIFFER = "the engines that decide it differ"
_CONSTRUCTED = {"legal": "proved", "broken": "refuted"}


def tasks(asked: "Itself") -> Iterator[Task]:
    """Yield the cases of a campaign."""
    from pipeproof.campaign.mutate import mutations  # noqa: PLC0415  numpy is loaded with it

    names = mutations()
    for number in range(asked.seed, asked.seed + asked.cases):
        body: dict[str, Json] = {
            "draw": MIX[number % len(MIX)],
            "seed": number,
            "states": asked.states,
            "rlimit": asked.rlimit,
        }
        if body["draw"] == "mutant":
            body["mutation"] = names[number // len(MIX) % len(names)]
        if asked.torch and number % asked.torch == 0:
            body["torch"] = 1
        yield Task(KIND, body)


class Itself(NamedTuple):
    """The target: `cases` schedules from `seed` on, every `torch`th of them on tensors, too."""

    cases: int
    seed: int
    torch: int
    states: int = STATES
    rlimit: int = RLIMIT

    @classmethod
    def of(cls, campaign: Mapping[str, Json]) -> Self:
        """Return the target that a campaign says of itself.

        Raises:
            KeyError: it is another one's.
        """
        return cls(*(int(str(campaign[each])) for each in cls._fields))

    @property
    def campaign(self) -> Mapping[str, Json]:
        """All that the list of tasks follows from."""
        return {"target": "self", **self._asdict()}

    def tasks(self) -> Iterator[Task]:
        """Yield the cases."""
        return tasks(self)

    def further(self, rows: Iterable[Row]) -> Iterator[Task]:
        """Yield nothing: a case is found as it was drawn."""
        del rows
        return iter(())

    def told(self, rows: Iterable[Row]) -> Told:
        """Return what is said of the cases."""
        return told(rows, KIND)


class _Find(NamedTuple):
    """Who disagrees, and what is said."""

    who: str
    said: str


def perform(body: Mapping[str, Json]) -> Mapping[str, Json]:
    """Judge one case by everything there is.

    Returns:
        `verdict`, `first` (rules of the first violations), `statements` accepted and `spoiled`
        refused, or `none` where nothing could be drawn; and, where somebody disagrees, `find` (who,
        in one word), `said` and the `text` of the schedule.
    """
    kind, seed = text_of(body, "draw"), number_of(body, "seed") or 0
    if kind == "broken":
        return judge(drawn(kind, seed), {**body, "breaks": broken_rule(seed)})
    if kind != "mutant":
        return judge(drawn(kind, seed), body)
    text, name = _mutant(seed, text_of(body, "mutation"))
    return {"mutation": name, **judge(text, body)}


def _mutant(seed: int, first: str) -> tuple[str, str]:
    """Return a legal schedule with a mutation, and its name: the first that changes something."""
    from pipeproof.campaign.mutate import mutate, mutations  # noqa: PLC0415  as above

    (document,) = spec.read(drawn("legal", seed), "drawn", ReadOptions())
    names = mutations()
    begin = names.index(first)
    for name in (*names[begin:], *names[:begin]):
        changed = mutate(document.schedule, name, seed)
        if changed is not None:
            return write_spec(replace(document, schedule=changed), None), name
    message = f"no mutation changes the legal schedule of seed {seed}"
    raise ValueError(message)


def judge(text: str, body: Mapping[str, Json]) -> dict[str, Json]:
    """Judge the text of a schedule by everything there is, as `perform` does."""
    answer: dict[str, Json] = {"verdict": "none"}
    try:
        find = _judged(text, body, answer)
    except (InputError, UnsupportedFeatureError):
        return answer  # a mutant may be no schedule at all
    except DisagreementError as error:
        find = _Find("engines", str(error))
    except ReplayMismatchError as error:
        find = _Find("replay", str(error))
    except CertificateError as error:
        find = _Find(error.who, str(error))
    except (MemoryError, RecursionError):
        raise
    except Exception as error:  # a crash is a find, not the end of a campaign
        find = _Find("crash", f"{type(error).__name__}: {error}")
    if find is not None:
        answer |= {"find": find.who, "said": find.said[:2000], "text": text}
    return answer


def _judged(text: str, body: Mapping[str, Json], answer: dict[str, Json]) -> _Find | None:
    (document,) = spec.read(text, "case.yaml", ReadOptions())
    effort = Effort(states=number_of(body, "states"), rlimit=number_of(body, "rlimit"))
    kept: list[tuple[Model, Decision]] = []
    judging = Judging(document, Asked(engine=ALL, effort=effort), kept)
    verdict = judging.verdict()
    answer |= {"verdict": verdict.outcome.value, "first": _firsts(verdict)}
    answer["open"] = sorted({each.rule for t in verdict.transports for each in t.unknown})
    if why := _differ(verdict):
        return _Find("engines", why)
    claimed = _CONSTRUCTED.get(str(body.get("draw")), verdict.outcome.value)
    if verdict.outcome.value != claimed:
        return _Find("construction", f"{claimed} by construction, and found {verdict.outcome}")
    breaks = body.get("breaks")
    if breaks is not None and breaks not in _rules(verdict):
        return _Find("construction", f"{breaks} is broken by construction, and not found")
    made = certified(judging, verdict, kept, number_of(body, "seed") or 0)
    answer |= {"statements": made.statements, "spoiled": made.spoiled}
    return _on_tensors(verdict, kept, body, answer)


def _rules(verdict: FileVerdict) -> set[str]:
    return {each.rule for t in verdict.transports for each in t.violations}


def _firsts(verdict: FileVerdict) -> list[str]:
    firsts = {each.rule for t in verdict.transports for each in t.violations if each.first}
    return sorted(firsts)


def _differ(verdict: FileVerdict) -> str:
    for transport in verdict.transports:
        for each in transport.unknown:
            if each.why == _DIFFER:
                return f"{transport.name}: {each.rule}: {each.why}"
    return ""


def _on_tensors(
    verdict: FileVerdict,
    kept: Sequence[tuple[Model, Decision]],
    body: Mapping[str, Json],
    answer: dict[str, Json],
) -> _Find | None:
    if not number_of(body, "torch"):
        return None
    if verdict.fragment and verdict.outcome.value != "proved":
        answer["torch"] = "refuted fragment, not run"
        return None
    from pipeproof.campaign.targets._on_tensors import seen  # noqa: PLC0415  torch, when asked

    said, wrong = seen(verdict, kept, number_of(body, "seed") or 0)
    answer["torch"] = said
    return _Find("torch", wrong) if wrong else None
