"""Whether a setting of the clocks makes a trace an execution."""

from itertools import product
from pathlib import Path
from random import Random

import numpy as np
import pytest

from pipeproof.api import models
from pipeproof.frontends import spec
from pipeproof.ir.reading import ReadOptions
from pipeproof.ir.recorded import Span
from pipeproof.ir.transport import NAMED
from pipeproof.semantics.model import Model
from tests.semantics.spans.made import US, earliest, jittered, judged, seen, shifted
from tests.timing.made import NAMES, known

ROOT = Path(__file__).parents[3]


CASES = [*((name, "gloo") for name in (*NAMES, "dualpipev")), ("zbv", "nccl-lazy")]


@pytest.mark.parametrize(("name", "transport"), CASES)
def test_executions_of_known_schedules_conform_however_time_goes_by(
    name: str, transport: str
) -> None:
    model = known(name, 3, 6, {"comm": "0.5"}, NAMED[transport])
    spans = jittered(earliest(model), 1)
    assert judged(model, spans, 0) == ([], [])
    off = shifted(10**6 * US, 1)(shifted(-(10**5) * US, 2)(spans))
    assert judged(model, off) == ([], [])
    assert judged(model, off, 2 * 10**6 * US) == ([], [])


def test_a_receive_alone_that_ends_before_its_send_begins_is_told() -> None:
    model = known("1f1b", 2, 1, transport=NAMED["rendezvous"])
    early = [
        s._replace(start=-90 * US, end=-80 * US) if s.name == "1RECV_F0" else s
        for s in earliest(model)
        if "SHARD" not in s.name
    ]
    (offence,) = judged(model, early, 0)[1]

    assert [span.name for span in offence.spans] == ["1RECV_F0", "0SEND_F0"]
    assert judged(known("1f1b", 2, 1), early, 0) == ([], [])


def test_a_receive_that_ends_before_its_send_begins_is_told_with_both() -> None:
    model = known("1f1b", 2, 2, transport=NAMED["rendezvous"])
    spans = shifted(-200 * US, 1)(earliest(model))
    (offence,) = judged(model, spans, 0)[1]

    assert [span.rank for span in offence.spans] == [1, 0]
    assert "which comes before it in every execution" in offence.why
    assert judged(model, spans) == ([], [])
    assert judged(model, spans, 200 * US) == ([], [])
    assert judged(model, spans, 150 * US)[1] != []


def test_what_no_setting_of_clocks_mends_is_told_without_comparing_them() -> None:
    """Rank 1 has its backward over before rank 0 sends what it needs, and answers in between."""
    model = known("1f1b", 2, 4)
    spans = [
        span._replace(start=span.start + 900 * US, end=span.end + 900 * US)
        if span.rank == 1
        and span.start >= next(s.start for s in earliest(model) if s.name == "1F3")
        else span
        for span in earliest(model)
    ]
    (offence,) = judged(model, spans)[1]

    assert "in every execution; no setting of the clocks of ranks makes both so" in offence.why
    assert len(offence.spans) == 4
    assert {span.rank for span in offence.spans} == {0, 1}


def test_an_operation_that_can_end_in_no_execution_is_told() -> None:
    text = (ROOT / "specs/illegal/crossed-sends.yaml").read_text()
    (document,) = spec.read(text, "crossed-sends.yaml", ReadOptions())
    copied, stuck = (models(document)(name, 1) for name in ("buffered", "rendezvous"))
    assert copied is not None
    assert stuck is not None
    spans = earliest(copied)

    assert judged(copied, spans, 0) == ([], [])
    (offence,) = judged(stuck, spans, 0)[1]
    assert "never ends in any execution" in offence.why
    assert offence.spans[0].name == "0SEND_F1"


def before_in_all(model: Model) -> list[tuple[int, int]]:
    """Every instruction that begins before another ends, in every execution."""
    graph = model.happens_before
    reach = np.zeros((graph.size, graph.size), np.bool_)
    reach[graph.before, graph.after] = True
    for middle in range(graph.size):
        reach |= np.outer(reach[:, middle], reach[middle])
    return [
        (n, k)
        for n, k in product(range(model.frame.instructions), repeat=2)
        if reach[2 * n, 2 * k + 1]
    ]


