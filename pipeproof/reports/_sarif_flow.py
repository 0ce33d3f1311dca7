"""An execution as SARIF tells it: a thread flow a rank, and one order over all of them."""

from dataclasses import dataclass

from pipeproof.reports._sarif_places import Located, said
from pipeproof.verdict.result import Json
from pipeproof.verdict.verdict import TraceStep, Violation

__all__ = ["STEPS", "Flows"]

STEPS = 1_000
"""How many events of one execution GitHub shows."""
_PHASES = {
    "start": "{} starts",
    "done": "{} ends",
    "drained": "SEND {} drained",
    "arrived": "RECV {} arrived",
}


@dataclass(slots=True)
class Flows:
    """Executions, as long as there is room for their events in one file: `left` are."""

    left: int

    def told(self, transport: str, violation: Violation, places: Located) -> tuple[list[Json], str]:
        """Return the code flows of an execution, and what is to be said of what is left out.

        The end is kept: what is too much is cut from the front.
        """
        trace = violation.trace
        if not trace:
            return [], ""
        most = min(STEPS, self.left)
        if not most:
            return [], "Its execution does not fit in here; `pipeproof check` tells its end."
        kept = trace[-most:]
        self.left -= len(kept)
        flow = _flow(transport, violation, kept, len(trace) - len(kept), places)
        if len(kept) == len(trace):
            return [flow], ""
        return [flow], f"Of its execution the last {len(kept)} of {len(trace)} events are told."


def _flow(
    transport: str, violation: Violation, kept: tuple[TraceStep, ...], cut: int, places: Located
) -> Json:
    named = {(place.rank, place.position) for place in violation.at}
    threads: dict[int, list[Json]] = {rank: [] for rank in sorted({step.rank for step in kept})}
    for order, step in enumerate(kept, cut + 1):
        location = places.step(step)
        location["message"] = {"text": f"rank {step.rank}: {_event(step)}"}
        essential = (step.rank, step.position) in named
        threads[step.rank].append(
            {
                "location": location,
                "executionOrder": order,
                "importance": "essential" if essential else "important",
            }
        )
    return {
        "message": {"text": f"An execution under {said(transport, 200)} that shows it."},
        "threadFlows": [
            {"id": f"rank {rank}", "locations": steps} for rank, steps in threads.items()
        ],
    }


def _event(step: TraceStep) -> str:
    return said(_PHASES[step.phase].format(step.event[:201]), 220)
