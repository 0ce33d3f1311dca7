"""Why what is proved holds, in lines of text."""

from collections.abc import Iterator

from pipeproof.verdict.verdict import Explained, FileVerdict, Hop, TraceStep

__all__ = ["explained_lines"]

_PHASES = {
    "start": "{} starts",
    "done": "{} ends",
    "drained": "SEND {} drained",
    "arrived": "RECV {} arrived",
}


def explained_lines(verdict: FileVerdict) -> Iterator[str]:
    """Yield what makes each pair safe; what is so under several transports is told once."""
    under: dict[tuple[Explained, ...], list[str]] = {}
    for transport in verdict.transports:
        if transport.explanations:
            under.setdefault(transport.explanations, []).append(transport.name)
    for told, names in under.items():
        yield f"what makes it safe under {', '.join(names)}:"
        for each in told:
            yield from _explained(each)


def _explained(told: Explained) -> Iterator[str]:
    place = f"r{told.at.rank}.{told.at.position} {told.at.operation}"
    place += f" (where {told.where})" if told.where else ""
    if not told.rules:
        yield f"  {place}: nothing that is proved has to come first"
        return
    yield f"  {place} needs {told.needs or 'what comes before it'} ({', '.join(told.rules)}):"
    if not told.known:
        yield "    ordered, but no small set of waits is known that does it"
        return
    for line in _lines(told.hops):
        yield f"    {' -> '.join(map(_step, line))}"
    if told.sends:
        sends = ", ".join(_step(each) for each in told.sends)
        yield f"    and for want of room until enough messages have arrived: {sends}"
    if said := _waits(told.hops):
        yield f"    {said}"


def _lines(hops: tuple[Hop, ...]) -> Iterator[list[TraceStep]]:
    """Yield steps that follow each other; what one program orders by itself is left out."""
    line: list[TraceStep] = []
    inside = False  # whether the last step was reached within its program
    for hop in hops:
        if not line or line[-1] != hop.before:
            if line:
                yield line
            line, inside = [hop.before], False
        if inside and not hop.crosses:
            line.pop()
        line.append(hop.after)
        inside = not hop.crosses
    if line:
        yield line


def _step(step: TraceStep) -> str:
    return f"r{step.rank}.{step.position} {_PHASES[step.phase].format(step.event)}"


def _waits(hops: tuple[Hop, ...]) -> str:
    """Say of the waits of ranks whether the order rests on them."""
    waits = [hop for hop in hops if hop.crosses and hop.needed is not None]
    needed = dict.fromkeys(_where(hop) for hop in waits if hop.needed)
    others = dict.fromkeys(_where(hop) for hop in waits if not hop.needed)
    said = []
    if needed:
        said.append(f"without the wait at {' or that at '.join(needed)} it would not be")
    if others:
        said.append(f"without the wait at {' or that at '.join(others)} others would order it")
    return "; ".join(said)


def _where(hop: Hop) -> str:
    return f"r{hop.after.rank}.{hop.after.position}"
