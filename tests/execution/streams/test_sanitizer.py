from __future__ import annotations

import sys

import pytest

from pipeproof.errors import UnsupportedFeatureError
from pipeproof.execution.streams.running import Pace
from pipeproof.execution.streams.sanitizer import Sanitized
from tests.execution.played import SPECS, document, models
from tests.execution.streams.flowed import RACES, STORAGE, flowed, only, queues, text

LEGAL = (
    "one-buffer-short-fixed",
    "output-freed-before-sent-fixed",
    "receive-without-wait-fixed",
    "scaled-during-reduction-fixed",
    "slot-freed-after-the-signal-fixed",
    "slot-guarded-by-itself-fixed",
    "two-receives-one-slot-fixed",
)


def watched(name: str, *, legal: bool, pace: Pace = Pace.FREE) -> tuple[set[str], list[str]]:
    """The storages that race by what they are called, and what each race is."""
    device = Sanitized(queues(1))
    ended = flowed(only(text(name, legal=legal)), device, pace=pace)
    memories, stored = ended.kernels.memories(), ended.run.storage
    labels = stored.labels if stored is not None else ()
    keys = {memories.get(race.memory) for race in device.races}
    named = {"a gradient" if key is None else labels[key[1]] for key in keys}
    return named, [f"{race.kernel}, {race.before}" for race in device.races]


@pytest.mark.parametrize("name", STORAGE)
def test_no_race_is_found_where_the_schedule_is_legal(name: str) -> None:
    for pace in (Pace.FREE, Pace.ANY):
        assert watched(name, legal=True, pace=pace) == (set(), [])


@pytest.mark.parametrize("name", RACES)
def test_a_race_is_found_at_the_storage_that_two_use_at_once(name: str) -> None:
    named, _ = watched(name, legal=False)

    assert named == {"s"}


def test_a_race_names_both_that_use_a_storage() -> None:
    _, told = watched("freed while it is sent", legal=False)

    assert told[0] == "SEND F0.0 to=1 h=a buf=s of rank 0, FREE s of rank 0" or (
        told[0] == "FREE s of rank 0, SEND F0.0 to=1 h=a buf=s of rank 0"
    )


@pytest.mark.parametrize("name", ["added while it is reduced", "used while it is reduced"])
def test_a_gradient_that_is_reduced_meanwhile_races(name: str) -> None:
    assert watched(name, legal=False)[0] == {"a gradient"}


@pytest.mark.parametrize("name", ["overwritten unread", "read from another storage"])
def test_what_is_wrong_in_the_order_of_one_program_is_no_race(name: str) -> None:
    device = Sanitized(queues(1))
    ended = flowed(only(text(name, legal=False)), device)

    assert list(ended.differing())
    assert not device.races


@pytest.mark.parametrize("name", LEGAL)
def test_shipped_legal_schedules_do_not_race(name: str) -> None:
    for model in models(document((SPECS / "legal" / f"{name}.yaml").read_text())):
        device = Sanitized(queues(2))

        assert not list(flowed(model, device, pace=Pace.ANY).differing())
        assert not device.races


def test_a_torch_without_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.cuda._sanitizer", None)

    with pytest.raises(UnsupportedFeatureError, match="no stream sanitizer that can be asked"):
        Sanitized(queues(0))


def test_a_torch_with_another_one_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch.cuda import _sanitizer  # noqa: PLC0415  private

    monkeypatch.delattr(_sanitizer.EventHandler, "_handle_event_wait")

    with pytest.raises(UnsupportedFeatureError, match="has no _handle_event_wait"):
        Sanitized(queues(0))
