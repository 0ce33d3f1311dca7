"""What is asked of a solver: executions of a graph of guards, and how far they come."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from pipeproof.engines._smt_guards import Guards
from pipeproof.ir.operations import IntArray
from pipeproof.semantics.model import Graph, Model
from pipeproof.semantics.weak import movable

__all__ = ["Execution", "Executions", "ExhaustedError", "Open", "Solver", "State", "furthest"]

Events = npt.NDArray[np.bool_]


class ExhaustedError(Exception):
    """A question was left open because the solver may do no more."""


class State(NamedTuple):
    """Which events have happened, and which others may; both of shape `(size,)`."""

    happened: Events
    allowed: Events

    @staticmethod
    def first(graph: Graph) -> "State":
        """Return the state in which nothing has happened and everything may."""
        return State(np.zeros(graph.size, np.bool_), np.ones(graph.size, np.bool_))


class Execution(NamedTuple):
    """When each event happens, -1 for never, and in which stretch of the execution.

    What a solver finds has moment 0 where it had happened before. Only weak communicators divide
    an execution: in odd stretches their messages move.
    """

    moment: IntArray
    stretch: IntArray

    @property
    def happened(self) -> Events:
        """Which events happen, shape `(size,)`."""
        return np.asarray(self.moment >= 0)

    def sorted(self, events: Events) -> IntArray:
        """Return those of the marked events that happen, in their order."""
        chosen = np.flatnonzero(events & self.happened)
        return chosen[np.lexsort((chosen, self.moment[chosen]))]


class Open(NamedTuple):
    """A hold that is over once all of `ends` have happened."""

    weight: int
    ends: tuple[int, ...]


class Executions(Protocol):
    """The executions of a graph from a state on."""

    def ask(
        self,
        happen: Sequence[int] = (),
        absent: Sequence[int] = (),
        *,
        live: tuple[Open, ...] = (),
        more: int = -1,
    ) -> Execution | None:
        """Return an execution in which some events happen and others do not; None for none.

        Args:
            happen: what happens.
            absent: what does not.
            live: what weighs, as long as it is not over.
            more: what all that is live weighs more than.

        Raises:
            ExhaustedError: the solver may do no more.
        """


class Solver(Protocol):
    """What finds executions."""

    def executions(self, guards: Guards, state: State, *, closed: bool = False) -> Executions:
        """Return the executions from a state on; with `closed` only the furthest."""


def furthest(solver: Solver, model: Model, guards: Guards) -> Execution:
    """Return the furthest execution of a graph, in which everything happens that can.

    Where nothing else can happen, all messages on weak communicators move that can, and then it
    goes on from there.

    Raises:
        ExhaustedError: the solver may do no more.
    """
    graph, frame = guards.graph, model.frame
    moving = np.arange(graph.size) >= frame.first_transfer
    run = Execution(np.full(graph.size, -1, np.int64), np.full(graph.size, -1, np.int64))
    stretch = 0
    while True:
        _go_on(solver, guards, run, ~graph.held, stretch)
        if not len(model.weak):
            return run
        transfers = movable(model, run.happened)
        able = ~graph.held
        able[frame.drained(transfers)] = able[frame.arrived(transfers)] = True
        if not _go_on(solver, guards, run, moving & able, stretch + 1):
            return run
        stretch += 2


def _go_on(solver: Solver, guards: Guards, run: Execution, able: Events, stretch: int) -> bool:
    """Let all happen that can among the events that are `able`; return whether any did."""
    state = State(run.happened, able & ~run.happened)
    found = solver.executions(guards, state, closed=True).ask()
    if found is None:
        message = "guards without any execution"
        raise AssertionError(message)
    more = np.flatnonzero(found.happened & ~state.happened)
    run.moment[more] = found.moment[more] + run.moment.max(initial=-1)
    run.stretch[more] = stretch
    return len(more) > 0
