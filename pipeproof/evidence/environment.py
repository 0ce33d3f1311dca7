"""What commands run in: versions, packages, variables that may be told, and accelerators."""

import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

import pipeproof
from pipeproof.evidence._shape import Json
from pipeproof.evidence.manifest import sha256

__all__ = ["VARIABLES", "environment", "source", "tool"]

VARIABLES = (
    *("CI", "GITHUB_ACTIONS", "GITHUB_RUN_ATTEMPT", "GITHUB_RUN_ID", "GITHUB_SHA"),
    *("CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_VISIBLE_DEVICES", "CUBLAS_WORKSPACE_CONFIG"),
    *("LANG", "LC_ALL", "OMP_NUM_THREADS", "PYTHONHASHSEED", "SOURCE_DATE_EPOCH", "TZ"),
)
"""The only variables of the environment whose values are told."""

_PACKAGES = ("click", "networkx", "numpy", "PyYAML", "rich", "torch", "z3-solver")
_DRIVERS = ("/dev/nvidiactl", "/dev/kfd")
_ASK = (
    "import torch\n"
    "for each in range(torch.cuda.device_count()):\n"
    "    print(torch.cuda.get_device_name(each))\n"
)
_SECONDS = 120


def tool() -> Mapping[str, Json]:
    """Return which program this is."""
    return {"name": "pipeproof", "version": pipeproof.__version__, "source": source()}


@cache
def source() -> str:
    """Return a digest of the source files of the package, whatever folder it stands in."""
    root = Path(pipeproof.__file__).parent
    files = (each for each in root.rglob("*") if each.is_file() and "__pycache__" not in each.parts)
    found = {each.relative_to(root).as_posix(): sha256(each.read_bytes()) for each in files}
    return sha256("".join(f"{found[name]}  {name}\n" for name in sorted(found)).encode())


def environment(environ: Mapping[str, str]) -> Mapping[str, Json]:
    """Return what commands run in, as JSON holds it; of `environ` only what is on the list."""
    return {
        "python": platform.python_version(),
        "platform": f"{platform.system()}-{platform.machine()}",
        "processors": os.cpu_count() or 1,
        "devices": _devices(),
        "packages": [each for name in _PACKAGES if (each := _package(name)) is not None],
        "variables": {name: environ[name] for name in VARIABLES if name in environ},
    }


def _package(name: str) -> Mapping[str, Json] | None:
    try:
        found = distribution(name)
    except PackageNotFoundError:
        return None
    record = found.read_text("RECORD")
    digest = None if record is None else sha256(record.encode())
    return {"name": name, "version": found.version, "record": digest}


def _devices() -> list[str]:
    """Return the accelerators that torch sees; it is asked only where there is a driver."""
    if find_spec("torch") is None or not any(Path(each).exists() for each in _DRIVERS):
        return []
    try:
        done = subprocess.run(  # noqa: S603  a fixed command
            [sys.executable, "-P", "-c", _ASK],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            check=False,
            timeout=_SECONDS,
        )
    except (OSError, subprocess.SubprocessError):
        return []
    return done.stdout.decode("utf-8", "replace").splitlines() if done.returncode == 0 else []
