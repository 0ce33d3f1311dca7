"""What a schedule does not describe, so that nothing of it is judged."""

import numpy as np

from pipeproof.ir.actions import Kind
from pipeproof.ir.schedule import Schedule

__all__ = ["undescribed"]

_STORAGE = frozenset(("buf", "in", "out", "gin", "gout", "keep", "aux", "label", "storage"))


def undescribed(schedule: Schedule) -> tuple[str, ...]:
    """Name what the schedule does not describe, of storage, versions, reductions and the rest."""
    ops, described = schedule.operations, schedule.described
    said = {name for attributes in ops.attributes.values() for name in attributes}
    has = {
        "storage": bool(_STORAGE & said) or "storage" in described,
        "weight versions": bool(np.any(ops.is_kind(Kind.STEP))) or "weights" in described,
        "reductions": bool(np.any(ops.is_kind(Kind.REDUCE))),
        "sharding": bool(np.any(ops.is_kind(Kind.UNSHARD, Kind.RESHARD))),
        "shapes": bool({"shape", "dtype", "layout"} & said),
        "memory": "sizes" in described or "bounds" in described,
    }
    return tuple(name for name, stands in has.items() if not stands)
