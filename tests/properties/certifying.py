"""Certificates of schedules that a test writes or draws, and what becomes of them when changed."""

import hashlib
import importlib.util
import json
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pipeproof import api
from pipeproof.errors import ParseError, ReplayMismatchError
from pipeproof.frontends import spec
from pipeproof.ir.reading import ReadOptions
from pipeproof.ir.source import Document
from pipeproof.proofs.certificates import LeftOut, verify, write
from pipeproof.verdict.certificate import Certificate, read
from pipeproof.verdict.verdict import FileVerdict

if TYPE_CHECKING:
    from types import ModuleType

    from pipeproof.semantics.model import Model
    from pipeproof.verdict.decision import Decision

__all__ = [
    "ALWAYS_WRONG",
    "RECHECK",
    "TAMPERINGS",
    "Certified",
    "Json",
    "certified",
    "certified_text",
    "changed",
    "rechecked",
    "rejected",
    "sealed",
]

RECHECK = Path(__file__).parents[2] / "pipeproof" / "recheck.py"

Json = dict[str, "Json"] | list["Json"] | str | int
Tampering = Callable[[random.Random, dict[str, Json]], bool]
"""Changes a statement in place; says whether there was something to change."""


@dataclass(frozen=True, slots=True)
class Certified:
    document: Document
    verdict: FileVerdict
    as_run: str
    certificate: Certificate
    left_out: tuple[LeftOut, ...]


def certified(document: Document, asked: api.Asked | None = None) -> Certified:
    kept: list[tuple[Model, Decision]] = []
    verdict = api.judge(document, asked, kept)
    judged = [
        (each, [pair for pair in kept if pair[0].frame.transport.name == each.name])
        for each in verdict.transports
    ]
    as_run = api.as_run(document, asked)
    made = write(as_run, api.rules(), judged, api.models(document, asked))
    return Certified(document, verdict, as_run, *made)


def certified_text(text: str, name: str = "made") -> Certified:
    return certified(spec.read(text, name, ReadOptions())[0])


def rejected(made: Certified, text: str) -> str:
    """Why a certificate is not accepted for a schedule; nothing where it is."""
    try:
        verify(read(text, "changed"), made.as_run, api.rules(), api.models(made.document))
    except (ReplayMismatchError, ParseError) as error:
        return str(error)
    return ""


@cache
def _other_program() -> "ModuleType | None":
    if not RECHECK.exists():
        return None
    said = importlib.util.spec_from_file_location("recheck_by_its_file", RECHECK)
    assert said is not None
    assert said.loader is not None
    module = importlib.util.module_from_spec(said)
    sys.modules[said.name] = module
    said.loader.exec_module(module)
    return module


def rechecked(text: str, as_run: str) -> str:
    """Why the program that knows only the language rejects a certificate; nothing without it."""
    module = _other_program()
    if module is None:
        return ""
    try:
        module.recheck(text, as_run)
    except (module.Rejected, module.Unreadable) as error:
        return str(error)
    return ""


def sealed(content: dict[str, Json]) -> str:
    """The certificate with the digest of what it holds now."""
    own = {key: value for key, value in content.items() if key != "digest"}
    text = json.dumps(own, sort_keys=True, separators=(",", ":"))
    return json.dumps({**own, "digest": hashlib.sha256(text.encode()).hexdigest()})


def changed(made: Certified, rng: random.Random, tampering: Tampering) -> str | None:
    """The certificate with one of its statements changed, None where nothing could be."""
    content = json.loads(made.certificate.text)
    statement = rng.choice(content["statements"])
    return sealed(content) if tampering(rng, statement) else None


def _numbers(statement: dict[str, Json], key: str = "run") -> list[Json]:
    found = statement[key]
    assert isinstance(found, list)
    return found


def _entry(rng: random.Random, statement: dict[str, Json]) -> dict[str, Json] | None:
    paths = statement.get("paths")
    entry = rng.choice(paths) if isinstance(paths, list) and paths else None
    return entry if isinstance(entry, dict) else None


