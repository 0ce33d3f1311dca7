"""A schedule hunted around: mutants are killed or equivalent, and torch is asked about them."""

import json
from collections import Counter
from pathlib import Path

import pytest

from pipeproof.campaign.judged import Judged, Under
from pipeproof.campaign.mutate import mutations
from pipeproof.campaign.targets import _witness
from pipeproof.campaign.targets.generator import Point, known_text
from pipeproof.campaign.targets.named import target_named
from pipeproof.campaign.targets.schedule import KIND, Around, perform
from pipeproof.campaign.task import Json, canonical
from tests.campaign.targets.made import hunted

ROOT = Path(__file__).parents[3]
TEXT = known_text("1f1b", (2, 2, None))
BASE = Point({"name": "1f1b", "is": "base"}, TEXT)
BESIDE = Point({"name": "1f1b", "lowering": "torch-deferred"}, known_text("1f1b", (2, 3, None)))
SMALL = Around((BASE,), (BESIDE,), 2, 0, ("swap", "drop", "move", "free-early"), ("gloo",))


def body(name: str) -> dict[str, Json]:
    return {"text": TEXT, "mutation": name, "seed": 0, "transports": ["gloo"]}


def test_as_many_mutants_as_asked_for_of_each_mutation_that_changes_something() -> None:
    names = Counter(task.body["mutation"] for task in SMALL.tasks() if task.kind == KIND)

    assert names == {"swap": 2, "drop": 2, "move": 2}


def test_schedules_take_turns() -> None:
    other = Point({"name": "gpipe", "is": "base"}, known_text("gpipe", (2, 2, None)))
    asked = Around((BASE, other), (), 4, 7, ("swap",))
    tasks = [task.body for task in asked.tasks() if task.kind == KIND]

    assert [each["seed"] for each in tasks] == [7, 7, 8, 8]
    assert [each["text"] for each in tasks] == [TEXT, other.text] * 2


def test_all_mutations_are_tried_where_none_is_named() -> None:
    asked = Around((BASE,), (), 1, 0)
    names = {str(task.body["mutation"]) for task in asked.tasks() if task.kind == KIND}

    assert len(names) > 10
    assert names < {*mutations()}


def test_a_mutant_is_killed_or_shown_to_be_as_legal() -> None:
    told = SMALL.told(hunted(SMALL))
    rows = {row[0]: row[1:] for row in told.tables[0].rows}

    assert rows["drop"] == ("2", "2", "2", "0", "0", "0")
    assert all(int(row[2]) + int(row[3]) == int(row[0]) for row in rows.values())
    assert "1 schedule, 1 of them proved, and their mutants" in told.covered
    assert "3 of 4 mutations change something in them" in told.covered
    assert not told.distrust


def test_a_schedule_that_is_refuted_before_it_is_changed_is_told() -> None:
    text = (ROOT / "specs/illegal/swapped-receive.yaml").read_text(encoding="utf-8")
    wrong = Point({"name": "swapped", "is": "base"}, text)
    asked = Around((BASE, wrong), (), 1, 0, ("swap",), ("gloo",))
    said = "1 of them refuted before anything is changed: their mutants show little"
    told, small = asked.told(hunted(asked)), SMALL.told(hunted(SMALL))

    assert said in told.covered
    assert (told.refuted, told.cases) == (1, ())
    assert small.refuted == 0
    assert not any("before anything" in each for each in small.covered)


def test_a_witness_that_differs_is_a_case_and_no_trust(monkeypatch: pytest.MonkeyPatch) -> None:
    def legal(*asked: object) -> Judged:
        under = Under("gloo", "refuted", "PP101", (), ("PP101",))
        return Judged("proved", (Under("gloo", "proved"),) if "graph" in asked else (under,))

    monkeypatch.setattr(_witness, "_judged", legal)
    asked = SMALL._replace(mutations=("drop",), mutants=1, beside=())
    told = asked.told(hunted(asked))

    assert told.distrust
    assert [each.mutation for each in told.cases] == ["drop"]
    assert "gloo: proved, and by the witness refuted" in told.cases[0].what


def test_a_mutant_that_no_witness_decides_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        _witness,
        "_judged",
        lambda _document, _transports, _effort, engine: Judged(
            "proved" if engine == "graph" else "unknown", ()
        ),
    )

    assert perform(body("swap"))["fate"] == "unknown"
    asked = SMALL._replace(mutations=("swap",), beside=())
    told = asked.told(hunted(asked))
    assert (told.trials, told.undecided) == (0, 2)


def test_equal_mutants_are_one_trial() -> None:
    asked = SMALL._replace(mutations=("drop",), mutants=30, beside=())
    told = asked.told(hunted(asked))
    (_, mutants, different, *_), *_ = told.tables[0].rows

    assert int(different) < int(mutants)
    assert (told.trials, told.undecided) == (int(different), 0)


def test_what_torch_lets_through_is_a_find_where_torch_is_asked_for() -> None:
    pytest.importorskip("torch")
    asked = Around((BASE,), (), 1, 3, ("duplicate",), ("gloo",), torch=True, blames=True)
    rows = hunted(asked)
    told = asked.told(rows)

    assert told.cases
    assert all(each.rule and each.minimised for each in told.cases)
    assert "torch lets" in told.cases[0].what
    assert not asked._replace(blames=False).told(rows).cases


def test_a_mutation_that_changes_nothing_is_no_mutant() -> None:
    assert perform(body("free-early")) == {"applies": 0}


def test_it_is_found_again_by_what_it_says_of_itself() -> None:
    assert target_named(json.loads(canonical(SMALL.campaign))) == SMALL
