"""Data of pages made by hand, by what `data.js` reads."""

import json
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from zlib import compress

import numpy as np

__all__ = ["Arrow", "Json", "Made", "packed", "page_data", "texts"]

Json = object
Place = tuple[int, int]

KINDS = (
    "F",
    "B",
    "I",
    "W",
    "SEND_F",
    "RECV_F",
    "SEND_B",
    "RECV_B",
    "UNSHARD",
    "STEP",
    "COLL",
)
_ACTION = re.compile(r"(\d*)([A-Z_]+)(\d*)")
_LANES = {"F": 0, "B": 0, "I": 0, "W": 0}
PHASES = ("start", "done", "drained", "arrived")


def packed(values: Sequence[int], *, differences: bool = False) -> Json:
    """A column as it stands in a file: packed where it is long."""
    if len(values) <= 64:
        return list(values)
    column = np.diff(values, prepend=0) if differences else np.asarray(values)
    held = b64encode(compress(column.astype("<i4").tobytes())).decode()
    return {"n": len(values), "z": held, **({"d": 1} if differences else {})}


def texts(values: Sequence[object]) -> Json:
    """A long list of texts as it stands in a file."""
    return {"n": len(values), "t": b64encode(compress(json.dumps(values).encode())).decode()}


@dataclass(frozen=True, slots=True)
class Arrow:
    """From one place to another; a number below -1 in place of one is what is no operation."""

    before: Place | int
    after: Place | int
    means: str
    label: str = ""


