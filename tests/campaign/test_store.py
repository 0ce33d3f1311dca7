"""What a store has acknowledged it keeps; what is damaged it knows; it is of one campaign."""

import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from pipeproof.campaign import _store_file
from pipeproof.campaign.executor import OUTCOMES, Ended, Outcome
from pipeproof.campaign.store import Store
from pipeproof.campaign.task import Json, Task, canonical
from pipeproof.errors import DisagreementError, StoreError
from tests.campaign.kinds import task

CAMPAIGN: Mapping[str, Json] = {"seed": 3, "schedule": "1f1b", "version": "1"}


def done(number: int, answer: Mapping[str, Json] | None = None) -> Ended:
    return Ended(task("square", number), "done", answer or {"squared": number * number}, "")


def failed(number: int, outcome: Outcome, why: str = "why") -> Ended:
    return Ended(task("square", number), outcome, None, why)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with Store.open(path, CAMPAIGN) as opened:
        yield opened


def filled(path: Path, numbers: range, campaign: Mapping[str, Json] = CAMPAIGN) -> Path:
    with Store.open(path, campaign) as opened:
        for number in numbers:
            opened.put(done(number))
    return path


def altered(path: Path, statement: str) -> None:
    db = sqlite3.connect(path)
    db.execute(statement)
    db.commit()
    db.close()


def test_what_is_put_is_there_when_the_store_is_opened_again(path: Path) -> None:
    ended = Ended(Task("judge", {"text": "\u202e\ud800", "n": [1, {"a": 2}]}), "done", {"b": 1}, "")
    with Store.open(path, CAMPAIGN) as store:
        store.put(ended)

    with Store.open(path, CAMPAIGN) as store:
        assert [row.ended for row in store.rows()] == [ended]
        assert store.done() == {ended.task.key}
        assert store.damaged == 0
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_rows_come_in_order_of_their_keys_whatever_the_order_they_came_in(tmp_path: Path) -> None:
    forth, back = tmp_path / "a", tmp_path / "b"
    with Store.open(forth, CAMPAIGN) as one, Store.open(back, CAMPAIGN) as other:
        for number in range(20):
            one.put(done(number))
            other.put(done(19 - number))

        assert list(one.rows()) == list(other.rows())
        assert [row.key for row in one.rows()] == sorted(row.key for row in one.rows())
        assert one.digest() == other.digest()


@pytest.mark.parametrize("outcome", [each for each in OUTCOMES if each != "done"])
def test_what_has_no_answer_gives_way_to_an_answer_and_never_the_other_way(
    store: Store, outcome: Outcome
) -> None:
    store.put(failed(1, outcome))
    assert store.done() == set()
    assert store.counts()[outcome] == 1

    store.put(done(1))
    store.put(failed(1, outcome))

    assert [row.ended for row in store.rows()] == [done(1)]


def test_an_answer_is_kept_once_and_a_second_one_is_a_disagreement(store: Store) -> None:
    store.put(done(1))
    store.put(done(1))

    with pytest.raises(DisagreementError, match=r"\(square\) has two answers"):
        store.put(done(1, {"squared": 2}))
    assert [row.ended for row in store.rows()] == [done(1)]


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({**CAMPAIGN, "seed": 4}, "with 'seed' '3'; this one has '4'"),
        ({**CAMPAIGN, "more": "\x1b[1m"}, "with 'more' 'not set'; this one has"),
        ({"seed": 3}, "with 'schedule' '\"1f1b\"'; this one has 'not set'"),
    ],
)
def test_the_store_of_another_campaign_is_refused(
    path: Path, other: Mapping[str, Json], said: str
) -> None:
    filled(path, range(1))

    with pytest.raises(StoreError, match=r"^\S+store.db:1:1: it is the store") as caught:
        Store.open(path, other)

    assert said in str(caught.value)
    assert str(caught.value).isprintable()
    with Store.open(path, CAMPAIGN) as store:
        assert len(store.done()) == 1


