"""`pipeproof verify`: accepts or rejects a certificate, without any engine."""

from typing import Unpack

import click

from pipeproof.cli._exits import Exit
from pipeproof.cli._options import Asking, asked, read_options, reading_options, transport_option
from pipeproof.cli._output import complain
from pipeproof.cli._single import content, only
from pipeproof.errors import ReplayMismatchError

__all__ = ["command"]


class _Values(Asking):
    certificate: str
    path: str


@click.command(name="verify", short_help="Accept or reject a certificate.")
@click.argument("certificate", metavar="CERTIFICATE")
@click.argument("path", metavar="FILE")
@transport_option
@reading_options
def command(**values: Unpack[_Values]) -> int:
    """Check what CERTIFICATE says of the schedule in FILE, step by step and without any engine.

    Name the options that it was written with. The exit code is 0 where every statement is
    accepted, 4 where one is rejected, and 2 where something cannot be read.
    """
    from pipeproof import api  # noqa: PLC0415  imported when needed
    from pipeproof.proofs.certificates import verify  # noqa: PLC0415
    from pipeproof.verdict.certificate import read  # noqa: PLC0415

    document = only(values["path"], read_options(values))
    question = asked(values)
    text = content(values["certificate"])
    try:
        certificate = read(text, values["certificate"])
        models = api.models(document, question)
        verify(certificate, api.as_run(document, question), api.rules(), models)
    except ReplayMismatchError as error:
        complain(f"{values['certificate']}: rejected: {error}")
        return Exit.DISTRUST
    number = len(certificate.statements)
    complain(f"{values['certificate']}: accepted, {number} statements about {document.name}")
    return Exit.PROVED