@dataclass(slots=True)
class Made:
    """Programs of ranks with the moments of their operations; places are (rank, position).

    An operation takes a tick, from `delays` of its rank on; at `stops` of a rank its operation is
    started and not complete, and what comes after lies behind the frontier.
    """

    programs: Sequence[str]
    delays: Sequence[int] = ()
    stops: Mapping[int, int] = field(default_factory=dict)
    messages: Sequence[tuple[Place, Place]] = ()
    moments: Mapping[Place, tuple[int, int]] = field(default_factory=dict)
    transport: str = "rendezvous"
    path: str = "runs/pipe.yaml"
    title: str = ""
    rules: list[dict[str, Json]] = field(default_factory=list)
    other: dict[str, Json] = field(default_factory=dict)
    groups: Mapping[Place, int] = field(default_factory=dict)

    def ops(self) -> list[tuple[int, int, int, str]]:
        """Return (rank, lane, position, text), in the order of the columns."""
        found = []
        for rank, program in enumerate(self.programs):
            for position, text in enumerate(program.split()):
                found.append((rank, _lane(text), position, text))
        return sorted(found)

    def op(self, place: Place | int) -> int:
        """Return the number of the operation at a place."""
        if isinstance(place, int):
            return place
        return next(k for k, op in enumerate(self.ops()) if (op[0], op[2]) == place)

    def grid(self) -> dict[str, Json]:
        ops = self.ops()
        read = [_read(text) for *_, text in ops]
        written = list(dict.fromkeys(text for *_, text in ops))
        edges = [(self.op(one), self.op(other)) for one, other in self.messages]
        columns: dict[str, Sequence[int]] = {
            "rank": [rank for rank, *_ in ops],
            "position": [position for _, _, position, _ in ops],
            "kind": [KINDS.index(kind) for _, kind, _ in read],
            "text": [written.index(text) for *_, text in ops],
            "stage": [stage for stage, _, _ in read],
            "microbatch": [microbatch for *_, microbatch in read],
            "line": [rank + 6 for rank, *_ in ops],
            "column": [5 + 7 * position for _, _, position, _ in ops],
            "lane": [lane for _, lane, _, _ in ops],
            "group": [self.groups.get((rank, position), -1) for rank, _, position, _ in ops],
        }
        ends: dict[str, Sequence[int]] = {
            "before": [before for before, _ in edges],
            "after": [after for _, after in edges],
            "means": [0] * len(edges),
        }
        return {
            "ranks": len(self.programs),
            "kinds": list(KINDS),
            "texts": texts(written) if len(written) > 64 else written,
            **{name: packed(values) for name, values in columns.items()},
            "edges": {name: packed(values) for name, values in ends.items()},
            "edge_means": ["message"],
        }

    def _moments(self) -> list[tuple[int, int, int]]:
        """Return start, end and whether it happened, for each operation."""
        found: list[tuple[int, int, int]] = []
        frontier = self.frontier()
        for rank, _, position, _ in self.ops():
            stop = self.stops.get(rank)
            start = position + (self.delays[rank] if self.delays else 0)
            start, end = self.moments.get((rank, position), (start, start + 1))
            if stop is None or position < stop:
                found.append((start, end, 1))
            elif position == stop:
                found.append((start, frontier or end, 2))
            else:
                behind = (frontier or 0) + position - stop - 1
                found.append((behind, behind + 1, 0))
        return found

    def frontier(self) -> int | None:
        if not self.stops:
            return None
        return 2 + max(
            stop + (self.delays[rank] if self.delays else 0) for rank, stop in self.stops.items()
        )

    def layout(self) -> dict[str, Json]:
        moments = self._moments()
        return {
            "axis": "steps",
            "start": packed([start for start, _, _ in moments], differences=True),
            "end": packed([end for _, end, _ in moments]),
            "happened": packed([happened for *_, happened in moments]),
            "frontier": self.frontier(),
            "span": max(end for _, end, _ in moments),
            "ticks_per_unit": 1,
        }

    def events(self) -> list[tuple[int, int, int]]:
        """Return (tick, phase, operation), in order."""
        found = []
        for op, (start, end, happened) in enumerate(self._moments()):
            if happened:
                found.append((start, 0, op))
            if happened == 1:
                found.append((end, -1, op))
        return [(tick, phase % 2, op) for tick, phase, op in sorted(found)]

    def steps(self) -> dict[str, Json]:
        """Each rank stands somewhere; a forward leaves something that a backward frees."""
        events, ops = self.events(), self.ops()
        names: dict[tuple[str, str], int] = {}
        values: dict[str, int] = {}
        changes: list[tuple[int, int, int]] = []

        def change(step: int, name: tuple[str, str], value: str) -> None:
            number = names.setdefault(name, len(names))
            changes.append((step, number, values.setdefault(value, len(values))))

        for rank in range(len(self.programs)):
            change(-1, ("ranks", f"r{rank}"), "before 0")
        for step, (_, phase, op) in enumerate(events):
            rank, _, position, text = ops[op]
            where = f"in {position}: {text}" if phase == 0 else f"before {position + 1}"
            change(step, ("ranks", f"r{rank}"), where)
            stage, kind, microbatch = _read(text)
            if kind in "FB" and phase == 1:
                held = "held" if kind == "F" else ""
                change(step, ("storage", f"r{rank} kept by {stage}F{microbatch}"), held)
        return {
            "phases": list(PHASES),
            "op": packed([op for *_, op in events]),
            "phase": packed([phase for _, phase, _ in events]),
            "names": list(names),
            "values": list(values),
            "change_step": packed([step for step, _, _ in changes]),
            "change_name": packed([name for _, name, _ in changes]),
            "change_value": packed([value for *_, value in changes]),
        }

    def breaks(
        self, rule: str, message: str, *at: Place, arrows: Sequence[Arrow] = (), **more: Json
    ) -> "Made":
        """Add a violation at places, with the arrows of its cause."""
        ends = [end for arrow in arrows for end in (arrow.before, arrow.after)]
        ops = {self.op(place) for place in (*at, *ends)}
        moments = self._moments()
        states = ("has not started", "done", "started, not done")
        code, _, name = rule.partition(" ")
        self.rules.append(
            {
                "rule": code,
                "name": name,
                "message": message,
                "first": not self.rules,
                "reached": True,
                "layout": 0,
                "own": True,
                "note": "",
                "help": f"docs/rules/{code}-{name}.md",
                "why": "Training goes wrong.",
                "change": "Do one of the two before the other.",
                "at": [self._at(place) for place in at],
                "slice": {
                    "ops": sorted(op for op in ops if op >= 0),
                    "extra": [],
                    "arrows": [
                        {
                            "before": self.op(arrow.before),
                            "after": self.op(arrow.after),
                            "means": arrow.means,
                            "label": arrow.label,
                        }
                        for arrow in arrows
                    ],
                    "notes": [],
                    "states": [[op, states[moments[op][2]]] for op in sorted(ops) if op >= 0],
                    "left_out": 0,
                },
                "steps": self.steps(),
                "no_steps": "",
                "confirmation": None,
                **more,
            }
        )
        return self

    def _at(self, place: Place) -> dict[str, Json]:
        rank, position = place
        text = self.programs[rank].split()[position]
        return {
            "op": self.op(place),
            "text": text,
            "rank": rank,
            "position": position,
            "line": rank + 6,
            "column": 5 + 7 * position,
            "file": self.path,
        }

    def view(self) -> dict[str, Json]:
        verdict = "refuted" if self.rules else "proved"
        return {
            "transport": self.transport,
            "verdict": verdict,
            "engine": "graph",
            "assumes": ["A1", "A2"],
            "notes": [],
            "unknown": [],
            "warnings": [],
            "grid": self.grid(),
            "no_grid": None,
            "violations": self.rules,
            "layouts": [self.layout()],
            "steps": None if self.rules else self.steps(),
            "no_steps": "",
            **self.other,
        }

    def file(self, *more: Mapping[str, Json]) -> dict[str, Json]:
        """Return the file with its view, and further ones."""
        own = self.view()
        return {
            "path": self.path,
            "title": self.title,
            "verdict": own["verdict"],
            "facts": [["ranks", str(len(self.programs))]],
            "notes": [],
            "errors": [],
            "views": [own, *more],
        }


def page_data(*files: Mapping[str, Json]) -> str:
    """Return the JSON of a page."""
    verdict = files[0]["verdict"]
    held = {"schema": "pipeproof.page/1", "tool": "pipeproof", "verdict": verdict, "files": files}
    return json.dumps(held)


def _read(text: str) -> tuple[int, str, int]:
    found = _ACTION.fullmatch(text)
    if found is None or found[2] not in KINDS:
        return -1, "COLL", -1
    return int(found[1] or -1), found[2], int(found[3] or -1)


def _lane(text: str) -> int:
    kind = _read(text)[1]
    if kind.startswith("SEND"):
        return 1
    return 2 if kind.startswith("RECV") else _LANES.get(kind, 3)
