"""What it costs an engine to decide the outcomes of choices at once, beside one by one.

Run as `python tests/benchmarks/bench_choices.py [smt|explore]`. Post-validation schedules, and
schedules in which each of several microbatches may be taken or left, are decided both ways: the
same rules, the same models. Processor seconds are the best of several runs, in turn; the models
are made before. It prints a table and judges nothing.
"""

import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Protocol
from unittest.mock import patch

from pipeproof.engines import graph, smt
from pipeproof.frontends import spec
from pipeproof.ir.reading import ReadOptions
from pipeproof.lowering.lower import lower
from pipeproof.lowering.waits import write_in
from pipeproof.proofs.outcomes import outcomes
from pipeproof.semantics.choices import Settled
from pipeproof.semantics.logic import Rule
from pipeproof.semantics.model import Model
from pipeproof.semantics.rules import all_rules
from pipeproof.verdict.decision import Decision

ROOT = Path(__file__).parents[2]
RUNS = 3
RULES = tuple(rule for rule in all_rules() if not rule.warns)
POST_VALIDATION = ("two-stages", "two-stages-overflow", "three-stages", "four-stages")


class Engine(Protocol):
    """An engine that decides both ways."""

    def decide(self, model: Model, rules: tuple[Rule, ...]) -> Decision: ...

    def decide_outcomes(
        self, outcomes: Sequence[Settled], rules: tuple[Rule, ...]
    ) -> tuple[Decision, ...]: ...


def choosing(count: int, *, broken: bool = False) -> str:
    """A pipeline of two ranks in which each microbatch has a choice of its own: taken or left."""
    left = [f"CHOOSE q{m} take|leave" for m in range(count)]
    right: list[str] = []
    for m in range(count):
        left += [f"0F{m} if=q{m}:take", f"SEND F0.{m} to=1 if=q{m}:take"]
        right += [f"RECV F0.{m} from=0 if=q{m}:take", f"1F{m} if=q{m}:take"]
        right += [f"1B{m} if=q{m}:take", f"SEND B1.{m} to=0 if=q{m}:take"]
    left += [
        f"{word} if=q{m}:take" for m in range(count) for word in (f"RECV B1.{m} from=1", f"0B{m}")
    ]
    if broken:
        left[count], left[count + 1] = left[count + 1], left[count]
    programs = "\n".join(f"  - {each}" for each in ("; ".join(left), "; ".join(right)))
    head = f"pipeproof: 1\nfragment: true\nstages: 2\nmicrobatches: {count}\ntransport: buffered\n"
    return f"{head}ranks:\n{programs}\n"


def settled(text: str) -> list[list[Settled]]:
    """Return all outcomes of a file, transport by transport."""
    run = lower(spec.read(text, "made", ReadOptions())[0].schedule)
    return [
        [
            Settled(Model(each.run, transport, write_in(each.run, transport.wait)), each.picked)
            for each in outcomes(run, transport, graph.furthest, 4096)
        ]
        for transport in run.schedule.transports
    ]


def one_by_one(engine: Engine, some: Sequence[Settled]) -> tuple[Decision, ...]:
    return tuple(engine.decide(each.model, RULES) for each in some)


def at_once(engine: Engine, some: Sequence[Settled]) -> tuple[Decision, ...]:
    return engine.decide_outcomes(some, RULES)


def measured(
    engine: Engine, decide: Callable[[Engine, Sequence[Settled]], object], text: str
) -> tuple[float, int]:
    """Return the seconds of deciding fresh models, and how often the solver was asked."""
    made = settled(text)
    with patch.object(smt._Solver, "check", autospec=True, side_effect=smt._Solver.check) as asked:
        began = time.process_time()
        for some in made:
            decide(engine, some)
        return time.process_time() - began, asked.call_count


def main() -> None:
    engine: Engine = import_module(f"pipeproof.engines.{(sys.argv[1:] or ['smt'])[0]}")
    files = {}
    for name in POST_VALIDATION:
        path = ROOT / "specs" / "post-validation" / f"{name}.yaml"
        files[name] = path.read_text(encoding="utf-8")
    files |= {f"{count} choices": choosing(count) for count in (4, 6, 8)}
    files["6 choices, half broken"] = choosing(6, broken=True)
    print("outcomes    one by one        at once         times  schedule")
    for name, text in files.items():
        best: dict[str, tuple[float, int]] = {}
        for _ in range(RUNS):
            for way in (one_by_one, at_once):
                found = measured(engine, way, text)
                best[way.__name__] = min(best.get(way.__name__, found), found)
        (alone, few), (together, less) = best["one_by_one"], best["at_once"]
        number = sum(map(len, settled(text)))
        said = f"{alone:7.2f} s {few:6d}  {together:7.2f} s {less:6d}  {alone / together:6.1f}"
        print(f"{number:8d}  {said}  {name}", flush=True)


if __name__ == "__main__":
    main()
