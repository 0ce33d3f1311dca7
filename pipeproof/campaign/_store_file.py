"""The file of a store: its schema, its one writer, what is wrong with it in words, and mending."""

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from pipeproof.errors import Problem, StoreError

__all__ = ["VERSION", "Written"]

VERSION = 1
"""Of the schema; it stands in the file as `user_version`."""

_APPLICATION = int.from_bytes(b"ppcs", "big")
_CAMPAIGN = "CREATE TABLE campaign (text TEXT NOT NULL, digest TEXT NOT NULL) STRICT"
_ENDED = """CREATE TABLE ended (
  key TEXT PRIMARY KEY, kind TEXT NOT NULL, body TEXT NOT NULL, outcome TEXT NOT NULL,
  answer TEXT, why TEXT NOT NULL, digest TEXT NOT NULL
) STRICT"""
_MOUNTS = Path("/proc/self/mounts")
_NETWORK = ("nfs", "cifs", "smb", "afs", "9p", "fuse.sshfs", "ncpfs")
_WORDS = {
    "SQLITE_FULL": ("the disk is full", "make room and resume the campaign"),
    "SQLITE_BUSY": ("another process writes to it", "wait until it ends, or name another file"),
    "SQLITE_NOTADB": ("it is no store of a campaign", "name another file"),
    "SQLITE_READONLY": ("it cannot be written", "name a file in a folder that can be"),
    "SQLITE_CANTOPEN": ("it cannot be opened", "name a file in a folder that can be written"),
    "SQLITE_PERM": ("it cannot be opened", "name a file in a folder that can be written"),
    "SQLITE_CORRUPT": ("it is damaged", "name another file"),
    "SQLITE_IOERR": ("reading or writing it fails", "look whether its disk is full or broken"),
}


class Written(NamedTuple):
    """A row as it stands in the file."""

    key: str
    kind: str
    body: str
    outcome: str
    answer: str | None
    why: str
    digest: str


def digest(fields: Sequence[str | None]) -> str:
    """Return SHA-256 of what a row holds."""
    return hashlib.sha256(json.dumps(fields).encode("ascii")).hexdigest()


def failing(path: Path, found: str, expected: str) -> StoreError:
    """Return the error that says what is wrong with a store."""
    return StoreError([Problem(str(path), 1, 1, found, expected)])


@contextmanager
def telling(path: Path) -> Iterator[None]:
    """Say in words what SQLite finds wrong.

    Raises:
        StoreError: something is.
    """
    try:
        yield
    except UnicodeDecodeError as error:  # what SQLite says holds bytes of the damaged schema
        raise failing(path, *_WORDS["SQLITE_CORRUPT"]) from error
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "")
        known = (words for each, words in _WORDS.items() if name.startswith(each))
        found, expected = next(known, (f"SQLite says {error}", "expected the store of a campaign"))
        raise failing(path, found, expected) from error


def refuse_network(path: Path, mounts: Path = _MOUNTS) -> None:
    """Refuse a file on a file system of the network, whose locks hold no second writer off.

    Raises:
        StoreError: it is on one.
    """
    kind = _file_system(path, mounts)
    if kind.startswith(_NETWORK):
        why = "where locks do not hold and a crash may damage it"
        expected = "name a file on a disk of this machine, and merge stores where they are done"
        raise failing(path, f"it is on a file system of the network ({kind}), {why}", expected)


def _file_system(path: Path, mounts: Path) -> str:
    """Return the kind of the file system that holds `path`; empty where nothing says."""
    try:
        lines = mounts.read_text("utf-8", "replace").splitlines()
        whole = path.resolve()
    except (OSError, RuntimeError):
        return ""
    held = ""
    longest = -1
    for line in lines:
        _, folder, kind, *_ = [*line.split(), "", "", ""]
        at = Path(folder.replace("\\040", " ").replace("\\134", "\\"))
        if whole.is_relative_to(at) and len(at.parts) >= longest:
            held, longest = kind, len(at.parts)
    return held


