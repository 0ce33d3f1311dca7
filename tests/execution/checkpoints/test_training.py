from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipeproof.execution.checkpoints.boundaries import by_steps
from pipeproof.execution.checkpoints.caller import randomness
from pipeproof.execution.checkpoints.copies import Copies
from pipeproof.execution.checkpoints.decisions import Status
from pipeproof.execution.checkpoints.state import DRAINED, CheckpointError, unequal
from pipeproof.execution.checkpoints.training import Training
from pipeproof.execution.faults.ledgers import Bit, Flip, recorded
from pipeproof.execution.faults.localise import Says
from tests.execution.checkpoints.saved import PIPELINE, held, model, setting

if TYPE_CHECKING:
    from types import ModuleType

EXAMPLE = Path(__file__).parents[3] / "examples" / "ten_steps" / "run.py"
HERE = setting(PIPELINE)
ORDER = by_steps(HERE.begin(), model(PIPELINE).happens_before)
FORWARD = Flip(1, 2, "forward", Bit.SIGN, element=1)


def example() -> ModuleType:
    found = importlib.util.spec_from_file_location("ten_steps", EXAMPLE)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


@pytest.mark.parametrize("where", ["replay", pytest.param("step", marks=pytest.mark.slow)])
def test_ten_steps_on_four_ranks(where: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = example().main(["--in", where])

    lines = capsys.readouterr().out.splitlines()
    assert code == 0
    assert lines[3:6] == [
        "step  4  rejected: a fault was found in it",
        "         wrong value in its outputs: rank 3, stage 3, microbatch 7, backward",
        "         going on behind step 3, the last verified step",
    ]
    steps = [line.split()[1:3] for line in lines[:3] + lines[6:-1]]
    assert steps == [[str(n), "verified:"] for n in (1, 2, 3, 4, *range(5, 11))]
    assert lines[-1] == "step 10 is bitwise that of a run in which nothing happened"


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> tuple[Training, bool]:
    """A training without a fault, and whether it left the caller's generators alone."""
    training = Training(HERE, ORDER, Copies(tmp_path_factory.mktemp("healthy"), 2))
    before = str(randomness())
    training.run()
    return training, str(randomness()) == before


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Training:
    """A training in whose second step a bit is turned."""
    copies = Copies(tmp_path_factory.mktemp("faulty"), 2)
    training = Training(HERE, ORDER, copies, trained={2: FORWARD})
    training.run()
    return training


def test_without_a_fault_every_step_is_verified_at_once(healthy: tuple[Training, bool]) -> None:
    training, _ = healthy

    assert [each.step for each in training.attempts] == [1, 2]
    assert {each.decision.status for each in training.attempts} == {Status.VERIFIED}
    assert not [each.found for each in training.attempts if each.found]


def test_the_caller_is_left_as_it_was(healthy: tuple[Training, bool]) -> None:
    _, unchanged = healthy

    assert unchanged


def test_a_fault_is_named_and_rejected_by_every_rank_and_the_end_is_as_without(
    faulty: Training,
) -> None:
    clean = HERE.begin()
    for events in ORDER:
        clean.play(events)

    first, rejected, again = faulty.attempts
    assert rejected.found is not None
    assert rejected.found.says is Says.CULPRIT
    assert rejected.found.operation == (1, 1, 2, "forward")
    assert [each.status for each in rejected.decisions] == [Status.REJECTED] * 2
    assert rejected.recovery is not None
    assert rejected.recovery.step == first.step == 1
    assert again.decision.status is Status.VERIFIED
    ends = zip(held(clean, HERE, DRAINED), held(faulty.live, HERE, DRAINED), strict=True)
    assert not [name for pair in ends for name in unequal(*pair)]


def test_what_is_found_would_have_changed_the_weights() -> None:
    clean = HERE.begin()
    faulty = recorded(HERE.run, HERE.match, HERE.witness, HERE.seed, flip=FORWARD)
    for events in ORDER:
        clean.play(events)
        faulty.play(events)

    assert any(
        "versions._versions" in unequal(*pair)
        for pair in zip(held(clean, HERE, DRAINED), held(faulty, HERE, DRAINED), strict=True)
    )


def test_every_disk_tells_what_was_decided(faulty: Training) -> None:
    noted = faulty.copies.noted()

    assert noted == faulty.decisions
    assert [(each.step, each.status.value) for each in noted] == [
        (0, "verified"),
        (1, "verified"),
        (2, "rejected"),
        (2, "verified"),
    ]
    assert len(list(faulty.copies.folder.glob("rank-*/decisions.json"))) == 2


class Torn(Copies):
    """Copies of which one, of one rank, is torn when it is written first."""

    torn = False

    def keep(self, rank: int, step: int, data: bytes) -> None:
        hit = (rank, step, self.torn) == (1, 2, False)
        self.torn |= hit
        super().keep(rank, step, data[:-1] if hit else data)


def test_a_checkpoint_that_is_torn_is_never_verified(tmp_path: Path) -> None:
    training = Training(HERE, ORDER, Torn(tmp_path, 2))
    training.run()

    assert [each.decision.status for each in training.attempts] == [
        Status.VERIFIED,
        Status.REJECTED,
        Status.VERIFIED,
    ]
    assert "torn or altered" in training.attempts[1].decision.excluded[0]


def test_every_step_can_be_read_after_a_rank_is_lost_with_its_disk(
    healthy: tuple[Training, bool],
) -> None:
    training, _ = healthy
    training.copies.lose(0)

    assert not training.copies.unreadable(2)


def test_a_step_that_fails_every_time_ends(tmp_path: Path) -> None:
    class Always(Copies):
        def keep(self, rank: int, step: int, data: bytes) -> None:
            super().keep(rank, step, data[:-1] if step else data)

    with pytest.raises(CheckpointError, match="step 1 is not over after 2 attempts"):
        Training(HERE, ORDER, Always(tmp_path, 2)).run(most=2)
