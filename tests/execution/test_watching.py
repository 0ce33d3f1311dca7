from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import torch

from pipeproof.execution.training import Trained, Training, Watcher
from pipeproof.execution.watching import Checkpoints, Identities, IdentityError, Recording
from pipeproof.execution.witness import WITNESSES
from tests.execution.test_training import equal
from tests.execution.trained import Known, known, written
from tests.semantics import made

QUICK = {("linear", 0), ("linear", 1), ("transformer", 0), ("transformer", 1)}
RUNS = [
    pytest.param(witness, seed, marks=[] if (witness, seed) in QUICK else pytest.mark.slow)
    for witness in WITNESSES
    for seed in range(20)
]
MODES: dict[str, Callable[[Path], Sequence[Watcher]]] = {
    "recording": lambda _: [Recording()],
    "identities": lambda _: [Identities()],
    "checkpoints": lambda folder: [Checkpoints(folder)],
    "all": lambda folder: [Recording(), Identities(), Checkpoints(folder)],
}


def trained(schedule: Known, witness: str, seed: int, watchers: Sequence[Watcher] = ()) -> Trained:
    optimizer = "descent" if witness == "linear" else "adamw"
    model = schedule.model(witness, seed)
    return Training(schedule.run, model, schedule.rows, optimizer, watchers).train(3)


@pytest.mark.parametrize(("witness", "seed"), RUNS)
def test_nothing_that_watches_changes_a_bit_of_losses_or_weights(
    witness: str, seed: int, tmp_path: Path
) -> None:
    schedule = known("1f1b", seed=seed)
    plain = trained(schedule, witness, seed)
    for mode in MODES.values():
        assert equal(trained(schedule, witness, seed, mode(tmp_path)), plain)


def test_every_operation_is_recorded_with_what_it_made() -> None:
    schedule, recording = known("1f1b"), Recording()

    trained(schedule, "linear", 0, [recording])

    assert [each.row for each in recording.recorded] == 3 * list(schedule.rows)
    computing = [r for r in schedule.rows if schedule.run.operations.text(r)[1] in "FB"]
    assert len([each for each in recording.recorded if each.digest]) == 3 * len(computing)


def test_recordings_of_two_runs_are_equal_and_of_other_data_are_not() -> None:
    found = []
    for seed in (0, 0, 1):
        recording = Recording()
        trained(known("1f1b"), "dropout", seed, [recording])
        found.append(recording.recorded)

    assert found[0] == found[1]
    assert found[0] != found[2]


class Spoiled(Identities):
    """Identities of a training in which something is written behind one operation."""

    def __init__(self, row: int, spoil: Callable[[Training], None]) -> None:
        super().__init__()
        self.row, self.spoil = row, spoil

    def after(self, training: Training, row: int, made: torch.Tensor | None) -> None:
        super().after(training, row, made)
        if row == self.row:
            self.spoil(training)


def flip(training: Training) -> None:
    training.values["F", 0, 1].view(-1)[0] += 1


def lose(training: Training) -> None:
    del training.values["F", 0, 1]


def write(training: Training) -> None:
    training.weights[1][0].data[0, 0] += 1


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (flip, "0F1 holds other numbers where it is read"),
        (lose, "0F1 is not there where it is read"),
        (write, "1F[0-9]: the weights of stage 1 have changed"),
    ],
)
def test_what_is_not_what_was_made_is_told(spoil: Callable[[Training], None], said: str) -> None:
    schedule = known("gpipe")
    ops = schedule.run.operations
    row = next(r for r in schedule.rows if ops.text(r).startswith("0F1"))
    first = next(r for r in schedule.rows if ops.text(r).startswith("1F0"))
    order = [r for r in schedule.rows if r != first]
    order.insert(order.index(row), first)

    with pytest.raises(IdentityError, match=said):
        Training(
            schedule.run, schedule.model("linear"), order, watchers=[Spoiled(row, spoil)]
        ).train(1)


@pytest.mark.parametrize(
    ("watchers", "said"),
    [
        ([Identities()], "0B1: the weights of stage 0 are not those of its forward"),
        ([], "modified by an inplace operation"),
    ],
    ids=["by digests", "by autograd alone"],
)
def test_an_update_between_a_forward_and_its_backward_is_told(
    watchers: list[Identities], said: str
) -> None:
    schedule = written(made.text("0F0; 0F1; 0B0; 0STEP; 0B1", microbatches=2, fragment=True))
    model = schedule.model("linear")

    with pytest.raises((IdentityError, RuntimeError), match=said):
        Training(schedule.run, model, schedule.rows, watchers=watchers).train(1)


@pytest.mark.parametrize("witness", sorted(WITNESSES))
def test_a_restart_from_a_checkpoint_goes_on_bit_by_bit(witness: str, tmp_path: Path) -> None:
    schedule = known("1f1b")
    optimizer = "descent" if witness == "linear" else "adamw"
    model = schedule.model(witness)
    whole = Training(schedule.run, model, schedule.rows, optimizer).train(4)
    checkpoints = Checkpoints(tmp_path)
    Training(schedule.run, model, schedule.rows, optimizer, [checkpoints]).train(2)

    again = Training(schedule.run, model, schedule.rows, optimizer)
    checkpoints.restore(again)
    found = again.train(2)

    assert checkpoints.written == 2
    assert found.digests == whole.digests[2:]
    assert found.losses == whole.losses[len(whole.losses) // 2 :]
    assert [each.name for each in tmp_path.iterdir()] == ["step.pt"]
