"""The language in which rules are stated: relations over events, and axioms about them.

After herd's cat (Alglave, Cousot, Maranget 2016): a rule is a formula, so that every engine can
decide it and none needs to know it.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

__all__ = [
    "HAPPENS_BEFORE",
    "PROGRESS",
    "Acyclic",
    "All",
    "AtMost",
    "Axiom",
    "Empty",
    "Enforced",
    "Finally",
    "Never",
    "NotAfter",
    "Order",
    "Rel",
    "Rule",
]


class Rel(NamedTuple):
    """A relation, by the name under which `semantics.relations` knows it."""

    name: str


class Order(NamedTuple):
    """The union of the relations that `assumptions` selects for a transport, by its purpose.

    `progress` is what an event waits for; `happens-before` what is ordered in every execution.
    """

    purpose: Literal["progress", "happens-before"]


HAPPENS_BEFORE = Order("happens-before")
PROGRESS = Order("progress")


@dataclass(frozen=True, slots=True)
class Acyclic:
    """No event waits, through `order`, for itself.

    `through` says which cycles a rule is about: those of collectives alone, or those that a
    message or signal is part of.
    """

    order: Order
    through: Literal["collectives", "messages"]


@dataclass(frozen=True, slots=True)
class Empty:
    """`rel` holds of nothing."""

    rel: Rel


@dataclass(frozen=True, slots=True)
class Never:
    """No event of `rel` happens in any execution."""

    rel: Rel


@dataclass(frozen=True, slots=True)
class Enforced:
    """Every pair of `rel` is ordered by a path through `by`, in every execution."""

    rel: Rel
    by: Order = HAPPENS_BEFORE


@dataclass(frozen=True, slots=True)
class Finally:
    """Where nothing more can happen, `rel` holds of nothing; what it holds of depends on that."""

    rel: Rel


@dataclass(frozen=True, slots=True)
class NotAfter:
    """No event of `rel` happens, in any execution, after the one that stands `before` it.

    Told once for each place. Where none stands before it, it does not happen at all.
    """

    rel: Rel


@dataclass(frozen=True, slots=True)
class AtMost:
    """What `measure` counts never exceeds its bound, in any execution."""

    measure: Rel


@dataclass(frozen=True, slots=True)
class All:
    """Each of `axioms` holds."""

    axioms: tuple["Axiom", ...]


Axiom = Acyclic | Empty | Never | Enforced | Finally | NotAfter | AtMost | All


class Rule(NamedTuple):
    """One rule: a code that never changes, the bad thing it is named after, and its formula.

    `message` is filled with the facts of a place. A rule that `warns` compares transports and
    never refutes. `doc` is the text of the module that states it.
    """

    code: str
    name: str
    axiom: Axiom
    message: str
    doc: str
    warns: bool = False
