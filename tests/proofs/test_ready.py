"""Ready ranks: the orders found, and the verdicts, against a machine that takes every step."""

import pytest

from pipeproof.api import judge_text
from pipeproof.engines import graph
from pipeproof.frontends import spec
from pipeproof.ir.reading import ReadOptions
from pipeproof.ir.transport import Transport
from pipeproof.lowering.lower import lower
from pipeproof.proofs import _ready_picks
from pipeproof.proofs.ready import TooManyError, orders
from tests.cli.made import ROOT
from tests.proofs.ready_machine import Late, Machine, Rank
from tests.proofs.ready_programs import Case, drawn


def found(case: Case, most: int = 4096) -> list[tuple[list[tuple[int, ...]], bool]]:
    """For each order the positions that the ready ranks ran, and whether some rank is stuck."""
    document = spec.read(case.text, "made", ReadOptions())[0]
    run = lower(document.schedule)
    (transport,) = document.schedule.transports
    said = []
    for each in orders(run, transport, graph.furthest, most):
        ops, first = each.run.operations, each.run.operations.first_row
        assert each.run.ready is not None
        stuck = {row.row for row in each.run.ready.stuck}
        programs = []
        for rank in range(len(case.ranks)):
            rows = first[ops.rank[first] == rank].tolist()
            until = next((k for k, row in enumerate(rows) if row in stuck), len(rows))
            programs.append(tuple(ops.position[rows[:until]].tolist()))
        said.append((programs, bool(stuck)))
    return said


def as_written(patch: pytest.MonkeyPatch) -> None:
    """Let no two orders count as alike."""
    patch.setattr(_ready_picks, "_is_plain", lambda *_: False)


def test_every_order_is_found_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    as_written(monkeypatch)
    several = 0
    for seed in range(300):
        case = drawn(seed)
        if sum(len(rank.program) for rank in case.ranks) > 6:
            continue
        machine = case.machine
        ends = machine.ends(ordered=True)
        wanted = {end.ran for end in ends if machine.is_complete(end)}
        stuck = len(wanted) < len(ends)
        own = {tuple(programs) for programs, blocked in found(case) if not blocked}

        assert wanted <= own, (seed, case.text)
        assert stuck or own == wanted, (seed, case.text)
        several += len(own) > 1
    assert several > 30


def compared(case: Case, machine: Machine, text: str) -> str:
    """The verdict, once it has been held to what the machine shows."""
    ends = machine.ends(ordered=False)
    stuck = any(not machine.is_complete(end) for end in ends)
    crossed = any(one != other for end in ends for one, other in machine.pairs(end))
    over = any(end.over for end in ends)
    verdict = judge_text(text, "made")
    rules = {each.rule for each in verdict.transports[0].violations}

    assert bool(rules & {"PP301", "PP205"}) == stuck, text
    assert ("PP506" in rules) == over, text
    assert verdict.verdict == "refuted" or not crossed, text
    if all(rank.ready for rank in case.ranks):  # in others the machine judges no early reads
        assert (verdict.verdict == "refuted") == (stuck or crossed or over), text
    return verdict.verdict


def test_a_verdict_is_what_the_machine_shows() -> None:
    told: dict[str, int] = {}
    for seed in range(1000, 1110):
        case = drawn(seed)
        if sum(len(rank.program) for rank in case.ranks) <= 9:
            verdict = compared(case, case.machine, case.text)
            told[verdict] = told.get(verdict, 0) + 1
    assert min(told["proved"], told["refuted"]) > 10
    assert told.get("unknown", 0) == 0


def test_receives_that_are_waited_for_at_use_are_judged_so() -> None:
    told: dict[str, int] = {}
    for seed in range(5000, 5400):
        case = drawn(seed)
        exact = all(rank.ready and not rank.prefer for rank in case.ranks)
        if not exact or sum(len(rank.program) for rank in case.ranks) > 8:
            continue
        machine = Late(case.ranks, together=case.together, tag=case.tag, bound=case.bound)
        text = case.text.replace('"match"', '"wait": "at-use", "match"')
        verdict = compared(case, machine, text)
        told[verdict] = told.get(verdict, 0) + 1
    assert min(told["proved"], told["refuted"]) > 2


def test_the_example_of_the_page_shows_what_it_expects() -> None:
    page = (ROOT / "docs" / "schedules" / "ready-queue.md").read_text(encoding="utf-8")
    example = page.partition("```yaml\n")[2].partition("```")[0]

    assert judge_text(example, "made").verdict == "proved"


def judged(*ranks: Rank, transport: object = None, **keys: int) -> tuple[str, set[str]]:
    case = Case([*ranks], together=False, tag=True, bound=keys.get("bound"))
    text = case.text if transport is None else case.text.replace('"buffered"', '"rendezvous"')
    verdict = judge_text(text, "made")
    found = {
        f"{v.rule} r{at.rank}.{at.position}"
        for each in verdict.transports
        for v in each.violations
        for at in v.at
    }
    return verdict.verdict, found


FORWARDS = (("F", "0"), ("F", "1"), ("B", "0"), ("B", "1"))


