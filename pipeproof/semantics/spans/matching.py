"""Which span of a trace is which operation of a schedule.

Spans are known by their names: those of torch, and those of the language. A kind of operation that
stands nowhere in the trace was not recorded, and is not asked for, unless it computes.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from pipeproof.ir.actions import COMPUTE, Kind, read_action, read_overlap
from pipeproof.ir.operations import Bracket
from pipeproof.ir.recorded import Recorded, Span
from pipeproof.ir.schedule import neighbours
from pipeproof.ir.values import ValueKind, kind_of, microbatch_of, stage_of
from pipeproof.semantics.frame import Frame

__all__ = ["ASKED", "Matched", "Named", "Unit", "canonical", "matched"]

ASKED = tuple(kind for kind in COMPUTE if kind is not Kind.L)
"""The kinds that a trace must hold; a loss is a part of its forward where torch runs it."""

_MESSAGES = {
    Kind.SEND_F: Kind.SEND,
    Kind.SEND_B: Kind.SEND,
    Kind.RECV_F: Kind.RECV,
    Kind.RECV_B: Kind.RECV,
}
_WORDS = {Kind.REDUCE: "REDUCE_GRAD"}
_OF_STAGE = (
    *(Kind.UNSHARD, Kind.RESHARD, Kind.REDUCE, Kind.STEP, Kind.SKIP, Kind.ZERO),
    *(Kind.COMMIT, Kind.ROLLBACK),
)


class Unit(NamedTuple):
    """What a span can be of: an instruction, or one member of it; `key` is its name.

    `members` is how many of these the instruction has.
    """

    key: str
    instruction: int
    position: int
    kinds: frozenset[Kind]
    members: int = 1


class Named(NamedTuple):
    """A span, and the name under which programs know what it is of."""

    span: Span
    key: str


@dataclass(frozen=True, slots=True)
class Matched:
    """A trace beside the programs of a schedule.

    `programs` hold, for each rank, what is asked for in one step; `steps` says how often they
    stand in the trace. `ordered` are the spans of each rank in the order in which they begin,
    `observed` those of the clock that measures them: that of the accelerator, where one was
    recorded; `timed` are its computations among these. `absent` are ranks without a span.
    `recorded`, `unrecorded` and `foreign` are kinds: those in both, those of the schedule only,
    those of the trace only. `stray` are spans of ranks that there are not, `homes` maps the name of
    an operation to the rank whose program it stands in.
    """

    programs: tuple[tuple[Unit, ...], ...]
    ordered: tuple[tuple[Named, ...], ...]
    observed: tuple[tuple[Named, ...], ...]
    timed: tuple[tuple[Named, ...], ...]
    steps: int
    absent: tuple[int, ...]
    recorded: tuple[str, ...]
    unrecorded: tuple[str, ...]
    foreign: tuple[str, ...]
    stray: tuple[Span, ...] = ()
    homes: Mapping[str, int] = field(default_factory=dict)


def canonical(name: str) -> str:
    """Return a name in the one way in which programs write it."""
    if name.startswith("("):
        members = read_overlap(name)
        if not isinstance(members, str):
            return _overlap([f"{a.stage}{a.kind.name}{a.microbatch}" for a in members])
    return " ".join(name.split())


def _overlap(members: list[str]) -> str:
    return f"({';'.join(members)})OVERLAP_F_B"


def matched(frame: Frame, recorded: Recorded) -> Matched:
    """Return a trace beside the programs of a schedule as run, one copy of them."""
    found: dict[int, list[Span]] = defaultdict(list)
    for span in recorded.spans:
        found[span.rank].append(span)
    ranks = range(frame.ranks)
    parts = [_units(frame, rank, found[rank]) for rank in ranks]
    aliases = [names for _, names in parts]
    homes = {key: rank for rank, (units, _) in enumerate(parts) for key in (u.key for u in units)}
    known = {unit.key: unit.kinds for units, _ in parts for unit in units}
    spans = [[Named(s, _key(s.name, aliases[r])) for s in found[r]] for r in ranks]
    kinds = {kind for units, _ in parts for unit in units for kind in unit.kinds}
    seen = {kind for own in spans for each in own for kind in known.get(each.key, ())}
    strange = [each.key for own in spans for each in own if each.key not in known]
    foreign = {k for key in strange if (k := _kind(key)) and k not in {*kinds, *COMPUTE}}
    asked = seen | ({*ASKED} & kinds)
    programs = tuple(tuple(u for u in units if u.kinds & asked) for units, _ in parts)
    kept = [[each for each in own if _kind(each.key) not in foreign] for own in spans]
    computing = {key for key, of in known.items() if of & {*COMPUTE}}
    observed = tuple(tuple(_sorted(_lane(own, device=True))) for own in kept)
    ordered = tuple(tuple(_sorted(_lane(own, device=False))) for own in kept)
    return Matched(
        programs,
        ordered,
        observed,
        tuple(tuple(each for each in own if each.key in computing) for own in observed),
        _steps(programs, ordered) or int(any(kept) or any(r not in ranks for r in found)),
        tuple(r for r in ranks if programs[r] and not found[r]),
        _words(seen),
        _words(kinds - asked),
        _words(foreign),
        tuple(span for rank, own in sorted(found.items()) if rank not in ranks for span in own),
        homes,
    )


def _words(kinds: Iterable[Kind]) -> tuple[str, ...]:
    return tuple(kind.name for kind in sorted(kinds))


def _sorted(named: Iterable[Named]) -> list[Named]:
    return sorted(named, key=lambda each: (each.span.start, each.span.end))


def _lane(named: list[Named], *, device: bool) -> list[Named]:
    """Return the spans of the one clock, or of the other where there are none."""
    chosen = [each for each in named if each.span.device == device]
    return chosen or named


def _kind(key: str) -> Kind | None:
    """Return what kind of operation torch calls so."""
    action = read_action(key)
    return None if isinstance(action, str) else _MESSAGES.get(action.kind, action.kind)


def _key(name: str, aliases: dict[str, str]) -> str:
    said = canonical(name)
    return aliases.get(said, said)


def _units(frame: Frame, rank: int, spans: list[Span]) -> tuple[list[Unit], dict[str, str]]:
    """Return what the spans of a rank can be of, in the order of its program, and their names.

    Members of a bracket or an overlap stand by themselves, unless the trace writes the whole.
    """
    whole = any(span.name.startswith(("(", "[")) for span in spans)
    ops, found = frame.ops, list[tuple[Unit, str]]()
    first, last = map(int, frame.run.rank_start[rank : rank + 2].tolist())
    firsts = [*ops.first_row[first:last].tolist()]
    ends = [*firsts[1:], int(ops.first_row[last]) if last < frame.instructions else len(ops)]
    before, after = neighbours(frame.run.schedule)
    for instruction, row, end in zip(range(first, last), firsts, ends, strict=True):
        if frame.run.copy[row]:
            break
        shorts = [_short(frame, each, before, after) for each in range(row, end)]
        kinds = [Kind(int(kind)) for kind in ops.kind[row:end].tolist()]
        position = frame.position(row)
        if end == row + 1 or whole:
            key = shorts[0] if end == row + 1 else _written(frame, instruction, shorts)
            said = canonical(frame.instruction_text(instruction))
            found.append((Unit(key, instruction, position, frozenset(kinds)), said))
            continue
        for each, short, kind in zip(range(row, end), shorts, kinds, strict=True):
            unit = Unit(short, instruction, position, frozenset({kind}), end - row)
            found.append((unit, canonical(frame.text(each))))
    units, names = _told_apart(found, {canonical(span.name) for span in spans})
    names.update(_loops(frame, rank))
    return units, names


def _told_apart(found: list[tuple[Unit, str]], told: set[str]) -> tuple[list[Unit], dict[str, str]]:
    """Return operations and their names: where several share one, the trace may tell them apart.

    Args:
        found: each operation, with its name in full.
        told: the names in the trace.
    """
    full: dict[str, set[str]] = {}
    for unit, said in found:
        full.setdefault(unit.key, set()).add(said)
    apart = {key for key, each in full.items() if len(each) > 1 and each & told}
    units = [unit._replace(key=said) if unit.key in apart else unit for unit, said in found]
    return units, {said: unit.key for unit, (_, said) in zip(units, found, strict=True)}


def _written(frame: Frame, instruction: int, shorts: list[str]) -> str:
    row = int(frame.ops.first_row[instruction])
    if frame.ops.bracket[row] == Bracket.OVERLAP:
        return _overlap(shorts)
    return canonical(frame.instruction_text(instruction))


def _short(frame: Frame, row: int, before: tuple[int, ...], after: tuple[int, ...]) -> str:
    """Return the name of an operation as torch writes it, where torch has one."""
    ops = frame.ops
    kind, stage = Kind(int(ops.kind[row])), int(ops.stage[row])
    if kind in COMPUTE:
        return f"{stage}{kind.name}{int(ops.microbatch[row])}"
    if kind in _OF_STAGE:
        return f"{stage}{_WORDS.get(kind, kind.name)}"
    value = int(ops.value[row])
    if kind in {Kind.SEND, Kind.RECV} and value >= 0:
        what, of = kind_of(value), stage_of(value)
        if what in {ValueKind.F, ValueKind.B} and of < len(before):
            ends = {ValueKind.F: after, ValueKind.B: before}[what]
            home = of if kind is Kind.SEND else ends[of]
            there = ends[of] if kind is Kind.SEND else of
            if home >= 0 and there >= 0 and frame.run.placement[there] == ops.peer[row]:
                return f"{home}{kind.name}_{what.name}{microbatch_of(value)}"
    return canonical(frame.text(row))


def _loops(frame: Frame, rank: int) -> Iterator[tuple[str, str]]:
    """Yield what torch's loops call the operations of a rank with one stage."""
    stages = [stage for stage, home in enumerate(frame.run.placement) if home == rank]
    if len(stages) == 1:
        for m in range(frame.run.microbatches):
            yield f"Forward {m}", f"{stages[0]}F{m}"
            yield f"Backward {m}", f"{stages[0]}B{m}"


def _steps(programs: tuple[tuple[Unit, ...], ...], ordered: tuple[tuple[Named, ...], ...]) -> int:
    """Return how often most computations stand in the trace; of all operations where none does."""
    votes: Counter[int] = Counter()
    others: Counter[int] = Counter()
    for program, spans in zip(programs, ordered, strict=True):
        once = Counter(unit.key for unit in program)
        computing = {unit.key for unit in program if unit.kinds & {*COMPUTE}}
        told = Counter(each.key for each in spans)
        for key, times in once.items():
            if told[key]:
                chosen = votes if key in computing else others
                chosen[max(1, (told[key] + times // 2) // times)] += 1
    counts = votes or others
    return min(counts, key=lambda steps: (-counts[steps], steps), default=0)
