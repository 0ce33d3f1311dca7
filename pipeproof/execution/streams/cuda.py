"""Streams of a GPU, through torch."""

import os

import torch
from torch import Tensor

from pipeproof.errors import Problem, UnsupportedFeatureError, UsageError
from pipeproof.execution.streams.device import Kernel

__all__ = ["Cuda", "missing"]

_STREAMS = 32  # torch hands out the same ones again beyond, which would order what is not
_CYCLES = 500_000  # of a unit of sleep: a quarter of a millisecond at 2 GHz
_HELD = 1_000_000  # a launch: half a millisecond, more than the host takes for one
_QUEUES = "CUDA_DEVICE_MAX_CONNECTIONS"


def missing() -> str | None:
    """Return why there is no GPU that torch can use, None where there is one.

    Before it is asked for, enough hardware queues are: with fewer, streams wait for each other.
    """
    os.environ.setdefault(_QUEUES, str(_STREAMS))
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    if torch.cuda.is_available():
        return None
    if torch.version.cuda is None:
        return f"torch {torch.__version__} is built without CUDA"
    return f"torch {torch.__version__} sees none"


class Cuda:
    """The first GPU."""

    def __init__(self) -> None:
        """Make the device ready.

        Raises:
            UsageError: there is none.
        """
        why = missing()
        if why is not None:
            problem = Problem("--device", 1, 1, f"no CUDA device: {why}", "write cpu-streams")
            raise UsageError([problem])
        self.name = f"{torch.cuda.get_device_name(0)}, {os.environ[_QUEUES]} hardware queues"
        self._streams: list[torch.cuda.Stream] = []
        self._events: list[torch.cuda.Event] = []

    def place(self, numbers: Tensor) -> Tensor:
        """Return a copy of numbers in the memory of the device."""
        return numbers.detach().to("cuda:0", copy=True)

    def stream(self) -> int:
        """Make a stream.

        Raises:
            UnsupportedFeatureError: torch has no more of them.
        """
        if len(self._streams) == _STREAMS:
            message = f"the schedule takes more than the {_STREAMS} streams that torch has"
            raise UnsupportedFeatureError(message)
        stream = torch.cuda.Stream("cuda:0")  # type: ignore[no-untyped-call]  # torch's own
        self._warm(stream)
        self._streams.append(stream)
        return len(self._streams) - 1

    def _warm(self, stream: torch.cuda.Stream) -> None:
        """Let a stream have its memory and workspace now: to get them later may stop all others."""
        with torch.cuda.stream(stream):
            probe = torch.eye(4, dtype=torch.float64, device="cuda:0")
            (probe @ probe).add_(probe)

    def hold(self, launches: int) -> None:
        """Let no stream begin before it has been given about as many launches."""
        gate = torch.cuda.Stream("cuda:0", priority=-1)  # type: ignore[no-untyped-call]  # torch's own
        with torch.cuda.stream(gate):
            torch.cuda._sleep(launches * _HELD)  # type: ignore[no-untyped-call]  # noqa: SLF001  as torch's tests
        opened = torch.cuda.Event()  # type: ignore[no-untyped-call]  # torch's own
        opened.record(gate)
        self._events.append(opened)
        for stream in self._streams:
            stream.wait_event(opened)

    def launch(self, stream: int, kernel: Kernel) -> None:
        """Give a kernel to a stream."""
        with torch.cuda.stream(self._streams[stream]):
            kernel.run()

    def sleep(self, stream: int, units: int) -> None:
        """Let a stream spin for a while."""
        if units == 0:
            return
        with torch.cuda.stream(self._streams[stream]):
            torch.cuda._sleep(units * _CYCLES)  # type: ignore[no-untyped-call]  # noqa: SLF001  as torch's tests

    def record(self, stream: int) -> int:
        """Return an event that is over once all is that the stream has been given."""
        event = torch.cuda.Event()  # type: ignore[no-untyped-call]  # torch's own
        event.record(self._streams[stream])
        self._events.append(event)
        return len(self._events) - 1

    def wait(self, stream: int, event: int) -> None:
        """Let a stream wait for an event before what it is given next."""
        self._streams[stream].wait_event(self._events[event])

    def finish(self) -> None:
        """Wait until everything has happened."""
        torch.cuda.synchronize("cuda:0")
