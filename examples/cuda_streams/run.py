"""Storage on streams: what breaks it shows in the bits, what is legal does not; and one restart.

python examples/cuda_streams/run.py --device cuda          # one GPU, under five minutes
python examples/cuda_streams/run.py --device cpu-streams   # queues in place of streams
python examples/cuda_streams/run.py --device cpu-streams --part 3   # every third row

Needs torch: pip install 'pipeproof[torch]'
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from storage_cases import CASES, Case

from pipeproof import api
from pipeproof.frontends import spec
from pipeproof.ir.reading import ReadOptions
from pipeproof.ir.source import Document, OnePlace
from pipeproof.schedules import generate

if TYPE_CHECKING:
    from pipeproof.execution.streams.device import Device
    from pipeproof.execution.streams.running import Modelled
    from pipeproof.semantics.model import Model

BEFORE_TORCH = {
    "CUDA_DEVICE_MAX_CONNECTIONS": "32",
    "CUDA_MODULE_LOADING": "EAGER",
    "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
}
SEEDS = range(6)
BROKEN = ("rule", "broken by", "storage", "wrong bits", "once fixed", "races", "races once fixed")
LEGAL = ("schedule", "size", "wrong bits", "races")
BROKEN_OFF = ("schedule", "restart", "in the end")
CONTROLS = (
    *(("gpipe", ranks, microbatches, 1) for ranks, microbatches in ((2, 3), (3, 4), (4, 4))),
    *(("1f1b", ranks, microbatches, 1) for ranks, microbatches in ((2, 2), (2, 5), (3, 4), (4, 6))),
    *(
        ("interleaved_1f1b", ranks, microbatches, 2)
        for ranks, microbatches in ((2, 2), (2, 4), (3, 3))
    ),
    *(("looped_bfs", ranks, microbatches, 2) for ranks, microbatches in ((2, 2), (2, 4), (3, 3))),
    *(("interleaved_zero_bubble", 2, microbatches, 2) for microbatches in (2, 4)),
    *(("zbv", ranks, microbatches, 2) for ranks, microbatches in ((2, 3), (2, 4), (3, 4))),
    *(("dualpipev", ranks, microbatches, 2) for ranks, microbatches in ((2, 4), (3, 6))),
)
"""Known schedules: name, ranks, microbatches, stages a rank."""


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table: what it says, and whether it is as it should be."""

    cells: tuple[str, ...]
    right: bool


def makes(device: str) -> "Callable[[int], Device]":
    """Return what makes a device by a seed."""
    from pipeproof.execution.streams.cuda import Cuda
    from pipeproof.execution.streams.queues import Queues, seeded

    return (lambda _: Cuda()) if device == "cuda" else (lambda seed: Queues(seeded(seed)))


def first_model(document: Document) -> "Model":
    """Return a schedule under the first of its transports."""
    model = api.models(document)(api.transports_of(document)[0].name, 1)
    assert model is not None
    return model


def modelled(model: "Model") -> "Modelled":
    """Return what is run of a model."""
    from pipeproof.execution.streams.running import Modelled

    frame = model.frame
    return Modelled(frame.run, frame.transport.match, model.happens_before)


def read(text: str, name: str) -> Document:
    """Read a spec."""
    return spec.read(text, name, ReadOptions())[0]


def flowed(model: "Model", make: "Callable[[int], Device]") -> tuple[int, set[str]]:
    """Return in how many of the orders a number was wrong, and which storages raced."""
    from pipeproof.execution.orders import Events, Style, extended
    from pipeproof.execution.streams._unsplit import Unsplit
    from pipeproof.execution.streams.running import Pace, Running
    from pipeproof.execution.streams.sanitizer import Sanitized

    run, wrong, raced = model.frame.run, 0, set[str]()
    unsplit = Unsplit(run, 0)
    paces = (Pace.SENDS, Pace.RECEIVES, Pace.ANY)
    for seed in SEEDS:
        device = Sanitized(make(seed))
        running = Running(run, model.frame.transport.match, device, unsplit)
        events = Events(model.events, model.frame.first_transfer)
        style = list(Style)[seed % len(Style)]
        order = extended(model.happens_before, events, style=style, seed=seed)
        running.play(running.plan(model.happens_before, order), paces[seed % len(paces)], seed)
        wrong += any(True for _ in running.differing())
        raced |= {running.kernels.label(race.memory) for race in device.races}
    return wrong, raced


