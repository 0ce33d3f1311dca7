"""Certificates of drawn schedules are accepted; changed ones are, only where they still hold."""

import json
import random
from pathlib import Path

import pytest

from pipeproof.errors import UnsupportedFeatureError
from pipeproof.frontends import spec
from pipeproof.ir.reading import ReadOptions
from pipeproof.schedules import generate
from pipeproof.verdict.certificate import Proved, Refuted, read
from pipeproof.verdict.verdict import Outcome
from tests.interpreter.mutations import mutants
from tests.oracle import programs
from tests.properties.certifying import (
    ALWAYS_WRONG,
    RECHECK,
    TAMPERINGS,
    Certified,
    certified,
    certified_text,
    changed,
    rechecked,
    rejected,
    sealed,
)

ROOT = Path(__file__).parents[2]
SPECS = sorted((ROOT / "specs").rglob("*.yaml"))
HALF = [
    *SPECS[::2],
    *(pytest.param(path, marks=pytest.mark.slow, id=path.stem) for path in SPECS[1::2]),
]
BATCHES = 6
STORAGE = ("PP501", "PP502", "PP503", "PP504", "PP505")
STUCK = {"PP105", "PP201", "PP204", "PP205", "PP301"}


def drawn(seed: int) -> Certified:
    rng = random.Random(seed)
    made = programs.random_programs(rng)
    return certified_text(programs.render(made, programs.random_transport(rng)), f"seed {seed}")


def is_claimed(made: Certified, text: str) -> bool:
    """Whether what a certificate says is what was judged."""
    for said in read(text, "changed").statements:
        (verdict,) = (each for each in made.verdict.transports if each.name == said.transport)
        told = {violation.rule for violation in verdict.violations}
        if isinstance(said, Proved):
            if told & {*said.rules}:
                return False
        elif not told & (STUCK if said.rule in STUCK else {said.rule}):
            return False
    return True


def apart(made: Certified) -> str:
    """Why the other program does not accept a certificate; nothing where there is none."""
    return rechecked(made.certificate.text, made.as_run) if made.certificate.statements else ""


@pytest.mark.parametrize(
    "batch",
    [*range(3), *(pytest.param(each, marks=pytest.mark.slow) for each in range(3, BATCHES))],
)
def test_certificates_of_drawn_programs_are_accepted_and_say_what_was_judged(batch: int) -> None:
    written = 0
    for number in range(50):
        made = drawn(1000 * batch + number)
        text = made.certificate.text

        assert not rejected(made, text), made.document.name
        assert not apart(made), made.document.name
        assert is_claimed(made, text)
        for each in made.verdict.transports:
            told = [said for said in made.left_out if said.transport == each.name]
            assert told or each.name in {s.transport for s in made.certificate.statements}
        written += len(made.certificate.statements)
    assert written > 25


QUEUED = "{completion: buffered, capacity: 2, queue: edge, match: tag}"


@pytest.mark.parametrize(
    ("transport", "seed"), [("nccl-small", 251), ("nccl-small", 540), (QUEUED, 433)]
)
def test_a_circle_through_buffered_queues_is_accepted(transport: str, seed: int) -> None:
    """Its places are the ends that wait, not those that they wait behind."""
    drawn = programs.render(programs.random_programs(random.Random(seed)), "custom")
    made = certified_text(drawn.replace("transport: custom", f"transport: {transport}"))
    (said,) = made.certificate.statements

    assert isinstance(said, Refuted)
    assert said.rule == "PP301"
    assert not rejected(made, made.certificate.text)
    assert not apart(made)


@pytest.mark.parametrize("path", HALF, ids=lambda path: path.stem)
def test_certificates_of_the_specs_are_accepted(path: Path) -> None:
    options = ReadOptions(base=path.parent, generate=generate)
    for document in spec.read(path.read_text(), path.name, options):
        try:
            made = certified(document)
        except UnsupportedFeatureError:
            continue
        assert not rejected(made, made.certificate.text)
        assert not apart(made)


