"""Known schedules are torch's, operation by operation."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

from pipeproof.errors import UsageError
from pipeproof.frontends import torch_csv
from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import Bracket, Operations
from pipeproof.ir.reading import ReadOptions
from pipeproof.ir.schedule import Schedule
from pipeproof.schedules import generate, names

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data" / "torch"
COLUMNS = ("rank", "position", "member", "kind", "stage", "microbatch", "bracket")
CLASSES = {
    "gpipe": "GPipe",
    "1f1b": "1F1B",
    "looped_bfs": "LoopedBFS",
    "interleaved_1f1b": "Interleaved1F1B",
    "interleaved_zero_bubble": "InterleavedZeroBubble",
    "zbv": "ZBVZeroBubble",
    "dualpipev": "DualPipeV",
}
LOOPS = ("forward_only", "gpipe", "1f1b")
ONE_STAGE = ("gpipe", "1f1b")
RANKS = range(1, 9)
STAGES_PER_RANK = range(1, 5)
FILE = re.compile(r"(\w+)__r(\d+)_s(\d+)_m(\d+)__compute_only\.csv")

Table = npt.NDArray[np.int64]


class FakeStage:
    """What the constructors of torch's schedules read of a stage."""

    def __init__(self, stages: int, ranks: int) -> None:
        self.num_stages = stages
        self.group_size = ranks
        self.group_rank = 0
        self.submod = None


class Recorder:
    """A stage that notes what torch's loops have it compute."""

    def __init__(self, stages: int, stage: int) -> None:
        self.num_stages = stages
        self.stage_index = stage
        self.computed: list[tuple[Kind, int]] = []

    def forward_one_chunk(self, microbatch: int, *_: object, **__: object) -> None:
        self.computed.append((Kind.F, microbatch))

    def backward_one_chunk(self, microbatch: int, **_: object) -> None:
        self.computed.append((Kind.B, microbatch))

    def no_messages(self, _: int) -> list[object]:
        return []

    get_fwd_recv_ops = get_fwd_send_ops = get_bwd_recv_ops = get_bwd_send_ops = no_messages

    def perform_reduce_grad(self, _: int) -> None:
        """Nothing is reduced."""


class Corpus(NamedTuple):
    file: str
    name: str
    ranks: int
    stages: int
    microbatches: int


def corpus() -> Iterator[Corpus]:
    known = {torch_name: name for name, torch_name in CLASSES.items()}
    for entry in json.loads((DATA / "index.json").read_text(encoding="utf-8")):
        found = FILE.fullmatch(entry["file"])
        if found is not None and found[1] in known:
            yield Corpus(entry["file"], known[found[1]], *map(int, found.groups()[1:]))


def every_count(ranks: int) -> Sequence[int]:
    return range(1, 4 * ranks + 1)


def telling_counts(ranks: int) -> Sequence[int]:
    """The smallest numbers of microbatches, and those around multiples of the ranks."""
    around = {times * ranks + more for times in (1, 2, 4) for more in (-1, 0, 1)}
    return sorted(n for n in {1, 2, 3, 3 * ranks} | around if 1 <= n <= 4 * ranks)


def table_of(operations: Operations) -> Table:
    return np.stack([getattr(operations, column) for column in COLUMNS])


def table_from_torch(orders: dict[int, list[Any]]) -> Table:
    rows = []
    for rank in sorted(orders):
        written = [
            action
            for action in orders[rank]
            if action is not None and action.computation_type.value != "REDUCE_GRAD"
        ]
        for position, action in enumerate(written):
            bracket = Bracket.OVERLAP if action.sub_actions else Bracket.NONE
            for member, each in enumerate(action.sub_actions or (action,)):
                stage, kind, microbatch, _ = each
                rows.append((rank, position, member, Kind[kind.value], stage, microbatch, bracket))
    return np.array(rows, np.int64).reshape(-1, len(COLUMNS)).T


def count_from_zero(table: Table, ranks: int) -> Table:
    """Mend the last rank as torch 2.13 prints it for 1F1B: its forwards count from 1."""
    rank, kind, microbatch = (COLUMNS.index(name) for name in ("rank", "kind", "microbatch"))
    mended = table.copy()
    shifted = (table[rank] == ranks - 1) & (table[kind] == Kind.F)
    assert table[microbatch, shifted].tolist() == list(range(1, shifted.sum() + 1))
    mended[microbatch, shifted] -= 1
    return mended


def generated(name: str, ranks: int, microbatches: int, stages_per_rank: int) -> Schedule | None:
    try:
        return generate(
            name, ranks=ranks, microbatches=microbatches, stages_per_rank=stages_per_rank
        )
    except UsageError:
        return None


