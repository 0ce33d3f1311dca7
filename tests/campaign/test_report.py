"""The report of a campaign: told from rows alone, in any order the same."""

import json

import pytest

from pipeproof.campaign.executor import Ended
from pipeproof.campaign.report import RATES, report
from pipeproof.campaign.store import Row
from pipeproof.campaign.targets.generator import Grid, Point
from pipeproof.campaign.targets.itself import Itself, perform
from pipeproof.campaign.task import Json, Task
from tests.campaign.targets.made import hunted

TARGET = Itself(4, 41, 0)
HOSTILE = "::error::x \x1b[31m \u202e <b> javascript:"


def done(task: Task, answer: dict[str, Json]) -> Row:
    return Row(task.key, Ended(task, "done", answer, ""))


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return [Row(t.key, Ended(t, "done", perform(t.body), "")) for t in TARGET.tasks()]


def test_the_order_of_rows_changes_nothing(rows: list[Row]) -> None:
    forwards, backwards = report(TARGET, rows), report(TARGET, rows[::-1])

    assert forwards.text() == backwards.text()
    assert forwards.json() == backwards.json()


def test_it_says_what_was_covered_and_what_that_is_worth(rows: list[Row]) -> None:
    text = report(TARGET, rows).text()

    assert text.startswith("hunt of self, cases 4, ")
    assert "4 tasks done, 0 without an answer, 0 not run" in text
    assert "found: nothing" in text
    assert "chance that 4 independent trials meet a fault at least once:" in text
    assert "  of rate 0.1: 0.3439\n" in text
    assert "an assumption, not a measurement" in text


def test_json_holds_the_same(rows: list[Row]) -> None:
    said = json.loads(report(TARGET, rows).json())

    assert said["schema"] == "pipeproof.hunt/1"
    assert said["campaign"] == dict(TARGET.campaign)
    assert said["tasks"] == {"done": 4, "without_answer": 0, "not_run": 0}
    assert [each["rate"] for each in said["chances"]] == list(RATES)
    assert said["found"] == []


def test_tasks_that_hit_a_guard_or_were_not_run_are_named(rows: list[Row]) -> None:
    hit = rows[0].ended._replace(outcome="timeout", answer=None, why="it took more than 1 s")
    made = report(TARGET, [Row(rows[0].key, hit), *rows[2:]])

    assert "2 tasks done, 1 without an answer, 1 not run" in made.text()
    assert f"  {rows[0].key[:12]} self draw=" in made.text()
    assert json.loads(made.json())["guards"][0]["outcome"] == "timeout"


def test_what_shards_minimised_each_for_itself_changes_nothing() -> None:
    texts = [
        "pipeproof: 1\nmicrobatches: {}\nranks:\n  - {}\n".format(
            number, "; ".join(f"0B{m}; 0F{m}" for m in range(number))
        )
        for number in (1, 2, 3)
    ]
    points = tuple(Point({"name": "x", "is": str(at)}, text) for at, text in enumerate(texts))
    grid = Grid(points, ("gloo",))
    shards = [*hunted(Grid(points[1:], ("gloo",))), *hunted(Grid(points[:1], ("gloo",)))]

    assert len(shards) == 5
    assert report(grid, hunted(grid)).json() == report(grid, shards).json()


def test_what_another_campaign_left_in_a_store_counts_for_nothing(rows: list[Row]) -> None:
    (other, *_) = Itself(1, 7, 0).tasks()
    find: dict[str, Json] = {"find": "engines", "said": "a, not b", "text": "x"}
    more = [*rows, done(other, {"verdict": "none", **find})]

    assert report(TARGET, more).json() == report(TARGET, rows).json()


def test_what_is_found_is_told_in_one_line_of_plain_text() -> None:
    (task, *_) = TARGET.tasks()
    find: dict[str, Json] = {"find": "engines", "said": f"{HOSTILE}\nmore", "text": "x"}
    made = report(TARGET, [done(task, {"verdict": "none", **find})])
    lines = [line for line in made.text().splitlines() if "self-41-engines" in line]

    assert len(lines) == 1
    assert lines[0].endswith("more")
    assert json.loads(made.json())["found"][0]["name"] == "self-41-engines"
