"""Commands that hear the configuration where their own options are silent."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TypeVar

import click
from click.core import ParameterSource

from pipeproof.cli._config import Setting, Settings, found
from pipeproof.cli._keys import KEYS, Key
from pipeproof.cli._output import complain
from pipeproof.verdict.result import FileReport

__all__ = ["Configured", "config_options", "noted"]

_F = TypeVar("_F", bound=Callable[..., int])
_SETTINGS = "pipeproof.settings"
_LEAVES_OUT = ("select", "ignore")


def config_options(function: _F) -> _F:
    """Add the options that say where the configuration stands."""
    for option in (
        click.option(
            "--no-config", is_flag=True, expose_value=False, help="Read no configuration file."
        ),
        click.option(
            "--config",
            metavar="FILE",
            expose_value=False,
            help="A pyproject.toml or pipeproof.toml, instead of the nearest one.",
        ),
    ):
        function = option(function)
    return function


class Configured(click.Command):
    """A command whose options, where nobody writes them, are those of the configuration."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        written, _, _ = self.make_parser(ctx).parse_args(list(args))
        helps = self.get_help_option(ctx)
        asks = not (ctx.resilient_parsing or (helps and written.get(helps.name)))
        if asks:
            self._configure(ctx, written.get("config"), isolated=bool(written.get("no_config")))
        rest = super().parse_args(ctx, args)
        if asks:
            self._take_paths(ctx)
        return rest

    def invoke(self, ctx: click.Context) -> object:
        said = _said(ctx)
        if said:
            complain(said)
        return super().invoke(ctx)

    def _configure(self, ctx: click.Context, path: object, *, isolated: bool) -> None:
        if path is not None and isolated:
            said = "Write --config or --no-config, not both."
            raise click.UsageError(said, ctx)
        settings = found(path if isinstance(path, str) else None, isolated=isolated)
        ctx.meta[_SETTINGS] = settings
        ctx.default_map = {
            key.parameter: key.option(setting.value)
            for key, setting in _heard(settings, self.name)
            if key.name != "paths"
        }

    def _take_paths(self, ctx: click.Context) -> None:
        """Take the paths that are configured where none is written.

        Raises:
            click.MissingParameter: there are none, and nothing else can stand in their place.
        """
        if ctx.params.get("paths", True) or _instead(ctx):
            return
        configured = _settings(ctx).by_key.get("paths")
        if configured is not None:
            ctx.params["paths"] = configured.value
        elif "schedule" not in ctx.params:
            param = next(each for each in self.params if each.name == "paths")
            raise click.MissingParameter(ctx=ctx, param=param)


def _instead(ctx: click.Context) -> bool:
    return any(ctx.params.get(name) is not None for name in ("schedule", "object_"))


def _settings(ctx: click.Context | None) -> Settings:
    settings = None if ctx is None else ctx.meta.get(_SETTINGS)
    return settings if isinstance(settings, Settings) else Settings(None, {})


def _heard(settings: Settings, command: str | None) -> Iterator[tuple[Key, Setting]]:
    for key in KEYS.values():
        setting = settings.by_key.get(key.name)
        if setting is not None and command in key.commands:
            yield key, setting


def _in_force(ctx: click.Context) -> Iterator[tuple[Key, Setting]]:
    """Yield what changes what the command says, and no option overrides."""
    for key, setting in _heard(_settings(ctx), ctx.command.name):
        source = ctx.get_parameter_source(key.parameter)
        if key.told and setting.value and source is ParameterSource.DEFAULT_MAP:
            yield key, setting


def _said(ctx: click.Context) -> str:
    """Return what is configured, in one line, by what sets it; nothing where nothing is."""
    by_source: dict[str, list[str]] = {}
    for key, setting in _in_force(ctx):
        value = json.dumps(key.kind.said(setting.value), ensure_ascii=False)
        by_source.setdefault(setting.source, []).append(f"{key.name} = {value}")
    parts = (f"by {source}: {', '.join(said)}" for source, said in by_source.items())
    return f"configured {'; '.join(parts)}" if by_source else ""


def noted(reports: Iterable[FileReport]) -> tuple[FileReport, ...]:
    """Return reports whose verdicts say which rules the configuration leaves out."""
    ctx = click.get_current_context(silent=True)
    in_force = () if ctx is None else _in_force(ctx)
    notes = tuple(
        f"rules are left out by {setting.where}: {key.name} {' '.join(setting.value)}"
        for key, setting in in_force
        if key.name in _LEAVES_OUT and isinstance(setting.value, tuple)
    )
    return tuple(_with(report, notes) for report in reports)


def _with(report: FileReport, notes: tuple[str, ...]) -> FileReport:
    if not notes or report.verdict is None:
        return report
    return replace(report, verdict=replace(report.verdict, notes=(*report.verdict.notes, *notes)))
