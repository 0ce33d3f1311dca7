"""Stages whose reads depend on more than the STEPs before them, followed along their programs."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from pipeproof.ir.actions import Kind
from pipeproof.ir.as_run import AsRun
from pipeproof.ir.operations import IntArray
from pipeproof.semantics._reads import READERS, Reads, at_home, identified
from pipeproof.semantics._weights import Followed, Ledger

__all__ = ["ENDS", "follow", "followed_stages", "ints", "joined", "parameters"]

ENDS = (Kind.STEP, Kind.SKIP)
_SETTLING = (Kind.COMMIT, Kind.ROLLBACK)
_MOVES = (*ENDS, *_SETTLING, Kind.GATHER)
_Flags = npt.NDArray[np.bool_]


def ints(values: list[int]) -> IntArray:
    """Return a list as an array."""
    return np.asarray(values, np.int64)


def followed_stages(run: AsRun) -> _Flags:
    """Return which stages copy, commit or withdraw weights, or have several, shape `(stages,)`."""
    ops = run.operations
    chosen = np.zeros(run.schedule.stages, np.bool_)
    marked = ops.is_kind(*_SETTLING, Kind.GATHER)
    rows = np.flatnonzero(marked).tolist() if marked.any() else []
    for row, said in ops.attributes.items():
        copies = "fill" in said or "bucket" in said or said.get("w") == "cache"
        if copies or ("param" in said and ops.kind[row] in ENDS):
            rows.append(row)
    if rows:
        found = np.asarray(rows)
        chosen[ops.stage[found[at_home(run)[found]]]] = True
    return chosen


def parameters(run: AsRun, followed: _Flags) -> dict[int, tuple[str, ...]]:
    """Return the parameters of the stages whose STEPs or SKIPs, or what settles them, name some."""
    ops = run.operations
    if not followed.any():
        return {}
    named: dict[int, dict[str, None]] = {}
    for row in np.flatnonzero(ops.is_kind(*ENDS, *_SETTLING) & at_home(run)).tolist():
        name = ops.attributes.get(row, {}).get("param", "")
        if name or ops.kind[row] in ENDS:
            named.setdefault(int(ops.stage[row]), {})[name] = None
    return {stage: tuple(sorted(own)) for stage, own in named.items() if own.keys() != {""}}


def follow(
    run: AsRun,
    followed: _Flags,
    names: Mapping[int, tuple[str, ...]],
    first: IntArray,
    ledger: Ledger,
) -> list[Followed]:
    """Follow each followed stage along its program."""
    ops = run.operations
    chosen = np.flatnonzero(
        (identified(run) & ops.is_kind(*READERS)) | (run.operations.is_kind(*_MOVES) & at_home(run))
    )
    chosen = chosen[followed[ops.stage[chosen]]]
    found: dict[int, Followed] = {}
    buckets = _buckets(run, chosen)
    for row, stage, kind, microbatch in zip(
        chosen.tolist(),
        ops.stage[chosen].tolist(),
        ops.kind[chosen].tolist(),
        ops.microbatch[chosen].tolist(),
        strict=True,
    ):
        if stage not in found:
            own = enumerate(names.get(stage, ("",)), int(first[stage]))
            weights = {name: weight for weight, name in own}
            found[stage] = Followed(weights, buckets.get(stage, ()), ledger)
        found[stage].take(row, Kind(kind), microbatch, ops.attributes.get(row, {}))
    return list(found.values())


def _buckets(run: AsRun, rows: IntArray) -> dict[int, tuple[str, ...]]:
    """Return the parts in which stages with a GATHER hold their copy; `""` is what none names."""
    ops = run.operations
    found: dict[int, dict[str, None]] = {}
    for row in rows[ops.is_kind(Kind.GATHER)[rows]].tolist():
        name = ops.attributes.get(row, {}).get("bucket", "")
        found.setdefault(int(ops.stage[row]), {})[name] = None
    for row in rows[ops.is_kind(Kind.F)[rows]].tolist() if found else ():
        part = ops.attributes.get(row, {}).get("bucket")
        if part is not None and int(ops.stage[row]) in found:
            found[int(ops.stage[row])][part] = None
    return {stage: tuple(own) for stage, own in found.items()}


def joined(plain: Reads, followed: list[Followed]) -> Reads:
    if not followed:
        return plain
    listed = [read for each in followed for read in each.reads]
    rows = np.concatenate((plain.rows, ints([row for row, _ in listed])))
    versions = np.concatenate((plain.versions, ints([version for _, version in listed])))
    order = np.argsort(rows, kind="stable")
    return Reads(rows[order], versions[order])