def connect(path: Path, *, create: bool) -> sqlite3.Connection:
    """Open the file for this process alone.

    Raises:
        StoreError: it cannot be opened, another process has it, or it holds something else.
    """
    with telling(path):
        mode = "rwc" if create else "rw"
        where = f"{path.absolute().as_uri()}?mode={mode}"
        db = sqlite3.connect(where, isolation_level=None, timeout=0, uri=True)
        try:
            db.text_factory = _text
            db.execute("PRAGMA locking_mode = EXCLUSIVE")
            _refuse_stranger(path, db)
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")
            db.execute("BEGIN IMMEDIATE")  # takes the lock, which stays
            db.execute("COMMIT")
        except BaseException:
            db.close()
            raise
    return db


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _number(db: sqlite3.Connection, pragma: str) -> int:
    return int(db.execute(f"PRAGMA {pragma}").fetchone()[0])


def _refuse_stranger(path: Path, db: sqlite3.Connection) -> None:
    """Refuse what is no store, or one of another version.

    Raises:
        StoreError: it is.
    """
    if is_new(db):
        return
    if _number(db, "application_id") != _APPLICATION:
        raise failing(path, *_WORDS["SQLITE_NOTADB"])
    version = _number(db, "user_version")
    if version != VERSION:
        said = f"it is a store of schema {version}"
        raise failing(path, said, f"this version of pipeproof has schema {VERSION}")


def is_new(db: sqlite3.Connection) -> bool:
    """Return whether a file holds nothing yet."""
    return not db.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """Write all that follows or nothing of it."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):  # the disk may be full: SQLite has rolled back itself
            db.execute("ROLLBACK")
        raise


def create(db: sqlite3.Connection, campaign: str) -> None:
    """Write the schema, and what campaign it is."""
    with transaction(db):
        db.execute(f"PRAGMA application_id = {_APPLICATION}")
        db.execute(f"PRAGMA user_version = {VERSION}")
        db.execute(_CAMPAIGN)
        db.execute(_ENDED)
        db.execute("INSERT INTO campaign VALUES (?, ?)", (campaign, digest([campaign])))


def campaign_of(path: Path, db: sqlite3.Connection) -> str:
    """Return what campaign a store is of.

    Raises:
        StoreError: that is damaged.
    """
    found = db.execute("SELECT text, digest FROM campaign").fetchall()
    if len(found) != 1 or not _is_whole(found[0]):
        raise failing(path, "what campaign it is of is damaged", "name another file")
    return str(found[0][0])


def damaged(db: sqlite3.Connection) -> int:
    """Return how many rows are damaged; at least 1 where the file is, in any other way."""
    if db.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",):
        return max(1, sum(row is None for row in _scanned(db)))
    return sum(row is None for row in _scanned(db))


def _scanned(db: sqlite3.Connection) -> Iterator[Written | None]:
    """Yield the rows as they lie in the file, None for one that is damaged, so far as it goes."""
    try:
        for found in db.execute("SELECT * FROM ended NOT INDEXED"):
            row = Written(*found)
            yield row if _is_whole(row) else None
    except (sqlite3.DatabaseError, UnicodeDecodeError):
        yield None


def _is_whole(fields: Sequence[object]) -> bool:
    """Return whether the last field is the digest of the others, which are text or nothing."""
    *held, last = fields
    texts = [each if isinstance(each, str) else None for each in held]
    return texts == held and digest(texts) == last


def mend(path: Path, db: sqlite3.Connection, campaign: str) -> sqlite3.Connection:
    """Write the rows that are whole to a new file, which takes the place of the damaged one.

    Raises:
        StoreError: it cannot be written; the damaged file stays as it is.
    """
    beside = path.with_name(f"{path.name}.mended")
    if beside.exists():
        connect(beside, create=False).close()  # of a run that was killed: else it is refused
    _remove(beside)
    new = connect(beside, create=True)
    with telling(beside):
        try:
            create(new, campaign)
            with transaction(new):
                whole = [row for row in _scanned(db) if row is not None]
                new.executemany("INSERT OR IGNORE INTO ended VALUES (?, ?, ?, ?, ?, ?, ?)", whole)
        finally:
            new.close()
    db.close()
    _remove(path)
    beside.replace(path)
    return connect(path, create=False)


def _remove(path: Path) -> None:
    for end in ("", "-wal", "-shm", "-journal"):
        path.with_name(path.name + end).unlink(missing_ok=True)
