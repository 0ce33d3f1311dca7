"""A small campaign as a process of its own: python -m tests.campaign.driven STORE KIND COUNT.

A line `began`, a line for each task that the store has acknowledged, and at the end the report.
"""

import argparse
import json
import resource
import sys
from collections.abc import Sequence
from pathlib import Path

from pipeproof.campaign._inline import Inline
from pipeproof.campaign._local import Local
from pipeproof.campaign._ray import Cluster
from pipeproof.campaign.campaign import Shard, campaign
from pipeproof.campaign.executor import Ended, Executor, Limits, Perform
from pipeproof.campaign.store import Store
from pipeproof.campaign.task import Task, canonical
from pipeproof.campaign.work import perform as by_kind
from pipeproof.cli._exits import Exit, TerminatedError, stop_on_sigterm
from pipeproof.errors import InputError
from tests.campaign import kinds

__all__ = ["judging", "report", "tasks_of"]

SPEC = "pipeproof: 1\nmicrobatches: {}\ntransport: [rendezvous, buffered]\nranks:\n  - {}\n"


def judging(count: int) -> list[Task]:
    """Tasks that judge schedules: legal ones, and those with a backward that never comes."""
    return [Task("judge", {"text": _spec(number)}) for number in range(count)]


def _spec(number: int) -> str:
    microbatches = 2 + number // 2
    actions = [f"0F{m}" for m in range(microbatches)]
    actions += [f"0B{m}" for m in range(number % 2, microbatches)]
    return SPEC.format(microbatches, "; ".join(actions))


def tasks_of(kind: str, count: int) -> tuple[list[Task], Perform]:
    """A list of tasks, and what does them."""
    if kind == "judge":
        return judging(count), by_kind
    return [kinds.task(kind, 5 + number) for number in range(count)], kinds.perform


def report(store: Store) -> str:
    """All that a store says, as text."""
    rows = [
        [row.key, row.ended.outcome, json.loads(canonical(row.ended.answer or {})), row.ended.why]
        for row in store.rows()
    ]
    return json.dumps([dict(store.campaign), rows], sort_keys=True, indent=1) + store.digest()


class Printing:
    """Prints what the store has acknowledged, at once."""

    def begins(self, tasks: int, done: int) -> None:
        print(f"began {tasks} {done}", flush=True)  # noqa: T201

    def ended(self, ended: Ended) -> None:
        print(f"acknowledged {ended.task.key} {ended.outcome}", flush=True)  # noqa: T201


def _run(asked: argparse.Namespace) -> Exit:
    tasks, perform = tasks_of(asked.kind, asked.count)
    executor: Executor = Local(asked.workers, perform) if asked.workers else Inline(perform)
    if asked.ray:
        executor = Cluster(asked.ray, perform)
    shard = Shard(*map(int, asked.shard.split("/")))
    with Store.open(asked.store, {"kind": asked.kind, "count": asked.count}) as store:
        ran = campaign(tasks, store, executor, Limits(30.0, 1 << 30), shard, Printing())
        text = report(store)
    print(text, flush=True)  # noqa: T201
    return Exit.UNKNOWN if ran.missing else Exit.PROVED


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("store", type=Path)
    parser.add_argument("kind")
    parser.add_argument("count", type=int)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--ray")
    parser.add_argument("--shard", default="1/1")
    parser.add_argument("--disk", type=int, help="bytes that a file may have")
    asked = parser.parse_args(argv)
    stop_on_sigterm()
    if asked.disk:
        resource.setrlimit(resource.RLIMIT_FSIZE, (asked.disk, resource.RLIM_INFINITY))
    try:
        return _run(asked)
    except InputError as error:
        print(error, file=sys.stderr)  # noqa: T201
        return Exit.INPUT
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except TerminatedError:
        return Exit.TERMINATED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
