"""What is drawn, as data: boxes, arrows, words."""

import json
import re

import pytest
from playwright.sync_api import Page

from tests.reports.page.cases import CASES, crossed, gpipe, hostile
from tests.reports.page.conftest import Open
from tests.reports.page.drawn import Drawn, drawn
from tests.reports.page.made import Arrow, Made, page_data

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\"'`$&{{7*7}}${7*7}",
    "javascript:alert(1)",
    "::error file=a,line=1::no\r\n\x1b[31m\u202egnirts",
)


def said(held: Drawn, state: str) -> list[str]:
    return [box["text"] for box in held["boxes"] if box["state"] == state]


def test_a_deadlock_is_drawn_as_it_is(deadlock: Page) -> None:
    made = crossed()

    held = drawn(deadlock)

    assert said(held, "done") == ["0F0", "0F1", "0SEND_F0", "1F0", "1B0", "1RECV_F0"]
    assert said(held, "begun") == ["0SEND_F1", "1SEND_B0"]
    assert said(held, "later")[:2] == ["0B0", "0B1"]
    assert [box["text"] for box in held["boxes"] if box["outlined"]] == ["0SEND_F1"]
    strong = [box["text"] for box in held["boxes"] if not box["dimmed"]]
    assert strong == ["0F0", "0F1", "0SEND_F0", "0SEND_F1", "1SEND_B0", "1RECV_F0"]
    waits = [arrow for arrow in held["arrows"] if arrow["means"] == "waits for"]
    one, other = made.op((0, 3)), made.op((1, 3))
    assert [(arrow["before"], arrow["after"]) for arrow in waits] == [(one, other), (other, one)]
    assert held["labels"].count("waits for") == 2
    assert held["frontier"] is not None


def test_what_has_not_happened_lies_behind_the_frontier(deadlock: Page) -> None:
    held = drawn(deadlock)

    frontier = held["frontier"] or 0
    assert all(box["x"] >= frontier - 1 for box in held["boxes"] if box["state"] == "later")
    assert all(box["x"] < frontier for box in held["boxes"] if box["state"] != "later")


def test_rule_sentence_and_place_stand_over_the_picture(deadlock: Page) -> None:
    held = drawn(deadlock)

    assert "PP301" in held["headline"]
    assert "0SEND_F1 of rank 0 waits for rank 1" in held["headline"]
    assert re.search(r"0SEND_F1\s+rank 0, position 3\s+pipe\.yaml:6:26", held["headline"])
    assert re.search(r"0SEND_F1\s*: started, not done", held["panel"])
    panel = held["panel"]
    said_ = ("Training goes wrong.", "Do one of the two before the other.", "The cause")
    assert sorted(said_, key=panel.index) == list(said_)


def test_a_place_of_the_second_step_and_what_lowering_wrote_in_say_so(opened: Open) -> None:
    file = crossed().file()
    text = page_data(file)
    data = json.loads(text)
    one, other = data["files"][0]["views"][0]["violations"][0]["at"]
    one["step"], other["lowered"] = 1, True

    said_ = " ".join(drawn(opened(json.dumps(data)))["headline"].split())

    assert "0SEND_F1 rank 0, position 3, second step pipe.yaml" in said_
    assert "1SEND_B0 rank 1, position 3, written in by lowering pipe.yaml" in said_


def test_what_a_place_is_at_odds_with_is_told_by_where_both_stand(opened: Open) -> None:
    made = Made(("0F0 0F0 0B0", "1F0 1B0"), delays=(0, 1))
    again = Arrow((0, 0), (0, 1), "takes place, and once more")
    made.breaks("PP102 duplicate-operation", "0F0 again", (0, 1), arrows=(again,))

    held = drawn(opened(page_data(made.file())))

    panel = " ".join(held["panel"].split())
    assert (
        "0F0, rank 0, position 0 has taken place, and takes place once more as 0F0, rank 0" in panel
    )
    assert held["labels"] == ["once more"]


def test_no_arrow_hides_a_text_or_ends_behind_the_name_of_the_rule(deadlock: Page) -> None:
    held = drawn(deadlock)

    (flag,) = [box for box in held["boxes"] if box["outlined"]]
    into = [arrow for arrow in held["arrows"] if arrow["after"] == flag["op"]]
    above = [arrow for arrow in into if arrow["toY"] < flag["y"] + 1]
    assert above
    assert all(arrow["toX"] > flag["x"] + 40 for arrow in above)


def test_ranks_are_rows_and_time_runs_to_the_right(opened: Open) -> None:
    made = gpipe(3, 2)

    held = drawn(opened(page_data(made.file())))

    scale = (held["camera"] or {})["scaleX"]
    origin = held["boxes"][0]["x"]
    first = {rank: held["boxes"][made.op((rank, 0))] for rank in range(3)}
    assert [round((first[rank]["x"] - origin) / scale) for rank in range(3)] == [0, 1, 2]
    assert first[0]["y"] < first[1]["y"] < first[2]["y"]
    backward = held["boxes"][made.op((2, 2))]
    assert backward["width"] == pytest.approx(2 * first[0]["width"], abs=2)


def test_letters_and_patterns_tell_operations_apart_without_colour(case: Open) -> None:
    held = drawn(case("missing"))

    assert {box["kind"]: box["pattern"] for box in held["boxes"] if len(box["kind"]) == 1} == {
        "F": "plain",
        "B": "rising",
        "I": "falling",
        "W": "dots",
    }
    assert all(box["label"] == box["text"] for box in held["boxes"] if box["kind"] in "FBIW")


