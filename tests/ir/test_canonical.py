import json
from dataclasses import replace
from types import MappingProxyType

import pytest

from pipeproof.frontends import spec, torch_csv
from pipeproof.ir.canonical import canonical, digest
from pipeproof.ir.reading import ReadOptions
from pipeproof.ir.schedule import Schedule


def schedule(program: str, more: str = "") -> Schedule:
    text = f"pipeproof: 1\nmicrobatches: 1\nranks: ['{program}', 1F0]\n{more}"
    (document,) = spec.read(text, "f", ReadOptions())
    return document.schedule


def test_keys_are_sorted_and_nothing_is_spaced() -> None:
    text = canonical(schedule("0F0; SEND F0.0 to=1 h=x"), b="c", a=("d", "e"), version=1)

    assert text == json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"))
    assert '"programs":[["0F0","SEND F0.0 to=1 h=x"],["1F0"]]' in text
    assert '"a":["d","e"]' in text
    assert '"version":1' in text


def test_all_that_is_said_of_the_runtime_is_in_it() -> None:
    more = "transport: {completion: buffered, capacity: 2, weak: default}\nbounds: {live: 4}\n"
    content = json.loads(canonical(schedule("0F0", f"{more}steps: any\nplacement: loop\n")))

    assert content["transports"] == [
        {
            "capacity": 2,
            "communicators": "eager",
            "completion": "buffered",
            "groups": "independent",
            "match": "order",
            "name": "custom",
            "queue": "none",
            "wait": "blocking",
            "weak": [""],
        }
    ]
    assert content["described"] == {"bounds": {"live": "4"}}
    assert content["steps"] == "any"
    assert content["placement"] == [0, 1]


def test_same_content_has_the_same_digest() -> None:
    one = schedule("0F0 out=a in=b; 0REDUCE; SEND v to=1 h=x; SEND w to=1 h=y")
    other = schedule("0F0 in=b out=a # comment\n\n0REDUCE_GRAD; SEND v to=1 h=x; SEND w to=1 h=y")

    assert digest(canonical(one)) == digest(canonical(other))
    assert len(digest(canonical(one))) == 64


def test_other_content_has_another_digest() -> None:
    one = schedule("0F0")

    assert canonical(one) != canonical(schedule("0F0; 0B0"))
    assert canonical(one) != canonical(replace(one, fragment=True))
    assert canonical(one) != canonical(replace(one, described=MappingProxyType({"a": "b"})))


def test_a_csv_writes_its_overlaps() -> None:
    (document,) = torch_csv.read("0F0,(0F1;0B0)OVERLAP_F_B,0B1\n", "f", ReadOptions())

    assert '"programs":[["0F0","(0F1;0B0)OVERLAP_F_B","0B1"]]' in canonical(document.schedule)


def test_more_does_not_replace_what_is_there() -> None:
    with pytest.raises(ValueError, match="stages"):
        canonical(schedule("0F0"), stages=3)
