"""Whether JSON is as a schema says: the part of JSON Schema that our own schemas use."""

import re
from collections.abc import Mapping, Sequence

__all__ = ["Json", "Malformed", "conforms", "rows", "table", "text", "texts"]

Json = str | int | bool | None | Sequence["Json"] | Mapping[str, "Json"]

_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "object": Mapping,
    "array": list,
    "string": str,
    "integer": int,
    "boolean": bool,
    "null": type(None),
}
_KNOWN = {
    *("$schema", "$id", "$ref", "$defs", "title", "description"),
    *("type", "const", "enum", "pattern", "minimum"),
    *("properties", "required", "additionalProperties", "items"),
}


class Malformed(ValueError):  # noqa: N818  reads as what it says
    """Something is not as its schema says."""


def conforms(value: Json, schema: Mapping[str, Json], where: str) -> None:
    """Check that `value` is as `schema` says; `where` names it.

    Raises:
        Malformed: it is not.
    """
    _conforms(value, schema, where, schema)


def _conforms(value: Json, node: Mapping[str, Json], where: str, root: Mapping[str, Json]) -> None:
    assert node.keys() <= _KNOWN, node.keys() - _KNOWN  # noqa: S101  our own file
    reference = node.get("$ref")
    if isinstance(reference, str):
        name = reference.removeprefix("#/$defs/")
        _conforms(value, table(table(root["$defs"])[name]), where, root)
        return
    _is_of_type(value, node, where)
    if "const" in node and value != node["const"]:
        _refuse(where, f"is not {node['const']}")
    if "enum" in node and value not in rows(node["enum"]):
        _refuse(where, "is none of the words that it may be")
    if isinstance(value, str) and not _is_written(value, text(node.get("pattern", ""))):
        _refuse(where, "is not written as it should be")
    if type(value) is int and isinstance(least := node.get("minimum"), int) and value < least:
        _refuse(where, f"is less than {least}")
    if isinstance(value, Mapping):
        _keys(value, node, where, root)
    if isinstance(value, list):
        for number, each in enumerate(value):
            _conforms(each, table(node["items"]), f"{where}[{number}]", root)


def _is_written(value: str, pattern: str) -> bool:
    return re.search(pattern.replace("$", r"\Z"), value) is not None


def _is_of_type(value: Json, node: Mapping[str, Json], where: str) -> None:
    wanted = node.get("type")
    if wanted is None:
        return
    names = [wanted] if isinstance(wanted, str) else texts(wanted)
    for name in names:
        if isinstance(value, _TYPES[name]) and (name == "boolean" or not isinstance(value, bool)):
            return
    _refuse(where, f"is not {' or '.join(names)}")


def _keys(
    value: Mapping[str, Json], node: Mapping[str, Json], where: str, root: Mapping[str, Json]
) -> None:
    known = table(node.get("properties", {}))
    missing = set(texts(node.get("required", []))) - value.keys()
    if missing:
        _refuse(where, f"lacks {', '.join(sorted(missing))}")
    more = node.get("additionalProperties", True)
    for key, each in value.items():
        if key in known:
            _conforms(each, table(known[key]), f"{where}.{key}", root)
        elif isinstance(more, Mapping):
            _conforms(each, more, f"{where}.*", root)
        elif more is False:
            _refuse(where, "holds a key that it may not hold")


def _refuse(where: str, why: str) -> None:
    message = f"{where} {why}"
    raise Malformed(message)


def table(value: Json) -> Mapping[str, Json]:
    """Return an object.

    Raises:
        Malformed: it is none.
    """
    if not isinstance(value, Mapping):
        message = "an object is expected"
        raise Malformed(message)
    return value


def rows(value: Json) -> Sequence[Json]:
    """Return a list.

    Raises:
        Malformed: it is none.
    """
    if not isinstance(value, list):
        message = "a list is expected"
        raise Malformed(message)
    return value


def text(value: Json) -> str:
    """Return a text.

    Raises:
        Malformed: it is none.
    """
    if not isinstance(value, str):
        message = "a text is expected"
        raise Malformed(message)
    return value


def texts(value: Json) -> list[str]:
    """Return a list of texts.

    Raises:
        Malformed: it is none.
    """
    return [text(each) for each in rows(value)]
