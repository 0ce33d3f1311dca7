"""The rules of traces of real runs, one file each; a schedule alone never breaks them."""

from functools import cache
from types import ModuleType

from pipeproof.semantics.logic import Rule
from pipeproof.semantics.rules import rules_in

__all__ = ["trace_rules"]


@cache
def trace_rules() -> tuple[Rule, ...]:
    """Return every rule of traces in order of its code.

    Raises:
        InternalError: a module of this room states no rule.
    """
    return rules_in(_room())


def _room() -> ModuleType:
    import pipeproof.semantics.rules.traces as room  # noqa: PLC0415  a package cannot name itself

    return room
