"""The data of a page, taken out of it again, and whether every number in it points somewhere."""

import json
import re
import zlib
from base64 import b64decode
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from itertools import accumulate, pairwise

_DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)
_COLUMNS = (
    *("rank", "position", "kind", "text", "stage", "microbatch"),
    *("line", "column", "lane", "group"),
)


class Node:
    """A value of the data; columns and lists of texts are unpacked when they are asked for."""

    def __init__(self, value: object) -> None:
        self.value = value

    def __getitem__(self, key: str | int) -> "Node":
        if isinstance(key, int):
            assert isinstance(self.value, list)
            return Node(self.value[key])
        assert isinstance(self.value, Mapping)
        return Node(self.value[key])

    def __contains__(self, key: str) -> bool:
        return isinstance(self.value, Mapping) and key in self.value

    def __iter__(self) -> "Iterator[Node]":
        return iter([Node(each) for each in self.all()])

    def __len__(self) -> int:
        return len(self.all())

    def is_nothing(self) -> bool:
        return self.value is None

    def all(self) -> list[object]:
        """Every entry of a list, packed or not."""
        if isinstance(self.value, Mapping):
            found = _unpacked(self.value)
            assert len(found) == self.value["n"]
            return found
        assert isinstance(self.value, list)
        return self.value

    def ints(self) -> list[int]:
        found = self.all()
        assert all(type(each) is int for each in found)
        return [each for each in found if isinstance(each, int)]

    def texts(self) -> list[str]:
        found = self.all()
        assert all(type(each) is str for each in found)
        return [each for each in found if isinstance(each, str)]

    @property
    def text(self) -> str:
        assert isinstance(self.value, str)
        return self.value

    @property
    def number(self) -> int:
        assert isinstance(self.value, int)
        return self.value


def _unpacked(packed: Mapping[str, object]) -> list[object]:
    if "t" in packed:
        found = json.loads(zlib.decompress(b64decode(str(packed["t"]))))
        assert isinstance(found, list)
        return found
    held = zlib.decompress(b64decode(str(packed["z"])))
    values = [
        int.from_bytes(held[k : k + 4], "little", signed=True) for k in range(0, len(held), 4)
    ]
    return [*accumulate(values)] if packed.get("d") == 1 else [*values]


def data_of(page: str) -> Node:
    """Return the data of a page, once it is known that nothing of a file can act in it."""
    found = _DATA.findall(page)
    assert len(found) == 1
    assert not set("<>&\u2028\u2029") & set(found[0])
    return Node(json.loads(found[0]))


