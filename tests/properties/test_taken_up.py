"""Explorations that a budget ends or somebody stops, and what is kept of them."""

import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from pipeproof.engines.explore import (
    Budget,
    Explored,
    Frontier,
    decide,
    explore_fully,
    name_of,
    reduced,
)
from pipeproof.errors import InputError
from pipeproof.semantics.logic import PROGRESS
from tests.engines.stored import CREDITS
from tests.engines.test_explore import one_f_one_b, shown
from tests.semantics.made import model, rules

LONG = ("; ".join(["0F0; 0B0"] * 60), "; ".join(["1F0; 0B1"] * 60))


def test_what_an_exploration_leaves_is_told_to_who_keeps_it() -> None:
    made = model(*LONG, microbatches=2)
    kept: list[tuple[Frontier, str]] = []
    decide(made, rules("PP301"), budget=Budget(states=200), kept=lambda *told: kept.append(told))
    (first, over), whole = kept[0], decide(made, rules("PP301"))

    assert (over, bool(first.states), first.of) == ("the budget of 200 states", True, name_of(made))

    resumed = decide(made, rules("PP301"), frontier=first, kept=lambda *told: kept.append(told))

    assert (kept[1][1], kept[1][0].states) == ("", ())
    assert resumed == whole
    assert decide(made, rules("PP301"), frontier=kept[1][0]) == whole


def test_states_of_earlier_runs_are_told_and_count_no_more() -> None:
    made = model(*(f"{each}; {each}; {each}; {each}; {each}" for each in LONG), microbatches=2)
    seen: list[tuple[int, int]] = []
    part = reduced(made, budget=Budget(states=400))
    assert part.frontier is not None
    before = part.frontier.tallies["states"]
    decision = decide(
        made,
        rules("PP301"),
        budget=Budget(states=400),
        frontier=part.frontier,
        progress=lambda *at: seen.append(at),
    )

    assert before > 400
    assert seen[0] == (before, 0)
    assert f"after {2 * before} states" in decision.unknown["PP301"]


def test_an_exploration_that_somebody_stops_ends_as_with_a_budget() -> None:
    made = model(*LONG, microbatches=2)
    decision = decide(made, rules("PP301"), budget=Budget(stopped=lambda: True))

    assert decision.unknown["PP301"].startswith("an interrupt ended the exploration after")
    assert not decision.complete


def test_states_that_are_held_count_for_the_memory() -> None:
    made = model(*LONG, microbatches=2)
    size = made.events // 8 + 1

    assert reduced(made, budget=Budget(memory=size - 1)).frontier is not None
    assert reduced(made, budget=Budget(memory=2 * size)).frontier is None


def test_trial_runs_for_what_is_live_end_and_leave_it_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = model(
        "0F0; SEND F0.0 to=1 h=x; 0F1; SEND F0.1 to=1 h=x; SEND t to=1; 0F2",
        "RECV F0.0 from=0 h=x; RECV F0.1 from=0 h=x; RECV t from=0",
        microbatches=3,
        fragment=True,
        stages=2,
        sizes={"F": "1MiB"},
        bounds={"memory": "2MiB"},
        under=CREDITS,
    )
    assert not decide(made, rules("PP506")).unknown
    monkeypatch.setattr("pipeproof.engines._explore_budget._TRIALS", 0)

    assert not decide(made, rules("PP506")).unknown  # as many steps as states are allowed
    open_ = decide(made, rules("PP506"), budget=Budget(states=made.events + 1)).unknown
    assert "no execution was found" in open_["PP506"]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("states", ["-1"]),
        ("states", ["0x1"]),
        ("states", [1]),
        ("states", "1"),
        ("layer", -1),
        ("layer", "1"),
        ("layer", 1.5),
        ("later", None),
        ("tallies", {"states": -4}),
        ("tallies", []),
        ("seen", {"ends": ["g"]}),
        ("format", "pipeproof frontier 2"),
    ],
)
def test_what_is_no_frontier_is_refused(key: str, value: object) -> None:
    frontier = reduced(model(*LONG, microbatches=2), budget=Budget(states=9)).frontier
    assert frontier is not None
    content = json.loads(frontier.save())
    changed = json.dumps({**content, key: value}).encode()

    with pytest.raises(InputError, match="expected the frontier that was saved"):
        Frontier.load(changed)
    assert Frontier.load(json.dumps(content).encode()) == frontier


def test_a_frontier_nested_too_deep_is_refused() -> None:
    with pytest.raises(InputError, match="no frontier"):
        Frontier.load(b"[" * 200_000)


@pytest.mark.parametrize(
    "changed",
    [
        lambda frontier: replace(frontier, states=(1 << 100_000,)),
        lambda frontier: replace(frontier, seen={"ends": (1 << 100_000,)}),
        lambda frontier: replace(frontier, seen={}),
        lambda frontier: replace(frontier, states=(), later=(1,)),
    ],
)
def test_states_that_are_none_of_the_schedule_are_refused(
    changed: Callable[[Frontier], Frontier],
) -> None:
    made = model(*LONG, microbatches=2)
    frontier = reduced(made, budget=Budget(states=9)).frontier
    assert frontier is not None

    with pytest.raises(InputError, match="expected the frontier that was saved"):
        reduced(made, frontier=changed(frontier))


def test_a_full_exploration_that_is_taken_up_again_ends_the_same() -> None:
    made = one_f_one_b("buffered")
    pairs, accesses = np.asarray([(20, 3), (0, 3)]), np.asarray([(0, 1), (16, 17)])

    def go(budget: Budget | None, frontier: Frontier | None) -> Explored:
        return explore_fully(
            made, PROGRESS, budget, pairs=pairs, accesses=accesses, frontier=frontier
        )

    whole = go(None, None)
    part, rounds = go(Budget(states=50), None), 1
    while part.frontier is not None:
        part = go(Budget(states=50), Frontier.load(part.frontier.save()))
        rounds += 1

    assert rounds > 5
    assert part.out_of_order.tolist() == whole.out_of_order.tolist() == [True, False]
    assert replace(part, out_of_order=whole.out_of_order) == whole
    assert part.overlapping == {(0, 1)}


def test_a_reduced_exploration_that_is_taken_up_again_ends_the_same() -> None:
    made = model("; ".join(["0F0; 0B0"] * 60), "; ".join(["1F0; 0B1"] * 60), microbatches=2)
    part = reduced(made, budget=Budget(states=200))
    assert part.frontier is not None
    frontier = Frontier.load(part.frontier.save())

    assert reduced(made, frontier=frontier).ends == reduced(made).ends
    resumed = decide(made, rules(), frontier=frontier)
    assert len(resumed.broken) > 50
    assert shown(made, resumed) == shown(made, decide(made, rules()))


def test_a_frontier_of_something_else_is_refused() -> None:
    made = one_f_one_b("buffered")
    frontier = explore_fully(made, PROGRESS, Budget(states=9)).frontier
    assert frontier is not None

    with pytest.raises(InputError, match="another schedule"):
        explore_fully(one_f_one_b("rendezvous"), PROGRESS, frontier=frontier)
    with pytest.raises(InputError, match="another schedule"):
        explore_fully(made, PROGRESS, frontier=frontier, pairs=np.asarray([(0, 1)]))
    for data in (b"", b"[]", b'{"format": "other"}', json.dumps({"format": 1}).encode()):
        with pytest.raises(InputError):
            Frontier.load(data)
