"""The data of the page of a result, unpacked, against the verdict that it shows."""

import json
from collections.abc import Callable, Sequence
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from pipeproof import api
from pipeproof.cli import run
from pipeproof.cli._inputs import Input, load
from pipeproof.ir.reading import ReadOptions
from pipeproof.reports import html
from pipeproof.reports._views import Room
from pipeproof.schedules import generate
from pipeproof.semantics.model import Model
from pipeproof.timing.timeline import timeline
from pipeproof.verdict.decision import Decision
from tests.reports import made
from tests.reports.paged import Elements, Node, data_of, grid_of, text_of, validate

ROOT = Path(__file__).parents[2]
CROSSED = "specs/illegal/crossed-sends.yaml"
SWEPT = sorted(
    [
        *(ROOT / "specs/illegal").glob("[a-c]*.yaml"),
        *(ROOT / "specs/legal").glob("[s-w]*.yaml"),
        *(ROOT / "specs/recovery").glob("m*.yaml"),
        *(ROOT / "specs/ready").glob("*.yaml"),
    ]
)
Page = Callable[..., Node]


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Page:
    """The data of the page that `check` writes, validated."""
    monkeypatch.chdir(ROOT)

    def made_by(*argv: object) -> Node:
        path = tmp_path / "page.html"
        run(["check", *map(str, argv), "--format", "html", "-o", str(path)])
        data = data_of(path.read_text())
        validate(data)
        return data

    return made_by


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "a.yaml"
    path.write_text(text)
    return path


def view_of(data: Node, transport: str | None = None) -> tuple[Node, Node]:
    """The first view of the first file, or that of a transport, and its grid."""
    views = [*data["files"][0]["views"]]
    for view in views:
        if transport in (None, view["transport"].text):
            grid = grid_of(view, views)
            assert grid is not None
            return view, grid
    raise AssertionError(transport)


def texts(grid: Node, ops: Sequence[int]) -> list[str]:
    return [text_of(grid, op) for op in ops]


def test_a_page_draws_every_operation_in_its_lane_at_its_place_in_the_file(page: Page) -> None:
    _, grid = view_of(page(CROSSED, "--transport", "rendezvous"))
    program = "0F0; 0SEND_F0; 0F1; 0SEND_F1; 0RECV_B0; 0B0; 0RECV_B1; 0B1"
    rank = [op for op, rank in enumerate(grid["rank"].ints()) if rank == 0]
    position = grid["position"].ints()
    lanes = dict(zip(texts(grid, rank), grid["lane"].ints(), strict=False))
    line = (ROOT / CROSSED).read_text().splitlines()[grid["line"].ints()[rank[1]] - 1]
    column = grid["column"].ints()[rank[1]]

    assert len(grid["rank"]) == 16
    assert "; ".join(texts(grid, sorted(rank, key=position.__getitem__))) == program
    assert (lanes["0F0"], lanes["0SEND_F1"], lanes["0RECV_B0"]) == (0, 1, 2)
    assert line[column - 1 :].startswith(text_of(grid, rank[1]))


def test_the_first_illegal_events_are_named_with_rule_sentence_and_place(page: Page) -> None:
    view, grid = view_of(page(CROSSED, "--transport", "rendezvous"))
    first = view["violations"][0]

    assert first["rule"].text == "PP301"
    assert first["first"].value is True
    assert first["message"].text.startswith("0SEND_F1 of rank 0 waits for rank 1 at 1SEND_B0")
    assert "GPUs hang" in first["why"].text
    assert (ROOT / first["help"].text).is_file()
    assert texts(grid, [at["op"].number for at in first["at"]]) == ["0SEND_F1", "1SEND_B0"]
    assert [(at["file"].text, at["line"].number, at["column"].number) for at in first["at"]] == [
        (CROSSED, 6, 25),
        (CROSSED, 7, 25),
    ]


def test_what_a_deadlock_leaves_undone_lies_behind_the_frontier(page: Page) -> None:
    view, grid = view_of(page(CROSSED, "--transport", "rendezvous"))
    first = view["violations"][0]
    layout = view["layouts"][first["layout"].number]
    happened, start = layout["happened"].ints(), layout["start"].ints()
    of = {state: [op for op, each in enumerate(happened) if each == state] for state in (0, 1, 2)}

    assert first["own"].value is True
    assert sorted(texts(grid, of[2])) == ["0SEND_F1", "1SEND_B0"]
    assert sorted(texts(grid, of[1])) == ["0F0", "0F1", "0SEND_F0", "1B0", "1F0", "1RECV_F0"]
    assert min(start[op] for op in of[0]) >= layout["frontier"].number
    assert all(layout["end"].ints()[op] == layout["frontier"].number for op in of[2])


