"""What is said of a violation beside its rule: of a bracket, the member that is meant."""

from dataclasses import replace
from pathlib import Path

import pytest

from pipeproof.cli import run
from pipeproof.reports import html
from pipeproof.verdict.result import FileReport, Result
from pipeproof.verdict.verdict import Accepted, Outcome
from tests.reports.made import DEADLOCK, transport
from tests.reports.made import verdict as verdict_
from tests.reports.paged import Elements, Node, data_of, grid_of, text_of, validate

ROOT = Path(__file__).parents[2]
QUIET = "next in the program"


def arrows_of(path: Path, out: Path) -> set[tuple[str, str, str, str]]:
    """The arrows of the first violation that are not program order."""
    run(["check", str(path), "--format", "html", "-o", str(out)])
    data = data_of(out.read_text())
    validate(data)
    view = data["files"][0]["views"][0]
    grid = grid_of(view, [view])
    assert grid is not None
    found = set()
    for arrow in view["violations"][0]["slice"]["arrows"]:
        ends = [_text(grid, arrow[key].number) for key in ("before", "after")]
        if arrow["means"].text != QUIET:
            found.add((ends[0], arrow["means"].text, arrow["label"].text, ends[1]))
    return found


def _text(grid: Node, op: int) -> str:
    return text_of(grid, op) if op >= 0 else ""


def test_the_member_that_must_come_first_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(
        "pipeproof: 1\nmicrobatches: 2\ntransport: buffered\nranks:\n"
        "  - 0F0; 0SEND_F0; 0F1; 0SEND_F1; 0RECV_B0; 0B0; 0RECV_B1; 0B1\n"
        "  - 1RECV_F0; 1F0; 1B0; [1SEND_B0 | 1RECV_F1] h=x; 1F1; WAIT x; 1B1; 1SEND_B1\n"
    )

    assert ("1RECV_F1 h=x", "must come first, and nothing ensures it", "F0.1 arrived", "1F1") in (
        arrows_of(path, tmp_path / "a.html")
    )


def test_two_messages_between_two_brackets_are_two_arrows(tmp_path: Path) -> None:
    path = ROOT / "specs/illegal/send-groups-before-receive-groups.yaml"
    found = arrows_of(path, tmp_path / "a.html")

    assert {each for each in found if each[1] == "message"} == {
        ("0SEND_F3", "message", "F0.3", "1RECV_F3"),
        ("2SEND_B1", "message", "B2.1", "1RECV_B1"),
        ("1SEND_F2", "message", "F1.2", "2RECV_F2"),
        ("3SEND_B2", "message", "B3.2", "2RECV_B2"),
    }
    assert ("0SEND_F3", "waits for", "", "1SEND_F2") in found


@pytest.mark.parametrize("name", ["one-peer-two-roles", "swapped-receive"])
def test_what_a_receive_names_is_told_beside_what_it_takes(tmp_path: Path, name: str) -> None:
    found = arrows_of(ROOT / f"specs/illegal/{name}.yaml", tmp_path / "a.html")
    taken = {(one, other) for one, means, _, other in found if "taken" in means}
    meant = {(one, other) for one, means, _, other in found if "names" in means}

    assert taken
    assert meant
    assert not taken & meant
    assert {one for one, _ in meant} == {one for one, _ in taken}


def test_what_a_baseline_accepts_is_told(tmp_path: Path) -> None:
    accepted = Accepted("the runtime is replaced <soon>", "2026-11-30")
    broken = replace(DEADLOCK, accepted=accepted)
    verdict = verdict_(
        transport("buffered", Outcome.REFUTED, broken), outcome=Outcome.REFUTED, path="a.yaml"
    )
    page = html.render(Result("0.1.0", (FileReport("a.yaml", verdict),)))
    said = "accepted by the baseline on 2026-11-30: the runtime is replaced <soon>"

    assert data_of(page)["files"][0]["views"][0]["violations"][0]["note"].text == said
    assert said in Elements(page).said


def test_messages_that_are_too_many_show_those_that_are_left_over(tmp_path: Path) -> None:
    out = tmp_path / "a.html"
    spec = ROOT / "specs/recovery/doubled-activation-shifts-the-rest.yaml"
    run(["check", str(spec), "--format", "html", "--transport", "rendezvous", "-o", str(out)])
    data = data_of(out.read_text())
    validate(data)
    view = data["files"][0]["views"][0]
    slices = {each["rule"].text: each["slice"] for each in view["violations"]}

    assert slices["PP105"]["ops"].ints() == slices["PP201"]["ops"].ints()
