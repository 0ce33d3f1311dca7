from __future__ import annotations

from dataclasses import fields
from functools import lru_cache
from random import Random
from typing import TYPE_CHECKING

import pytest

from pipeproof.errors import UnsupportedFeatureError
from pipeproof.execution.checkpoints.boundaries import by_steps, undrained
from pipeproof.execution.checkpoints.restart import taken_up
from pipeproof.execution.checkpoints.state import (
    DRAINED,
    CheckpointError,
    Part,
    Setting,
    tables_of,
    unequal,
)
from pipeproof.execution.witness import WITNESSES
from tests.execution.checkpoints.saved import (
    AGAIN,
    PIPELINE,
    REVERSED,
    TINY,
    Moment,
    ended,
    held,
    model,
    moment,
    setting,
    spec,
    with_that_of,
    without,
)
from tests.execution.played import SPECS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pipeproof.execution.replayer import Replayer

FEATURES = [  # legal specs, each with something of its own to keep
    "backward-after-reshard-fixed",
    "tied-gradients-not-summed-fixed",
    "norm-of-own-rank-fixed",
    "step-before-reduction-ends-fixed",
    "bucket-forgotten-after-update-fixed",
    "running-statistics-out-of-order-fixed",
    "forward-not-redone-after-rollback-fixed",
    "saved-with-message-in-flight-fixed",
    "segments-backward-in-order-fixed",
]
BESIDE = ("about", "random", "caller")  # fields that are no tables of the execution
OVERWRITTEN = {  # read by nothing that comes after in these executions; a comparison sees them
    "computed._withdrawn",
    "gradients._begun",  # by updates in which nothing is due, and these go on with what is
    "pending._rounded",
}