def edges_of(grid: Node) -> set[tuple[str, ...]]:
    edges, means = grid["edges"], grid["edge_means"].texts()
    columns = (edges[key].ints() for key in ("before", "after", "means"))
    return {
        (*texts(grid, (before, after)), means[mean])
        for before, after, mean in zip(*columns, strict=True)
    }


def test_messages_and_contents_are_edges(page: Page) -> None:
    found = edges_of(view_of(page(CROSSED, "--transport", "rendezvous"))[1])

    assert {each for each in found if each[2] == "message"} == {
        ("0SEND_F0", "1RECV_F0", "message"),
        ("0SEND_F1", "1RECV_F1", "message"),
        ("1SEND_B0", "0RECV_B0", "message"),
        ("1SEND_B1", "0RECV_B1", "message"),
    }
    assert ("1RECV_F0", "1F0", "content") in found


def test_collectives_signals_waits_and_weights_are_edges(page: Page, tmp_path: Path) -> None:
    ranks = (
        "  - 0F0; SEND F0.0 to=1 h=a; SIGNAL to=1; WAIT a; COLL c ranks=0,1; 0B0; 0STEP",
        "  - AWAIT from=0; RECV F0.0 from=0 h=b; WAIT b; COLL c ranks=0,1; 1F0; 1STEP; 1F1",
    )
    keys = ("pipeproof: 1", "microbatches: 2", "fragment: true", "weights: {policy: latest}")
    path = written(tmp_path, "\n".join([*keys, "ranks:", *ranks, ""]))
    found = edges_of(view_of(page(path, "--transport", "buffered"))[1])
    met = "COLL c ranks=0,1"

    assert {each[2] for each in found} >= {"signal", "wait", "weights", "collective"}
    assert ("SIGNAL to=1", "AWAIT from=0", "signal") in found
    assert ("RECV F0.0 from=0 h=b", "WAIT b", "wait") in found
    assert ("1STEP", "1F1", "weights") in found
    assert (met, met, "collective") in found


def test_the_cause_slice_holds_the_wait_cycle_and_leaves_the_rest_to_be_dimmed(page: Page) -> None:
    view, grid = view_of(page(CROSSED, "--transport", "rendezvous"))
    told = view["violations"][0]["slice"]
    waits = [
        tuple(texts(grid, (each["before"].number, each["after"].number)))
        for each in told["arrows"]
        if each["means"].text == "waits for"
    ]
    states = {text_of(grid, pair[0].number): pair[1].text for pair in told["states"]}

    assert sorted(waits) == [("0SEND_F1", "1SEND_B0"), ("1SEND_B0", "0SEND_F1")]
    assert states["0SEND_F1"] == "started, not done"
    assert sorted(texts(grid, sorted({*range(16)} - {*told["ops"].ints()}))) == sorted(
        ["0B0", "0RECV_B1", "0B1", "1F1", "1B1", "1SEND_B1"]
    )


def test_an_execution_can_be_stepped_through_state_by_state(page: Page) -> None:
    data = page("specs/illegal/swapped-receive.yaml", "--transport", "buffered")
    view, grid = view_of(data)
    steps = view["violations"][0]["steps"]
    said = run_to(steps, len(steps["op"]) - 1)
    last = steps["op"].ints()[-1], steps["phases"].texts()[steps["phase"].ints()[-1]]
    at = view["violations"][0]["at"]

    assert len(steps["op"]) == len(steps["phase"])
    assert (text_of(grid, last[0]), last[1]) == ("1RECV_F1", "arrived")
    assert last[0] in [each["op"].number for each in at]
    assert said["ranks", "r1"].startswith(("before", "in"))
    assert run_to(steps, -1)["versions", "stage 0"]


def run_to(steps: Node, step: int) -> dict[tuple[str, str], str]:
    """The state after a step."""
    names = [(each[0].text, each[1].text) for each in steps["names"]]
    values = steps["values"].texts()
    columns = (steps[key].ints() for key in ("change_step", "change_name", "change_value"))
    return {
        names[name]: values[value]
        for number, name, value in zip(*columns, strict=True)
        if number <= step
    }


