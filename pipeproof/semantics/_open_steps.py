"""Steps of one stage that may still be taken back: parts of them are committed or withdrawn."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

__all__ = ["OpenSteps"]

Made = TypeVar("Made")


@dataclass(slots=True)
class _Step(Generic[Made]):
    """The parameters that a step is about, and what it made that nothing has settled yet."""

    parts: set[str]
    open: dict[str, Made]


class OpenSteps(Generic[Made]):
    """STEPs and SKIPs in order of the program; those of single parameters are parts of one step."""

    def __init__(self) -> None:
        self._steps: list[_Step[Made]] = []

    def joins(self, parts: Collection[str], *, single: bool) -> bool:
        """Whether a STEP or SKIP of these parameters is one more part of the last step."""
        return single and bool(self._steps) and self._steps[-1].parts.isdisjoint(parts)

    def take(self, parts: Collection[str], made: Mapping[str, Made], *, single: bool) -> None:
        """Take the next STEP or SKIP.

        Args:
            parts: the parameters that it is about.
            made: what it made of each; nothing if it is a SKIP.
            single: whether it names its parameter.
        """
        if self.joins(parts, single=single):
            self._steps[-1].parts.update(parts)
            self._steps[-1].open.update(made)
            return
        if self._steps and not self._steps[-1].open:
            self._steps.pop()
        self._steps.append(_Step(set(parts), dict(made)))

    def commit(self, name: str) -> list[Made]:
        """Return what is committed: all that is open, or all of one parameter."""
        settled: list[Made] = []
        for step in self._steps:
            chosen = [part for part in step.open if name in ("", part)]
            settled.extend(step.open.pop(part) for part in chosen)
        self._steps[:-1] = [step for step in self._steps[:-1] if step.open]
        return settled

    def withdraw(self, name: str) -> dict[str, Made]:
        """Return by parameter what is withdrawn: the youngest step, or of one parameter its."""
        for step in reversed(self._steps):
            back = {part: made for part, made in step.open.items() if name in ("", part)}
            if back:
                for part in back:
                    del step.open[part]
                step.parts.difference_update(back)
                if not step.parts:
                    self._steps.remove(step)
                return back
        return {}
