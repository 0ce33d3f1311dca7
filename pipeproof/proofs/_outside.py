"""What no certificate speaks of: section 10 of the language, at its end."""

from collections import defaultdict
from collections.abc import Iterator, Mapping

import numpy as np

from pipeproof.ir.accesses import TORCH_PROFILES, reads, supply, writes
from pipeproof.ir.actions import Kind
from pipeproof.ir.schedule import Plain
from pipeproof.ir.sets import among
from pipeproof.ir.transport import Queue
from pipeproof.ir.values import ValueKind
from pipeproof.lowering.communicators import splits_calls
from pipeproof.proofs._settled import is_left_open
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.model import Model
from pipeproof.semantics.relations._ties import owners
from pipeproof.semantics.relations.running import meetings

__all__ = ["outside", "unspoken", "unwritten"]

_STORAGE = frozenset({"PP501", "PP502", "PP503", "PP504", "PP505"})
_STUCK = frozenset({"PP205", "PP301"})
_SHORT = (Kind.SEND_F, Kind.RECV_F, Kind.SEND_B, Kind.RECV_B)


def outside(model: Model) -> str:
    """Return why no certificate speaks of a schedule under a transport, nothing where one can."""
    return next(_reasons(model.frame), "")


def unwritten(model: Model) -> str:
    """Return why no certificate speaks of any outcome of a schedule, nothing where one can."""
    return next(_of_words(model.frame), "")


def unspoken(model: Model, *, refuted: bool) -> frozenset[str]:
    """Return the rules of which no certificate speaks, where it does of others."""
    frame = model.frame
    found = _STORAGE if any(_left_open(frame)) else frozenset()
    if not refuted or frame.transport.queue is Queue.NONE:
        return found
    alone = bool(np.any(frame.run.is_message & (frame.ops.peer == frame.ops.rank)))
    return found | _STUCK if alone else found


def _reasons(frame: Frame) -> Iterator[str]:
    yield from _of_runtime(frame)
    yield from _of_programs(frame)
    if _differ_in_kind(frame):
        yield "the entries of a collective differ in kind"
    if _tie_twice(frame):
        yield "two stages of one rank are tied to others"


def _of_runtime(frame: Frame) -> Iterator[str]:
    run, pools = frame.run, _pools(frame)
    if "faults" in run.schedule.described:
        yield "faults are chosen"
    if is_left_open(run):
        yield "the runtime chooses"
    if any("take" in pool for pool in pools.values()):
        yield "slots are handed out at run time"
    if frame.transport.weak:
        yield "messages move only inside calls on their communicator"
    if "receive" in pools and "grad" in _registers(frame):
        yield "gradients that are received have a register and a pool"
    if len(frame.ops.comms) > 1 and not splits_calls(run, frame.transport):
        yield "its calls stand on another communicator under this transport"


def _of_programs(frame: Frame) -> Iterator[str]:
    ops = frame.ops
    stages = frame.run.schedule.stages
    named = (ops.value >= 0) & among(ops.value >> 56, (ValueKind.F, ValueKind.B))
    if np.any(ops.stage >= stages) or np.any(named & (((ops.value >> 32) & 0xFFFFFF) >= stages)):
        yield "a stage is named that does not exist"
    if frame.run.copies > 1 and np.any(ops.microbatch >= frame.run.microbatches):
        yield "an id beyond one step stands in two copies"
    yield from _of_words(frame)
    if _misses_its_rank(frame):
        yield "a collective lacks the rank that enters it"


def _of_words(frame: Frame) -> Iterator[str]:
    if np.any(frame.ops.is_kind(*_SHORT)):
        yield "a short message links nothing"


