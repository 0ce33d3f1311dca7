"""The manifest: canonical, as its schema says, and with an id that times do not change."""

import json

import pytest
from jsonschema import Draft202012Validator

from pipeproof.evidence.manifest import (
    MANIFEST,
    SCHEMA_FILE,
    Malformed,
    canonical,
    identity,
    read,
    schema_text,
    sums,
    supported,
)
from tests.evidence.conftest import Made
from tests.evidence.made import manifest


def test_it_is_a_statement_as_its_schema_says_which_lies_beside_it(made: Made) -> None:
    found = json.loads(made.files[MANIFEST])

    Draft202012Validator(json.loads(made.files[SCHEMA_FILE])).validate(found)
    assert found["_type"] == "https://in-toto.io/Statement/v1"
    assert made.files[SCHEMA_FILE] == schema_text()
    assert read(made.files[MANIFEST]) == found


def test_it_is_canonical_json_of_texts_and_whole_numbers() -> None:
    assert (
        canonical({"b": "\u00e9", "a": [1, True, None]}) == b'{"a":[1,true,null],"b":"\\u00e9"}\n'
    )


def test_sums_stand_in_order_of_names_and_leave_themselves_out() -> None:
    text = sums({"b": b"", "a": b"x", "SHA256SUMS": b"?"}).decode()

    assert [line[66:] for line in text.splitlines()] == ["a", "b"]
    assert text.splitlines()[1].startswith("e3b0c44298fc1c14")


@pytest.mark.parametrize("key", ["times", "runs", "environment", "stored"])
def test_what_changes_from_build_to_build_does_not_change_the_id(made: Made, key: str) -> None:
    predicate = manifest(made.files)["predicate"]
    assert isinstance(predicate, dict)

    assert identity({**predicate, key: None}, made.files) == predicate["id"]
    cloned = {**predicate["repository"], "remote": "https://elsewhere/x.git"}
    assert identity({**predicate, "repository": cloned}, made.files) == predicate["id"]
    logs = {**made.files, "commands/000.err": b"took 3 s"}
    assert identity(predicate, logs) == predicate["id"]


@pytest.mark.parametrize("key", ["tool", "repository", "schedules", "commands", "boundaries"])
def test_what_was_found_changes_the_id(made: Made, key: str) -> None:
    predicate = manifest(made.files)["predicate"]
    assert isinstance(predicate, dict)

    assert identity({**predicate, key: None}, made.files) != predicate["id"]
    assert identity(predicate, {**made.files, "inputs/000.yaml": b""}) != predicate["id"]


def test_what_is_no_manifest_is_neither_supported_nor_read() -> None:
    for data in (b"", b"[]", b"{}", b'{"predicateType": 1}', b"[" * 100_000):
        assert supported(data) is None
        with pytest.raises(Malformed):
            read(data)
    assert supported(b'{"predicateType": "urn:pipeproof:evidence:2"}') is False
