"""`pipeproof explain`: what a rule asks for, and why."""

import json
from inspect import cleandoc
from textwrap import fill
from typing import TYPE_CHECKING

import click

from pipeproof.cli._output import emit
from pipeproof.errors import did_you_mean, printable

if TYPE_CHECKING:
    from pipeproof.semantics.logic import Rule

__all__ = ["command"]

_WIDTH = 96  # as the lines of a rule's own text


@click.command(name="explain", short_help="Explain a rule, or list all.")
@click.argument("rule", required=False, metavar="[CODE|NAME]")
@click.option(
    "--format", "format_", type=click.Choice(["json", "text"]), default="text", show_default=True
)
def command(rule: str | None, format_: str) -> int:
    """Explain the rule of this CODE or NAME; without one, list all rules."""
    from pipeproof.api import rules, trace_rules  # noqa: PLC0415  imported when needed

    every = sorted((*rules(), *trace_rules()), key=lambda each: each.code)
    shown = every if rule is None else [_named(rule, every)]
    if format_ == "json":
        emit(json.dumps([_object(each) for each in shown], indent=1) + "\n")
    elif rule is None:
        emit("".join(f"{each.code}  {each.name}: {_first_line(each)}\n" for each in shown))
    else:
        emit("".join(map(_told, shown)))
    return 0


def _told(rule: "Rule") -> str:
    """Return what a rule means, and what to change where it is broken, if anything is known."""
    from pipeproof.reports._advice import advice  # noqa: PLC0415  imported when needed

    said = f"What to change: {advice(rule.code)}" if advice(rule.code) else ""
    change = f"\n{fill(said, _WIDTH, break_on_hyphens=False)}\n" if said else ""
    return f"{rule.code} {rule.name}\n\n{cleandoc(rule.doc)}\n{change}"


def _named(word: str, every: list["Rule"]) -> "Rule":
    for rule in every:
        if word.lower() in (rule.code.lower(), rule.name):
            return rule
    known = [word for rule in every for word in (rule.code, rule.name)]
    meant = did_you_mean(word, known)
    said = f"{printable(word)} is no rule{meant}; 'pipeproof explain' lists all"
    raise click.BadParameter(said, param_hint="CODE|NAME")


def _object(rule: "Rule") -> dict[str, str]:
    return {
        "code": rule.code,
        "name": rule.name,
        "doc": cleandoc(rule.doc),
        "message": rule.message,
    }


def _first_line(rule: "Rule") -> str:
    return cleandoc(rule.doc).partition("\n")[0]