@pytest.fixture
def schedules(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Give torch's schedules, which make their order and do not add messages to it."""
    pytest.importorskip("torch.distributed.pipelining")
    from torch.distributed.pipelining import schedules as module  # noqa: PLC0415

    def add_nothing(*_: object, **__: object) -> None:
        return None

    monkeypatch.setattr(
        module._PipelineScheduleRuntime, "_prepare_schedule_with_comms", add_nothing
    )
    return module


def printed(
    schedules: Any, name: str, ranks: int, microbatches: int, stages_per_rank: int
) -> Table | None:
    """What torch's class states as its order, or nothing where its constructor refuses."""
    made = schedules.get_schedule_class(CLASSES[name])
    stages = [FakeStage(ranks * stages_per_rank, ranks) for _ in range(stages_per_rank)]
    try:
        schedule = made(stages[0] if name in ONE_STAGE else stages, microbatches)
    except ValueError:
        return None
    table = table_from_torch(schedule.pipeline_order)
    return count_from_zero(table, ranks) if name == "1f1b" else table


def compare_printed(
    schedules: Any, name: str, ranks: int, counts: Callable[[int], Sequence[int]]
) -> None:
    for stages_per_rank in [1] if name in ONE_STAGE else STAGES_PER_RANK:
        for microbatches in counts(ranks):
            shape = (ranks, microbatches, stages_per_rank)
            ours = generated(name, *shape)
            theirs = printed(schedules, name, *shape)
            if name == "1f1b" and microbatches < ranks:
                assert theirs is None, "torch's limit, which is not ours"
                continue
            assert (ours is None) == (theirs is None), shape
            if ours is not None and theirs is not None:
                assert np.array_equal(table_of(ours.operations), theirs), shape


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("name", CLASSES)
def test_order_is_what_torch_prints(schedules: Any, name: str, ranks: int) -> None:
    compare_printed(schedules, name, ranks, telling_counts)


@pytest.mark.slow
@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("name", CLASSES)
def test_order_is_what_torch_prints_everywhere(schedules: Any, name: str, ranks: int) -> None:
    compare_printed(schedules, name, ranks, every_count)


def executed(schedules: Any, name: str, ranks: int, microbatches: int, rank: int) -> Table:
    """What torch's loop of one rank computes; its limit on microbatches is passed by."""
    stage = Recorder(ranks, rank)
    made = schedules._ScheduleForwardOnly
    if name != "forward_only":
        made = schedules.get_schedule_class(CLASSES[name])
    loop = made(stage, max(ranks, microbatches))
    loop._n_microbatches = microbatches
    for method in ("_initialize_stage", "_maybe_compute_loss", "_maybe_get_loss"):
        setattr(loop, method, lambda *_: None)
    loop._update_losses = lambda *_: None
    loop._step_microbatches()
    rows = [(kind, rank, microbatch) for kind, microbatch in stage.computed]
    return np.array(rows, np.int64).T


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("name", LOOPS)
def test_order_is_what_torch_executes(schedules: Any, name: str, ranks: int) -> None:
    for microbatches in telling_counts(ranks):
        ops = generate(name, ranks=ranks, microbatches=microbatches).operations
        ours = np.stack([ops.kind, ops.stage, ops.microbatch])
        for rank in range(ranks):
            theirs = executed(schedules, name, ranks, microbatches, rank)
            assert np.array_equal(ours[:, ops.rank == rank], theirs), (ranks, microbatches, rank)


@pytest.mark.parametrize("case", list(corpus()), ids=lambda case: case.file.split("__compute")[0])
def test_order_is_that_of_the_file(case: Corpus) -> None:
    text = (DATA / case.file).read_text(encoding="utf-8")
    (document,) = torch_csv.read(text, case.file, ReadOptions())
    ours = generate(
        case.name,
        ranks=case.ranks,
        microbatches=case.microbatches,
        stages_per_rank=case.stages // case.ranks,
    )

    assert np.array_equal(table_of(ours.operations), table_of(document.schedule.operations))
    assert ours.transports == document.schedule.transports
    assert ours.profile == document.schedule.profile
    assert ours.lowering == document.schedule.lowering
    assert ours.stages == document.schedule.stages
    assert ours.microbatches == document.schedule.microbatches


def test_the_corpus_holds_every_class() -> None:
    assert {case.name for case in corpus()} == set(CLASSES)
    assert set(names()) == {*CLASSES, "forward_only"}


@pytest.mark.parametrize("name", names())
def test_every_known_schedule_has_its_page(name: str) -> None:
    page = ROOT / "docs" / "schedules" / f"{name}.md"

    assert page.read_text(encoding="utf-8").startswith(f"# {name}\n")
