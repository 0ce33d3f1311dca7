"""`pipeproof evidence`: makes bundles that others can verify, verifies them, and tells of them."""

import json
import os
import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from pipeproof import __version__
from pipeproof.cli._exits import Exit
from pipeproof.cli._options import Asking, read_options, reading_options, transport_option
from pipeproof.cli._output import complain, emit, printable_lines
from pipeproof.cli._telling import format_option
from pipeproof.errors import ParseError, Problem, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeproof.evidence.commands import Ended
    from pipeproof.evidence.create import Created
    from pipeproof.evidence.verify import Now, Verified
    from pipeproof.verdict.result import Json

__all__ = ["SCHEMA", "command"]

SCHEMA = "pipeproof.verified/1"
_SHOWN = 100
_COMMIT = re.compile(r"[0-9a-f]{7,64}")


def _commit(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Return the id of a commit, whole or its first seven digits or more."""
    if value is None or _COMMIT.fullmatch(value.lower()) is not None:
        return None if value is None else value.lower()
    said = f"{printable(value)} is no commit; write its id, seven hexadecimal digits or more"
    raise click.BadParameter(said, ctx, param)


@click.group(name="evidence", short_help="Make and verify bundles of what was checked.")
def command() -> None:
    """Make, verify and list bundles: one folder that says what was checked, of what, by what.

    Whoever has a bundle can verify it offline; docs/evidence.md says what that shows, and what not.
    """


class _Create(Asking):
    paths: tuple[str, ...]
    output: str
    run: tuple[str, ...]
    stored: str | None


@command.command(short_help="Check schedules and write a bundle.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "-o",
    "--output",
    default="evidence-bundle",
    show_default=True,
    metavar="DIR",
    help="The folder to make; nothing may stand there.",
)
@click.option(
    "--run", multiple=True, metavar="COMMAND", help="Run this too, and keep its log and exit code."
)
@click.option("--stored", metavar="TEXT", help="Where the bundle will be kept, for its manifest.")
@transport_option
@reading_options
def create(**values: Unpack[_Create]) -> int:
    """Check, certify and recheck every schedule at PATH..., and write a bundle about it.

    Commands run in the root of the git repository around here, without it here. The bundle is
    written whatever was found. The exit code is that of `check`; 4 where the second checker
    refuses a certificate; 1 where a command of --run ends with anything but 0.
    """
    from pipeproof.cli._afresh import scheduled  # noqa: PLC0415  imported when needed
    from pipeproof.evidence import repository  # noqa: PLC0415
    from pipeproof.evidence.create import Options, Plan  # noqa: PLC0415
    from pipeproof.evidence.create import create as made  # noqa: PLC0415

    root = repository.top(Path.cwd()) or Path.cwd().resolve()
    schedules = tuple(scheduled(values["paths"], root, read_options(values)))
    if not schedules:
        complain("no schedule stands there: no bundle is made")
        return Exit.NOTHING
    options = Options(
        values["transport"],
        values["profile"],
        values["lowering"],
        values["microbatches"],
        values["stages"],
        values["limit"],
    )
    plan = Plan(root, schedules, options, values["run"], values["stored"])
    created = made(plan, values["output"], os.environ, _watched)
    emit("".join(f"{printable_lines(each)}\n" for each in _created(created, values["output"])))
    return _code(created)


def _watched(argv: "Sequence[str]", folder: Path, logs: Path) -> "Ended":
    """Run a command; whoever sits at a terminal sees which one."""
    from pipeproof.evidence import commands  # noqa: PLC0415  imported when needed

    if sys.stderr.isatty():
        complain(shlex.join(argv)[:_SHOWN])
    return commands.processes(argv, folder, logs)


def _created(created: "Created", output: str) -> list[str]:
    lines = [f"{name}: {verdict}" for name, verdict in created.schedules]
    lines += [f"{argv}: exit {code}" for argv, code in created.commands]
    lines += [f"{each}: rejected by the second checker" for each in created.rejected]
    return [*lines, f"{output}: bundle {created.id}"]


def _code(created: "Created") -> int:
    if created.rejected:
        return Exit.DISTRUST
    failed = any(code != 0 for _, code in created.commands)
    return Exit.REFUTED if failed and created.check == Exit.PROVED else created.check


class _Verify(TypedDict):
    bundle: str
    expected: str | None
    root: str | None
    no_judge: bool
    format_: str


@command.command(short_help="Say whether a bundle is whole and still speaks of what is here.")
@click.argument("bundle", metavar="DIR|ARCHIVE")
@click.option(
    "--expected-commit",
    "expected",
    callback=_commit,
    metavar="SHA",
    help="Compare with this commit, instead of the one that is checked out.",
)
@click.option("--root", metavar="DIR", help="The repository to compare with, instead of this one.")
@click.option("--no-judge", is_flag=True, help="The second checker only; judge nothing afresh.")
@format_option
def verify(**values: Unpack[_Verify]) -> int:
    """Check the sums of a bundle, what it shows, and whether it speaks of what is here.

    \b
    FRESH                   0   whole, of this commit and this build of pipeproof
    HEAD_MOVED_INPUTS_SAME  10  the commit is another, the files that were checked are the same
    STALE_INPUTS_CHANGED    11  a file that was checked is another now
    DIRTY_TREE              12  no commit holds what was checked
    TOOL_DIFFERS            13  this is another build of pipeproof
    TAMPERED                14  a file differs from its sum, or the parts contradict each other
    UNSUPPORTED_SCHEMA      15  whole, and not readable by this version

    Several at once: 14, 15, 13, 11, 12, 10, in this order. FRESH says nothing about whether the
    schedules are legal: their verdicts stand beside it. An archive is read without being unpacked.
    """  # noqa: D301  click reads \b
    from pipeproof.cli._afresh import afresh  # noqa: PLC0415  imported when needed
    from pipeproof.evidence.verify import Status, verify_at  # noqa: PLC0415

    now = _now(values["expected"], values["root"])
    verified = verify_at(values["bundle"], now, None if values["no_judge"] else afresh)
    if verified.status is Status.FRESH and now.commit is None:
        said = "no commit is checked out here to compare with"
        expected = "name one: --expected-commit SHA, or --root DIR"
        raise ParseError([Problem(values["bundle"], 1, 1, said, expected)])
    if values["format_"] == "json":
        emit(json.dumps(_object(values["bundle"], verified), indent=1) + "\n")
    else:
        emit("".join(f"{printable_lines(each)}\n" for each in _lines(verified)))
    return verified.status.value


def _now(expected: str | None, root: str | None) -> "Now":
    from pipeproof.evidence import repository  # noqa: PLC0415  imported when needed
    from pipeproof.evidence.verify import Commit, Files  # noqa: PLC0415

    where = _root(root)
    if expected is None:
        return Files(where, repository.head(where))
    whole = repository.known(where, expected)
    return Commit(expected, None) if whole is None else Commit(whole, where)


def _root(named: str | None) -> Path:
    """Return the folder that paths start from: the root of a repository where there is one."""
    from pipeproof.evidence import repository  # noqa: PLC0415  imported when needed

    where = Path.cwd() if named is None else Path(named)
    if "\0" in str(where) or not where.is_dir():
        said = f"{printable(str(named))} is no folder"
        raise click.BadParameter(said, param_hint="--root")
    return repository.top(where) or where.resolve()


def _lines(found: "Verified") -> list[str]:
    head = found.status.name
    if not found.predicate:
        return [f"{head}: {found.reasons[0].why}"]
    told = _told(found)
    now = found.now or "none"
    lines = [f"{head}: bundle {told['id']} of commit {told['commit'] or 'none'}, now {now}"]
    lines += [f"  {each.status.name}: {each.why}" for each in found.reasons]
    for each in found.checked:
        ending = "" if each.statements == 1 else "s"
        shown = [f"{each.statements} statement{ending} accepted by the second checker"]
        shown += [f"{each.counterexamples} of them counterexamples"] * (each.counterexamples > 0)
        shown += ["its certificate is rejected, as the bundle says"] * each.rejected
        shown += ["judged afresh: the same"] * each.again
        lines.append(f"  {each.name}: {each.verdict}; {', '.join(shown)}")
    return [*lines, *(f"  {argv}: exit {code}" for argv, code in _asked(found))]


def _object(bundle: str, found: "Verified") -> "Json":
    return {
        "schema": SCHEMA,
        "tool": {"name": "pipeproof", "version": __version__},
        "bundle": bundle,
        "status": found.status.name,
        "exit": found.status.value,
        "reasons": [{"status": each.status.name, "why": each.why} for each in found.reasons],
        **(_told(found) if found.predicate else {"id": None, "commit": None}),
        "now": found.now,
        "schedules": [each._asdict() for each in found.checked],
        "commands": [{"command": argv, "exit": code} for argv, code in _asked(found)],
    }


def _told(found: "Verified") -> "dict[str, Json]":
    said = found.predicate["repository"]
    commit = said["commit"] if isinstance(said, dict) else None
    return {"id": found.predicate["id"], "commit": commit}


def _asked(found: "Verified") -> "list[tuple[str, int]]":
    from pipeproof.evidence.table import asked  # noqa: PLC0415  imported when needed

    return asked(found.predicate) if found.predicate else []


class _Table(TypedDict):
    bundles: tuple[str, ...]
    root: str | None
    output: str | None


@command.command(short_help="Write a page about what bundles show.")
@click.argument("bundles", nargs=-1, metavar="DIR|ARCHIVE...")
@click.option("--root", metavar="DIR", help="The repository to compare with, instead of this one.")
@click.option("-o", "output", metavar="FILE", help="Write it there, not to stdout.")
def table(**values: Unpack[_Table]) -> int:
    """Write what was validated, in Markdown, from bundles and nothing else.

    The verdict of a schedule is current where its bundle is of this build of pipeproof and of the
    file below the root; what a command of --run gave only at the very commit. It is superseded
    where a later bundle holds it too, and historical else. The exit code is 14 or
    15 where a bundle is tampered with or not readable; no page is written then.
    """
    from pipeproof.cli._afresh import afresh  # noqa: PLC0415  imported when needed
    from pipeproof.evidence import repository  # noqa: PLC0415
    from pipeproof.evidence.table import page, rows_of  # noqa: PLC0415
    from pipeproof.evidence.verify import Files, verify_at  # noqa: PLC0415

    root, found = _root(values["root"]), []
    now = Files(root, None if repository.described(root, ()).dirty else repository.head(root))
    for each in values["bundles"]:
        verified = verify_at(each, now, afresh)
        if not verified.predicate:
            complain(f"{each}: {verified.status.name}: {verified.reasons[0].why}")
            return verified.status.value
        found += rows_of(Path(each).as_posix(), verified)
    emit(page(found), values["output"])
    return Exit.PROVED
