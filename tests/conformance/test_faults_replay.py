"""Executions in which a fault happens replay; those that were tampered with do not."""

from dataclasses import replace

import numpy as np
import pytest

from pipeproof.engines.graph import decide
from pipeproof.errors import ReplayMismatchError
from pipeproof.ir.transport import Transport, Wait
from pipeproof.lowering.faults import alternatives, faulted
from pipeproof.lowering.waits import write_in
from pipeproof.semantics.found import Spot
from pipeproof.semantics.model import Model
from pipeproof.semantics.policies import under_faults
from pipeproof.verdict.decision import Broken
from pipeproof.verdict.replay import check
from tests.semantics.made import BUFFERED, RENDEZVOUS, rules, run

PAIR = ("0F0; 0SEND_F0; 0RECV_B0; 0B0; 0STEP", "1RECV_F0; 1F0; 1B0; 1SEND_B0; 1STEP")


def struck(code: str, policy: str, under: Transport, **fault: object) -> tuple[Model, Broken]:
    """A model in which a fault happens, and what is broken of a rule."""
    plain = run(*PAIR, faults={"among": [fault], "policy": policy})
    told = faulted(plain, next(alternatives(plain)))
    made = Model(told, under, write_in(told, under.wait))
    broken = decide(made, under_faults(rules(code))).broken
    return made, broken[0]


def late() -> tuple[Model, Broken]:
    """A STEP of rank 1 that completes although rank 0 stops at 2."""
    return struck("PP706", "raise", BUFFERED, rank=0, fault="stops", at=2)


def left() -> tuple[Model, Broken]:
    """Rank 0 waits for ever for rank 1, which is missing."""
    return struck("PP301", "abort", RENDEZVOUS, rank=1, fault="missing")


def test_what_a_fault_brings_about_replays() -> None:
    for made, broken in (late(), left()):
        assert len(broken.trace)
        check(made, broken)


def test_a_step_must_come_behind_the_fault() -> None:
    made, broken = late()
    assert broken.finding.before is not None
    kept = [each for each in broken.trace.tolist() if each != broken.finding.before]
    without = broken._replace(trace=np.asarray(kept))
    unfinished = broken._replace(trace=broken.trace[:-1])
    other = broken._replace(finding=broken.finding._replace(before=made.frame.ends))

    for wrong in (without, unfinished, other):
        with pytest.raises(ReplayMismatchError):
            check(made, wrong)


def test_a_step_that_comes_before_the_fault_shows_nothing() -> None:
    made, broken = late()
    moment = int(broken.finding.before or 0)
    order = [each for each in broken.trace.tolist() if each != moment]

    with pytest.raises(ReplayMismatchError, match="does not show it"):
        check(made, broken._replace(trace=np.asarray([*order, moment])))


def test_a_rank_waits_for_ever_only_where_nothing_more_can_happen() -> None:
    made, broken = left()
    cut = broken._replace(trace=broken.trace[:-1], reached=False)

    with pytest.raises(ReplayMismatchError, match="can go on"):
        check(made, cut)


def test_a_rank_that_goes_on_does_not_wait() -> None:
    made, broken = left()
    (spot,) = broken.finding.spots
    elsewhere = broken.finding._replace(spots=(Spot(0, 0),))

    assert spot.row == 1
    with pytest.raises(ReplayMismatchError, match="does not show it"):
        check(made, broken._replace(finding=elsewhere))


def test_a_rank_that_stands_before_the_end_of_its_program_is_seen_there() -> None:
    plain = run(
        "RECV a from=1",
        "SEND a to=0",
        fragment=True,
        faults={"among": [{"rank": 1, "fault": "missing"}], "policy": "recover"},
    )
    told = faulted(plain, next(alternatives(plain)))
    waits = replace(RENDEZVOUS, wait=Wait.AT_USE)
    made = Model(told, waits, write_in(told, waits.wait))
    (broken,) = decide(made, under_faults(rules("PP301"))).broken

    check(made, broken)
    assert made.frame.place(broken.finding.spots[0]) == (0, 1)
