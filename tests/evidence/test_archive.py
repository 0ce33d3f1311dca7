"""Archives are read as folders are, and hostile ones are refused before they are believed."""

import gzip
import io
import os
import stat
import struct
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from pipeproof.errors import ParseError
from pipeproof.evidence import archive
from pipeproof.evidence.archive import MEMBERS, Damaged, read
from pipeproof.evidence.verify import Status, verify_at
from tests.evidence.conftest import Made
from tests.evidence.made import written

Files = Mapping[str, bytes]
LITTLE: Files = {"SHA256SUMS": b"", "manifest.json": b"{}"}


def zipped(path: Path, files: Files, prefix: str = "") -> str:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for name, data in files.items():
            out.writestr(prefix + name, data)
    return str(path)


def tarred(path: Path, files: Files, prefix: str = "", *more: tarfile.TarInfo) -> str:
    with tarfile.open(path, "w:gz") as out:
        for name, data in files.items():
            member = tarfile.TarInfo(prefix + name)
            member.size = len(data)
            out.addfile(member, io.BytesIO(data))
        for each in more:
            out.addfile(each)
    return str(path)


Packed = Callable[[Path, Files, str], str]
KINDS = pytest.mark.parametrize("packed", [zipped, tarred], ids=["zip", "tar"])


def refused(path: str) -> str:
    with pytest.raises(ParseError) as raised:
        read(path)
    (problem,) = raised.value.problems
    assert str(raised.value).startswith(f"{path}:1:1: ")
    return problem.found


@KINDS
@pytest.mark.parametrize("prefix", ["", "./", "my bundle (1)/"])
def test_an_archive_holds_what_the_folder_holds(
    made: Made, tmp_path: Path, packed: Packed, prefix: str
) -> None:
    path = packed(tmp_path / "a", made.files, prefix)

    assert read(path) == read(str(made.folder)) == made.files
    assert verify_at(path, made.now).status is Status.FRESH
    assert [each.name for each in tmp_path.iterdir()] == ["a"], "nothing is unpacked"


def test_one_folder_of_a_folder_is_no_bundle(made: Made, tmp_path: Path) -> None:
    written(tmp_path / "outer" / "inner", made.files)

    assert "holds neither" in refused(str(tmp_path / "outer"))


@KINDS
@pytest.mark.parametrize(
    "name",
    [
        "../a",
        "a/../../b",
        "/etc/passwd",
        "C:/a",
        "a\\b",
        "a//b",
        "a/./b",
        "a\nb",
        "\u202ea",
        "x" * 256,
    ],
)
def test_a_name_that_leads_elsewhere_is_refused(tmp_path: Path, packed: Packed, name: str) -> None:
    path = packed(tmp_path / "a", {**LITTLE, name: b"x"}, "")

    assert "a name in it is" in refused(path)


@KINDS
def test_names_that_some_system_takes_for_one_are_refused(tmp_path: Path, packed: Packed) -> None:
    path = packed(tmp_path / "a", {**LITTLE, "Manifest.JSON": b"x"}, "")

    assert "two names in it" in refused(path)


def test_a_name_that_stands_twice_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as out:
        out.writestr("manifest.json", b"1")
        with pytest.warns(UserWarning, match="Duplicate name"):
            out.writestr("manifest.json", b"2")

    assert "two names in it" in refused(str(tmp_path / "a.zip"))


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE]
)
def test_links_and_devices_in_a_tar_are_refused(tmp_path: Path, kind: bytes) -> None:
    member = tarfile.TarInfo("results")
    member.type, member.linkname = kind, "/etc"

    assert "is a link, a device or sparse" in refused(tarred(tmp_path / "a", LITTLE, "", member))


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR])
def test_links_and_devices_in_a_zip_are_refused(tmp_path: Path, kind: int) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as out:
        each = zipfile.ZipInfo("manifest.json")
        each.external_attr = (kind | 0o777) << 16
        out.writestr(each, "/etc/passwd")

    assert "is a link, a device or locked" in refused(str(tmp_path / "a.zip"))


@KINDS
def test_what_unpacks_to_far_more_than_it_is_is_refused(tmp_path: Path, packed: Packed) -> None:
    path = packed(tmp_path / "a", {**LITTLE, "zeros": bytes(8 << 20)}, "")

    assert refused(path) == "it holds more than 100 times its own size"


