"""Versions of the weights: what is current, copied, kept, committed, sharded."""

from collections.abc import Iterable, Iterator

import numpy as np

from pipeproof.ir.actions import Kind
from pipeproof.reports._states_words import by_event, over, short, staged
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.relations.holds import KINDS, memory

__all__ = ["Weights"]

_Told = Iterator[tuple[str, str]]


class Weights:
    """The version of each stage, and of each parameter that STEPs name."""

    group = "versions"

    def __init__(self, frame: Frame) -> None:
        """Look at the weights of `frame`."""
        self._frame, self._versions = frame, frame.versions
        self._changed()
        self._settled()
        self._retained()
        self._copied()
        self._sharded()

    def _changed(self) -> None:
        frame, versions = self._frame, self._versions
        rows = versions.changes[1]
        number = np.arange(len(rows))
        self._making = by_event(frame.start(rows), number)
        self._made = by_event(frame.done(rows), number)
        self._current: dict[int, int] = {}

    def _settled(self) -> None:
        """Note the versions that are committed later than they are made."""
        frame, versions = self._frame, self._versions
        late = np.flatnonzero((versions.settled != versions.made) & (versions.made >= 0))
        self._open = set(late.tolist())
        kept = late[~versions.withdrawn[late]]
        self._commits = by_event(frame.done(versions.settled[kept]), kept)

    def _retained(self) -> None:
        """Note the versions that are kept beside the current one, and until when."""
        frame = self._frame
        holds = memory(frame)
        kept = np.flatnonzero((holds.kind == KINDS.index("versions")) & (holds.rows >= 0))
        self._kept_row = holds.rows.tolist()
        chosen = np.zeros(len(holds.rows) + 1, np.bool_)
        chosen[kept] = True
        own = chosen[holds.of]
        ends = dict(zip(holds.of[own].tolist(), holds.ends[own].tolist(), strict=True))
        self._until = {k: frame.instruction_text(end // 2) for k, end in ends.items()}
        self._keeps = by_event(holds.start[kept], kept)
        self._drops = by_event(holds.ends[own], holds.of[own])

    def _copied(self) -> None:
        """Note where stages gather their weights, and where operations fill a cache."""
        frame = self._frame
        gathers = staged(frame, Kind.GATHER)
        self._gathers = by_event(frame.done(gathers), gathers)
        self._buckets: dict[int, list[str]] = {}
        attributes = frame.ops.attributes
        for row in gathers.tolist():
            own = self._buckets.setdefault(int(frame.ops.stage[row]), [])
            own.append(attributes.get(row, {}).get("bucket", ""))
        for row in sorted(row for row, said in attributes.items() if "bucket" in said):
            if frame.ops.kind[row] == Kind.F and int(frame.ops.stage[row]) in self._buckets:
                self._buckets[int(frame.ops.stage[row])].append(attributes[row]["bucket"])
        fills = np.asarray(sorted(r for r, said in attributes.items() if "fill" in said), np.int64)
        self._fills = by_event(frame.done(fills), fills)

    def _sharded(self) -> None:
        frame = self._frame
        changes = staged(frame, Kind.UNSHARD, Kind.RESHARD)
        self._shards = by_event(frame.start(changes), changes)
        self._sharded_at = by_event(over(frame, changes), changes)

    def begins(self) -> _Told:
        versions = self._versions
        for weight in range(len(versions.stage)):
            yield self._name(weight), "version 0"
        for stage in sorted(self._buckets):
            for bucket in sorted(set(self._buckets[stage])):
                yield self._copy(stage, bucket), "version 0"
        for rows in self._shards.values():
            for row in rows:
                yield f"stage {int(self._frame.ops.stage[row])} parameters", "sharded"

    def moments(self) -> Iterable[Iterable[int]]:
        return (
            *(self._making, self._made, self._commits, self._keeps, self._drops),
            *(self._gathers, self._fills, self._shards, self._sharded_at),
        )

    def happens(self, event: int) -> _Told:
        yield from self._changes(event)
        for k in self._keeps.get(event, ()):
            yield self._kept(k), f"kept until {short(self._until[k])}"
        for k in self._drops.get(event, ()):
            yield self._kept(k), ""
        yield from self._copies(event)
        yield from self._moves(event)

    def _changes(self, event: int) -> _Told:
        weights, rows, versions = self._versions.changes
        for k in self._making.get(event, ()):
            if self._frame.ops.kind[rows[k]] == Kind.STEP:
                weight = int(weights[k])
                number = int(self._versions.number[versions[k]])
                yield self._name(weight), f"{self._told(weight)}, {number} being written"
        for k in self._made.get(event, ()):
            self._current[int(weights[k])] = int(versions[k])
            yield self._name(int(weights[k])), self._told(int(weights[k]))
        for version in self._commits.get(event, ()):
            self._open.discard(version)
            weight = int(self._versions.weight[version])
            yield self._name(weight), self._told(weight)

    def _told(self, weight: int) -> str:
        version = self._current.get(weight, weight)
        number = int(self._versions.number[version])
        return f"version {number}" + (", not committed" if version in self._open else "")

    def _name(self, weight: int) -> str:
        name = self._versions.names[weight]
        stage = f"stage {int(self._versions.stage[weight])}"
        return f"{stage} {short(name)}" if name else stage

    def _kept(self, k: int) -> str:
        row = self._kept_row[k]
        return f"stage {int(self._frame.ops.stage[row])} version {self._versions.told(row)}"

    def _copies(self, event: int) -> _Told:
        ops = self._frame.ops
        for row in self._gathers.get(event, ()):
            stage, bucket = int(ops.stage[row]), ops.attributes.get(row, {}).get("bucket")
            for each in sorted(set(self._buckets[stage])) if bucket is None else (bucket,):
                yield self._copy(stage, each), f"version {self._versions.told(row)}"
        for row in self._fills.get(event, ()):
            version = self._versions.told(row)
            said = "" if version is None else f"version {version}"
            yield f"stage {int(ops.stage[row])} cache", said

    def _copy(self, stage: int, bucket: str) -> str:
        return f"stage {stage} gathered" + (f" {short(bucket)}" if bucket else "")

    def _moves(self, event: int) -> _Told:
        ops = self._frame.ops
        for row in self._shards.get(event, ()):
            word = "unsharded" if ops.kind[row] == Kind.UNSHARD else "sharded"
            yield f"stage {int(ops.stage[row])} parameters", f"being {word}"
        for row in self._sharded_at.get(event, ()):
            word = "unsharded" if ops.kind[row] == Kind.UNSHARD else "sharded"
            yield f"stage {int(ops.stage[row])} parameters", word
