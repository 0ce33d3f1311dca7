"""What a campaign has acknowledged survives its end, however it comes; nothing is left running.

The long form, fifty ends by `kill -9` of two campaigns:
`python -m pytest -m slow tests/campaign/test_campaign_survival.py -s`.
"""

import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest

from pipeproof.campaign.store import Store
from pipeproof.cli._exits import Exit

ROOT = Path(__file__).parents[2]
ACKNOWLEDGED = re.compile(r"^acknowledged ([0-9a-f]{64}) done\n", re.MULTILINE)


def command(store: Path, *asked: str) -> list[str]:
    return [sys.executable, "-m", "tests.campaign.driven", str(store), *asked]


def whole(store: Path, *asked: str) -> str:
    """Run a campaign to its end; return its report."""
    ran = subprocess.run(  # noqa: S603
        command(store, *asked), cwd=ROOT, capture_output=True, text=True, check=True, timeout=120
    )
    return ran.stdout.partition("[\n")[2]


def started(store: Path, *asked: str) -> AbstractContextManager[subprocess.Popen[str]]:
    """Run a campaign in a session of its own, of which nothing may be left."""
    return running(command(store, *asked))


@contextmanager
def running(words: list[str]) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(  # noqa: S603
        words,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def of_session(session: int) -> list[int]:
    """Processes of a session that have not ended."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, _, its, *_ = stat.read_text().rpartition(")")[2].split()
            if int(its) == session and state not in "ZX":
                found.append(int(stat.parent.name))
    return found


def blocks_sigterm(pid: int) -> bool:
    """Whether a process is at a task of these tests that hangs."""
    with suppress(OSError):
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
        blocked = int(status.partition("SigBlk:")[2].split()[0], 16)
        return bool(blocked >> (signal.SIGTERM - 1) & 1)
    return False


def nothing_is_left(session: int) -> bool:
    """Whether all processes of a session end; they are given a while."""
    until = time.monotonic() + 20
    while of_session(session):
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def killed(store: Path, draw: Random, most: int, *asked: str) -> set[str]:
    """Run a campaign until a random moment, kill it, return what it had acknowledged."""
    with started(store, *asked) as process:
        assert process.stdout is not None
        output = ""
        if draw.random() < 0.8:  # else while it begins
            for _ in range(draw.randrange(most)):
                output += process.stdout.readline()
        time.sleep(draw.random() / (20 if output else 1.5))
        process.kill()
        output += process.stdout.read()
        process.wait()
        assert nothing_is_left(process.pid)
    return set(ACKNOWLEDGED.findall(output))


def survives(tmp_path: Path, kills: int, seed: int, *asked: str) -> tuple[int, int]:
    """Kill a campaign again and again; return how often in its midst, and what it acknowledged."""
    draw, store = Random(seed), tmp_path / "killed"
    acknowledged: set[str] = set()
    midst = 0
    for _ in range(kills):
        now = killed(store, draw, max(2, int(asked[1]) // kills), *asked)
        assert not now & acknowledged  # none is done twice
        acknowledged |= now
        midst += len(acknowledged) < int(asked[1])
        if store.exists() and store.stat().st_size:
            with Store.open(store, {"kind": asked[0], "count": int(asked[1])}) as opened:
                assert opened.damaged == 0
                assert acknowledged <= opened.done()
    uninterrupted = whole(tmp_path / "whole", *asked, "--workers", "0")
    assert whole(store, *asked) == uninterrupted
    return midst, len(acknowledged)


def test_what_was_acknowledged_survives_five_kills(tmp_path: Path) -> None:
    midst, acknowledged = survives(tmp_path, 5, 1, "slow", "40")

    assert midst >= 4
    assert acknowledged > 0


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "count"), [("slow", 300), ("judge", 300)])
@pytest.mark.timeout(900)
def test_what_was_acknowledged_survives_fifty_kills(
    tmp_path: Path, kind: str, count: int, capsys: pytest.CaptureFixture[str]
) -> None:
    midst, acknowledged = survives(tmp_path, 50, 2, kind, str(count))

    with capsys.disabled():
        print(f"\n{kind}: 50 kills, {midst} in its midst; {acknowledged} acknowledged, 0 lost")  # noqa: T201
    assert midst >= 40


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_report_of_a_hunt_that_was_killed_is_that_of_one_that_was_not(tmp_path: Path) -> None:
    hunt = [sys.executable, "-m", "pipeproof", "hunt", "--self", "--cases", "24", "--torch", "0"]
    hunt += ["--format", "json", "--found", str(tmp_path / "found"), "--resume", "--store"]
    done, draw = 0, Random(3)
    while done < 24:
        before = done
        with running([*hunt, str(tmp_path / "killed")]) as process:
            while done < min(24, before + draw.randrange(1, 6)) and process.poll() is None:
                time.sleep(draw.random())
                done = rows_in(tmp_path / "killed")
            process.kill()
            process.wait()
            assert nothing_is_left(process.pid)
        assert rows_in(tmp_path / "killed") >= before

    reports = [
        subprocess.run([*hunt, str(store), *more], capture_output=True, check=True).stdout  # noqa: S603
        for store, more in ((tmp_path / "killed", ()), (tmp_path / "whole", ("--workers", "1")))
    ]
    assert reports[0] == reports[1]


def rows_in(store: Path) -> int:
    """How many tasks of a store are done, as a copy of it says, for it may be in use."""
    with TemporaryDirectory() as folder:
        for end in ("", "-wal"):
            beside = store.with_name(store.name + end)
            if beside.exists():
                shutil.copy(beside, Path(folder) / f"copy{end}")
        copy = Path(folder) / "copy"
        if not copy.exists() or not copy.stat().st_size:
            return 0
        with closing(sqlite3.connect(copy)) as db, suppress(sqlite3.Error):
            return int(db.execute("SELECT count(*) FROM ended").fetchone()[0])
    return 0


@pytest.mark.parametrize(
    ("sent", "code"), [(signal.SIGINT, Exit.INTERRUPTED), (signal.SIGTERM, Exit.TERMINATED)]
)
@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_signal_ends_a_campaign_and_its_workers_and_loses_nothing(
    tmp_path: Path, sent: signal.Signals, code: Exit, workers: str
) -> None:
    store = tmp_path / "store"
    with started(store, "slow", "400", "--workers", workers) as process:
        assert process.stdout is not None
        output = "".join(process.stdout.readline() for _ in range(4))
        os.killpg(process.pid, sent)  # as a terminal does
        output += process.stdout.read()
        said = process.stderr.read() if process.stderr else ""

        assert process.wait() == code
        assert nothing_is_left(process.pid)
    assert said == ""
    with Store.existing(store) as opened:
        unsaid = opened.done() - set(ACKNOWLEDGED.findall(output))
        assert opened.done() >= set(ACKNOWLEDGED.findall(output))
        assert len(unsaid) <= 1  # the signal may come between the two
        assert opened.damaged == 0


@pytest.mark.parametrize("kind", ["hang", "stubborn"])
def test_a_worker_that_hangs_does_not_outlive_its_campaign(tmp_path: Path, kind: str) -> None:
    with started(tmp_path / "store", kind, "2") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "began 2 0\n"
        while sum(map(blocks_sigterm, of_session(process.pid))) < 2:  # both are at their tasks
            time.sleep(0.02)
        process.kill()
        process.wait()

        assert nothing_is_left(process.pid)


def test_a_reader_that_leaves_does_not_end_the_campaign(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with started(store, "square", "200") as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        process.wait()

        assert nothing_is_left(process.pid)
    with Store.existing(store) as opened:
        assert len(opened.done()) == 200


def test_a_full_disk_ends_a_campaign_in_words_and_it_goes_on_when_there_is_room(
    tmp_path: Path,
) -> None:
    store = tmp_path / "store"
    with started(store, "square", "40", "--workers", "0", "--disk", "40000") as process:
        output, said = process.communicate()
        assert process.returncode == Exit.INPUT
        assert nothing_is_left(process.pid)

    assert re.fullmatch(r"\S+store:1:1: (the disk is full|reading or writing it fails); .*\n", said)
    with Store.existing(store) as opened:
        assert opened.damaged == 0
        acknowledged = set(ACKNOWLEDGED.findall(output))
        assert 0 < len(acknowledged) < 40
        assert acknowledged <= opened.done()
    asked = ("square", "40", "--workers", "0")
    assert whole(store, *asked) == whole(tmp_path / "whole", *asked)


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    folder = Path("/proc")  # nobody can write there, whoever runs the tests
    with started(folder / "store", "square", "3") as process:
        output, said = process.communicate()

        assert process.returncode == Exit.INPUT
    assert output == ""
    assert said.startswith("/proc/store:1:1: it cannot be opened; name a file in a folder that")
    assert not list(tmp_path.iterdir())


def test_a_store_in_use_is_told_to_a_second_campaign(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with started(store, "slow", "400") as process:
        assert process.stdout is not None
        process.stdout.readline()
        second = subprocess.run(  # noqa: S603
            command(store, "slow", "400"), cwd=ROOT, capture_output=True, text=True, check=False
        )

        assert second.returncode == Exit.INPUT
        assert "another process writes to it" in second.stderr
        assert process.poll() is None
