"""Every outcome of a choice is found, and no other: against a search of all interleavings."""

import dataclasses
import random
from collections.abc import Iterator

import pytest

from pipeproof.api import judge_text
from pipeproof.engines import graph
from pipeproof.ir.transport import NAMED, Match
from pipeproof.lowering.waits import write_in
from pipeproof.proofs.outcomes import TooManyError, outcomes
from pipeproof.semantics.model import Model
from pipeproof.verdict.verdict import Outcome
from tests.semantics.made import run, text

Program = list[tuple[str, int]]  # ("send", to) or ("recv", from); -1 is whichever rank
Ends = frozenset[tuple[int, ...]]


def written(programs: list[Program]) -> list[str]:
    lines = []
    for rank, program in enumerate(programs):
        words = []
        for number, (what, peer) in enumerate(program):
            if what == "send":
                words.append(f"SEND v{rank}_{number} to={peer}")
            else:
                words.append(f"RECV any from={'any' if peer < 0 else peer}")
        lines.append("; ".join(words))
    return lines


def ends_by_search(programs: list[Program], *, together: bool) -> Ends:
    """How far each rank is where nothing more can happen, over all interleavings.

    `together`: a send ends with its receive; else it never waits.
    """
    start = (tuple(0 for _ in programs), frozenset[tuple[int, int, int]]())
    todo, seen, ends = [start], {start}, set[tuple[int, ...]]()
    while todo:
        state = todo.pop()
        steps = list(_steps(programs, *state, together=together))
        if not steps:
            ends.add(state[0])
        for each in steps:
            if each not in seen:
                seen.add(each)
                todo.append(each)
    return frozenset(ends)


def _steps(
    programs: list[Program],
    at: tuple[int, ...],
    flying: frozenset[tuple[int, int, int]],
    *,
    together: bool,
) -> Iterator[tuple[tuple[int, ...], frozenset[tuple[int, int, int]]]]:
    def on(*ranks: int) -> tuple[int, ...]:
        return tuple(n + ranks.count(rank) for rank, n in enumerate(at))

    standing = [
        program[n] if n < len(program) else None for program, n in zip(programs, at, strict=True)
    ]
    for rank, here in enumerate(standing):
        if here is None:
            continue
        what, peer = here
        if what == "send" and not together:
            yield on(rank), flying | {(rank, peer, at[rank])}
        elif what == "recv":
            for source in range(len(programs)) if peer < 0 else [peer]:
                if together:
                    if source != rank and standing[source] == ("send", rank):
                        yield on(rank, source), flying
                    continue
                mine = sorted(each for each in flying if each[:2] == (source, rank))
                if mine:
                    yield on(rank), flying - {mine[0]}


def ends_by_outcomes(programs: list[Program], name: str) -> Ends:
    made = run(*written(programs), fragment=True)
    ends = set()
    for each in outcomes(made, NAMED[name], graph.furthest, 10_000):
        model = Model(each.run, NAMED[name], write_in(each.run, NAMED[name].wait))
        happened = graph.furthest(model)
        done = happened[1 : model.frame.ends : 2]
        ranks = model.frame.instruction_rank
        ends.add(tuple(int(done[ranks == rank].sum()) for rank in range(len(programs))))
    return frozenset(ends)


def drawn(seed: int) -> list[Program]:
    rng = random.Random(seed)
    ranks = rng.randint(2, 3)
    programs: list[Program] = [[] for _ in range(ranks)]
    for _ in range(rng.randint(2, 5)):
        source, target = rng.sample(range(ranks), 2)
        programs[source].append(("send", target))
        programs[target].append(("recv", -1 if rng.random() < 0.6 else source))
    for program in programs:
        if rng.random() < 0.4:
            rng.shuffle(program)
    return programs


@pytest.mark.parametrize("name", ["rendezvous", "buffered"])
def test_ranks_end_where_a_search_of_all_interleavings_ends(name: str) -> None:
    several = 0
    for seed in range(250):
        programs = drawn(seed)
        wanted = ends_by_search(programs, together=name == "rendezvous")
        several += len(wanted) > 1

        assert ends_by_outcomes(programs, name) == wanted, (seed, programs)
    assert several > 10


def test_each_outcome_comes_once_and_says_what_was_chosen() -> None:
    made = run("RECV v from=any; RECV v from=any", "SEND v to=0", "SEND v to=0", fragment=True)
    found = [each.label for each in outcomes(made, NAMED["buffered"], graph.furthest, 10)]

    assert sorted(found) == [
        "RECV v from=any takes from rank 1, RECV v from=any takes from rank 2",
        "RECV v from=any takes from rank 2, RECV v from=any takes from rank 1",
    ]


def test_more_outcomes_than_are_looked_through_are_no_proof() -> None:
    made = run("CHOOSE p a|b; CHOOSE q a|b", "")

    with pytest.raises(TooManyError):
        list(outcomes(made, NAMED["buffered"], graph.furthest, 3))


def test_every_outcome_must_be_legal() -> None:
    program = "CHOOSE q ok|bad; 0F0; 0B0 if=q:ok; 0STEP"
    verdict = judge_text(text(program, transport="rendezvous"), "made")
    (transport,) = verdict.transports

    assert verdict.outcome is Outcome.REFUTED
    assert transport.outcomes == 2
    assert all("(where q is bad)" in each.message for each in transport.violations)


def test_a_schedule_that_is_legal_in_every_outcome_is_proved() -> None:
    program = "CHOOSE q step|skip; 0F0; 0B0; 0STEP if=q:step; 0SKIP if=q:skip"
    verdict = judge_text(text(program, transport="rendezvous"), "made")

    assert verdict.outcome is Outcome.PROVED


