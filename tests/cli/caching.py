"""A folder with schedules in it, the command, and what was judged of them and not taken up."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pipeproof import api
from pipeproof.api import Asked
from pipeproof.cli import run
from pipeproof.cli._inputs import expand, load
from pipeproof.ir.reading import ReadOptions
from pipeproof.ir.source import Document
from pipeproof.schedules import generate
from pipeproof.semantics.model import Model
from pipeproof.verdict.decision import Decision
from pipeproof.verdict.verdict import FileVerdict
from tests.cli.made import ROOT

Kept = list[tuple[Model, Decision]] | None
LEGAL = "pipeproof: 1\nmicrobatches: 1\nranks:\n  - 0F0; SEND F0.0 to=1; RECV B1.0 from=1; 0B0\n"
LEGAL += "  - RECV F0.0 from=0; 1F0; 1B0; SEND B1.0 to=0\n"
STUCK = LEGAL.replace("SEND F0.0 to=1; RECV B1.0 from=1", "RECV B1.0 from=1; SEND F0.0 to=1")
OPTIONS = ReadOptions(generate=generate)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PIPEPROOF_CACHE_DIR", str(tmp_path / "cache"))
    for name, text in (("legal", LEGAL), ("stuck", STUCK)):
        (tmp_path / f"{name}.yaml").write_text(text)
    return tmp_path


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the schedules that were judged and not taken up."""
    names: list[str] = []
    judge = api.judge

    def counting(document: Document, asked: Asked, kept: Kept = None) -> FileVerdict:
        names.append(document.name)
        return judge(document, asked, kept)

    monkeypatch.setattr(api, "judge", counting)
    return names


Checked = Callable[..., tuple[int, str, str]]


@pytest.fixture
def check(capsys: pytest.CaptureFixture[str]) -> Checked:
    def checked(*argv: str) -> tuple[int, str, str]:
        code = run(["check", "--no-config", *argv])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return checked


def entries(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix == ".json")


def document(text: str, name: str = "a.yaml") -> Document:
    from pipeproof.frontends import spec  # noqa: PLC0415

    return spec.read(text, name, OPTIONS)[0]


def every_document() -> Iterator[Document]:
    for source in expand([str(ROOT / "specs")]):
        try:
            loaded = load(source, OPTIONS)
        except Exception:  # noqa: S112  what cannot be read has no verdict
            continue
        yield from loaded.documents if loaded is not None else ()
