"""A found case as two files: a spec that says what it must show, and a test that asks for it."""

import contextlib
import hashlib
import json
import os
import re
from dataclasses import replace
from pathlib import Path
from tempfile import mkstemp
from types import MappingProxyType
from typing import NamedTuple

from pipeproof.campaign.judged import read
from pipeproof.errors import InternalError
from pipeproof.ir.codes import CODES
from pipeproof.ir.source import Document, Expectation
from pipeproof.ir.spec_text import write_spec
from pipeproof.proofs.asked import Asked
from pipeproof.proofs.judging import Judging
from pipeproof.verdict.expected import Agreement, compare, shown, wanted
from pipeproof.verdict.verdict import Outcome

__all__ = ["Case", "Finding", "keep", "written"]

_LONGEST = 500
_TEST = '''\
"""{name}: a schedule that was found, as small as it could be made, and what it breaks.

It passes as long as the schedule is refuted for that. Once what makes the schedule is mended,
assert that with `assert_legal(…)` on what it makes, and delete this file and {spec}.
"""

from pathlib import Path

import pytest

from pipeproof.testing import assert_legal

SPEC = Path(__file__).with_name("{spec}")
FOUND_BY = {found_by}


def test_{function}() -> None:
    with pytest.raises(AssertionError, match="{rule}"):
        assert_legal(SPEC)
'''


class Finding(NamedTuple):
    """Where a case comes from.

    `of` is what was looked at, as `1f1b on 2 ranks`, and `command` what finds it again; both are
    text of a user. `mutation` and `seed` say what was changed, where something was.
    """

    of: str
    command: str
    mutation: str = ""
    seed: int = 0

    @property
    def changed(self) -> str:
        """What was changed, in words."""
        return f"{self.mutation}, seed {self.seed}" if self.mutation else ""


class Case(NamedTuple):
    """A found case: the stem of its files, the spec and the test."""

    name: str
    spec: str
    test: str


def written(document: Document, finding: Finding) -> Case:
    """Return a schedule that is refuted as a case; the same one, the same bytes.

    It is judged again as it is written, and must show what it says, as `pipeproof test` asks.

    Args:
        document: what was found, as written, with one transport; mostly of `minimise`.
        finding: where it comes from.

    Raises:
        ValueError: it is not refuted.
        InternalError: the file does not show what it says. This is a bug.
    """
    expected = _expected(document)
    name = _name(document, finding, expected.rule or "")
    title = f"{CODES[expected.rule or '']} in {_clean(finding.of)}"
    source = "; ".join(each for each in (_clean(finding.command), finding.changed) if each)
    told = replace(
        document,
        title=f"{title}, after {finding.changed}" if finding.changed else title,
        origin=MappingProxyType({"source": source}),
        expect=(expected,),
    )
    text = write_spec(told, None)
    _check(text, name, expected)
    test = _TEST.format(
        name=name,
        spec=f"{name}.yaml",
        found_by=json.dumps(source),
        function=re.sub(r"[^a-z0-9]+", "_", name),
        rule=expected.rule,
    )
    return Case(name, text, test)


def _expected(document: Document) -> Expectation:
    """Return what a schedule shows: what is broken first, and where."""
    verdict = Judging(document, Asked()).verdict()
    first = verdict.first
    if first is None:
        message = f"{document.name} is {verdict.verdict}, and a case is what is refuted"
        raise ValueError(message)
    places = sorted({(place.rank, place.position) for place in first.at})
    at = tuple(f"r{rank}.{position}" for rank, position in places)
    exact = Expectation(None, Outcome.REFUTED.value, first.rule, at=at, exact=True)
    if at and compare(exact, shown(verdict))[0] is Agreement.AGREE:
        return exact
    return replace(exact, exact=False)  # there are more places, of other violations


def _check(text: str, name: str, expected: Expectation) -> None:
    document = read(text, f"{name}.yaml")
    agreement, got = compare(document.expect[0], shown(Judging(document, Asked()).verdict()))
    if agreement is not Agreement.AGREE:
        message = f"{name}.yaml was to show {wanted(expected)} and shows {got}"
        raise InternalError(message)


def _name(document: Document, finding: Finding, rule: str) -> str:
    """Return a name for the files: what is broken, by what, and a digest of the schedule."""
    bare = replace(document, title="", origin=MappingProxyType({}), expect=())
    digest = hashlib.sha256(write_spec(bare, None).encode("utf-8", "replace")).hexdigest()
    words = re.sub(r"[^a-z0-9]+", "-", finding.mutation.lower()).strip("-")[:40]
    return "-".join(each for each in (rule.lower(), words, digest[:10]) if each)


def _clean(text: str) -> str:
    """Return text of a user on one line, without what a terminal or an editor acts on."""
    shown_ = (c if c.isprintable() else f"\\x{ord(c):02x}" for c in text[:_LONGEST])
    return "".join(shown_) + "…" * (len(text) > _LONGEST)


def keep(case: Case, folder: Path) -> tuple[Path, Path]:
    """Write both files of a case and return their paths, the spec first.

    The folder is made where it is not there. A file that stands there already stays as it is: its
    name says which schedule it holds, and somebody may have written more into it.

    Raises:
        OSError: they cannot be written; no half file is left.
    """
    folder.mkdir(parents=True, exist_ok=True)
    stem = re.sub(r"[^a-z0-9]+", "_", case.name)
    paths = (folder / f"{case.name}.yaml", folder / f"test_{stem}.py")
    for path, text in zip(paths, (case.spec, case.test), strict=True):
        if not path.exists():
            _write(path, text)
    return paths


def _write(path: Path, text: str) -> None:
    handle, name = mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