def test_a_message_without_partner_leads_to_what_stands_nowhere(case: Open) -> None:
    held = drawn(case("unmatched"))

    assert [extra["text"] for extra in held["extras"]] == ["no receive of this"]
    assert held["arrows"][-1]["after"] == -2
    assert "no receive of this (rank 1)" in held["panel"]


def test_operations_that_overlap_share_a_lane_and_stand_in_a_bracket(case: Open) -> None:
    made = CASES["overlap"]()
    page = case("overlap")
    page.wait_for_selector("#table table", state="attached")

    held = drawn(page)

    pair = [made.op((0, 2)), made.op((0, 3))]
    assert held["brackets"] == [pair]
    one, other = (held["boxes"][op] for op in pair)
    assert one["x"] == other["x"]
    assert one["y"] + one["height"] <= other["y"]


def test_only_what_is_in_sight_is_drawn(opened: Open) -> None:
    made = gpipe(30, 40)
    made.other = {"steps": None}
    page = opened(page_data(made.file()))

    before = {box["op"] for box in drawn(page)["boxes"]}
    page.evaluate("document.getElementById('view').scrollTo(1800, 500)")
    after = {box["op"] for box in drawn(page)["boxes"]}

    assert 0 < len(before) < 600
    assert 0 < len(after) < 600
    assert before.isdisjoint(after)


def test_packed_columns_and_plain_ones_are_drawn_alike(opened: Open) -> None:
    long = page_data(gpipe(3, 12).file())
    data = json.loads(long)
    assert "z" in data["files"][0]["views"][0]["grid"]["rank"]

    held = drawn(opened(long))

    assert [box["text"] for box in held["boxes"]][:2] == ["0F0", "0F1"]
    assert [box["text"] for box in held["boxes"] if box["op"] == 64] == ["2B4"]


def test_a_text_that_is_not_written_is_made_of_its_parts(opened: Open) -> None:
    data = json.loads(page_data(gpipe(1, 2).file()))
    data["files"][0]["views"][0]["grid"]["text"] = [-1, -1, -1, -1]

    held = drawn(opened(json.dumps(data)))

    assert [box["text"] for box in held["boxes"]] == ["0F0", "0F1", "0B0", "0B1"]


def test_what_is_not_drawn_is_said(case: Open) -> None:
    page = case("too-large")

    assert page.inner_text("#no-picture") == "2000000 operations: a page draws up to 1600000"
    assert not page.is_visible("#view")


def test_what_is_not_decided_is_said(case: Open) -> None:
    held = drawn(case("undecided"))

    assert "? unknown" in held["headline"]
    assert "PP503: too many orders of ready ranks" in held["panel"]


def test_a_violation_without_an_execution_says_so(case: Open) -> None:
    held = drawn(case("twice"))

    assert "No execution shows it" in held["panel"]
    assert [box["text"] for box in held["boxes"] if box["outlined"]] == ["0F0"]


def test_another_transport_shows_its_own_verdict(opened: Open) -> None:
    other = {**gpipe(2, 2).view(), "transport": "buffered"}
    page = opened(page_data(crossed().file(other)))

    page.click("#views button >> nth=1")

    held = drawn(page)
    assert held["view"] == "buffered"
    assert "proved" in held["headline"]
    assert len(held["boxes"]) == 8


def test_another_file_is_opened_from_the_list(opened: Open) -> None:
    page = opened(page_data(crossed().file(), gpipe(2, 3).file()))

    page.select_option("#files", "1")

    assert len(drawn(page)["boxes"]) == 12
    assert page.inner_text("#name") == "GPipe on 2 ranks"


def test_the_table_for_readers_says_what_is_in_sight_and_what_is_left_out(opened: Open) -> None:
    page = opened(page_data(gpipe(20, 20).file()))

    page.wait_for_selector("#table table", state="attached")

    rows = page.locator("#table tbody tr")
    assert rows.count() == 120
    caption = page.text_content("#table caption") or ""
    assert caption.endswith("120 of 800; 680 are left out.")
    assert rows.nth(0).locator("th, td").all_text_contents()[:3] == ["0F0", "0", "0"]


@pytest.mark.parametrize("text", [" ".join(HOSTILE), "\"'<x>" * 40_000], ids=["each", "long"])
def test_hostile_texts_are_shown_as_text(opened: Open, text: str) -> None:
    page = opened(page_data(hostile(text).file()))

    held = drawn(page)
    assert page.locator("script").count() == 2
    assert page.locator("img, a, iframe, object").count() == 0
    assert page.evaluate("window.name") == ""
    start = re.split(r"[\x00-\x1f]", text)[0][:30]
    assert start in held["headline"]
    assert start in held["panel"]
    assert len(held["panel"]) < 30_000


def test_the_summary_stands_until_the_script_takes_over(opened: Open) -> None:
    page = opened(json.dumps({"schema": "another/1"}), ready="main")

    assert page.inner_text("main") == "Refuted"


def test_what_takes_no_time_hangs_like_a_flag_before_what_comes_next(opened: Open) -> None:
    made = Made(("0F0 0SEND_F0 0F1 0SEND_F1",), moments={(0, 1): (1, 1), (0, 3): (3, 3)})

    held = drawn(opened(page_data(made.file())))

    first, flag = held["boxes"][0], held["boxes"][2]
    assert flag["text"] == "0SEND_F0"
    assert flag["x"] == pytest.approx(first["x"] + first["width"], abs=2)
    assert 0 < flag["width"] <= first["width"]
