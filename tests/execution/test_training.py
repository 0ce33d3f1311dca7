from fractions import Fraction

import pytest
import torch

from pipeproof.errors import UnsupportedFeatureError
from pipeproof.execution.training import OPTIMIZERS, Trained, Training, unsplit
from pipeproof.execution.witness import EXACT, WITNESSES, Witness
from tests.execution.played import played
from tests.execution.trained import known, written
from tests.semantics import made

ASCENDING = ("1f1b", "gpipe", "interleaved_zero_bubble")
FLOATING = sorted(set(WITNESSES) - {EXACT})


def equal(left: Trained, right: Trained) -> bool:
    """Losses, weights after every step, and what optimizers keep, bit by bit."""
    tensors = [*left.state, *(each for stage in left.weights for each in stage)]
    others = [*right.state, *(each for stage in right.weights for each in stage)]
    same = len(tensors) == len(others) and all(map(torch.equal, tensors, others))
    return same and (left.losses, left.digests) == (right.losses, right.digests)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", ASCENDING)
def test_training_by_a_schedule_is_training_the_unsplit_model(name: str, seed: int) -> None:
    schedule = known(name, seed=seed)
    model = schedule.model(EXACT, seed)

    found = Training(schedule.run, model, schedule.rows).train(3)

    assert equal(found, unsplit(model, 3))
    assert len(set(found.digests)) == 3


@pytest.mark.parametrize("witness", FLOATING)
@pytest.mark.parametrize("optimizer", ["descent", *OPTIMIZERS])
def test_in_the_same_order_of_sums_so_it_is_with_every_optimizer(
    witness: str, optimizer: str
) -> None:
    schedule = known("1f1b")
    model = schedule.model(witness)

    found = Training(schedule.run, model, schedule.rows, optimizer).train(2)

    assert equal(found, unsplit(model, 2, optimizer))
    assert bool(found.state) is (optimizer != "descent")


def test_one_update_is_that_of_the_replayer() -> None:
    text = made.text("0F0; 0F1; 0B0; 0B1; 0STEP", microbatches=2, transport="buffered")
    schedule = written(text)

    found = Training(schedule.run, schedule.model(EXACT), schedule.rows).train(1)

    replayer = played(text)
    assert all(
        torch.equal(w, replayer.weights.current(0, k)) for k, w in enumerate(found.weights[0])
    )


def test_shares_are_those_that_stand_in_the_schedule() -> None:
    text = made.text("0F0; 0F1; 0B0 c=1/2; 0B1 c=1/2; 0STEP", microbatches=2)
    schedule = written(text)
    model = schedule.model("transformer")

    found = Training(schedule.run, model, schedule.rows).train(1)

    assert equal(found, unsplit(model, 1, share=Fraction(1, 2)))
    assert not equal(found, unsplit(model, 1))


def test_a_contribution_that_is_missing_trains_another_model() -> None:
    whole = known("1f1b")
    last = max(r for r in whole.rows if str(whole.run.operations.text(r)).startswith("0B"))

    model: Witness = whole.model(EXACT)
    found = Training(whole.run, model, [r for r in whole.rows if r != last]).train(1)

    assert not equal(found, unsplit(model, 1))


def test_what_is_more_than_training_stage_by_stage_is_refused_by_name() -> None:
    schedule = written(made.text("0F0; 0B0; 0SCALE by=1/2; 0STEP"))

    with pytest.raises(UnsupportedFeatureError, match="SCALE is not trained by"):
        Training(schedule.run, schedule.model(EXACT), schedule.rows)


def test_whole_numbers_are_trained_by_descent_alone() -> None:
    with pytest.raises(UnsupportedFeatureError, match="adamw leaves no whole numbers"):
        unsplit(known("gpipe").model(EXACT), 1, "adamw")
