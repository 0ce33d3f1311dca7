"""What running tasks on workers costs, what a killed worker costs, and what a store takes.

Run as `python tests/benchmarks/bench_campaign.py`. The best of three runs each; it prints a table.
The pool of the standard library stands beside ours with the same two workers.
"""

import multiprocessing
import platform
import sqlite3
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from importlib import import_module
from pathlib import Path

from pipeproof.campaign._inline import Inline
from pipeproof.campaign._local import Local
from pipeproof.campaign.executor import Ended, Limits
from pipeproof.campaign.store import Store
from pipeproof.campaign.task import Task
from tests.campaign.driven import judging
from tests.campaign.kinds import perform, squares, task

RUNS = 3
WORKERS = 2
TASKS = 1000
ROWS = 10_000
LIMITS = Limits(30.0, 1 << 30)
MODULES = ["pipeproof.campaign._local", "pipeproof.campaign.judged"]


def best(work: Callable[[], object]) -> float:
    """Return the seconds of the fastest run."""
    found = []
    for _ in range(RUNS):
        began = time.perf_counter()
        work()
        found.append(time.perf_counter() - began)
    return min(found)


def ours(tasks: Sequence[Task]) -> int:
    """Return how many tasks have an answer."""
    return sum(e.outcome == "done" for e in Local(WORKERS, perform).run(tasks, LIMITS))


def standard(tasks: Sequence[Task]) -> int:
    """Return how many tasks have an answer."""
    kept = 0
    with ProcessPoolExecutor(WORKERS, multiprocessing.get_context("forkserver")) as pool:
        for each in as_completed([pool.submit(perform, one) for one in tasks]):
            try:
                each.result()
                kept += 1
            except BrokenProcessPool:
                continue
    return kept


def start(method: str) -> None:
    """Start a worker that holds what judging needs, and end it."""
    context = multiprocessing.get_context(method)
    process = context.Process(target=_judging)  # type: ignore[attr-defined]  # not of the base
    process.start()
    process.join()


def _judging() -> None:
    import_module("pipeproof.campaign.judged")


def fill(path: Path, rows: int, synchronous: str) -> None:
    """Put so many rows, each acknowledged."""
    path.unlink(missing_ok=True)
    with Store.open(path, {"n": rows}) as store:
        store._db.execute(f"PRAGMA synchronous = {synchronous}")
        for each in squares(rows):
            store.put(Ended(each, "done", {"squared": 1}, ""))


def opened(path: Path) -> None:
    """Open a store, which looks at each row."""
    Store.existing(path).close()


def main() -> None:
    """Print the table."""
    print(f"{platform.system()}, Python {platform.python_version()}, {sqlite3.sqlite_version}")
    multiprocessing.get_context("forkserver").set_forkserver_preload(MODULES)
    small, judged = squares(TASKS), judging(TASKS // 20)
    lethal = [*small[:250], task("kill"), *small[250:]]
    inline = best(lambda: list(Inline(perform).run(small, LIMITS)))
    print(f"a small task, here:                {1e6 * inline / TASKS:8.0f} us")
    print(f"... on two workers:                {1e6 * best(lambda: ours(small)) / TASKS:8.0f} us")
    print(
        f"... standard library's pool:       {1e6 * best(lambda: standard(small)) / TASKS:8.0f} us"
    )
    print(f"kept of {TASKS} when one kills its worker: {ours(lethal)}, standard {standard(lethal)}")
    here = best(lambda: list(Inline().run(judged, LIMITS)))
    print(f"judging a small schedule, here:    {1e3 * here / len(judged):8.2f} ms")
    there = best(lambda: list(Local(WORKERS).run(judged, LIMITS)))
    print(f"... on two workers:                {1e3 * there / len(judged):8.2f} ms")
    start("forkserver")
    print(f"a new worker, forked from a server:{1e3 * best(lambda: start('forkserver')):8.0f} ms")
    print(f"... started anew:                  {1e3 * best(lambda: start('spawn')):8.0f} ms")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store"
        full = best(lambda: fill(path, ROWS // 20, "FULL"))
        print(f"a row, synchronous FULL:           {20e6 * full / ROWS:8.0f} us")
        normal = best(lambda: fill(path, ROWS, "NORMAL"))
        print(f"... NORMAL, as it is:              {1e6 * normal / ROWS:8.0f} us")
        print(f"opening {ROWS:,} rows:             {best(lambda: opened(path)):8.2f} s")
        print(f"... which take                     {path.stat().st_size / 1e6:8.1f} MB")


if __name__ == "__main__":
    main()
