"""Files as an editor sees them, and what a schema says of them."""

import re
from collections.abc import Mapping, Sequence
from functools import cache

import yaml
from jsonschema import Draft7Validator, Draft202012Validator
from jsonschema.protocols import Validator

from pipeproof.cli.schema import schemas
from pipeproof.errors import InputError
from pipeproof.frontends import spec
from pipeproof.ir.reading import ReadOptions
from pipeproof.schedules import generate
from tests.cli.made import ROOT

Json = str | int | float | bool | None | Sequence["Json"] | Mapping[str, "Json"]

_WORDS: dict[str, Json] = {"": None, "~": None, "null": None, "true": True, "false": False}
_INTEGER = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_FENCE = re.compile(r"^```ya?ml[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def is_read(text: str, name: str = "a.yaml") -> bool:
    """Return whether the reader takes a file; known schedules are generated."""
    try:
        spec.read(text, name, ReadOptions(generate=generate))
    except InputError:
        return False
    return True


def typed(text: str) -> Json:
    """Return a YAML file as editors type it: by the core schema of YAML 1.2."""
    node = yaml.compose(text, Loader=yaml.CBaseLoader)
    return None if node is None else _value(node)


def _value(node: yaml.Node) -> Json:
    if isinstance(node, yaml.MappingNode):
        return {head.value: _value(each) for head, each in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [_value(each) for each in node.value]
    word = str(node.value)
    if isinstance(node, yaml.ScalarNode) and node.style:
        return word
    if word in _WORDS:
        return _WORDS[word]
    if _INTEGER.fullmatch(word):
        return int(word)
    return float(word) if _FLOAT.fullmatch(word) else word


@cache
def validator(name: str) -> Validator:
    return Draft202012Validator(schema(name))


@cache
def old_validator(name: str) -> Validator:
    return Draft7Validator({**schema(name), "$schema": "http://json-schema.org/draft-07/schema#"})


@cache
def schema(name: str) -> dict[str, Json]:
    found = yaml.safe_load(schemas()[name].read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def wrong(name: str, value: Json) -> list[str]:
    """Return what the schema of that name finds wrong; both drafts find the same."""
    found = [each.message for each in validator(name).iter_errors(value)]
    assert old_validator(name).is_valid(value) == (not found)
    return found


def spec_texts() -> dict[str, str]:
    """Return every spec of the repository, and every one that a page shows, by its name."""
    paths = [path for room in ("specs", "examples") for path in (ROOT / room).rglob("*.yaml")]
    texts = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in paths}
    for page in [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]:
        name = str(page.relative_to(ROOT))
        for number, block in enumerate(_FENCE.findall(page.read_text(encoding="utf-8"))):
            texts[f"{name}#{number}"] = block
    return {name: text for name, text in sorted(texts.items()) if "pipeproof: 1\n" in text}
