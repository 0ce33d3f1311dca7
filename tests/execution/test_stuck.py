from __future__ import annotations

from typing import TYPE_CHECKING

from pipeproof.execution.confirm import Answer, Claim, confirm
from pipeproof.execution.stuck import are_passed
from tests.execution.played import SPECS, claims, document, models
from tests.semantics import made

if TYPE_CHECKING:
    from pipeproof.execution.confirm import Confirmed

HEAD_ON = ("SEND F0.0 to=1; RECV B1.0 from=1", "SEND B1.0 to=0; RECV F0.0 from=0")
WHERE = ((0, 0), (1, 0))


def passed(transport: str, places: tuple[tuple[int, int], ...] = WHERE) -> bool:
    text = made.text(*HEAD_ON, transport=transport, fragment=True)
    (model,) = models(document(text))
    return are_passed(model.frame.run, model.frame.transport.match, model.happens_before, places)


def test_no_execution_passes_two_sends_that_wait_for_each_other() -> None:
    assert not passed("rendezvous")
    assert passed("buffered")


def test_what_has_no_place_is_not_passed() -> None:
    assert not passed("buffered", ())


def told(text: str, rule: str) -> list[Confirmed]:
    return [
        confirm(model.frame.run, model.frame.transport.match, model.happens_before, claim)
        for model, claim in claims(text, rule)
    ]


def test_a_deadlock_is_not_observable_in_one_process_and_not_denied() -> None:
    for name in ("crossed-sends", "ties-in-different-order", "progress-only-inside-calls"):
        text = (SPECS / "illegal" / f"{name}.yaml").read_text()
        found = [*told(text, "PP301"), *told(text, "PP205")]

        assert found
        assert {each.answer for each in found} == {Answer.NOT_OBSERVABLE}
        assert all("run --processes gloo" in each.why for each in found)


def test_a_deadlock_that_is_made_up_is_not_reproduced() -> None:
    text = made.text(*HEAD_ON, transport="buffered", fragment=True)
    (model,) = models(document(text))

    found = confirm(
        model.frame.run,
        model.frame.transport.match,
        model.happens_before,
        Claim("PP301", WHERE, ()),
    )

    assert found == (Answer.NOT_REPRODUCED, "all its places are passed in some execution")


def test_a_deadlock_at_a_collective_of_which_one_process_shows_a_part_is_not_denied() -> None:
    ranks = "AWAIT from=1; COLL b ranks=0,1 to=0", "COLL b ranks=0,1 to=0; SIGNAL to=0"
    text = made.text(*ranks, transport="rendezvous", fragment=True)

    found = told(text, "PP301")

    assert [each.answer for each in found] == [Answer.NOT_OBSERVABLE]
    assert "with `from` or `to` all are said to wait" in found[0].why
