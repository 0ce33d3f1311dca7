"""What no witness can show of a schedule."""

from collections.abc import Iterator

from pipeproof.ir.actions import Kind
from pipeproof.ir.as_run import AsRun
from pipeproof.ir.operations import ANY

__all__ = ["unsupported"]


def unsupported(run: AsRun, *, slots: bool) -> Iterator[str]:
    """Yield why a schedule is not run; `slots` says that versions take each other's place."""
    ops, schedule = run.operations, run.schedule
    if bool(ops.is_kind(Kind.ROLLBACK).any()) and (slots or bool(ops.is_kind(Kind.GATHER).any())):
        yield "updates are not withdrawn beside slots for versions or gathered copies"
    if schedule.segments > 1 and (schedule.fragment or bool(ops.is_kind(Kind.ROLLBACK).any())):
        yield "segments are not run in a fragment, or where updates are withdrawn"
    chooses = bool(ops.is_kind(Kind.CHOOSE).any()) or (ops.peer == ANY).any()
    if chooses and not run.settled:
        yield "what the runtime chooses is not run"
    if "ready" in schedule.described and run.ready is None:
        yield "ranks that run what is ready are not run"
    if run.faults is not None:
        yield "what goes wrong shows only where it is injected"
    if schedule.fragment and any(_asks_for_stash(run)):
        yield "the stash of a forward that a fragment leaves out is not known"
    yield from _reduced_in_part(run)


def _asks_for_stash(run: AsRun) -> Iterator[bool]:
    """Yield for each read of a stash whether the forward that left it is not in the file."""
    ops = run.operations
    forwards = ops.is_kind(Kind.F)
    there = set(zip(ops.stage[forwards].tolist(), ops.microbatch[forwards].tolist(), strict=True))
    for row, said in ops.attributes.items():
        if said.get("w") == "stash" and "wv" not in said and ops.kind[row] != Kind.F:
            yield (int(ops.stage[row]), int(ops.microbatch[row])) not in there


def _reduced_in_part(run: AsRun) -> Iterator[str]:
    """Yield why reductions that no update separates, or of some updates only, are not run."""
    ops, schedule = run.operations, run.schedule
    reduced = ops.stage[ops.is_kind(Kind.REDUCE)].tolist()
    size = max(schedule.ids_per_step, 1)
    for stage in sorted(set(reduced)):
        own = ops.stage == stage
        ends = int((own & ops.is_kind(Kind.STEP, Kind.SKIP)).sum())
        adding = own & ops.is_kind(Kind.B, Kind.W)
        if not ends and len(set((ops.microbatch[adding] // size).tolist())) > 1:
            yield "reductions of several steps without an update between them are not run"
        free = schedule.fragment and schedule.gradients.reduce == "default"
        if free and reduced.count(stage) < ends:
            yield "reductions of some steps only, as a fragment may have them, are not run"