def test_ranks_that_take_another_outcome_diverge() -> None:
    first = "CHOOSE q step|skip; 0F0; 0SEND_F0; 0RECV_B0; 0B0; 0STEP if=q:step; 0SKIP if=q:skip"
    second = "1RECV_F0; 1F0; 1B0; 1SEND_B0; 1STEP"
    verdict = judge_text(text(first, second, transport="rendezvous"), "made")

    assert verdict.first_rule == "PP106"


def test_a_receive_of_whichever_rank_may_be_given_the_wrong_message() -> None:
    programs = ("RECV a from=any; RECV b from=1", "SEND b to=0", "SEND a to=0")
    verdict = judge_text(text(*programs, fragment=True, transport="buffered"), "made")

    assert verdict.outcome is Outcome.REFUTED
    assert {each.rule for each in verdict.transports[0].violations} >= {"PP201", "PP202"}


def test_a_receive_that_accepts_any_content_takes_what_comes() -> None:
    programs = ("RECV a from=any v=any; RECV b from=any v=any", "SEND b to=0", "SEND a to=0")
    verdict = judge_text(text(*programs, fragment=True, transport="buffered"), "made")

    assert verdict.outcome is Outcome.PROVED


@pytest.mark.parametrize(("slots", "outcome"), [(1, "refuted"), (2, "proved"), (3, "proved")])
def test_slots_that_are_handed_out_run_out_or_do_not(slots: int, outcome: str) -> None:
    program = "0F0; 0F1; 0B1; 0F3; 0B3; 0B0; 0F2; 0B2"
    pool = {"stash": {"slots": slots, "take": "any"}}
    keys: dict[str, object] = {"microbatches": 4, "storage": pool, "transport": "rendezvous"}
    verdict = judge_text(text(program, **keys), "made")

    assert verdict.verdict == outcome
    assert verdict.first_rule == ("PP301" if outcome == "refuted" else None)


def test_a_slot_that_is_never_given_back_is_waited_for_until_the_end() -> None:
    pool = {"stash": {"slots": 1, "take": "any"}}
    keys: dict[str, object] = {"microbatches": 2, "storage": pool, "transport": "rendezvous"}
    verdict = judge_text(text("0F0; 0F1", fragment=True, **keys), "made")

    assert verdict.first_rule == "PP301"
    assert (
        "waits for a slot that nobody is yet to leave"
        in verdict.transports[0].violations[0].message
    )


def taken_by_search(sends: str, receives: str) -> set[tuple[int | None, ...]]:
    """What each receive (`a`, `b` or `?` for any content) takes, in every order of posts.

    Sends are posted in order, and receives are. A message that is posted goes to the first receive
    that waits for it; a receive that is posted takes the oldest message that it may.
    """
    nothing: tuple[int | None, ...] = (None,) * len(receives)
    todo, ends = [(0, nothing, 0)], set[tuple[int | None, ...]]()
    while todo:
        sent, taken, posted = todo.pop()
        if sent == len(sends) and posted == len(receives):
            ends.add(taken)
        if sent < len(sends):
            fits = (k for k in range(posted) if taken[k] is None)
            first = next((k for k in fits if receives[k] in ("?", sends[sent])), None)
            todo.append((sent + 1, _taking(taken, first, sent), posted))
        if posted < len(receives):
            there = (m for m in range(sent) if m not in taken)
            oldest = next((m for m in there if receives[posted] in ("?", sends[m])), None)
            own = None if oldest is None else posted
            todo.append((sent, _taking(taken, own, oldest), posted + 1))
    return ends


def _taking(
    taken: tuple[int | None, ...], receive: int | None, message: int | None
) -> tuple[int | None, ...]:
    if receive is None:
        return taken
    return (*taken[:receive], message, *taken[receive + 1 :])


def test_by_tag_any_content_is_what_every_order_of_posts_gives() -> None:
    transport = dataclasses.replace(NAMED["buffered"], match=Match.TAG)
    rng, open_ = random.Random(5), 0
    for _ in range(150):
        sends = "".join(rng.choices("ab", k=rng.randint(1, 4)))
        receives = "".join(rng.choices("ab?", k=rng.randint(1, 4)))
        (taken,) = taken_by_search(sends, receives)
        posts = "; ".join(f"RECV {'any' if each == '?' else each} from=0 h=x" for each in receives)
        made = run("; ".join(f"SEND {each} to=1" for each in sends), posts, fragment=True)
        (outcome,) = outcomes(made, transport, graph.furthest, 10)
        pairing = Model(outcome.run, transport, write_in(outcome.run, transport.wait)).frame.pairing
        found = pairing.send[pairing.of_row[len(sends) :]].tolist()

        assert [None if each < 0 else each for each in found] == list(taken), (sends, receives)
        open_ += "?" in receives and sends[: len(receives)] != receives
    assert open_ > 50


def test_by_tag_a_receive_of_any_content_is_judged() -> None:
    tag = {"completion": "buffered", "match": "tag"}
    programs = ("SEND a to=1; SEND b to=1", "RECV any from=0; RECV b from=0")
    lost = ("SEND b to=1; SEND a to=1", "RECV any from=0; RECV b from=0")

    assert judge_text(text(*programs, fragment=True, transport=tag), "made").verdict == "proved"
    assert judge_text(text(*lost, fragment=True, transport=tag), "made").first_rule == "PP201"


def test_by_tag_a_receive_of_whichever_rank_is_open() -> None:
    tag = {"completion": "buffered", "match": "tag"}
    programs = ("RECV a from=any", "SEND a to=0")

    assert judge_text(text(*programs, fragment=True, transport=tag), "made").verdict == "unknown"
