"""A user's own schedule class as documents: a child process builds it and prints its orders."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

import click

from pipeproof.cli._output import printable_lines
from pipeproof.frontends import torch_csv
from pipeproof.ir.reading import ReadOptions
from pipeproof.ir.source import Document

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipeproof.ir.schedule import Plain

__all__ = ["own_schedule"]

_SECONDS = 120
_CHILD = "pipeproof.execution.torch_classes"
_NAME = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


def own_schedule(
    name: str,
    ranks: int,
    stages_per_rank: int | None,
    options: ReadOptions,
    costs: "Mapping[str, Plain] | None" = None,
) -> tuple[Document, ...]:
    """Return the schedule that `name`, a MODULE:NAME, makes of `microbatches` of `options`.

    Where there are `costs`, times by kind of operation, it is given them as `costs`.

    Raises:
        click.ClickException: it makes none.
        InputError: what it makes is no schedule.
    """
    if not _NAME.fullmatch(name):
        _refuse(name, "write MODULE:CLASS, as my_schedules:Mine")
    microbatches = options.microbatches or 1
    said = _said(name, (ranks, microbatches, stages_per_rank or 1), costs)
    rows = said.get("rows")
    if not isinstance(rows, list):
        _refuse(name, str(said.get("error", "the child process printed no order")))
    if len(rows) != ranks:
        _refuse(name, f"it has orders for {len(rows)} ranks, not for {ranks}")
    noted = said.get("notes")
    notes = [str(each) for each in noted] if isinstance(noted, list) else []
    stages, profile = said.get("stages"), said.get("profile")
    if not isinstance(stages, int):
        stages = None if stages_per_rank is None else ranks * stages_per_rank
    known = replace(
        options,
        stages=options.stages or stages,
        profile=options.profile or (str(profile) if profile else None),
    )
    return torch_csv.read_rows_of(rows, name, known, notes)


def _said(
    name: str, numbers: tuple[int, int, int], costs: "Mapping[str, Plain] | None"
) -> dict[str, object]:
    argv = [sys.executable, "-m", _CHILD, name, *map(str, numbers)]
    argv += [json.dumps(dict(costs))] if costs else []
    environ = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    try:
        done = subprocess.run(  # noqa: S603  the caller's own module, in our interpreter
            argv, capture_output=True, check=False, timeout=_SECONDS, env=environ, text=True
        )
    except subprocess.TimeoutExpired:
        _refuse(name, f"it was not built within {_SECONDS} seconds")
    try:
        said = json.loads(done.stdout)
    except ValueError:
        _refuse(name, f"the child process ended with code {done.returncode} and printed no order")
    return said if isinstance(said, dict) else {}


def _refuse(name: str, why: str) -> NoReturn:
    said = printable_lines(f"--object {name}: {why}").replace("\n", " ")
    raise click.ClickException(said)
