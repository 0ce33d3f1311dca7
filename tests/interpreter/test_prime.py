"""A gradient is one of a model that existed exactly where no versions are mixed."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import TYPE_CHECKING

import pytest

from tests.interpreter import mutate_weights, weight_origins
from tests.interpreter.observation import observe
from tests.interpreter.prime import Used, consistent, gradient, is_square
from tests.interpreter.spec import read_spec
from tests.interpreter.weights import StageWeights

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.interpreter.drafts import Draft

_CHANGES = (
    mutate_weights.stash_left_out,
    mutate_weights.recomputed_with_latest,
    mutate_weights.reads_beside,
    mutate_weights.claims_another,
)


def mixed(text: str, microbatch: int) -> bool:
    """Whether a forward and its backward or recomputation read different versions."""
    faults = observe(text).faults
    return any(
        rule in ("PP601", "PP802") and where[1] in "BIR" and where[2:] == str(microbatch)
        for rule, where in faults
    )


def test_the_gradient_of_two_stages_is_the_one_of_autograd() -> None:
    # h = a x, y = b h, loss y * y / 2 with x = 1, a = 2, b = 3: dL/da = y b = 18, dL/db = y h = 12
    used = [Used(2, 2, 2), Used(3, 3, 3)]

    assert (gradient(used, 0, 1), gradient(used, 1, 1)) == (18, 12)


@pytest.mark.parametrize("choices", [*product((5, 7), repeat=4)])
def test_squares_are_gradients_of_one_tuple_of_versions(choices: tuple[int, ...]) -> None:
    forward, backward, below, again = choices
    used = [Used(below, below, again), Used(forward, backward, forward), Used(11, 11, 11)]

    square = all(is_square(gradient(used, s, 3) * used[s].forward) for s in range(3))

    assert square == (forward == backward and below == again)


@pytest.mark.parametrize("origin", ["stash", "recomputed", "vertical", "flush"])
def test_policies_that_hold_give_squares(origin: str) -> None:
    make: Callable[[Random], Draft] = getattr(weight_origins, origin)
    for seed in range(8):
        draft = make(Random(f"prime {origin} {seed}"))
        spec = read_spec(draft.text)
        stages = [StageWeights(spec, stage) for stage in range(spec.stages)]

        ids = {step.microbatch for program in spec.programs for step in program if step.kind == "F"}
        assert all(consistent(stages, m) for m in ids), draft.text


@pytest.mark.parametrize("change", _CHANGES, ids=lambda change: change.__name__)
def test_versions_are_mixed_exactly_where_the_product_is_no_square(
    change: Callable[[Random, Draft], Draft | None],
) -> None:
    verdicts = set()
    for seed in range(40):
        rng = Random(f"prime {change.__name__} {seed}")
        draft = change(rng, weight_origins.stash(rng))
        if draft is None:
            continue
        spec = read_spec(draft.text)
        stages = [StageWeights(spec, stage) for stage in range(spec.stages)]
        for microbatch in range(draft.microbatches):
            square = consistent(stages, microbatch)
            verdicts.add(square)

            assert square != mixed(draft.text, microbatch), draft.text
    assert verdicts == {True, False}
