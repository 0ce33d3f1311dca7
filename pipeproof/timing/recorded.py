"""What the times of a trace come to: how long steps took, and how long operations of each kind."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from fractions import Fraction
from statistics import median
from typing import NamedTuple

from pipeproof.ir.actions import COMPUTE, Kind, read_action
from pipeproof.ir.recorded import MICROSECOND, Recorded, Span
from pipeproof.semantics.spans.matching import Matched, Named

__all__ = ["Samples", "StepTimes", "costs_text", "sampled", "step_times"]

_LONG = re.compile(r"(SEND|RECV) ([FB])(\d{1,9})\.(\d{1,9}) (?:to|from)=\d+")
_LOOP = re.compile(r"(Forward|Backward) \d{1,9}")
_BEFORE = {Kind.RECV_F: -1, Kind.RECV_B: 1}
_DECIMALS = 9


class StepTimes(NamedTuple):
    """How long one step took, in ticks.

    `windows` is, for each rank, from its first computation to the end of its last one, `busy` for
    how long of that it computed. `makespan` is that of all ranks, None where their clocks cannot be
    compared; `bubble` the part of it in which they do not compute.
    """

    windows: tuple[int, ...]
    busy: tuple[int, ...]
    makespan: int | None

    @property
    def bubble(self) -> Fraction | None:
        if not self.makespan:
            return None
        return 1 - Fraction(sum(self.busy), len(self.busy) * self.makespan)


def step_times(found: Matched, *, comparable: bool) -> tuple[StepTimes, ...]:
    """Return what each step of a trace took, in which every rank ran its program.

    Args:
        found: the trace beside the programs.
        comparable: whether the clocks of its ranks can be compared.
    """
    split = [_by_step(named, found.steps) for named in found.timed]
    return tuple(
        _times([each[step] for each in split], comparable=comparable) for step in range(found.steps)
    )


def _by_step(named: tuple[Named, ...], steps: int) -> list[list[Span]]:
    """Return the spans of each step: the n-th part of those of each name."""
    by_key: dict[str, list[Span]] = defaultdict(list)
    for each in named:
        by_key[each.key].append(each.span)
    found: list[list[Span]] = [[] for _ in range(steps)]
    for spans in by_key.values():
        for n, span in enumerate(spans):
            found[n * steps // len(spans)].append(span)
    return found


def _times(ranks: list[list[Span]], *, comparable: bool) -> StepTimes:
    windows = tuple(_window(spans) for spans in ranks)
    busy = tuple(_busy(spans) for spans in ranks)
    all_ = [span for spans in ranks for span in spans]
    return StepTimes(windows, busy, _window(all_) if comparable else None)


def _window(spans: list[Span]) -> int:
    first = min((span.start for span in spans), default=0)
    return max((span.end for span in spans), default=first) - first


def _busy(spans: list[Span]) -> int:
    """Return for how long at least one of `spans` lasts."""
    total, until = 0, None
    for span in sorted(spans, key=lambda each: each.start):
        begin = span.start if until is None else max(span.start, until)
        total += max(0, span.end - begin)
        until = span.end if until is None else max(until, span.end)
    return total


class Samples(NamedTuple):
    """Durations in ticks by kind (`F B I W R L comm`) and stage, of `steps` steps each.

    `first` says that the first step was left out, `shared` how many spans could not be taken apart:
    overlaps, in which two operations share one span. `posted` says that receives were recorded as
    they were posted, so that how long messages took is not known.
    """

    of: Mapping[tuple[str, int], tuple[int, ...]]
    steps: int
    first: bool
    shared: int = 0
    posted: bool = False

    @property
    def stages(self) -> int:
        return max((stage for _, stage in self.of), default=-1) + 1

    @property
    def kinds(self) -> tuple[str, ...]:
        names = (*(kind.name for kind in COMPUTE), "comm")
        present = {kind for kind, _ in self.of}
        return tuple(name for name in names if name in present)


def sampled(recorded: Recorded, *, comparable: bool) -> Samples:
    """Return how long operations took; the first of several steps, which warms up, is left out.

    Args:
        recorded: the trace; the n-th span of a name on a rank is of its n-th step.
        comparable: whether the clocks of its ranks can be compared, so that messages have a time.
    """
    has_device = any(span.device for span in recorded.spans)
    spans = sorted(recorded.spans, key=lambda span: span.start)
    numbers: dict[tuple[int, str, bool], int] = defaultdict(int)
    stepped: list[tuple[int, Span]] = []
    shared = 0
    for span in spans:
        key = span.rank, span.name, span.device
        stepped.append((numbers[key], span))
        numbers[key] += 1
        shared += span.name.startswith("(")
    steps = max((times for (_, name, _), times in numbers.items() if _kind(name)), default=0)
    kept = [(step, span) for step, span in stepped if step or steps == 1]
    found: dict[tuple[str, int], list[int]] = defaultdict(list)
    for _, span in kept:
        computes = _kind(span.name)
        if computes is not None and span.device == has_device:
            kind, stage = computes
            found[kind, span.rank if stage is None else stage].append(span.end - span.start)
    moved, posted = _moved(kept) if comparable else ({}, False)
    of = {key: tuple(sorted(each)) for key, each in sorted({**found, **moved}.items())}
    return Samples(of, steps - (steps > 1), steps > 1, shared, posted)


def _kind(name: str) -> tuple[str, int | None] | None:
    """Return kind and stage of the computation that a name is of; torch's loops name no stage."""
    action = read_action(name)
    if not isinstance(action, str):
        return (action.kind.name, action.stage) if action.kind in COMPUTE else None
    loop = _LOOP.fullmatch(name)
    return (loop[1][0], None) if loop else None


