"""What git says is told, and what it does not say is never guessed."""

from pathlib import Path

import pytest

from pipeproof.evidence.repository import content, described, head, known, scrubbed, top
from tests.evidence.made import committed, git, repository

FILES = {"a.yaml": "x\n"}


@pytest.mark.parametrize(
    ("remote", "shown"),
    [
        ("https://me:secret@host/x/y.git", "https://host/x/y.git"),
        ("https://tok3n@host/x.git?token=a#b", "https://host/x.git"),
        ("ssh://git@host:22/x.git", "ssh://host:22/x.git"),
        ("git@host:x/y.git", "host:x/y.git"),
        ("https://me:p@ss@host/x.git", "https://host/x.git"),
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
    git(root, "branch", "deadbee")
    assert known(root, "deadbee") is None


def test_a_change_that_git_was_told_to_look_away_from_is_dirty(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", FILES)
    git(root, "update-index", "--assume-unchanged", "a.yaml")
    assert not described(root, ["a.yaml"]).dirty
    (root / "a.yaml").write_text("y\n")

    assert described(root, ["a.yaml"]).dirty


def test_a_file_is_read_through_links_of_its_commit_and_not_out_of_it(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", {**FILES, "b c.yaml": "z\n"})
    (tmp_path / "out.yaml").write_text("out\n")
    (root / "link.yaml").symlink_to("a.yaml")
    (root / "out.yaml").symlink_to("../out.yaml")
    commit = committed(root)

    assert content(root, commit, "link.yaml") == b"x\n"
    assert content(root, commit, "b c.yaml") == b"z\n"
    assert not described(root, ["link.yaml", "b c.yaml"]).dirty
    for path in ("out.yaml", "no.yaml", "", "a\nb", "a.yaml\na.yaml"):
        assert content(root, commit, path) is None
    assert described(root, ["out.yaml"]).dirty


def test_what_was_put_in_the_place_of_an_object_is_not_its_commit(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", FILES)
    commit = git(root, "rev-parse", "HEAD")
    (tmp_path / "other").write_text("y\n")
    other = git(root, "hash-object", "-w", str(tmp_path / "other"))
    git(root, "replace", git(root, "rev-parse", "HEAD:a.yaml"), other)

    assert content(root, commit, "a.yaml") == b"x\n"