def judged(path: str) -> list[tuple[Model, Decision]]:
    options = ReadOptions(generate=generate)
    loaded = load(Input(path, ROOT / path), options)
    assert loaded is not None
    kept: list[tuple[Model, Decision]] = []
    api.judge(loaded.documents[0], None, kept)
    return kept


def test_a_legal_schedule_is_drawn_as_its_timeline(page: Page) -> None:
    path = "specs/legal/1f1b-4x8.yaml"
    view, grid = view_of(page(path))
    layout = view["layouts"][0]
    line = timeline(judged(path)[0][0])
    start, end, lane = (layout["start"].ints(), layout["end"].ints(), grid["lane"].ints())
    drawn = {
        (grid["rank"].ints()[op], text_of(grid, op), start[op], end[op])
        for op in range(len(lane))
        if lane[op] == 0
    }

    assert drawn == {
        (each.rank, f"{each.stage}{each.kind.name}{each.microbatch}", each.start, each.end)
        for each in line.spans
    }
    assert layout["frontier"].is_nothing()
    assert view["verdict"].text == "proved"
    assert not view["violations"].all()
    assert sorted(view["steps"]["op"].ints())[:4] == [-5, -4, -3, -2]
    assert len(view["steps"]["op"]) > len(lane)


def test_transports_that_run_the_same_share_their_boxes(page: Page) -> None:
    views = [*page("specs/legal/1f1b-4x8.yaml")["files"][0]["views"]]
    shared = [view["grid"]["same"].number for view in views if "same" in view["grid"]]

    assert len(views) == len({view["transport"].text for view in views}) >= 4
    assert shared
    assert "rank" in views[0]["grid"]


def test_where_the_second_step_breaks_a_rule_both_are_drawn(page: Page) -> None:
    views = [*page("specs/illegal/send-outlives-its-step.yaml")["files"][0]["views"]]
    view = next(each for each in views if each["violations"].all())
    grid = grid_of(view, views)
    assert grid is not None
    at = [each["op"].number for each in view["violations"][0]["at"]]

    assert {*grid["copy"].ints()} == {0, 1}
    assert 1 in [grid["copy"].ints()[op] for op in at]
    assert "judged over two steps, which run the same programs: both are drawn" in (
        view["notes"].texts()
    )


def test_where_the_second_step_breaks_nothing_the_first_is_drawn(
    page: Page, tmp_path: Path
) -> None:
    text = (ROOT / "specs/illegal/send-outlives-its-step.yaml").read_text()
    path = written(tmp_path, text.partition("expect:")[0])
    views = [*page(path, "--select", "PP1")["files"][0]["views"]]
    noted = [note for view in views for note in view["notes"].texts()]

    assert all("copy" not in view["grid"] for view in views)
    assert any(note.endswith("the first is drawn") for note in noted)


@pytest.mark.parametrize("engine", ["all", "explore", "smt"])
def test_every_engine_has_a_page(page: Page, engine: str) -> None:
    view, grid = view_of(page(CROSSED, "--transport", "rendezvous", "--engine", engine))
    at = view["violations"][0]["at"]

    assert texts(grid, [each["op"].number for each in at]) == ["0SEND_F1", "1SEND_B0"]


def test_outcomes_of_choices_that_run_other_programs_have_views_of_their_own(page: Page) -> None:
    data = page("specs/ready/head-on.yaml")
    views = [*data["files"][0]["views"]]
    notes = [note for view in views for note in view["notes"].texts()]

    assert any("outcomes of choices were judged" in note for note in notes)
    for view in views:
        for violation in view["violations"]:
            assert all(at["op"].number >= 0 for at in violation["at"])


def test_a_missing_operation_still_has_a_grid_and_what_lacks_is_told(
    page: Page, tmp_path: Path
) -> None:
    path = written(tmp_path, "pipeproof: 1\nmicrobatches: 2\nranks: ['0F0; 0F1; 0B0']\n")
    view, grid = view_of(page(path))
    missing = next(each for each in view["violations"] if each["rule"].text == "PP101")

    assert sorted(texts(grid, range(3))) == ["0B0", "0F0", "0F1"]
    assert not missing["at"].all()
    assert missing["own"].value is False
    assert missing["note"].text
    assert "0B1" in [each["text"].text.partition(" ")[0] for each in missing["slice"]["extra"]]


