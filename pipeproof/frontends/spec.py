"""The spec language: one file is one schedule and what is assumed of its runtime, YAML or JSON.

Files are read from the events of the YAML parser: no anchors, aliases, tags, merge keys or
duplicate keys, no type that a key does not ask for, no recursion, no code.
"""

import re
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol

import yaml

from pipeproof.errors import InputError, ParseError, Problem, printable
from pipeproof.frontends._spec_build import build
from pipeproof.frontends._spec_nodes import ALIAS, Items, Node, Scalar, Table
from pipeproof.ir.reading import Mistakes, ReadOptions, check_characters, check_size
from pipeproof.ir.source import Document

__all__ = ["NAME", "read", "sniff", "tree"]

NAME = "spec"

_HEAD = re.compile(r"""(?:^|[{,])[ \t]*(['"]?)pipeproof\1[ \t]*:""", re.MULTILINE)
_BREAKS = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def sniff(head: str, name: str) -> bool:
    """Return whether `head`, the start of a file, looks like a mapping with the key `pipeproof`."""
    return _HEAD.search(head[:65536]) is not None


def read(text: str, name: str, options: ReadOptions) -> tuple[Document, ...]:
    """Read a spec file into its one schedule.

    Raises:
        ParseError: it does not parse; all mistakes at once where possible.
        MalformedScheduleError: keys contradict each other.
        LimitError: it exceeds `bytes`, `depth`, `ranks` or `instructions`.
        UsageError: the profile asked for does not exist.
        UnsupportedFeatureError: it uses what the language has and this version does not model.
    """
    mistakes = Mistakes(name)
    root = tree(text, mistakes, options)
    return build(root, _BREAKS.split(text), options, mistakes)


def tree(text: str, mistakes: Mistakes, options: ReadOptions) -> Node:
    """Return the root of a file in YAML or JSON, read as strictly as a spec.

    What is refused is added to `mistakes`.

    Raises:
        ParseError: it does not parse, or holds control characters.
        LimitError: it exceeds `bytes`, `depth` or `instructions`.
    """
    check_size(text, mistakes.file, "bytes", options)
    check_characters(text, mistakes.file)
    return _Tree(mistakes, options).read(text)


@dataclass(slots=True)
class _Open:
    """A list or mapping whose end has not come yet."""

    event: yaml.Event
    nodes: list[Node] = field(default_factory=list)


class _Tree:
    """Builds the tree of a file from events; everything that is refused is noted on the way."""

    def __init__(self, mistakes: Mistakes, options: ReadOptions) -> None:
        self._mistakes = mistakes
        self._options = options
        self._most = 2 * options.limit("instructions")
        self._open: list[_Open] = []
        self._nodes = 0
        self._documents = 0
        self._root: Node | None = None

    def read(self, text: str) -> Node:
        """Return the root of the tree.

        Raises:
            ParseError: `text` is no YAML, holds what is refused, or holds nothing.
            LimitError: it is too deep, or has too many nodes.
        """
        try:
            for event in yaml.parse(text, Loader=_LOADER):
                self._take(event)
        except yaml.YAMLError as error:
            raise self._unreadable(error) from None
        if self._root is None:
            self._mistakes.add(
                1, 1, "nothing stands in the file", "write pipeproof: 1 and a schedule"
            )
            self._mistakes.settle()
            self._root = Scalar("", 1, 1)
        return self._root

    def _take(self, event: yaml.Event) -> None:
        match event:
            case yaml.ScalarEvent() | yaml.CollectionStartEvent():
                self._start(event)
            case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                self._end()
            case yaml.AliasEvent():
                said = "aliases are refused; write the value out"
                self._wrong(event, f"an alias of {printable(event.anchor or '')} stands here", said)
                self._put(Scalar("", *_place(event.start_mark), ALIAS))
            case yaml.DocumentStartEvent():
                self._documents += 1
                if self._documents > 1:
                    self._wrong(event, "a second document starts here", "a file is one schedule")
            case _:
                return

    def _start(self, event: yaml.ScalarEvent | yaml.CollectionStartEvent) -> None:
        self._nodes += 1
        if self._nodes > self._most:
            raise self._exceeded(event, "instructions", "the file has too many values")
        if event.anchor is not None:
            self._wrong(event, "an anchor stands here", "anchors are refused; write values out")
        if event.tag is not None:
            found = f"the tag {printable(str(event.tag))} stands here"
            self._wrong(event, found, "tags are refused; a key asks for the type that it takes")
        if isinstance(event, yaml.ScalarEvent):
            end = _place(event.end_mark)
            style = event.style or ""
            self._put(Scalar(event.value, *_place(event.start_mark), style, *end))
            return
        self._open.append(_Open(event))
        if len(self._open) > self._options.limit("depth"):
            raise self._exceeded(event, "depth", "lists and mappings are nested too deep")

    def _end(self) -> None:
        closed = self._open.pop()
        line, column = _place(closed.event.start_mark)
        if isinstance(closed.event, yaml.MappingStartEvent):
            self._put(self._table(closed.nodes, line, column))
        else:
            self._put(Items(tuple(closed.nodes), line, column))

    def _table(self, nodes: list[Node], line: int, column: int) -> Table:
        entries: dict[str, Node] = {}
        heads: dict[str, Scalar] = {}
        for head, value in zip(nodes[::2], nodes[1::2], strict=True):
            if not isinstance(head, Scalar):
                self._mistakes.add(head.line, head.column, "a key is no text", "write a word")
            elif head.text in heads:
                first = heads[head.text]
                found = f"{printable(head.text)} stands here again"
                said = f"it stands at line {first.line}, column {first.column}; write a key once"
                self._mistakes.add(head.line, head.column, found, said)
            elif head.style != ALIAS:
                heads[head.text], entries[head.text] = head, value
        return Table(MappingProxyType(entries), MappingProxyType(heads), line, column)

    def _put(self, node: Node) -> None:
        if self._open:
            self._open[-1].nodes.append(node)
        elif self._root is None:
            self._root = node

    def _wrong(self, event: yaml.Event, found: str, expected: str) -> None:
        self._mistakes.add(*_place(event.start_mark), found, expected)

    def _exceeded(self, event: yaml.Event, limit: str, found: str) -> InputError:
        problem = Problem(self._mistakes.file, *_place(event.start_mark), found, "")
        return self._options.exceeded(problem, limit)

    def _unreadable(self, error: yaml.YAMLError) -> InputError:
        line, column, found = 1, 1, "this is no YAML"
        if isinstance(error, yaml.MarkedYAMLError):
            line, column = _place(error.problem_mark or error.context_mark)
            found = error.problem or error.context or found
        problem = Problem(self._mistakes.file, line, column, found, "write YAML or JSON")
        if "nesting" in found:  # the scanner runs ahead of its events
            return self._options.exceeded(problem._replace(expected=""), "depth")
        return ParseError([problem])


class _Mark(Protocol):
    """A place as the YAML parser gives it, from 0."""

    line: int
    column: int


def _place(mark: _Mark | None) -> tuple[int, int]:
    return (1, 1) if mark is None else (mark.line + 1, mark.column + 1)
