"""An execution taken up again from what its ranks held: it goes on bitwise as the other would."""

from collections.abc import Mapping, Sequence
from functools import reduce

from torch import Tensor

from pipeproof.execution._graph import Graph
from pipeproof.execution._memory import flat
from pipeproof.execution._numbers import Numbers
from pipeproof.execution.checkpoints._holders import Holders, joined, rows
from pipeproof.execution.checkpoints._trees import (
    CheckpointError,
    Remains,
    Tree,
    digest,
    read_all,
)
from pipeproof.execution.checkpoints.caller import set_randomness
from pipeproof.execution.checkpoints.state import (
    DRAINED,
    IN_FLIGHT,
    Part,
    Setting,
    about_of,
    begun,
    names_at,
    tables_of,
)
from pipeproof.execution.replayer import Replayer
from pipeproof.execution.witness import Circumstances, Witness

__all__ = ["taken_up"]


def taken_up(setting: Setting, parts: Sequence[Part], into: Replayer | None = None) -> Replayer:
    """Return the execution that stands where its ranks left it; put all generators back.

    Every forward whose backward may still come is run again, from its own weights, input and random
    state, and must keep bitwise what it kept.

    Args:
        setting: what is run, as when the checkpoint was taken.
        parts: that of each rank, in any order.
        into: an execution that has not begun, in place of one that the setting makes.

    Raises:
        CheckpointError: a part is missing, of another execution or moment, or denies another.
    """
    in_order = _in_order(setting, parts)
    replayer = setting.begin() if into is None else into
    holders, tables = Holders(replayer), tables_of(replayer)
    for field, names in names_at(setting, str(in_order[0].about["moment"])).items():
        found = _joined(field, {name: tables[field][name] for name in names}, in_order)
        _put(replayer, field, found)
    _rebuild(replayer)
    _check_order(replayer, holders, in_order)
    set_randomness(in_order[0].random)
    return replayer


def _in_order(setting: Setting, parts: Sequence[Part]) -> list[Part]:
    """Return parts by rank, once they are known to be of one moment of this execution."""
    ranks = [part.about.get("rank") for part in parts]
    missing = [rank for rank in range(setting.run.schedule.ranks) if rank not in ranks]
    if missing or len(ranks) != setting.run.schedule.ranks:
        message = f"the checkpoint is of ranks {ranks}, and lacks {missing or 'none'}"
        raise CheckpointError(message)
    first = parts[0].about
    moment, step = first.get("moment"), first.get("step")
    if moment not in (DRAINED, IN_FLIGHT) or not isinstance(step, int):
        message = f"no moment of a checkpoint: {moment!r} of step {step!r}"
        raise CheckpointError(message)
    wanted = about_of(setting, step, str(moment))
    for part in parts:
        _check_about(wanted, part.about)
    if len({digest(part.random) for part in parts}) > 1:
        message = "the ranks do not say the same of the random state"
        raise CheckpointError(message)
    return [parts[ranks.index(rank)] for rank in range(len(ranks))]


def _check_about(wanted: Mapping[str, Tree], about: Mapping[str, Tree]) -> None:
    for name, said in wanted.items():
        if about.get(name) != said:
            message = f"the checkpoint is of {name} {about.get(name)!r}, and this is {said!r}"
            raise CheckpointError(message)


def _joined(field: str, expected: Mapping[str, object], parts: Sequence[Part]) -> dict[str, object]:
    """Return the tables of a field from all ranks.

    Raises:
        CheckpointError: a table is missing, or one is there that the execution does not have.
    """
    read = []
    for part in parts:
        said: dict[str, Tree] = getattr(part, field)
        if sorted(said) != sorted(expected):
            odd = sorted(set(said) ^ set(expected))
            message = f"rank {part.about['rank']}: {field}: {', '.join(odd)} is missing or unknown"
            raise CheckpointError(message)
        read.append({name: rows(table) for name, table in read_all(said).items()})
    return {
        name: joined(name, like, [each[name] for each in read]) for name, like in expected.items()
    }


def _put(replayer: Replayer, field: str, tables: Mapping[str, object]) -> None:
    own: object = {
        "memory": replayer.memory,
        "versions": replayer.weights,
        "gradients": replayer.gradients,
        "computed": replayer.compute,
        "registers": replayer.registers,
    }.get(field, replayer)
    for name, table in tables.items():
        *path, last = name.split(".")
        held = reduce(getattr, path, own)
        there = getattr(held, last)
        if isinstance(there, dict) and any(isinstance(each, Numbers) for each in there.values()):
            _put_numbers(there, table)
        else:
            setattr(held, last, table)


def _put_numbers(there: Mapping[int, Numbers], table: object) -> None:
    if not isinstance(table, dict) or sorted(table) != sorted(there):
        message = "the versions of a stage are missing"
        raise CheckpointError(message)
    for stage, numbers in there.items():
        for name, value in table[stage].items():
            setattr(numbers, name, value)


# forwards


def _rebuild(replayer: Replayer) -> None:
    """Run the forwards and losses again that remain."""
    witness, forwards = replayer.witness, _tables(replayer.compute.graphs)
    losses = _tables(replayer.compute)
    forwards["_ran"] = {
        identity: _forward(witness, f"forward {identity}", remains, forwards["_with"].get(identity))
        for identity, remains in forwards["_ran"].items()
    }
    losses["_losses"] = {
        microbatch: _loss(witness, microbatch, remains, losses["_labels"].get(microbatch))
        for microbatch, remains in losses["_losses"].items()
    }


def _tables(held: object) -> dict[str, dict[object, object]]:
    return vars(held)


def _forward(witness: Witness, name: str, remains: object, at: object) -> Graph:
    if not isinstance(remains, Remains) or not isinstance(at, Circumstances):
        message = f"what {name} ran with is missing"
        raise CheckpointError(message)

    def compute(weights: Sequence[Tensor], value: Tensor) -> Tensor:
        return witness.run(weights, value, at)

    return _again(name, remains, Graph(compute, remains.weights, remains.leaf))


def _loss(
    witness: Witness, microbatch: object, remains: object, label: object
) -> tuple[Graph, Tensor]:
    match remains, label:
        case (Remains() as left, Tensor() as kept), Tensor():
            graph = Graph(lambda _, made: witness.loss(made, label), [], left.leaf)
            return _again(f"loss {microbatch}", left, graph), kept
        case _:
            message = f"what loss {microbatch} ran with is missing"
            raise CheckpointError(message)


def _again(name: str, remains: Remains, graph: Graph) -> Graph:
    if digest(flat(graph.kept)) != digest(flat(remains.kept)):
        message = f"{name}, run again from the checkpoint, keeps other numbers"
        raise CheckpointError(message)
    return graph


def _check_order(replayer: Replayer, holders: Holders, parts: Sequence[Part]) -> None:
    """Check that the updates and the data of each rank are those of its events."""
    done = holders.parts("happened", replayer.happened)
    for rank, part in enumerate(parts):
        updates, data = begun(replayer, done[rank])
        if part.updates.get("rows") != updates or part.data.get("microbatches") != data:
            message = f"rank {rank}: the updates or the data are not those of its events"
            raise CheckpointError(message)
