"""Lower bounds: below every order that is legal, and reached where the papers say so."""

import random
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest

from pipeproof import api
from pipeproof.cli._inputs import Input, load
from pipeproof.ir.reading import ReadOptions
from pipeproof.ir.transport import Match, Wait
from pipeproof.semantics.model import Model
from pipeproof.timing.bounds import Bounds, lower_bounds
from pipeproof.timing.measures import totals
from pipeproof.timing.timeline import timeline
from tests.semantics.made import model
from tests.timing.made import FREE, NAMES, known

TAGGED = replace(FREE, match=Match.TAG, wait=Wait.AT_USE)


def bounds_of(made: Model) -> Bounds:
    return lower_bounds(made.frame.run, timeline(made), totals(made.frame)[0])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(6))
def test_no_known_schedule_is_faster_than_its_bounds(name: str, seed: int) -> None:
    rng = random.Random(seed)
    ranks, microbatches = rng.choice(((2, 4), (3, 6), (4, 4)))
    stages = ranks * (1 if name in {"gpipe", "1f1b"} else 2)
    costs = {
        kind: [f"{rng.randint(1, 30) / 10}" for _ in range(stages)]
        for kind in ("F", "B", "I", "W", "comm")
    }
    made = known(name, ranks, microbatches, costs)

    assert bounds_of(made).best <= timeline(made).makespan


@pytest.mark.parametrize("name", ["gpipe", "1f1b"])
def test_plain_schedules_reach_them(name: str) -> None:
    made = known(name, 4, 8)

    assert bounds_of(made).best == timeline(made).makespan == 33


def test_no_order_of_two_ranks_is_faster() -> None:
    """All orders of both ranks, two microbatches, uneven costs: bounds hold, and one is reached."""
    ops = ("F0", "F1", "B0", "B1")
    orders = [
        each
        for each in permutations(ops)
        if each.index("F0") < each.index("B0") and each.index("F1") < each.index("B1")
    ]
    costs = {"F": ["1", "2"], "B": ["3", "1"], "comm": "0.5"}
    ratios = []
    for first in orders:
        for second in orders:
            programs = (
                "; ".join(
                    f"0{op}; 0SEND_{op}" if op[0] == "F" else f"0RECV_{op}; 0{op}" for op in first
                ),
                "; ".join(
                    f"1RECV_{op}; 1{op}" if op[0] == "F" else f"1{op}; 1SEND_{op}" for op in second
                ),
            )
            keys = {"microbatches": 2, "stages": 2, "costs": costs, "under": TAGGED}
            made = model(*programs, **keys)
            try:
                line = timeline(made)
            except ValueError:  # stuck
                continue
            best = bounds_of(made).best
            ratios.append(line.makespan / best)

            assert best <= line.makespan

    assert len(ratios) > 10
    assert min(ratios) < 1.25


def test_split_backwards_end_in_their_weight_gradient() -> None:
    made = model("0F0; 0I0; 0W0", costs={"F": 1, "I": 2, "W": 4})

    assert bounds_of(made) == (7, 7, 7)


def test_forwards_alone_wait_for_no_room() -> None:
    made = model("0F0; 0SEND_F0", "1RECV_F0; 1F0", under="buffered", costs={"comm": 2})

    assert bounds_of(made) == (4, 4, None)


def test_room_for_one_makes_microbatches_wait_for_each_other() -> None:
    programs = (
        "0F0; 0SEND_F0; 0RECV_B0; 0B0; 0F1; 0SEND_F1; 0RECV_B1; 0B1",
        "1RECV_F0; 1F0; 1B0; 1SEND_B0; 1RECV_F1; 1F1; 1B1; 1SEND_B1",
    )
    made = model(*programs, microbatches=2, under="buffered")

    assert bounds_of(made) == (6, 9, 12)
    assert timeline(made).makespan == 12


def test_the_shipped_specs_hold_to_their_bounds() -> None:
    looked_at = 0
    for path in sorted((Path(__file__).parents[2] / "specs" / "legal").glob("*.yaml")):
        loaded = load(Input(str(path), path), ReadOptions())
        for document in loaded.documents if loaded is not None else ():
            run = document.schedule
            if run.fragment or run.described.get("faults") or "CHOOSE" in path.read_text():
                continue
            made = api.models(document)(api.transports_of(document)[0].name, 1)
            if made is None or made.frame.transport.weak:
                continue
            try:
                line = timeline(made)
            except ValueError:
                continue
            looked_at += 1

            assert lower_bounds(made.frame.run, line, totals(made.frame)[0]).best <= line.makespan

    assert looked_at > 20
