"""Faults against an operational machine that injects them: every engine, policy and transport."""

import dataclasses
import random
from collections.abc import Iterator

import pytest

from pipeproof.engines import explore, graph, smt
from pipeproof.frontends import spec
from pipeproof.ir.as_run import AsRun
from pipeproof.ir.faults import Faulted, FaultKind, Policy, Struck
from pipeproof.ir.reading import ReadOptions
from pipeproof.ir.transport import Transport
from pipeproof.lowering.lower import lower
from pipeproof.lowering.waits import write_in
from pipeproof.semantics.model import Model
from pipeproof.semantics.policies import under_faults
from pipeproof.semantics.rules import all_rules
from pipeproof.verdict import replay
from pipeproof.verdict.decision import Decision
from tests.oracle import programs as drawing
from tests.oracle.faulty import Broken, Fault, outcome
from tests.oracle.instructions import NAMED, Compute, Instruction, Programs, messages
from tests.oracle.machine import TooManyStatesError

CASES = 30
RULES = under_faults(all_rules())
POLICIES: tuple[Policy, ...] = ("raise", "abort", "recover")
OF_RANKS: tuple[FaultKind, ...] = ("missing", "stops")
OF_MESSAGES: tuple[FaultKind, ...] = ("delayed", "dropped", "duplicated", "corrupted")
Found = set[tuple[str, frozenset[str]]]