@KINDS
def test_more_bytes_than_any_bundle_has_are_refused(
    tmp_path: Path, packed: Packed, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = packed(tmp_path / "a", {**LITTLE, "more": os.urandom(4_000)}, "")
    monkeypatch.setattr(archive, "TOTAL", 3_000)

    assert refused(path) == "it holds more than 512 MB"


@KINDS
def test_more_files_than_any_bundle_has_are_refused(
    tmp_path: Path, packed: Packed, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = packed(tmp_path / "a", {f"{n:x}": os.urandom(9) for n in range(21)}, "")
    monkeypatch.setattr(archive, "MEMBERS", 20)

    assert refused(path) == "it holds more than 20 files"
    monkeypatch.setattr(archive, "MEMBERS", 21)
    assert "holds neither" in refused(path)


def test_a_zip_with_a_huge_directory_is_refused_before_it_is_read(tmp_path: Path) -> None:
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, 1 << 30, 0, 0)
    (tmp_path / "a.zip").write_bytes(b"PK" + bytes(100) + end)

    assert refused(str(tmp_path / "a.zip")) == f"it holds more than {MEMBERS} files"


def test_a_zip_of_the_long_form_is_refused(tmp_path: Path) -> None:
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, 0, 1)
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, 10, 0, 0)
    (tmp_path / "a.zip").write_bytes(b"PK" + bytes(100) + locator + end)

    assert refused(str(tmp_path / "a.zip")) == f"it holds more than {MEMBERS} files"


@KINDS
def test_what_is_cut_off_is_damaged(made: Made, tmp_path: Path, packed: Packed) -> None:
    path = Path(packed(tmp_path / "a", made.files, ""))
    whole = path.read_bytes()
    for size in (40, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])

        assert verify_at(str(path), made.now).status is Status.TAMPERED, size


def test_a_flip_in_what_an_archive_holds_is_damage(made: Made, tmp_path: Path) -> None:
    for packed in (zipped, tarred):
        path = Path(packed(tmp_path / "a", made.files, ""))
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(bytes(data))

        assert verify_at(str(path), made.now).status is Status.TAMPERED


def test_what_stands_behind_a_tar_is_damage(tmp_path: Path) -> None:
    path = Path(tarred(tmp_path / "a", LITTLE))
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()) + b"more"))

    with pytest.raises(Damaged):
        read(str(path))


def test_a_link_or_a_pipe_in_a_folder_is_damage(made: Made, tmp_path: Path) -> None:
    folder = written(tmp_path / "b", made.files)
    (folder / "manifest.json").unlink()
    (folder / "manifest.json").symlink_to(made.folder / "manifest.json")
    assert verify_at(str(folder), made.now).status is Status.TAMPERED
    (folder / "manifest.json").unlink()
    os.mkfifo(folder / "manifest.json")

    found = verify_at(str(folder), made.now)

    assert found.status is Status.TAMPERED
    assert found.reasons[0].why == "'manifest.json' is no regular file"


def test_a_link_to_a_folder_in_a_folder_is_damage(made: Made, tmp_path: Path) -> None:
    folder = written(tmp_path / "b", made.files)
    (folder / "more").symlink_to("/")

    assert verify_at(str(folder), made.now).status is Status.TAMPERED


@pytest.mark.parametrize("name", ["a\nb", "\u202ea", "a:b", "MANIFEST.json"])
def test_a_file_of_a_strange_name_in_a_folder_is_damage(
    made: Made, tmp_path: Path, name: str
) -> None:
    folder = written(tmp_path / "b", {**made.files, name: b"x"})

    assert verify_at(str(folder), made.now).status is Status.TAMPERED


def test_what_is_no_bundle_is_said_in_words(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("no")
    (tmp_path / "empty").mkdir()

    assert refused(str(tmp_path / "a.txt")) == "it is no archive"
    assert "holds neither" in refused(str(tmp_path / "empty"))
    assert refused(str(tmp_path / "none")) == "it cannot be read (No such file or directory)"
    assert refused("a\0b") == "it is no path"
    assert refused("/dev/null") == "it is neither a folder nor a file"
