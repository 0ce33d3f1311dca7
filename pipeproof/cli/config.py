"""`pipeproof config`: what is configured, and where."""

import json
from collections.abc import Mapping

import click

from pipeproof.cli._config import Setting, found
from pipeproof.cli._exits import Exit
from pipeproof.cli._keys import KEYS, Key
from pipeproof.cli._output import emit, printable_lines
from pipeproof.verdict.result import Json

__all__ = ["SCHEMA", "command"]

SCHEMA = "pipeproof.config/1"


@click.group(name="config", short_help="Show what is configured, and where.")
def command() -> None:
    """Show the configuration: [tool.pipeproof] of a pyproject.toml, pipeproof.toml, PIPEPROOF_*."""


@command.command(name="show", short_help="Show every key, its value, and what sets it.")
@click.option("--config", metavar="FILE", help="This file, instead of the nearest one.")
@click.option("--no-config", is_flag=True, help="Read no configuration file.")
@click.option(
    "--format", "format_", type=click.Choice(["json", "text"]), default="text", show_default=True
)
def show(config: str | None, format_: str, *, no_config: bool) -> int:
    """Show every key of the configuration, its value, and what sets it.

    An option of a command comes before all of this.
    """
    if config is not None and no_config:
        said = "Write --config or --no-config, not both."
        raise click.UsageError(said)
    settings = found(config, isolated=no_config)
    keys = [(key, settings.by_key.get(key.name)) for key in KEYS.values()]
    if format_ == "json":
        whole = {"schema": SCHEMA, "file": settings.file, "keys": [_object(*key) for key in keys]}
        emit(json.dumps(whole, indent=1) + "\n")
        return Exit.PROVED
    rows = [(key.name, _value(key, setting), _where(setting)) for key, setting in keys]
    widths = [max(len(row[i]) for row in rows) for i in (0, 1)]
    lines = [f"{name:{widths[0]}}  {value:{widths[1]}}  {where}" for name, value, where in rows]
    head = settings.file or "no configuration file"
    emit("".join(f"{printable_lines(line)}\n" for line in (head, *lines)))
    return Exit.PROVED


def _said(key: Key, setting: Setting | None) -> Json:
    return key.default if setting is None else key.kind.said(setting.value)


def _value(key: Key, setting: Setting | None) -> str:
    said = _said(key, setting)
    return "not set" if said is None else json.dumps(said, ensure_ascii=False)


def _where(setting: Setting | None) -> str:
    return "default" if setting is None else setting.where


def _object(key: Key, setting: Setting | None) -> Mapping[str, Json]:
    by = "default" if setting is None else "file" if setting.line else "environment"
    placed = setting is not None and setting.line > 0
    return {
        "key": key.name,
        "value": _said(key, setting),
        "from": by,
        "file": setting.source if setting is not None and placed else None,
        "line": setting.line if setting is not None and placed else None,
        "column": setting.column if setting is not None and placed else None,
        "variable": key.variable,
    }
