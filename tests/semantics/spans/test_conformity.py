"""Whether a trace is an execution, over all transports, and what is said where that is open."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from pipeproof.api import models, transports_of
from pipeproof.execution.orders import Events, Style, extended
from pipeproof.frontends import spec
from pipeproof.ir.reading import ReadOptions
from pipeproof.ir.recorded import Recorded, Span
from pipeproof.ir.transport import NAMED
from pipeproof.schedules import generate
from pipeproof.semantics.model import Model
from pipeproof.semantics.spans.conformity import Asked, Conformity, conformity
from tests.semantics.spans.made import US, earliest, shifted, swapped, without
from tests.timing.made import known

ROOT = Path(__file__).parents[3]
MODEL = known("1f1b", 2, 4)
SHARED = Recorded(tuple(earliest(MODEL)), together=True)


def judged(
    recorded: Recorded, *models: Model, skew: int | None = None, partial: bool = False
) -> Conformity:
    return conformity(recorded, models or (MODEL,), Asked(skew, partial=partial))


def shipped(name: str) -> Iterator[Model]:
    """The schedule of a legal spec under each of its transports."""
    text = (ROOT / "specs/legal" / f"{name}.yaml").read_text()
    (document,) = spec.read(text, name, ReadOptions(generate=generate))
    for transport in transports_of(document):
        model = models(document)(transport.name, 1)
        assert model is not None
        yield model


def executed(model: Model, seed: int) -> list[Span]:
    """An execution, one event after the other in an order that is drawn."""
    random, now, at = Random(seed), 0, {}
    events = Events(model.events, model.frame.first_transfer)
    style = list(Style)[seed % len(Style)]
    for event in extended(model.happens_before, events, style=style, seed=seed):
        at[event], now = now, now + random.randrange(5) * US
    frame = model.frame
    return [
        Span(int(frame.instruction_rank[i]), frame.instruction_text(i), at[2 * i], at[2 * i + 1])
        for i in range(frame.instructions)
    ]


SHIPPED = (
    *("1f1b-4x8", "crossed-sends-fixed", "collective-against-message-fixed"),
    *("metadata-sent-both-ways-fixed", "channels-last-into-first-fixed"),
)


@pytest.mark.parametrize("name", SHIPPED)
def test_any_execution_conforms_and_none_in_which_two_spans_are_swapped(name: str) -> None:
    for model in shipped(name):
        for seed in range(2):
            spans, random = executed(model, seed), Random(seed)
            drift = [
                s._replace(start=s.start + 9**9 * s.rank, end=s.end + 9**9 * s.rank) for s in spans
            ]
            one = Recorded(tuple(spans), together=True)
            assert judged(one, model).verdict == "conforms"
            assert judged(Recorded(tuple(drift)), model).verdict == "conforms"
            rank = random.randrange(model.frame.ranks)
            own = [n for n, span in enumerate(spans) if span.rank == rank]
            a, b = (random.choice(own) for _ in range(2))
            if spans[a].name != spans[b].name and spans[a].start != spans[b].start:
                names = {a: spans[b].name, b: spans[a].name}
                wrong = [s._replace(name=names.get(n, s.name)) for n, s in enumerate(spans)]
                assert judged(Recorded(tuple(wrong)), model).verdict == "refuted"


def codes(found: Conformity) -> dict[str, list[str]]:
    return {name: [each.rule.code for each in broken] for name, broken in found.broken.items()}


def changed(spans: list[Span], recorded: Recorded = SHARED) -> Recorded:
    return replace(recorded, spans=tuple(spans))


def test_an_execution_conforms() -> None:
    found = judged(SHARED)

    assert (found.verdict, found.under, codes(found)) == ("conforms", ("free",), {"free": []})
    assert found.comparable
    assert found.notes == ("all ranks were recorded by one clock",)


def test_one_transport_to_which_it_conforms_is_enough() -> None:
    strict = known("1f1b", 2, 1, transport=NAMED["rendezvous"])
    loose = known("1f1b", 2, 1, transport=NAMED["gloo"])
    spans = [
        s._replace(start=-90 * US, end=-80 * US) if s.name == "1RECV_F0" else s
        for s in earliest(strict)
        if "SHARD" not in s.name
    ]
    both = judged(changed(spans), strict, loose)

    assert (both.verdict, both.under) == ("conforms", ("gloo",))
    assert codes(both) == {"rendezvous": ["PP903"], "gloo": []}
    assert judged(changed(spans), strict).verdict == "refuted"


def test_what_is_wrong_first_comes_first() -> None:
    spans = swapped(1, "1F1", "1B0")(earliest(MODEL))
    late = [s._replace(end=s.end + 300 * US) if s.name == "0B3" else s for s in spans]
    found = judged(changed(without(0, "0F0")(late)))

    assert found.verdict == "refuted"
    befores = [each.offence.before for each in found.broken["free"]]
    assert befores == sorted(befores)
    assert {*codes(found)["free"]} == {"PP903"}
    assert found.broken["free"][0].offence.why.startswith("0F0 of rank 0 is missing")


def test_two_rules_are_told_beside_each_other() -> None:
    spans = [
        s._replace(end=s.end + 12 * US) if s.name == "0F0" else s
        for s in swapped(1, "1F1", "1B0")(earliest(MODEL))
    ]

    assert codes(judged(changed(spans)))["free"] == ["PP901", "PP903"]


def test_a_trace_without_an_operation_is_nothing_to_check() -> None:
    assert judged(changed([])).verdict == "nothing"


def test_a_rank_that_was_not_recorded_leaves_it_open() -> None:
    found = judged(changed([span for span in SHARED.spans if span.rank]))

    assert (found.verdict, found.unknown) == ("unknown", ("the trace holds nothing of rank 0",))


def test_a_part_of_a_step_leaves_it_open_and_a_hole_in_it_does_not() -> None:
    cut = [span for span in SHARED.spans if span.start >= 30 * US]

    assert judged(changed(cut)).verdict == "refuted"
    assert judged(changed(cut), partial=True).verdict == "unknown"
    hole = without(1, "1B2")(cut)
    assert judged(changed(hole), partial=True).verdict == "refuted"


def test_clocks_that_nobody_compared_are_said_to_be_so() -> None:
    apart = replace(SHARED, together=False, spans=tuple(shifted(7**9 * US, 1)(earliest(MODEL))))
    found = judged(apart)

    assert found.verdict == "conforms"
    assert not found.comparable
    assert "clocks of ranks are not taken as comparable" in found.notes[0]
    assert judged(apart, skew=0).verdict == "refuted"
    near = judged(SHARED, skew=3 * US)
    assert near.notes == (
        "clocks of ranks differ by 3 us at most, and times of all ranks together by as much",
    )


def test_numbers_of_steps_and_spans_of_a_host_are_not_compared_across_ranks() -> None:
    early = shifted(-900 * US, 1)(earliest(MODEL))
    for recorded, said in (
        (replace(SHARED, counted=True), "times are numbers of steps"),
        (replace(SHARED, asynchronous=True), "not comparable across ranks: an accelerator"),
    ):
        found = judged(changed(early, recorded))
        assert found.verdict == "conforms"
        assert said in found.notes[0]
        wrong = swapped(0, "0F1", "0F2")(early)
        assert judged(changed(wrong, recorded)).verdict == "refuted"
    assert judged(changed(early)).verdict == "refuted"


@pytest.mark.parametrize(("unit", "codes_"), [(10, []), (11, ["PP902"])])
def test_a_step_that_is_over_before_costs_allow_is_told_where_units_are_given(
    unit: int, codes_: list[str]
) -> None:
    found = conformity(SHARED, [MODEL], Asked(unit=unit * US))

    assert [rule for rule in codes(found)["free"] if rule == "PP902"] == codes_[:1]
    assert found.verdict == ("refuted" if codes_ else "conforms")


def test_without_one_clock_a_rank_alone_may_be_too_fast() -> None:
    apart = replace(SHARED, together=False)

    assert conformity(apart, [MODEL], Asked(unit=10 * US)).verdict == "conforms"
    (first,) = conformity(apart, [MODEL], Asked(unit=11 * US)).broken["free"]
    assert first.rule.code == "PP902"
    assert "rank 1 computes for 132 us at least by the costs" in first.offence.why


def test_operations_that_stand_in_no_program_are_no_execution() -> None:
    for span in (Span(0, "7F7", 0, US), Span(9, "0F0", 0, US)):
        for partial in (False, True):
            found = judged(changed([span]), partial=partial)
            assert found.verdict == "refuted"
            assert codes(found)["free"] == ["PP903"]
    one = [*(s for s in SHARED.spans if not s.rank), Span(1, "7F7", 0, US)]
    assert judged(changed(one)).verdict == "refuted"


def test_an_accelerator_that_shows_less_than_the_host_leaves_it_open() -> None:
    host = [*SHARED.spans]
    device = [s._replace(device=True) for s in host if s.name[1:2] in "FB"]

    assert judged(changed([*host, *device])).verdict == "conforms"
    found = judged(changed([*host, *device[1:]]))
    assert found.verdict == "unknown"
    assert "the accelerator's spans of rank 0 do not hold all of 0F0" in found.unknown


def test_two_computations_in_one_step_of_a_dump_are_told() -> None:
    at_once = [s._replace(start=0, end=US) for s in SHARED.spans]

    assert "PP901" in codes(judged(changed(at_once, replace(SHARED, counted=True))))["free"]
