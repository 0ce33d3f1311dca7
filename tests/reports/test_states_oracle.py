"""States against machines of the tests that know nothing of events: storage, channels, updates."""

import re
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from pipeproof.api import Asked, judge
from pipeproof.frontends import spec
from pipeproof.ir.actions import Kind
from pipeproof.ir.reading import ReadOptions
from pipeproof.reports._layout import execution
from pipeproof.reports._states import changes
from pipeproof.schedules import generate
from pipeproof.semantics.model import Model
from pipeproof.verdict.decision import Decision
from tests.interpreter.layout import bits
from tests.interpreter.machine import EMPTY, FREED, Machine
from tests.interpreter.program import UnsupportedTextError
from tests.interpreter.spec import read_spec
from tests.reports.executions import State, chosen, folded
from tests.reports.executions import execution as any_execution

PATHS = sorted(Path("specs/legal").glob("*.yaml"))
PARTS = pytest.mark.parametrize(
    "paths", [PATHS[::3], pytest.param(PATHS, marks=pytest.mark.slow)], ids=["some", "all"]
)
TIMES = re.compile(r"(\S+?)(?: by \S+)? (posted|on its way|awaited)(?:, |; |$)")


def runnable(path: Path) -> Machine | None:
    """The machine of a schedule, None where it does not run it."""
    text = path.read_text()
    try:
        return None if "match: tag" in text else Machine(read_spec(text))
    except (UnsupportedTextError, ValueError, KeyError, AssertionError):
        return None


@cache
def kept_of(path: Path) -> list[tuple[Model, Decision]]:
    """What a schedule was judged by, under each transport."""
    kept: list[tuple[Model, Decision]] = []
    document = spec.read(path.read_text(), path.name, ReadOptions(generate=generate))[0]
    judge(document, Asked(), kept)
    return [each for each in kept if each[0].events < 2_000]


