"""A trace as Chrome and Perfetto open it, and as `conform` reads it."""

import json
from collections.abc import Iterator

from pipeproof.ir.recorded import Recorded, Span, micros_text

__all__ = ["SCHEMA", "recording"]

SCHEMA = "pipeproof.trace/1"
_MESSAGES = ("SEND", "RECV", "[", "WAIT", "COLL", "SIGNAL", "AWAIT")
_TRACKS = ("operations", "messages")


def recording(recorded: Recorded, **said: str) -> str:
    """Return a trace as JSON: a process a rank, one track for its operations, one for its messages.

    Args:
        recorded: what was recorded; a rank's spans on a clock of all ranks, if it says so.
        said: what else is to be known of the run.
    """
    own = {
        "schema": SCHEMA,
        "clock": "shared" if recorded.together else "own",
        "runs_on": recorded.runs_on,
        **said,
    }
    head = json.dumps({"displayTimeUnit": "ns", "otherData": {"pipeproof": own}})
    return f'{head[:-1]}, "traceEvents": [\n' + ",\n".join(_events(recorded)) + "\n]}\n"


def _events(recorded: Recorded) -> Iterator[str]:
    ranks = sorted({span.rank for span in recorded.spans})
    for rank in ranks:
        yield _meta("process_name", rank, 0, f"rank {rank}")
        for track, name in enumerate(_TRACKS):
            yield _meta("thread_name", rank, track, name)
    for span in recorded.spans:
        yield _whole(span)


def _meta(what: str, rank: int, track: int, name: str) -> str:
    return json.dumps({"ph": "M", "name": what, "pid": rank, "tid": track, "args": {"name": name}})


def _whole(span: Span) -> str:
    track = int(any(word in span.name for word in _MESSAGES))
    head = json.dumps({"ph": "X", "cat": "pipeproof", "name": span.name, "pid": span.rank})
    lasts = micros_text(span.end - span.start)
    return f'{head[:-1]}, "tid": {track}, "ts": {micros_text(span.start)}, "dur": {lasts}}}'
