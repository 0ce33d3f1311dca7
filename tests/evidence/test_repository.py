"""What git says is told, and what it does not say is never guessed."""

from pathlib import Path

import pytest

from pipeproof.evidence.repository import content, described, head, known, scrubbed, top
from tests.evidence.made import git, repository

FILES = {"a.yaml": "x\n"}


@pytest.mark.parametrize(
    ("remote", "shown"),
    [
        ("https://me:secret@host/x/y.git", "https://host/x/y.git"),
        ("https://tok3n@host/x.git?token=a#b", "https://host/x.git"),
        ("ssh://git@host:22/x.git", "ssh://host:22/x.git"),
        ("git@host:x/y.git", "host:x/y.git"),
        ("https://host/x@y", "https://host/x@y"),
        ("/home/me/tok3n/x", ""),
        ("file:///home/me/x", ""),
        ("../x", ""),
        ("", ""),
    ],
)
def test_an_address_is_told_without_what_lets_somebody_in(remote: str, shown: str) -> None:
    assert scrubbed(remote) == shown


def test_a_clean_tree_is_its_commit(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", FILES)
    git(root, "remote", "add", "origin", "https://me:secret@host/x.git")

    found = described(root, ["a.yaml"])

    assert found.commit == git(root, "rev-parse", "HEAD") == head(root)
    assert found[1:] == (False, None, "https://host/x.git", None)
    assert top(root) == top(root / ".") == root.resolve()


def test_what_differs_is_told_by_a_digest(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", FILES)
    (root / "a.yaml").write_text("y\n")

    found = described(root, ["a.yaml"])

    assert found.dirty
    assert found.diff is not None
    assert content(root, str(found.commit), "a.yaml") == b"x\n"


def test_a_file_that_git_does_not_know_is_no_part_of_its_commit(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", FILES)
    (root / "b.yaml").write_text("y\n")

    assert not described(root, ["a.yaml"]).dirty
    assert described(root, ["b.yaml"]).dirty


def test_no_repository_no_commit_and_no_git_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "none").mkdir()
    git(tmp_path / "empty", "init", "-q")

    assert described(tmp_path / "empty", ())[::4] == (None, "the repository has no commit")
    assert described(tmp_path / "none", ())[::4] == (None, "there is no git repository")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert described(tmp_path / "empty", ())[::4] == (None, "git is not installed")


def test_a_commit_is_known_by_its_begin_and_no_option_is_taken_for_one(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", FILES)
    whole = git(root, "rev-parse", "HEAD")

    assert known(root, whole[:8]) == whole
    assert known(root, "0" * 40) is None
    assert known(root, "--all") is None
