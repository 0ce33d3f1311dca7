"""`pipeproof certify`: judges a schedule, and writes what shows the verdict."""

from typing import TYPE_CHECKING, Unpack

import click

from pipeproof import __version__
from pipeproof.cli._options import Asking, asked, read_options, reading_options, transport_option
from pipeproof.cli._output import complain, emit
from pipeproof.cli._single import only
from pipeproof.cli.check import exit_code
from pipeproof.ir.source import Document
from pipeproof.verdict.result import FileReport, Result

if TYPE_CHECKING:
    from pipeproof.api import Asked
    from pipeproof.proofs.certificates import LeftOut
    from pipeproof.semantics.model import Model
    from pipeproof.verdict.certificate import Certificate
    from pipeproof.verdict.decision import Decision
    from pipeproof.verdict.verdict import FileVerdict

__all__ = ["command"]


class _Values(Asking):
    path: str
    output: str | None


@click.command(name="certify", short_help="Write what shows a verdict, for others to check.")
@click.argument("path", metavar="FILE")
@transport_option
@reading_options
@click.option("-o", "output", metavar="FILE", help="Write it there, not to stdout.")
def command(**values: Unpack[_Values]) -> int:
    """Judge the schedule in FILE and write a certificate, one statement for each transport.

    The exit code is that of `check`. What is unknown has no statement; where there is none at all,
    nothing is written.
    """
    document = only(values["path"], read_options(values))
    verdict, certificate, left_out = _certified(document, asked(values))
    for each in left_out:
        complain(f"{document.name}: {each.transport}: left out: {each.why}")
    if certificate.statements:
        emit(certificate.text, values["output"])
    _tell(document.name, certificate)
    return exit_code(Result(__version__, (FileReport(document.name, verdict),)))


def _certified(
    document: Document, question: "Asked"
) -> "tuple[FileVerdict, Certificate, tuple[LeftOut, ...]]":
    from pipeproof import api  # noqa: PLC0415  what judges is imported when needed
    from pipeproof.proofs.certificates import write  # noqa: PLC0415

    kept: list[tuple[Model, Decision]] = []
    verdict = api.judge(document, question, kept)
    judged = [
        (each, [pair for pair in kept if pair[0].frame.transport.name == each.name])
        for each in verdict.transports
    ]
    models = api.models(document, question)
    return verdict, *write(api.as_run(document, question), api.rules(), judged, models)


def _tell(name: str, certificate: "Certificate") -> None:
    from pipeproof.verdict.certificate import Proved  # noqa: PLC0415  as above

    for each in certificate.statements:
        if isinstance(each, Proved):
            said = f"proved, {len(each.rules)} rules, {len(each.paths)} paths"
        else:
            said = f"refuted, {each.rule} after {len(each.run)} events"
        where = ", ".join(f"{choice} is {came}" for choice, came in each.outcome)
        under = f"{each.transport}, where {where}" if where else each.transport
        complain(f"{name}: {under}: certified: {said}")
    if not certificate.statements:
        complain(f"{name}: nothing to certify, nothing written")
