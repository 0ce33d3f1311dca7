"""Pipeproof against itself: a case is judged by everything, and whoever errs is named."""

import json
from typing import NoReturn

import pytest

from pipeproof.campaign.drawn import drawn
from pipeproof.campaign.executor import Ended
from pipeproof.campaign.store import Row
from pipeproof.campaign.targets import _certified, itself
from pipeproof.campaign.targets.itself import MIX, Itself, judge, perform
from pipeproof.campaign.task import Task, canonical
from pipeproof.errors import DisagreementError, ReplayMismatchError
from pipeproof.proofs.judging import Judging

LEGAL = drawn("legal", 3)


def answered(target: Itself) -> list[Row]:
    tasks = list(target.tasks())
    return [Row(task.key, Ended(task, "done", perform(task.body), "")) for task in tasks]


def test_a_campaign_draws_every_kind_and_every_so_many_on_tensors() -> None:
    tasks = list(Itself(50, 100, 25).tasks())

    assert [task.body["seed"] for task in tasks] == list(range(100, 150))
    assert {task.body["draw"] for task in tasks} == {*MIX}
    assert [task.body["seed"] for task in tasks if "torch" in task.body] == [100, 125]
    assert len({task.body["mutation"] for task in tasks if "mutation" in task.body}) > 4


def test_a_campaign_is_found_again_by_what_it_says_of_itself() -> None:
    target = Itself(5, 1, 0, 99, 100)

    assert Itself.of(json.loads(canonical(target.campaign))) == target


def test_cases_are_judged_and_certified_and_the_same_again() -> None:
    target = Itself(8, 0, 0)
    rows = answered(target)
    told = target.told(rows)

    assert rows[:3] == answered(target._replace(cases=3))
    assert not told.cases
    assert told.trials == 8
    assert "8 agree everywhere, 0 do not" in told.covered
    assert {table.title for table in told.tables} >= {"drawn", "mutation", "first rule broken"}
    assert sum(int(str(row.ended.answer["spoiled"])) for row in rows if row.ended.answer) > 4


def raising(error: Exception) -> object:
    def fails(*_: object) -> NoReturn:
        raise error

    return fails


@pytest.mark.parametrize(
    ("error", "who"),
    [
        (DisagreementError("a, not b"), "engines"),
        (ReplayMismatchError("no such run"), "replay"),
        (ZeroDivisionError("x"), "crash"),
    ],
)
def test_what_goes_wrong_in_judging_is_a_find_with_its_schedule(
    monkeypatch: pytest.MonkeyPatch, error: Exception, who: str
) -> None:
    monkeypatch.setattr(Judging, "verdict", raising(error))
    found = judge(LEGAL, {"draw": "legal", "seed": 3})

    assert (found["find"], found["text"]) == (who, LEGAL)


def test_a_verdict_that_construction_contradicts_is_a_find() -> None:
    found = judge(LEGAL, {"draw": "broken", "seed": 3})

    assert found["find"] == "construction"
    assert "refuted by construction, and found proved" in str(found["said"])


@pytest.mark.parametrize(("checker", "who"), [("_verified", "replay"), ("_rechecked", "recheck")])
def test_a_certificate_that_a_checker_refuses_is_a_find(
    monkeypatch: pytest.MonkeyPatch, checker: str, who: str
) -> None:
    monkeypatch.setattr(_certified, checker, lambda *_: "no")

    assert judge(LEGAL, {"draw": "legal", "seed": 3})["find"] == who


@pytest.mark.parametrize(("checker", "who"), [("_verified", "replay"), ("_rechecked", "recheck")])
def test_a_spoiled_certificate_that_a_checker_accepts_is_a_find(
    monkeypatch: pytest.MonkeyPatch, checker: str, who: str
) -> None:
    monkeypatch.setattr(_certified, checker, lambda *_: "")
    found = judge(LEGAL, {"draw": "legal", "seed": 3})

    assert found["find"] == who
    assert "a spoiled certificate is accepted" in str(found["said"])


def test_a_find_is_told_as_a_case_and_as_distrust(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Judging, "verdict", raising(DisagreementError("a, not b")))
    target = Itself(1, 2, 0)
    told = target.told(answered(target))

    assert told.distrust
    assert [each.name for each in told.cases] == ["self-2-engines"]
    assert told.cases[0].what == "engines: a, not b"


def test_a_case_without_an_answer_counts_for_nothing() -> None:
    target = Itself(1, 2, 0)
    (task,) = target.tasks()
    told = target.told([Row(task.key, Ended(task, "timeout", None, "it took more than 1 s"))])

    assert (told.trials, told.cases) == (0, ())


def test_nothing_follows_from_a_case() -> None:
    assert not list(Itself(1, 2, 0).further([Row("", Ended(Task("self", {}), "done", {}, ""))]))


def test_a_proved_fragment_is_run_on_tensors() -> None:
    assert "fragment" in drawn("small", 1125)
    found = itself.perform({"draw": "small", "seed": 1125, "torch": 1})

    assert "find" not in found
    assert found["torch"] == "right numbers"


def test_a_refuted_fragment_is_not_run_on_tensors() -> None:
    found = itself.perform({"draw": "small", "seed": 457, "torch": 1})

    assert (found["verdict"], found["torch"]) == ("refuted", "refuted fragment, not run")


def test_an_update_before_everything_is_no_find() -> None:
    (task,) = Itself(1, 4975, 1).tasks()
    found = perform(task.body)

    assert "find" not in found
    assert found["torch"] == "confirmed"
