"""Tasks for tests: some are done, some raise, some end what runs them."""

import ctypes
import os
import re
import signal
import time
from collections.abc import Callable, Mapping

from pipeproof.campaign.task import Json, Task

__all__ = ["LETHAL", "perform", "squares", "task"]

LETHAL = ("abort", "grow", "hang", "hog", "kill", "leave", "segfault", "stubborn")
MUCH = 1 << 42  # bytes


def task(kind: str, number: int = 0) -> Task:
    return Task(kind, {"n": number})


def squares(count: int) -> list[Task]:
    return [task("square", n) for n in range(count)]


def perform(task: Task) -> Mapping[str, Json]:
    number = task.body["n"]
    assert isinstance(number, int)
    return KINDS[task.kind](number)


def _slow(milliseconds: int) -> Mapping[str, Json]:
    time.sleep(milliseconds / 1000)
    return {"slept": milliseconds}


def _grow(_: int) -> Mapping[str, Json]:
    """Ask for more and more, and take it for an answer that there is no more."""
    held: list[bytearray] = []
    try:
        while len(held) < 4000:
            held.append(bytearray(b"x" * (1 << 20)))
            time.sleep(0.001)
    except Exception as error:
        return {"found": type(error).__name__}
    return {"grew": len(held)}


def _kill(_: int) -> Mapping[str, Json]:
    os.kill(os.getpid(), signal.SIGKILL)
    return {}


def _segfault(_: int) -> Mapping[str, Json]:
    ctypes.string_at(0)
    return {}


def _abort(_: int) -> Mapping[str, Json]:
    os.abort()


def _leave(code: int) -> Mapping[str, Json]:
    os._exit(code)


def _hang(_: int) -> Mapping[str, Json]:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    while True:
        time.sleep(60)


def _stubborn(_: int) -> Mapping[str, Json]:
    """Compute for ages within one call, which lets no other thread run."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    return {"found": int(re.fullmatch("(a+)+", "a" * 60 + "b") is not None)}


KEPT: list[bytearray] = []


def _keep(size: int) -> Mapping[str, Json]:
    KEPT.append(bytearray(size))
    return {"kept": size}


def _raise(_: int) -> Mapping[str, Json]:
    message = "no\nsuch\tluck"
    raise ValueError(message)


def _deep(number: int) -> Mapping[str, Json]:
    return _deep(number + 1)


def _half(number: int) -> Mapping[str, Json]:
    return {"half": number / 2}  # type: ignore[dict-item]  # what a task must not answer


KINDS: Mapping[str, Callable[[int], Mapping[str, Json]]] = {
    "abort": _abort,
    "deep": _deep,
    "grow": _grow,
    "half": _half,
    "hang": _hang,
    "hog": lambda _: {"size": len(bytearray(MUCH))},
    "keep": _keep,
    "kill": _kill,
    "leave": _leave,
    "pid": lambda _: {"pid": os.getpid()},
    "raise": _raise,
    "segfault": _segfault,
    "slow": _slow,
    "square": lambda number: {"squared": number * number},
    "stubborn": _stubborn,
    "text": lambda number: {"text": "x" * number},
}
