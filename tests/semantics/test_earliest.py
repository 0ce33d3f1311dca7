"""Everything happens as early as it can: against a naive simulation, and by hand."""

import random

import numpy as np
import pytest

from pipeproof.api import judge_text
from pipeproof.errors import UnsupportedFeatureError
from pipeproof.frontends import spec
from pipeproof.ir.costs import costs_of
from pipeproof.ir.reading import ReadOptions
from pipeproof.ir.transport import NAMED
from pipeproof.lowering.lower import lower
from pipeproof.lowering.waits import write_in
from pipeproof.semantics import earliest
from pipeproof.semantics.earliest import NEVER, durations, execution, moments
from pipeproof.semantics.model import Graph, Model
from pipeproof.verdict.replay import happen
from tests.oracle import programs
from tests.semantics.made import CROSSED, model, text

TWO = (
    "0F0; 0SEND_F0; 0F1; 0SEND_F1; 0RECV_B0; 0B0; 0RECV_B1; 0B1",
    "1RECV_F0; 1F0; 1B0; 1SEND_B0; 1RECV_F1; 1F1; 1B1; 1SEND_B1",
)


def naive(graph: Graph, spent: list[int]) -> list[int]:
    """Go through guards again and again until nothing changes, from never downwards."""
    late = 10**9
    waits: list[list[int]] = [[] for _ in range(graph.size)]
    for before, after in zip(graph.before.tolist(), graph.after.tolist(), strict=True):
        waits[after].append(before)
    at = [late] * graph.size
    for _ in range(graph.size + 1):
        for event in range(graph.size):
            since = [at[each] for each in waits[event]]
            for credit in graph.credits:
                for n in np.flatnonzero(credit.drained == event).tolist():
                    before = sorted(at[each] for each in credit.arrived[:n].tolist())
                    if n >= credit.capacity:
                        since.append(before[n - credit.capacity])
            start = max(since, default=0)
            is_stuck = bool(graph.never[event]) or start >= late
            at[event] = late if is_stuck else start + spent[event]
    return [NEVER if each >= late else each for each in at]


@pytest.mark.parametrize("seed", range(120))
def test_times_are_those_of_a_naive_simulation(seed: int) -> None:
    rng = random.Random(seed)
    drawn = programs.random_programs(rng, ranks=(2, 3), messages=(1, 5))
    transport = programs.random_transport(rng, weak=False)
    times = {"F": rng.randint(1, 3), "B": 2.5, "comm": rng.choice((0, 1, 0.5))}
    text = programs.render(
        drawn, transport, steps=1, extra={"microbatches": 3, "costs": times, "fragment": True}
    )
    made = _models(text)
    graph = made.progress
    spent = durations(made.frame, costs_of(made.frame.run.schedule))
    spent += [0] * (graph.size - len(spent))
    expected = naive(graph, spent)

    assert moments(made.frame, graph).at.tolist() == expected
    assert earliest._by_time(graph, spent).tolist() == expected
    if not graph.credits:
        assert earliest.by_rounds(graph, spent).tolist() == expected
    told = execution(made.frame, graph)
    assert sorted(told.tolist()) == [e for e in range(made.events) if expected[e] != NEVER]
    assert [expected[e] for e in told.tolist()] == sorted(expected[e] for e in told.tolist())
    happen(made, graph, told)


def _models(text: str) -> Model:
    schedule = spec.read(text, "made", ReadOptions())[0].schedule
    run, transport = lower(schedule), schedule.transports[0]
    return Model(run, transport, write_in(run, transport.wait))


def ends(made: Model) -> list[int]:
    found = moments(made.frame, made.progress).at[1 : made.frame.ends : 2]
    return [int(each) for each in found]


def test_by_hand_buffered() -> None:
    made = model(*TWO, microbatches=2, under="buffered")

    assert ends(made) == [1, 1, 2, 2, 4, 6, 7, 9, *[1, 2, 4, 4, 4, 5, 7, 7]]


def test_a_send_that_meets_waits_for_its_receive() -> None:
    early = TWO[1].replace("1B0; 1SEND_B0; 1RECV_F1", "1RECV_F1; 1B0; 1SEND_B0")
    made = model(TWO[0], early, microbatches=2, under="rendezvous")

    assert ends(made) == [1, 1, 2, 2, 4, 6, 7, 9, *[1, 2, 2, 4, 4, 5, 7, 7]]


def test_a_send_that_meets_is_over_when_its_receive_takes_it() -> None:
    made = model("0F0; 0SEND_F0", "1F1; 1F2; 1RECV_F0", microbatches=3, fragment=True)

    assert ends(made) == [1, 2, 1, 2, 2]


def test_a_message_takes_its_time_before_the_end_of_a_send_that_meets() -> None:
    both = [
        ends(model(*TWO, microbatches=2, under=name, costs={"comm": 1}))[:2]
        for name in ("buffered", "rendezvous")
    ]

    assert both == [[1, 1], [1, 2]]


def test_a_message_to_the_own_rank_takes_no_time() -> None:
    own = "0F0; SEND F0.0 to=0 h=a; RECV F0.0 from=0; WAIT a; 1F0"

    assert ends(model(own, under="buffered", costs={"comm": 5}, fragment=True))[-1] == 2


def test_costs_of_a_stage_are_taken_for_it_and_for_what_it_sends() -> None:
    made = model(*TWO, microbatches=2, under="buffered", costs={"F": [1, 4], "comm": [3, 0]})

    assert ends(made)[8:11] == [4, 8, 10]


def test_operations_that_overlap_take_one_after_the_other() -> None:
    made = model("0F0; (0F1;0B0)OVERLAP_F_B; 0B1", microbatches=2)

    assert ends(made) == [1, 4, 6]


def test_what_is_stuck_never_happens() -> None:
    assert ends(model(*CROSSED)) == [NEVER] * 4


def test_large_times_are_exact() -> None:
    large = 999_999_999_999_999
    made = model("0F0; 0F1; 0B0; 0B1", microbatches=2, costs={"F": large, "B": "0.000000001"})

    assert ends(made)[-1] == 2 * large * 10**9 + 2


def test_weak_communicators_are_no_matter_of_time_alone() -> None:
    made = model(*TWO, microbatches=2, under=NAMED["nccl-lazy"])
    held = made.progress._replace(held=np.ones(made.progress.size, np.bool_))
    with pytest.raises(UnsupportedFeatureError, match="weak communicator"):
        moments(made.frame, held)


@pytest.mark.parametrize(
    "programs",
    [
        ("0F0; 5F0; 0B0", "1F0"),
        ("0F0; SEND F7.0 to=1; SEND F0.0 to=1", "RECV F7.0 from=0; RECV F0.0 from=0; 1F0"),
    ],
)
def test_what_is_of_no_stage_takes_no_time_and_is_refuted(programs: tuple[str, ...]) -> None:
    keys = {"costs": {"F": [1, 2], "comm": [1, 2]}, "bounds": {"makespan": 9}, "stages": 2}
    found = judge_text(text(*programs, transport="buffered", **keys), "made")

    assert found.verdict == "refuted"
    assert {each.rule for each in found.transports[0].violations}.isdisjoint({"PP902"})
