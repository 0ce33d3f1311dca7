"""Executions of small schedules, event by event, and the states between them."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from pipeproof.api import Asked, judge
from pipeproof.frontends import spec
from pipeproof.ir.operations import IntArray
from pipeproof.ir.reading import ReadOptions
from pipeproof.reports._states import Change, changes
from pipeproof.schedules import generate
from pipeproof.semantics.model import Model
from pipeproof.semantics.weak import movable
from pipeproof.verdict._running import enabled, happen
from pipeproof.verdict.result import FileReport, Result
from tests.semantics.made import event

if TYPE_CHECKING:
    from pipeproof.verdict.decision import Decision

State = dict[tuple[str, str], str]


def execution(model: Model, *, last: bool = False) -> IntArray:
    """The events of one execution until nothing more can happen; `last` takes the other end."""
    graph = model.progress
    happened = np.zeros(graph.size, np.bool_)
    found: list[int] = []
    while True:
        moment = happen(model, graph, np.asarray(found, np.int64))
        happened[model.events :] = (moment != np.iinfo(np.int64).max)[model.events :]
        able = enabled(model, graph, happened)
        moving = np.zeros(graph.size, np.bool_)
        if len(model.weak) and not np.any(able & ~graph.held):
            for each in movable(model, happened):
                moving[[model.frame.drained(each), model.frame.arrived(each)]] = True
        able &= ~graph.held | moving
        can = np.flatnonzero(able)
        if not len(can):
            return np.asarray(found, np.int64)
        found.append(int(can[-1 if last else 0]))
        happened[found[-1]] = True


def states(model: Model, events: IntArray) -> list[State]:
    """The state before the first event, and after each of them."""
    return folded(changes(model, events), len(events))


def folded(told: Sequence[Change], events: int) -> list[State]:
    """What changes come to, step by step; nothing stands where a value is empty."""
    found: list[State] = []
    state: State = {}
    left = list(told)
    for step in range(-1, events):
        while left and left[0].step == step:
            change = left.pop(0)
            state[change.group, change.name] = change.value
        found.append({key: value for key, value in state.items() if value})
    assert not left
    return found


def values(model: Model, events: IntArray, group: str, name: str) -> list[str]:
    """The values that a name has one after the other, the one from the start first."""
    told = [c for c in changes(model, events) if (c.group, c.name) == (group, name)]
    start = [] if told and told[0].step < 0 else [""]
    return start + [change.value for change in told]


def at(model: Model, events: IntArray, word: str) -> State:
    """The state right after the event that `tests.semantics.made.event` writes as `word`."""
    words = [event(model.frame, number) for number in events.tolist()]
    return states(model, events)[words.index(word) + 1]


def chosen(state: State, group: str) -> dict[str, str]:
    """What one group of a state holds."""
    return {name: value for (of, name), value in state.items() if of == group}


def happen_in(model: Model, words: Iterable[str]) -> IntArray:
    """The events that words name, in their order."""
    numbers = {event(model.frame, number): number for number in range(model.events)}
    return np.asarray([numbers[word] for word in words], np.int64)


def result(*texts: str, under: tuple[str, ...] = (), names: Sequence[str] = ()) -> Result:
    """What is found of specs, with all that a report that draws is given."""
    reports: list[FileReport] = []
    for number, said in enumerate(texts):
        name = names[number] if names else f"file{number}.yaml"
        document = spec.read(said, name, ReadOptions(generate=generate))[0]
        kept: list[tuple[Model, Decision]] = []
        verdict = judge(document, Asked(transports=under), kept)
        reports.append(FileReport(name, verdict, document=document, kept=tuple(kept)))
    return Result("1.2.3", tuple(reports))
