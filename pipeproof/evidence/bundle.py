"""A bundle is written whole or not at all: beside its place, and moved there when complete."""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pipeproof.errors import ParseError, Problem, printable
from pipeproof.evidence.manifest import MANIFEST, SUMS, Json, canonical, statement, sums

__all__ = ["Draft", "drafting"]


class Draft:
    """A bundle that is being made: its files, in a folder that is not yet where it will be."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.contents: dict[str, bytes] = {}

    def put(self, name: str, data: bytes) -> None:
        """Write a file of the bundle."""
        self.contents[name] = data
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def seal(self, predicate: Mapping[str, Json]) -> None:
        """Write the manifest and the sums: nothing is put there after it."""
        self.put(MANIFEST, canonical(statement(predicate, self.contents)))
        self.put(SUMS, sums(self.contents))


@contextmanager
def drafting(output: str) -> Iterator[tuple[Draft, Path]]:
    """Make a bundle at `output`: give a draft and a folder for what is not kept.

    When the block ends, the draft stands at `output`; when it raises, nothing does, and nothing
    is left beside it.

    Raises:
        ParseError: something stands there already, or it cannot be written there.
    """
    place = Path(output)
    beside: Path | None = None
    try:
        if os.path.lexists(place):
            _refuse(output, "something stands there already", "name a folder that is to be made")
        place.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix=f".{place.name[:40]}.", dir=place.parent))
        made, logs = beside / "bundle", beside / "logs"
        made.mkdir()
        logs.mkdir()
        yield Draft(made), logs
        if os.path.lexists(place):
            _refuse(output, "something stands there already", "name a folder that is to be made")
        made.rename(place)
    except OSError as error:
        why = f"it cannot be written ({error.strerror or error})"
        _refuse(output, why, "name a folder that can be made, with room for it")
    except ValueError as error:
        if "\0" not in output:
            raise
        _refuse(printable(output), "it is no path", f"name a folder ({error})")
    finally:
        if beside is not None:
            shutil.rmtree(beside, ignore_errors=True)


def _refuse(path: str, found: str, expected: str) -> None:
    raise ParseError([Problem(path, 1, 1, found, expected)])
