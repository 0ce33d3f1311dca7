"""What a fault keeps from happening, and what breaks each policy."""

import numpy as np
import pytest

from pipeproof.engines.graph import furthest
from pipeproof.frontends import spec
from pipeproof.ir.reading import ReadOptions
from pipeproof.ir.transport import NAMED
from pipeproof.lowering.faults import alternatives, faulted
from pipeproof.lowering.outcomes import Name, chosen
from pipeproof.lowering.waits import write_in
from pipeproof.semantics.logic import Rel
from pipeproof.semantics.model import Model
from pipeproof.semantics.relations import faulty
from tests.semantics import made
from tests.semantics.made import places, run

FORWARD = "0F0; 0SEND_F0; 0RECV_B0; 0B0; 0STEP"
BACKWARD = "1RECV_F0; 1F0; 1B0; 1SEND_B0; 1STEP"
PAIR = (FORWARD, BACKWARD)
MISSING = {"rank": 1, "fault": "missing"}


def stops(rank: int, at: int) -> dict[str, object]:
    return {"rank": rank, "fault": "stops", "at": at}


def message(name: str, fault: str) -> dict[str, object]:
    return {"message": name, "fault": fault}


def struck(*programs: str, fault: dict[str, object], **keys: object) -> Model:
    """The model in which the fault happens, in the first way in which it can."""
    policy, under = keys.pop("policy", "raise"), keys.pop("under", "rendezvous")
    plain = run(*programs, faults={"among": [fault], "policy": policy}, **keys)
    told = faulted(plain, next(alternatives(plain)))
    transport = NAMED[str(under)]
    return Model(told, transport, write_in(told, transport.wait))


def never(model: Model) -> list[str]:
    edges = faulty.struck(model.frame)
    return made.events(model.frame, edges.never)


def late(model: Model) -> list[str]:
    """The STEPs that must not complete, each with the event that they must not follow."""
    frame, found = model.frame, faulty.late_steps(model.frame)
    before = [each.before for each in found.found]
    moments = ["the start" if e is None or e < 0 else made.event(frame, e) for e in before]
    return [f"{at} {moment}" for at, moment in zip(places(frame, found), moments, strict=True)]


def diverged(model: Model) -> list[str]:
    return places(model.frame, model.ending(Rel("diverged"), furthest(model)))


def waiting(model: Model) -> list[str]:
    return places(model.frame, model.ending(Rel("waiting"), furthest(model)))


@pytest.mark.parametrize(
    ("fault", "kept"),
    [
        (MISSING, ["start r1.0"]),
        (stops(0, 0), ["start r0.0"]),
        (stops(0, 3), ["start r0.3"]),
        (stops(0, 5), []),
        (message("F0.0", "dropped"), ["arrived F0.0"]),
        (message("F0.0", "delayed"), []),
        (message("F0.0", "corrupted"), []),
        (message("F0.0", "duplicated"), []),
        ({"op": "1F0", "fault": "delayed"}, []),
    ],
)
def test_a_fault_keeps_back_what_it_says(fault: dict[str, object], kept: list[str]) -> None:
    assert never(struck(*PAIR, fault=fault)) == kept


def test_where_nothing_goes_wrong_nothing_is_kept_back_and_nothing_told() -> None:
    plain = made.model(*PAIR)
    happened = furthest(plain)

    assert len(faulty.struck(plain.frame).pairs) == len(faulty.struck(plain.frame).never) == 0
    assert faulty.late_steps(plain.frame).found == ()
    assert faulty.diverged(plain.frame, happened).found == ()
    assert faulty.waiting(plain.frame, happened).found == ()
    assert not faulty.occurs(plain.frame)


def test_a_rank_without_instructions_can_be_missing() -> None:
    model = struck("0F0; 0STEP", "", fault=MISSING, fragment=True, stages=2)

    assert never(model) == []
    assert late(model) == ["r0.1 the start"]


def test_a_stop_counts_positions_as_written() -> None:
    programs = ("0F0; CHOOSE q a|b; 0F0 if=q:b; SIGNAL to=1; 0B0", "AWAIT from=0")
    model = struck(*programs, fault=stops(0, 3), fragment=True)

    assert never(model) == ["start r0.3"]


def test_in_the_second_copy_a_rank_stops_there() -> None:
    plain = run(*PAIR, faults={"among": [stops(0, 3)]}, steps="any", copies=2)
    second = list(alternatives(plain))[1]
    told = faulted(plain, second)
    model = Model(told, NAMED["rendezvous"], write_in(told, NAMED["rendezvous"].wait))

    assert never(model) == ["start r0.8"]


# the copy of a message


def taken(model: Model) -> list[tuple[str, str]]:
    """Which receive takes which message, as places."""
    frame = model.frame
    pairs = zip(frame.pairing.send.tolist(), frame.pairing.receive.tolist(), strict=True)
    spell = {row: f"r{frame.ops.rank[row]}.{frame.position(row)}" for row in range(len(frame.ops))}
    return [(spell.get(send, "-"), spell.get(receive, "-")) for send, receive in pairs]


