from __future__ import annotations

import sys
from collections import Counter
from itertools import product
from typing import TYPE_CHECKING

import pytest

from pipeproof import api
from pipeproof.errors import UnsupportedFeatureError
from pipeproof.execution.streams._unsplit import Unsplit
from pipeproof.execution.streams.running import Pace
from pipeproof.execution.streams.sanitizer import Sanitized
from pipeproof.semantics.found import NO_EVENT
from tests.execution.played import SPECS, document, models
from tests.execution.streams.flowed import (
    RACES,
    STORAGE,
    flowed,
    only,
    order,
    queues,
    running,
    text,
)
from tests.interpreter.mutations import mutants

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pipeproof.execution._touches import Touches
    from pipeproof.execution.streams.plan import Launch
    from pipeproof.semantics.model import Model
    from pipeproof.verdict.decision import Decision

STORAGE_RULES = ("PP501", "PP502", "PP503", "PP504", "PP505")
LEGAL = (
    "one-buffer-short-fixed",
    "output-freed-before-sent-fixed",
    "receive-without-wait-fixed",
    "scaled-during-reduction-fixed",
    "slot-freed-after-the-signal-fixed",
    "slot-guarded-by-itself-fixed",
    "two-receives-one-slot-fixed",
)


def watched(name: str, *, legal: bool, pace: Pace = Pace.FREE) -> tuple[set[str], list[str]]:
    """The storages that race by what they are called, and what each race is."""
    device = Sanitized(queues(1))
    ended = flowed(only(text(name, legal=legal)), device, pace=pace)
    memories, stored = ended.kernels.memories(), ended.run.storage
    labels = stored.labels if stored is not None else ()
    keys = {memories.get(race.memory) for race in device.races}
    named = {"a gradient" if key is None else labels[key[1]] for key in keys}
    return named, [f"{race.kernel}, {race.before}" for race in device.races]


@pytest.mark.parametrize("name", STORAGE)
def test_no_race_is_found_where_the_schedule_is_legal(name: str) -> None:
    for pace in (Pace.FREE, Pace.ANY):
        assert watched(name, legal=True, pace=pace) == (set(), [])


@pytest.mark.parametrize("name", RACES)
def test_a_race_is_found_at_the_storage_that_two_use_at_once(name: str) -> None:
    named, _ = watched(name, legal=False)

    assert named == {"s"}


def test_a_race_names_both_that_use_a_storage() -> None:
    _, told = watched("freed while it is sent", legal=False)

    assert told[0] == "SEND F0.0 to=1 h=a buf=s of rank 0, FREE s of rank 0" or (
        told[0] == "FREE s of rank 0, SEND F0.0 to=1 h=a buf=s of rank 0"
    )


@pytest.mark.parametrize("name", ["added while it is reduced", "used while it is reduced"])
def test_a_gradient_that_is_reduced_meanwhile_races(name: str) -> None:
    assert watched(name, legal=False)[0] == {"a gradient"}


@pytest.mark.parametrize("name", ["overwritten unread", "read from another storage"])
def test_what_is_wrong_in_the_order_of_one_program_is_no_race(name: str) -> None:
    device = Sanitized(queues(1))
    ended = flowed(only(text(name, legal=False)), device)

    assert list(ended.differing())
    assert not device.races


@pytest.mark.parametrize("name", LEGAL)
def test_shipped_legal_schedules_do_not_race(name: str) -> None:
    for model in models(document((SPECS / "legal" / f"{name}.yaml").read_text())):
        device = Sanitized(queues(2))

        assert not list(flowed(model, device, pace=Pace.ANY).differing())
        assert not device.races


def test_a_torch_without_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.cuda._sanitizer", None)

    with pytest.raises(UnsupportedFeatureError, match="no stream sanitizer that can be asked"):
        Sanitized(queues(0))


def test_a_torch_with_another_one_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch.cuda import _sanitizer  # noqa: PLC0415  private

    monkeypatch.delattr(_sanitizer.EventHandler, "_handle_event_wait")

    with pytest.raises(UnsupportedFeatureError, match="has no _handle_event_wait"):
        Sanitized(queues(0))


@pytest.mark.parametrize("name", ["written while it is sent", "used while it is reduced"])
def test_without_a_wait_wrong_bits_come_with_a_race(name: str) -> None:
    model = only(text(name, legal=True))
    unsplit = Unsplit(model.frame.run, 0)
    seen = set()
    for launches in without_a_wait(model):
        for pace, seed in product((Pace.SENDS, Pace.RECEIVES, Pace.COMPUTE), (0, 1)):
            device = Sanitized(queues(seed))
            broken = running(model, device, unsplit)
            broken.play(launches, pace, seed)
            seen.add((bool(list(broken.differing())), bool(device.races)))

    assert (True, True) in seen
    assert (True, False) not in seen


def without_a_wait(model: Model) -> Iterator[list[Launch]]:
    """What streams are given for a schedule, each time without another one of its waits."""
    whole = running(model, queues(0)).plan(model.happens_before, order(model))
    for place, launch in enumerate(whole):
        for left_out in launch.waits:
            waits = tuple(each for each in launch.waits if each != left_out)
            yield [*whole[:place], launch._replace(waits=waits), *whole[place + 1 :]]


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["PP501", "PP502", "PP503", "PP504", "PP505"])
def test_of_fifty_mutants_those_race_in_which_two_accesses_are_not_ordered(
    rule: str, record_property: Callable[[str, object], None]
) -> None:
    found: Counter[str] = Counter()
    for mutant in mutants(rule, 200):
        try:
            told = list(compared(mutant.text))
            device = Sanitized(queues(2))
            flowed(only(mutant.original), device, pace=Pace.ANY)
        except UnsupportedFeatureError:
            continue
        assert "disagrees" not in told, mutant.text
        assert not device.races, mutant.original
        found.update(told[:1])
        if sum(found.values()) >= 50:
            break

    record_property("counts", dict(found))
    assert sum(found.values()) >= 50


def compared(written: str) -> Iterator[str]:
    """Whether the sanitizer finds what the checker does, under each transport that is refuted."""
    kept: list[tuple[Model, Decision]] = []
    api.judge(document(written), api.Asked(), kept)
    for model, decision in kept:
        broken = [each.finding for each in decision.broken if each.rule.code in STORAGE_RULES]
        if not broken:
            continue
        device = Sanitized(queues(1))
        touches = (ended := flowed(model, device)).kernels.touches
        at = ended.kernels.memories()
        racing = {at.get(race.memory) for race in device.races}
        places = [{spot.row for spot in each.spots if spot.row >= 0} for each in broken]
        keys = [{key for row in rows for key in touched(touches, row)} for rows in places]
        open_ = [each.before not in (None, NO_EVENT) for each in broken]
        met = all(racing & own for own, unordered in zip(keys, open_, strict=True) if unordered)
        stray = {key for key in racing if key is not None}.difference(*keys)
        kind = "unordered" if any(open_) else "in the order of a program"
        kind = "a gradient" if None in racing else kind
        yield kind if met and not stray else "disagrees"


def touched(touches: Touches, row: int) -> set[tuple[int, int]]:
    """The storages that a row reads, writes or gives back."""
    found = {each.key for each in (*touches.reads.get(row, ()), *touches.writes.get(row, ()))}
    return found | ({touches.frees[row]} if row in touches.frees else set())
