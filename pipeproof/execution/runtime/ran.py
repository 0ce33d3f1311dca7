"""What a run in torch's runtime showed, put together from what every rank saw."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import TracebackType
from typing import NamedTuple, Self

from pipeproof.execution.ranks.processes import Answer, Processes, Raised, Returned, Stuck
from pipeproof.execution.runtime.programs import Program
from pipeproof.execution.runtime.steps import BEFORE, Share, Told, run

__all__ = ["LIMIT", "At", "Kind", "Ran", "Runtime", "together"]

LIMIT = 3.0
"""Seconds without progress on any rank after which ranks are stuck."""


class Kind(StrEnum):
    """What a run comes to."""

    RIGHT = "right"
    WRONG = "wrong numbers"
    ERROR = "error"
    HANG = "hang"


class At(NamedTuple):
    """A rank and the action that it stands in, as torch writes it."""

    rank: int
    action: str

    def __str__(self) -> str:
        return (
            f"rank {self.rank} in {self.action}"
            if self.action[0].isdigit()
            else (f"rank {self.rank} {self.action}")
        )


@dataclass(frozen=True, slots=True)
class Ran:
    """What a run showed: `said` in words, and `at` where ranks are stuck or raise.

    `compared` counts the numbers that were compared with the unsplit model. `moments` holds
    rank, action, begin and end, in nanoseconds of one clock, where torch went through actions.
    """

    kind: Kind
    compared: int = 0
    said: str = ""
    at: tuple[At, ...] = ()
    moments: tuple[tuple[int, str, int, int], ...] = ()


def together(answers: Sequence[Answer[Told]]) -> Ran:
    """Return what the answers of all ranks come to.

    An error of a rank comes first: others wait for that rank, or find it gone. Then ranks that are
    stuck, then numbers that are wrong.
    """
    errors: list[tuple[At, str]] = []
    gone: list[tuple[At, str]] = []
    stuck, wrong, compared = [], [], 0
    moments: list[tuple[int, str, int, int]] = []
    for rank, answer in enumerate(answers):
        match answer:
            case Returned(told) if told.error:
                (gone if told.gone else errors).append((At(rank, told.at), told.error))
            case Returned(told):
                compared += told.compared
                moments += [(rank, *each) for each in told.moments]
                wrong += [f"rank {rank}: {each}" for each in told.wrong]
            case Raised(text, kind, where):
                errors.append((At(rank, str(where or BEFORE)), f"{kind}: {text}"))
            case Stuck(where):
                stuck.append(At(rank, str(where or BEFORE)))
    if errors or (gone and not stuck):
        found = errors or gone
        said = "; ".join(f"{at}: {text}" for at, text in found)
        return Ran(Kind.ERROR, compared, said, tuple(at for at, _ in found))
    if stuck:
        return Ran(Kind.HANG, compared, "; ".join(map(str, stuck)), tuple(stuck))
    if wrong:
        return Ran(Kind.WRONG, compared, "; ".join(wrong))
    return Ran(Kind.RIGHT, compared, moments=tuple(moments))


class Runtime:
    """Runs programs in torch's runtime, on ranks that are kept from one run to the next."""

    def __init__(self, processes: Processes | None = None) -> None:
        self.processes = processes or Processes()
        self._own = processes is None
        self.processes.preload(run.__module__)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if self._own:
            self.processes.close()

    def run(self, program: Program, *, limit: float = LIMIT) -> Ran:
        """Run a program, and return what was seen."""
        shares = [Share(program, rank) for rank in range(program.ranks)]
        return together(self.processes.call(run, shares, limit=limit))
