"""What a shell completes behind an option, or in place of an argument."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

import click
from click.shell_completion import CompletionItem

from pipeproof.cli._budget import PARTS
from pipeproof.frontends._profiles import PROFILES
from pipeproof.ir.codes import CODES
from pipeproof.ir.costs import DEFAULT
from pipeproof.ir.reading import LIMITS, LOWERINGS
from pipeproof.ir.transport import names

__all__ = ["complete_all"]

Words = Callable[[], Mapping[str, str]]
"""Returns what may be written, each with a few words on it."""

_FILES = ("FILE", "PATH", "TRACE", "RESULT", "CERTIFICATE", "ARCHIVE")


class _OneOf(click.types.StringParamType):
    """A text of which words are known; those that begin as what stands there are completed."""

    def __init__(self, words: Words) -> None:
        self._words = words

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        del ctx, param
        before, comma, last = incomplete.rpartition(",")
        return [
            CompletionItem(f"{before}{comma}{word}", help=said or None)
            for word, said in self._words().items()
            if word.startswith(last)
        ]


def complete_all(group: click.Group) -> None:
    """Have a shell complete what each parameter of each subcommand takes.

    This is for a process that completes and does nothing else: it imports every subcommand.
    """
    for command in _commands(group):
        for param in command.params:
            kind = _kind(param)
            if kind is not None:
                param.type = kind


def _commands(group: click.Group) -> Iterator[click.Command]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from _commands(command)
        elif command is not None:
            yield command


def _kind(param: click.Parameter) -> "_OneOf | click.Path | None":
    """Return what is completed there, None where click knows it, or nobody does."""
    if param.type is not click.STRING or param.metavar is None:
        return None
    metavar = param.metavar
    words = _BY_NAME.get((param.name or "", metavar)) or _BY_METAVAR.get(metavar)
    if words is not None:
        return _OneOf(words)
    if metavar == "DIR":
        return click.Path(file_okay=False)
    return click.Path() if any(word in metavar for word in _FILES) else None


def _schedules() -> dict[str, str]:
    from pipeproof.schedules import names as known  # noqa: PLC0415  imported when needed

    return dict.fromkeys(known(), "")


def _schedule_options() -> dict[str, str]:
    from pipeproof.schedules._known import all_known  # noqa: PLC0415  imported when needed

    return {
        f"{option}={value}": f"of {known.name}"
        for known in all_known()
        for option, values in known.options.items()
        for value in values
    }


def _mutations() -> dict[str, str]:
    from pipeproof.campaign.mutate import describe, mutations  # noqa: PLC0415  imported when needed

    return {name: describe(name) for name in mutations()}


def _rules() -> dict[str, str]:
    return {**CODES, **{name: code for code, name in CODES.items()}}


def _prefixes() -> dict[str, str]:
    return {**{code[:3]: f"all of {code[:3]}xx" for code in CODES}, **CODES}


_BY_METAVAR: Mapping[str, Words] = MappingProxyType(
    {
        "PREFIX": _prefixes,
        "CODE|NAME": _rules,
        "[CODE|NAME]": _rules,
        "NAME|none": lambda: dict.fromkeys(PROFILES, ""),
        "NAME=N": lambda: {f"{name}=": f"{most} by default" for name, most in LIMITS.items()},
        "NAME=VALUE": _schedule_options,
        "PART=N,...": lambda: {f"{name}=": said for name, said in PARTS.items()},
        "KIND=T[,T...]": lambda: {
            f"{kind}=": f"{time} unless said" for kind, time in DEFAULT.items()
        },
        "PLACE": lambda: {"first": "the first few that are worth telling"},
    }
)
_BY_NAME: Mapping[tuple[str, str], Words] = MappingProxyType(
    {
        ("transport", "NAME"): lambda: dict.fromkeys(names(), ""),
        ("schedule", "NAME"): _schedules,
        ("name", "NAME"): _schedules,
        ("generator", "NAME"): _schedules,
        ("mutation", "NAME"): _mutations,
        ("lowering", "NAME"): lambda: dict.fromkeys(LOWERINGS, ""),
    }
)
