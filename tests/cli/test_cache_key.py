"""The digest of what is asked: equal only where the same is answered."""

import dataclasses
from itertools import islice

import pytest

from pipeproof import api
from pipeproof.api import Asked
from pipeproof.cli._cache_key import digest_of, program
from pipeproof.ir.source import Document
from pipeproof.proofs.asked import Effort
from pipeproof.proofs.judging import Judging
from tests.cli.caching import (
    LEGAL,
    STUCK,
    document,
    every_document,
)

PARTS = {"transports", "profile", "select", "ignore", "engine", "live", "effort", "why"}


@pytest.mark.parametrize(
    ("change", "by"),
    [
        ("0F0; SEND", "0F0;  SEND"),
        ("pipeproof: 1", "pipeproof: 1\ntitle: another"),
        ("pipeproof: 1", "pipeproof: 1\nexpect: [{verdict: proved}]"),
        ("microbatches: 1", "microbatches:   1"),
    ],
)
def test_what_is_not_the_schedule_leaves_the_digest_as_it_is(change: str, by: str) -> None:
    changed = LEGAL.replace(change, by)

    assert changed != LEGAL
    assert digest_of(document(changed, "b.yaml"), Asked()) == digest_of(document(LEGAL), Asked())


@pytest.mark.parametrize(
    "key",
    [
        "transport: buffered",
        "transport: {completion: rendezvous, groups: atomic}",
        "profile: torch-runtime",
        "steps: any",
        "fragment: true",
        "stages: 3",
        "rules: {select: [PP3]}",
        "rules: {ignore: [PP3]}",
        "bounds: {live: 1}",
        "gradients: {reduce: none}",
        "costs: {F: 2}",
    ],
)
def test_what_is_of_the_schedule_changes_the_digest(key: str) -> None:
    changed = f"{LEGAL}{key}\n"

    assert digest_of(document(changed), Asked()) != digest_of(document(LEGAL), Asked())


def test_a_spec_that_ships_has_a_digest_of_its_own_content() -> None:
    by_digest: dict[str, set[str]] = {}
    for each in islice(every_document(), 2, None, 19):
        key = digest_of(each, Asked())
        assert key is not None
        assert len(key) == 64
        by_digest.setdefault(key, set()).add(api.as_run(each))

    assert len(by_digest) > 12
    assert all(len(alike) == 1 for alike in by_digest.values())


def test_only_what_the_digest_holds_of_a_file_is_judged() -> None:
    """What is looked at of a document stands in the digest, save the name that is set anew."""
    looked_at: set[str] = set()
    whole = document(STUCK)

    class Watched:
        def __getattr__(self, name: str) -> object:
            looked_at.add(name)
            return getattr(whole, name)

    Judging(Watched(), Asked(why=(), live=True)).verdict()  # type: ignore[arg-type]  # stands in
    left_out = {"name", "places", "expect", "title", "origin"}
    assert looked_at - {"name"} == {each.name for each in dataclasses.fields(Document)} - left_out


def test_every_part_of_a_question_is_in_the_digest() -> None:
    base = digest_of(document(LEGAL), Asked())
    asked = [
        Asked(transports=("gloo",)),
        Asked(profile="none"),
        Asked(select=("PP3",)),
        Asked(ignore=("PP3",)),
        Asked(engine="smt"),
        Asked(live=True),
        Asked(why=()),
        Asked(why=((0, 1),)),
        Asked(effort=Effort(states=1)),
        Asked(effort=Effort(memory=1)),
        Asked(effort=Effort(rlimit=1)),
    ]
    keys = {digest_of(document(LEGAL), each) for each in asked}

    assert None not in keys
    assert len(keys | {base}) == len(asked) + 1
    named = {each.name for each in dataclasses.fields(Asked)}
    assert named == PARTS


def test_what_a_clock_or_a_stop_decides_has_no_digest() -> None:
    for effort in (Effort(seconds=1.0), Effort(stopped=lambda: False), Effort(told={})):
        assert digest_of(document(LEGAL), Asked(effort=effort)) is None
    watched = Effort(progress=lambda *_: None)
    assert digest_of(document(LEGAL), Asked(effort=watched)) == digest_of(document(LEGAL), Asked())


def test_another_program_has_other_digests(monkeypatch: pytest.MonkeyPatch) -> None:
    before = digest_of(document(LEGAL), Asked())
    assert len(program()) == 64

    monkeypatch.setattr("pipeproof.cli._cache_key.program", lambda: "0" * 64)
    assert digest_of(document(LEGAL), Asked()) not in {before, None}
    monkeypatch.setattr("pipeproof.cli._cache_key.program", lambda: "")
    assert digest_of(document(LEGAL), Asked()) is None
