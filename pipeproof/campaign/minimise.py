"""The smallest schedule that still breaks the same rule first, under the same transport."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import NamedTuple

from pipeproof.campaign._draft import Draft, draft_of
from pipeproof.campaign._reduce_search import settled
from pipeproof.campaign.judged import Under, judged, names_of, number_of, read, text_of
from pipeproof.campaign.mutate import written_out
from pipeproof.campaign.task import Json
from pipeproof.errors import InputError, UnsupportedFeatureError
from pipeproof.ir.schedule import Schedule
from pipeproof.ir.source import Document, OnePlace
from pipeproof.ir.spec_text import write_spec
from pipeproof.ir.transport import named

__all__ = ["JUDGEMENTS", "Minimised", "minimise", "perform", "smaller_shapes"]

JUDGEMENTS = 3000
_WARNS = "PP302"  # never a violation, and it has a schedule judged under two transports more


class Minimised(NamedTuple):
    """What a schedule was reduced to.

    `document` is as written, has the one transport, and breaks `rule` first there. `judgements`
    counts the schedules that were judged; where it is not `complete` there was no more to spend,
    and what is left may not be the smallest.
    """

    document: Document
    rule: str
    transport: str
    judgements: int
    complete: bool

    @property
    def text(self) -> str:
        """The spec file."""
        return write_spec(self.document, None)


class _SpentError(Exception):
    """No judgement is left."""


class _Judge:
    """Says of drafts whether they still break the rule first, and none that the original keeps.

    It remembers what it has judged, and `best`, the last draft of which it said so.
    """

    def __init__(self, document: Document, rule: str, budget: int, spent: int) -> None:
        self.rule, self.budget, self.spent = rule, budget, spent
        self.best = draft_of(document.schedule)
        self._codes: frozenset[str] = frozenset()
        self._document = document
        self._known: dict[str, Under | None] = {}

    def text(self, draft: Draft) -> str | None:
        """Return a draft as a file; None where it is none."""
        try:
            return write_spec(self._stated(draft.schedule()), None)
        except InputError:
            return None

    def _stated(self, schedule: Schedule) -> Document:
        return replace(self._document, schedule=schedule, places=OnePlace(), expect=())

    def start(self, draft: Draft) -> Draft:
        """Take a draft for the original; return it as it reads once it is written."""
        text = self.text(draft)
        assert text is not None  # noqa: S101  it was read from a file or judged before
        under = self._found(text)
        self._codes = frozenset(under.rules if under else ())
        self.best = draft_of(read(text).schedule)
        return self.best

    def holds(self, draft: Draft) -> bool:
        """Return whether a draft breaks the rule first, and none that the original keeps.

        Raises:
            _SpentError: it was not judged before, and no judgement is left.
        """
        text = self.text(draft)
        found = None if text is None else self._found(text)
        if found is None or found.first != self.rule or not set(found.rules) <= self._codes:
            return False
        self.best = draft
        return True

    def _found(self, text: str) -> Under | None:
        if text not in self._known:
            self._known[text] = self._judged(text)
        return self._known[text]

    def _judged(self, text: str) -> Under | None:
        try:
            document = read(text)
        except (InputError, UnsupportedFeatureError):
            return None
        if self.spent >= self.budget:
            raise _SpentError
        self.spent += 1
        try:
            found = judged(replace(document, ignore=(*document.ignore, _WARNS)))
        except InputError:
            return None
        return found.under[0] if found.under else None


def minimise(
    document: Document, rule: str = "", transports: Sequence[str] = (), budget: int = JUDGEMENTS
) -> Minimised | None:
    """Return the smallest schedule found that breaks the same rule first.

    Fewest ranks first, then stages, microbatches and steps, then instructions, then attributes
    and keys; no rule is broken that the original keeps. Deterministic; what it returns it would
    return again for itself.

    Args:
        document: any schedule; a known one is first tried at smaller sizes.
        rule: its code; what is broken first if empty.
        transports: names, of which the first under which the rule is broken first is kept; the
            schedule's own if empty.
        budget: how many schedules may be judged.

    Returns:
        None where the rule is not broken first under any of the transports, or not any more once
        messages are written out.

    Raises:
        UnsupportedFeatureError: it cannot be lowered.
        LimitError: there would be too many operations.
    """
    lowered = written_out(document)
    found = judged(document, transports)
    under = next((each for each in found.under if each.first and rule in ("", each.first)), None)
    if under is None:
        return None
    own = {each.name: each for each in document.schedule.transports}
    transport = own.get(under.transport) or named(under.transport)[0]
    schedule = replace(lowered.schedule, transports=(transport,))
    spent = len(found.under)
    judge = _Judge(replace(lowered, schedule=schedule), under.first, max(budget, spent + 1), spent)
    if not judge.holds(judge.start(judge.best)):
        return None  # what lowering adds cannot be written so that it shows this
    try:
        _search(document, judge)
        complete = True
    except _SpentError:
        complete = False
    text = judge.text(judge.best)
    assert text is not None  # noqa: S101  it was judged
    reduced = replace(read(text, document.name), title=document.title)
    return Minimised(reduced, judge.rule, transport.name, judge.spent, complete)


def _search(document: Document, judge: _Judge) -> None:
    """Look for the smallest until nothing changes any more; it is the judge's best."""
    draft = judge.best
    for smaller in smaller_shapes(document):
        made = draft_of(written_out(smaller).schedule)
        made.transports = draft.transports
        if judge.holds(made):
            draft = judge.start(made)
            break
    before = ""
    while before != draft.words():
        before = draft.words()
        draft = judge.start(settled(draft, judge.holds))