def with_steps(rng: random.Random, drawn: Programs) -> Programs:
    """The programs with optimizer steps put in, mostly one a rank and towards the end.

    None stands before a reader: what is received for one behind it is read in two ways.
    """
    made: list[tuple[Instruction, ...]] = []
    for rank, program in enumerate(drawn):
        row = [each for each in program if each != Compute(f"{rank}STEP")]
        for _ in range(rng.choice([0, 1, 1, 1, 2])):
            read = [at for at, each in enumerate(row) if isinstance(each, Compute)]
            low = max(rng.choice([0, len(row) // 2, len(row)]), *(at + 1 for at in read), 0)
            row.insert(rng.randint(low, len(row)), Compute(f"{rank}STEP"))
        made.append(tuple(row))
    return tuple(made)


def every_fault(drawn: Programs) -> Iterator[Fault]:
    for rank, program in enumerate(drawn):
        yield Fault("missing", rank)
        for position in range(len(program) + 1):
            yield Fault("stops", rank, position)
        for position, each in enumerate(program):
            if isinstance(each, Compute) and not each.op.endswith("STEP"):
                yield Fault("delayed", rank, position)
            for member, message in enumerate(messages(each)):
                if message.send:
                    for kind in OF_MESSAGES:
                        yield Fault(kind, rank, position, member)


def as_run(drawn: Programs, transport: object) -> tuple[AsRun, Transport]:
    text = drawing.render(drawn, transport)  # type: ignore[arg-type]
    schedule = spec.read(text, "drawn", ReadOptions())[0].schedule
    return lower(schedule), schedule.transports[0]


def struck(run: AsRun, fault: Fault) -> Struck:
    kinds = {kind: kind for kind in (*OF_RANKS, *OF_MESSAGES)}
    kind = kinds[fault.kind]  # type: ignore[index]
    if kind in OF_RANKS:
        return Struck(kind, fault.rank, fault.at)
    ops = run.operations
    own = (ops.rank == fault.rank) & (ops.position == fault.at)
    return Struck(kind, fault.rank, base=int(own.nonzero()[0][fault.member]))


def model(run: AsRun, transport: Transport, policy: Policy, faults: tuple[Fault, ...]) -> Model:
    """The model in which the faults happen; what is usual is known from one without them."""
    plain = Model(run, transport, write_in(run, transport.wait))
    happened, frame = graph.furthest(plain), plain.frame
    done = happened[2 * run.operations.instruction + 1]
    steps = set(done.nonzero()[0].tolist())
    ending = {rank for rank in range(frame.ranks) if happened[frame.ends + rank]}
    told = Faulted(
        policy, tuple(struck(run, each) for each in faults), frozenset(steps), frozenset(ending)
    )
    broken = dataclasses.replace(run, faults=told, turns=None)
    return Model(broken, transport, write_in(broken, transport.wait))


def told(made: Model, decision: Decision) -> Found:
    for each in decision.broken:
        replay.check(made, each)
    return {
        (
            each.rule.code,
            frozenset("r{}.{}".format(*made.frame.place(spot)) for spot in each.finding.spots),
        )
        for each in decision.broken
    }


def expected(policy: Policy, broken: Broken) -> Found:
    late = {("PP706", frozenset({each})) for each in broken.late}
    waiting = {("PP301", frozenset({each})) for each in broken.waiting}
    if policy == "raise":
        return late | {("PP106", frozenset({each})) for each in broken.unnamed}
    if policy == "abort":
        return late | waiting | {("PP106", each) for each in broken.divided}
    return waiting | {("PP106", each) for each in broken.untaken}


@pytest.mark.parametrize(
    "seed", [*range(2), *(pytest.param(each, marks=pytest.mark.slow) for each in range(2, 6))]
)
def test_every_engine_finds_what_the_machine_finds(seed: int) -> None:
    kinds: dict[str, int] = {}
    for number in range(CASES):
        rng = random.Random(seed * 1000 + number)
        drawn = with_steps(rng, drawing.random_programs(rng, messages=(1, 5)))
        transport = drawing.random_transport(rng, weak=False)
        faults = tuple(rng.sample(list(every_fault(drawn)), rng.choice([1, 1, 1, 2])))
        try:
            broken = outcome(drawn, transport, faults)
        except TooManyStatesError:
            continue
        run, named = as_run(drawn, transport)
        for policy in POLICIES:
            made = model(run, named, policy, faults)
            wanted = {
                (code, at)
                for code, at in expected(policy, broken)
                if policy != "recover" or code != "PP706"
            }
            for engine in (graph, explore, smt):
                decision = engine.decide(made, RULES)
                if policy == "recover":
                    rests = [each for each in decision.broken if each.rule.code == "PP706"]
                    assert not rests or any(each.kind == "corrupted" for each in faults)
                    kept = tuple(each for each in decision.broken if each not in rests)
                    decision = decision._replace(broken=kept)

                assert not decision.unknown
                assert told(made, decision) == wanted, (seed, number, policy, faults, engine.NAME)
            for code, _ in wanted:
                kinds[code] = kinds.get(code, 0) + 1
    assert all(kinds.get(code, 0) > CASES // 10 for code in ("PP106", "PP301", "PP706"))


@pytest.mark.parametrize("seed", range(2))
def test_with_weak_communicators_nothing_is_missed_and_nothing_made_up(seed: int) -> None:
    late = left = 0
    for number in range(CASES):
        rng = random.Random(seed * 1000 + number)
        drawn = with_steps(rng, drawing.random_programs(rng, messages=(1, 4)))
        transport = {**NAMED["rendezvous"], "weak": ["c", "d"]}
        faults = (rng.choice(list(every_fault(drawn))),)
        broken = outcome(drawn, transport, faults)
        run, named = as_run(drawn, transport)
        made = model(run, named, "abort", faults)
        for engine in (graph, explore, smt):
            decision = engine.decide(made, RULES)
            found = told(made, decision)
            steps = {at for code, at in found if code == "PP706"}

            assert steps <= {frozenset({each}) for each in broken.late}
            assert len(steps) == len(broken.late) or "PP706" in decision.unknown
            assert found - {("PP706", at) for at in steps} == {
                each for each in expected("abort", broken) if each[0] != "PP706"
            }
            late += len(steps)
            left += "PP706" in decision.unknown
    assert late > 3 * left
