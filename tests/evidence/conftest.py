"""One small bundle, made once, and the repository that it is of."""

from pathlib import Path
from typing import NamedTuple

import pytest

from pipeproof.evidence.verify import Files
from tests.evidence.made import Contents, bundle, contents, git, repository


class Made(NamedTuple):
    root: Path
    commit: str
    folder: Path
    files: Contents
    now: Files


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Three schedules, one command; nobody may change what lies there."""
    root = repository(tmp_path_factory.mktemp("evidence") / "repository")
    folder = root.parent / "bundle"
    bundle(root, folder, asked=("echo said",))
    commit = git(root, "rev-parse", "HEAD")
    return Made(root, commit, folder, contents(folder), Files(root, commit))
