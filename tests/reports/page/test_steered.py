"""Steering the page by keys alone, by pointer, by address; and who can read it."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Page

from tests.reports.page.cases import crossed, gpipe
from tests.reports.page.conftest import Open
from tests.reports.page.drawn import Drawn, drawn, settled
from tests.reports.page.made import Json, page_data


def changed(held: Drawn) -> dict[str, tuple[str, str]]:
    rows = [row for table in held["tables"] for row in table["rows"] if row["changed"]]
    return {row["name"]: (row["before"], row["after"]) for row in rows}


def obstacles(page: Page) -> list[str]:
    """What keeps someone from reading the page, if it is serious."""
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [each["id"] for each in found if each["impact"] in ("serious", "critical")]


def _large(ranks: int, microbatches: int) -> dict[str, Json]:
    made = gpipe(ranks, microbatches)
    made.other = {"steps": None}
    return made.file()


def press(page: Page, *keys: str) -> Drawn:
    for key in keys:
        page.keyboard.press(key)
    return drawn(page)


def test_arrows_step_through_the_execution_and_each_state_shows_what_changed(
    deadlock: Page,
) -> None:
    first = press(deadlock, "Home")
    second = press(deadlock, "ArrowRight")
    last = press(deadlock, "End")

    assert (first["step"], second["step"], last["step"]) == (0, 1, last["steps"] - 1)
    assert first["event"] == "event 1 of 14: 0F0 of rank 0 start"
    assert changed(first) == {"r0": ("before 0", "in 0: 0F0")}
    assert changed(second) == {
        "r0": ("in 0: 0F0", "before 1"),
        "r0 kept by 0F0": ("", "held"),
    }
    assert [box["text"] for box in second["boxes"] if box["current"]] == ["0F0"]
    assert [box["text"] for box in second["boxes"] if box["state"] == "done"] == ["0F0"]
    assert changed(last) == {"r1": ("before 3", "in 3: 1SEND_B0")}


def test_a_step_looks_the_same_from_before_and_from_behind(deadlock: Page) -> None:
    forward = press(deadlock, "Home", *["ArrowRight"] * 5)
    backward = press(deadlock, "End", *["ArrowLeft"] * 8)

    assert forward["step"] == 5
    assert forward == backward


def test_steps_do_not_lead_beyond_the_ends(deadlock: Page) -> None:
    assert press(deadlock, "Home", "ArrowLeft")["step"] == 0
    assert press(deadlock, "End", "ArrowRight")["step"] == 13


def test_changes_are_marked_by_more_than_colour(deadlock: Page) -> None:
    press(deadlock, "Home")

    marks = deadlock.locator("#state tr.changed [role=img][aria-label=changed]")
    assert marks.all_text_contents() == ["●"]
    assert deadlock.locator("#state tr.changed").count() == 1


def test_a_step_is_told_to_readers(deadlock: Page) -> None:
    press(deadlock, "Home", "ArrowRight")

    assert deadlock.text_content("#live") == "event 2 of 14: 0F0 of rank 0 done "


def test_space_plays_and_pauses(opened: Open) -> None:
    page = opened(page_data(gpipe(2, 1).file()))

    page.keyboard.press(" ")
    assert page.get_attribute("#step-play", "aria-label") == "Pause"
    page.wait_for_selector("#step-said:has-text('event 2 of')")
    page.keyboard.press(" ")

    assert page.get_attribute("#step-play", "aria-label") == "Play"


def test_keys_move_between_operations_and_light_causes_and_effects(deadlock: Page) -> None:
    made = crossed()
    press(deadlock, "[")
    deadlock.wait_for_selector("#card:has-text('0SEND_F1')")
    press(deadlock, "[", "[")
    deadlock.wait_for_selector("#card:has-text('0SEND_F0')")

    held = drawn(deadlock)

    lit = {box["op"]: box["lit"] for box in held["boxes"] if box["lit"]}
    assert lit == {
        made.op((0, 0)): "cause",
        made.op((0, 1)): "self",
        made.op((0, 2)): "effect",
        made.op((1, 0)): "effect",
    }
    arrows = {(arrow["before"], arrow["after"]) for arrow in held["arrows"]}
    assert (made.op((0, 1)), made.op((1, 0))) in arrows
    said = deadlock.inner_text("#card")
    assert "rank 0, position 1 · stage 0 · microbatch 0" in said
    assert "defined at runs/pipe.yaml:6:12" in said


def test_enter_keeps_what_comes_before_and_after_at_full_strength(deadlock: Page) -> None:
    made = crossed()
    press(deadlock, "[")
    deadlock.wait_for_selector("#card:has-text('0SEND_F1')")

    held = press(deadlock, "Enter")
    strong = {box["text"] for box in held["boxes"] if not box["dimmed"]}
    after = press(deadlock, "Escape")

    assert held["pinned"] == made.op((0, 3))
    assert {"0F0", "0SEND_F0", "0F1", "0SEND_F1", "1RECV_F1", "1F1"} <= strong
    assert strong.isdisjoint({"1F0", "1B0", "1SEND_B0"})
    assert after["pinned"] == -1


def test_a_pointer_over_an_operation_lights_it_and_shows_its_card(deadlock: Page) -> None:
    box = next(box for box in drawn(deadlock)["boxes"] if box["text"] == "1B0")
    frame = deadlock.locator("#picture").bounding_box()
    assert frame is not None

    deadlock.mouse.move(frame["x"] + box["x"] + 8, frame["y"] + box["y"] + 8)
    deadlock.wait_for_selector("#card:has-text('1B0')")

    lit = {each["text"]: each["lit"] for each in drawn(deadlock)["boxes"] if each["lit"]}
    assert lit == {"1B0": "self", "1F0": "cause", "1SEND_B0": "effect"}


def test_a_counterexample_can_be_walked_through_by_keys_alone(deadlock: Page) -> None:
    def active() -> str:
        return str(deadlock.evaluate("document.activeElement.textContent.slice(0, 8)"))

    for _ in range(9):
        deadlock.keyboard.press("Tab")
        if active().startswith("0SEND_F1"):
            break
    assert active() == "0SEND_F1"
    outline = deadlock.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    press(deadlock, "Enter")
    focused = drawn(deadlock)["focus"]
    press(deadlock, "?")
    assert deadlock.is_visible("#help")
    press(deadlock, "Escape")
    stepped = press(deadlock, "Home", "ArrowRight", "ArrowRight")

    assert outline == "solid"
    assert focused == crossed().op((0, 3))
    assert not deadlock.is_visible("#help")
    assert stepped["step"] == 2


def test_search_finds_by_text_and_by_place(deadlock: Page) -> None:
    made = crossed()

    deadlock.keyboard.press("/")
    deadlock.keyboard.type("f1")
    found = drawn(deadlock)
    assert {box["text"] for box in found["boxes"] if box["hit"]} >= {"0F1", "0SEND_F1", "1F1"}
    assert deadlock.inner_text("#hits") == "4 found"
    deadlock.keyboard.press("Enter")
    assert deadlock.inner_text("#hits") == "1 of 4"
    assert drawn(deadlock)["focus"] == made.op((0, 2))
    deadlock.keyboard.press("Enter")
    assert drawn(deadlock)["focus"] == made.op((0, 3))

    deadlock.fill("#search", "r1.2")
    deadlock.keyboard.press("Enter")
    assert drawn(deadlock)["focus"] == made.op((1, 2))


def test_the_picture_is_zoomed_and_fitted_by_keys(opened: Open) -> None:
    page = opened(page_data(_large(8, 16)))

    def scale(held: Drawn) -> float:
        return (held["camera"] or {})["scaleX"]

    before = drawn(page)
    nearer, wider = press(page, "+"), press(page, "-", "-")
    whole = press(page, "f")
    moved = press(page, "+", "+", "Shift+ArrowRight")

    assert scale(wider) < scale(before) < scale(nearer)
    assert len(whole["boxes"]) == 256
    assert (moved["camera"] or {})["panX"] > (whole["camera"] or {})["panX"]


def test_dragging_moves_the_picture(opened: Open) -> None:
    page = opened(page_data(_large(20, 24)))
    frame = page.locator("#picture").bounding_box()
    assert frame is not None
    before = drawn(page)["camera"] or {}

    page.mouse.move(frame["x"] + 400, frame["y"] + 150)
    page.mouse.down()
    page.mouse.move(frame["x"] + 250, frame["y"] + 90, steps=3)
    page.mouse.up()

    after = drawn(page)["camera"] or {}
    assert (after["panX"] - before["panX"], after["panY"] - before["panY"]) == (150, 60)


def test_what_is_not_the_cause_is_shown_in_full_when_asked(deadlock: Page) -> None:
    held = press(deadlock, "d")

    assert not any(box["dimmed"] for box in held["boxes"])
    assert held["arrows"] == []


def test_an_address_opens_what_it_says(opened: Open) -> None:
    other = {**gpipe(2, 2).view(), "transport": "buffered"}
    data = page_data(gpipe(2, 3).file(), crossed().file(other))

    page = opened(data, "#step=3&violation=0&op=1&file=1&view=rendezvous")

    held = drawn(page)
    assert (held["view"], held["violation"], held["step"]) == ("rendezvous", 0, 3)
    assert held["pinned"] == 1
    press(page, "ArrowRight")
    assert page.url.endswith("#file=1&view=rendezvous&violation=0&step=4&op=1")


@pytest.mark.parametrize(
    "fragment",
    [
        "#file=9&view=none&violation=-1&step=1e3&op=99999999999",
        "#step=14&violation=1&op=16",
        "#%E0%A4%A&=&&step",
        "#view=<img src=x onerror=alert(1)>",
    ],
)
def test_an_address_that_is_wrong_opens_what_there_is(opened: Open, fragment: str) -> None:
    held = drawn(opened(page_data(crossed().file()), fragment))

    assert (held["view"], held["violation"], held["step"]) == ("rendezvous", 0, 13)
    assert held["pinned"] == -1


def test_a_step_is_enough_of_an_address(opened: Open) -> None:
    held = drawn(opened(page_data(crossed().file()), "#step=4"))

    assert held["event"].startswith("event 5 of 14")
    assert any(box["current"] for box in held["boxes"])


def test_an_address_that_is_edited_is_followed(deadlock: Page) -> None:
    deadlock.evaluate("location.hash = '#view=rendezvous&violation=0&step=2'")
    deadlock.wait_for_selector("#step-said:has-text('event 3 of')")

    assert drawn(deadlock)["step"] == 2


def test_violations_are_chosen_among(opened: Open) -> None:
    made = crossed().breaks("PP303 stranded-message", "0SEND_F1 is never received", (0, 3))
    page = opened(page_data(made.file()))

    held = press(page, "n")

    assert held["violation"] == 1
    assert "PP303" in held["headline"]
    assert page.locator(".choice[aria-current]").all_inner_texts()[0].startswith("PP303")


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 700)])
def test_no_serious_obstacle_for_anyone(case: Open, scheme: str, width: int) -> None:
    page = case("deadlock", "step=4", scheme, width)
    page.wait_for_selector("#table table", state="attached")

    press(page, "[")
    assert obstacles(page) == []
    press(page, "?")
    assert obstacles(page) == []


def test_a_proof_has_no_serious_obstacle_either(case: Open) -> None:
    page = case("overlap")

    assert obstacles(page) == []


@pytest.mark.parametrize("name", ["deadlock", "wide"])
def test_it_prints_to_one_page_in_light_colours(case: Open, name: str) -> None:
    page = case(name, scheme="dark")

    pdf = page.pdf(prefer_css_page_size=True, print_background=True)

    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) == 1


def test_on_paper_the_whole_schedule_is_drawn_and_then_the_screen_again(case: Open) -> None:
    page = case("wide", scheme="dark")
    before = page.evaluate("document.getElementById('picture').width")

    page.emulate_media(media="print", color_scheme="dark")
    settled(page)
    on_paper = page.evaluate("document.getElementById('picture').width")
    ground = page.evaluate(
        "[...document.getElementById('picture').getContext('2d').getImageData(2, 90, 1, 1).data]"
    )
    page.emulate_media(media="null", color_scheme="dark")
    settled(page)

    assert on_paper == 2080
    assert ground == [255, 255, 255, 255]
    assert page.evaluate("document.getElementById('picture').width") == before