def _left_open(frame: Frame) -> Iterator[str]:
    """Yield what makes that no certificate speaks of storage."""
    said = frame.ops.attributes
    weights = set(np.flatnonzero(frame.ops.is_kind(Kind.W)).tolist())
    asked = {"gout"} if frame.run.schedule.profile in TORCH_PROFILES else {"gin", "gout"}
    if any(asked & said[row].keys() for row in weights & said.keys()):
        yield "a W names storage of gradients"
    if _names_a_loss(frame):
        yield "a loss that a forward computes is read where gin says"
    pools = _pools(frame)
    by_use = any(pool.get("slot") == "use mod slots" for pool in pools.values())
    if by_use and any({"param", "c", "bucket"} & each.keys() for each in said.values()):
        yield "parts of an operation use slots in turn"
    if by_use and _puts_again(frame):
        yield "a value that a rank has already uses a slot in turn"
    if {"receive", "stash"} & pools.keys() and frame.fragment and _comes_from_nowhere(frame):
        yield "a value of a pool is there from the start"


def _puts_again(frame: Frame) -> bool:
    """Whether a rank makes or receives a value more than once."""
    made = writes(frame.run)
    ranks = frame.ops.rank[made.rows]
    return len(made.rows) > len({*zip(ranks.tolist(), made.values.tolist(), strict=True)})


def _names_a_loss(frame: Frame) -> bool:
    """Whether `gin` stands at a backward of a last stage whose loss no L computes."""
    ops, schedule = frame.ops, frame.run.schedule
    last = [line[-1] for line in schedule.lines]
    computed = {*ops.microbatch[ops.is_kind(Kind.L)].tolist()}
    named = [row for row, said in ops.attributes.items() if "gin" in said]
    backward = ops.is_kind(Kind.B, Kind.I) & among(ops.stage, last)
    return any(backward[row] and int(ops.microbatch[row]) not in computed for row in named)


def _pools(frame: Frame) -> Mapping[str, Mapping[str, Plain]]:
    storage = frame.run.schedule.described.get("storage", {})
    pools = storage.items() if isinstance(storage, Mapping) else ()
    return {name: pool for name, pool in pools if isinstance(pool, Mapping)}


def _registers(frame: Frame) -> tuple[Plain, ...]:
    storage = frame.run.schedule.described.get("storage", {})
    said = storage.get("registers", ()) if isinstance(storage, Mapping) else ()
    return said if isinstance(said, tuple) else ()


def _misses_its_rank(frame: Frame) -> bool:
    ops = frame.ops
    for row in np.flatnonzero(ops.is_kind(Kind.COLL, Kind.TIE)).tolist():
        named = ops.attributes.get(row, {}).get("ranks", "").split(",")
        if str(ops.rank[row]) not in named:
            return True
    return False


def _differ_in_kind(frame: Frame) -> bool:
    said = frame.ops.attributes
    for meeting in meetings(frame):
        kinds = {tuple(said.get(row, {}).get(key) for key in ("from", "to")) for row in meeting[0]}
        if len(kinds) > 1:
            return True
    return False


def _tie_twice(frame: Frame) -> bool:
    ops, owner = frame.ops, owners(frame)
    stages: dict[tuple[object, ...], set[int]] = defaultdict(set)
    for row in np.flatnonzero(ops.is_kind(Kind.TIE)).tolist():
        said, stage = ops.attributes.get(row, {}), int(ops.stage[row])
        parameter, ranks = said.get("param", ""), said.get("ranks", "")
        if "," in ranks:
            key = (int(ops.rank[row]), owner(stage, parameter), parameter, ranks)
            stages[key].add(stage)
    return any(len(each) > 1 for each in stages.values())


def _comes_from_nowhere(frame: Frame) -> bool:
    """Whether an activation, a gradient, or what a forward kept is there from the start."""
    ops, reading = frame.ops, reads(frame.run)
    given = supply(ops, reading, writes(frame.run))
    absent = (given.writer < 0) & (given.later < 0)
    moved = among(reading.values >> 56, (ValueKind.F, ValueKind.B))
    backward = np.flatnonzero(ops.is_kind(Kind.B, Kind.I, Kind.W, Kind.R))
    forward = np.flatnonzero(ops.is_kind(Kind.F))
    size = frame.run.microbatches + 1
    own = ops.stage * size + ops.microbatch
    return bool(np.any(absent & moved)) or not np.all(among(own[backward], own[forward]))
