"""A part of a checkpoint as bytes, and as a file that is there as a whole or not at all."""

import hashlib
import os
from dataclasses import fields
from pathlib import Path

from pipeproof.execution.checkpoints._trees import CheckpointError, Flat, flattened, unflattened
from pipeproof.execution.checkpoints.state import Part

__all__ = ["pack", "read", "seal", "unpack", "write"]

_MAGIC = b"pipeproof checkpoint 1\n"
_DIGEST = 2 * hashlib.sha256().digest_size


def pack(part: Part) -> bytes:
    """Return a part as bytes, with their digest before them."""
    flat = flattened(part.tree())
    body = len(flat.text).to_bytes(8, "little") + flat.text + flat.tensors
    return _MAGIC + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def unpack(data: bytes, name: str) -> Part:
    """Return the part that bytes are; nothing in them is run.

    Args:
        data: what `pack` returned.
        name: what they are called in a message.

    Raises:
        CheckpointError: they are not, or no longer, what was packed.
    """
    return _part(_checked(data, name), name)


def seal(data: bytes, name: str) -> str:
    """Return the digest that stands before bytes, once it is known to be theirs.

    Raises:
        CheckpointError: as `unpack`.
    """
    return hashlib.sha256(_checked(data, name)).hexdigest()


def _checked(data: bytes, name: str) -> bytes:
    start = len(_MAGIC) + _DIGEST + 1
    said, body = data[len(_MAGIC) : start - 1], data[start:]
    if not data.startswith(_MAGIC):
        message = f"{name}: no checkpoint; one begins with {_MAGIC.decode().strip()!r}"
        raise CheckpointError(message)
    if hashlib.sha256(body).hexdigest().encode() != said:
        message = f"{name}: {len(data)} bytes, torn or altered: their digest is another"
        raise CheckpointError(message)
    return body


def _part(body: bytes, name: str) -> Part:
    size = int.from_bytes(body[:8], "little")
    tree = unflattened(Flat(body[8 : 8 + size], body[8 + size :]))
    wanted = [each.name for each in fields(Part)]
    if not isinstance(tree, dict) or sorted(tree) != sorted(wanted):
        there = sorted(tree) if isinstance(tree, dict) else type(tree).__name__
        message = f"{name}: holds {there}, and a checkpoint holds {wanted}"
        raise CheckpointError(message)
    tables = {field: table for field, table in tree.items() if isinstance(table, dict)}
    if len(tables) < len(tree):
        message = f"{name}: each field of a checkpoint is a table"
        raise CheckpointError(message)
    return Part(**tables)


def write(path: Path, data: bytes) -> None:
    """Write a file that is there with all its bytes, or as it was before, whatever happens."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    try:
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def read(path: Path) -> bytes:
    """Return the bytes of a file, for `unpack`.

    Raises:
        CheckpointError: it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        message = f"{path.name}: {error.strerror}"
        raise CheckpointError(message) from error
