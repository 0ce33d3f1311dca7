"""From the options of `pipeproof hunt` to what is hunted in."""

import re
from dataclasses import replace
from importlib.util import find_spec
from itertools import product
from typing import TYPE_CHECKING, NoReturn

import click

from pipeproof.cli._budget import effort
from pipeproof.cli._costs import times_of, with_costs
from pipeproof.cli._hunt_options import Hunting
from pipeproof.cli._options import own_options
from pipeproof.errors import InputError, UnsupportedFeatureError, did_you_mean, printable
from pipeproof.ir.reading import LOWERINGS, ReadOptions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeproof.campaign.targets.generator import Point
    from pipeproof.campaign.targets.target import Target
    from pipeproof.ir.source import Document

__all__ = ["target_of"]

_TORCH = 25  # every which case is run on tensors, too
_ALL = "torch"
"""The generator that stands for every known schedule: they are torch's."""

_OF_TORCH = ("torch", "torch-deferred")
_LIST = re.compile(r"[1-9]\d{0,4}(-[1-9]\d{0,4})?(,[1-9]\d{0,4}(-[1-9]\d{0,4})?)*")
_POINTS = 100_000  # of a grid, at most


def target_of(values: Hunting) -> "Target":
    """Return what the campaign hunts in.

    Raises:
        click.UsageError: it is not said, or said twice.
        InputError: a file is no schedule, or there is no such schedule.
    """
    asked = {
        "FILE...": bool(values["paths"]),
        "--schedule": values["schedule"] is not None,
        "--generator": values["generator"] is not None,
        "--self": values["itself"],
    }
    if sum(asked.values()) != 1:
        said = f"Write one of {', '.join(asked)}; or hunt merge STORE... -o STORE."
        raise click.UsageError(said)
    _check_names(values)
    if values["itself"]:
        return _itself(values)
    if values["generator"] is not None:
        return _grid(values, values["generator"])
    return _around(values)


def _check_names(values: Hunting) -> None:
    from pipeproof.campaign.mutate import mutations  # noqa: PLC0415  imported when needed
    from pipeproof.ir.transport import names  # noqa: PLC0415

    for option, known in (
        ("transport", names()),
        ("lowering", tuple(LOWERINGS)),
        ("mutation", mutations()),
    ):
        words = {"transport": values["transport"], "lowering": values["lowering"]}
        for word in words.get(option, values["mutation"]):
            if word not in known:
                listed = ", ".join(known)
                close = did_you_mean(word, known)
                _refuse(f"--{option}", f"{printable(word)}; known: {listed}{close}")


def _itself(values: Hunting) -> "Target":
    from pipeproof.campaign.targets.itself import RLIMIT, STATES, Itself  # noqa: PLC0415

    given, torch = effort(values["budget"]), values["torch"]
    if torch is None:
        torch = 0 if find_spec("torch") is None else _TORCH
    elif torch:
        _needs_torch("--torch")
    states, rlimit = given.states or STATES, given.rlimit or RLIMIT
    return Itself(values["cases"], values["seed"], torch, states, rlimit)


def _needs_torch(option: str) -> None:
    if find_spec("torch") is None:
        _refuse(option, "torch is not installed: pip install 'pipeproof[torch]'")


def _numbers(option: str, written: str | None) -> list[int]:
    """Return the numbers of a list, as 2-4,8; those of what nobody wrote are none.

    Raises:
        click.BadParameter: it is no such list.
    """
    if written is None:
        return []
    if not (written.isascii() and _LIST.fullmatch(written)):
        _refuse(option, f"{printable(written)}; write whole numbers from 1, as 2 or 2-4,8")
    found: set[int] = set()
    for part in written.split(","):
        low, _, high = part.partition("-")
        found.update(range(int(low), int(high or low) + 1))
    if not found:
        _refuse(option, f"{printable(written)}; a range goes from the smaller number on")
    return sorted(found)