def continued(at: Moment, parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """What ranks hold at the end of an execution that is taken up again."""
    again = taken_up(at.setting, parts)
    again.play(at.order[at.cut :])
    return held(again, at.setting)


def odd(left: tuple[Part, ...], right: tuple[Part, ...]) -> set[str]:
    return {name for pair in zip(left, right, strict=True) for name in unequal(*pair)}


@pytest.mark.parametrize("witness", WITNESSES)
def test_an_execution_goes_on_bitwise_from_a_moment_in_flight(witness: str) -> None:
    for cut in (31, 78):
        at = moment(PIPELINE, cut, witness)
        parts = at.parts()

        assert not odd(parts, held(taken_up(at.setting, parts), at.setting))
        assert not odd(continued(at, parts), ended(at.setting, at.order))


@pytest.mark.parametrize("name", FEATURES)
@pytest.mark.parametrize("late", [False, True])
def test_whatever_a_schedule_keeps_goes_on_bitwise(name: str, *, late: bool) -> None:
    whole = moment(spec(name), 0).order
    at = moment(spec(name), len(whole) * 3 // 5, late=late)

    assert not odd(continued(at, at.parts()), ended(at.setting, at.order))


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(SPECS.glob("*egal/*.yaml")), ids=lambda path: path.stem)
@pytest.mark.parametrize("witness", WITNESSES)
def test_every_spec_goes_on_bitwise_from_two_moments(path: Path, witness: str) -> None:
    text, late = path.read_text(encoding="utf-8"), len(path.stem) % 2 == 0
    try:
        setting(text, witness, late=late).begin()
    except UnsupportedFeatureError:
        return  # no model has it, so that nothing runs that a checkpoint could be taken of
    draw, whole = Random(path.stem), moment(text, 0).order
    for cut in (draw.randrange(len(whole) + 1) for _ in range(2)):
        at = moment(text, cut, witness, late=late)
        parts = at.parts()
        again = taken_up(at.setting, parts)
        assert not odd(parts, held(again, at.setting))

        again.play(at.order[at.cut :])

        assert not odd(held(again, at.setting), ended(at.setting, at.order))


@pytest.mark.parametrize("witness", WITNESSES)
def test_an_execution_goes_on_bitwise_from_a_drained_boundary(witness: str) -> None:
    at = setting(PIPELINE, witness)
    whole = at.begin()
    steps = by_steps(whole, model(PIPELINE).happens_before)
    live = at.begin()
    live.play(steps[0])
    assert not list(undrained(live))
    again = taken_up(at, held(live, at, DRAINED))

    for execution in (whole, again):
        execution.play(steps[0] if execution is whole else ())
        execution.play(steps[1])

    assert not odd(held(whole, at, DRAINED), held(again, at, DRAINED))
    assert not again.met


def test_a_recomputation_from_a_checkpoint_is_that_without_one() -> None:
    for witness in WITNESSES:
        cut = 6  # behind both forwards, before what they kept is computed again
        at = moment(AGAIN, cut, witness)
        before = at.parts()
        assert before[0].data["microbatches"] == [0, 1]

        assert not odd(continued(at, before), ended(at.setting, at.order))


def test_weights_of_a_checkpoint_that_are_not_those_of_the_forward_are_seen() -> None:
    at = moment(AGAIN, 6)
    first = at.setting.begin()
    (part,) = at.parts()
    again = taken_up(at.setting, [part])
    versions = vars(again.weights)["_versions"]
    versions[0, 0, 0] = versions[0, 0, 0]._replace(data=first.weights.current(0, 0) + 1)

    again.play(at.order[at.cut :])

    assert again.met


def moments() -> Iterator[Moment]:
    for text in (PIPELINE, *map(spec, FEATURES), spec("swapped-receive")):
        whole = moment(text, 0).order
        yield from (moment(text, cut) for cut in range(2, len(whole), max(3, len(whole) // 9)))
    yield moment(REVERSED, len(moment(REVERSED, 0).order) - 1, "transformer")


@lru_cache
def begun(at: Setting) -> tuple[Part, ...]:
    return held(at.begin(), at)


def tables(parts: tuple[Part, ...]) -> Iterator[tuple[str, str]]:
    for each in fields(Part):
        if each.name not in BESIDE:
            yield from ((each.name, name) for name in getattr(parts[0], each.name))


def test_every_table_that_is_missing_is_refused() -> None:
    at = moment(TINY, 5)
    parts = at.parts()
    found = []
    for each in fields(Part):
        for name in getattr(parts[0], each.name):
            if each.name == "caller":
                continue
            with pytest.raises(CheckpointError):
                taken_up(at.setting, [without(part, each.name, name) for part in parts])
            found.append((each.name, name))

    assert {field for field, _ in found} == {each.name for each in fields(Part)} - {"caller"}


def test_every_table_that_was_forgotten_is_refused_or_told_to_differ() -> None:
    """A table that is as in an execution that has not begun, as if nobody had saved it."""
    refused, differing, compared, all_ = (set[str]() for _ in range(4))
    for at in moments():
        known = refused | differing | (compared & OVERWRITTEN)
        if not holds(at, known):
            continue
        fresh, parts = begun(at.setting), at.parts()
        all_ |= {f"{field}.{name}" for field, name in tables(parts)}
        changed = odd(fresh, parts)
        for field, name in tables(parts):
            said = f"{field}.{name}"
            if said not in changed or said in known:
                continue
            forged = tuple(
                with_that_of(part, other, field, name)
                for part, other in zip(parts, fresh, strict=True)
            )
            try:
                again = taken_up(at.setting, forged)
            except CheckpointError:
                refused.add(said)
                continue
            assert said in odd(held(again, at.setting), parts)
            compared.add(said)
            if goes_on_otherwise(at, again):
                differing.add(said)

    assert all_ == refused | compared
    assert refused >= {"updates.rows", "data.microbatches", "computed.graphs._with"}
    assert compared - differing - refused <= OVERWRITTEN


def holds(at: Moment, known: set[str]) -> bool:
    """Whether a table holds something, beside some tables."""
    for field, tables_ in tables_of(at.live()).items():
        for name, table in tables_.items():
            some = bool(table) or name == "_sharded"  # where all is gathered this is empty
            if some and not isinstance(table, int) and f"{field}.{name}" not in known:
                return True
    return False


def goes_on_otherwise(at: Moment, again: Replayer) -> bool:
    try:
        again.play(at.order[at.cut :])
    except (IndexError, KeyError):
        return True
    return bool(odd(held(again, at.setting), ended(at.setting, at.order)))


@pytest.mark.parametrize(
    ("text", "witness", "why"),
    [
        (spec("one-stage-skips-fixed"), "linear", "is of schedule"),
        (PIPELINE, "dropout", "is of witness"),
    ],
)
def test_a_checkpoint_of_another_execution_is_refused(text: str, witness: str, why: str) -> None:
    with pytest.raises(CheckpointError, match=why):
        taken_up(setting(text, witness), moment(PIPELINE, 9).parts())


def test_a_checkpoint_that_lacks_a_rank_or_mixes_moments_is_refused() -> None:
    at, later = moment(PIPELINE, 20), moment(PIPELINE, 50)

    with pytest.raises(CheckpointError, match=r"of ranks \[0\], and lacks \[1\]"):
        taken_up(at.setting, at.parts()[:1])
    with pytest.raises(CheckpointError):
        taken_up(at.setting, [at.parts()[0], later.parts()[1]])


def test_a_forward_that_does_not_keep_the_same_again_is_refused() -> None:
    at = moment(TINY, 3)
    live = at.live()
    (graph,) = vars(live.compute.graphs)["_ran"].values()
    graph.kept = graph.kept + 1

    with pytest.raises(CheckpointError, match="keeps other numbers"):
        taken_up(at.setting, held(live, at.setting))
