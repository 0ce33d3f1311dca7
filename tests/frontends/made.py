"""Spec files that a test writes out, and what is wrong with them."""

import pytest

from pipeproof.errors import InputError, ParseError
from pipeproof.frontends import spec
from pipeproof.ir.reading import ReadOptions
from pipeproof.ir.schedule import Schedule
from pipeproof.ir.source import Document

HEAD = "pipeproof: 1\nmicrobatches: 2\n"
RANKS = "ranks: [0F0, 1F0]\n"


def read(text: str, options: ReadOptions | None = None) -> Document:
    (document,) = spec.read(text, "a.yaml", ReadOptions() if options is None else options)
    return document


def schedule(more: str = "", options: ReadOptions | None = None) -> Schedule:
    """Read a file of two ranks, two stages and two microbatches with `more` keys."""
    return read(f"{HEAD}{RANKS}{more}", options).schedule


def wrong(text: str, kind: type[InputError] = ParseError) -> tuple[str, ...]:
    """Return what is wrong with a file, each as `line:column: found; expected`."""
    with pytest.raises(kind) as caught:
        read(text)
    assert type(caught.value) is kind
    return tuple(str(problem).removeprefix("a.yaml:") for problem in caught.value.problems)


def wrong_keys(more: str, kind: type[InputError] = ParseError) -> tuple[str, ...]:
    return wrong(f"{HEAD}{RANKS}{more}", kind)


def programs(document: Document) -> list[list[str]]:
    ranks = range(document.schedule.ranks)
    return [list(document.schedule.operations.program(rank)) for rank in ranks]
