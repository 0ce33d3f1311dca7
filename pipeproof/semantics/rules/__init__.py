"""The rules, one file each, named after the bad thing that must not happen."""

from functools import cache
from types import ModuleType

from pipeproof import plugins
from pipeproof.errors import InternalError
from pipeproof.semantics.logic import Rule

__all__ = ["all_rules", "rules_in"]


@cache
def all_rules() -> tuple[Rule, ...]:
    """Return every rule in order of its code.

    Raises:
        InternalError: a module of this room states no rule.
    """
    return rules_in(_room())


def rules_in(room: ModuleType) -> tuple[Rule, ...]:
    """Return the rules that the members of a package state, in order of their codes.

    Raises:
        InternalError: a member states no rule.
    """
    found = [_rule(module) for module in plugins.members(room)]
    return tuple(sorted(found, key=lambda rule: rule.code))


def _room() -> ModuleType:
    import pipeproof.semantics.rules as room  # noqa: PLC0415  a package cannot name itself

    return room


def _rule(module: ModuleType) -> Rule:
    rule = getattr(module, "RULE", None)
    if not isinstance(rule, Rule):
        message = f"{module.__name__} states no rule"
        raise InternalError(message)
    return rule
