"""`pipeproof rules`: every rule by code, name and summary, with its page."""

import json
from collections.abc import Iterator
from inspect import cleandoc

import click

from pipeproof.cli._output import emit

__all__ = ["SCHEMA", "command"]

SCHEMA = "pipeproof.rules/1"
_FAMILIES = {
    "PP1": "identity",
    "PP2": "messages",
    "PP3": "progress",
    "PP4": "order",
    "PP5": "storage",
    "PP6": "weight versions",
    "PP7": "gradients",
    "PP8": "recomputation and restart",
    "PP9": "time and traces",
}


@click.command(name="rules", short_help="List all rules with their summaries and pages.")
@click.option(
    "--format", "format_", type=click.Choice(["json", "text"]), default="text", show_default=True
)
@click.option("-o", "output", metavar="FILE", help="Write it there, not to stdout.")
def command(format_: str, output: str | None) -> int:
    """List all rules: code, name, what each of them is about, and its page.

    `pipeproof explain CODE` tells one in full. Pages are named from the folder of the
    documentation.
    """
    every = list(_rules())
    if format_ == "json":
        emit(json.dumps({"schema": SCHEMA, "rules": every}, indent=1) + "\n", output)
        return 0
    width = max(len(rule["name"]) for rule in every)
    lines: list[str] = []
    for family, said in _FAMILIES.items():
        own = [rule for rule in every if rule["code"].startswith(family)]
        lines += ["", said] if lines else [said]
        lines += [f"  {rule['code']}  {rule['name']:{width}}  {rule['summary']}" for rule in own]
    emit("".join(f"{line}\n" for line in lines), output)
    return 0


def _rules() -> Iterator[dict[str, str]]:
    from pipeproof.api import rules, trace_rules  # noqa: PLC0415  imported when needed

    for rule in sorted((*rules(), *trace_rules()), key=lambda each: each.code):
        yield {
            "code": rule.code,
            "name": rule.name,
            "family": _FAMILIES[rule.code[:3]],
            "summary": cleandoc(rule.doc).partition("\n")[0],
            "page": f"rules/{rule.code}-{rule.name}.md",
        }
