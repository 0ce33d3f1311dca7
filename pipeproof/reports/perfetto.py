"""One execution on a timeline, in the Chrome trace event format that Perfetto opens.

Source: Trace Event Format, Google, the document that chrome://tracing and ui.perfetto.dev link.
"""

import json

from pipeproof.reports._chosen import Chosen, chosen, others, summed_up
from pipeproof.reports._tracks import Tracks
from pipeproof.reports._worded import worded
from pipeproof.verdict.result import Json, Result

__all__ = ["DRAWS", "NAME", "OPERATIONS", "render"]

NAME = "perfetto"
DRAWS = True
OPERATIONS = 500_000
"""How many operations are drawn; of more only the head is written."""
_TOLD = 1_000  # others that are listed
_MODEL = "a model: it shows neither kernel costs nor network progress"
_ILLEGAL = "illegal, not comparable: its axis is steps, not time"
_UNTIMED = "no time is told: its axis is steps"


def render(result: Result) -> str:
    """Return the events of one execution, a line each.

    It is the execution that shows the first violation of the first refuted schedule, else the
    earliest one of the first schedule; `otherData` says which, and what is not shown.
    """
    shown = chosen(result)
    said, events = summed_up(result, shown), list[str]()
    data: dict[str, Json] = {}
    if shown is not None:
        size = len(shown.model.frame.ops)
        if size > OPERATIONS:
            said += f"; left out: it has {size} operations, more than {OPERATIONS}"
        else:
            tracks = Tracks(shown)
            events, data = [json.dumps(event) for event in tracks.events()], _data(shown, tracks)
    left = others(result, shown)
    head: dict[str, Json] = {
        "tool": f"pipeproof {result.version}",
        "verdict": result.word,
        "description": said,
        **data,
        "others": left[:_TOLD],
        **({"others_left_out": len(left) - _TOLD} if len(left) > _TOLD else {}),
    }
    start = f'{{"displayTimeUnit": "ms", "otherData": {json.dumps(head)}, "traceEvents": [\n'
    return start + ",\n".join(events) + "\n]}\n"


def _data(shown: Chosen, tracks: Tracks) -> dict[str, Json]:
    """Return what the axis means, and what the execution does not reach."""
    speed = _MODEL
    if not tracks.layout.timed:
        speed = _ILLEGAL if shown.report.word == "refuted" else _UNTIMED
    return {
        "schedule": worded(shown.document.name),
        "transport": worded(shown.transport),
        "violation": None if shown.violation is None else shown.violation.rule,
        "axis": tracks.layout.axis,
        "scale": tracks.scale,
        "speed": speed,
        "never_happens": tracks.never(),
    }
