"""An execution in at most a dozen lines."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from pipeproof.verdict.verdict import Place, TraceStep, Violation

__all__ = ["LINES", "told"]

LINES = 12
_COLUMNS = 4
_WIDTH = 26
_STUCK = ("PP205", "PP301")


def told(violation: Violation) -> Iterator[str]:
    """Yield the execution that shows `violation`: at most `LINES` lines.

    Where ranks are stuck, a line a rank says what it is past and where it stands, those of the
    violation first, and which of its places are posted and not complete; else the last moments in
    their order, with a column a rank while they are few.
    """
    if not violation.trace:
        return iter(())
    if violation.rule in _STUCK:
        return _standing(violation.trace, violation.at)
    return _moments(violation.trace)


def _standing(trace: Sequence[TraceStep], at: Sequence[Place]) -> Iterator[str]:
    named = list(dict.fromkeys(place.rank for place in at))
    ranks = named + sorted({step.rank for step in trace} - set(named))
    shown = ranks if len(ranks) <= LINES else ranks[: LINES - 1]
    programs: dict[int, list[TraceStep]] = defaultdict(list)
    for step in trace:
        if step.phase in ("start", "done"):
            programs[step.rank].append(step)
    for rank in shown:
        own = [place for place in at if place.rank == rank]
        yield f"rank {rank}: {_stand(programs[rank], own)}"
    if len(shown) < len(ranks):
        yield f"… and {len(ranks) - len(shown)} more ranks"


def _stand(steps: Sequence[TraceStep], at: Sequence[Place]) -> str:
    done = [step.event for step in steps if step.phase == "done"]
    ended = {step.position for step in steps if step.phase == "done"}
    open_ = [step for step in steps if step.phase == "start" and step.position not in ended]
    said = f"past {_elided(done)}" if done else "past nothing"
    if open_:
        stands = open_[-1]
        said += f"; stands at {stands.event} (position {stands.position})"
    posted = [place for place in at if place.step is None and place.position in ended]
    if posted:
        named = [f"{place.operation} (position {place.position})" for place in posted]
        said += f"; not complete: {_elided(named)}"
    return said


def _elided(words: Sequence[str], *, ends: int = 2) -> str:
    if len(words) <= 2 * ends:
        return ", ".join(words)
    middle = f"… {len(words) - 2 * ends} more …"
    return ", ".join([*words[:ends], middle, *words[-ends:]])


def _moments(trace: Sequence[TraceStep]) -> Iterator[str]:
    merged = _merged(trace)
    ranks = sorted({rank for rank, _ in merged})
    tail = merged if len(merged) <= LINES - 1 else merged[-(LINES - 2) :]
    columns = len(ranks) <= _COLUMNS
    if columns:
        yield "".join(f"rank {rank}".ljust(_WIDTH) for rank in ranks).rstrip()
    if len(tail) < len(merged):
        yield f"… {len(merged) - len(tail)} moments before …"
    for rank, text in tail:
        yield " " * (_WIDTH * ranks.index(rank)) + text if columns else f"rank {rank}: {text}"


def _merged(trace: Sequence[TraceStep]) -> list[tuple[int, str]]:
    """Return rank and text of each moment; a start followed at once by its end is one."""
    moments: list[tuple[int, str]] = []
    i = 0
    while i < len(trace):
        step = trace[i]
        after = trace[i + 1] if i + 1 < len(trace) else None
        whole = (
            after is not None
            and (step.phase, after.phase) == ("start", "done")
            and (step.rank, step.position, step.event) == (after.rank, after.position, after.event)
        )
        moments.append((step.rank, step.event if whole else _moment(step)))
        i += 2 if whole else 1
    return moments


def _moment(step: TraceStep) -> str:
    return f"{step.event} {'starts' if step.phase == 'start' else step.phase}"
