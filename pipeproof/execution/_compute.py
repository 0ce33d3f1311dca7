"""Forwards and backwards while a schedule runs: real autograd on what memory holds."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from pipeproof.execution._asked import Asked
from pipeproof.execution._carry import Carry
from pipeproof.execution._graph import Graph
from pipeproof.execution._graphs import Graphs
from pipeproof.execution._illegal import Fault, Illegal, Place
from pipeproof.execution._memory import Memory, flat, same
from pipeproof.execution._numbers import is_withdrawn
from pipeproof.execution._registers import Registers
from pipeproof.execution._touches import Key, Touched, Touches, what_of
from pipeproof.execution._weights import Held, Weights
from pipeproof.execution.reference import Reference
from pipeproof.execution.witness import Circumstances
from pipeproof.ir.actions import Kind
from pipeproof.ir.storage import KEPT, WEIGHT_GRADIENT, content_text
from pipeproof.ir.values import ValueKind

__all__ = ["Compute", "Made"]


class Made(NamedTuple):
    """What an operation has made: a value for each memory, and what it adds to gradients.

    `differs` says that a number of it is not that of the unsplit model. What is made of weights
    that are `withdrawn` later is compared with nothing: it has to be made again.
    """

    puts: tuple[tuple[Key, Tensor, int], ...] = ()
    adds: tuple[Tensor, ...] = ()
    illegal: tuple[Illegal, ...] = ()
    differs: bool = False
    withdrawn: bool = False


class _Entered(NamedTuple):
    """What an operation reads: values by what they are, and what is wrong with them."""

    data: Mapping[int, Tensor]
    wrong: tuple[Illegal, ...]
    withdrawn: bool = False


class _Ran(NamedTuple):
    """A backward: its graph, the gradient and what was kept that it read, what it found."""

    graph: Graph
    gradient: Tensor
    kept: Tensor
    found: tuple[Tensor, tuple[Tensor, ...]]


class Compute:
    """Runs the computations of a schedule, one at a time."""

    def __init__(
        self, touches: Touches, asked: Asked, reference: Reference, memory: Memory, weights: Weights
    ) -> None:
        self.touches, self.asked, self.reference = touches, asked, reference
        self.memory, self.weights, self.witness = memory, weights, reference.witness
        self.ops = asked.ops
        self.registers = Registers(asked, self.witness)
        self.carry = Carry(asked, self.witness)
        self.graphs = Graphs(asked, reference)
        self._at: dict[tuple[int, int], Circumstances] = {}
        self._labels: dict[int, Tensor] = {}
        self._losses: dict[int, tuple[Graph, Tensor]] = {}
        self._left: dict[tuple[int, int], Tensor] = {}
        self._parts: dict[tuple[int, int], dict[int, Held]] = {}
        self._withdrawn: set[tuple[int, int]] = set()

    def start(self, row: int) -> Made:
        """Run a computation on what is there now."""
        match Kind(int(self.ops.kind[row])):
            case Kind.F:
                return self._forward(row)
            case Kind.L:
                return self._loss(row)
            case Kind.R:
                return self._again(row)
            case _:
                return self._backward(row)

    def _identity(self, row: int) -> tuple[int, int]:
        return int(self.ops.stage[row]), int(self.ops.microbatch[row])

    def _shape(self, microbatch: int) -> torch.Size:
        return self.witness.given("X", microbatch).shape

    # reading

    def look(self, row: int, touched: Touched, size: int) -> tuple[Tensor, Illegal | None]:
        """Return what a memory holds where a row reads a value, and what is wrong with it."""
        cell = self.memory.cell(touched.key)
        if touched.given and not cell.touched:
            return flat(self._given(touched.value)), None
        data = self.memory.take(touched.key, size)
        if cell.value == touched.value:
            return data, None
        stage = int(self.ops.stage[row])
        lost = (cell.first,) if touched.given else ()
        places = (Place(row, stage), *map(Place, (*self.memory.culprits(touched.key), *lost)))
        fault = Fault.ABSENT
        if cell.freed_by is not None:
            fault = Fault.FREED
        elif cell.value >= 0 or cell.overwritten:
            fault = Fault.OTHER
        elif what_of(touched.value) == KEPT:
            fault = Fault.NO_FORWARD
        expected = content_text(self.ops, touched.value)
        found = content_text(self.ops, cell.value) if cell.value >= 0 else "nothing"
        return data, Illegal(fault, places, expected, found)

    def _given(self, value: int) -> Tensor:
        if what_of(value) != KEPT:
            return self.reference.value(value)
        stage, microbatch = (value >> 32) & 0xFFFFFF, value & 0xFFFFFFFF
        return self.graphs.given(stage, microbatch).kept

    def _enter(self, row: int) -> _Entered:
        """Read all values of a row; of what a backward keeps, as much as its graph needs."""
        shape = self._shape(int(self.ops.microbatch[row]))
        data, wrong, withdrawn = {}, [], False
        for touched in self.touches.reads[row]:
            kept = what_of(touched.value) == KEPT
            withdrawn |= self.memory.cell(touched.key).withdrawn and not kept
            size = self._kept_size(row) if kept else shape.numel()
            found, illegal = self.look(row, touched, size)
            data[touched.value] = found if kept else found.reshape(shape)
            if illegal is not None:
                wrong.append(illegal)
        wrong.sort(key=lambda each: each.fault is not Fault.NO_FORWARD)
        return _Entered(data, tuple(wrong), withdrawn)

    def _kept_size(self, row: int) -> int:
        identity = self._identity(row)
        return (self.graphs.get(*identity) or self.graphs.empty(*identity)).kept.numel()

    # computing

    def _forward(self, row: int) -> Made:
        stage, microbatch = self._identity(row)
        held = self.weights.read(row)
        parts = self._parts.setdefault((stage, microbatch), {})
        parts.update(held)
        puts = self.touches.writes[row]
        if all(what_of(each.value) != ValueKind.F for each in puts):
            return Made(illegal=tuple(self.weights.faults(row, held, visible=False)))
        entered = self._enter(row)
        self._parts.pop((stage, microbatch))
        at = self._circumstances(row)
        tensors = self.graphs.weights(stage, microbatch, parts)
        value = self._value(row, entered)
        graph = self.graphs.run((stage, microbatch), tensors, value + self.carry.before(row), at)
        self._at[stage, microbatch] = at
        lost = entered.withdrawn or any(is_withdrawn(each.number) for each in parts.values())
        (self._withdrawn.add if lost else self._withdrawn.discard)((stage, microbatch))
        output = self.reference.passed(microbatch).outputs[stage]
        differs = not lost and not same(graph.output, output)
        register = () if lost else self.registers.forward(row, value)
        made = {ValueKind.F: graph.output, KEPT: graph.kept}
        if any(what_of(each.value) == ValueKind.L for each in puts):
            made[ValueKind.L] = self._lost(
                microbatch, graph.output, self._label(entered, microbatch)
            )
        wrong = [*entered.wrong, *self.carry.forward(row, value), *register]
        if not lost:
            wrong.extend(self.weights.faults(row, held, visible=differs))
        committed = self.weights.uncommitted(row, held)
        if committed:
            kept = self.graphs.weights(stage, microbatch, {**parts, **committed})
            other = self.witness.run(kept, graph.leaf.detach(), at)
            alike = same(other, graph.output)
            wrong.append(self.weights.unsettled(row, held, committed, alike=alike))
        found = self._made(row, made, tuple(wrong), differs=differs)
        return found._replace(withdrawn=lost)

    def _circumstances(self, row: int) -> Circumstances:
        stage, microbatch = self._identity(row)
        said, own = self.asked.said(row), self.reference.at(stage, microbatch)
        rng = said.get("rng", own.rng if self.witness.random else None)
        return Circumstances(rng, said.get("ctx"))

    def _value(self, row: int, entered: _Entered) -> Tensor:
        """Return what a forward works on: its input, with its extra input where it has one."""
        stage, microbatch = self._identity(row)
        value = self._alias(entered, stage)
        if value is None:
            value = self.reference.passed(microbatch).inputs[stage]
        extra = entered.data.get((int(ValueKind.A) << 56) | microbatch)
        return self.reference.input_of(stage, microbatch, value) if extra is None else value + extra

    def _label(self, entered: _Entered, microbatch: int) -> Tensor:
        label = entered.data.get((int(ValueKind.Y) << 56) | microbatch)
        return self.witness.given("Y", microbatch) if label is None else label

    def _lost(self, microbatch: int, made: Tensor, label: Tensor) -> Tensor:
        """Compute the loss; return what its own backward needs."""
        self._labels[microbatch] = label
        graph = Graph(lambda _, x: self.witness.loss(x, label), [], made)
        self._losses[microbatch] = (graph, graph.kept[made.numel() :])
        return self._losses[microbatch][1]

    def _loss(self, row: int) -> Made:
        microbatch = int(self.ops.microbatch[row])
        entered = self._enter(row)
        made = next(
            (data for value, data in entered.data.items() if what_of(value) == ValueKind.F),
            torch.full(self._shape(microbatch), torch.nan, dtype=self.witness.dtype),
        )
        lost = self._lost(microbatch, made, self._label(entered, microbatch))
        code = (int(ValueKind.L) << 56) | microbatch
        differs = not entered.withdrawn and not same(lost, self.reference.value(code))
        found = self._made(row, {ValueKind.L: lost}, entered.wrong, differs=differs)
        return found._replace(withdrawn=entered.withdrawn)

    def _again(self, row: int) -> Made:
        """Recompute what a forward kept, from its input and with what this row reads."""
        stage, microbatch = self._identity(row)
        held, entered = self.weights.read(row), self._enter(row)
        shape = self._shape(microbatch)
        key = next(t.key for t in self.touches.reads[row] if what_of(t.value) == KEPT)
        code = next(value for value in entered.data if what_of(value) == KEPT)
        value = self._kept(row, entered, code)[: shape.numel()].reshape(shape)
        at = self._circumstances(row)
        before = self._at.get((stage, microbatch), self.reference.at(stage, microbatch))
        weights = self.graphs.weights(stage, microbatch, held)
        forward = self.graphs.get(stage, microbatch)
        graph = self.graphs.run((stage, microbatch), weights, value, at)
        output = self.reference.passed(microbatch).outputs[stage]
        differs = (stage, microbatch) not in self._withdrawn and not same(graph.output, output)
        differs = differs or (forward is not None and not same(graph.output, forward.output))
        wrong = [*entered.wrong, *self.weights.faults(row, held, visible=differs)]
        committed = self.weights.uncommitted(row, held)
        if committed:
            kept = self.graphs.weights(stage, microbatch, {**held, **committed})
            other = self.witness.run(kept, graph.leaf.detach(), at)
            alike = same(other, graph.output)
            wrong.append(self.weights.unsettled(row, held, committed, alike=alike))
        if at != before:
            place = (Place(row, stage),)
            wrong.append(Illegal(Fault.RECOMPUTED, place, _said(before), _said(at), differs))
        wrong.extend(self.registers.again(row, value))
        illegal = tuple(_seen(each, differs=differs) for each in wrong)
        return Made(((key, graph.kept, code),), (), illegal, differs)

    def _alias(self, entered: _Entered, stage: int) -> Tensor | None:
        """Return the input of a stage among what is read, None where it is not."""
        for value, data in entered.data.items():
            own = (value >> 32) & 0xFFFFFF == stage
            if what_of(value) == ValueKind.X or (what_of(value) == ValueKind.F and not own):
                return data
        return None

    def _backward(self, row: int) -> Made:
        kind, (stage, microbatch) = Kind(int(self.ops.kind[row])), self._identity(row)
        held, entered = self.weights.read(row), self._enter(row)
        graph = self.graphs.get(stage, microbatch) or self.graphs.empty(stage, microbatch)
        code = next(value for value in entered.data if what_of(value) == KEPT)
        kept, gradient = self._kept(row, entered, code), self._gradient(row, entered)
        found = graph.backward(gradient, kept, self.graphs.weights(stage, microbatch, held))
        wrong = list(entered.wrong)
        if kind is not Kind.W:
            wrong.extend(self.carry.backward(row, found[0]))
            found = (found[0] + self.carry.behind(row), found[1])
        self.witness.assert_exact(found[0], *found[1])
        if kind is Kind.I:
            self._left[stage, microbatch] = gradient
        elif kind is Kind.W and not self._brings(entered) and self._lacks_left(stage, microbatch):
            nothing = "nothing"
            expected = f"what {stage}I{microbatch} left"
            place = (Place(row, stage),)
            wrong.append(Illegal(Fault.NO_INPUT_GRADIENT, place, expected, nothing))
        wanted = self.reference.passed(microbatch)
        differs = kind is not Kind.W and not same(found[0], wanted.input_gradients[stage])
        if kind is not Kind.I:
            differs = differs or not all(map(same, found[1], wanted.gradients[stage]))
        wrong.extend(self.weights.faults(row, held, visible=differs))
        ran = _Ran(graph, gradient, kept, found)
        wrong.extend(self._unfit(row, held, ran, differs=differs))
        made = {ValueKind.B: found[0], WEIGHT_GRADIENT: found[1][0]}
        adds = () if kind is Kind.I else found[1]
        return self._made(row, made, tuple(wrong), differs=differs)._replace(adds=adds)

    def _unfit(
        self, row: int, held: Mapping[int, Held], ran: _Ran, *, differs: bool
    ) -> Iterator[Illegal]:
        """Yield what is wrong with a backward of a withdrawn forward, or on what is open."""
        stage, microbatch = self._identity(row)
        if (stage, microbatch) in self._withdrawn:
            own = f"what {stage}F{microbatch} kept"
            place = (Place(row, stage),)
            yield Illegal(Fault.NO_FORWARD, place, own, "that of withdrawn weights", differs)
        committed = self.weights.uncommitted(row, held)
        if committed:
            weights = self.graphs.weights(stage, microbatch, {**held, **committed})
            other = ran.graph.backward(ran.gradient, ran.kept, weights)
            alike = same(other[0], ran.found[0]) and all(map(same, other[1], ran.found[1]))
            yield self.weights.unsettled(row, held, committed, alike=alike)

    def _brings(self, entered: _Entered) -> bool:
        return any(what_of(value) == ValueKind.B for value in entered.data)

    def _kept(self, row: int, entered: _Entered, code: int) -> Tensor:
        """Return what memory holds of what a forward kept, also where that is in its input."""
        stage, microbatch = self._identity(row)
        kept, alias = entered.data[code].clone(), self._alias(entered, stage)
        if alias is not None:
            whole = self.reference.input_of(stage, microbatch, alias) + self.carry.before(row)
            kept[: alias.numel()] = flat(whole)
        for value, data in entered.data.items():
            own = what_of(value) == ValueKind.F and (value >> 32) & 0xFFFFFF == stage
            if own and not self._is_loss(entered):
                made = self.graphs.given(stage, microbatch).output
                kept[: data.numel()] += flat(data - made)
            elif what_of(value) == ValueKind.A:
                kept[: data.numel()] += flat(data - self.witness.given("A", microbatch))
        return kept

    def _is_loss(self, entered: _Entered) -> bool:
        """Whether nothing but an output says what the loss is."""
        return all(what_of(each) not in (ValueKind.B, ValueKind.L) for each in entered.data)

    def _gradient(self, row: int, entered: _Entered) -> Tensor:
        """Return the gradient of a stage's output."""
        stage, microbatch = self._identity(row)
        shape, own = self._shape(microbatch), None
        for value, data in entered.data.items():
            match what_of(value):
                case ValueKind.B:
                    return data
                case ValueKind.L:
                    return self._of_loss(microbatch, data).reshape(shape)
                case ValueKind.F if (value >> 32) & 0xFFFFFF == stage:
                    own = data
        if int(self.ops.kind[row]) != Kind.W and own is not None:
            label = self.witness.given("Y", microbatch)
            leaf = own.detach().requires_grad_()
            return torch.autograd.grad(self.witness.loss(leaf, label), [leaf])[0]
        nothing = torch.full(shape, torch.nan, dtype=self.witness.dtype)
        if self.asked.leaves_out(stage, microbatch, Kind.I):
            return self._output_gradient(stage, microbatch)
        return self._left.get((stage, microbatch), nothing)

    def _lacks_left(self, stage: int, microbatch: int) -> bool:
        """Whether an input gradient that is not left out of a fragment has left nothing."""
        there = (stage, microbatch) in self._left
        return not there and not self.asked.leaves_out(stage, microbatch, Kind.I)

    def _output_gradient(self, stage: int, microbatch: int) -> Tensor:
        """Return what the unsplit model brings to a stage's backward."""
        passed, stages = self.reference.passed(microbatch), self.asked.line(microbatch).stages
        made = passed.outputs[stage]
        behind = stages[stages.index(stage) + 1 :]
        if behind:
            return passed.input_gradients[behind[0]]
        leaf = made.detach().requires_grad_()
        label = self.witness.given("Y", microbatch)
        return torch.autograd.grad(self.witness.loss(leaf, label), [leaf])[0]

    def _of_loss(self, microbatch: int, kept: Tensor) -> Tensor:
        """Run the loss backwards, on what memory holds of it."""
        if microbatch not in self._losses:
            made = torch.zeros(self._shape(microbatch), dtype=self.witness.dtype)
            self._lost(microbatch, made, self.witness.given("Y", microbatch))
        graph, _ = self._losses[microbatch]
        one = torch.ones((), dtype=self.witness.dtype)
        return graph.backward(one, torch.cat((flat(graph.leaf), flat(kept))), [])[0]

    def _made(
        self, row: int, made: Mapping[int, Tensor], wrong: tuple[Illegal, ...], *, differs: bool
    ) -> Made:
        puts = tuple(
            (each.key, made[what_of(each.value)], each.value)
            for each in self.touches.writes[row]
            if what_of(each.value) in made
        )
        return Made(puts, (), tuple(_seen(each, differs=differs) for each in wrong), differs)


def _seen(illegal: Illegal, *, differs: bool) -> Illegal:
    return illegal._replace(visible=illegal.visible or differs)


def _said(at: Circumstances) -> str:
    return f"rng={at.rng or '-'} ctx={at.context or '-'}"
