"""Bugs on purpose: a copy of the package with one of them, and whether `hunt --self` finds it.

python -m tests.campaign.broken [NAME...]

prints a row a bug: who finds it first, in which case, after how many.
"""

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

__all__ = ["BUGS", "PACKAGE", "Bug", "Caught", "caught", "seeded"]

PACKAGE = Path(__file__).parents[2] / "pipeproof"
CASES, BLOCK = 800, 40
_MOVING = "semantics/relations/moving.py"


@dataclass(frozen=True)
class Bug:
    """A bug: in a file of the package, a text that stands there once becomes another."""

    name: str
    what: str
    file: str
    right: str
    wrong: str


BUGS = (
    Bug(
        "drained-arrived",
        "a message may arrive before it is drained",
        _MOVING,
        "        _pairs(frame.drained(number), frame.arrived(number)),\n",
        "",
    ),
    Bug(
        "queue-order",
        "queues order nothing",
        _MOVING,
        "    return Edges(pairs, gates=gates)\n",
        "    return Edges(pairs[:0], gates=gates)\n",
    ),
    Bug(
        "credit-threshold",
        "a count of credits is taken as an edge",
        _MOVING,
        "        if capacity == 1 or _in_order(frame, line):\n",
        "        if len(line) or _in_order(frame, line):\n",
    ),
    Bug(
        "wait",
        "a WAIT waits for nothing",
        _MOVING,
        "    return Edges(_pairs(frame.completed(rows), moments))\n",
        "    return Edges(_pairs(frame.completed(rows), moments)[:0])\n",
    ),
    Bug(
        "group",
        "an atomic group moves without having been posted as a whole",
        _MOVING,
        "        _pairs(frame.start(pairing.receive[received]), gate[received]),\n",
        "",
    ),
    Bug(
        "collective",
        "a collective is left before all have entered",
        "semantics/relations/running.py",
        "        pairs.append(np.stack((starts, np.full(len(starts), gate)), axis=1))\n",
        "",
    ),
    Bug(
        "buffered-sends",
        "a send is buffered where it meets its receive",
        _MOVING,
        "    return Edges(_pairs(frame.start(frame.pairing.receive[received]), "
        "frame.drained(received)))\n",
        "    return Edges(_pairs(received[:0], received[:0]))\n",
    ),
    Bug(
        "weights-ignored",
        "nobody misses a W",
        "semantics/relations/identity.py",
        '    lacking = [("I", without(split, first)), ("W", without(split, second))]\n',
        '    lacking = [("I", without(split, first))]\n',
    ),
    Bug(
        "sets-for-counts",
        "what stands twice counts once",
        "semantics/relations/duplicates.py",
        "    second = set(rows[twice > 0].tolist())",
        "    second = set(rows[twice > len(rows)].tolist())",
    ),
    Bug(
        "free-reads",
        "a FREE is taken as a read",
        "lowering/storage.py",
        '                _part(Touch.FREE, self.named["storage"][frees], frees,',
        '                _part(Touch.READ, self.named["storage"][frees], frees,',
    ),
)


@dataclass(frozen=True)
class Caught:
    """The first case that shows a bug: its kind and seed, who says so, and how many it took."""

    drawn: str
    seed: int
    who: str
    cases: int


def seeded(bug: Bug, folder: Path) -> Path:
    """Write a copy of the package with a bug to a folder, and return the folder."""
    shutil.copytree(PACKAGE, folder / "pipeproof", ignore=shutil.ignore_patterns("__pycache__"))
    file = folder / "pipeproof" / bug.file
    text = file.read_text(encoding="utf-8")
    assert text.count(bug.right) == 1, (bug.name, text.count(bug.right))
    file.write_text(text.replace(bug.right, bug.wrong), encoding="utf-8")
    return folder


def hunted(folder: Path, cases: int) -> list[tuple[str, int, str]]:
    """Hunt with the package in a folder; return kind, seed and finder of what is found, in order.

    The cases come from 0 on; the campaign is gone on with where it stands already.
    """
    store = folder / f"{cases}.db"
    argv = ("hunt", "--self", "--cases", str(cases), "--torch", "0", "--workers", "1")
    done = subprocess.run(  # noqa: S603  our own interpreter
        [sys.executable, "-m", "pipeproof", *argv, "--store", str(store), "-o", os.devnull],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.returncode in {0, 4}, done.stderr
    with sqlite3.connect(store) as db:
        rows = db.execute(
            "SELECT json_extract(body, '$.draw'), json_extract(body, '$.seed'), "
            "json_extract(answer, '$.find') FROM ended "
            "WHERE json_extract(answer, '$.find') IS NOT NULL ORDER BY 2"
        ).fetchall()
    return [(str(drawn), int(seed), str(who)) for drawn, seed, who in rows]


def caught(bug: Bug | None, most: int = CASES) -> Caught | None:
    """Return the first case that shows a bug; None where so many cases show none."""
    with tempfile.TemporaryDirectory(prefix="pipeproof-broken-") as name:
        folder = Path(name)
        if bug is not None:
            seeded(bug, folder)
        cases = BLOCK
        while cases <= most:
            found = hunted(folder, cases)
            if found:
                drawn, seed, who = found[0]
                return Caught(drawn, seed, who, seed + 1)
            cases *= 2
    return None


def row(bug: Bug, found: Caught | None) -> str:
    """Return a row of the table."""
    said = "not found | | |"
    if found is not None:
        said = f"{found.cases} | {found.drawn} | {found.seed} | {found.who}"
    return f"| {bug.name} | {bug.what} | {said} |\n"


def main(names: list[str]) -> int:
    """Print the table; return 1 where a bug is not found."""
    sys.stdout.write("| bug | what is wrong | cases | first | seed | found by |\n")
    sys.stdout.write("|---|---|---|---|---|---|\n")
    missed = 0
    for bug in BUGS:
        if not names or bug.name in names:
            found = caught(bug)
            missed += found is None
            sys.stdout.write(row(bug, found))
            sys.stdout.flush()
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
