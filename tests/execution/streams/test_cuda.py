"""What a GPU is asked for; that it does so is seen where there is one (`examples/cuda_streams`)."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import pytest
import torch

from pipeproof.errors import UnsupportedFeatureError, UsageError
from pipeproof.execution.streams.cuda import Cuda, missing
from pipeproof.execution.streams.device import Kernel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

CALLS: list[str] = []


class Stream:
    made = 0

    def __init__(self, device: str) -> None:
        self.name = f"{device} stream {Stream.made}"
        Stream.made += 1

    def wait_event(self, event: Event) -> None:
        CALLS.append(f"{self.name} waits for {event.name}")


class Event:
    made = 0

    def __init__(self) -> None:
        self.name = f"event {Event.made}"
        Event.made += 1

    def record(self, stream: Stream) -> None:
        CALLS.append(f"{self.name} on {stream.name}")


@contextmanager
def current(stream: Stream) -> Iterator[None]:
    CALLS.append(f"in {stream.name}")
    yield
    CALLS.append("out")


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A GPU that writes down what it is asked."""
    Stream.made = Event.made = 0
    CALLS.clear()
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _: "a GPU")
    monkeypatch.setattr(torch.cuda, "Stream", Stream)
    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "stream", current)
    monkeypatch.setattr(Cuda, "_warm", lambda _, stream: CALLS.append(f"{stream.name} is warm"))
    monkeypatch.setattr(torch.cuda, "_sleep", lambda cycles: CALLS.append(f"sleeps {cycles}"))
    monkeypatch.setattr(torch.cuda, "synchronize", lambda device: CALLS.append(f"all of {device}"))
    return CALLS


def test_without_a_gpu_it_is_said_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.version, "cuda", None)
    built = missing()
    monkeypatch.setattr(torch.version, "cuda", "13.0")

    assert built is not None
    assert built.endswith("is built without CUDA")
    with pytest.raises(UsageError, match=r"no CUDA device: torch .* sees none"):
        Cuda()


def test_a_kernel_runs_in_its_stream_and_waits_come_between(gpu: list[str]) -> None:
    device = Cuda()
    one, other = device.stream(), device.stream()
    device.launch(one, Kernel("a", lambda: CALLS.append("a")))
    event = device.record(one)
    device.wait(other, event)
    device.sleep(other, 2)
    device.sleep(other, 0)
    device.finish()

    assert gpu == [
        *("cuda:0 stream 0 is warm", "cuda:0 stream 1 is warm"),
        *("in cuda:0 stream 0", "a", "out"),
        "event 0 on cuda:0 stream 0",
        "cuda:0 stream 1 waits for event 0",
        *("in cuda:0 stream 1", "sleeps 1000000", "out"),
        "all of cuda:0",
    ]


@pytest.mark.usefixtures("gpu")
def test_no_stream_is_handed_out_twice() -> None:
    device = Cuda()
    streams = [device.stream() for _ in range(32)]

    assert streams == list(range(32))
    with pytest.raises(UnsupportedFeatureError, match="more than the 32 streams"):
        device.stream()


def write(memory: Tensor, added: float, times: float) -> None:
    memory.mul_(times).add_(added)


@pytest.mark.gpu
def test_streams_of_a_gpu_keep_the_order_of_events() -> None:
    device = Cuda()
    one, other = device.stream(), device.stream()
    memory = device.place(torch.zeros(4, dtype=torch.float64))
    device.finish()
    device.sleep(one, 40)
    device.launch(one, Kernel("writes", partial(write, memory, 1, 0)))
    device.wait(other, device.record(one))
    device.launch(other, Kernel("adds", partial(write, memory, 2, 1)))
    device.finish()

    assert memory.tolist() == [3.0] * 4
