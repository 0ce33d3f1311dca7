"""Mutations by the rule that catches them, and what becomes of their mutants."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import TYPE_CHECKING

from tests.interpreter import (
    gradient_origins,
    mutate_gradients,
    mutate_restart,
    mutate_storage,
    origins,
    weight_origins,
)
from tests.interpreter import mutate_weights as weights
from tests.interpreter.machine import TooManyStatesError
from tests.interpreter.observation import equivalent, observe
from tests.interpreter.program import UnsupportedTextError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.interpreter.drafts import Draft

    Origin = Callable[[Random], Draft]
    Change = Callable[[Random, Draft], Draft | None]
    Judge = Callable[[str], tuple[str, frozenset[str]]]  # verdict and codes of violations


@dataclass(frozen=True, slots=True)
class Mutation:
    """One way of breaking a legal schedule.

    Attributes:
        codes: The rules that are right for what it breaks.
    """

    rule: str
    codes: frozenset[str]
    origin: Origin
    change: Change

    @property
    def name(self) -> str:
        """The name of what it does."""
        return self.change.__name__


@dataclass(frozen=True, slots=True)
class Mutant:
    """A legal schedule and what a mutation made of it."""

    mutation: Mutation
    original: str
    text: str


@dataclass(slots=True)
class Tally:
    """What became of the mutants of a rule.

    Attributes:
        missed: Those that were neither caught nor the same as their originals, with the reason.
        disputed: Those that were caught although the interpreter finds nothing wrong.
    """

    caught: Counter[str] = field(default_factory=Counter)
    same: Counter[str] = field(default_factory=Counter)
    missed: list[tuple[Mutant, str]] = field(default_factory=list)
    disputed: list[tuple[Mutant, str]] = field(default_factory=list)

    @property
    def all(self) -> int:
        """How many there were."""
        return sum(self.caught.values()) + sum(self.same.values()) + len(self.missed)


def _gradients(*insist: str, least: int = 1, ranks: int = 1) -> Origin:
    return partial(gradient_origins.gradients, least=least, ranks=ranks, insist=frozenset(insist))


def _any(*found: Origin) -> Origin:
    return lambda rng: rng.choice(found)(rng)


def _mutations() -> Iterator[Mutation]:
    m, w, g, r = mutate_storage, weights, mutate_gradients, mutate_restart
    o, v = origins, weight_origins
    stored = _any(o.named, o.handled)
    plain, two = _gradients(), _gradients(least=2)
    table: list[tuple[str, str, Origin, Change]] = [
        ("PP501", "", o.handled, m.wait_after_reader),
        ("PP501", "", o.handled, m.wait_left_out),
        ("PP501", "", _gradients("reduce", "handle", "step"), g.used_while_reduced),
        ("PP502", "", o.handled, m.write_before_wait),
        ("PP502", "", _gradients("reduce", "handle", least=2), g.added_while_reduced),
        ("PP502", "", _gradients("reduce", "handle"), g.cleared_while_reduced),
        ("PP503", "PP502", o.pooled, m.fewer_slots),
        ("PP503", "PP502 PP504", stored, m.one_storage_for_two),
        ("PP504", "", stored, m.freed_early),
        ("PP504", "", o.handled, m.freed_in_flight),
        ("PP505", "PP503 PP504", stored, m.other_storage_read),
        ("PP505", "", stored, m.received_elsewhere),
        ("PP506", "", o.live, m.live_bound_lower),
        ("PP506", "", o.live, m.one_more_held),
        ("PP506", "", o.live, m.forward_earlier),
        ("PP506", "", o.memory, m.memory_bound_lower),
        ("PP507", "", o.live, m.never_dropped),
        ("PP507", "", o.live, m.held_again),
        ("PP601", "", _any(v.stash, v.vertical, v.double_buffered), w.stash_left_out),
        ("PP601", "", v.stash, w.claims_another),
        ("PP601", "PP602", _any(v.stash, v.flush, v.vertical), w.reads_beside),
        ("PP601", "PP602", v.cached, w.never_filled),
        ("PP601", "PP602", v.gathered, w.gathered_late),
        ("PP602", "", _any(v.flush, v.vertical, v.double_buffered), w.all_read_beside),
        ("PP602", "", _any(v.stash, v.flush), w.no_such_version),
        ("PP603", "", v.latest, w.fresher_asked),
        ("PP603", "", v.latest, w.forward_before_step),
        ("PP604", "", _any(v.stash, v.vertical, v.double_buffered), w.fewer_versions_kept),
        ("PP604", "PP601 PP602 PP706", _any(v.stash, v.vertical), w.step_before_reader),
        ("PP605", "", v.speculative, w.used_before_commit),
        ("PP605", "", v.speculative, w.nobody_speculates),
        ("PP701", "PP101 PP703", plain, g.contribution_left_out),
        ("PP701", "", two, g.assigned),
        ("PP701", "PP703", plain, g.cleared_between),
        ("PP701", "PP703", _gradients("zero"), g.zero_late),
        ("PP702", "PP102", plain, g.contribution_twice),
        ("PP702", "PP102", _gradients("parameters"), g.parameter_again),
        ("PP702", "PP102 PP704", _gradients("reduce"), g.reduced_twice),
        ("PP703", "", plain, g.other_coefficient),
        ("PP703", "", plain, g.scaled_again),
        ("PP703", "", _gradients("scale"), g.scale_left_out),
        ("PP703", "", _gradients("scale", least=2), g.scaled_too_soon),
        ("PP704", "", _gradients("reduce"), g.reduced_early),
        ("PP704", "", _gradients("last"), g.marked_wrong),
        ("PP705", "", _gradients("reduce"), g.reduction_left_out),
        ("PP706", "", _gradients("step"), g.stepped_early),
        ("PP707", "", _gradients("tied", ranks=2), g.ties_left_out),
        ("PP707", "", _gradients("tied", ranks=2), g.tied_early),
        ("PP707", "", _gradients("tied", "reduce", ranks=2), g.tied_while_reduced),
        ("PP707", "PP704", _gradients("tied", "reduce", ranks=2), g.shards_differ),
        ("PP708", "", plain, g.leftovers),
        ("PP708", "", _gradients("stale"), g.never_cleared),
        ("PP709", "", _gradients("norm", ranks=2), g.fewer_in_norm),
        ("PP709", "", _gradients("norm"), g.norm_left_out),
        ("PP709", "", _gradients("norm"), g.norm_early),
        ("PP801", "", o.recomputing, r.other_random_state),
        ("PP801", "", o.recomputing, r.updated_again),
        ("PP801", "", o.recomputing, r.registers_out_of_order),
        ("PP802", "", v.recomputed, w.recomputed_with_latest),
        ("PP803", "", o.saved, r.saved_early),
        ("PP804", "", o.saved, r.resumed_elsewhere),
        ("PP804", "", o.saved, r.consumed_more),
        ("PP804", "", o.saved, r.flight_left_out),
        ("PP804", "", o.saved, r.restored_another),
    ]
    for rule, more, origin, change in table:
        yield Mutation(rule, frozenset((rule, *more.split())), origin, change)


MUTATIONS = tuple(_mutations())
RULES = tuple(dict.fromkeys(mutation.rule for mutation in MUTATIONS))


def mutants(rule: str, count: int) -> Iterator[Mutant]:
    """As many different mutants of a rule, from each of its mutations in turn."""
    mutations = [mutation for mutation in MUTATIONS if mutation.rule == rule]
    seen: set[str] = set()
    for seed in range(60 * count):
        mutation = mutations[seed % len(mutations)]
        rng = Random(f"{rule} {mutation.name} {seed}")
        try:
            draft = mutation.origin(rng)
        except TooManyStatesError:
            continue
        original = draft.text
        changed = mutation.change(rng, draft)
        if changed is None or changed.text == original or changed.text in seen:
            continue
        seen.add(changed.text)
        yield Mutant(mutation, original, changed.text)
        if len(seen) == count:
            return


def tally(found: Iterator[Mutant], judge: Judge) -> Tally:
    """What becomes of mutants."""
    result = Tally()
    for mutant in found:
        if (reason := _reason(mutant, judge, result)) is not None:
            result.missed.append((mutant, reason))
    return result


def _reason(mutant: Mutant, judge: Judge, result: Tally) -> str | None:
    """Why a mutant is missed; none where it is not."""
    original, _ = judge(mutant.original)
    if original != "proved":
        return f"the original is {original}"
    verdict, codes = judge(mutant.text)
    try:
        before, after = observe(mutant.original), observe(mutant.text)
    except (TooManyStatesError, UnsupportedTextError) as error:
        return f"not interpreted: {error!r}"
    found = f"{verdict} {sorted(codes)}, interpreted as {sorted(after.codes)}"
    if verdict == "refuted" and codes & mutant.mutation.codes:
        result.caught[mutant.mutation.name] += 1
        if after.legal:
            result.disputed.append((mutant, found))
        return None
    if verdict == "proved" and equivalent(before, after):
        result.same[mutant.mutation.name] += 1
        return None
    return found
