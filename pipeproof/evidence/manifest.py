"""The manifest of a bundle: an in-toto statement in canonical JSON, read only as it is written."""

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from pipeproof.evidence._shape import Json, Malformed, conforms

__all__ = [
    "MANIFEST",
    "PREDICATE",
    "SCHEMA",
    "SCHEMA_FILE",
    "STATEMENT",
    "SUMS",
    "Json",
    "Malformed",
    "canonical",
    "identity",
    "read",
    "schema_text",
    "sha256",
    "statement",
    "sums",
    "supported",
]

MANIFEST, SUMS, SCHEMA_FILE = "manifest.json", "SHA256SUMS", "evidence.schema.json"
SCHEMA = "pipeproof.evidence/1"
STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "urn:pipeproof:evidence:1"

_CHANGES = ("id", "times", "runs", "environment", "stored")
"""Keys of the predicate that change from build to build: the id does not depend on them."""

_LOGS = "commands/"
"""Where raw logs stand; they hold times, so that the id does not depend on them either."""


def sha256(data: bytes) -> str:
    """Return the SHA-256 of `data` in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def canonical(value: Json) -> bytes:
    """Return canonical JSON and a line break: keys sorted, no spaces, ASCII."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return f"{text}\n".encode("ascii")


def sums(contents: Mapping[str, bytes]) -> bytes:
    """Return the text of SHA256SUMS over every file but itself, in order of names."""
    lines = (f"{sha256(contents[name])}  {name}\n" for name in sorted(contents) if name != SUMS)
    return "".join(lines).encode("ascii", "backslashreplace")


def statement(predicate: Mapping[str, Json], contents: Mapping[str, bytes]) -> dict[str, Json]:
    """Return the statement about the files of a bundle; the id is put into the predicate."""
    subject: list[Json] = [
        {"name": name, "digest": {"sha256": sha256(contents[name])}}
        for name in sorted(contents)
        if name not in {MANIFEST, SUMS}
    ]
    return {
        "_type": STATEMENT,
        "predicateType": PREDICATE,
        "subject": subject,
        "predicate": {**predicate, "id": identity(predicate, contents)},
    }


def identity(predicate: Mapping[str, Json], contents: Mapping[str, bytes]) -> str:
    """Return the id of a bundle: a digest over what does not change from build to build.

    Times, durations, the environment, where it is kept, where the repository comes from, and raw
    logs stand outside of it.
    """
    kept: dict[str, Json] = {key: predicate[key] for key in predicate if key not in _CHANGES}
    said = predicate.get("repository")
    if isinstance(said, Mapping):
        kept["repository"] = {key: said[key] for key in said if key != "remote"}
    named = (each for each in contents if not each.startswith(_LOGS))
    digests = {name: sha256(contents[name]) for name in named if name not in {MANIFEST, SUMS}}
    return sha256(canonical({"predicate": kept, "files": digests}))


def supported(data: bytes) -> bool | None:
    """Whether a manifest is of the schema that is read here; None where it is no manifest."""
    try:
        found: object = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or not isinstance(found.get("predicateType"), str):
        return None
    predicate = found.get("predicate")
    schema = predicate.get("schema") if isinstance(predicate, dict) else None
    return found["predicateType"] == PREDICATE and schema == SCHEMA


def read(data: bytes) -> Mapping[str, Json]:
    """Return the statement that `data` holds.

    Raises:
        Malformed: it is not as the schema says, or not written canonically.
    """
    try:
        found: Json = json.loads(data)
    except (ValueError, RecursionError) as error:
        message = f"{MANIFEST} is no JSON"
        raise Malformed(message) from error
    conforms(found, _schema(), MANIFEST)
    if not isinstance(found, Mapping) or canonical(found) != data:
        message = f"{MANIFEST} is not canonical JSON"
        raise Malformed(message)
    return found


def schema_text() -> bytes:
    """Return the JSON Schema of a manifest, as every bundle holds it."""
    return (files("pipeproof.reports") / SCHEMA_FILE).read_bytes()


@cache
def _schema() -> Mapping[str, Json]:
    found: Json = json.loads(schema_text())
    assert isinstance(found, Mapping)  # noqa: S101  our own file
    return found