def refuted(case: Case, make: "Callable[[int], Device]") -> Row:
    """Run a counterexample and its legal neighbour."""
    said = [api.judge_text(text, case.name) for text in (case.broken, case.fixed)]
    judged = said[0].first_rule == case.rule and said[1].verdict == "proved"
    broken, races = flowed(first_model(read(case.broken, case.name)), make)
    fixed, none = flowed(first_model(read(case.fixed, case.name)), make)
    place = f"{case.storage} of rank {case.rank}"
    agrees = races == ({place} if case.races else set()) and not none
    cells = (
        case.rule,
        case.name,
        place,
        f"{broken} of {len(SEEDS)}",
        f"{fixed} of {len(SEEDS)}",
        ", ".join(sorted(races)) or "none",
        ", ".join(sorted(none)) or "none",
    )
    return Row(cells, judged and broken > 0 and fixed == 0 and agrees)


def control(shape: tuple[str, int, int, int], make: "Callable[[int], Device]") -> Row:
    """Run a known schedule."""
    name, ranks, microbatches, stages = shape
    order = generate(name, ranks=ranks, microbatches=microbatches, stages_per_rank=stages)
    document = Document(name, order, OnePlace())
    wrong, raced = flowed(first_model(document), make)
    told = f"{ranks} ranks, {microbatches} microbatches, {stages} a rank"
    races = ", ".join(sorted(raced)) or "none"
    proved = api.judge(document).verdict == "proved"
    return Row((name, told, f"{wrong} of {len(SEEDS)}", races), proved and not wrong and not raced)


def restart(make: "Callable[[int], Device]") -> Row:
    """Break a run off in flight, and go on from a copy of everything."""
    from pipeproof.execution.orders import Events, Style, extended
    from pipeproof.execution.streams.restart import restarted

    order = generate("1f1b", ranks=3, microbatches=4, stages_per_rank=1)
    model = first_model(Document("1f1b", order, OnePlace()))
    events = Events(model.events, model.frame.first_transfer)
    whole = extended(model.happens_before, events, style=Style.MESSAGES_LATE, seed=1)
    moving = [n for n, each in enumerate(whole) if each >= model.frame.first_transfer]
    found = restarted(modelled(model), whole, lambda: make(7), cut=moving[len(moving) // 2] + 1)
    said = (
        f"cut behind {found.cut} of {found.launches} events, {found.under_way} messages under way"
    )
    differs = ", ".join(found.differs) or "nothing"
    return Row(("1f1b of 3 ranks", said, f"differs: {differs}"), not found.differs)


def table(title: str, heads: tuple[str, ...], rows: Iterator[Row]) -> list[Row]:
    """Print rows as they come, with what is wrong marked."""
    print(f"\n{title}\n  " + " | ".join(heads))
    made: list[Row] = []
    for row in rows:
        print(("  " if row.right else "! ") + " | ".join(row.cells), flush=True)
        made.append(row)
    return made


def main(argv: list[str] | None = None) -> int:
    """Print the tables; return 0 where all is as it should be, 1 where it is not."""
    asked = argparse.ArgumentParser(description="Storage on streams.")
    asked.add_argument("--device", choices=("cuda", "cpu-streams"), default="cuda")
    asked.add_argument("--part", type=int, default=1, help="take every so many rows only")
    options = asked.parse_args(argv)
    for name, value in BEFORE_TORCH.items():
        os.environ.setdefault(name, value)
    try:
        import torch
    except ModuleNotFoundError:
        print("this example needs torch: pip install 'pipeproof[torch]'", file=sys.stderr)
        return 2
    from pipeproof.execution.streams.cuda import missing

    why = missing() if options.device == "cuda" else None
    if why is not None:
        print(f"no CUDA device: {why}; --device cpu-streams needs none", file=sys.stderr)
        return 2
    begun, make, part = time.monotonic(), makes(options.device), options.part
    print(f"torch {torch.__version__}, {make(0).name}")
    rows = table("Counterexamples", BROKEN, (refuted(each, make) for each in CASES[::part]))
    rows += table("Legal controls", LEGAL, (control(each, make) for each in CONTROLS[::part]))
    rows += table("Restart", BROKEN_OFF, iter([restart(make)]))
    wrong = sum(not row.right for row in rows)
    print(f"\n{len(rows)} rows, {time.monotonic() - begun:.0f} s")
    print(f"FAIL: {wrong} rows are not as they should be" if wrong else "PASS")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
