"""Certificates of what was judged: accepted by both checkers, and no longer once spoiled."""

import hashlib
import json
from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple

from pipeproof import recheck
from pipeproof.errors import ParseError, ReplayMismatchError
from pipeproof.proofs.certificates import Models, verify, write
from pipeproof.proofs.judging import Judging, written_as_run
from pipeproof.semantics.logic import Rule
from pipeproof.semantics.model import Model
from pipeproof.semantics.rules import all_rules
from pipeproof.verdict.certificate import Certificate, read
from pipeproof.verdict.decision import Decision
from pipeproof.verdict.verdict import FileVerdict

__all__ = ["CertificateError", "Certified", "certified"]


class CertificateError(Exception):
    """A certificate is not accepted, or a spoiled one is; `who` tells by which checker."""

    def __init__(self, who: str, said: str) -> None:
        """Say who it is that errs, and how."""
        super().__init__(said)
        self.who = who


class Certified(NamedTuple):
    """How many statements were accepted by both checkers, and spoiled copies refused by both."""

    statements: int
    spoiled: int


_Written = dict[str, "_Written"] | list["_Written"] | str | int
_Statement = dict[str, _Written]


def certified(
    judging: Judging, verdict: FileVerdict, kept: Sequence[tuple[Model, Decision]], seed: int
) -> Certified:
    """Write the certificate of a verdict and have it, and a spoiled copy, looked at twice.

    Raises:
        CertificateError: one of the two checkers refuses it, or accepts the copy.
        ReplayMismatchError: what is to show that a schedule is legal does not.
    """
    as_run, models, rules = written_as_run(judging), _models(judging), all_rules()
    judged = [
        (each, [pair for pair in kept if pair[0].frame.transport.name == each.name])
        for each in verdict.transports
    ]
    made, _ = write(as_run, rules, judged, models)
    if not made.statements:
        return Certified(0, 0)
    checkers: tuple[tuple[str, Callable[[str], str]], ...] = (
        ("replay", lambda text: _verified(text, as_run, rules, models)),
        ("recheck", lambda text: _rechecked(text, as_run)),
    )
    for who, refused in checkers:
        if why := refused(made.text):
            raise CertificateError(who, f"the certificate is refused: {why}")
    text = _spoiled(made, Random(f"spoil {seed}"))  # noqa: S311  a seed gives the same again
    for who, refused in checkers:
        if text is not None and not refused(text):
            message = f"a spoiled certificate is accepted: {text[:1000]}"
            raise CertificateError(who, message)
    return Certified(len(made.statements), int(text is not None))


def _models(judging: Judging) -> Models:
    by_name = {each.name: each for each in judging.transports}
    return lambda name, copies: judging.model(by_name[name], copies) if name in by_name else None


def _verified(text: str, as_run: str, rules: Sequence[Rule], models: Models) -> str:
    """Return why replay refuses a certificate; nothing where it accepts it."""
    try:
        verify(read(text, "certificate"), as_run, rules, models)
    except (ReplayMismatchError, ParseError) as error:
        return str(error) or "no reason given"
    return ""


def _rechecked(text: str, as_run: str) -> str:
    """Return why the second checker refuses a certificate; nothing where it accepts it."""
    try:
        recheck.recheck(text, as_run)
    except (recheck.Rejected, recheck.Unreadable) as error:
        return str(error) or "no reason given"
    return ""


def _spoiled(made: Certificate, draw: Random) -> str | None:
    """Return the certificate with one statement spoiled so that it shows nothing, sealed again."""
    content = json.loads(made.text)
    statement = draw.choice(content["statements"])
    proved = statement["verdict"] == "proved"
    spoil = draw.choice(_OF_PROVED if proved else (_other_transport,))
    if not spoil(draw, statement):
        return None
    return _sealed(content)


def _sealed(content: _Statement) -> str:
    own = {key: value for key, value in content.items() if key != "digest"}
    text = json.dumps(own, sort_keys=True, separators=(",", ":"))
    return json.dumps({**own, "digest": hashlib.sha256(text.encode()).hexdigest()})


def _run(statement: _Statement) -> list[_Written]:
    found = statement["run"]
    return found if isinstance(found, list) else []


def _drop_event(draw: Random, statement: _Statement) -> bool:
    run = _run(statement)
    if run:
        del run[draw.randrange(len(run))]
    return bool(run)


def _repeat_event(draw: Random, statement: _Statement) -> bool:
    run = _run(statement)
    if run:
        run.insert(draw.randrange(len(run)), draw.choice(run))
    return bool(run)


def _drop_pair(draw: Random, statement: _Statement) -> bool:
    paths = statement["paths"]
    if not isinstance(paths, list) or not paths:
        return False
    del paths[draw.randrange(len(paths))]
    return True


def _other_transport(draw: Random, statement: _Statement) -> bool:
    statement["transport"] = f"another {draw.randrange(9)}"
    return True


_OF_PROVED: tuple[Callable[[Random, _Statement], bool], ...] = (
    *(_drop_event, _repeat_event, _drop_pair, _other_transport),
)
