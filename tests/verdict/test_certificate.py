"""A certificate stands in its file as section 10 of the language says, and is read strictly."""

import json

import pytest

from pipeproof.errors import ParseError, ReplayMismatchError
from pipeproof.ir.canonical import digest
from pipeproof.verdict.certificate import (
    Blocked,
    Certificate,
    Path,
    Proved,
    Refuted,
    Statement,
    read,
)
from tests.properties.certifying import Json, sealed

PROVED = Proved("gloo", 1, ("PP301", "PP403"), (0, 1, 12, 13), (Path(13, 6, (13, 4, 6)),))
COUNTED = Proved("custom", 2, ("PP502",), (0,), (Blocked(3, 6, (0, 2)),))
STUCK = Refuted("rendezvous", 1, "PP301", (0, 2), places=((0, 1), (1, 1)))
EARLY = Refuted("rendezvous", 1, "PP401", (0, 2), pair=(-1, 2))


def certificate(*statements: Statement) -> Certificate:
    return Certificate("0" * 64, "1.2.3", statements)


def contents(*statements: Statement) -> dict[str, Json]:
    content: dict[str, Json] = json.loads(certificate(*statements).text)
    return content


@pytest.mark.parametrize("statement", [PROVED, COUNTED, STUCK, EARLY])
def test_what_is_written_is_read(statement: Statement) -> None:
    assert read(certificate(statement).text, "it") == certificate(statement)


def test_it_stands_there_as_the_language_says() -> None:
    content = contents(PROVED, STUCK)

    assert content.keys() == {"schema", "schedule", "tool", "statements", "digest"}
    assert content["schema"] == "pipeproof.certificate/1"
    assert content["statements"] == [
        {
            "transport": "gloo",
            "copies": 1,
            "verdict": "proved",
            "rules": ["PP301", "PP403"],
            "run": [0, 1, 12, 13],
            "paths": [{"before": 13, "after": 6, "path": [13, 4, 6]}],
        },
        {
            "transport": "rendezvous",
            "copies": 1,
            "verdict": "refuted",
            "rule": "PP301",
            "run": [0, 2],
            "places": [[0, 1], [1, 1]],
        },
    ]


def test_its_digest_is_that_of_the_canonical_object_without_it() -> None:
    content = contents(PROVED)
    said = content.pop("digest")

    assert said == digest(json.dumps(content, sort_keys=True, separators=(",", ":")))


def test_one_that_was_changed_is_rejected_as_such() -> None:
    text = certificate(STUCK).text.replace("PP301", "PP205")

    with pytest.raises(ReplayMismatchError, match="digest"):
        read(text, "it")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"copies":1', '"copies":true'),
        ('"copies":1', '"copies":1.0'),
        ('"copies":1', '"copies":-1'),
        ('"copies":1', '"copies":9007199254740992'),
        ('"copies":1', '"copies":1,"copies":1'),
        ('"copies":1', '"copies":1,"more":1'),
        ('"copies":1,', ""),
        ('"run":[0,2]', '"run":[0,[2]]'),
        ('"run":[0,2]', '"run":{"0":2}'),
        ('"run":[0,2]', '"run":[0,NaN]'),
        ("[[0,1],[1,1]]", "[[0,1,1]]"),
        ("[[0,1],[1,1]]", "[-1]"),
        ('"refuted"', '"unknown"'),
        ('"rule":"PP301"', '"rule":301'),
        ("certificate/1", "certificate/2"),
        ('{"copies"', '[{"copies"'),
    ],
)
def test_what_is_not_quite_one_is_unreadable(old: str, new: str) -> None:
    text = certificate(STUCK).text
    assert old in text

    with pytest.raises(ParseError, match=r"^it:1:1: .*; a certificate is an object"):
        read(text.replace(old, new), "it")


@pytest.mark.parametrize("text", ["", "[]", "0", "{}", "[" * 100_000, '"\\ud800"', "1" * 5000])
def test_what_is_none_at_all_is_unreadable(text: str) -> None:
    with pytest.raises(ParseError):
        read(text, "it")


def test_a_first_event_of_nothing_stands_only_where_a_pair_is_not_ordered() -> None:
    content = contents(PROVED)
    text = sealed(content).replace('"before": 13', '"before": -1')

    assert read(certificate(EARLY).text, "it").statements == (EARLY,)
    with pytest.raises(ParseError):
        read(text, "it")
