"""What is asked of a schedule, and how far engines may go for it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pipeproof.engines import graph

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipeproof.engines._explore_budget import Progress, Stopped
    from pipeproof.engines._explore_frontier import Frontier
    from pipeproof.semantics.model import Model
    from pipeproof.verdict.decision import Decision

__all__ = ["ALL", "Asked", "Effort", "Frontiers"]

ALL = "all"
"""The name under which every engine is asked."""


class Frontiers(Protocol):
    """Where explorations stand that a budget ended, by the transport and the name of each."""

    def take(self, transport: str, of: str) -> "Frontier | None":
        """Return where the exploration of that name stopped, None where it is new."""

    def keep(self, transport: str, frontier: "Frontier", over: str) -> None:
        """Keep where an exploration stands, and what of its budget ran out, if anything did."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How far an engine may go for one schedule under one transport; None: as far as it is used to.

    `states` and `memory`, in bytes, bind the explorer, `rlimit`, in steps of its own, the solver,
    and `seconds` both. `progress` and `stopped` are told and asked while the explorer runs, and
    `frontiers` keeps where it stands. `told` holds what engines have decided before, by name and
    model.
    """

    states: int | None = None
    seconds: float | None = None
    memory: int | None = None
    rlimit: int | None = None
    progress: "Progress | None" = None
    stopped: "Stopped | None" = None
    frontiers: Frontiers | None = None
    told: "Mapping[tuple[str, Model], Decision] | None" = None


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of a schedule; empty fields leave it to the schedule.

    `select` and `ignore` are rule codes or prefixes of them. `live` asks for the most that is live
    at once, which is told anyway where the file gives sizes. `effort` says how far engines go.
    `why` holds places, rank and position, at which it is explained why what is proved holds; no
    place asks for the first few pairs that only what ranks wait for orders, None for nothing.
    """

    transports: tuple[str, ...] = ()
    profile: str | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    engine: str = graph.NAME
    live: bool = False
    effort: Effort = Effort()
    why: tuple[tuple[int, int], ...] | None = None
