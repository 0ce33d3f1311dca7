"""Schedules with choices, and all their outcomes."""

import json
import random
import re
from collections.abc import Iterator

import yaml

from pipeproof.engines import graph
from pipeproof.frontends import spec
from pipeproof.ir.reading import ReadOptions
from pipeproof.lowering.lower import lower
from pipeproof.lowering.outcomes import has_choices
from pipeproof.lowering.waits import write_in
from pipeproof.proofs.outcomes import outcomes, undecided
from pipeproof.semantics.choices import Settled
from pipeproof.semantics.model import Model
from tests.engines.stored import credited, plain, stored

__all__ = ["choosing", "settled", "with_choices"]

_NAMES = ("p", "q", "r")
_WHAT = re.compile(r"(?:SEND|RECV) (\S+)")


def settled(text: str, most: int = 60, copies: int = 1) -> Iterator[list[Settled]]:
    """All outcomes of a file, of `copies` of its programs, under each of its transports."""
    run = lower(spec.read(text, "made", ReadOptions())[0].schedule, repeated=copies)
    for transport in run.schedule.transports:
        if has_choices(run) and not undecided(run, transport):
            found = outcomes(run, transport, graph.furthest, most)
            yield [
                Settled(Model(each.run, transport, write_in(each.run, transport.wait)), each.picked)
                for each in found
            ]


def choosing(*programs: str, transport: str = "buffered", copies: int = 1) -> list[Settled]:
    """All outcomes of the programs of a fragment."""
    keys = {"pipeproof": 1, "fragment": True, "microbatches": 9, "stages": 9}
    text = json.dumps({**keys, "transport": transport, "ranks": [each or [] for each in programs]})
    return next(settled(text, 4096, copies))


def with_choices(seed: int) -> str:
    """A random program in which some instructions go by choices, both ends of most messages alike.

    Choices may hang on others, and some receives take from whichever rank.
    """
    rng = random.Random(seed)
    base = rng.choice((plain, credited, stored))
    content = yaml.safe_load(plain(seed, weak=False) if base is plain else base(seed))
    ranks: list[list[str]] = content["ranks"]
    names, share = _NAMES[: rng.randint(1, 3)], rng.choice((0.0, 0.1, 0.2, 0.4))
    for name in names:
        alternatives = rng.choice(("a|b", "a|b|c"))
        for program in rng.sample(ranks, rng.randint(1, len(ranks))):
            behind = f" if={rng.choice(names)}:a" if rng.random() < 0.1 else ""
            at = rng.randint(0, min(2, len(program)))
            program.insert(at, f"CHOOSE {name} {alternatives}{behind}")
    goes_by: dict[str, str] = {}
    for program in ranks:
        program[:] = [_conditional(rng, word, names, share, goes_by) for word in program]
    return json.dumps(content)


def _conditional(
    rng: random.Random, word: str, names: tuple[str, ...], share: float, goes_by: dict[str, str]
) -> str:
    if "CHOOSE" in word:
        return word
    match = _WHAT.search(word)
    key = match[1] if match else word
    if key not in goes_by or rng.random() < 0.1:
        asked = f" if={rng.choice(names)}:{rng.choice('ab')}"
        goes_by[key] = asked if rng.random() < share else ""
    if "RECV" in word and "[" not in word and rng.random() < 0.05:
        word = re.sub(r"from=\d+", "from=any", word)
    return word + goes_by[key]