def test_the_next_receive_takes_the_copy_and_the_others_move_up() -> None:
    programs = ("SEND a to=1; SEND b to=1", "RECV a from=0; RECV b from=0")
    model = struck(*programs, fault=message("a", "duplicated"), fragment=True)

    assert taken(model) == [("r0.0", "r1.0"), ("r0.0", "r1.1"), ("r0.1", "-")]
    copy = int(model.frame.drained(np.asarray(1)))
    edges = faulty.struck(model.frame)
    assert edges.pairs.tolist() == [[int(model.frame.drained(np.asarray(0))), copy]]


def test_nobody_takes_the_copy_of_a_last_message() -> None:
    programs = ("SEND a to=1; SEND b to=1", "RECV a from=0; RECV b from=0")
    model = struck(*programs, fault=message("b", "duplicated"), fragment=True)

    assert taken(model) == [("r0.0", "r1.0"), ("r0.1", "r1.1")]


def test_by_tag_a_copy_is_only_taken_by_a_receive_of_its_value() -> None:
    tag = {"completion": "rendezvous", "match": "tag"}
    programs = (
        "SEND a to=1; SEND b to=1; SEND a to=1",
        "RECV a from=0; RECV b from=0; RECV a from=0",
    )
    plain = run(*programs, faults={"among": [message("a", "duplicated")]}, fragment=True)
    text = made.text(*programs, transport=tag, fragment=True)
    transport = spec.read(text, "made", ReadOptions())[0].schedule.transports[0]
    told = faulted(plain, next(alternatives(plain)))
    model = Model(told, transport, write_in(told, transport.wait))

    assert taken(model) == [
        ("r0.0", "r1.0"),
        ("r0.0", "r1.2"),
        ("r0.1", "r1.1"),
        ("r0.2", "-"),
    ]


def test_a_copy_takes_no_room_in_its_channel() -> None:
    programs = ("SEND a to=1; SEND b to=1; SEND c to=1", "RECV a from=0; RECV b from=0")
    model = struck(*programs, fault=message("a", "duplicated"), fragment=True, under="buffered-1")
    happened = furthest(model)

    assert happened[int(model.frame.start(np.asarray(2)))]
    assert taken(model)[:2] == [("r0.0", "r1.0"), ("r0.0", "r1.1")]


def test_a_copy_does_not_bind_the_group_of_its_sender() -> None:
    programs = (
        "SEND a to=1; SEND b to=1",
        "RECV a from=0; [RECV b from=0 | RECV z from=2]",
        "SEND z to=1",
    )
    under = "rendezvous-atomic"
    model = struck(*programs, fault=message("a", "duplicated"), fragment=True, under=under)
    happened = furthest(model)

    assert happened[int(model.frame.done(np.asarray(0)))]
    assert happened[int(model.frame.done(np.asarray(4)))]


# STEPs that should not be


@pytest.mark.parametrize(
    ("fault", "found"),
    [
        (MISSING, ["r0.4 the start", "r1.4 the start"]),
        (stops(0, 2), ["r0.4 done r0.1", "r1.4 done r0.1"]),
        (stops(1, 5), ["r0.4 done r1.4", "r1.4 done r1.4"]),
        (message("F0.0", "dropped"), ["r0.4 drained F0.0", "r1.4 drained F0.0"]),
        (message("B1.0", "corrupted"), ["r0.4 drained B1.0", "r1.4 drained B1.0"]),
        ({"op": "1F0", "fault": "delayed"}, ["r0.4 start r1.1", "r1.4 start r1.1"]),
    ],
)
@pytest.mark.parametrize("policy", ["raise", "abort"])
def test_no_step_completes_after_a_fault(
    fault: dict[str, object], found: list[str], policy: str
) -> None:
    assert late(struck(*PAIR, fault=fault, policy=policy)) == found


def test_a_step_that_is_withdrawn_or_left_out_is_none() -> None:
    programs = ("0F0; 0B0; 0STEP; 0ROLLBACK; 0F0; 0SKIP",)
    weights = {"policy": "speculative"}

    assert late(struck(*programs, fault=stops(0, 0), weights=weights)) == []


@pytest.mark.parametrize(
    ("name", "found"),
    [("F0.0", ["r0.4", "r1.4"]), ("B1.0", ["r0.4"])],
)
def test_to_recover_no_step_rests_on_a_corrupted_message(name: str, found: list[str]) -> None:
    model = struck(*PAIR, fault=message(name, "corrupted"), policy="recover")

    assert late(model) == [f"{each} the start" for each in found]


# where ranks stand


