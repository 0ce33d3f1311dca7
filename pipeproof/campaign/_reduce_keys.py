"""The same schedule with less said: attributes, brackets, keys of the file."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from pipeproof.campaign._draft import Draft, Line, Tree
from pipeproof.campaign._reduce import tidy

__all__ = ["fewer_attributes", "fewer_keys"]

_DEMANDED = ("to", "from", "ranks", "by", "at", "have", "want")


def fewer_attributes(draft: Draft) -> Iterator[Draft]:
    """Yield the schedule without all attributes of one name, then without each one alone."""
    names = sorted({key for line in _lines(draft) for key in _keys(line)} - set(_DEMANDED))
    for name in names:
        yield _changed(draft, partial(_drop, key=name))
    lines = list(_lines(draft))
    for at, line in enumerate(lines):
        for name in _keys(line):
            if name not in _DEMANDED:
                yield _changed(draft, partial(_drop, key=name), only=at)
    for at, line in enumerate(lines):
        if line.form == "group" and len(line.operations) == 1:
            yield _changed(draft, _open, only=at)


def _lines(draft: Draft) -> Iterator[Line]:
    for program in draft.programs:
        yield from program


def _keys(line: Line) -> list[str]:
    inside = {key: None for each in line.operations for key in each.attributes}
    return list(inside | dict.fromkeys(line.attributes))


def _drop(line: Line, key: str) -> None:
    line.attributes.pop(key, None)
    for each in line.operations:
        each.attributes.pop(key, None)


def _open(line: Line) -> None:
    line.form = "one"
    line.first.attributes |= line.attributes
    line.attributes = {}


def _changed(draft: Draft, change: Callable[[Line], None], only: int | None = None) -> Draft:
    other = draft.copy()
    for at, line in enumerate(_lines(other)):
        if only is None or at == only:
            change(line)
    tidy(other)
    return other


def fewer_keys(draft: Draft) -> Iterator[Draft]:
    """Yield the schedule without each key of the file, and without each part of one."""
    if draft.base.profile != "none":
        other = draft.copy()
        other.base = replace(draft.base, profile="none")
        yield other
    if draft.reduce != "default":
        other = draft.copy()
        other.reduce = "default"
        yield other
    if draft.placement:
        other = draft.copy()
        other.placement = []
        yield other
    if draft.pipelines:
        other = draft.copy()
        other.pipelines = []
        yield other
    if draft.segments > 1:
        other = draft.copy()
        other.segments, other.microbatches = 1, draft.microbatches * draft.segments
        yield other
    for path in [*_paths(draft.described), *_paths(draft.gradients)]:
        if path[0] != "ready":
            yield _cut(draft, path)


_Path = tuple[str | int, ...]


def _paths(tree: Tree, above: _Path = ()) -> Iterator[_Path]:
    """Yield where something stands in a key that can be left out, the outer before the inner."""
    places: list[tuple[str | int, Tree]] = []
    if isinstance(tree, dict):
        places = list(tree.items())
    elif isinstance(tree, list) and all(not isinstance(each, str) for each in tree):
        places = list(enumerate(tree))
    for place, _ in places:
        yield (*above, place)
    for place, each in places:
        yield from _paths(each, (*above, place))


def _cut(draft: Draft, path: _Path) -> Draft:
    other = draft.copy()
    tree: Tree = other.described if path[0] in other.described else other.gradients
    for place in path[:-1]:
        if isinstance(tree, dict):
            tree = tree[str(place)]
        elif isinstance(tree, list):
            tree = tree[int(place)]
    if isinstance(tree, dict):
        del tree[str(path[-1])]
    elif isinstance(tree, list):
        del tree[int(path[-1])]
    return other