def test_a_store_of_another_schema_is_refused_and_left_alone(path: Path) -> None:
    filled(path, range(1))
    altered(path, "PRAGMA user_version = 7")
    before = path.read_bytes()

    with pytest.raises(StoreError, match="a store of schema 7; this version of pipeproof has"):
        Store.open(path, CAMPAIGN)
    assert path.read_bytes() == before


def test_a_database_of_others_is_refused_and_left_alone(path: Path) -> None:
    altered(path, "CREATE TABLE theirs (a)")
    before = path.read_bytes()

    with pytest.raises(StoreError, match="it is no store of a campaign"):
        Store.open(path, CAMPAIGN)
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"pipeproof: 1\n" * 400, b"\0" * 4096, b"SQLite format 3\0"])
def test_a_file_of_another_kind_is_refused_and_left_alone(path: Path, content: bytes) -> None:
    path.write_bytes(content)

    with pytest.raises(StoreError, match=r"store.db:1:1: it is "):
        Store.open(path, CAMPAIGN)
    assert path.read_bytes() == content


def test_a_second_writer_is_refused_in_words(path: Path, store: Store) -> None:
    store.put(done(1))
    opened = (
        "import sys, pathlib; from pipeproof.campaign.store import Store\n"
        "from pipeproof.errors import StoreError\n"
        "try: Store.existing(pathlib.Path(sys.argv[1]))\n"
        "except StoreError as error: print(error)\n"
    )
    ran = subprocess.run(  # noqa: S603
        [sys.executable, "-c", opened, str(path)], capture_output=True, text=True, check=True
    )

    assert "another process writes to it; wait until it ends" in ran.stdout
    store.put(done(2))


def test_a_store_that_is_not_there_is_not_made_by_looking_at_it(path: Path) -> None:
    with pytest.raises(StoreError, match="there is no such file"):
        Store.existing(path)
    assert not path.exists()


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="it cannot be opened; name a file in a folder"):
        Store.open(tmp_path / "none" / "store.db", CAMPAIGN)


@pytest.mark.parametrize(
    "column",
    ["key = 'x'", "kind = 'x'", "body = '{}'", "answer = '{}'", "why = 'x'", "digest = ''"],
)
def test_a_row_that_was_altered_is_taken_out_and_its_task_runs_again(
    path: Path, column: str
) -> None:
    filled(path, range(5))
    key = task("square", 2).key
    altered(path, f"UPDATE ended SET {column} WHERE key = '{key}'")  # noqa: S608

    with Store.open(path, CAMPAIGN) as store:
        assert store.damaged == 1
        assert store.done() == {task("square", n).key for n in (0, 1, 3, 4)}
    with Store.open(path, CAMPAIGN) as store:
        assert store.damaged == 0


def test_a_campaign_that_was_altered_is_refused(path: Path) -> None:
    filled(path, range(1))
    altered(path, "UPDATE campaign SET text = '{}'")

    with pytest.raises(StoreError, match="what campaign it is of is damaged"):
        Store.open(path, CAMPAIGN)


def flips(path: Path, step: int) -> int:
    """Flip bytes of a store, one after the other; return how many were told."""
    whole = path.read_bytes()
    with Store.existing(path) as store:
        known = {row.key: row.ended for row in store.rows()}
    found = 0
    for place in range(0, len(whole), step):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        for beside in path.parent.glob(f"{path.name}?*"):
            beside.unlink()
        try:
            with Store.open(path, CAMPAIGN) as store:
                rows = {row.key: row.ended for row in store.rows()}
                assert rows.items() <= known.items(), place
                assert store.damaged or rows == known, place
                found += store.damaged > 0
        except StoreError:
            found += 1
    return found


def test_no_flipped_byte_makes_another_answer(path: Path) -> None:
    filled(path, range(12))

    assert flips(path, 257) > 8


@pytest.mark.slow
def test_no_flipped_byte_anywhere_makes_another_answer(path: Path) -> None:
    filled(path, range(12))

    assert flips(path, 1) > 3000