class Beside:
    """A machine that takes the events of an execution, one by one."""

    def __init__(self, machine: Machine, model: Model) -> None:
        self.machine, self.model = machine, model
        self.state = machine.initial()
        rows = np.flatnonzero(model.frame.run.is_message)
        assert len(rows) == len(machine.ends)
        self.end_of = {row: number for number, row in enumerate(rows.tolist())}

    def take(self, event: int) -> None:
        frame = self.model.frame
        kind, number = frame.owner(event)
        if kind == "instruction":
            self.go_on(int(frame.instruction_rank[number]))
        elif kind == "transfer":
            arrived = (event - frame.first_transfer) % 2
            row = int((frame.pairing.receive if arrived else frame.pairing.send)[number])
            self.state = self.machine._complete(self.state, self.end_of[row])

    def go_on(self, rank: int) -> None:
        """Let an instruction start, or end: the model says when it may."""
        machine, taken = self.machine, self.state.taken
        stage = machine.steps[rank][taken[rank] // 2]
        after = (*taken[:rank], taken[rank] + 1, *taken[rank + 1 :])
        self.state = self.state._replace(taken=after)
        if taken[rank] % 2:
            self.state = machine._finish(self.state, stage.agent)
            return
        self.state = machine._begin(self.state, stage.agent)
        for number in bits(stage.posts):
            self.state = machine._begin(self.state, machine.ends[number].agent)

    def channels(self) -> Counter[tuple[str, str, str]]:
        """What is under way: channel, value, word."""
        found: Counter[tuple[str, str, str]] = Counter()
        complete = self.state.complete
        for number, end in enumerate(self.machine.ends):
            if not self.machine.posted(self.state, number):
                continue
            rank, peer, is_send = end.agent.rank, end.message.peer, end.message.kind == "SEND"
            name = f"r{rank}→r{peer}" if is_send else f"r{peer}→r{rank}"
            name += f" on {end.message.get('comm')}" if end.message.get("comm") else ""
            over = bool(complete >> number & 1)
            if not over:
                found[name, end.message.value, "posted" if is_send else "awaited"] += 1
            elif is_send and not (end.partner >= 0 and complete >> end.partner & 1):
                found[name, end.message.value, "on its way"] += 1
        return found

    def holds(self) -> dict[str, tuple[set[str], bool]]:
        """What each storage holds and whether it is being written, by rank and name."""
        found: dict[str, tuple[set[str], bool]] = {}
        for rank, index in enumerate(self.machine.index):
            for name, number in index.items():
                cell = self.state.cells[rank][number]
                contents = set() if cell.holds in (EMPTY, FREED) else set(cell.holds)
                found[f"r{rank} {plain(name)}"] = (contents, bool(cell.writers))
        return found

    def read(self) -> set[str]:
        """The storage that somebody is reading."""
        found: set[str] = set()
        for agent in self.machine._readers(self.state):
            names = {number: name for name, number in self.machine.index[agent.rank].items()}
            found |= {f"r{agent.rank} {plain(names[number])}" for _, _, number in agent.reads}
        return found


def plain(name: str) -> str:
    """A storage of the machine as a state names it."""
    if kept := re.fullmatch(r"own:K(\d+)\.(\d+)", name):
        return f"what {kept[1]}F{kept[2]} kept"
    if slot := re.fullmatch(r"(\w+):(\d+):(\d+)", name):
        return f"slot {slot[3]} of {slot[1]}"
    return name.removeprefix("own:").replace("register:", "register ")


def told_channels(state: State) -> Counter[tuple[str, str, str]]:
    return Counter(
        (name, value, word)
        for name, said in chosen(state, "channels").items()
        if name.startswith("r")
        for value, word in TIMES.findall(said)
    )


def compare(beside: Beside, state: State) -> int:
    """How many storages were compared; all of them are in the same state."""
    storage = chosen(state, "storage")
    given = {f"r{rank} {plain(name)}" for rank, each in enumerate(beside.machine.ranks)
             for name in each.given}  # fmt: skip
    holds = beside.holds()
    assert told_channels(state) == beside.channels()
    for name in beside.read() - given:
        assert name in storage, name
    for name, said in storage.items():
        contents, writing = holds.get(name, (set(), True))
        assert writing or contents, name
        if name in holds:
            assert ("owned by" in said or "being written" in said) <= writing
    return len(storage)


def legal(path: Path) -> list[tuple[Model, Decision]]:
    """The models of a schedule under which it is legal, in one copy of its programs."""
    found = [(model, decision) for model, decision in kept_of(path) if not decision.broken]
    return [each for each in found if each[0].frame.run.copies == 1]


@PARTS
def test_storage_and_channels_are_those_of_the_interpreter(paths: list[Path]) -> None:
    compared = 0
    for path in paths:
        machine = runnable(path)
        for model, _ in legal(path) if machine is not None else ():
            assert machine is not None
            for last in (False, True) if model.events < 200 else ():
                events = any_execution(model, last=last)
                states = folded(changes(model, events), len(events))
                beside = Beside(machine, model)
                compared += compare(beside, states[0])
                for event, state in zip(events.tolist(), states[1:], strict=True):
                    beside.take(event)
                    compared += compare(beside, state)
    assert compared > 1_000


@PARTS
def test_a_legal_execution_ends_with_nothing_under_way_and_every_rank_at_its_end(
    paths: list[Path],
) -> None:
    ended = 0
    for path in paths:
        for model, decision in kept_of(path):
            if decision.broken or not decision.complete:
                continue
            events = execution(model, decision, None)
            state = folded(changes(model, events), len(events))[-1]
            assert chosen(state, "channels") == {}, path.name
            assert set(chosen(state, "ranks").values()) == {"at its end"}
            words = ("being ", "owned by", "in flight")
            assert not [said for said in state.values() if any(word in said for word in words)]
            ended += 1
    assert ended > 50


PLAIN = (
    *(Kind.ZERO, Kind.SCALE, Kind.TIE, Kind.STALE, Kind.ROLLBACK, Kind.COMMIT, Kind.REDUCE),
    *(Kind.SKIP, Kind.NORM, Kind.GATHER),
)


class Counted:
    """What STEPs and backwards come to, counted event by event."""

    def __init__(self, model: Model) -> None:
        self.frame = model.frame
        self.steps: Counter[int] = Counter()
        self.added: dict[int, list[int]] = defaultdict(list)

    def take(self, event: int) -> None:
        if event >= self.frame.ends or event % 2 == 0:
            return
        ops = self.frame.ops
        for row in np.flatnonzero(ops.instruction == event // 2).tolist():
            stage, kind = int(ops.stage[row]), Kind(int(ops.kind[row]))
            if kind is Kind.STEP:
                self.steps[stage] += 1
                self.added[stage].clear()
            elif kind in (Kind.B, Kind.W):
                self.added[stage].append(int(ops.microbatch[row]))


def microbatches(said: str) -> list[int]:
    """The microbatches that a gradient says it holds."""
    found: list[int] = []
    for low, high in re.findall(r"(\d+)(?:-(\d+))?", said):
        found += range(int(low), int(high or low) + 1)
    return found


@PARTS
def test_versions_and_gradients_are_those_that_are_counted(paths: list[Path]) -> None:
    compared = 0
    for path in paths:
        for model, decision in legal(path):
            ops = model.frame.ops
            named = any({"param", "c", "mode"} & said.keys() for said in ops.attributes.values())
            if named or np.any(ops.is_kind(*PLAIN)):
                continue
            events, counted = execution(model, decision, None), Counted(model)
            states = folded(changes(model, events), len(events))
            for event, state in zip(events.tolist(), states[1:], strict=True):
                counted.take(event)
                for name, said in chosen(state, "versions").items():
                    if re.fullmatch(r"stage \d+", name):
                        number = counted.steps[int(name.split()[1])]
                        assert re.fullmatch(
                            rf"version {number}(, {number + 1} being written)?", said
                        )
                        compared += 1
                gradients = chosen(state, "gradients")
                for stage, added in counted.added.items():
                    assert microbatches(gradients.get(f"stage {stage}", "")) == added
    assert compared > 500


@PARTS
def test_no_more_values_live_on_a_rank_than_the_verdict_says_and_as_many_are_kept(
    paths: list[Path],
) -> None:
    found = 0
    for path in paths:
        document = spec.read(path.read_text(), path.name, ReadOptions(generate=generate))[0]
        kept: list[tuple[Model, Decision]] = []
        verdict = judge(document, Asked(live=True), kept)
        for (model, decision), told in zip(kept, verdict.transports, strict=False):
            if decision.broken or model.frame.run.storage is not None or told.outcomes > 1:
                continue
            events = execution(model, decision, None)
            most = counts(folded(changes(model, events), len(events)))
            live = {(each.rank, each.kind): each for each in told.live}
            for (rank, kind), number in most.items():
                assert number <= live[rank, kind].number, (path.name, rank, kind)
            for (rank, kind), each in live.items():
                if kind == "kept" and each.exact and each.number:
                    assert most[rank, kind] == each.number, path.name
                    found += 1
    assert found > 15


def counts(states: list[State]) -> dict[tuple[int, str], int]:
    """The most of each kind that lives on a rank in any state."""
    most: dict[tuple[int, str], int] = {}
    for state in states:
        own: Counter[tuple[int, str]] = Counter()
        for name, said in chosen(state, "storage").items():
            known = re.fullmatch(r"r(\d+) (?:(what) \d+F\d+ kept|([FB])\d+\.\d+.*)", name)
            times = re.search(r"held (\d+) times", said)
            if known is not None:
                kind = "kept" if known[2] else {"F": "activations", "B": "gradients"}[known[3]]
                own[int(known[1]), kind] += int(times[1]) if times else 1
        for key, number in own.items():
            most[key] = max(most.get(key, 0), number)
    return most
