"""Why what is proved holds: the waits that do it, none of which can be left out."""

import numpy as np
import pytest

from pipeproof.api import Asked, judge_text
from pipeproof.engines import graph
from pipeproof.engines._explore_budget import Budget, Spent
from pipeproof.engines._explore_deciding import Deciding
from pipeproof.errors import UsageError
from pipeproof.proofs.explaining import explained
from pipeproof.semantics.model import Graph, Model
from pipeproof.verdict.telling import trace
from pipeproof.verdict.verdict import Explained, TraceStep, TransportVerdict
from tests.engines.stored import CREDITS, models, plain, stored
from tests.semantics.made import CROSSED, model, rules, text

LEGAL = (
    "0F0; SEND F0.0 to=1; RECV B1.0 from=1; 0B0",
    "RECV F0.0 from=0; 1F0; 1B0; SEND B1.0 to=0",
)
FREED = (
    "0F0 out=a; SEND F0.0 to=1 buf=a h=s; AWAIT from=1; 0F1 out=a; WAIT s",
    "RECV F0.0 from=0; 1F0; SIGNAL to=0",
)


def said(step: TraceStep) -> str:
    return f"{step.phase} {step.event} r{step.rank}.{step.position}"


def hops(told: Explained) -> list[str]:
    return [f"{said(hop.before)} -> {said(hop.after)}" for hop in told.hops]


def why(spec: str, *places: tuple[int, int], engine: str = "graph") -> tuple[TransportVerdict, ...]:
    return judge_text(spec, "made", Asked(why=places, engine=engine)).transports


def test_a_read_is_safe_by_the_wait_for_its_message() -> None:
    (found,) = why(text(*LEGAL, transport="gloo"), (1, 1))
    (told,) = found.explanations

    assert (told.rules, told.needs, told.known) == (("PP401",), "F0.0", True)
    assert (told.at.rank, told.at.position, told.at.operation) == (1, 1, "1F0")
    assert hops(told) == ["arrived F0.0 r1.0 -> start 1F0 r1.1"]
    assert [(hop.crosses, hop.needed) for hop in told.hops] == [(True, True)]


def test_a_write_is_safe_by_the_signal_that_its_storage_was_read() -> None:
    spec = text(*FREED, microbatches=2, fragment=True, transport="buffered")
    (found,) = why(spec, (0, 3))
    by_rule = {rule: told for told in found.explanations for rule in told.rules}
    steps = hops(by_rule["PP502"])

    assert found.outcome.value == "proved"
    assert steps[0].startswith("drained F0.0 r0.1 -> ")
    assert steps[-1].endswith(" -> start 0F1 out=a r0.3")
    assert any(hop.after.event == "AWAIT from=1" and hop.needed for hop in by_rule["PP502"].hops)


def test_without_places_the_first_pairs_are_explained_that_no_program_orders() -> None:
    spec = text(*LEGAL, transport="rendezvous")
    (found,) = why(spec)
    (everywhere,) = why(spec, *((rank, k) for rank in range(2) for k in range(4)))

    assert [(told.at.rank, told.at.position) for told in found.explanations] == [(1, 1), (0, 3)]
    assert all(any(hop.crosses for hop in told.hops) for told in found.explanations)
    assert set(found.explanations) < set(everywhere.explanations)


def test_what_is_refuted_is_not_explained() -> None:
    early = text("1F0; RECV F0.0 from=1", "0F0; SEND F0.0 to=0", stages=2, placement=[1, 0],
                 fragment=True, transport="rendezvous")  # fmt: skip
    (found,) = why(early, (0, 0))

    assert [each.rule for each in found.violations] == ["PP401"]
    assert [told.rules for told in found.explanations] == [()]


def test_a_place_at_which_nothing_is_asked_says_so() -> None:
    (found,) = why(text(*LEGAL, transport="rendezvous"), (0, 0))
    (told,) = found.explanations

    assert (told.rules, told.hops, told.at.operation) == ((), (), "0F0")


@pytest.mark.parametrize("place", [(0, 4), (2, 0), (10**8, 10**8)])
def test_a_place_that_is_none_is_refused(place: tuple[int, int]) -> None:
    with pytest.raises(UsageError, match=rf"r{place[0]}\.{place[1]} is no place; "):
        why(text(*LEGAL, transport="rendezvous"), place)


def test_only_rules_that_are_judged_are_explained() -> None:
    made = model(*LEGAL)

    assert explained(made, rules("PP301"), ()) == ()
    assert [told.rules for told in explained(made, rules("PP401", "PP403"), ())] == [
        *(("PP401",), ("PP403",))
    ]


