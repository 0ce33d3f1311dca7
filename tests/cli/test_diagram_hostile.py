"""Whatever a file holds, a diagram has the boxes and arrows that it is to have, and plain text."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from pipeproof.cli import run
from pipeproof.cli._diagram import draw
from pipeproof.reports._dot import LONGEST, dot, shown
from pipeproof.reports._places import by_places
from pipeproof.reports._slice import MOST, Arrow, Box, Draft, Means, Slice, State
from pipeproof.verdict.verdict import Place, Violation

ROOT = Path(__file__).parents[2]
HOSTILE = (
    'x"];evil[label="y',
    'x\\"];evil[label="y',
    "<b>x</b>",
    "<<table href='javascript:alert(1)'><tr><td>x</td></tr></table>>",
    "</text></svg><script>alert(1)</script>",
    "]]></title><a href='javascript:alert(1)'>x</a>",
    "javascript:alert(1)",
    "::error file=x::y",
    "%0A\\N \\G \\E \\l \\r \\n",
    "&lt;&#x41;&unknown;",
    "a:b:c -> d; subgraph cluster_x {}",
    "\x00\x07\x1b[31m\r\n\t\x7f\x85\u2028\u202e\ud800",
    "trailing backslash \\",
    "x" * 200_000,
    "<" * 200_000,
    "",
)


def slice_of(text: str) -> Slice:
    """Two boxes, an arrow between them, and a title, all of which say the same."""
    boxes = [Box(n, n, 0, text, State.DONE, notes=[text]) for n in range(2)]
    return Slice((text, text), tuple(boxes), (Arrow(0, 1, Means.MESSAGE, text),))


def shapes(svg: str) -> tuple[list[str], int]:
    """The nodes of a picture that are no legend, and how many arrows it has."""
    root = ET.fromstring(svg)  # noqa: S314  what is parsed was written here
    groups = [(each.get("class"), each[0].text or "") for each in root.iter() if len(each)]
    nodes = [title for kind, title in groups if kind == "node"]
    return sorted(n for n in nodes if n[0] not in "abc"), sum(k == "edge" for k, _ in groups)


@pytest.mark.usefixtures("graphviz")
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_whatever_a_label_says_the_picture_is_the_same(tmp_path: Path, text: str) -> None:
    plain, path = tmp_path / "plain.svg", tmp_path / "a.svg"
    draw(slice_of("plain"), str(plain))
    draw(slice_of(text), str(path))
    svg = path.read_text()

    assert shapes(svg) == shapes(plain.read_text())
    assert set(re.findall(r"<([A-Za-z][\w:]*)", svg)) == set(
        re.findall(r"<([A-Za-z][\w:]*)", plain.read_text())
    )


@pytest.mark.usefixtures("graphviz")
def test_text_that_is_shown_reads_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "a.svg"
    written = 'a "quoted" <b> & \\N {x|y} %3 -> [z]'
    draw(slice_of(written), str(path))
    texts = [each.text for each in ET.fromstring(path.read_text()).iter()]  # noqa: S314  as above

    assert texts.count(written) >= 6


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_label_has_one_printable_line_of_bounded_length(text: str) -> None:
    said = shown(text)

    assert said.isprintable()
    assert len(said) <= 10 * LONGEST


def test_control_and_direction_characters_are_shown_escaped() -> None:
    assert shown("a\x1b\u202eb\n") == "a\\x1b\\u202eb\\n"


def test_a_long_label_is_cut() -> None:
    assert shown("x" * 200_000) == "x" * (LONGEST - 1) + "…"


def test_a_picture_has_few_lines_of_title() -> None:
    text = dot(Slice(("word " * 100_000, "x" * 200_000), (), ()))

    assert len(text) < 3_000


def test_boxes_beyond_the_cap_are_counted_and_not_drawn() -> None:
    draft = Draft()
    taken = [draft.add(Box(n, 0, n, "x", State.DONE)) for n in range(MOST + 7)]
    draft.join(0, MOST + 1, Means.MESSAGE)
    told = draft.finished(("title",))

    assert taken == [True] * MOST + [False] * 7
    assert (len(told.boxes), told.left_out) == (MOST, 7)
    assert "7 more did not fit into the picture" in dot(told)
    assert all(arrow.means is Means.PROGRAM for arrow in told.arrows)


@pytest.mark.usefixtures("graphviz")
def test_a_cycle_over_more_ranks_than_fit_is_drawn_up_to_the_cap(tmp_path: Path) -> None:
    path, picture = tmp_path / "ring.yaml", tmp_path / "a.svg"
    ranks = 2 * MOST
    programs = "\n".join(
        f"  - SEND v{n} to={(n + 1) % ranks}; RECV v{(n - 1) % ranks} from={(n - 1) % ranks}"
        for n in range(ranks)
    )
    head = "pipeproof: 1\nfragment: true\nmicrobatches: 1\ntransport: rendezvous\nranks:\n"
    path.write_text(head + programs + "\n")

    assert run(["diagram", str(path), "-o", str(picture)]) == 1
    nodes, _ = shapes(picture.read_text())
    assert sum(each.startswith("n") and each != "named" for each in nodes) == MOST
    assert "more did not fit into the picture" in picture.read_text()


@pytest.mark.usefixtures("graphviz")
@pytest.mark.parametrize("name", ['"];x[label="y', "<b>", "javascript:alert(1)", "::error::x"])
def test_the_name_of_a_file_is_only_text(tmp_path: Path, name: str) -> None:
    path, picture, own = tmp_path / f"{name}.yaml", tmp_path / "a.svg", tmp_path / "b.svg"
    path.write_text((ROOT / "specs/illegal/crossed-sends.yaml").read_text())
    run(["diagram", str(path), "-o", str(picture)])
    run(["diagram", str(ROOT / "specs/illegal/crossed-sends.yaml"), "-o", str(own)])

    assert shapes(picture.read_text()) == shapes(own.read_text())


def test_places_beyond_the_cap_are_counted_and_not_drawn() -> None:
    at = tuple(Place(rank, 0, "0F0", 0) for rank in range(MOST + 3))
    told = by_places(Violation("PP301", "deadlock", "they wait", at, 1), ("title",), {})

    assert (len(told.boxes), told.left_out) == (MOST, 3)
