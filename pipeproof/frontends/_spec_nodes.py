"""The tree of a spec file: text, lists and mappings with their places, and what they may hold."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from pipeproof.errors import did_you_mean, printable
from pipeproof.ir.actions import LARGEST, whole_number
from pipeproof.ir.program import Piece
from pipeproof.ir.reading import Mistakes
from pipeproof.ir.schedule import Plain

__all__ = [
    "ALIAS",
    "Check",
    "Items",
    "Node",
    "Scalar",
    "Table",
    "any_of",
    "describe",
    "items",
    "keys",
    "number",
    "one_of",
    "pattern",
    "piece_of",
    "plain",
    "text",
    "wrong",
]


ALIAS = "*"


@dataclass(frozen=True, slots=True)
class Scalar:
    """Text; `style` is how YAML quotes it: nothing, `'`, `"`, `|` or `>`; or `ALIAS`."""

    text: str
    line: int
    column: int
    style: str = ""
    end_line: int = 0
    end_column: int = 0


@dataclass(frozen=True, slots=True)
class Items:
    """A list."""

    nodes: tuple["Node", ...]
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Table:
    """A mapping; no key stands twice."""

    entries: Mapping[str, "Node"]
    heads: Mapping[str, Scalar]
    line: int
    column: int


Node = Scalar | Items | Table
Check = Callable[[Node, Mistakes], bool]
"""Notes what is wrong with a node, and returns whether nothing is."""


def describe(node: Node) -> str:
    """Return what stands there, for a message."""
    match node:
        case Scalar(text="", style=""):
            return "nothing stands here"
        case Scalar():
            return f"{printable(node.text)} stands here"
        case Items():
            return "a list stands here"
        case Table():
            return "a mapping stands here"


def wrong(node: Node, mistakes: Mistakes, expected: str, found: str | None = None) -> bool:
    """Note that `node` is not what was expected; return False. An alias is wrong already."""
    if isinstance(node, Scalar) and node.style == ALIAS:
        return False
    mistakes.add(node.line, node.column, describe(node) if found is None else found, expected)
    return False


def plain(node: Node) -> Plain:
    """Return text, lists and mappings without their places."""
    match node:
        case Scalar():
            return node.text
        case Items():
            return tuple(plain(each) for each in node.nodes)
        case Table():
            return MappingProxyType({key: plain(each) for key, each in node.entries.items()})


def text(node: Node, mistakes: Mistakes) -> bool:
    """Check that text stands there."""
    if isinstance(node, Scalar) and node.text:
        return True
    return wrong(node, mistakes, "write text")


def number(least: int = 0) -> Check:
    """Return the check for a whole number that is at least `least`."""

    def check(node: Node, mistakes: Mistakes) -> bool:
        value = whole_number(node.text) if isinstance(node, Scalar) else None
        if value is not None and value >= least:
            return True
        return wrong(node, mistakes, f"write a whole number from {least} to {LARGEST}")

    return check


def one_of(*words: str) -> Check:
    """Return the check for one of `words`."""

    def check(node: Node, mistakes: Mistakes) -> bool:
        if isinstance(node, Scalar) and node.text in words:
            return True
        close = did_you_mean(node.text[:40], words) if isinstance(node, Scalar) else ""
        said = f"one of {', '.join(words)}" if len(words) > 1 else words[0]
        return wrong(node, mistakes, f"write {said}{close}")

    return check


def pattern(shape: str, expected: str) -> Check:
    """Return the check for text of a regular expression."""
    compiled = re.compile(shape)

    def check(node: Node, mistakes: Mistakes) -> bool:
        if isinstance(node, Scalar) and compiled.fullmatch(node.text):
            return True
        return wrong(node, mistakes, f"write {expected}")

    return check


def items(each: Check, *, least: int = 1, expected: str = "a list") -> Check:
    """Return the check for a list of at least `least`, all as `each` wants them."""

    def check(node: Node, mistakes: Mistakes) -> bool:
        if not isinstance(node, Items):
            return wrong(node, mistakes, f"write {expected}")
        if len(node.nodes) < least:
            return wrong(
                node, mistakes, f"write {expected}, not empty", "an empty list stands here"
            )
        right = [each(item, mistakes) for item in node.nodes]
        return all(right)

    return check


def any_of(scalar: Check, other: Check) -> Check:
    """Return the check for text as `scalar` wants it, or else a list or mapping as `other` does."""
    return lambda node, mistakes: (scalar if isinstance(node, Scalar) else other)(node, mistakes)


def keys(
    known: Mapping[str, Check], *, needs: Sequence[str] = (), hints: Mapping[str, str] | None = None
) -> Check:
    """Return the check for a mapping with `known` keys, `needs` among them."""

    def check(node: Node, mistakes: Mistakes) -> bool:
        if not isinstance(node, Table):
            return wrong(node, mistakes, f"write a mapping with {', '.join(known)}")
        right = [known[key](each, mistakes) for key, each in node.entries.items() if key in known]
        for key, head in node.heads.items():
            if key not in known:
                said = (hints or {}).get(key) or f"write one of {', '.join(known)}"
                expected = said + did_you_mean(key[:40], known)
                right.append(wrong(head, mistakes, expected, f"{printable(key)} is no key here"))
        for key in needs:
            if key not in node.entries:
                found = f"the key '{key}' is missing"
                right.append(wrong(node, mistakes, f"write {key}: here", found))
        return all(right)

    return check


_ESCAPE = re.compile(r"\\(?:x..|u....|U.{8}|.)|''|.", re.DOTALL)


def piece_of(scalar: Scalar, lines: Sequence[str]) -> Piece:
    """Return the text of a program with its place in the file that has these `lines`.

    Text whose lines are folded stands, as a whole, where it starts.
    """
    if scalar.style == "|":
        return _literal(scalar, lines)
    if scalar.end_line != scalar.line or scalar.style == ">":
        return Piece(scalar.text, scalar.line, scalar.column, (scalar.column,))
    if not scalar.style:
        return Piece(scalar.text, scalar.line, scalar.column)
    written = lines[scalar.line - 1][scalar.column : scalar.end_column - 2]
    if written == scalar.text:
        return Piece(scalar.text, scalar.line, scalar.column + 1)
    shown = _ESCAPE if scalar.style == '"' else re.compile("''|.")
    columns = [found.start() for found in shown.finditer(written)]
    starts = tuple(scalar.column + 1 + column for column in columns)
    return Piece(scalar.text, scalar.line, scalar.column, starts or (scalar.column,))


def _literal(scalar: Scalar, lines: Sequence[str]) -> Piece:
    """A block after `|`: its lines stand below, all indented alike."""
    for offset, line in enumerate(scalar.text.split("\n")):
        number = scalar.line + offset
        if line and number < len(lines):
            return Piece(scalar.text, scalar.line + 1, len(lines[number]) - len(line) + 1)
    return Piece(scalar.text, scalar.line, scalar.column, (scalar.column,))
