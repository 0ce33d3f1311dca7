"""`pipeproof init`: writes a first spec, with comments."""

import json
import shlex
from pathlib import Path
from typing import TypedDict, Unpack

import click

from pipeproof.cli._first_spec import SCHEMA_FILE, first_spec, known_spec, written_spec
from pipeproof.cli._options import COUNT
from pipeproof.cli._output import complain, emit
from pipeproof.cli.schema import schemas

__all__ = ["command"]

_FILE = "schedule.yaml"
_SHAPE = ("ranks", "microbatches", "stages_per_rank")


class _Values(TypedDict):
    path: str
    schedule: str | None
    ranks: int | None
    microbatches: int | None
    stages_per_rank: int | None
    programs: bool
    schema: bool
    force: bool


@click.command(name="init", short_help="Write a first spec, with comments.")
@click.argument("path", metavar="[PATH]", default=_FILE, type=click.Path())
@click.option("--schedule", metavar="NAME", help="Start from a known schedule.")
@click.option("--ranks", type=COUNT, metavar="R", help="With --schedule.  [default: 4]")
@click.option("--microbatches", type=COUNT, metavar="M", help="With --schedule.  [default: 8]")
@click.option("--stages-per-rank", type=COUNT, metavar="V", help="Where the schedule leaves it.")
@click.option("--programs", is_flag=True, help="With --schedule: write its programs out.")
@click.option("--schema", is_flag=True, help=f"Write {SCHEMA_FILE} beside it, for editors.")
@click.option("--force", is_flag=True, help="Write over what is there.")
def command(**values: Unpack[_Values]) -> int:
    """Write a first spec to PATH, schedule.yaml unless named; `-` is stdout.

    It is legal as it stands, and its comments say what each key is for. In a folder it is called
    schedule.yaml.
    """
    text = _text(values)
    if values["path"] == "-":
        if values["schema"]:
            said = "--schema goes with a file, not with stdout."
            raise click.UsageError(said)
        emit(text)
        return 0
    path = Path(values["path"])
    path = path / _FILE if path.is_dir() else path
    content = {path: text}
    if values["schema"]:
        content[path.with_name(SCHEMA_FILE)] = schemas()["spec"].read_text(encoding="utf-8")
    _write(content, force=values["force"])
    complain(_told(path, schema=values["schema"]))
    return 0


def _text(values: _Values) -> str:
    """Return the text of the spec that the options ask for.

    Raises:
        click.UsageError: an option asks for a part of a known schedule, and none is named.
        InputError: there is no such schedule, or not of that shape.
    """
    name = values["schedule"]
    if name is None:
        for option in (*_SHAPE, "programs"):
            if values.get(option):
                said = f"--{option.replace('_', '-')} goes with --schedule."
                raise click.UsageError(said)
        return first_spec()
    return _known_text(name, values)


def _known_text(name: str, values: _Values) -> str:
    from pipeproof.api import lowered  # noqa: PLC0415  imported when needed
    from pipeproof.cli._known import known  # noqa: PLC0415
    from pipeproof.ir.reading import ReadOptions  # noqa: PLC0415
    from pipeproof.ir.spec_text import write_spec  # noqa: PLC0415

    options = ReadOptions(microbatches=values["microbatches"] or 8)
    document = known(name, values["ranks"] or 4, values["stages_per_rank"], {}, options)
    schedule = document.schedule
    title = f"{name} on {schedule.ranks} rank{'s' * (schedule.ranks > 1)}"
    if not values["programs"]:
        shape = {"name": name, "ranks": schedule.ranks}
        if values["stages_per_rank"]:
            shape["stages_per_rank"] = values["stages_per_rank"]
        said = ", ".join(f"{key}: {each}" for key, each in shape.items())
        return known_spec(title, schedule.stages, schedule.microbatches, f"{{{said}}}")
    _, _, ranks = write_spec(lowered(document), None).partition("\nranks:\n")
    placement = json.dumps(list(schedule.placement))
    programs = f"ranks:\n{ranks}"
    return written_spec(title, schedule.stages, schedule.microbatches, placement, programs)


def _write(content: dict[Path, str], *, force: bool) -> None:
    """Write files, all of them or, where something is in the way, none.

    Raises:
        click.UsageError: a file is there already, holds something else, and is not to be lost.
        click.FileError: a file cannot be written.
    """
    for path, text in content.items():
        if not force and (path.exists() or path.is_symlink()) and not _holds(path, text):
            said = f"{_shown(path)} is there already; --force writes over it"
            raise click.UsageError(said)
    for path, text in content.items():
        emit(text, str(path))


def _holds(path: Path, text: str) -> bool:
    """Whether a schema is there already as it would be written; a spec is never taken for one."""
    if path.name != SCHEMA_FILE or not path.is_file():
        return False
    return path.read_bytes() == text.encode()


def _told(path: Path, *, schema: bool) -> str:
    lines = [f"{_shown(path)}: written"]
    if not schema:
        beside = _shown(path.with_name(SCHEMA_FILE), quoted=True)
        lines.append(f"completion in editors: pipeproof schema spec -o {beside}")
    return "\n".join([*lines, f"next: pipeproof check {_shown(path, quoted=True)}"])


def _shown(path: Path, *, quoted: bool = False) -> str:
    """Return a path on one line, quoted as a shell needs it."""
    text = "".join(c if c.isprintable() else "\ufffd" for c in str(path))
    return shlex.quote(text) if quoted else text
