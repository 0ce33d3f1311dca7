"""The result as one HTML file that draws the execution and can be stepped through."""

import json

from pipeproof.reports._facts import facts
from pipeproof.reports._pack import Json
from pipeproof.reports._page import page
from pipeproof.reports._summary import errors, summary
from pipeproof.reports._views import Room, views
from pipeproof.reports._worded import worded
from pipeproof.verdict.result import FileReport, Result

__all__ = ["DRAWS", "NAME", "SCHEMA", "render"]

NAME = "html"
DRAWS = True
SCHEMA = "pipeproof.page/1"


def render(result: Result) -> str:
    """Return the file; it loads nothing, and nothing in it that comes from a file can act."""
    room = Room()
    data = {
        "schema": SCHEMA,
        "tool": f"pipeproof {result.version}",
        "verdict": result.word,
        "files": [_file(report, room) for report in result.files],
    }
    names = ", ".join(report.path for report in result.files)
    title = worded(f"pipeproof: {result.word}: {names}", 200)
    return page(title, summary(result), json.dumps(data, separators=(",", ":")))


def _file(report: FileReport, room: Room) -> Json:
    verdict, document = report.verdict, report.document
    said = {
        "path": worded(report.path),
        "title": worded(document.title) if document is not None else "",
        "verdict": report.word,
        "errors": errors(report),
    }
    if verdict is None:
        return {**said, "facts": [], "notes": [], "views": []}
    return {
        **said,
        "facts": facts(verdict),
        "notes": [worded(each) for each in verdict.notes],
        "views": views(report, verdict, room),
    }
