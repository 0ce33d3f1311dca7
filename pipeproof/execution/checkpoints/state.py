"""All that an execution holds, shared out among its ranks, and an execution made of it again.

A part holds every attribute of the execution that is not made from the file: one that is added
there is in it without a word here.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property

import torch

from pipeproof.execution._asked import Asked
from pipeproof.execution._compute import Compute
from pipeproof.execution._events import Events
from pipeproof.execution._gradients import Gradients
from pipeproof.execution._memory import Memory
from pipeproof.execution._numbers import Names, Numbers
from pipeproof.execution._registers import Registers
from pipeproof.execution._touches import Touches
from pipeproof.execution._weights import Weights
from pipeproof.execution.checkpoints._holders import Entry, Holders, columns
from pipeproof.execution.checkpoints._trees import (
    CheckpointError,
    Tree,
    differences,
    digest,
    is_written,
    write_all,
)
from pipeproof.execution.checkpoints.caller import randomness
from pipeproof.execution.reference import Reference
from pipeproof.execution.replayer import Replayer, set_up
from pipeproof.execution.witness import EXACT, Witness
from pipeproof.ir.actions import Kind
from pipeproof.ir.as_run import AsRun
from pipeproof.ir.operations import Operations
from pipeproof.ir.transport import Match

__all__ = ["DRAINED", "IN_FLIGHT", "CheckpointError", "Part", "Setting", "parts_of", "unequal"]

FORMAT = 1
DRAINED, IN_FLIGHT = "drained", "in flight"
_UPDATING = (Kind.STEP, Kind.SKIP)
_OF_THE_FILE = (
    AsRun, Operations, Events, Asked, Reference, Touches, Witness, torch.dtype,
    Memory, Weights, Gradients, Compute, Registers,
)  # fmt: skip
_SETTLED = ("late", "slots", "_shards", "_nothing")
_BEGUN = ("_made", "_updates", "_messages")
_EVENTS, _TOLD = ("happened",), ("met", "compared", "ratio")


@dataclass(frozen=True, slots=True)
class Part:
    """What one rank holds of an execution, by name.

    `about` says of which execution, and when. `updates` are the STEP and SKIP rows that the rank
    is done with, `data` the microbatches that it has begun, `events` all that has happened at it,
    each in its order. `told` is what was met and compared. `pending` has begun and not ended:
    computations, updates, messages. `versions` are the weights, and which version each microbatch
    has read; `computed` what forwards ran on and what backwards left; `registers` what stages hand
    on. `random` are the states of all generators, `caller` is what the caller handed in.
    """

    about: dict[str, Tree]
    updates: dict[str, Tree]
    data: dict[str, Tree]
    events: dict[str, Tree]
    told: dict[str, Tree]
    pending: dict[str, Tree]
    memory: dict[str, Tree]
    versions: dict[str, Tree]
    gradients: dict[str, Tree]
    computed: dict[str, Tree]
    registers: dict[str, Tree]
    random: dict[str, Tree]
    caller: dict[str, Tree]

    def tree(self) -> dict[str, Tree]:
        """Return it as one tree."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @property
    def digest(self) -> str:
        """A digest of all of it, bit by bit."""
        return digest(self.tree())


def unequal(left: Part, right: Part) -> tuple[str, ...]:
    """Return what differs between two parts, bit by bit, as `field.name`."""
    pairs = (
        (each.name, getattr(left, each.name), getattr(right, each.name)) for each in fields(Part)
    )
    return tuple(f"{name}.{odd}" for name, *two in pairs for odd in differences(*two))


@dataclass(frozen=True)
class Setting:
    """What an execution runs: a schedule as run, what pairs its messages, and a witness."""

    run: AsRun
    match: Match
    witness: str = EXACT
    seed: int = 0
    late: bool = False

    def begin(self) -> Replayer:
        """Return an execution that has not begun.

        Raises:
            UnsupportedFeatureError: the witness cannot show what the schedule asks.
        """
        return set_up(self.run, self.match, self.witness, self.seed, late=self.late)

    @cached_property
    def names(self) -> dict[str, tuple[str, ...]]:
        """The names of what an execution holds, by field, as a checkpoint has them."""
        tables = tables_of(self.begin())
        return {field: tuple(own) for field, own in tables.items()}