def test_shards_that_are_merged_are_one_store(tmp_path: Path) -> None:
    whole = filled(tmp_path / "whole", range(30))
    filled(tmp_path / "1", range(18))
    filled(tmp_path / "2", range(12, 30))
    with Store.open(tmp_path / "merged", CAMPAIGN) as merged:
        with Store.existing(tmp_path / "1") as one, Store.existing(tmp_path / "2") as two:
            assert merged.merge(two) == 18
            assert merged.merge(one) == 12
            assert merged.merge(one) == 0

        with Store.existing(whole) as store:
            assert list(merged.rows()) == list(store.rows())
            assert merged.digest() == store.digest()


def test_of_two_answers_nothing_is_merged(tmp_path: Path) -> None:
    with Store.open(tmp_path / "a", CAMPAIGN) as one, Store.open(tmp_path / "b", CAMPAIGN) as two:
        one.put(done(1))
        for number in (0, 2, 3):
            two.put(done(number))
        two.put(done(1, {"squared": 5}))

        with pytest.raises(DisagreementError):
            one.merge(two)
        assert [row.ended for row in one.rows()] == [done(1)]


def test_another_campaign_is_not_merged(tmp_path: Path, store: Store) -> None:
    other = filled(tmp_path / "other", range(1), {**CAMPAIGN, "seed": 9})

    with Store.existing(other) as another, pytest.raises(StoreError, match=r"other:1:1: .*'seed'"):
        store.merge(another)


def test_a_full_disk_is_told_and_what_was_acknowledged_stays(path: Path) -> None:
    kept: set[str] = set()

    def until_full(store: Store) -> None:
        for number in range(10_000):
            store.put(done(number))
            kept.add(task("square", number).key)

    with Store.open(path, CAMPAIGN) as store:
        store._db.execute("PRAGMA max_page_count = 12")
        with pytest.raises(StoreError, match="the disk is full; make room and resume"):
            until_full(store)
        with pytest.raises(StoreError, match="the disk is full"):
            store.put(done(len(kept), {"text": "x" * 10_000}))

    assert len(kept) > 20
    with Store.open(path, CAMPAIGN) as store:
        assert store.damaged == 0
        assert store.done() == kept
        store.put(done(len(kept)))


@pytest.mark.parametrize(
    ("kind", "folder", "refused"),
    [
        ("nfs4", "/", True),
        ("nfs", "/net/home", True),
        ("cifs", "/net", True),
        ("fuse.sshfs", "/net", True),
        ("ext4", "/net", False),
        ("nfs4", "/elsewhere", False),
        ("nfs4", "/ne", False),
    ],
)
def test_a_file_system_of_the_network_is_refused(
    tmp_path: Path, kind: str, folder: str, *, refused: bool
) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/a / ext4 rw 0 0\nhost:/x {folder} {kind} rw 0 0\nbroken\n")
    path = Path("/net/home/store.db")

    if refused:
        with pytest.raises(StoreError, match=rf"file system of the network \({kind}\)"):
            _store_file.refuse_network(path, mounts)
    else:
        _store_file.refuse_network(path, mounts)


def test_where_nothing_says_what_is_mounted_nothing_is_refused(tmp_path: Path) -> None:
    _store_file.refuse_network(tmp_path / "store.db", tmp_path / "none")


def test_what_is_campaign_and_row_is_in_the_digest(tmp_path: Path) -> None:
    digests = set()
    for name, campaign, row in (
        ("a", CAMPAIGN, done(1)),
        ("b", {**CAMPAIGN, "seed": 4}, done(1)),
        ("c", CAMPAIGN, done(2)),
        ("d", CAMPAIGN, failed(1, "killed")),
    ):
        with Store.open(tmp_path / name, campaign) as store:
            store.put(row)
            digests.add(store.digest())

    assert len(digests) == 4
    assert canonical(CAMPAIGN)


def test_mending_takes_the_place_of_nobodys_file(path: Path) -> None:
    filled(path, range(3))
    altered(path, "UPDATE ended SET why = 'x' WHERE rowid = 1")
    beside = path.with_name(f"{path.name}.mended")
    beside.write_text("mine", encoding="utf-8")

    with pytest.raises(StoreError, match="it is no store"):
        Store.existing(path)
    assert beside.read_text(encoding="utf-8") == "mine"
    beside.unlink()
    with Store.existing(path) as store:
        assert store.damaged == 1
