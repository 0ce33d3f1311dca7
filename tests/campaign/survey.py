"""What becomes of the mutants of each mutation: the table of docs/hunt.md.

`python -m tests.campaign.survey` prints it; `--lines` prints one mutant a line instead.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pipeproof.campaign.mutate import describe, mutations, perform
from pipeproof.campaign.task import Json

ROOT = Path(__file__).parents[2]
SPECS = (
    *sorted((ROOT / "specs" / "legal").glob("*.yaml")),
    *sorted((ROOT / "specs" / "recovery").glob("*-fixed.yaml")),
    *sorted((ROOT / "specs" / "ready").glob("*-fixed.yaml")),
    ROOT / "specs" / "post-validation" / "two-stages.yaml",
)
KNOWN = (
    "1f1b, ranks: 3",
    "gpipe, ranks: 2",
    "interleaved_1f1b, ranks: 2, stages_per_rank: 2",
    "interleaved_zero_bubble, ranks: 2, stages_per_rank: 2",
    "zbv, ranks: 2",
    "dualpipev, ranks: 2",
)
SHOWN = 4


@dataclass(slots=True)
class Tally:
    """What became of the mutants of one mutation."""

    verdicts: Counter[str] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)


def originals() -> Iterator[tuple[str, str]]:
    """Yield name and text of each schedule that is changed."""
    for path in SPECS:
        yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")
    for known in KNOWN:
        head = "pipeproof: 1\nmicrobatches: 4\ntransport: [rendezvous-edge, gloo]\n"
        yield known, f"{head}schedule: {{name: {known}}}\n"


def firsts(answer: dict[str, Json]) -> list[str]:
    """Return the first rules that an answer of a task tells, each once."""
    under = answer["under"]
    assert isinstance(under, list)
    return sorted({each["first"] for each in under if each["first"]})


def surveyed() -> Iterator[tuple[str, str, dict[str, Json]]]:
    """Yield mutation, schedule and answer for each."""
    for name, text in originals():
        for mutation in mutations():
            yield mutation, name, dict(perform({"text": text, "mutation": mutation, "seed": 0}))


def counted(answered: Iterable[tuple[str, str, list[str]]]) -> dict[str, Tally]:
    """Return what became of mutants, given as mutation, verdict and first rules."""
    tallies = {name: Tally() for name in mutations()}
    for mutation, verdict, rules in answered:
        tallies[mutation].verdicts[verdict] += 1
        tallies[mutation].rules.update(rules)
    return tallies


def table(tallies: dict[str, Tally]) -> str:
    """Return the table."""
    lines = [
        "| mutation | what it does | mutants | refuted | broken first, most often |",
        "|---|---|---|---|---|",
    ]
    for name, tally in tallies.items():
        every = tally.verdicts.total()
        share = f"{round(100 * tally.verdicts['refuted'] / every)} %" if every else "-"
        rules = sorted(tally.rules.items(), key=lambda each: (-each[1], each[0]))[:SHOWN]
        said = ", ".join(rule for rule, _ in rules) or "-"
        lines.append(f"| `{name}` | {describe(name)[:-1]} | {every} | {share} | {said} |")
    every = sum(tally.verdicts.total() for tally in tallies.values())
    refuted = sum(tally.verdicts["refuted"] for tally in tallies.values())
    lines.append(f"| all | | {every} | {round(100 * refuted / every)} % | |")
    return "\n".join(lines) + "\n"


def answers() -> Iterator[tuple[str, str, str, list[str]]]:
    """Yield mutation, schedule, verdict and first rules of each mutant."""
    for mutation, name, answer in surveyed():
        if answer["applies"]:
            yield mutation, name, str(answer["verdict"]), firsts(answer)


def main() -> None:
    """Print the table, or one mutant a line; `--from FILE` makes the table of such lines."""
    if "--lines" in sys.argv:
        for each in answers():
            sys.stdout.write(f"{json.dumps(each)}\n")
        return
    found: Iterable[tuple[str, str, str, list[str]]] = answers()
    if "--from" in sys.argv:
        lines = Path(sys.argv[-1]).read_text(encoding="utf-8").splitlines()
        found = [json.loads(line) for line in lines]
    sys.stdout.write(table(counted((name, verdict, rules) for name, _, verdict, rules in found)))


if __name__ == "__main__":
    main()
