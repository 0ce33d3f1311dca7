"""Executions at moments at which, taken together, every table of an execution holds something."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from pipeproof.execution.checkpoints.state import IN_FLIGHT, Part, Setting, parts_of
from pipeproof.execution.witness import EXACT
from tests.execution.played import SPECS, document, models, order
from tests.semantics import made

if TYPE_CHECKING:
    from pipeproof.execution.replayer import Replayer
    from pipeproof.semantics.model import Model

TINY = made.text("0F0; 0B0; 0STEP; 0F1; 0B1; 0STEP", steps=2)
"""One stage, two steps."""

PIPELINE = made.text(
    "LOAD X.0 buf=s; 0F0 in=s keep=s; SEND F0.0 to=1; 0F1; SEND F0.1 to=1; RECV B1.0 from=1; 0I0; "
    "RECV B1.1 from=1; 0B1; 0W0; 0STEP; 0F2; SEND F0.2 to=1; 0F3; SEND F0.3 to=1; "
    "RECV B1.2 from=1; 0B2; RECV B1.3 from=1; 0B3; 0STEP",
    "RECV F0.0 from=0; 1F0; 1L0; 1B0; SEND B1.0 to=0; RECV F0.1 from=0; 1F1; 1L1; 1B1; "
    "SEND B1.1 to=0; 1STEP; RECV F0.2 from=0; 1F2; 1L2; 1B2; SEND B1.2 to=0; RECV F0.3 from=0; "
    "1F3; 1L3; 1B3; SEND B1.3 to=0; 1STEP",
    microbatches=2,
    steps=2,
    transport="buffered",
)
"""Two stages, two steps, a named storage, and a backward in two parts."""

REVERSED = made.text("0F0; 0F1; 0F2; 0B2; 0B1; 0B0; 0STEP", microbatches=3)
"""Gradients that are summed in another order than that of the ids."""

AGAIN = made.text("0F0; 0F1; 0R0; 0B0; 0R1; 0B1; 0STEP", microbatches=2)
"""What a forward kept is computed again."""


class Moment(NamedTuple):
    """An execution that has come to `cut`; `order` is the whole of it."""

    setting: Setting
    order: tuple[int, ...]
    cut: int

    def live(self) -> Replayer:
        replayer = self.setting.begin()
        replayer.play(self.order[: self.cut])
        return replayer

    def parts(self) -> tuple[Part, ...]:
        return held(self.live(), self.setting)


def held(replayer: Replayer, setting: Setting, moment: str = IN_FLIGHT) -> tuple[Part, ...]:
    return parts_of(replayer, setting, moment=moment, caller={"lines read": 7})


def spec(name: str) -> str:
    (path,) = SPECS.glob(f"*/{name}.yaml")
    return path.read_text(encoding="utf-8")


@lru_cache
def model(text: str) -> Model:
    return next(models(document(text)))


def setting(text: str, witness: str = EXACT, *, late: bool = False) -> Setting:
    frame = model(text).frame
    return Setting(frame.run, frame.transport.match, witness, 3, late)


def moment(text: str, cut: int, witness: str = EXACT, *, late: bool = False) -> Moment:
    """An execution after `cut` of its events."""
    whole = order(model(text), 2)
    return Moment(setting(text, witness, late=late), whole, cut)


@lru_cache
def ended(setting_: Setting, whole: tuple[int, ...]) -> tuple[Part, ...]:
    """What ranks hold at the end of an execution that nothing interrupts."""
    replayer = setting_.begin()
    replayer.play(whole)
    return held(replayer, setting_)


def without(part: Part, field: str, name: str) -> Part:
    """A part that lacks a table."""
    table = dict(getattr(part, field))
    del table[name]
    return replace(part, **{field: table})


def with_that_of(part: Part, other: Part, field: str, name: str) -> Part:
    """A part with one table of another."""
    return replace(part, **{field: {**getattr(part, field), name: getattr(other, field)[name]}})