def _drop_event(rng: random.Random, statement: dict[str, Json]) -> bool:
    run = _numbers(statement)
    if run:
        del run[rng.randrange(len(run))]
        return True
    return False


def _move_event(rng: random.Random, statement: dict[str, Json]) -> bool:
    run = _numbers(statement)
    if len(run) < 2:
        return False
    run.insert(rng.randrange(len(run)), run.pop(rng.randrange(len(run))))
    return True


def _repeat_event(rng: random.Random, statement: dict[str, Json]) -> bool:
    run = _numbers(statement)
    if run:
        run.insert(rng.randrange(len(run)), rng.choice(run))
    return bool(run)


def _other_event(rng: random.Random, statement: dict[str, Json]) -> bool:
    run = _numbers(statement)
    if run:
        run[rng.randrange(len(run))] = rng.randrange(2 * len(run) + 9)
    return bool(run)


def _drop_hop(rng: random.Random, statement: dict[str, Json]) -> bool:
    entry = _entry(rng, statement)
    if entry is None:
        return False
    path = _numbers(entry, "blocked" if "blocked" in entry else "path")
    if not path:
        return False
    del path[rng.randrange(len(path))]
    return True


def _redirect_hop(rng: random.Random, statement: dict[str, Json]) -> bool:
    entry = _entry(rng, statement)
    if entry is None:
        return False
    path = _numbers(entry, "blocked" if "blocked" in entry else "path")
    if not path:
        return False
    path[rng.randrange(len(path))] = rng.randrange(max(len(_numbers(statement)), 1))
    return True


def _claim_edge(rng: random.Random, statement: dict[str, Json]) -> bool:
    entry = _entry(rng, statement)
    if entry is None:
        return False
    entry.pop("blocked", None)
    entry["path"] = [entry["before"], entry["after"]]
    return True


def _leave_pair_out(rng: random.Random, statement: dict[str, Json]) -> bool:
    entry = _entry(rng, statement)
    if entry is not None:
        _numbers(statement, "paths").remove(entry)
    return entry is not None


def _flip(rng: random.Random, statement: dict[str, Json]) -> bool:
    if statement["verdict"] == "proved":
        del statement["paths"], statement["rules"]
        statement |= {"verdict": "refuted", "rule": "PP301", "places": [[0, 0]]}
        return True
    for key in ("rule", "places", "before", "after"):
        statement.pop(key, None)
    statement |= {"verdict": "proved", "rules": ["PP301"], "paths": []}
    return True


def _other_rule(rng: random.Random, statement: dict[str, Json]) -> bool:
    rule = rng.choice(["PP101", "PP201", "PP205", "PP301", "PP401", "PP501", "PP502", "PP505"])
    if "rules" in statement:
        _numbers(statement, "rules").append(rule)
    elif statement["rule"] == rule:
        return False
    else:
        statement["rule"] = rule
    return True


def _other_places(rng: random.Random, statement: dict[str, Json]) -> bool:
    if "places" in statement:
        statement["places"] = [[rng.randrange(3), rng.randrange(4)]]
        return True
    if "before" not in statement:
        return False
    statement[rng.choice(["before", "after"])] = rng.randrange(len(_numbers(statement)) + 4)
    return True


def _other_transport(rng: random.Random, statement: dict[str, Json]) -> bool:
    statement["transport"] = "another"
    return True


TAMPERINGS: tuple[Tampering, ...] = (
    *(_drop_event, _move_event, _repeat_event, _other_event, _drop_hop, _redirect_hop),
    *(_claim_edge, _leave_pair_out, _flip, _other_rule, _other_places, _other_transport),
)
ALWAYS_WRONG = (_drop_event, _repeat_event, _leave_pair_out, _flip, _other_transport)
"""Changes of a proved statement that leave nothing shown, whatever they hit."""