class Elements(HTMLParser):
    """The elements of a page and their attributes, in order, and its text outside of scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, tuple[tuple[str, str | None], ...]]] = []
        self.said: list[str] = []
        self._inside = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, tuple(attrs)))
        self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside not in ("script", "style"):
            self.said.append(data)


def text_of(grid: Node, op: int) -> str:
    """Return an operation as a page writes it."""
    text = grid["text"].ints()[op]
    if text >= 0:
        return grid["texts"].texts()[text]
    parts = grid["stage"].ints()[op], grid["microbatch"].ints()[op]
    stage, microbatch = (str(each) if each >= 0 else "" for each in parts)
    return f"{stage}{grid['kinds'].texts()[grid['kind'].ints()[op]]}{microbatch}"


def validate(data: Node) -> None:
    """Assert that data is made as the page reads it: every index in range, nothing missing."""
    assert data["schema"].text == "pipeproof.page/1"
    assert data["verdict"].text in ("proved", "refuted", "unknown", "error")
    for file in data["files"]:
        assert {"path", "title", "facts", "notes", "errors"} <= {*_keys(file)}
        views: list[Node] = []
        for view in file["views"]:
            views.append(view)
            _view(view, views)
        names = [view["transport"].text for view in views]
        assert len(names) == len(set(names))


def _keys(node: Node) -> list[str]:
    assert isinstance(node.value, Mapping)
    return list(node.value)


def grid_of(view: Node, views: "list[Node]") -> Node | None:
    grid = view["grid"]
    if grid.is_nothing():
        return None
    if "same" in grid:
        grid = views[grid["same"].number]["grid"]
        assert "same" not in grid
    return grid


def _view(view: Node, views: list[Node]) -> None:
    grid = grid_of(view, views)
    assert (view["no_grid"].value is None) == (grid is not None)
    size = 0 if grid is None else len(grid["rank"])
    ranks = 0 if grid is None else grid["ranks"].number
    if grid is not None:
        assert len(view["layouts"]) > 0
        _grid(grid, size)
    for layout in view["layouts"]:
        _layout(layout, size)
    for violation in view["violations"]:
        _violation(violation, len(view["layouts"]), size, ranks)
    if view["violations"].all():
        assert [each["first"].value for each in view["violations"]].count(True) <= 1
    _steps(view["steps"], size, ranks)
    assert view["steps"].is_nothing() or not view["violations"].all()


def _grid(grid: Node, size: int) -> None:
    optional = [key for key in ("written", "added", "copy") if key in grid]
    columns = {key: grid[key].ints() for key in (*_COLUMNS, *optional)}
    assert {len(column) for column in columns.values()} == {size}
    limits = {
        "rank": (0, grid["ranks"].number),
        "kind": (0, len(grid["kinds"])),
        "text": (-1, len(grid["texts"])),
        "lane": (0, 4),
        "added": (0, 2),
        "copy": (0, 2),
    }
    for key, (low, high) in limits.items():
        assert all(low <= each < high for each in columns.get(key, [])), key
    order = list(zip(columns["rank"], columns["lane"], columns["position"], strict=True))
    assert order == sorted(order)
    edges = grid["edges"]
    before, after, means = (edges[key].ints() for key in ("before", "after", "means"))
    assert len(before) == len(after) == len(means)
    assert all(0 <= op < size for op in (*before, *after))
    assert all(0 <= each < len(grid["edge_means"]) for each in means)


def _layout(layout: Node, size: int) -> None:
    start, end, happened = (layout[key].ints() for key in ("start", "end", "happened"))
    assert len(start) == len(end) == len(happened) == size
    span, frontier = layout["span"].number, layout["frontier"].value
    assert layout["axis"].text
    assert all(0 <= one <= other <= span for one, other in zip(start, end, strict=True))
    assert {*happened} <= {0, 1, 2}
    if frontier is None:
        assert {*happened} <= {1}
        return
    assert isinstance(frontier, int)
    for one, state in zip(start, happened, strict=True):
        assert (one >= frontier) if state == 0 else (one <= frontier)


def _violation(violation: Node, layouts: int, size: int, ranks: int) -> None:
    assert violation["layout"].number in range(max(layouts, 1))
    assert violation["own"].value in (True, False)
    assert violation["message"].text
    assert violation["why"].text
    for at in violation["at"]:
        assert -1 <= at["op"].number < size
        assert at["text"].text
    if not violation["slice"].is_nothing():
        _slice(violation["slice"], size)
    _steps(violation["steps"], size, ranks)
    assert violation["steps"].is_nothing() == bool(violation["no_steps"].text)


def _slice(told: Node, size: int) -> None:
    extra = [each["id"].number for each in told["extra"]]
    assert extra == [-2 - n for n in range(len(extra))]
    ops = told["ops"].ints()
    known = {*ops, *extra}
    assert all(0 <= op < size for op in ops)
    for arrow in told["arrows"]:
        assert {arrow["before"].number, arrow["after"].number} <= known
        assert arrow["means"].text
    for pair in (*told["notes"], *told["states"]):
        assert pair[0].number in known
        assert pair[1].text


def _steps(steps: Node, size: int, ranks: int) -> None:
    if steps.is_nothing():
        return
    op, phase = steps["op"].ints(), steps["phase"].ints()
    assert len(op) == len(phase)
    assert all(-2 - ranks < each < size for each in op)
    assert {*phase} <= {*range(len(steps["phases"]))}
    number, name, value = (
        steps[key].ints() for key in ("change_step", "change_name", "change_value")
    )
    assert len(number) == len(name) == len(value)
    assert all(one <= other for one, other in pairwise(number))
    assert all(-1 <= each < len(op) for each in number)
    assert {*name} <= {*range(len(steps["names"]))}
    assert {*value} <= {*range(len(steps["values"]))}