def _moved(kept: list[tuple[int, Span]]) -> tuple[dict[tuple[str, int], list[int]], bool]:
    """Return how long messages took by the stage whose value they carry; whether that is known."""
    ends: dict[tuple[int, str, int, int], dict[bool, Span]] = defaultdict(dict)
    for step, span in kept:
        message = _message(span.name)
        if message is not None:
            sends, what, stage, microbatch = message
            ends[step, what, stage, microbatch][sends] = span
    found: dict[tuple[str, int], list[int]] = defaultdict(list)
    for (_, _, stage, _), both in ends.items():
        if len(both) > 1:
            took = both[False].end - max(each.start for each in both.values())
            found["comm", stage].append(took)
    is_posted = any(took < 0 for each in found.values() for took in each)
    return ({}, True) if is_posted else (found, False)


def _message(name: str) -> tuple[bool, str, int, int] | None:
    """Return whether a name is of a send, and the value that it carries; None if of no message."""
    long = _LONG.fullmatch(name)
    if long:
        return long[1] == "SEND", long[2], int(long[3]), int(long[4])
    action = read_action(name)
    if isinstance(action, str) or "_" not in action.kind.name:
        return None
    word, _, what = action.kind.name.partition("_")
    return word == "SEND", what, action.stage + _BEFORE.get(action.kind, 0), action.microbatch


def costs_text(samples: Samples, unit: int = MICROSECOND) -> tuple[dict[str, tuple[str, ...]], str]:
    """Return the medians by kind, one a stage, as `costs` writes them, and what is missing.

    Args:
        samples: how long operations took.
        unit: how many ticks make a unit of time.
    """
    found: dict[str, tuple[str, ...]] = {}
    missing = [] if samples.of else ["no computation has a span"]
    for kind in _wanted(samples):
        row = [_median(samples, kind, stage) for stage in range(samples.stages)]
        for stage, each in enumerate(row):
            if each is None and kind != "comm":
                missing.append(f"{kind} of stage {stage} has no span")
            elif not each and kind in {"F", "B"}:
                missing.append(f"{kind} of stage {stage} takes no time")
        found[kind] = tuple(_text(each or Fraction(), unit) for each in row)
    return found, "; ".join(missing)


def _wanted(samples: Samples) -> Iterator[str]:
    yield "F"
    yield from (kind for kind in samples.kinds if kind != "F")


def _median(samples: Samples, kind: str, stage: int) -> Fraction | None:
    """Return the median of a kind on a stage; a whole backward is its two halves where it is so."""
    took = samples.of.get((kind, stage))
    if took:
        return Fraction(median(map(Fraction, took)))
    halves = [_median(samples, half, stage) for half in ("I", "W")] if kind == "B" else []
    if halves and all(each is not None for each in halves):
        return sum((each for each in halves if each is not None), Fraction())
    return None


def _text(ticks: Fraction, unit: int) -> str:
    parts = round(ticks * 10**_DECIMALS / unit)
    whole, rest = divmod(parts, 10**_DECIMALS)
    return f"{whole}" + (f".{rest:09d}".rstrip("0") if rest else "")
