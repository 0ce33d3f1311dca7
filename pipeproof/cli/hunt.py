"""`pipeproof hunt`: campaigns that look for schedules which break what they should keep."""

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from pipeproof import __version__
from pipeproof.cli._exits import Exit, TerminatedError
from pipeproof.cli._hunt_options import Hunting, executor, hunt_options, limits, shard_of
from pipeproof.cli._hunt_targets import target_of
from pipeproof.cli._hunting import hunting
from pipeproof.cli._output import complain, emit, printable_lines

if TYPE_CHECKING:
    from pipeproof.campaign.campaign import Shard
    from pipeproof.campaign.executor import Executor, Limits
    from pipeproof.campaign.report import Report
    from pipeproof.campaign.store import Store
    from pipeproof.campaign.targets.target import Target

__all__ = ["command"]

_MERGE = "merge"


@click.command(name="hunt", short_help="Look for illegal schedules that nobody met yet.")
@hunt_options
def command(**values: Unpack[Hunting]) -> int:
    """Look for what people would otherwise meet in training, and tell what a clean hunt is worth.

    FILE... or --schedule NAME: mutants of a schedule, and its neighbours. --generator NAME:
    whatever a generator makes over a grid. --self: pipeproof itself, by random schedules.

    Results are kept in --store as they come, and --resume goes on with them. `hunt merge STORE...
    -o STORE` puts shards together and tells of all.
    """
    if values["paths"][:1] == (_MERGE,):
        return _merged(values)
    target, shard, guards = target_of(values), shard_of(values), limits(values)
    runner = executor(values)
    with ExitStack() as stack:
        path = _path(values, stack)
        store = stack.enter_context(_opened(path, target))
        try:
            _run(target, store, values, (runner, guards, shard))
        except (KeyboardInterrupt, TerminatedError) as error:
            _stopped(values)
            return Exit.INTERRUPTED if isinstance(error, KeyboardInterrupt) else Exit.TERMINATED
        return _told(target, store, values, whole=shard.of == 1)


def _path(values: Hunting, stack: ExitStack) -> Path:
    """Return where results are kept: in a folder that is gone afterwards unless it is said.

    Raises:
        click.UsageError: results are there and are not to be gone on with, or the other way round.
    """
    written = values["store"]
    if written is None:
        if values["resume"]:
            said = "--resume goes with --store FILE."
            raise click.UsageError(said)
        return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pipeproof-"))) / "store"
    path = Path(written)
    shown = printable_lines(written)
    try:
        there = path.exists() and path.stat().st_size > 0
        is_report = values["output"] is not None and _are_one(path, Path(values["output"]))
    except (OSError, ValueError) as error:
        said = f"{shown}: no such path can be"
        raise click.UsageError(said) from error
    if is_report:
        said = f"{shown} is the store; write the report (-o) to another file."
        raise click.UsageError(said)
    if there and not values["resume"]:
        said = f"{shown} holds a campaign; go on with it by --resume, or name another file."
        raise click.UsageError(said)
    return path


def _are_one(store: Path, other: Path) -> bool:
    """Whether a file is a store, or one of those that SQLite keeps beside it."""
    whole = store.resolve()
    beside = [whole.with_name(f"{whole.name}{end}") for end in ("", "-wal", "-shm", "-journal")]
    return other.resolve() in beside or (
        other.exists() and store.exists() and other.samefile(store)
    )


def _opened(path: Path, target: "Target") -> "Store":
    from pipeproof.campaign.store import Store  # noqa: PLC0415  imported when needed

    store = Store.open(path, {**target.campaign, "version": __version__})
    if store.damaged:
        complain(f"{path}: {store.damaged} damaged results taken out; their tasks run again")
    return store


def _run(
    target: "Target", store: "Store", values: Hunting, how: "tuple[Executor, Limits, Shard]"
) -> None:
    """Run what is not done yet, and then what follows from what was found."""
    from pipeproof.campaign.campaign import campaign  # noqa: PLC0415  imported when needed

    runner, guards, shard = how
    with hunting() as watch:
        campaign(target.tasks(), store, runner, guards, shard, watch)
        further = list(target.further(list(store.rows())))
        if further:
            campaign(further, store, runner, guards, watch=watch)


def _stopped(values: Hunting) -> None:
    where = values["store"]
    if where is None:
        complain("stopped; nothing was kept, for no --store was named")
    else:
        complain(f"stopped; what was found is in {where}, and --resume goes on with it")


def _told(
    target: "Target", store: "Store", values: Hunting, *, whole: bool, merged: bool = False
) -> Exit:
    """Tell what the campaign came to, write found cases, and return how the command ends.

    Of a `whole` campaign every task has to be there; `merged`, the output is the store itself.

    Raises:
        click.FileError: report or cases cannot be written.
    """
    from pipeproof.campaign.found import write_cases  # noqa: PLC0415  imported when needed
    from pipeproof.campaign.report import report  # noqa: PLC0415

    made = report(target, store.rows())
    is_json = values["format_"] == "json"
    output = None if merged else values["output"]
    emit(made.json() if is_json else printable_lines(made.text()), output)
    try:
        written = write_cases(made.told.cases, Path(values["found"]))
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "no such path can be"
        raise click.FileError(printable_lines(values["found"]), why) from error
    if written:
        said = "a found case is" if written == 1 else f"{written} found cases are"
        complain(f"{said} written to {values['found']}")
    return _code(made, whole=whole)


def _code(made: "Report", *, whole: bool) -> Exit:
    if made.told.cases:
        return Exit.DISTRUST if made.told.distrust else Exit.REFUTED
    if made.told.refuted:
        return Exit.REFUTED
    if made.guards or made.told.undecided or (whole and made.absent):
        return Exit.UNKNOWN
    return Exit.PROVED if made.told.trials else Exit.NOTHING


def _merged(values: Hunting) -> int:
    """Put the stores of shards together into one, and tell of it.

    Raises:
        click.UsageError: there is nothing to merge, or no place for it.
    """
    from pipeproof.campaign.campaign import campaign  # noqa: PLC0415  imported when needed
    from pipeproof.campaign.store import Store  # noqa: PLC0415
    from pipeproof.campaign.targets.named import target_named  # noqa: PLC0415

    paths, output = values["paths"][1:], values["output"]
    if not paths or output is None:
        said = "Write hunt merge STORE... -o STORE."
        raise click.UsageError(said)
    if Path(output).exists():
        said = f"{printable_lines(output)} is there; name a file that is not."
        raise click.UsageError(said)
    with Store.existing(Path(paths[0])) as first:
        target = target_named(first.campaign)
    with _opened(Path(output), target) as store:
        _merge(store, paths)
        further = list(target.further(list(store.rows())))
        if further:
            with hunting() as watch:
                campaign(further, store, executor(values), limits(values), watch=watch)
        return _told(target, store, values, whole=True, merged=True)


def _merge(store: "Store", paths: Sequence[str]) -> None:
    """Take over what the stores at `paths` hold; where one cannot be, no store is left."""
    from pipeproof.campaign.store import Store  # noqa: PLC0415  imported when needed

    try:
        for each in paths:
            with Store.existing(Path(each)) as other:
                store.merge(other)
    except BaseException:
        store.close()
        store.path.unlink(missing_ok=True)
        raise