def _sizes(values: Hunting) -> list[tuple[int, int, int | None]]:
    """Return ranks, microbatches and stages a rank of each point of a grid.

    Raises:
        click.UsageError: ranks or microbatches are not said, or there are too many points.
    """
    ranks = _numbers("--ranks", values["ranks"])
    microbatches = _numbers("--microbatches", values["microbatches"])
    per_rank = _numbers("--stages-per-rank", values["stages_per_rank"])
    if not ranks or not microbatches:
        said = "Write --ranks and --microbatches: they are the size of the schedule."
        raise click.UsageError(said)
    points = len(ranks) * len(microbatches) * max(len(per_rank), 1) * max(len(values["costs"]), 1)
    if points > _POINTS:
        said = f"The grid has more than {_POINTS} points."
        raise click.UsageError(said)
    own: list[int | None] = [*per_rank] or [None]
    return [(r, m, v) for r in ranks for m in microbatches for v in own]


def _grid(values: Hunting, name: str) -> "Target":
    from pipeproof.campaign.targets.generator import STATES, Grid  # noqa: PLC0415

    if values["costs"] and ":" not in name:
        _refuse("--costs", "a known schedule is the same for all costs; hunt in MODULE:FUNCTION")
    points = _own(values, name) if ":" in name else _known(values, name)
    made = tuple(points)
    states = effort(values["budget"]).states or STATES
    return Grid(made, values["transport"], states)


def _known(values: Hunting, name: str) -> "Iterator[Point]":
    """Yield known schedules over the grid; one whose stages a rank are its own at those only.

    Raises:
        click.BadParameter: there is no such schedule.
    """
    from pipeproof.campaign.targets.generator import Point, known_text  # noqa: PLC0415
    from pipeproof.schedules import names  # noqa: PLC0415

    known = names()
    if name != _ALL and name not in known:
        close = did_you_mean(name, known)
        said = f"MODULE:FUNCTION, {_ALL} for all that is known, or one of {', '.join(known)}"
        _refuse("--generator", f"{printable(name)}; write {said}{close}")
    options = own_options(values["option"])
    for each, lowering, size in product(
        known if name == _ALL else (name,), values["lowering"] or _OF_TORCH, _sizes(values)
    ):
        ranks, microbatches, per_rank = size
        of = {"name": each, "ranks": str(ranks), "microbatches": str(microbatches)}
        of |= {"lowering": lowering, **({} if per_rank is None else {"per-rank": str(per_rank)})}
        if options:
            of["option"] = ",".join(f"{key}={value}" for key, value in sorted(options.items()))
        yield Point(of, known_text(each, size, lowering, options))


def _own(values: Hunting, name: str) -> "Iterator[Point]":
    """Yield what a function of the caller's makes over the grid; where it refuses, why.

    Raises:
        click.ClickException: it makes nothing at any point.
    """
    from pipeproof.campaign.targets.generator import Point  # noqa: PLC0415  imported when needed
    from pipeproof.cli._object import own_schedule  # noqa: PLC0415

    refused, made = None, 0
    times = [(each, times_of(each.split(), "--costs")) for each in values["costs"]] or [("", {})]
    for (ranks, microbatches, per_rank), (said, costs) in product(_sizes(values), times):
        of = {"name": name, "ranks": str(ranks), "microbatches": str(microbatches)}
        of |= {} if per_rank is None else {"per-rank": str(per_rank)}
        of |= {"costs": " ".join(said.split())} if said else {}
        options = ReadOptions(microbatches=microbatches)
        try:
            documents = own_schedule(name, ranks, per_rank, options, costs)
        except (click.ClickException, InputError) as error:
            refused = refused or error
            why = error.message if isinstance(error, click.ClickException) else str(error)
            yield Point({**of, "lowering": "none"}, f"# {' '.join(why.split())}\n")
            continue
        for document in documents:
            made += 1
            for lowering in _lowerings(values, document):
                lowered = _lowered(with_costs(document, costs, "--costs"), lowering)
                yield Point({**of, "lowering": lowering}, _text(lowered))
    if refused is not None and not made:
        raise refused


