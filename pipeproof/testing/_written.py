"""Schedules with their verdict, written by hand: what each is made of."""

import json
from typing import NamedTuple

__all__ = ["Json", "Written", "written"]

Json = str | int | list["Json"] | dict[str, "Json"]


class Written(NamedTuple):
    """A schedule under one transport, and what it shows.

    `told` lists the violations, first first: code and places, as `PP202 r0.1 r1.0, PP105`.
    """

    name: str
    told: str
    text: str


def written(name: str, told: str, *ranks: str, **keys: Json) -> Written:
    """Return a schedule of one microbatch, under rendezvous where nothing else is said."""
    spec = {"pipeproof": 1, "microbatches": 1, "transport": "rendezvous", **keys}
    return Written(name, told, json.dumps({**spec, "ranks": list(ranks)}, indent=1))