def has_offsets(
    pairs: list[tuple[int, int]], spans: list[Span], ranks: int, skew: int | None
) -> bool:
    """Whether there are offsets of clocks: every cause against every effect, and Floyd's paths."""
    least = [[-(10**30) if skew is None else -skew] * ranks for _ in range(ranks)]
    for n, k in pairs:
        cause, effect = spans[n], spans[k]
        needed = cause.start - effect.end
        least[cause.rank][effect.rank] = max(least[cause.rank][effect.rank], needed)
    for a, b, c in product(range(ranks), repeat=3):
        least[b][c] = max(least[b][c], least[b][a] + least[a][c])
    return all(least[rank][rank] <= 0 for rank in range(ranks))


@pytest.mark.parametrize("ranks", [2, 3])
def test_offsets_are_found_where_there_are_any(ranks: int) -> None:
    model = known("1f1b", ranks, 2)
    pairs, found = before_in_all(model), []
    for seed in range(30):
        random = Random(seed)
        spans = earliest(model)
        for rank in range(ranks):
            cut, by = random.randrange(20), random.choice((0, 0, 1, 5, 20)) * 10 * US
            own = [n for n, span in enumerate(spans) if span.rank == rank]
            for n in own[cut:]:
                span = spans[n]
                spans[n] = span._replace(start=span.start + by, end=span.end + by)
        for skew in (None, 0, 15 * US, 90 * US):
            expected = has_offsets(pairs, spans, ranks, skew)
            assert (judged(model, spans, skew)[1] == []) is expected, (seed, skew)
            found.append((skew, expected))

    assert {*found} == {(s, w) for s in (None, 0, 15 * US, 90 * US) for w in (True, False)}


def test_times_of_any_size_are_compared() -> None:
    model = known("1f1b", 2, 2)
    spans = shifted(10**25, 1)(earliest(model))

    assert judged(model, spans) == ([], [])
    assert judged(model, spans, 0)[1] != []


def test_several_steps_share_one_setting() -> None:
    model = known("1f1b", 2, 2)
    spans = [*earliest(model), *shifted(10**4 * US, 1)(earliest(model, 1))]

    assert judged(model, earliest(model) + earliest(model, 1), 0) == ([], [])
    assert judged(model, spans)[1] != []
    assert seen(model, spans).steps == 2


def test_what_was_not_recorded_still_orders() -> None:
    model = known("1f1b", 2, 2)
    computing = [span for span in earliest(model) if span.name[1:2] in "FB"]

    assert judged(model, computing, 0) == ([], [])
    early = [
        Span(1, s.name, s.start - 300 * US, s.end - 300 * US) if s.rank else s for s in computing
    ]
    assert "ends before 0F0 of rank 0 begins" in judged(model, early, 0)[1][0].why


def test_a_step_is_behind_what_the_steps_before_it_wait_for() -> None:
    """Rank 1 ends its second step before rank 0 begins what its first step had to wait for."""
    made = known("1f1b", 2, 1, transport=NAMED["rendezvous"])
    zero = [Span(0, "0F0", t * US, (t + 1) * US) for t in (50, 60)]
    zero += [Span(0, "0B0", t * US, (t + 1) * US) for t in (55, 65)]
    long = [Span(1, "1F0", 0, 52 * US), Span(1, "1B0", 52 * US, 53 * US)]
    late = [Span(1, "1F0", t * US, t * US) for t in (62,)] + [Span(1, "1B0", 63 * US, 64 * US)]
    early = [s._replace(start=10 * US, end=11 * US) for s in late]

    assert judged(made, [*zero, *long, *late], 0)[1] == []
    assert judged(made, [*zero, *long[:1], *late[:1], *long[1:], *late[1:]], 0)[1] == []
    (offence,) = judged(made, [*zero, *long, *early], 0)[1]
    assert "comes before it in every execution" in offence.why