def _text(document: "Document") -> str:
    """Return a schedule as written; where it cannot be, a comment that says why."""
    from pipeproof.campaign.mutate import written_out  # noqa: PLC0415  imported when needed
    from pipeproof.ir.spec_text import write_spec  # noqa: PLC0415

    try:
        return write_spec(written_out(document), None)
    except (InputError, UnsupportedFeatureError) as error:
        return f"# {' '.join(str(error).split())}\n"


def _lowerings(values: Hunting, document: "Document") -> tuple[str, ...]:
    """Return how messages are made; an order that has them stays as it is written."""
    if document.schedule.lowering == "as-written":
        return ("as-written",)
    return values["lowering"] or _OF_TORCH


def _lowered(document: "Document", lowering: str) -> "Document":
    if lowering == "as-written":
        return document
    return replace(document, schedule=replace(document.schedule, lowering=LOWERINGS[lowering]))


def _around(values: Hunting) -> "Target":
    from pipeproof.campaign.targets.schedule import RLIMIT, STATES, Around  # noqa: PLC0415

    if values["check"] == "torch":
        _needs_torch("--check")
    given = effort(values["budget"])
    if values["schedule"] is not None:
        bases, beside = _named(values, values["schedule"])
    else:
        bases, beside = tuple(_files(values)), ()
    return Around(
        bases=bases,
        beside=beside,
        mutants=values["mutants"],
        seed=values["seed"],
        mutations=values["mutation"],
        transports=values["transport"],
        torch=values["torch"] != 0 and find_spec("torch") is not None,
        blames=values["check"] == "torch",
        states=given.states or STATES,
        rlimit=given.rlimit or RLIMIT,
    )


def _named(values: Hunting, name: str) -> "tuple[tuple[Point, ...], tuple[Point, ...]]":
    """Return a known schedule, and the configurations beside it.

    Raises:
        click.UsageError: its size is not one.
    """
    from pipeproof.campaign.targets.generator import Point, known_text  # noqa: PLC0415

    sizes, options = _sizes(values), own_options(values["option"])
    if len(sizes) != 1 or len(values["lowering"]) > 1:
        said = "With --schedule write one size and one --lowering; --generator takes several."
        raise click.UsageError(said)
    ranks, microbatches, per_rank = sizes[0]
    lowering = values["lowering"][0] if values["lowering"] else "torch"
    base = known_text(name, sizes[0], lowering, options)
    label = f"{name} {ranks}x{microbatches}"
    beside = [
        (r, m, other)
        for r in (ranks - 1, ranks, ranks + 1)
        for m in (microbatches - 1, microbatches, microbatches + 1)
        for other in _OF_TORCH
        if r > 0 and m > 0 and (r, m, other) != (ranks, microbatches, lowering)
    ]
    points = tuple(
        Point(
            {"name": name, "lowering": other, "ranks": str(r), "microbatches": str(m)},
            known_text(name, (r, m, per_rank), other, options),
        )
        for r, m, other in beside
    )
    return (Point({"name": label, "is": "base"}, base),), points


def _files(values: Hunting) -> "Iterator[Point]":
    """Yield the schedules of files as written, without what they expect.

    Raises:
        click.UsageError: the size of a file is said.
        InputError: one is no schedule.
    """
    from pipeproof.campaign.mutate import written_out  # noqa: PLC0415  imported when needed
    from pipeproof.campaign.targets.generator import Point  # noqa: PLC0415
    from pipeproof.cli._inputs import expand, load  # noqa: PLC0415
    from pipeproof.ir.spec_text import write_spec  # noqa: PLC0415
    from pipeproof.schedules import generate  # noqa: PLC0415

    if values["ranks"] or values["microbatches"] or values["stages_per_rank"] or values["option"]:
        said = "The size of a schedule goes with --schedule or --generator, not with a FILE."
        raise click.UsageError(said)
    for source in expand(values["paths"]):
        loaded = load(source, ReadOptions(generate=generate))
        for document in () if loaded is None else loaded.documents:
            made = replace(written_out(document), expect=())
            yield Point({"name": document.name, "is": "base"}, write_spec(made, None))


def _refuse(option: str, said: str) -> NoReturn:
    raise click.BadParameter(said, param_hint=option)
