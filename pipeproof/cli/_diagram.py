"""Draws what makes a schedule illegal: a picture by Graphviz, or its text where there is none."""

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipeproof.cli._judge import Judge
from pipeproof.cli._output import complain, emit, printable_lines, save
from pipeproof.ir.source import Document
from pipeproof.verdict.result import FileReport

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeproof.proofs.asked import Effort
    from pipeproof.reports._slice import Slice
    from pipeproof.semantics.model import Model
    from pipeproof.verdict.decision import Decision
    from pipeproof.verdict.verdict import FileVerdict, TransportVerdict, Violation

__all__ = ["SECONDS", "Drawing", "diagram_option", "draw", "picture_file"]

SECONDS = 10.0
"""How long Graphviz may take."""
_KINDS = ("dot", "pdf", "png", "svg")
_ELEMENTS = frozenset(("svg", "g", "title", "polygon", "polyline", "path", "ellipse", "text"))
_TAG = re.compile(r"<([A-Za-z][\w:.-]*)")
_AROUND = re.compile(r"<!DOCTYPE[^>]*>\s*|<!--.*?-->\s*| xmlns:xlink=\"[^\"]*\"", re.DOTALL)


def picture_file(
    context: click.Context, parameter: click.Parameter, path: str | None
) -> str | None:
    """Return a path whose ending names a kind of picture.

    Raises:
        click.BadParameter: it names none.
    """
    del context
    if path is not None and _kind(path) not in _KINDS:
        said = f"{printable_lines(path)}; end it with .svg, .pdf, .png or .dot"
        raise click.BadParameter(said, param=parameter)
    return path


diagram_option = click.option(
    "--diagram",
    metavar="FILE",
    callback=picture_file,
    help="Draw there what makes the first refuted schedule illegal: .svg, .pdf, .png or .dot.",
)


@dataclass(frozen=True, slots=True)
class Drawing(Judge):
    """A judge that keeps which schedules are refuted, to draw the first of them."""

    refuted: list[tuple[Document, "FileVerdict"]] = field(default_factory=list)

    def report(self, document: Document, text: str = "") -> FileReport:
        report = Judge.report(self, document, text)
        if report.word == "refuted" and report.verdict is not None:
            self.refuted.append((document, report.verdict))
        return report

    def draw(self, path: str, effort: "Effort", files: Sequence[FileReport]) -> None:
        """Draw what makes the first schedule illegal, found again with as much effort.

        What nobody has accepted comes first.

        Args:
            path: where the picture goes.
            effort: how far engines go.
            files: what became of each schedule, what is accepted marked so.
        """
        from pipeproof import api  # noqa: PLC0415  what judges is imported when needed
        from pipeproof.reports._drawn import drawn  # noqa: PLC0415  as above
        from pipeproof.reports.text import first_told  # noqa: PLC0415  as above

        if not self.refuted:
            complain(f"{path}: not written: no schedule is refuted, there is nothing to draw")
            return
        refuted = [each for each in files if each.word == "refuted" and each.verdict is not None]
        number = next((n for n, each in enumerate(refuted) if not each.only_accepted), 0)
        document, verdict = self.refuted[number]
        verdict = refuted[number].verdict or verdict
        if len(self.refuted) > 1:
            new = sum(not each.only_accepted for each in refuted)
            of = f"{new} with what is new" if 0 < new < len(refuted) else f"{len(refuted)} refuted"
            complain(f"{path}: shows {document.name}, the first of {of}")
        shown = first_told(verdict)
        if shown is None:
            complain(f"{path}: not written: what is wrong stands at no operation")
            return
        engine = "graph" if self.asked.engine == "all" else self.asked.engine
        asked = api.Asked(
            transports=(shown[0].name,),
            profile=self.asked.profile,
            select=self.asked.select,
            ignore=self.asked.ignore,
            engine=engine,
            effort=effort,
        )
        kept: list[tuple[Model, Decision]] = []
        again = api.judge(document, asked, kept)
        told = drawn(document, _marked(again, verdict), kept)
        if told is None:
            complain(f"{path}: not written: what is wrong stands at no operation")
        else:
            draw(told, path)


def _violations(verdict: "FileVerdict") -> "Iterator[tuple[TransportVerdict, Violation]]":
    return ((each, violation) for each in verdict.transports for violation in each.violations)


def _marked(verdict: "FileVerdict", known: "FileVerdict") -> "FileVerdict":
    """Return a verdict with what is accepted of another one on the same schedule marked so."""
    accepted = {(each.name, v.rule, v.at, v.message): v.accepted for each, v in _violations(known)}
    transports = tuple(
        replace(
            each,
            violations=tuple(
                replace(v, accepted=accepted.get((each.name, v.rule, v.at, v.message)))
                for v in each.violations
            ),
        )
        for each in verdict.transports
    )
    return replace(verdict, transports=transports)


def draw(told: "Slice", path: str | None) -> None:
    """Write a picture to the file at `path`, or the text of it to stdout.

    Where Graphviz is not there or takes too long, the text is written beside the file.

    Raises:
        click.FileError: the file cannot be written.
    """
    from pipeproof.reports._dot import dot  # noqa: PLC0415  graphviz, when needed

    text = dot(told)
    if path is None or _kind(path) == "dot":
        emit(text, path)
        return
    picture = _picture(text, _kind(path))
    if isinstance(picture, bytes):
        save(picture, path)
        return
    beside = str(Path(path).with_suffix(".dot"))
    emit(text, beside)
    complain(f"{path}: not drawn: {picture}; what is to be drawn stands in {beside}")


def _picture(text: str, kind: str) -> bytes | str:
    """Return the picture, or why there is none."""
    program = shutil.which("dot")
    if program is None:
        return "there is no 'dot' here, which Graphviz brings (graphviz.org)"
    try:
        done = subprocess.run(  # noqa: S603  the text goes in by its standard input
            [program, f"-T{kind}"],
            input=text.encode(),
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"'dot' took more than {SECONDS:g} s"
    except OSError as error:
        return f"'dot' cannot be run ({error.strerror})"
    if done.returncode or not done.stdout:
        return f"'dot' failed with code {done.returncode}"
    return _plain(done.stdout) if kind == "svg" else done.stdout


def _plain(svg: bytes) -> bytes | str:
    """Return an SVG without anything that leads out of it."""
    text = _AROUND.sub("", svg.decode())
    if not set(_TAG.findall(text)) <= _ELEMENTS:
        return "'dot' wrote more than shapes and text"
    return text.encode()


def _kind(path: str) -> str:
    return path.rpartition(".")[2].lower() if "." in path else ""
