"""A campaign on a cluster is the same campaign, and survives one of its nodes.

Ray is an extra: `pip install 'pipeproof[ray]'`, then
`python -m pytest -m slow tests/campaign/test_ray.py`.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

import pytest

from pipeproof.campaign._ray import Cluster
from pipeproof.cli._exits import Exit
from pipeproof.errors import UsageError
from tests.campaign.conforming import LIMITS, conforms, loses_only, stops_early
from tests.campaign.kinds import LETHAL, perform, squares
from tests.campaign.test_campaign_survival import (
    ACKNOWLEDGED,
    ROOT,
    nothing_is_left,
    of_session,
    started,
    whole,
)

if find_spec("ray") is None:
    pytest.skip("ray is not installed: pip install 'pipeproof[ray]'", allow_module_level=True)
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

RAY = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--num-cpus=1"]
SMALL = ["--object-store-memory=100000000", "--node-ip-address=127.0.0.1"]


@contextmanager
def node(*asked: str) -> Iterator[int]:
    """A node of a cluster on this machine, in a session of its own; yields its session."""
    with subprocess.Popen(  # noqa: S603
        [*RAY, *SMALL, *asked],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(ROOT), "RAY_USAGE_STATS_ENABLED": "0"},
        start_new_session=True,
    ) as process:
        try:
            yield process.pid
        finally:
            lose(process.pid)


def lose(session: int) -> None:
    """End all processes of a node at once, as a machine that loses its power."""
    for pid in of_session(session):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert nothing_is_left(session)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def answers(port: int) -> bool:
    with socket.socket() as asking:
        return asking.connect_ex(("127.0.0.1", port)) == 0


def hands(session: int) -> int:
    """How many processes of a node do tasks."""
    found = 0
    for pid in of_session(session):
        with suppress(OSError):
            found += b"_Hand" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return found


def until(claim: object, seconds: float = 120) -> None:
    assert callable(claim)
    end = time.monotonic() + seconds
    while not claim():
        assert time.monotonic() < end
        time.sleep(0.05)


@contextmanager
def two_nodes(folder: Path) -> Iterator[tuple[str, int, int]]:
    """A cluster of two nodes: its address, and the sessions of both."""
    port = free_port()
    address = f"127.0.0.1:{port}"
    with ExitStack() as nodes:
        head = ["--head", f"--port={port}", "--include-dashboard=false", f"--temp-dir={folder}"]
        first = nodes.enter_context(node(*head))
        until(lambda: answers(port))
        second = nodes.enter_context(node(f"--address={address}"))
        yield address, first, second


@pytest.fixture(scope="module")
def cluster() -> Iterator[tuple[str, int, int]]:
    folder = Path(f"/tmp/ray-{os.getpid()}")  # noqa: S108  a path of a socket must be short
    folder.mkdir(mode=0o700)
    with pytest.MonkeyPatch.context() as patch:  # before Ray is imported
        patch.setenv("RAY_AUTH_MODE", "token")
        patch.setenv("RAY_AUTH_TOKEN", uuid.uuid4().hex)
        try:
            with two_nodes(folder) as found:
                yield found
        finally:
            shutil.rmtree(folder)


@pytest.fixture
def executor(cluster: tuple[str, int, int]) -> Cluster:
    return Cluster(cluster[0], perform)


def test_every_task_ends_once_with_what_it_says(executor: Cluster) -> None:
    conforms(executor)


def test_no_tasks_are_no_work(executor: Cluster) -> None:
    assert list(executor.run([], LIMITS)) == []


def test_what_looks_at_the_first_answers_only_stops_the_rest(executor: Cluster) -> None:
    stops_early(executor)


@pytest.mark.parametrize("kind", LETHAL)
def test_only_the_task_that_ends_its_worker_is_lost(executor: Cluster, kind: str) -> None:
    loses_only(executor, kind)


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_campaign_and_what_it_runs_elsewhere(
    tmp_path: Path, cluster: tuple[str, int, int], sent: signal.Signals
) -> None:
    address, *sessions = cluster
    with started(tmp_path / "store", "slow", "2000", "--ray", address) as process:
        assert process.stdout is not None
        for _ in range(5):
            assert process.stdout.readline()
        os.killpg(process.pid, sent)
        process.stdout.read()

        code = Exit.INTERRUPTED if sent == signal.SIGINT else Exit.TERMINATED
        assert process.wait() == code
        assert nothing_is_left(process.pid)
    until(lambda: not any(map(hands, sessions)))


def test_where_no_cluster_is_it_is_told() -> None:
    with pytest.raises(UsageError, match=r"--ray-address:1:1: no Ray cluster answers at '127"):
        list(Cluster(f"127.0.0.1:{free_port()}", perform).run(squares(1), LIMITS))


def test_a_node_that_is_lost_in_the_midst_loses_nothing(
    tmp_path: Path, cluster: tuple[str, int, int]
) -> None:
    """The last test of this module: it takes the cluster's second node away."""
    address, first, second = cluster
    store, asked = tmp_path / "store", ("slow", "150")
    with started(store, *asked, "--ray", address) as process:
        assert process.stdout is not None
        output = "".join(process.stdout.readline() for _ in range(10))
        until(lambda: hands(second) and hands(first))
        lose(second)
        done_before = len(ACKNOWLEDGED.findall(output))
        output += process.stdout.read()

        assert process.wait() == Exit.PROVED
        assert nothing_is_left(process.pid)
    assert done_before < 150
    assert len(ACKNOWLEDGED.findall(output)) == 150
    assert output.partition("[\n")[2] == whole(tmp_path / "whole", *asked)