def test_a_fault_of_the_file_is_drawn(page: Page) -> None:
    data = page("specs/recovery/corrupted-activation-enters-the-step.yaml")
    refuted = [
        each
        for file in data["files"]
        for view in file["views"]
        for each in view["violations"]
        if each["at"].all()
    ]

    assert refuted
    assert all(at["op"].number >= 0 for each in refuted for at in each["at"])


def test_standard_input_and_an_imported_table_have_pages(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "run.csv").write_text("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n")
    path = written(
        tmp_path, "pipeproof: 1\nmicrobatches: 2\nimport: {format: torch-csv, path: run.csv}\n"
    )
    _, grid = view_of(page(path))
    text = (ROOT / CROSSED).read_bytes()
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(text)))

    assert {"0F0", "1B1"} <= {*texts(grid, range(len(grid["rank"])))}
    assert page("-")["files"][0]["path"].text == "<stdin>"


def test_every_file_of_a_result_is_in_its_page(page: Page, tmp_path: Path) -> None:
    broken = written(tmp_path, "pipeproof: 1\nmicrobatches: 1\nranks: [0Q0]\n")
    data = page(CROSSED, "specs/legal/1f1b-4x8.yaml", broken)
    files = [*data["files"]]

    assert [file["verdict"].text for file in files] == ["refuted", "proved", "error"]
    assert "a.yaml:3:9: '0Q0' is no operation" in files[2]["errors"].texts()[0]
    assert not files[2]["views"].all()


def test_what_is_unknown_says_why() -> None:
    data = data_of(html.render(made.whole()))
    validate(data)
    files = {file["path"].text: file for file in data["files"]}
    view = files["open.yaml"]["views"][0]

    assert view["unknown"][0]["why"].text == "storage is not judged by this version"
    assert files["odd.yaml"]["errors"].texts() == ["do not trust this run: no replay"]
    assert files["later.yaml"]["errors"].texts() == ["faults are not judged by this version"]
    assert view["no_grid"].text == "the schedule itself is not at hand, only its verdict"


def test_without_a_script_a_page_says_the_verdict_the_rule_the_sentence_and_the_place() -> None:
    said = " ".join(Elements(html.render(made.whole())).said)

    assert "pipeproof: refuted" in said
    assert "PP301 deadlock under rendezvous, rendezvous-edge, rendezvous-rank" in said
    assert "rank 0 waits at 0SEND_F1 for rank 1, which waits at 1SEND_B0 for rank 0" in said
    assert "crossed.yaml:6:25, rank 0, position 3: 0SEND_F1" in said
    assert "bad.yaml:3:7" in said


def test_what_a_page_has_no_room_for_is_told(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "Room", lambda: Room(operations=20, events=10))
    data = page(CROSSED, "specs/legal/1f1b-4x8.yaml", "--transport", "rendezvous")
    small, large = data["files"][0]["views"][0], data["files"][1]["views"][0]

    assert large["grid"].is_nothing()
    assert large["no_grid"].text.endswith("and has room for 4 more")
    assert small["no_grid"].is_nothing()
    assert "events: there is room for 10 more" in small["violations"][0]["no_steps"].text


def test_many_violations_share_a_few_executions(page: Page, tmp_path: Path) -> None:
    rank = "; ".join(f"0B{n}; 0F{n}" for n in range(210))
    path = written(tmp_path, f"pipeproof: 1\nmicrobatches: 210\nranks: ['{rank}']\n")
    view, _ = view_of(page(path, "--transport", "rendezvous"))

    assert len(view["violations"]) == 200
    assert len(view["layouts"]) <= 8
    assert any(note.endswith("--format json lists all") for note in view["notes"].texts())


def test_costs_set_the_ticks(page: Page, tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "pipeproof: 1\nmicrobatches: 1\ncosts: {F: 0.5, B: 1.25}\nranks: ['0F0; 0B0']\n",
    )
    layout = view_of(page(path))[0]["layouts"][0]
    unit = layout["ticks_per_unit"].number

    assert [end / unit for end in layout["end"].ints()] == [0.5, 1.75]
    assert json.dumps(layout["span"].value) == str(layout["end"].ints()[-1])


@pytest.mark.parametrize("path", SWEPT, ids=lambda path: path.stem)
def test_a_page_comes_for_every_spec_and_its_data_is_whole(page: Page, path: Path) -> None:
    data = page(path.relative_to(ROOT))

    assert data["files"][0]["views"].all()
    for view in data["files"][0]["views"]:
        assert view["no_grid"].is_nothing()
