"""The key `transport`: a name, a list of names, or a mapping."""

from pipeproof.errors import printable
from pipeproof.frontends._profiles import transports_of
from pipeproof.frontends._spec_nodes import (
    Items,
    Node,
    Scalar,
    Table,
    any_of,
    items,
    keys,
    number,
    one_of,
    pattern,
    wrong,
)
from pipeproof.ir.reading import Mistakes
from pipeproof.ir.transport import (
    Completion,
    Groups,
    Match,
    Queue,
    Transport,
    Wait,
    named,
    names,
)

__all__ = ["TRANSPORT", "transports"]

CUSTOM = "custom"
DEFAULT_COMMUNICATOR = "default"

_NAME = one_of(*names())
_COMMUNICATOR = pattern(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", "the name of a communicator")
_MAPPING = keys(
    {
        "completion": one_of(*(each.value for each in Completion)),
        "capacity": number(1),
        "queue": one_of(*(each.value for each in Queue)),
        "groups": one_of(*(each.value for each in Groups)),
        "wait": one_of(*(each.value for each in Wait)),
        "match": one_of(*(each.value for each in Match)),
        "weak": any_of(_COMMUNICATOR, items(_COMMUNICATOR)),
        "communicators": one_of("lazy", "eager"),
    },
)


def _listed(node: Node, mistakes: Mistakes) -> bool:
    right = items(_NAME)(node, mistakes)
    seen: set[str] = set()
    for each in node.nodes if isinstance(node, Items) else ():
        if isinstance(each, Scalar) and each.text in seen:
            found = f"{printable(each.text)} stands twice"
            right = wrong(each, mistakes, "name a transport once", found)
        seen.add(each.text if isinstance(each, Scalar) else "")
    return right


def TRANSPORT(node: Node, mistakes: Mistakes) -> bool:  # noqa: N802  a check like the others
    """Check the value of `transport`."""
    match node:
        case Scalar():
            return _NAME(node, mistakes)
        case Items():
            return _listed(node, mistakes)
        case Table():
            return _MAPPING(node, mistakes)


def transports(node: Node | None, profile: str) -> tuple[Transport, ...]:
    """Return the transports of a node that `TRANSPORT` finds nothing wrong with, else `profile`'s.

    None stands twice, even where `strict` stands beside one of its own.
    """
    match node:
        case None:
            return transports_of(profile)
        case Scalar():
            return named(node.text)
        case Items():
            words = (each.text for each in node.nodes if isinstance(each, Scalar))
            return tuple(dict.fromkeys(each for word in words for each in named(word)))
        case Table():
            return (_custom(node),)


def _custom(table: Table) -> Transport:
    words = {key: each.text for key, each in table.entries.items() if isinstance(each, Scalar)}
    capacity = words.get("capacity")
    return Transport(
        CUSTOM,
        completion=Completion(words.get("completion", Completion.RENDEZVOUS.value)),
        queue=Queue(words.get("queue", Queue.NONE.value)),
        groups=Groups(words.get("groups", Groups.INDEPENDENT.value)),
        wait=Wait(words.get("wait", Wait.BLOCKING.value)),
        match=Match(words.get("match", Match.ORDER.value)),
        capacity=None if capacity is None else int(capacity),
        weak=frozenset("" if name == DEFAULT_COMMUNICATOR else name for name in _weak(table)),
        lazy=words.get("communicators") == "lazy",
    )


def _weak(table: Table) -> tuple[str, ...]:
    node = table.entries.get("weak")
    return tuple(each.text for each in _weak_nodes(node))


def _weak_nodes(node: Node | None) -> tuple[Scalar, ...]:
    if isinstance(node, Scalar):
        return (node,)
    return (
        tuple(each for each in node.nodes if isinstance(each, Scalar))
        if isinstance(node, Items)
        else ()
    )
