"""One execution as a trace of states, in the Informal Trace Format that TLA+ tools read.

Source: https://apalache-mc.org/docs/adr/015adr-trace.html
"""

import json
from collections.abc import Iterator, Mapping, Sequence

from pipeproof.reports._chosen import Chosen, chosen, others, summed_up
from pipeproof.reports._layout import execution
from pipeproof.reports._states import GROUPS, Change, changes
from pipeproof.reports._worded import worded
from pipeproof.verdict.result import Json, Result
from pipeproof.verdict.telling import trace
from pipeproof.verdict.verdict import TraceStep

__all__ = ["DRAWS", "ENTRIES", "NAME", "render"]

NAME = "itf"
DRAWS = True
ENTRIES = 3_000_000
"""How many entries the maps of all states may have together; a longer trace is not written."""
_FORMAT = "https://apalache-mc.org/docs/adr/015adr-trace.html"
_EVENT = "{ operation: Str, phase: Str, position: Int, rank: Int }"
_TYPES = {"event": _EVENT, **dict.fromkeys(GROUPS, "Str -> Str"), "violated": "Set(Str)"}
_TOLD = 1_000  # others that are listed


def render(result: Result) -> str:
    """Return the states before and after each event of one execution, a line each.

    It is the execution that shows the first violation of the first refuted schedule, else the
    earliest one of the first schedule; the head says which, and what is not shown.
    """
    shown = chosen(result)
    states = None if shown is None else _States(shown)
    said = summed_up(result, shown)
    lines: Sequence[str] = ()
    if states is not None and states.entries > ENTRIES:
        said += f"; left out: its states have {states.entries} entries, more than {ENTRIES}"
    elif states is not None:
        lines = list(states.lines())
    head = {"#meta": _meta(result, shown, said), "vars": list(_TYPES)}
    return json.dumps(head)[:-1] + ', "states": [\n' + ",\n".join(lines) + "\n]}\n"


def _meta(result: Result, shown: Chosen | None, said: str) -> dict[str, Json]:
    left = others(result, shown)
    meta: dict[str, Json] = {
        "format": "ITF",
        "format-description": _FORMAT,
        "description": said,
        "tool": f"pipeproof {result.version}",
        "verdict": result.word,
        "varTypes": _TYPES,
        "others": left[:_TOLD],
    }
    if len(left) > _TOLD:
        meta["others_left_out"] = len(left) - _TOLD
    if shown is not None:
        meta["source"] = worded(shown.document.name)
        meta["transport"] = worded(shown.transport)
        meta["violation"] = None if shown.violation is None else shown.violation.rule
    return meta


class _States:
    """The states of one execution, each as a line of JSON."""

    def __init__(self, shown: Chosen) -> None:
        events = execution(shown.model, shown.decision, shown.broken)
        self._steps = list(trace(shown.model, events.tolist()))
        self._changes = changes(shown.model, events)
        is_shown = shown.broken is not None and len(shown.broken.trace) > 0
        self._rule = shown.broken.rule.code if shown.broken is not None and is_shown else ""

    @property
    def entries(self) -> int:
        """How many entries the maps of all states have together."""
        there: set[tuple[str, str]] = set()
        found, at = 0, -1
        for change in self._changes:
            found += (change.step - at) * len(there)
            at, key = change.step, (change.group, change.name)
            if change.value:
                there.add(key)
            else:
                there.discard(key)
        return found + (len(self._steps) - at) * len(there)

    def lines(self) -> Iterator[str]:
        maps: dict[str, dict[str, str]] = {group: {} for group in GROUPS}
        written = {group: _map({}) for group in GROUPS}
        left = 0
        for step in range(-1, len(self._steps)):
            changed, left = self._of(step, left)
            for change in changed:
                own = maps[change.group]
                own[change.name] = change.value
                if not change.value:
                    del own[change.name]
            for group in sorted({change.group for change in changed}):
                written[group] = _map(maps[group])
            yield self._line(step, written)

    def _of(self, step: int, first: int) -> tuple[Sequence[Change], int]:
        """Return the changes of a step, which begin at `first`, and where those behind begin."""
        last = first
        while last < len(self._changes) and self._changes[last].step == step:
            last += 1
        return self._changes[first:last], last

    def _line(self, step: int, written: Mapping[str, str]) -> str:
        event = _event(self._steps[step]) if step >= 0 else _NOTHING
        is_last = step == len(self._steps) - 1
        rules = [self._rule] if is_last and self._rule else []
        parts = [f'"#meta": {{"index": {step + 1}}}', f'"event": {json.dumps(event)}']
        parts += [f'"{group}": {text}' for group, text in written.items()]
        parts.append(f'"violated": {json.dumps({"#set": rules})}')
        return "{" + ", ".join(parts) + "}"


def _map(entries: Mapping[str, str]) -> str:
    return json.dumps({"#map": sorted(entries.items())})


def _event(step: TraceStep) -> Json:
    return {
        "operation": worded(step.event),
        "phase": step.phase,
        "position": {"#bigint": str(step.position)},
        "rank": {"#bigint": str(step.rank)},
    }


_NOTHING = _event(TraceStep("", "before", -1, -1))