def smaller_shapes(document: Document) -> Iterator[Document]:
    """Yield a known schedule at smaller sizes: fewest ranks first, then fewest microbatches.

    Nothing is yielded for what is no known schedule.
    """
    known = document.origin.get("schedule")
    schedule = document.schedule
    if not isinstance(known, Mapping) or schedule.lowering == "as-written":
        return
    sizes = product(range(1, schedule.ranks + 1), range(1, schedule.microbatches + 1))
    for ranks, microbatches in list(sizes)[:-1]:
        said = {**known, "ranks": str(ranks), "lowering": schedule.lowering}
        text = (
            f"pipeproof: 1\nmicrobatches: {microbatches}\nprofile: {schedule.profile}\n"
            f"schedule: {{{', '.join(f'{key}: {each}' for key, each in said.items())}}}\n"
        )
        try:
            made = read(text)
        except (InputError, UnsupportedFeatureError):
            continue  # no schedule of that shape
        smaller = replace(made.schedule, transports=schedule.transports)
        yield replace(document, schedule=smaller, places=OnePlace())


def perform(body: Mapping[str, Json]) -> Mapping[str, Json]:
    """Do a task of kind `minimise`.

    Args:
        body: `text`, a spec; and, if they are there, `rule`, `transports`, names, and
            `judgements`, how many schedules may be judged.

    Returns:
        `found`, 0 where the rule is not broken first, else 1; then `text`, `rule`, `transport`,
        `ranks`, `microbatches`, `instructions`, `judgements`, and `complete`, 0 or 1.
    """
    budget = number_of(body, "judgements") or JUDGEMENTS
    rule = str(body.get("rule", ""))
    reduced = minimise(read(text_of(body, "text")), rule, names_of(body, "transports"), budget)
    if reduced is None:
        return {"found": 0}
    schedule = reduced.document.schedule
    return {
        "found": 1,
        "text": reduced.text,
        "rule": reduced.rule,
        "transport": reduced.transport,
        "ranks": schedule.ranks,
        "microbatches": schedule.microbatches,
        "instructions": len(schedule.operations.first_row),
        "judgements": reduced.judgements,
        "complete": int(reduced.complete),
    }