def test_nothing_is_explained_where_nothing_is_asked() -> None:
    (found,) = judge_text(text(*CROSSED, transport="buffered", fragment=True), "made").transports

    assert found.explanations == ()


@pytest.mark.parametrize(("code", "left"), [("PP", []), ("PP401", ["PP403"])])
def test_what_is_not_judged_is_not_explained(
    monkeypatch: pytest.MonkeyPatch, code: str, left: list[str]
) -> None:
    monkeypatch.setattr("pipeproof.semantics.model.unjudged", lambda _: {code: "left out"})
    (found,) = why(text(*LEGAL, transport="rendezvous"))

    assert found.outcome.value == "unknown"
    assert [rule for told in found.explanations for rule in told.rules] == left


def test_an_order_by_credits_names_the_sends_that_wait_for_room() -> None:
    """Message t leaves once a or b has come, and b comes later: so a is there before USE."""
    programs = (
        "SEND a to=1; SEND b to=1; SEND t to=1; SIGNAL to=1",
        "RECV t from=0 h=y; RECV a from=0 h=x buf=q; AWAIT from=0; USE q a; RECV b from=0; WAIT x",
    )
    made = model(*programs, under=CREDITS, fragment=True)
    told = next(each for each in explained(made, rules(), ((1, 3),)) if "PP501" in each.rules)

    assert made.happens_before.credits
    assert [said(step) for step in told.sends] == ["drained t r0.2"]
    assert [hop for hop in hops(told) if "AWAIT" in hop.partition(" -> ")[2]]
    assert all(hop.needed for hop in told.hops if hop.needed is not None)


def events_of(made: Model) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for event in range(made.events):
        (step,) = trace(made, [event])
        found.setdefault(said(step), []).append(event)
    return found


def without(whole: Graph, guard: tuple[int, int]) -> Graph:
    kept = (whole.before != guard[0]) | (whole.after != guard[1])
    return whole._replace(before=whole.before[kept], after=whole.after[kept])


def is_ordered(made: Model, pair: tuple[int, int], guard: tuple[int, int] | None = None) -> bool:
    """Whether the explorer says so, of a model without one guard if it is given."""
    other = Model(made.frame.run, made.frame.transport, made.frame.waits)
    whole = made.happens_before
    left = whole if guard is None else without(whole, guard)
    other._graphs = dict.fromkeys(("both", "happens-before", "progress"), left)
    return Deciding(other, Spent(Budget()))._ordered({pair})[pair]


def test_of_every_wait_it_is_said_rightly_whether_the_order_rests_on_it() -> None:
    checked = {True: 0, False: 0}
    for made in (m for seed in range(120) for m in models((plain if seed % 2 else stored)(seed))):
        whole = made.happens_before
        if len(made.weak) or whole.size > made.events:
            continue
        number = events_of(made)
        for told in explained(made, rules(), ()):
            events = [(number[said(h.before)], number[said(h.after)]) for h in told.hops]
            if told.sends or any(len(a) != 1 or len(b) != 1 for a, b in events):
                continue  # two messages of one value
            guards = [(a[0], b[0]) for a, b in events]
            pair = guards[0][0], guards[-1][1]
            alone = np.asarray(guards)
            part = whole._replace(before=alone[:, 0], after=alone[:, 1])

            assert pair[0] in graph.Ancestors(part).of(np.asarray([pair[1]]))
            assert is_ordered(made, pair)
            for guard, hop in zip(guards, told.hops, strict=True):
                rest = graph.Ancestors(without(part, guard)).of(np.asarray([pair[1]]))
                assert pair[0] not in rest
                if hop.needed is not None:
                    checked[hop.needed] += 1
                    assert is_ordered(made, pair, guard) == (not hop.needed)
    assert checked[True] > 40
    assert checked[False] > 5


def test_of_choices_it_is_said_in_which_outcome_it_is_so() -> None:
    chosen = (
        "CHOOSE c a|b; 0F0; SEND F0.0 to=1; RECV B1.0 from=1; 0B0",
        "RECV F0.0 from=0; 1F0; USE s v if=c:b; 1B0; SEND B1.0 to=0",
    )
    spec = text(*chosen, fragment=True, transport="rendezvous")
    (alike,) = why(spec, (1, 1))
    (passed,) = why(spec, (1, 2))

    assert alike.outcomes == 2
    assert [(told.rules, told.where) for told in alike.explanations] == [(("PP401",), "")]
    assert [(told.rules, told.where) for told in passed.explanations] == [((), "c is b")]
