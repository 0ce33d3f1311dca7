"""Every answer of `verify`, and that nothing in a bundle can be changed unseen."""

import random
import shutil
from pathlib import Path

import pytest

from pipeproof.cli._afresh import afresh
from pipeproof.evidence import environment
from pipeproof.evidence.manifest import MANIFEST, SUMS, sums
from pipeproof.evidence.verify import Commit, Files, Status, Verified, verify, verify_at
from tests.evidence.conftest import Made
from tests.evidence.made import (
    FILES,
    Contents,
    bundle,
    committed,
    contents,
    git,
    manifest,
    repository,
    sealed,
)

OTHER = "0" * 40
SAMPLED = 6


def flipped(files: Contents, name: str, at: int, bit: int = 0) -> Contents:
    data = bytearray(files[name])
    data[at] ^= 1 << bit
    return {**files, name: bytes(data)}


def why(found: Verified) -> str:
    return found.reasons[0].why


def test_a_bundle_of_this_commit_and_this_build_is_fresh(made: Made) -> None:
    found = verify(made.files, made.now, afresh)

    assert (found.status, found.reasons) == (Status.FRESH, ())
    assert [each.name for each in found.checked] == list(FILES)
    assert [each.verdict for each in found.checked] == ["proved", "refuted", "refuted"]
    assert [each.counterexamples for each in found.checked] == [0, 1, 0]
    assert found.checked[0].statements == 2
    assert all(each.again for each in found.checked)


def test_the_same_is_fresh_by_its_commit_with_and_without_a_repository(made: Made) -> None:
    assert verify(made.files, Commit(made.commit, made.root)).status is Status.FRESH
    assert verify(made.files, Commit(made.commit, None)).status is Status.FRESH
    assert verify(made.files, Commit(made.commit[:9], None)).status is Status.FRESH


def test_another_commit_with_the_same_inputs_is_told(tmp_path: Path) -> None:
    root = repository(tmp_path / "root", {"legal.yaml": FILES["legal.yaml"]})
    bundle(root, tmp_path / "bundle", "legal.yaml")
    (root / "other.txt").write_text("more")
    commit = committed(root)
    files = contents(tmp_path / "bundle")

    found = verify(files, Files(root, commit))
    assert found.status is Status.HEAD_MOVED_INPUTS_SAME
    assert verify(files, Commit(commit, root)).status is Status.HEAD_MOVED_INPUTS_SAME

    (root / "legal.yaml").write_text(FILES["stuck.yaml"])
    found = verify(files, Files(root, commit))
    assert [each.status for each in found.reasons] == [
        Status.STALE_INPUTS_CHANGED,
        Status.HEAD_MOVED_INPUTS_SAME,
    ]
    assert verify(files, Commit(commit, root)).status is Status.HEAD_MOVED_INPUTS_SAME
    last = committed(root)
    assert verify(files, Commit(last, root)).status is Status.STALE_INPUTS_CHANGED


def test_an_input_that_is_gone_is_stale(made: Made, tmp_path: Path) -> None:
    found = verify(made.files, Files(tmp_path, made.commit))

    assert found.status is Status.STALE_INPUTS_CHANGED
    assert why(found) == "'legal.yaml' is not there, and 2 more"


def test_inputs_that_cannot_be_compared_count_as_changed(made: Made) -> None:
    found = verify(made.files, Commit(OTHER, None))

    assert found.status is Status.STALE_INPUTS_CHANGED
    assert "cannot be read here; taken as changed" in why(found)


def test_what_no_commit_holds_is_dirty(tmp_path: Path) -> None:
    root = repository(tmp_path / "root", {"a.yaml": FILES["legal.yaml"], "b.txt": ""})
    commit = git(root, "rev-parse", "HEAD")
    (root / "b.txt").write_text("changed")
    bundle(root, tmp_path / "bundle", "a.yaml")

    found = verify(contents(tmp_path / "bundle"), Files(root, commit))

    assert found.status is Status.DIRTY_TREE
    assert why(found) == "it was made of a tree that differed from its commit"


def test_an_input_that_is_not_in_the_commit_is_dirty(tmp_path: Path) -> None:
    root = repository(tmp_path / "root", {"b.txt": ""})
    (root / "a.yaml").write_text(FILES["legal.yaml"])
    bundle(root, tmp_path / "bundle", "a.yaml")

    found = verify(contents(tmp_path / "bundle"), Files(root, git(root, "rev-parse", "HEAD")))

    assert found.status is Status.DIRTY_TREE


