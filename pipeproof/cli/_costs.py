"""How long operations take, by options of the command line."""

from collections.abc import Iterable
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

import click

from pipeproof.errors import printable
from pipeproof.ir.source import Document

if TYPE_CHECKING:
    from pipeproof.ir.schedule import Plain

__all__ = ["times_of", "with_costs"]


def times_of(written: Iterable[str], option: str) -> "dict[str, Plain]":
    """Return times by kind of operation, as `option` is given them.

    Raises:
        click.BadParameter: one is not written KIND=T[,T...], or is no time, or 0 for F or B.
    """
    from pipeproof.ir.costs import DEFAULT, read_time  # noqa: PLC0415  when needed

    found: dict[str, Plain] = {}
    for each in written:
        kind, sign, said = each.partition("=")
        times = tuple(said.split(","))
        try:
            ticks = [read_time(time) for time in times]
        except ValueError:
            ticks = []
        expected = ""
        if kind not in DEFAULT or not sign or kind in found or not ticks:
            expected = f"write each of {', '.join(DEFAULT)} once, as B=2 or F=1,1.5"
        elif kind in {"F", "B"} and not all(ticks):
            expected = f"every {kind} takes some time"
        if expected:
            message = f"{printable(each)}; {expected}"
            raise click.BadParameter(message, param_hint=option)
        found[kind] = times if len(times) > 1 else times[0]
    return found


def with_costs(document: Document, costs: "dict[str, Plain]", option: str) -> Document:
    """Return a schedule whose operations take as long as the command line says.

    Raises:
        click.BadParameter: a list of times is not as long as there are stages.
    """
    if not costs:
        return document
    schedule = document.schedule
    for kind, times in costs.items():
        if isinstance(times, tuple) and len(times) != schedule.stages:
            said = f"{len(times)} times of {kind}; write one for each of {schedule.stages} stages"
            raise click.BadParameter(said, param_hint=option)
    told = schedule.described.get("costs")
    kept = told if not isinstance(told, str | tuple) and told is not None else {}
    costs_ = MappingProxyType({**kept, **costs})
    described = MappingProxyType({**schedule.described, "costs": costs_})
    return replace(document, schedule=replace(schedule, described=described))
