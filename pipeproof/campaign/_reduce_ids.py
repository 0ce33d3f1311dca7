"""The same schedule with fewer microbatches, or fewer steps."""

from collections.abc import Iterator

from pipeproof.campaign._draft import Draft, Operation, Spot, Tree
from pipeproof.campaign._reduce import remove, renumber

__all__ = ["fewer_microbatches", "fewer_steps"]

_UPDATES = ("STEP", "SKIP")
_OF_STEP = (
    *("STEP", "SKIP", "ZERO", "SCALE", "REDUCE", "NORM", "TIE", "GATHER", "COMMIT", "ROLLBACK"),
    "STALE",
)


def fewer_microbatches(draft: Draft) -> Iterator[Draft]:
    """Yield the schedule without each microbatch, in all steps, the last first; halves before."""
    count = draft.microbatches
    if count == 1:
        return
    half = count // 2
    if half > 1:
        yield _without(draft, set(range(count - half, count)))
        yield _without(draft, set(range(half)))
    for microbatch in reversed(range(count)):
        yield _without(draft, {microbatch})


def fewer_steps(draft: Draft) -> Iterator[Draft]:
    """Yield the schedule without each step, the last first."""
    if draft.steps is None:
        other = draft.copy()
        other.steps = 1
        yield other
        return
    if draft.steps == 1:
        return
    for step in reversed(range(draft.steps)):
        for versions in (True, False):
            yield _without_step(draft, step, versions=versions)


def _without(draft: Draft, gone: set[int]) -> Draft:
    other = draft.copy()
    per, segments = draft.microbatches * draft.segments, draft.segments
    steps = draft.steps or 1
    ids = {t * per + k * segments + s for t in range(steps) for k in gone for s in range(segments)}
    _take_ids(other, ids)
    other.microbatches -= len(gone)
    for key in ("coefficients", "tokens"):
        _shorten(other.gradients, key, gone, draft.microbatches)
    return other


def _shorten(holder: dict[str, Tree], key: str, gone: set[int], count: int) -> None:
    """Take what is said of some microbatches out of a list that says it of each."""
    held = holder.get(key)
    if isinstance(held, dict):
        for each in list(held):
            _shorten(held, each, gone, count)
    if isinstance(held, list) and len(held) == count:
        holder[key] = [each for n, each in enumerate(held) if n not in gone]


def _take_ids(draft: Draft, ids: set[int]) -> None:
    """Take out what is of some ids; those behind them close up."""
    remove(draft, [spot for spot, each in draft.every() if _is_of(each, ids)])
    _take_faults(draft, ids)
    ordered = sorted(ids)
    renumber(draft, microbatch=lambda number: number - sum(gone < number for gone in ordered))


def _is_of(each: Operation, ids: set[int]) -> bool:
    if each.microbatch in ids:
        return True
    words = [*each.words[1:], each.attributes.get("v", "")]
    values = (word.partition(".") for word in words)
    return any(at.isdigit() and int(at) in ids and head for head, dot, at in values if dot)


def _take_faults(draft: Draft, ids: set[int]) -> None:
    faults = draft.described.get("faults")
    among = faults.get("among") if isinstance(faults, dict) else None
    if isinstance(faults, dict) and isinstance(among, list):
        faults["among"] = [each for each in among if not _is_fault_of(each, ids)]


def _is_fault_of(fault: Tree, ids: set[int]) -> bool:
    if not isinstance(fault, dict):
        return False
    message = str(fault.get("message", "")).partition(".")[2]
    words = Operation(str(fault.get("op", "x")).split() or ["x"])
    return (message.isdigit() and int(message) in ids) or words.microbatch in ids


def _without_step(draft: Draft, step: int, *, versions: bool) -> Draft:
    """Return the schedule without a step; `versions` says whether later ones count from there."""
    other = draft.copy()
    remove(other, _of_step(draft, step))
    per = draft.microbatches * draft.segments
    _take_ids(other, set(range(step * per, (step + 1) * per)))
    other.steps = (draft.steps or 1) - 1
    for _, each in other.every() if versions else ():
        for key in ("w", "wv"):
            said = each.attributes.get(key, "")
            if said.isdigit() and int(said) > step:
                each.attributes[key] = str(int(said) - 1)
    return other


def _of_step(draft: Draft, step: int) -> list[Spot]:
    """Return what stands between two updates of a stage and is of no microbatch."""
    done: dict[int, int] = {}
    found = []
    for spot, each in draft.every(*_OF_STEP):
        if done.get(each.stage, 0) == step:
            found.append(spot)
        if each.kind in _UPDATES:
            done[each.stage] = done.get(each.stage, 0) + 1
    return found
