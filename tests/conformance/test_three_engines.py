"""Three engines, the replay and the second checker say the same of random schedules.

All instructions and transports, choices in a third of the drawn ones, legal ones and their mutants;
`python -m pytest -m slow tests/conformance/test_three_engines.py` runs ten thousand.
"""

from collections import Counter
from collections.abc import Iterator

import pytest

from pipeproof import api
from pipeproof.errors import InputError, UnsupportedFeatureError
from tests.interpreter.mutations import RULES, mutants
from tests.properties.certifying import certified_text, rechecked, rejected
from tests.properties.test_every_instruction import Maker

DRAWN, MUTANTS = 240, 6  # in the suite: drawn schedules, and mutants of each rule
MANY_DRAWN, MANY_MUTANTS, BLOCK = 5_200, 105, 400
ALL = api.Asked(engine=api.ALL)


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
        maker.choices = seed % 3 == 0
        yield maker.text()


def with_mutants(rule: str, number: int) -> Iterator[str]:
    for mutant in mutants(rule, number):
        yield mutant.original
        yield mutant.text


def accepted_by_both(text: str) -> bool:
    """Whether the certificates of a schedule are accepted by replay and by the second checker."""
    made = certified_text(text)
    written = made.certificate.text
    return not rejected(made, written) and not rechecked(written, made.as_run)


@pytest.mark.parametrize("low", range(0, DRAWN, 80))
def test_engines_agree_on_drawn_schedules(low: int) -> None:
    found = Counter(map(judged, drawn(range(low, low + 80))))

    assert found["refuted"] > 40, found
    assert found["none"] < 20, found


@pytest.mark.parametrize("rule", RULES)
def test_engines_agree_on_legal_schedules_and_their_mutants(rule: str) -> None:
    found = Counter(map(judged, with_mutants(rule, MUTANTS)))

    assert found["proved"] >= MUTANTS, found
    assert found["refuted"] > 0, found


@pytest.mark.slow
@pytest.mark.parametrize("low", range(DRAWN, MANY_DRAWN, BLOCK))
def test_engines_agree_on_many_drawn_schedules(low: int) -> None:
    found = Counter(map(judged, drawn(range(low, low + BLOCK))))

    assert found["refuted"] > BLOCK // 3, found


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_engines_agree_on_many_mutants_and_their_certificates_are_accepted(rule: str) -> None:
    texts = list(with_mutants(rule, MANY_MUTANTS))
    found = Counter(map(judged, texts))

    assert found["proved"] >= MANY_MUTANTS, found
    assert all(map(accepted_by_both, texts))
