from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipeproof.execution.streams.queues import Queues
from pipeproof.execution.streams.sanitizer import Sanitized
from tests.execution.streams.flowed import flowed, only, queues, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeproof.execution.streams.device import Device


class Slowest:
    """A device that takes everything as late as it can, and counts what it is given."""

    def __init__(self) -> None:
        self.queues = Queues(self.last)
        self.given = 0

    def last(self, able: Sequence[int]) -> int:
        self.given += 1
        return max(able)


@pytest.mark.parametrize("legal", [True, False])
def test_a_schedule_is_given_the_same_on_every_device(legal: bool) -> None:  # noqa: FBT001
    model = only(text("written while it is sent", legal=legal))
    slowest = Slowest()
    devices: list[Device] = [queues(3), slowest.queues, Sanitized(queues(4))]

    compared = {flowed(model, device, forced=True).compared for device in devices}
    assert len(compared) == 1
    assert slowest.given == 0
    assert [device.name for device in devices] == [
        "queues on the CPU",
        "queues on the CPU",
        "queues on the CPU, sanitized",
    ]
