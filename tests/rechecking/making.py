"""Schedules as run, and certificates that show what there is to show of them."""

from typing import Any

from pipeproof import recheck as module
from pipeproof.recheck import Checker, Rejected, Replay, Waits, recheck

Json = dict[str, Any]
ORDER = ["PP201", "PP202", "PP205", "PP301", "PP401", "PP402", "PP403", "PP404", "PP405"]
STORAGE = ["PP501", "PP502", "PP503", "PP504", "PP505"]
ALL = ORDER + STORAGE
TRANSPORT: Json = {
    "capacity": "unbounded",
    "communicators": "eager",
    "completion": "rendezvous",
    "groups": "independent",
    "match": "order",
    "name": "custom",
    "queue": "none",
    "wait": "blocking",
    "weak": [],
}

# Two ranks, one message. Events: r0.0 0 1, r0.1 2 3, r1.0 4 5, r1.1 6 7, ends 8 9, message 10 11.
PAIR = [["0F0", "SEND F0.0 to=1"], ["RECV F0.0 from=0", "1F0"]]
PAIR_RUN = [0, 1, 2, 4, 10, 11, 3, 8, 5, 6, 7, 9]
PAIR_PATHS = [{"before": 11, "after": 6, "path": [11, 5, 6]}]
CROSSED = [["SEND a to=1", "RECV b from=1"], ["SEND b to=0", "RECV a from=0"]]
EXPLICIT: Json = {"wait": "explicit", "completion": "buffered"}


def as_run(programs: list[list[str]], transport: Json | None = None, **keys: Any) -> str:
    described = keys.pop("described", {})
    stages = keys.pop("stages", len(programs))
    given: Json = {
        "described": described,
        "fragment": "true",
        "gradients": {"reduce": "default"},
        "lowering": "as-written",
        "microbatches": 2,
        "pipelines": [],
        "placement": [stage % len(programs) for stage in range(stages)],
        "profile": "none",
        "programs": programs,
        "ranks": len(programs),
        "segments": 1,
        "stages": stages,
        "steps": 1,
        "transports": [TRANSPORT | (transport or {})],
        "waits": {},
        **keys,
    }
    return module.canonical(given)


def certificate(schedule: str, *statements: Json) -> Json:
    return {
        "schema": "pipeproof.certificate/1",
        "schedule": module.digest(schedule),
        "tool": {"name": "hand", "version": "1"},
        "statements": list(statements),
    }


def signed(given: Json) -> str:
    return module.canonical({**given, "digest": module.digest(module.canonical(given))})


def check(schedule: str, *statements: Json) -> int:
    return recheck(signed(certificate(schedule, *statements)), schedule)


def proved(rules: list[str] = ALL, **keys: Any) -> Json:
    return {
        "transport": "custom",
        "copies": 1,
        "verdict": "proved",
        "rules": rules,
        "run": PAIR_RUN,
        "paths": PAIR_PATHS,
    } | keys


def refuted(rule: str, run: list[int], **keys: Any) -> Json:
    return {
        "transport": "custom",
        "copies": 1,
        "verdict": "refuted",
        "rule": rule,
        "run": run,
        **keys,
    }


def waits_of(schedule: str, copies: int = 1) -> Waits:
    found = module.schedule_of(schedule)
    return Checker(found)._waits_of(found.transports["custom"], copies)


def advance(waits: Waits, without: set[int] | None = None, *, all_enter: bool = True) -> list[int]:
    """List events, each as soon as nothing that it waits for is missing."""
    replay, run = Replay(waits, all_enter=all_enter), list[int]()
    moved = True
    while moved:
        moved = False
        for event in range(waits.program.events):
            taken = replay.happened[event] or event in (without or ())
            if not taken and not replay.blocked(event):
                replay.take(event)
                run.append(event)
                moved = True
    return run


def path_between(waits: Waits, before: int, after: int) -> list[int] | None:
    """Find a shortest path by trying every pair of events."""
    paths = {before: [before]}
    todo = [before]
    for first in todo:
        for second in range(waits.program.events):
            if second not in paths and waits.comes_before(first, second):
                paths[second] = [*paths[first], second]
                todo.append(second)
    return paths.get(after)


def proof(schedule: str, rules: list[str] = ALL, copies: int = 1) -> Json:
    """Write what shows the rules; leave out what nothing shows."""
    waits = waits_of(schedule, copies)
    paths: list[Json] = []
    asked = {
        pair for rule, pairs in waits.reading.pairs.items() if rule[:5] in rules for pair in pairs
    }
    for before, after in sorted(asked):
        if before < 0:
            continue
        entry = {"before": before, "after": after}
        if (path := path_between(waits, before, after)) is not None:
            paths.append({**entry, "path": path})
        else:
            blocked = advance(waits, {before}, all_enter=False)
            if after not in blocked:
                paths.append({**entry, "blocked": blocked})
    return proved(rules, run=advance(waits), paths=paths, copies=copies)


def is_proved(schedule: str, rules: list[str] = ALL, copies: int = 1) -> bool:
    try:
        return check(schedule, proof(schedule, rules, copies)) == 1
    except Rejected:
        return False


def stuck(schedule: str, rule: str, places: list[list[int]]) -> Json:
    return refuted(rule, advance(waits_of(schedule)), places=places)


def early(schedule: str, rule: str, before: int, after: int) -> Json:
    """Write a run that ends with the one event and lacks the other."""
    waits = waits_of(schedule)
    run = advance(waits, {before, after}, all_enter=False)
    return refuted(rule, [*run, after], before=before, after=after)
