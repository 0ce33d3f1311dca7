from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch

from pipeproof.errors import UnsupportedFeatureError
from tests.execution.streams.flowed import HELD, STORAGE, flowed, only, order, queues, running
from tests.semantics import made

if TYPE_CHECKING:
    from torch import Tensor

    from pipeproof.execution.streams.running import Running

SENT = made.text(*STORAGE["written while it is sent"][3], **HELD)


def broken_off(written: str, *, behind: str) -> Running:
    """A schedule in program order, up to an event in words."""
    model = only(written)
    begun = running(model, queues(0))
    events = list(order(model))
    words = [made.event(model.frame, event) for event in events]
    launches = begun.plan(model.happens_before, events)
    begun.play(launches[: words.index(behind) + 1])
    return begun


def storage(begun: Running, label: str) -> Tensor:
    stored = begun.run.storage
    assert stored is not None
    (number,) = [n for n, each in enumerate(stored.labels) if each.split()[0] == label]
    return begun.kernels.state.storage((-1, number))


def test_a_storage_is_no_number_until_what_changes_it_has_ended() -> None:
    before, after = (broken_off(SENT, behind=f"{moment} r0.0") for moment in ("start", "done"))

    assert storage(before, "s").isnan().all()
    assert not storage(after, "s").isnan().any()


def test_a_storage_that_is_given_back_is_no_number() -> None:
    written = made.text("LOAD X.0 buf=s; 0F0 in=s; FREE s", fragment=True)

    assert not storage(broken_off(written, behind="done r0.1"), "s").isnan().any()
    assert storage(broken_off(written, behind="done r0.2"), "s").isnan().all()


def test_a_message_holds_what_its_source_held_when_it_was_read() -> None:
    begun = broken_off(SENT, behind="drained F0.0")
    message = begun.kernels.state.numbers["message", 0]

    assert torch.equal(message, begun.unsplit.reference.passed(0).outputs[0].reshape(-1))


def test_weights_after_an_update_are_those_of_the_unsplit_model() -> None:
    model = only(made.text("0F0; 0B0; 0STEP; 0F1; 0B1; 0STEP", steps=2))
    ended = flowed(model, queues(0))
    numbers = ended.kernels.state.numbers

    for k in ended.unsplit.asked.weights:
        for version in (1, 2):
            wanted = ended.unsplit.reference.weight(0, k, version)
            assert torch.equal(numbers["weight", 0, k, version], wanted)
    assert not list(ended.differing())


def test_a_reduction_brings_the_other_replica() -> None:
    keys = {"microbatches": 2, "gradients": {"reduce": "required"}}
    kept = only(made.text("0F0; 0F1; 0B0; 0B1; 0REDUCE; 0STEP", **keys))
    lost = only(made.text("0F0; 0F1; 0B0; 0B1; 0STEP", **keys))

    assert not list(flowed(kept, queues(0)).differing())
    assert [each.text for each in flowed(lost, queues(0)).differing()] == [
        "0STEP finds other numbers in the gradient of stage 0"
    ] * 4


@pytest.mark.parametrize(
    ("program", "keys", "what"),
    [
        ("0F0; 0B0; 0NORM ranks=0; 0STEP", {"gradients": {"norm": "all"}}, "norms"),
        ("0F0 rng=a; 0B0", {}, "random state"),
        ("0F0 ctx=a; 0B0", {}, "contexts"),
        ("LOAD A.0 buf=s; 0F0 aux=s; 0B0", {}, "extra inputs"),
        ("0F0 state=a; 0B0", {}, "registers"),
        ("0F0; 0B0; 0REDUCE shard=0; 0STEP", {}, "reductions to a shard"),
        ("0F0; 0F1; 0B1; 0B0", {"segments": 2}, "segments"),
    ],
)
def test_what_is_not_run_is_said(program: str, keys: dict[str, object], what: str) -> None:
    model = only(made.text(program, **keys))

    with pytest.raises(UnsupportedFeatureError, match=f"streams do not show {what}"):
        running(model, queues(0))
