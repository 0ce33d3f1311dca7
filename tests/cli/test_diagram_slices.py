"""What is drawn of a violation of each family: its boxes, what they say, and its arrows."""

import re
from pathlib import Path

import pytest

from tests.cli.drawings import Drawing, drawing

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```yaml refuted\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = [
    page for page in sorted((ROOT / "docs/rules").glob("*.md")) if FENCE.search(page.read_text())
]
MOST = 60


@pytest.fixture(autouse=True)
def _at_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def illegal(capsys: pytest.CaptureFixture[str], name: str) -> Drawing:
    drawn = drawing(capsys, f"specs/illegal/{name}.yaml")
    assert drawn.code == 1
    return drawn


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_example_of_every_rule_is_drawn(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, page: Path
) -> None:
    path = tmp_path / "a.yaml"
    (text,) = FENCE.findall(page.read_text())
    path.write_text(text)
    drawn = drawing(capsys, str(path))
    code = page.stem.partition("-")[0]

    assert drawn.code == 1
    assert 0 < len(drawn.boxes) <= MOST or code == "PP902"
    assert code == "PP902" or ("PP301" if code == "PP302" else code) in drawn.text


def test_a_missing_operation_stands_nowhere_beside_what_there_is(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("pipeproof: 1\nmicrobatches: 2\nranks: ['0F0; 0B0; 0F1']\n")
    drawn = drawing(capsys, str(path), "--rule", "PP101")

    assert list(drawn.boxes) == ["0F0", "0B0", "0F1", "0B1 or 0I1"]
    assert drawn.boxes["0B1 or 0I1"] == ["0B1 or 0I1"]
    assert 'label="0B1 or 0I1" shape=ellipse style=dotted' in drawn.text


def test_a_send_nobody_receives_leads_to_what_stands_nowhere(
    capsys: pytest.CaptureFixture[str],
) -> None:
    drawn = illegal(capsys, "send-nobody-receives")

    assert drawn.some("message") == ["SEND F0.0 to=1 h=s -> no receive of this [F0.0]"]


def test_crossed_messages_show_both_sends_both_receives_and_what_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    drawn = illegal(capsys, "swapped-receive")

    assert drawn.some("crossed") == [
        "0SEND_F0 -> 1RECV_F1 [F0.0 as F0.1]",
        "0SEND_F1 -> 1RECV_F0 [F0.1 as F0.0]",
    ]
    assert drawn.some("meant") == ["0SEND_F0 -> 1RECV_F0", "0SEND_F1 -> 1RECV_F1"]
    assert drawn.boxes["1RECV_F1"][0] == "FIRST ILLEGAL EVENT"


def test_collectives_in_different_orders_wait_for_each_other(
    capsys: pytest.CaptureFixture[str],
) -> None:
    drawn = illegal(capsys, "ties-in-different-order")

    assert drawn.some("waits") == [
        "0TIE ranks=0,1 -> 3TIE ranks=0,1",
        "3TIE ranks=0,1 -> 0TIE ranks=0,1",
    ]


def test_a_deadlock_shows_its_cycle_its_messages_and_what_was_done_before(
    capsys: pytest.CaptureFixture[str],
) -> None:
    drawn = illegal(capsys, "crossed-sends")

    assert drawn.some("waits") == ["0SEND_F1 -> 1SEND_B0", "1SEND_B0 -> 0SEND_F1"]
    assert drawn.some("message") == [
        "0SEND_F0 -> 1RECV_F0 [F0.0]",
        "0SEND_F1 -> 1RECV_F1 [F0.1]",
        "1SEND_B0 -> 0RECV_B0 [B1.0]",
    ]
    assert drawn.boxes["0SEND_F1"] == [
        "0SEND_F1",
        "position 3, line 6",
        "waits for rank 1 to take F0.1",
        "started, not done",
    ]
    assert drawn.boxes["0F1"] == ["0F1", "position 2"]
    assert drawn.boxes["1RECV_F1"][-1] == "has not started"
    assert "FIRST ILLEGAL EVENT" not in drawn.text


def test_lanes_stand_in_the_order_of_their_ranks(capsys: pytest.CaptureFixture[str]) -> None:
    text = illegal(capsys, "ring-of-send-groups").text

    assert "r0 -> r1 [style=invis]" in text
    assert "r1 -> r2 [style=invis]" in text
    assert re.findall(r'label="(rank \d)"', text) == ["rank 0", "rank 1", "rank 2"]


def test_a_rank_that_waits_for_a_slot_names_who_is_to_leave_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    drawn = illegal(capsys, "slot-guarded-by-itself")

    assert drawn.some("waits") == ["RECV F0.1 from=0 -> RECV F0.1 from=0"]
    assert "waits for a slot that 1F0 is yet to leave" in drawn.boxes["RECV F0.1 from=0"]
    assert "RECV F0.0 from=0 -> 1F0 [F0.0 in slot 0 of receive]" in drawn.some("content")


def test_what_must_come_first_and_need_not_is_an_arrow(
    capsys: pytest.CaptureFixture[str],
) -> None:
    drawn = illegal(capsys, "weight-gradient-too-soon")

    assert drawn.some("must come first") == ["0I1 -> 0W1 [ended]"]
    assert drawn.boxes["0W1"][0] == "FIRST ILLEGAL EVENT"


def test_a_read_of_what_has_not_arrived_waits_for_its_message(
    capsys: pytest.CaptureFixture[str],
) -> None:
    drawn = illegal(capsys, "receive-without-wait")

    assert drawn.some("must come first") == ["RECV F0.0 from=0 -> 1F0 [F0.0 arrived]"]
    assert drawn.some("message") == ["SEND F0.0 to=1 h=s -> RECV F0.0 from=0 [F0.0]"]


def test_an_overwritten_slot_stands_on_what_writes_and_reads_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    drawn = illegal(capsys, "stash-one-slot-short")

    assert drawn.some("content") == [
        "0F0 -> 0F2 [what 0F0 kept in slot 0 of stash]",
        "0F0 -> 0B0 [what 0F0 kept in slot 0 of stash]",
        "0F2 -> 0B0 [what 0F2 kept in slot 0 of stash]",
    ]
    assert drawn.some("must come first") == ["0B0 -> 0F2"]
    assert drawn.boxes["0F2"][0] == "FIRST ILLEGAL EVENT"


def test_a_slot_in_flight_stands_on_its_messages(capsys: pytest.CaptureFixture[str]) -> None:
    drawn = illegal(capsys, "two-receives-one-slot")
    one, other = "RECV F0.0 from=0 h=a", "RECV F0.1 from=0 h=b"

    assert drawn.boxes[one][-1] == "posted, not complete"

    assert f"SEND F0.1 to=1 h=b -> {other} [F0.1 into slot 0 of receive]" in drawn.some("message")
    assert drawn.some("must come first") == [
        f"{one} -> {other} [F0.0 in slot 0 of receive, arrived]"
    ]


def test_what_is_live_is_marked(capsys: pytest.CaptureFixture[str]) -> None:
    drawn = illegal(capsys, "one-forward-too-many")

    live = {
        name: n
        for n in range(1, 4)
        for name in drawn.boxes
        if f"live: {n} of 3" in drawn.boxes[name]
    }
    assert live == {"0F0": 1, "0F1": 2, "0F2": 3}


def test_what_memory_is_held_is_marked(capsys: pytest.CaptureFixture[str]) -> None:
    drawn = illegal(capsys, "memory-of-early-receives")
    held = [lines for lines in drawn.boxes.values() if any(x.startswith("holds ") for x in lines)]

    assert len(held) >= 2


def test_versions_stand_in_the_boxes_and_on_what_makes_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    drawn = illegal(capsys, "latest-instead-of-stash")

    assert drawn.some("version") == ["0STEP -> 0B1 [version 1]"]
    assert drawn.some("must agree") == ["0F1 -> 0B1"]
    assert "reads version 0" in drawn.boxes["0F1"]
    assert "reads version 1" in drawn.boxes["0B1"]


def test_the_version_that_another_stage_reads_stands_in_its_box(
    capsys: pytest.CaptureFixture[str],
) -> None:
    drawn = illegal(capsys, "stages-of-different-age")

    assert "reads version 0" in drawn.boxes["0F1"]
    assert "reads version 1" in drawn.boxes["1F1"]


def test_a_reduction_stands_beside_what_it_misses(capsys: pytest.CaptureFixture[str]) -> None:
    drawn = illegal(capsys, "reduced-before-weight-gradient")

    assert drawn.boxes["0REDUCE"][0] == "FIRST ILLEGAL EVENT"
    assert drawn.boxes["0W0"][-1] == "has not started"
    assert drawn.some("must come first") == ["0W0 -> 0REDUCE"]


@pytest.mark.parametrize(
    ("program", "means"),
    [
        ("0F0; 0B0; 0B0", "once more: 0B0 -> 0B0"),
        ("0F0; 0I0; 0W0; 0B0", "once more: 0W0 -> 0B0"),
        ("0UNSHARD; 0F0; 0RESHARD; 0B0", "takes away: 0RESHARD -> 0B0"),
        ("0F0; 0STEP; 0B0", "must come first: 0B0 -> 0STEP"),
        (
            "0F0 rng=a; 0R0 rng=b; 0B0",
            "must agree: 0F0 rng=a -> 0R0 rng=b [has rng=b, 0F0 rng=a had rng=a]",
        ),
    ],
)
def test_what_a_place_is_at_odds_with_is_drawn(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, program: str, means: str
) -> None:
    path = tmp_path / "odd.yaml"
    path.write_text(f"pipeproof: 1\nstages: 1\nmicrobatches: 1\nranks: [{program}]\n")

    drawn = drawing(capsys, str(path), "--transport", "rendezvous")

    strong = ("once more", "takes away", "must come first", "must agree")
    assert [each for each in drawn.arrows if each.startswith(strong)] == [means]


def test_a_stage_that_was_never_unsharded_has_nothing_that_took_its_weights_away(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "odd.yaml"
    path.write_text("pipeproof: 1\nstages: 1\nmicrobatches: 1\nranks: [0F0; 0UNSHARD; 0B0]\n")

    drawn = drawing(capsys, str(path), "--transport", "rendezvous")

    assert "FIRST ILLEGAL EVENT" in drawn.boxes["0F0"]
    assert drawn.some("takes away") == []


def test_a_recomputation_stands_beside_its_forward_and_its_version(
    capsys: pytest.CaptureFixture[str],
) -> None:
    drawn = illegal(capsys, "recomputed-with-newer-weights")

    assert drawn.some("version") == ["0STEP -> 0R1 [version 1]"]
    assert drawn.some("must agree") == ["0F1 -> 0R1"]
    assert "reads version 0" in drawn.boxes["0F1"]


def test_a_signal_that_is_never_given_stands_nowhere(capsys: pytest.CaptureFixture[str]) -> None:
    drawn = illegal(capsys, "signal-never-given")

    assert "no signal for this -> AWAIT from=0 [signal]" in drawn.some("message")


def test_a_second_step_is_told_in_the_box(capsys: pytest.CaptureFixture[str]) -> None:
    drawn = illegal(capsys, "send-outlives-its-step")

    assert any("second step" in line for lines in drawn.boxes.values() for line in lines)


def test_the_legend_explains_what_is_drawn_and_nothing_else(
    capsys: pytest.CaptureFixture[str],
) -> None:
    deadlock, crossed = illegal(capsys, "crossed-sends"), illegal(capsys, "swapped-receive")

    assert "waits for" in deadlock.text.partition("cluster_legend")[2]
    assert "taken for another" not in deadlock.text
    assert "taken for another" in crossed.text.partition("cluster_legend")[2]
    assert "waits for" not in crossed.text


def test_every_arrow_and_box_of_a_kind_differs_without_colour() -> None:
    from pipeproof.reports._dot import _ARROWS, _STATES  # noqa: PLC0415  what is looked at

    def grey(look: dict[str, str]) -> tuple[tuple[str, str], ...]:
        return tuple(sorted((k, v) for k, v in look.items() if "color" not in k))

    assert len({grey(dict(look)) for look in _ARROWS.values()}) == len(_ARROWS)
    assert len({grey(dict(look)) for look in _STATES.values()}) == len(_STATES) - 1


def test_what_a_fault_of_the_file_breaks_is_drawn_with_what_came_before(
    capsys: pytest.CaptureFixture[str],
) -> None:
    drawn = drawing(capsys, "specs/recovery/lost-copy-blocks-abort.yaml")

    assert drawn.code == 1
    assert "where s is dropped" in drawn.text
    assert drawn.boxes["WAIT copy"][-1] == "started, not done"
    assert len(drawn.boxes) > 1
    assert drawn.some("program")


def test_a_step_that_completes_after_a_fault_is_the_first_illegal_event(
    capsys: pytest.CaptureFixture[str],
) -> None:
    drawn = drawing(capsys, "specs/recovery/late-message-does-not-abort.yaml")

    assert drawn.boxes["1STEP"][0] == "FIRST ILLEGAL EVENT"
    assert drawn.some("message")
