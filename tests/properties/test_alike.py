"""What says nothing about a schedule changes nothing of what is said about it."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeproof import api

TABLE = Path(__file__).parents[1] / "data" / "corners-versions-gradients.jsonl"
CASES = [json.loads(line) for line in TABLE.read_text(encoding="utf-8").splitlines()]
Spec = dict[str, object]
_NAMED = re.compile(r"\b(param|bucket|keep|buf|in|out|gin|gout|state|h)=([A-Za-z_]\w*)")
_BEHIND = re.compile(r"\b(WAIT|USE|WRITE|FREE) ([A-Za-z_]\w*)")


def shown(spec: Spec) -> list[str]:
    verdict = api.judge_text(json.dumps(spec), "alike.yaml").transports[0]
    places = [
        f"{each.rule} {[(place.rank, place.position) for place in each.at]}"
        for each in verdict.violations
    ]
    return [verdict.outcome.value, *places, *(each.rule for each in verdict.unknown)]


def of(case: Spec) -> Spec:
    programs, keys = case["programs"], case["keys"]
    assert isinstance(programs, list)
    assert isinstance(keys, dict)
    return {
        "pipeproof": 1,
        "microbatches": 1,
        "transport": "rendezvous",
        **keys,
        "ranks": [program or [] for program in programs],
    }


def programs_of(spec: Spec) -> list[str]:
    ranks = spec["ranks"]
    assert isinstance(ranks, list)
    return [program or "" for program in ranks]


def other_names(spec: Spec) -> Spec:
    """Handles, storages, parameters and registers by other names."""
    ranks: list[object] = [
        _BEHIND.sub(r"\1 zz\2", _NAMED.sub(r"\1=zz\2", each)) or [] for each in programs_of(spec)
    ]
    return {**spec, "ranks": ranks}


def with_comments(spec: Spec) -> Spec:
    """Each instruction on a line of its own, with a comment."""
    return {**spec, "ranks": [each.replace("; ", " # so\n") or [] for each in programs_of(spec)]}


def with_an_idle_rank(spec: Spec) -> Spec:
    """One more rank that does nothing, where all that there is lives as before."""
    gradients = spec.get("gradients")
    whole = isinstance(gradients, dict) and "norm" in gradients
    if whole or "placement" in spec:
        return spec
    named = [int(each) for each in re.findall(r"(?<![\w.=])(\d+)[A-Z]", str(spec["ranks"]))]
    ranks = spec["ranks"]
    assert isinstance(ranks, list)
    return {**spec, "stages": spec.get("stages", max(named, default=0) + 1), "ranks": [*ranks, []]}


def as_a_fragment(spec: Spec) -> Spec:
    """Part of a schedule, where it is legal as a whole."""
    return {**spec, "fragment": True} if shown(spec)[0] == "proved" else spec


CHANGES = (other_names, with_comments, with_an_idle_rank, as_a_fragment)


@pytest.mark.parametrize("change", CHANGES)
def test_some_programs_are_judged_alike(change: Callable[[Spec], Spec]) -> None:
    for case in CASES[::17]:
        assert shown(change(of(case))) == shown(of(case)), case


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES)
def test_programs_are_judged_alike(change: Callable[[Spec], Spec]) -> None:
    for case in CASES:
        assert shown(change(of(case))) == shown(of(case)), case