def parts_of(
    replayer: Replayer,
    setting: Setting,
    *,
    step: int = -1,
    moment: str = IN_FLIGHT,
    caller: Mapping[str, Tree] | None = None,
) -> tuple[Part, ...]:
    """Return what each rank holds now; it shares no memory with the execution.

    Args:
        replayer: the execution.
        setting: what it runs.
        step: how many steps are over, for whoever looks for a checkpoint.
        moment: `DRAINED` leaves out what is only there between boundaries; that nothing of it is
            needed is for the caller to see (`boundaries.undrained`).
        caller: what the caller wants to find again.
    """
    holders, states = Holders(replayer), randomness()
    about, tables = about_of(setting, step, moment), tables_of(replayer)
    shared = {
        field: {name: holders.parts(name, tables[field][name]) for name in names}
        for field, names in names_at(setting, moment).items()
    }
    done = holders.parts("happened", replayer.happened)
    found = []
    for rank in range(holders.ranks):
        held = {
            field: write_all({name: columns(each[rank]) for name, each in own.items()})
            for field, own in shared.items()
        }
        updates, data = begun(replayer, done[rank])
        rest: dict[str, dict[str, Tree]] = {
            "about": {**about, "rank": rank},
            "updates": {"rows": list(updates)},
            "data": {"microbatches": list(data)},
            "random": states,
            "caller": dict(caller or {}),
        }
        found.append(Part(**held, **rest))
    return tuple(found)


def names_at(setting: Setting, moment: str) -> dict[str, tuple[str, ...]]:
    """Return the names of what a checkpoint holds by field, at a boundary or in flight."""
    if moment != DRAINED:
        return dict(setting.names)
    lasting = setting.names | dict.fromkeys(("memory", "computed"), ())
    return lasting | {"pending": tuple(n for n in lasting["pending"] if n not in _BEGUN)}


def tables_of(replayer: Replayer) -> dict[str, dict[str, object]]:
    """Return every attribute of an execution that is not made from the file, by field and name."""
    own = _attributes(replayer)
    names = {"events": _EVENTS, "told": _TOLD}
    rest = [name for name in own if name not in (*_EVENTS, *_TOLD)]
    found = {field: {name: own[name] for name in some} for field, some in names.items()}
    found["pending"] = {name: own[name] for name in rest}
    return found | {
        "memory": _attributes(replayer.memory),
        "versions": _attributes(replayer.weights),
        "gradients": _attributes(replayer.gradients),
        "computed": _attributes(replayer.compute),
        "registers": _attributes(replayer.registers),
    }


def _attributes(held: object) -> dict[str, object]:
    """Return the attributes of an object, and with a point those of the objects in it."""
    found = {}
    for name, value in vars(held).items():
        if isinstance(value, _OF_THE_FILE) or name in _SETTLED:
            continue
        if is_written(value) or not type(value).__module__.startswith("pipeproof.execution."):
            found[name] = _plain(value)
        else:
            found |= {f"{name}.{each}": own for each, own in _attributes(value).items()}
    return found


def _plain(value: object) -> object:
    """Return a table with the attributes of objects that know the file in place of these."""
    if isinstance(value, dict) and any(isinstance(each, Numbers) for each in value.values()):
        return {key: _numbers(each) for key, each in value.items()}
    return value


def _numbers(value: object) -> object:
    if not isinstance(value, Numbers):
        return value
    return {name: each for name, each in vars(value).items() if not isinstance(each, Names)}


def begun(replayer: Replayer, events: Iterable[Entry]) -> tuple[list[int], list[int]]:
    """Return, in their order, the updates that events end and the microbatches that they begin."""
    updates, data = [], dict[int, None]()
    for entry in events:
        event = entry.item
        if not isinstance(event, int) or event >= replayer.events.ends:
            continue
        for row in replayer.events.rows[event // 2]:
            kind = Kind(int(replayer.ops.kind[row]))
            if event % 2 and kind in _UPDATING:
                updates.append(row)
            elif not event % 2 and kind is Kind.F:
                data[int(replayer.ops.microbatch[row])] = None
    return updates, list(data)


def about_of(setting: Setting, step: int, moment: str) -> dict[str, Tree]:
    """Return of what a checkpoint is; what is taken up again must be of the same."""
    return {
        "format": FORMAT,
        "schedule": _identity(setting),
        "ranks": setting.run.schedule.ranks,
        "witness": setting.witness,
        "seed": setting.seed,
        "late": setting.late,
        "torch": str(torch.__version__),
        "moment": moment,
        "step": step,
    }


def _identity(setting: Setting) -> str:
    """Return a digest of a schedule as run, and of what pairs its messages."""
    run, ops = setting.run, setting.run.operations
    schedule, attributes = run.schedule, sorted(ops.attributes.items())
    said = (
        (setting.match.value, run.placement, run.copies, ops.comms, ops.handles, ops.names),
        (schedule.steps, schedule.microbatches, schedule.stages, schedule.pipelines),
        (schedule.gradients, schedule.described, schedule.profile),
        [(row, sorted(each.items())) for row, each in attributes],
    )
    into = hashlib.sha256(repr(said).encode())
    for column in (ops.rank, ops.position, ops.kind, ops.stage, ops.microbatch, ops.value):
        into.update(column.tobytes())
    for column in (ops.peer, ops.comm, ops.handle, ops.bracket):
        into.update(column.tobytes())
    return into.hexdigest()
