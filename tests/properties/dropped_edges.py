"""Who sees that what orders events was spoiled: the state machine, or the second checker.

    python -m tests.properties.dropped_edges [PROGRAMS]

Every mutation of `mutated.py` is judged over random programs whose order it changes.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

from pipeproof import api
from pipeproof.errors import ReplayMismatchError
from pipeproof.frontends import spec
from pipeproof.ir.reading import ReadOptions
from tests.properties.certifying import certified_text, rechecked
from tests.properties.mutated import MUTATIONS, Mutation
from tests.properties.spoilable import FAMILIES, WRITTEN, Case, Places, case
from tests.properties.spoilable_choices import CHOOSING, Chosen
from tests.properties.spoilable_choices import SEEDS as CHOSEN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeproof.semantics.frame import Frame
    from pipeproof.verdict.verdict import FileVerdict, TransportVerdict

__all__ = ["Row", "caught", "family_of", "program", "search", "seen", "table"]

SEEDS = 3_000
PATIENCE = 5
EARLY = ("PP401", "PP403", "PP405", "PP501", "PP502")


@cache
def frame(family: str, seed: int) -> Frame | None:
    """The events of a program under its one transport, None for one with too many states."""
    made = case(family, seed)
    if made is None:
        return None
    (document,) = spec.read(made.text, made.name, ReadOptions())
    (transport,) = api.transports_of(document)
    model = api.models(document)(transport.name, 1)
    assert model is not None
    return model.frame


def _places(verdict: TransportVerdict, *rules: str) -> Places:
    return {
        (violation.rule, frozenset(f"r{place.rank}.{place.position}" for place in violation.at))
        for violation in verdict.violations
        if violation.rule in rules
    }


def differs(made: Case, verdict: FileVerdict) -> bool:
    """Whether the state machine says something else than a verdict."""
    if made.blamed is None:
        return False
    (only,) = verdict.transports
    if made.stuck and verdict.verdict != "refuted":
        return True
    if _places(only, "PP301", "PP205") != made.blamed or _places(only, "PP202") != made.crossed:
        return True
    if {place for _, at in _places(only, "PP201", "PP204") for place in at} != made.lone:
        return True
    said = {place for _, at in _places(only, *EARLY) for place in at}
    return any((spot in said) != wrong for spot, wrong in made.early.items())


def seen(made: Case | Chosen) -> tuple[str, ...]:
    """Who sees that a program is judged wrongly: `machine`, `recheck`, or replay `itself`."""
    if isinstance(made, Chosen):
        return made.seen()
    try:
        certified = certified_text(made.text, made.name)
    except ReplayMismatchError:
        return ("itself",)
    found = ["machine"] if differs(made, certified.verdict) else []
    if certified.certificate.statements and rechecked(certified.certificate.text, certified.as_run):
        found.append("recheck")
    return tuple(found)


def family_of(mutation: Mutation) -> str:
    """The family of programs that a mutation is tried in."""
    return FAMILIES.get(mutation.edge, "messages")


def program(family: str, seed: int) -> Case | Chosen | None:
    """The program of a seed; None for one with too many states."""
    return CHOOSING[family](seed) if family in CHOOSING else case(family, seed)


def caught(mutation: Mutation, made: Case | Chosen) -> tuple[str, ...]:
    """Who sees a mutation."""
    with mutation.made():
        return seen(made)


@dataclass(slots=True)
class Row:
    """What became of one mutation: how many programs it changed, who saw it, and where first."""

    mutation: Mutation
    tried: int = 0
    by: Counter[str] = field(default_factory=Counter)
    first: str = ""


@cache
def unspoiled(family: str, seed: int) -> tuple[str, ...]:
    """Who sees that a program is judged wrongly although nothing is spoiled."""
    made = program(family, seed)
    assert made is not None
    return seen(made)


def frames(made: Case | Chosen, family: str, seed: int) -> Iterator[Frame]:
    """The events of a program, in each of its outcomes."""
    if isinstance(made, Chosen):
        yield from made.frames()
    elif events := frame(family, seed):
        yield events


def changed(mutation: Mutation) -> Iterator[Case | Chosen]:
    """The programs of its family that a mutation changes and that are judged rightly without."""
    family = family_of(mutation)
    for seed in CHOSEN.get(family, range(-(family in WRITTEN), SEEDS)):
        made = program(family, seed)
        if made is None or not any(map(mutation.changes, frames(made, family, seed))):
            continue
        if wrong := unspoiled(family, seed):
            sys.stderr.write(f"{made.name} is judged wrongly, say {wrong}\n")
        else:
            yield made


def search(mutation: Mutation, most: int) -> Row:
    """Judge by a mutation as many programs as are wanted, and more where nobody has seen it yet."""
    row = Row(mutation)
    for made in islice(changed(mutation), PATIENCE * most):
        if row.tried >= most and row.first:
            break
        found = caught(mutation, made)
        row.tried += 1
        row.by.update(found)
        if not row.first and {"machine", "recheck"}.intersection(found):
            row.first = made.name
    return row


def table(row: Row) -> str:
    """A row of the table, in Markdown."""
    counts = f"{row.tried} | {row.by['machine']} | {row.by['recheck']} | {row.by['itself']}"
    return f"| {row.mutation.edge} | {row.mutation.what} | {counts} | {row.first or '-'} |\n"


def main(arguments: list[str]) -> None:
    """Search and print the table."""
    most = int(arguments[0]) if arguments else 100
    sys.stdout.write("| edge | what was done | programs | machine | recheck | replay | first |\n")
    sys.stdout.write("|---|---|---|---|---|---|---|\n")
    for mutation in MUTATIONS:
        sys.stdout.write(table(search(mutation, most)))
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
