"""Files that are there as a whole, or as they were before."""

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

__all__ = ["put"]


def put(path: str, data: bytes) -> None:
    """Put `data` into the file at `path`, at once; what is no file of the user's is written to.

    Raises:
        OSError: it cannot be written; what was there before is there still.
        ValueError: no such path can be.
    """
    path = os.path.realpath(path)  # a NUL byte is a ValueError here
    about = _about(path)
    if about is not None and not _is_own_file(path, about):
        Path(path).write_bytes(data)
        return
    half = Path(path).with_name(f".pipeproof-{secrets.token_hex(8)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        handle = os.open(half, flags, 0o666)
    except PermissionError:
        Path(path).write_bytes(data)  # the folder takes no new file; the file may be written to
        return
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        if about is not None:
            half.chmod(stat.S_IMODE(about.st_mode))
        half.replace(path)
    except BaseException:
        with suppress(OSError):
            half.unlink()
        raise


def _about(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)  # noqa: PTH116  as above
    except FileNotFoundError:
        return None


def _is_own_file(path: str, about: os.stat_result) -> bool:
    """Whether another file may take its place: a plain one of the user's, under one name."""
    is_own = not hasattr(os, "geteuid") or about.st_uid == os.geteuid()
    is_one = stat.S_ISREG(about.st_mode) and about.st_nlink == 1
    return is_own and is_one and os.access(path, os.W_OK)
