"""Three engines, replay, second checker and state machine say the same of random schedules.

All instructions and transports, choices in a third of them, legal ones and their mutants;
`python -m pytest -m slow tests/conformance/test_three_engines.py` runs ten thousand.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice

import pytest

from pipeproof import api
from pipeproof.campaign.drawn import Maker
from pipeproof.errors import InputError, UnsupportedFeatureError
from pipeproof.ir.transport import NAMED
from tests.interpreter.mutations import RULES, mutants
from tests.properties.certifying import certified_text, rechecked, rejected
from tests.properties.test_against_machine import overlaps_compared

DRAWN, MUTANTS = 150, 5  # in the suite: drawn schedules, and mutants of each rule
MANY_DRAWN, MANY_MUTANTS, BLOCK = 5_200, 100, 130
ALL = api.Asked(engine=api.ALL)
STORED = ("PP501", "PP502", "PP503", "PP504", "PP505")
CHOICES = ("CHOOSE", "from=any", '"take"')

KINDS = {
    *("F", "L", "B", "I", "W", "R", "LOAD", "SEND", "RECV", "SEND_F", "RECV_F", "SEND_B"),
    *("RECV_B", "[", "WAIT", "COLL", "COLL from", "COLL to", "SIGNAL", "AWAIT", "FREE", "WRITE"),
    *("USE", "HOLD", "DROP", "ZERO", "SCALE", "REDUCE", "NORM", "TIE", "STALE", "STEP", "SKIP"),
    *("COMMIT", "ROLLBACK", "GATHER", "SAVE", "SAVE async", "CONSUME", "RESUME", "RESTORE"),
    *("UNSHARD", "RESHARD", "OVERLAP_F_B", "CHOOSE"),
}
"""Every instruction of section 2 of the language, and CHOOSE."""


def judged(text: str) -> str:
    """The verdict on which all engines agree; `none` where the text is no schedule.

    Every counterexample has been replayed when judging returns.
    """
    try:
        return api.judge_text(text, "drawn", ALL).verdict
    except (InputError, UnsupportedFeatureError):
        return "none"


def drawn(seeds: range) -> Iterator[str]:
    for seed in seeds:
        maker = Maker(seed)
        maker.choices = seed % 5 < 2
        yield maker.text()


def with_mutants(rule: str, number: int) -> Iterator[str]:
    """Legal schedules and a mutant of each, in a third of them with a choice that changes nothing.

    Instructions of both outcomes stand in the place of one.
    """
    for turn, mutant in enumerate(mutants(rule, number)):
        for text in (mutant.original, mutant.text):
            yield with_choice(text, turn) if turn % 3 == 0 else text


def with_choice(text: str, turn: int) -> str:
    """The schedule with one instruction written once for each outcome of a choice before it."""
    lines = text.splitlines()
    program = [number for number, line in enumerate(lines) if line.startswith("    ")]
    at = program[turn * 7 % len(program)]
    lines[at : at + 1] = [f"{lines[at]} if=chosen:{outcome}" for outcome in "ab"]
    while lines[at - 1] != "  - |":
        at -= 1
    lines.insert(at, "    CHOOSE chosen a|b")
    return "\n".join([*lines, ""])


def kind(word: str) -> str:
    """The kind of an instruction as it is written."""
    head, *rest = word.split()
    if head[0] in "[(":
        return "[" if head[0] == "[" else word[word.rindex(")") + 1 :].split(maxsplit=1)[0]
    if head == "COLL":
        return next((f"COLL {each}" for each in ("from", "to") if f" {each}=" in word), head)
    if head == "SAVE" and rest:
        return "SAVE async"
    return re.sub(r"^\d+|\d+$", "", head)


def accepted_by_both(text: str) -> bool:
    """Whether the certificates of a schedule are accepted by replay and by the second checker."""
    try:
        made = certified_text(text)
    except (InputError, UnsupportedFeatureError):
        return True
    written = made.certificate.text
    return not rejected(made, written) and not (
        made.certificate.statements and rechecked(written, made.as_run)
    )


def test_schedules_of_every_kind_are_drawn() -> None:
    texts = [json.loads(text) for text in drawn(range(DRAWN))]
    transports = [each["transport"] for each in texts]
    named = {each for each in transports if isinstance(each, str)}
    forms = [each for each in transports if isinstance(each, dict)]

    words = (word for text in texts for program in text["ranks"] for word in program)
    assert {kind(word) for word in words} >= KINDS
    assert {*NAMED, "strict"} <= named
    assert ["rendezvous", "gloo"] in transports
    for key, values in {
        "completion": ("rendezvous", "buffered"),
        "queue": ("none", "edge", "direction", "pair", "rank"),
        "groups": ("independent", "atomic"),
        "wait": ("blocking", "at-use", "explicit"),
        "match": ("order", "tag"),
        "capacity": (1, 2),
        "weak": (["c1"],),
        "communicators": ("lazy",),
    }.items():
        assert all(any(form.get(key) == value for form in forms) for value in values), key


def test_a_third_of_the_schedules_leaves_something_to_the_runtime() -> None:
    texts = [*drawn(range(DRAWN)), *(t for rule in RULES for t in with_mutants(rule, 3))]
    chosen = [text for text in texts if any(each in text for each in CHOICES)]

    assert 3 * len(chosen) >= len(texts)


@pytest.mark.parametrize("low", range(0, DRAWN, 50))
def test_engines_agree_on_drawn_schedules(low: int) -> None:
    found = Counter(map(judged, drawn(range(low, low + 50))))

    assert found["refuted"] > 30, found
    assert found["none"] < 15, found


@pytest.mark.parametrize("rule", RULES)
def test_engines_agree_on_legal_schedules_and_their_mutants(rule: str) -> None:
    found = Counter(map(judged, with_mutants(rule, MUTANTS)))

    assert found["proved"] >= MUTANTS, found
    assert found["refuted"] > 0, found


def test_engines_and_state_machine_see_the_same_accesses_overlap() -> None:
    texts = [*drawn(range(0, DRAWN, 4)), *(t for rule in STORED for t in with_mutants(rule, 3))]
    found = overlaps_compared(texts)

    assert found["every state"] > 0.9 * found["compared"], found
    assert found["overlapping"] > 5, found


@pytest.mark.slow
@pytest.mark.parametrize("low", range(DRAWN, MANY_DRAWN, BLOCK))
def test_engines_agree_on_many_drawn_schedules_and_certificates_are_accepted(low: int) -> None:
    texts = list(drawn(range(low, low + BLOCK)))
    found = Counter(map(judged, texts))

    assert found["refuted"] > BLOCK // 2, found
    assert all(map(accepted_by_both, texts))
    assert overlaps_compared(texts)["overlapping"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_engines_agree_on_many_mutants_and_certificates_are_accepted(rule: str) -> None:
    texts = list(islice(with_mutants(rule, MANY_MUTANTS), 2 * MUTANTS, None))
    found = Counter(map(judged, texts))

    assert found["proved"] >= MANY_MUTANTS - MUTANTS, found
    assert all(map(accepted_by_both, texts))
    assert overlaps_compared(texts)["compared"] >= len(texts)