@pytest.mark.parametrize("rule", STORAGE)
def test_certificates_of_storage_programs_are_accepted(rule: str) -> None:
    proved = refuted = 0
    for number, mutant in enumerate(mutants(rule, 6)):
        for text in (mutant.original, mutant.text):
            made = certified_text(text, f"{rule} {number}")

            assert not rejected(made, made.certificate.text)
            assert not apart(made)
            proved += sum(isinstance(s, Proved) for s in made.certificate.statements)
            refuted += sum(isinstance(s, Refuted) for s in made.certificate.statements)
    assert proved > 3
    assert refuted


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(BATCHES, BATCHES + 40))
def test_certificates_of_many_programs_are_accepted_and_changed_ones_are_not(batch: int) -> None:
    for number in range(50):
        rng = random.Random(number)
        made = drawn(1000 * batch + number)

        assert not rejected(made, made.certificate.text)
        assert not apart(made), made.document.name
        for tampering in TAMPERINGS if made.certificate.statements else ():
            text = changed(made, rng, tampering)
            if text is None:
                continue
            why = rejected(made, text)
            assert why or is_claimed(made, text)
            assert not why or rechecked(text, made.as_run) or not RECHECK.exists()


@pytest.mark.parametrize("batch", range(3))
def test_a_changed_certificate_is_accepted_only_where_it_still_holds(batch: int) -> None:
    tried = accepted = 0
    for number in range(10):
        rng = random.Random(number)
        made = drawn(1000 * batch + number)
        if not made.certificate.statements:
            continue
        proved = all(each.outcome is Outcome.PROVED for each in made.verdict.transports)
        for tampering in TAMPERINGS:
            text = changed(made, rng, tampering)
            if text is None:
                continue
            tried += 1
            why = rejected(made, text)
            assert not why or rechecked(text, made.as_run) or not RECHECK.exists()
            assert why or is_claimed(made, text), (made.document.name, tampering)
            assert why or not (proved and tampering in ALWAYS_WRONG), tampering
            accepted += not why
    assert accepted < tried // 2


SETTLED = [
    *(f"{stages}-stages{kind}" for stages in ("two", "three") for kind in ("", "-overflow")),
    *("two-stages-recompute",),
    *(
        pytest.param(name, marks=pytest.mark.slow)
        for name in ("four-stages", "four-stages-overflow")
    ),
]


@pytest.mark.parametrize("name", SETTLED)
def test_commit_or_roll_back_is_certified_outcome_by_outcome(name: str) -> None:
    """Each transport has a statement for each outcome; without one of them nothing is shown."""
    made = certified_text((ROOT / "specs" / "post-validation" / f"{name}.yaml").read_text(), name)
    statements = json.loads(made.certificate.text)["statements"]

    assert not made.left_out
    assert len(statements) == sum(each.outcomes for each in made.verdict.transports)
    assert not rejected(made, made.certificate.text)
    assert not apart(made)
    for number in (0, len(statements) // 2, len(statements) - 1):
        content = json.loads(made.certificate.text)
        del content["statements"][number]

        assert "an outcome is missing" in rejected(made, sealed(content))
        assert "an outcome is missing" in rechecked(sealed(content), made.as_run)


def test_a_certificate_of_another_schedule_is_rejected() -> None:
    one, other = drawn(3), drawn(4)

    assert "another schedule" in rejected(one, other.certificate.text)


ACROSS = """pipeproof: 1
fragment: true
stages: 6
microbatches: 3
placement: [0, 1, 0, 1, 0, 1]
transport: {completion: rendezvous, queue: rank, groups: atomic, wait: at-use}
ranks:
  - SEND v3 to=1 comm=d; SEND B4.1 to=1; RECV B3.2 from=1; RECV B1.2 from=1; 2B2
  - SEND B3.2 to=0; RECV v3 from=0 comm=d; SEND B1.2 to=0 h=x; WAIT x
"""
"""A circle of atomic groups, with an end without partner between two of them in a queue."""


def of_places(made: Certified, places: list[list[int]]) -> str:
    """The certificate with other places."""
    content = json.loads(made.certificate.text)
    (statement,) = content["statements"]
    statement["places"] = places
    return sealed({key: each for key, each in content.items() if key != "digest"})


def test_atomic_groups_wait_for_all_before_them_in_a_queue() -> None:
    made = certified_text(ACROSS)

    assert not rechecked(made.certificate.text, made.as_run)
    assert not rechecked(of_places(made, [[0, 0], [1, 0]]), made.as_run)


@pytest.mark.parametrize(
    "places", [[[0, 1], [1, 0]], [[0, 1], [0, 2]], [[0, 0]], [[1, 0]], [[0, 2], [0, 3]]]
)
def test_ends_of_atomic_groups_that_are_on_no_circle_are_no_places(places: list[list[int]]) -> None:
    made = certified_text(ACROSS)

    assert rechecked(of_places(made, places), made.as_run)
