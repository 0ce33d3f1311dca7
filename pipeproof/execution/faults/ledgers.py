"""A replay that keeps, for every operation, on what it worked and what it made.

Each operation that is kept can be run again from its state alone. A bit of what an operation
makes, or of weights that it reads, can be turned on purpose.
"""

from collections.abc import Sequence
from enum import Enum
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from pipeproof.execution._asked import Asked
from pipeproof.execution._compute import Compute, Made
from pipeproof.execution._gradients import Gradients
from pipeproof.execution._graph import Graph
from pipeproof.execution._graphs import Graphs
from pipeproof.execution._touches import what_of
from pipeproof.execution._weights import Held, Weights
from pipeproof.execution.faults.findings import DIRECTIONS
from pipeproof.execution.faults.localise import Entry
from pipeproof.execution.faults.states import Operation, Run, State
from pipeproof.execution.reference import Reference
from pipeproof.execution.replayer import Replayer
from pipeproof.execution.witness import Circumstances, InexactError, Witness, witness
from pipeproof.ir.actions import Kind
from pipeproof.ir.as_run import AsRun
from pipeproof.ir.transport import Match
from pipeproof.ir.values import ValueKind

__all__ = ["Bit", "Flip", "Recorded", "prepared", "recorded", "turned"]

_REPLAYED = (Kind.F, Kind.B, Kind.I, Kind.W)


class Bit(Enum):
    """Which bit of a number is turned."""

    SIGN = "sign"
    EXPONENT = "exponent"
    MANTISSA = "mantissa"


class Flip(NamedTuple):
    """A bit that is turned once: in the outputs of an operation, or in weights that it reads.

    `element` counts through all numbers of them, and around.
    """

    stage: int
    microbatch: int
    direction: str
    bit: Bit
    weights: bool = False
    element: int = 0


_WHOLE = {8: torch.int64, 4: torch.int32, 2: torch.int16}
_FRACTION = {torch.float64: 52, torch.float32: 23, torch.bfloat16: 7, torch.float16: 10}


def turned(values: Sequence[Tensor], bit: Bit, element: int) -> tuple[Tensor, ...]:
    """Return copies of some tensors, with one bit of one of their numbers turned.

    The lowest bit of the mantissa or of the exponent, or the sign.
    """
    made = [each.detach().clone(memory_format=torch.contiguous_format) for each in values]
    place = element % sum(each.numel() for each in made)
    for each in made:
        if place >= each.numel():
            place -= each.numel()
            continue
        bits = each.view(-1).view(_WHOLE[each.element_size()])
        low = {Bit.MANTISSA: 0, Bit.EXPONENT: _FRACTION[each.dtype], Bit.SIGN: -1}[bit]
        mask = torch.iinfo(bits.dtype).min if low < 0 else 1 << low
        bits[place] ^= mask
        break
    return tuple(made)


class _Marred(Weights):
    """Weights of which one has a bit turned while one operation reads them."""

    def __init__(self, asked: Asked, reference: Reference) -> None:
        super().__init__(asked, reference)
        self.armed: Flip | None = None

    def read(self, row: int) -> dict[int, Held]:
        """Return what a row reads of its stage's weights, and note it."""
        held = super().read(row)
        if self.armed is None or not held:
            return held
        wrong = turned([each.data for each in held.values()], self.armed.bit, self.armed.element)
        self.armed = None
        return {
            k: each._replace(data=data) for (k, each), data in zip(held.items(), wrong, strict=True)
        }


