"""Schemas, printed and kept."""

import json
from pathlib import Path

import pytest
from jsonschema import Draft7Validator, Draft202012Validator

from pipeproof.cli.schema import schemas
from tests.cli.made import Command
from tests.cli.schemas import Json, schema


def test_every_schema_is_listed_with_what_it_is_of(command: Command) -> None:
    assert command("schema") == 0
    assert [line.split()[0] for line in command.out.splitlines()] == list(schemas())
    assert "\nspec        One schedule of pipeline-parallel training, " in command.out


@pytest.mark.parametrize("name", schemas())
def test_a_schema_is_one_of_its_draft(command: Command, name: str) -> None:
    assert command("schema", name) == 0
    printed = json.loads(command.out)
    assert command("schema", name, "--draft", "7") == 0
    old = json.loads(command.out)

    assert printed["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    Draft202012Validator.check_schema(printed)
    assert old["$schema"] == "http://json-schema.org/draft-07/schema#"
    Draft7Validator.check_schema(old)
    assert {**old, "$schema": ""} == {**printed, "$schema": ""}


@pytest.mark.parametrize("name", schemas())
def test_every_key_is_described_in_one_sentence(name: str) -> None:
    for path, described in properties(schema(name), name):
        assert described.endswith("."), path
        assert described.count(". ") == 0, path
        assert described[0].isupper() or described[0] == "`", path


def properties(node: Json, path: str) -> list[tuple[str, str]]:
    """Return the description of each key of each mapping, by its path in the schema."""
    found: list[tuple[str, str]] = []
    if isinstance(node, dict):
        known = node.get("properties")
        for key, each in known.items() if isinstance(known, dict) else ():
            found.append((f"{path}.{key}", each.get("description", "")))
        for key, each in node.items():
            found.extend(properties(each, f"{path}/{key}"))
    elif isinstance(node, list):
        for number, each in enumerate(node):
            found.extend(properties(each, f"{path}/{number}"))
    return found


def test_a_schema_is_written_to_a_file(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "pipeproof.schema.json"

    assert command("schema", "spec", "-o", path) == 0
    assert command.out == ""
    assert json.loads(path.read_text(encoding="utf-8"))["title"] == "pipeproof spec"


def test_an_unknown_schema_is_refused(command: Command) -> None:
    assert command("schema", "spek") == 2
    assert "spec" in command.err
