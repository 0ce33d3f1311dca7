"""The rules of traces of real runs, one file each; a schedule alone never breaks them."""

from functools import cache
from types import ModuleType

from pipeproof import plugins
from pipeproof.errors import InternalError
from pipeproof.semantics.logic import Rule

__all__ = ["trace_rules"]


@cache
def trace_rules() -> tuple[Rule, ...]:
    """Return every rule of traces in order of its code.

    Raises:
        InternalError: a module of this room states no rule.
    """
    found = [_rule(module) for module in plugins.members(_room())]
    return tuple(sorted(found, key=lambda rule: rule.code))


def _room() -> ModuleType:
    import pipeproof.semantics.rules.traces as room  # noqa: PLC0415  a package cannot name itself

    return room


def _rule(module: ModuleType) -> Rule:
    rule = getattr(module, "RULE", None)
    if not isinstance(rule, Rule):
        message = f"{module.__name__} states no rule"
        raise InternalError(message)
    return rule