class _Graph(Graph):
    """A forward that notes what its last backward read: the gradient, what was kept, weights."""

    read: tuple[Tensor, Tensor, tuple[Tensor, ...]] | None = None

    def backward(
        self, gradient: Tensor, kept: Tensor, weights: Sequence[Tensor]
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Return the gradients of the input and of the weights."""
        self.read = self.read or (gradient, kept, tuple(weights))
        return super().backward(gradient, kept, weights)


class _Graphs(Graphs):
    def _made(self, weights: list[Tensor], value: Tensor, at: Circumstances) -> Graph:
        return _Graph(lambda own, entered: self.witness.run(own, entered, at), weights, value)


class _Noting(Compute):
    """Computes, and notes for each operation what it worked on and what it made."""

    def __init__(self, of: Compute, flip: Flip | None) -> None:
        super().__init__(of.touches, of.asked, of.reference, of.memory, of.weights)
        self.graphs = _Graphs(self.asked, self.reference)
        self.flip, self.ledger = flip, list[Entry]()

    def start(self, row: int) -> Made:
        """Run a computation on what is there now, and note it."""
        kind = Kind(int(self.ops.kind[row]))
        stage, microbatch = int(self.ops.stage[row]), int(self.ops.microbatch[row])
        direction = DIRECTIONS[kind] if kind in _REPLAYED else ""
        hit = self.flip is not None and self.flip[:3] == (stage, microbatch, direction)
        flip = self.flip if hit else None
        if flip is not None and flip.weights and isinstance(self.weights, _Marred):
            self.weights.armed = flip
        before = self.graphs.get(stage, microbatch)
        if isinstance(before, _Graph):
            before.read = None
        operation = Operation(int(self.ops.rank[row]), stage, microbatch, direction)
        try:
            made = super().start(row)
        except InexactError:
            self._note(operation, kind, Made())
            raise
        if flip is not None and not flip.weights:
            made = _marred(made, flip)
        if made.puts or made.adds:
            self._note(operation, kind, made)
        return made

    def _note(self, operation: Operation, kind: Kind, made: Made) -> None:
        graph = self.graphs.get(operation.stage, operation.microbatch)
        if operation.direction and isinstance(graph, _Graph):
            self.ledger.append(self._entry(operation, kind, graph, made))

    def _entry(self, operation: Operation, kind: Kind, graph: _Graph, made: Made) -> Entry:
        stage, microbatch = operation.stage, operation.microbatch
        at = self._at.get((stage, microbatch), self.reference.at(stage, microbatch))
        inputs: tuple[Tensor, ...] = (graph.leaf,)
        weights: Sequence[Tensor] = graph.weights
        run: Run = partial(_forward, self.witness, at)
        if kind is not Kind.F and graph.read is not None:
            gradient, kept, weights = graph.read
            own = kept[: graph.leaf.numel()].reshape(graph.leaf.shape)
            inputs = (own, gradient, *graph.weights)
            through = any(what_of(value) == ValueKind.B for _, _, value in made.puts)
            run = partial(_backward, self.witness, at, through=through, adds=bool(made.adds))
        state = State.of(inputs, weights, self._version(stage, microbatch), str(at))
        return Entry(operation, state, _outputs(made), run)

    def _version(self, stage: int, microbatch: int) -> int:
        return max(self.asked.version(stage, k, microbatch) for k in self.asked.weights)


def _outputs(made: Made) -> tuple[Tensor, ...]:
    """Return what peers compare: an output or input gradient, and gradients of weights."""
    puts = [data for _, data, value in made.puts if what_of(value) in (ValueKind.F, ValueKind.B)]
    return (*puts[:1], *made.adds)


def _marred(made: Made, flip: Flip) -> Made:
    """Return what was made with one bit turned, wherever it is handed to."""
    before = _outputs(made)
    after = iter(turned(before, flip.bit, flip.element))
    puts = list(made.puts)
    if len(before) > len(made.adds):
        wrong = next(after)
        puts = [
            (key, wrong if what_of(value) in (ValueKind.F, ValueKind.B) else data, value)
            for key, data, value in puts
        ]
    return made._replace(puts=tuple(puts), adds=tuple(after))


def _forward(model: Witness, at: Circumstances, state: State) -> tuple[Tensor, ...]:
    return (model.run(state.weights, state.inputs[0], at),)


def _backward(
    model: Witness, at: Circumstances, state: State, *, through: bool, adds: bool
) -> tuple[Tensor, ...]:
    value, gradient, *forward = state.inputs
    graph = Graph(lambda own, entered: model.run(own, entered, at), forward, value)
    found = graph.backward(gradient, graph.kept, state.weights)
    return (*(found[:1] if through else ()), *(found[1] if adds else ()))


def _step(model: Witness, state: State) -> tuple[Tensor, ...]:
    pairs = zip(state.weights, state.inputs, strict=True)
    return tuple(model.updated(weight, gradient) for weight, gradient in pairs)


class _Ending(Gradients):
    """Gradients that keep by what the last STEP changed each weight."""

    taken: dict[int, Tensor]

    def end(self, row: int) -> dict[int, Tensor]:
        """Take what a STEP or SKIP is about; return by what a STEP changes each weight."""
        self.taken = super().end(row)
        return self.taken


class Recorded(Replayer):
    """An execution whose `ledger` holds an entry for every F, B, I, W and STEP that has run."""

    def __init__(
        self,
        run: AsRun,
        match: Match,
        model: Witness,
        *,
        flip: Flip | None = None,
        late: bool = False,
    ) -> None:
        """Set up an execution that has not begun, in which one bit may be turned.

        Raises:
            UnsupportedFeatureError: the witness cannot show what the schedule asks.
        """
        super().__init__(run, match, model, late=late)
        self.weights = _Marred(self.asked, self.reference)
        self.gradients = self.ending = _Ending(self.asked, self.reference, late=late)
        self.compute.weights = self.weights
        self.noting = _Noting(self.compute, flip)
        self.compute = self.noting

    @property
    def ledger(self) -> Sequence[Entry]:
        """Every operation that has run, in the order in which they ran."""
        return self.noting.ledger

    def _trains(self, event: int, row: int, kind: Kind) -> None:
        stage = int(self.ops.stage[row])
        before = [self.weights.current(stage, k) for k in self.asked.weights]
        super()._trains(event, row, kind)
        if kind is not Kind.STEP or row not in self._updates:
            return
        made = self._updates[row]
        operation = Operation(int(self.ops.rank[row]), stage, -1, DIRECTIONS[kind])
        flip = self.noting.flip
        if flip is not None and flip[:3] == (stage, -1, operation.direction):
            wrong = turned(list(made.values()), flip.bit, flip.element)
            made = self._updates[row] = dict(zip(made, wrong, strict=True))
        state = State.of(self.ending.taken.values(), [before[k] for k in made])
        entry = Entry(operation, state, tuple(made.values()), partial(_step, self.witness))
        self.noting.ledger.append(entry)


def recorded(
    run: AsRun, match: Match, name: str = "linear", seed: int = 0, *, flip: Flip | None = None
) -> Recorded:
    """Return an execution of a schedule on a witness, that has not begun and notes all of it.

    Raises:
        UnsupportedFeatureError: the witness cannot show what the schedule asks.
    """
    return Recorded(run, match, prepared(run, name, seed), flip=flip)


def prepared(run: AsRun, name: str, seed: int) -> Witness:
    """Return the witness for a schedule, with equal copies and a scale that keeps numbers whole.

    Raises:
        UnsupportedFeatureError: the witness cannot show what the schedule asks.
    """
    torch.set_num_threads(1)
    model = witness(name, run.schedule.stages, run.schedule.microbatches, seed)
    asked = Asked(run, len(model.shapes))
    return model.like(asked.alike, asked.scale)
