"""Where explorations stand, as a file."""

import json

import pytest

from pipeproof.api import Asked, judge_text
from pipeproof.errors import ParseError
from pipeproof.ir.canonical import digest
from pipeproof.proofs.asked import Effort
from pipeproof.proofs.frontiers import SCHEMA, Kept, read
from pipeproof.verdict.verdict import FileVerdict
from tests.semantics.made import text

LONG = text(
    *("; ".join(f"{rank}F0; SEND v to={1 - rank} h=x; RECV v from={1 - rank}" for _ in range(200))
      for rank in range(2)),
    stages=2,
    fragment=True,
    transport=["rendezvous", "gloo"],
)  # fmt: skip


def explored(kept: Kept, states: int | None = None) -> FileVerdict:
    effort = Effort(states=states, frontiers=kept)
    return judge_text(LONG, "made", Asked(engine="explore", select=("PP3", "PP4"), effort=effort))


def saved() -> str:
    kept = Kept("of it", {})
    explored(kept, 100)
    return kept.text


def sealed(changed: dict[str, object]) -> str:
    content = {**json.loads(saved()), **changed}
    content.pop("digest")
    plain = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return json.dumps({**content, "digest": digest(plain)})


def test_an_exploration_in_many_runs_ends_as_one_in_a_single_run() -> None:
    whole = explored(Kept("of it", {}))
    kept, rounds = Kept("of it", {}), 1
    found = explored(kept, 700)
    while kept.is_left and rounds < 50:
        kept = read(kept.text, "f", "of it")
        found = explored(kept, 700)
        rounds += 1

    assert rounds > 2
    assert found == whole


def test_nothing_is_left_of_what_is_explored() -> None:
    kept = Kept("of it", {})
    explored(kept)

    assert not kept.is_left


def test_an_exploration_that_is_over_is_not_made_again() -> None:
    kept = Kept("of it", {})
    whole = explored(kept)
    again = read(kept.text, "f", "of it")
    told: list[int] = []
    effort = Effort(frontiers=again, progress=lambda states, _: told.append(states))
    asked = Asked(engine="explore", select=("PP3", "PP4"), effort=effort)

    assert judge_text(LONG, "made", asked) == whole
    assert not told or min(told) > 0  # the first layer is never told


def test_the_same_frontiers_are_the_same_bytes() -> None:
    assert saved() == saved()
    assert read(saved(), "f", "of it").text == saved()


@pytest.mark.parametrize(
    ("written", "found"),
    [
        (lambda: "", "f:1:1: this is no JSON"),
        (lambda: "{\n  oops}", "f:2:3: this is no JSON"),
        (lambda: saved()[:200], "this is no JSON"),
        (lambda: "[" * 100_000, "f:1:1: it is nested too deep"),
        (lambda: "9" * 10_000, "this is no JSON"),
        (lambda: '{"a": 1.5}', "this is no JSON"),
        (lambda: '{"a": NaN}', "this is no JSON"),
        (lambda: "[]", f"this is no {SCHEMA}"),
        (lambda: "{}", f"this is no {SCHEMA}"),
        (lambda: '{"schema": "' + SCHEMA + '"}', f"this is no {SCHEMA}"),
        (lambda: sealed({"schema": "pipeproof.frontier/2"}), f"this is no {SCHEMA}"),
        (lambda: sealed({"more": 1}), f"this is no {SCHEMA}"),
        (lambda: saved().replace('"rendezvous"', '"rendezvouz"'), "its digest is not its own"),
        (lambda: sealed({"tool": {"name": "pipeproof", "version": "0"}}), "another version wrote"),
        (lambda: sealed({"tool": None}), "another version wrote"),
        (lambda: sealed({"schedule": "another"}), "the frontier of another schedule"),
        (lambda: sealed({"frontiers": None}), "an entry is no frontier"),
        (lambda: sealed({"frontiers": [1]}), "an entry is no frontier"),
        (lambda: sealed({"frontiers": [{"transport": "gloo"}]}), "an entry is no frontier"),
        (
            lambda: sealed({"frontiers": [{"transport": "gloo", "frontier": "__import__('os')"}]}),
            "an entry is no frontier: no frontier",
        ),
        (
            lambda: sealed({"frontiers": [{"transport": "gloo", "frontier": "\ud800"}]}),
            "an entry is no frontier: no frontier",
        ),
    ],
)
def test_what_is_no_frontier_of_this_schedule_is_refused(written: "object", found: str) -> None:
    assert callable(written)
    with pytest.raises(ParseError, match="name a file that --frontier wrote") as raised:
        read(written(), "f", "of it")

    assert found in str(raised.value)
    assert str(raised.value).startswith("f:")


def test_a_frontier_of_another_transport_is_passed_over() -> None:
    content = json.loads(saved())
    entries = content["frontiers"]
    names = [each["transport"] for each in entries]
    for each, name in zip(entries, reversed(names), strict=True):
        each["transport"] = name
    crossed = read(sealed({"frontiers": entries}), "f", "of it")

    assert names == ["gloo", "rendezvous"]
    assert explored(crossed) == explored(Kept("of it", {}))
