"""`pipeproof diagram`: draws what makes a schedule illegal, and no more."""

from typing import TYPE_CHECKING, Unpack

import click

from pipeproof import __version__
from pipeproof.cli._configured import Configured, config_options
from pipeproof.cli._diagram import draw, picture_file
from pipeproof.cli._options import Asking, asked, read_options, reading_options, transport_option
from pipeproof.cli._output import complain
from pipeproof.cli._single import only
from pipeproof.cli.check import exit_code
from pipeproof.errors import did_you_mean, printable
from pipeproof.verdict.result import FileReport, Result

if TYPE_CHECKING:
    from pipeproof.semantics.model import Model
    from pipeproof.verdict.decision import Decision
    from pipeproof.verdict.verdict import FileVerdict

__all__ = ["command"]


class _Values(Asking):
    path: str
    rule: str | None
    output: str | None


@click.command(name="diagram", cls=Configured, short_help="Draw what makes a schedule illegal.")
@click.argument("path", metavar="FILE")
@click.option("--rule", metavar="CODE|NAME", help="Draw where this rule is broken.")
@transport_option
@reading_options
@click.option(
    "-o",
    "output",
    metavar="FILE",
    callback=picture_file,
    help="Write it there: .svg, .pdf, .png or .dot. Without it the DOT text goes to stdout.",
)
@config_options
def command(**values: Unpack[_Values]) -> int:
    """Draw the few events that make the schedule in FILE illegal, and what joins them.

    Ranks are lanes, time runs downwards. Of a schedule that is not refuted nothing is drawn. The
    exit code is that of `check`. Pictures need the program `dot` of Graphviz; where it is missing
    the DOT text is written beside them.
    """
    from pipeproof import api  # noqa: PLC0415  what judges is imported when needed
    from pipeproof.reports._drawn import drawn  # noqa: PLC0415  as above

    rule = None if values["rule"] is None else _code(values["rule"])
    document = only(values["path"], read_options(values))
    kept: list[tuple[Model, Decision]] = []
    verdict = api.judge(document, asked(values), kept)
    told = drawn(document, verdict, kept, rule)
    if told is not None:
        draw(told, values["output"])
    else:
        complain(f"{document.name}: {_why(verdict, rule)}, there is nothing to draw")
    return exit_code(Result(__version__, (FileReport(document.name, verdict),)))


def _why(verdict: "FileVerdict", rule: str | None) -> str:
    codes = {violation.rule for each in verdict.transports for violation in each.violations}
    if rule is not None and codes and rule not in codes:
        return f"{rule} is not broken"
    return "what is wrong stands at no operation" if codes else verdict.verdict


def _code(word: str) -> str:
    """Return the code of a rule by its code or name.

    Raises:
        click.BadParameter: there is no such rule.
    """
    from pipeproof import api  # noqa: PLC0415  as above

    every = {each.code: each.name for each in api.rules()}
    for code, name in every.items():
        if word.lower() in (code.lower(), name):
            return code
    meant = did_you_mean(word, [*every, *every.values()])
    said = f"{printable(word)} is no rule{meant}; 'pipeproof explain' lists all"
    raise click.BadParameter(said, param_hint="--rule")