def test_without_a_repository_it_is_said_that_no_commit_vouches_for_it(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(FILES["legal.yaml"])
    bundle(tmp_path, tmp_path / "bundle", "a.yaml")

    found = verify(contents(tmp_path / "bundle"), Files(tmp_path, None))

    assert found.status is Status.DIRTY_TREE
    assert why(found) == "no commit vouches for it: there is no git repository"


def test_another_build_is_told_before_what_it_was_made_of(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment, "source", lambda: OTHER)

    found = verify(made.files, Files(tmp_path, OTHER), afresh)

    assert [each.status for each in found.reasons] == [
        Status.TOOL_DIFFERS,
        Status.STALE_INPUTS_CHANGED,
        Status.HEAD_MOVED_INPUTS_SAME,
    ]
    assert "another build of version" in why(found)
    assert not any(each.again for each in found.checked)


def test_a_manifest_of_another_schema_is_told_only_where_the_sums_hold(made: Made) -> None:
    later = manifest(made.files)
    predicate = dict(later["predicate"])  # type: ignore[arg-type]
    predicate["schema"] = "pipeproof.evidence/2"
    files = sealed(made.files, {**later, "predicate": predicate})

    assert verify(files, made.now).status is Status.UNSUPPORTED_SCHEMA
    assert verify({**files, SUMS: made.files[SUMS]}, made.now).status is Status.TAMPERED
    other = sealed(made.files, {**later, "predicateType": "https://example.org/x"})
    assert verify(other, made.now).status is Status.UNSUPPORTED_SCHEMA


def test_a_manifest_that_is_none_is_tampered_with_even_with_its_sum(made: Made) -> None:
    for data in (b"", b"[]", b"{}", b"\xff", b"[" * 100_000):
        files = {**made.files, MANIFEST: data}

        assert verify({**files, SUMS: sums(files)}, made.now).status is Status.TAMPERED


def test_one_flipped_byte_in_any_file_is_found(made: Made) -> None:
    chance = random.Random("flips")
    tried = 0
    for name, data in made.files.items():
        some = {chance.randrange(len(data)) for _ in range(SAMPLED)} if data else set()
        for at in sorted({0, len(data) - 1, *some} if data else set()):
            found = verify(flipped(made.files, name, at, chance.randrange(8)), made.now)

            assert found.status is Status.TAMPERED, (name, at)
            tried += 1
    assert tried > len(made.files)


@pytest.mark.slow
def test_every_flipped_bit_of_every_byte_is_found(made: Made) -> None:
    for name, data in made.files.items():
        for at in range(len(data)):
            for bit in range(8):
                found = verify(flipped(made.files, name, at, bit), made.now)

                assert found.status is Status.TAMPERED, (name, at, bit)


def test_a_flip_on_disk_is_found(made: Made, tmp_path: Path) -> None:
    folder = shutil.copytree(made.folder, tmp_path / "copy")
    for name, data in made.files.items():
        if data:
            (folder / name).write_bytes(flipped(made.files, name, len(data) // 2)[name])
            assert verify_at(str(folder), made.now).status is Status.TAMPERED, name
            (folder / name).write_bytes(data)

    assert verify_at(str(folder), made.now).status is Status.FRESH


def test_a_file_more_less_or_renamed_is_found(made: Made) -> None:
    for name in made.files:
        less = {each: data for each, data in made.files.items() if each != name}
        assert verify(less, made.now).status is Status.TAMPERED, name
        renamed = {**less, f"{name}.old": made.files[name]}
        assert verify(renamed, made.now).status is Status.TAMPERED, name
    found = verify({**made.files, "more.txt": b""}, made.now)
    assert (found.status, why(found)) == (Status.TAMPERED, "more.txt is not in SHA256SUMS")


def test_the_sums_have_one_way_to_be_written(made: Made) -> None:
    lines = made.files[SUMS].splitlines(keepends=True)
    others = [
        b"".join(reversed(lines)),
        made.files[SUMS].upper(),
        made.files[SUMS] + b"\n",
        made.files[SUMS].replace(b"  ", b" *"),
        made.files[SUMS].replace(b"\n", b"\r\n"),
        made.files[SUMS] + lines[0],
    ]
    for text in others:
        found = verify({**made.files, SUMS: text}, made.now)

        assert found.status is Status.TAMPERED
    assert why(verify({**made.files, SUMS: others[0]}, made.now)).endswith("as it should be")