@pytest.mark.parametrize(
    ("fault", "under", "found"),
    [
        (MISSING, "rendezvous", []),
        (MISSING, "buffered", []),
        (MISSING, "gloo", []),
        (MISSING, "nccl-first", []),
        (stops(0, 2), "rendezvous", []),
        (message("F0.0", "dropped"), "rendezvous", ["r0.2"]),
        (message("F0.0", "dropped"), "gloo", ["r0.3"]),
        (message("B1.0", "dropped"), "rendezvous", []),
        (message("F0.0", "delayed"), "rendezvous", []),
    ],
)
def test_a_rank_that_stands_names_the_fault(
    fault: dict[str, object], under: str, found: list[str]
) -> None:
    assert diverged(struck(*PAIR, fault=fault, under=under)) == found


THREE = ("SEND a to=1", "RECV a from=0; SEND b to=2", "RECV b from=1")


def test_who_waits_for_one_that_waits_does_not_name_the_fault() -> None:
    assert diverged(struck(*THREE, fault=stops(0, 0), fragment=True)) == ["r2.0"]


@pytest.mark.parametrize(
    ("program", "named"),
    [
        ("RECV a from=1", "names it"),
        ("RECV a from=1 h=x; WAIT x", "names it"),
        ("AWAIT from=1", "names it"),
        ("COLL c ranks=0,1,2", "names it"),
        ("COLL c ranks=0,1,2 h=x; WAIT x", "names it"),
        ("[RECV a from=1 | SEND z to=2]", "names it"),
        ("0TIE ranks=0,1", "names it"),
        ("COLL d ranks=0,2", "does not"),
        ("AWAIT from=2", "does not"),
        ("RECV b from=2", "does not"),
        ("RECV a from=1 h=x; RECV b from=2 h=y; WAIT y", "does not"),
    ],
)
def test_what_it_waits_for_must_have_to_do_with_the_fault(program: str, named: str) -> None:
    others = ("SEND a to=0; SIGNAL to=0; COLL c ranks=0,1,2; SIGNAL to=2", "AWAIT from=1")
    model = struck(program, *others, fault=MISSING, fragment=True)
    stuck = [each for each in diverged(model) if each.startswith("r0")]

    assert bool(stuck) == (named == "does not")


def test_what_has_come_already_is_not_waited_for() -> None:
    programs = (
        "RECV a from=1 h=x; RECV b from=2 h=x; WAIT x",
        "SEND a to=0; SEND c to=2",
        "RECV d from=1; SEND b to=0",
    )
    at = "r0.2"

    assert at in diverged(struck(*programs, fault=stops(1, 1), fragment=True, under="buffered"))
    assert at not in diverged(struck(*programs, fault=stops(1, 0), fragment=True))


def test_a_rank_that_stands_before_the_end_of_its_program_is_told_there() -> None:
    programs = ("SEND a to=1; 0F0", "RECV b from=2; RECV a from=0", "SEND b to=1")
    model = struck(*programs, fault=stops(2, 0), fragment=True, under="nccl-eager")

    assert diverged(model) == ["r0.2"]


@pytest.mark.parametrize("policy", ["abort", "recover"])
def test_whoever_waits_for_ever_is_told_once(policy: str) -> None:
    model = struck(*THREE, fault=stops(0, 0), fragment=True, policy=policy)

    assert waiting(model) == ["r1.0", "r2.0"]


@pytest.mark.parametrize("policy", ["abort", "recover"])
def test_the_rank_of_the_fault_may_wait(policy: str) -> None:
    programs = ("RECV a from=1; SIGNAL to=1", "AWAIT from=0; SEND a to=0")
    model = struck(*programs, fault=stops(0, 1), fragment=True, policy=policy)

    assert waiting(model) == ["r1.0"]


def test_to_raise_nobody_is_said_to_wait() -> None:
    assert waiting(struck(*PAIR, fault=MISSING)) == []


# STEPs that complete on some ranks only


def test_to_abort_all_stages_step_or_none() -> None:
    half = struck(*PAIR, fault=stops(0, 2), policy="abort", under="buffered")
    none = struck(*PAIR, fault=MISSING, policy="abort")

    assert diverged(half) == ["r0.4 r1.4"]
    assert diverged(none) == []


def test_to_recover_every_step_completes() -> None:
    half = struck(*PAIR, fault=stops(0, 2), policy="recover", under="buffered")
    after = struck(*PAIR, fault=stops(0, 5), policy="recover", under="buffered")

    assert diverged(half) == ["r0.4"]
    assert diverged(after) == []


def test_a_fault_of_what_is_passed_over_does_not_occur() -> None:
    programs = ("CHOOSE q a|b; 0F0 if=q:a",)
    model = struck(*programs, fault={"op": "0F0", "fault": "delayed"}, fragment=True)
    told = model.frame.run

    for outcome, occurs in (("a", True), ("b", False)):
        settled = chosen(told, {Name(0, "q"): outcome})
        transport = NAMED["rendezvous"]
        frame = Model(settled, transport, write_in(settled, transport.wait)).frame
        assert faulty.occurs(frame) is occurs
