"""A schedule judged under each transport, over every outcome of its choices."""

from pipeproof import api
from pipeproof.frontends import spec
from pipeproof.ir.reading import ReadOptions
from pipeproof.proofs.asked import Asked
from pipeproof.proofs.judging import Judging

CHOICE = """\
pipeproof: 1
fragment: true
stages: 1
microbatches: 1
transport: [rendezvous, buffered]
ranks:
  - "CHOOSE which a|b; WRITE s v; USE s v if=which:a; USE s w if=which:b"
"""


def judging(text: str, asked: Asked) -> Judging:
    return Judging(spec.read(text, "made", ReadOptions())[0], asked)


def test_each_transport_is_judged_over_every_outcome() -> None:
    verdict = judging(CHOICE, Asked()).verdict()

    assert [each.name for each in verdict.transports] == ["rendezvous", "buffered"]
    assert [each.outcomes for each in verdict.transports] == [2, 2]
    assert verdict.verdict == "refuted"


def test_transports_that_are_asked_for_stand_in_place_of_the_schedules_own() -> None:
    asked = Asked(transports=("gloo", "buffered", "gloo"))

    assert [each.name for each in judging(CHOICE, asked).transports] == ["gloo", "buffered"]


def test_api_judges_as_judging_does() -> None:
    assert api.judge_text(CHOICE, "made") == judging(CHOICE, Asked()).verdict()
