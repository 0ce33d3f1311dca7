"""Where a campaign keeps what it found: one SQLite file, one writer, every row with its digest."""

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from pipeproof.campaign import _store_file as file
from pipeproof.campaign.executor import OUTCOMES, Ended, Outcome
from pipeproof.campaign.task import Json, Task, canonical
from pipeproof.errors import DisagreementError, printable

__all__ = ["Row", "Store"]

_INSERT = "INSERT OR REPLACE INTO ended VALUES (?, ?, ?, ?, ?, ?, ?)"
_COLUMNS = "key, kind, body, outcome, answer, why"


class Row(NamedTuple):
    """What a store holds of one task."""

    key: str
    ended: Ended


class Store:
    """What is known of the tasks of one campaign.

    A row is acknowledged when `put` returns: it survives the end of the process, however it comes;
    a loss of power may take the last rows, and never damages the others.
    `damaged` is how many rows were found damaged and taken out when the store was opened: their
    tasks are to be run again.
    """

    def __init__(self, path: Path, db: sqlite3.Connection, campaign: Mapping[str, Json]) -> None:
        """Take what `open` or `existing` has opened."""
        self.path, self.campaign = path, campaign
        self.damaged = 0
        self._db = db

    @classmethod
    def open(cls, path: Path, campaign: Mapping[str, Json]) -> Self:
        """Open the store of a campaign, and begin one where there is none.

        Args:
            path: the file.
            campaign: what the campaign is: all that its list of tasks follows from, without the
                number of workers, the shard or anything else that no answer depends on.

        Raises:
            StoreError: it cannot be opened, is in use, or is no store of this campaign.
        """
        file.refuse_network(path)
        db = file.connect(path, create=True)
        try:
            with file.telling(path):
                if file.is_new(db):
                    file.create(db, canonical(campaign))
            store = cls._opened(path, db)
            _refuse_other(path, store.campaign, campaign)
        except BaseException:
            db.close()
            raise
        return store

    @classmethod
    def existing(cls, path: Path) -> Self:
        """Open a store that is there, whatever campaign it is of.

        Raises:
            StoreError: there is none, it cannot be opened or is in use.
        """
        if not path.is_file():
            raise file.failing(path, "there is no such file", "expected the store of a campaign")
        db = file.connect(path, create=False)
        try:
            return cls._opened(path, db)
        except BaseException:
            db.close()
            raise

    @classmethod
    def _opened(cls, path: Path, db: sqlite3.Connection) -> Self:
        with file.telling(path):
            text = file.campaign_of(path, db)
            damaged = file.damaged(db)
        store = cls(path, db, json.loads(text))
        if damaged:
            store._db = file.mend(path, db, text)
            store.damaged = damaged
        return store

    def put(self, ended: Ended) -> None:
        """Keep how a task has ended; one that is done stays as it is.

        Raises:
            DisagreementError: the task was done before, with another answer.
            StoreError: it cannot be written; what the store holds stays as it was.
        """
        with file.telling(self.path):
            self._put(_written(ended))

    def _put(self, row: "file.Written") -> None:
        known = self._db.execute(
            "SELECT answer FROM ended WHERE key = ? AND outcome = 'done'", (row.key,)
        ).fetchone()
        if known is None:
            self._db.execute(_INSERT, row)
        elif row.outcome == "done" and known[0] != row.answer:
            message = f"task {row.key[:12]} ({row.kind}) has two answers"
            raise DisagreementError(message)

    def done(self) -> set[str]:
        """Return the keys of the tasks that are done."""
        with file.telling(self.path):
            found = self._db.execute("SELECT key FROM ended WHERE outcome = 'done'")
            return {str(key) for (key,) in found}

    def rows(self) -> Iterator[Row]:
        """Yield all rows in order of their keys: the same for any order in which they came."""
        with file.telling(self.path):
            for found in self._db.execute(f"SELECT {_COLUMNS} FROM ended ORDER BY key"):  # noqa: S608
                yield _read(found)

    def counts(self) -> dict[Outcome, int]:
        """Return how many tasks ended in which way; each way is there."""
        with file.telling(self.path):
            found = dict(self._db.execute("SELECT outcome, count(*) FROM ended GROUP BY outcome"))
        return {each: found.get(each, 0) for each in OUTCOMES}

    def digest(self) -> str:
        """Return SHA-256 of campaign and rows: equal where two stores hold the same."""
        whole = hashlib.sha256(canonical(self.campaign).encode("ascii"))
        with file.telling(self.path):
            for (each,) in self._db.execute("SELECT digest FROM ended ORDER BY key"):
                whole.update(each.encode("ascii"))
        return whole.hexdigest()

    def merge(self, other: "Store") -> int:
        """Take over what another store of the same campaign holds; all of it or nothing.

        Returns:
            How many tasks are done now that were not before.

        Raises:
            DisagreementError: a task is done in both, with different answers.
            StoreError: the other is of another campaign, or this one cannot be written.
        """
        _refuse_other(other.path, other.campaign, self.campaign)
        before = self.counts()["done"]
        with file.telling(self.path), file.transaction(self._db):
            for row in other.written():
                self._put(row)
        return self.counts()["done"] - before

    def written(self) -> Iterator["file.Written"]:
        """Yield all rows as they stand in the file, in order of their keys."""
        with file.telling(self.path):
            for row in self._db.execute("SELECT * FROM ended ORDER BY key"):
                yield file.Written(*row)

    def close(self) -> None:
        """Close the file; what is in the log beside it moves into it."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _written(ended: Ended) -> "file.Written":
    task = ended.task
    answer = None if ended.answer is None else canonical(ended.answer)
    fields = (task.key, task.kind, canonical(task.body), ended.outcome, answer, ended.why)
    return file.Written(*fields, file.digest(fields))


def _read(found: tuple[str, str, str, Outcome, str | None, str]) -> Row:
    key, kind, body, outcome, answer, why = found
    task = Task(kind, json.loads(body))
    return Row(key, Ended(task, outcome, None if answer is None else json.loads(answer), why))


def _refuse_other(path: Path, found: Mapping[str, Json], asked: Mapping[str, Json]) -> None:
    """Refuse the store of another campaign, and say in what it differs.

    Raises:
        StoreError: it differs.
    """
    for name in sorted({*found, *asked}):
        here, there = (_plain(each.get(name)) for each in (found, asked))
        if here != there:
            said = f"it is the store of a campaign with {printable(name)} {printable(here)}"
            raise file.failing(path, said, f"this one has {printable(there)}; name another file")


def _plain(value: Json | None) -> str:
    return "not set" if value is None else canonical(value)
