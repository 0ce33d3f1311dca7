"""Why an event comes before another: as few guards as can be, and none without need."""

from collections import deque
from collections.abc import Iterable

import numpy as np

from pipeproof.engines import graph
from pipeproof.engines.smt import Explanation, Limits, explain
from pipeproof.ir.operations import IntArray
from pipeproof.semantics.model import Graph
from tests.engines.stored import (
    CREDITS,
    HIDDEN,
    OUT_OF_ORDER,
    WEAK_C,
    credited,
    models,
    plain,
)
from tests.semantics.made import PASSED_ON, event, model


def test_a_path_explains_an_order_with_as_few_messages_as_can_be() -> None:
    explained = 0
    for made in (each for seed in range(30) for each in models(plain(seed, weak=False))):
        whole, chain = made.happens_before, made.frame.chain
        known = set(zip(whole.before.tolist(), whole.after.tolist(), strict=True))
        drawn = np.random.default_rng(made.events)
        for _ in range(15):
            before, after = (int(drawn.integers(0, made.frame.first_transfer)) for _ in range(2))
            found = explain(made, before, after)
            wanted = _crossings(whole, chain, before, after)
            if wanted is None or before == after:
                continue
            explained += 1

            assert found.ordered
            assert set(found.edges) <= known
            assert sum(not _on_one_program(chain, *edge) for edge in found.edges) == wanted
            assert before in _ancestors(whole, found.edges, after)
            for edge in found.edges:
                rest = [other for other in found.edges if other != edge]
                assert before not in _ancestors(whole, rest, after)
    assert explained > 100


def _ancestors(whole: Graph, edges: Iterable[tuple[int, int]], after: int) -> set[int]:
    pairs = np.asarray(list(edges), np.int64).reshape(-1, 2)
    part = whole._replace(before=pairs[:, 0], after=pairs[:, 1])
    found: list[int] = graph.Ancestors(part).of(np.asarray([after])).tolist()
    return set(found)


def _on_one_program(chain: IntArray, left: int, right: int) -> bool:
    return max(left, right) < len(chain) and bool(chain[left] == chain[right] >= 0)


def _crossings(whole: Graph, chain: IntArray, before: int, after: int) -> int | None:
    """How many guards between programs a path has at least; None without a path."""
    fewest = {before: 0}
    queue = deque([before])
    nexts: dict[int, list[int]] = {}
    for left, right in zip(whole.before.tolist(), whole.after.tolist(), strict=True):
        nexts.setdefault(left, []).append(right)
    while queue:
        event = queue.popleft()
        for each in nexts.get(event, ()):
            own = _on_one_program(chain, event, each)
            if each not in fewest or fewest[event] + (not own) < fewest[each]:
                fewest[each] = fewest[event] + (not own)
                (queue.appendleft if own else queue.append)(each)
    return fewest.get(after)


def test_an_order_by_thresholds_is_explained_by_guards_and_credits_that_are_all_needed() -> None:
    explained = 0
    for made in (each for seed in range(20) for each in models(credited(seed))):
        whole, frame = made.happens_before, made.frame
        for before in frame.arrived(np.arange(len(frame.pairing))).tolist():
            after = frame.ends
            found = explain(made, before, after)
            if not found.sends:
                continue
            explained += 1

            parts = [*found.edges, *((send, send) for send in found.sends)]
            assert after not in _happening(whole, parts, before)
            for each in parts:
                rest = [other for other in parts if other != each]
                assert after in _happening(whole, rest, before)
    assert explained > 2


def _happening(whole: Graph, parts: list[tuple[int, int]], forbidden: int) -> set[int]:
    """What happens without an event if only some guards, and credits of some sends, hold."""
    credited = {
        int(send): (credit.arrived[:n].tolist(), n - credit.capacity + 1)
        for credit in whole.credits
        for n, send in enumerate(credit.drained)
    }
    happening: set[int] = set()
    while True:
        more = {
            event
            for event in range(whole.size)
            if event not in happening | {forbidden}
            and not whole.never[event]
            and all(a in happening for a, b in parts if a != b and b == event)
            and (
                (event, event) not in parts
                or len(happening.intersection(credited[event][0])) >= credited[event][1]
            )
        }
        if not more:
            return happening
        happening |= more


def test_what_is_not_ordered_has_no_explanation() -> None:
    made = model(*PASSED_ON)
    tagged = model(*OUT_OF_ORDER, under=CREDITS)

    assert explain(made, 2, 0) == Explanation(ordered=False)
    assert explain(tagged, tagged.frame.arrived(np.asarray(0)).item(), 5).ordered is False


def test_an_event_comes_before_itself_for_no_reason() -> None:
    assert explain(model(*PASSED_ON), 2, 2) == Explanation(ordered=True)


def test_a_credit_that_an_order_rests_on_is_named() -> None:
    """Message t leaves once a or b has come, and a comes after b."""
    made = model(*OUT_OF_ORDER, under=CREDITS)
    frame = made.frame
    sent = frame.drained(np.asarray(2)).item()
    found = explain(made, frame.arrived(np.asarray(1)).item(), 5)

    assert event(frame, 5) == "done r0.2"
    assert [event(frame, each) for each in found.sends] == ["drained t"]
    assert (sent, 5) in found.edges
    assert {f"{event(frame, a)} -> {event(frame, b)}" for a, b in found.edges} == {
        *("arrived b -> done r1.0", "done r1.0 -> start r1.1", "start r1.1 -> done r1.1"),
        *("done r1.1 -> start r1.2", "start r1.2 -> arrived a", "drained t -> done r0.2"),
    }


def test_what_the_limits_or_weak_messages_leave_open_is_not_said() -> None:
    tagged = model(*OUT_OF_ORDER, under=CREDITS)
    hidden = model(*HIDDEN, under=WEAK_C, fragment=True)
    arrived = tagged.frame.arrived(np.asarray(1)).item()

    assert explain(tagged, arrived, 5, Limits(total=0)) == Explanation(ordered=None)
    assert explain(hidden, hidden.frame.arrived(np.asarray(0)).item(), 4).ordered is None
