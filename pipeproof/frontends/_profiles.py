"""Profiles: named bundles of transports and of a runtime's own rules."""

from collections.abc import Mapping
from types import MappingProxyType

from pipeproof.errors import Problem, UnsupportedFeatureError, UsageError, did_you_mean, printable
from pipeproof.ir.transport import DEFAULT, Transport, named

__all__ = ["PLANNED", "PROFILES", "expected_profile", "require_profile", "transports_of"]

_TORCH = ("nccl-lazy", "nccl-first", "nccl-eager", "nccl-small", "gloo")
PROFILES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "none": (DEFAULT,),
        "torch-runtime": _TORCH,
        "torch-multi": _TORCH,
        "torch-single": _TORCH,
    }
)
PLANNED = ("deepspeed", "megatron")


def transports_of(profile: str) -> tuple[Transport, ...]:
    """Return the transports that a profile of `PROFILES` brings."""
    return tuple(each for name in PROFILES[profile] for each in named(name))


def expected_profile(word: str) -> str:
    """Return what to write in place of `word`, which is no profile."""
    known = (*PROFILES, *PLANNED)
    return f"write one of {', '.join(known)}{did_you_mean(word[:40], known)}"


def require_profile(profile: str) -> str:
    """Return `profile` where it is one that this version models.

    Raises:
        UsageError: there is no such profile.
        UnsupportedFeatureError: the language names it, this version does not model it.
    """
    if profile in PROFILES:
        return profile
    if profile in PLANNED:
        message = f"profile '{profile}' is not modelled yet; use one of {', '.join(PROFILES)}"
        raise UnsupportedFeatureError(message)
    found = f"{printable(profile)} is no profile"
    raise UsageError([Problem("--profile", 1, 1, found, expected_profile(profile))])