@pytest.mark.parametrize(
    ("rank", "verdict"),
    [
        (Rank(FORWARDS, ready=True), "refuted"),
        (Rank(FORWARDS, ready=True, limit=1), "proved"),
        (Rank(FORWARDS, ready=True, limit=2), "refuted"),
        (Rank(FORWARDS, ready=True, prefer="backward"), "proved"),
        (Rank(FORWARDS, ready=True, prefer="forward"), "refuted"),
    ],
)
def test_a_limit_and_a_priority_keep_forwards_few(rank: Rank, verdict: str) -> None:
    assert judged(rank, Rank(()), bound=1)[0] == verdict


def test_a_forward_may_come_before_the_loss_that_a_backward_waits_for() -> None:
    program = "0F0; LOSS; 0B0; 0F1; 0B1"
    text = f"""pipeproof: 1
microbatches: 2
fragment: true
transport: buffered
bounds: {{live: 1}}
ranks: [{{order: ready, prefer: backward, program: {program}}}]
"""
    alone = judge_text(text.replace("LOSS; ", ""), "made")
    verdict = judge_text(text.replace("LOSS", "0L0"), "made")

    assert judge_text(text.replace("LOSS", "0R0"), "made").verdict == "proved"
    assert alone.verdict == "proved"
    assert verdict.verdict == "refuted"
    assert [(each.rule, each.at[0].position) for each in verdict.transports[0].violations] == [
        ("PP506", 3)
    ]


def test_two_ready_ranks_meet_head_on_where_nothing_is_buffered() -> None:
    first = Rank((("SEND", "u", "1"), ("RECV", "w", "1")), ready=True)
    second = Rank((("SEND", "w", "0"), ("RECV", "u", "0")), ready=True)

    assert judged(first, second) == ("proved", set())
    assert judged(first, second, transport="r") == ("refuted", {"PP301 r0.0", "PP301 r1.0"})


def test_an_instruction_that_is_never_run_is_where_its_rank_stands() -> None:
    rank = Rank((("F", "0"), ("F", "1"), ("B", "1")), ready=True, limit=1)
    verdict, where = judged(rank, Rank(()))

    assert verdict == "refuted"
    assert where == {"PP301 r0.1"}


def test_a_value_that_is_nowhere_is_told_as_for_other_ranks() -> None:
    program = "RECV F0.0 from=0; 1F0; 1B0; SEND B1.0 to=0"
    other = "0F0; SEND F0.0 to=1; 0B0"
    text = f"""pipeproof: 1
microbatches: 1
transport: {{completion: buffered, match: tag}}
ranks: [{{order: ready, program: {other}}}, {program}]
"""
    verdict = judge_text(text, "made")

    assert verdict.verdict == "refuted"
    assert {each.rule for each in verdict.transports[0].violations} >= {"PP403"}
    assert "PP301" not in {each.rule for each in verdict.transports[0].violations}


LATE = """pipeproof: 1
stages: 2
microbatches: 2
placement: [0, 1]
fragment: true
bounds: {live: BOUND}
transport: {completion: buffered, match: tag, wait: at-use}
ranks:
  - order: ready
    prefer: backward
    program: |
      0F0
      SEND F0.0 to=1
      RECV B1.0 from=1
      HOLD 0
      0B0
      0F1
      0B1
  - "RECV F0.0 from=0; 1F0; 1B0; SEND B1.0 to=0"
"""


@pytest.mark.parametrize(("bound", "verdict"), [(1, "unknown"), (2, "proved")])
def test_what_lateness_alone_breaks_is_open(bound: int, verdict: str) -> None:
    assert judge_text(LATE.replace("BOUND", str(bound)), "made").verdict == verdict


def test_too_many_orders_are_no_proof_but_show_what_some_break() -> None:
    forwards = tuple(("F", str(m)) for m in (0, 1)) + tuple(("B", str(m)) for m in (0, 1))
    case = Case([Rank(forwards, ready=True), Rank(())], together=False, tag=True, bound=1)
    document = spec.read(case.text, "made", ReadOptions())[0]
    (transport,) = document.schedule.transports
    assert isinstance(transport, Transport)

    with pytest.raises(TooManyError):
        list(orders(lower(document.schedule), transport, graph.furthest, 1))


@pytest.mark.parametrize(
    "keys",
    [
        "steps: any",
        "storage: {stash: {slots: 1, take: any}}",
        "storage: {stash: {slots: 1, guard: wait}}",
    ],
)
def test_what_is_not_looked_through_is_unknown(keys: str) -> None:
    text = f"""pipeproof: 1
microbatches: 1
transport: buffered
{keys}
ranks: [{{order: ready, program: 0F0; 0B0}}]
"""
    assert judge_text(text, "made").verdict == "unknown"


def test_a_choice_and_an_order_are_looked_through_together() -> None:
    text = """pipeproof: 1
microbatches: 1
transport: buffered
ranks: [{order: ready, program: 0F0; 0B0; CHOOSE q a|b; 0STEP if=q:a; 0SKIP if=q:b}]
"""
    verdict = judge_text(text, "made")

    assert verdict.verdict == "proved"
    assert verdict.transports[0].outcomes == 2
