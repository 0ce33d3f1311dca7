"""What a spec file says of its own verdict: `expect`, and the rules it selects."""

from pipeproof.errors import did_you_mean
from pipeproof.frontends._spec_nodes import (
    Check,
    Items,
    Node,
    Scalar,
    Table,
    items,
    keys,
    one_of,
    pattern,
    wrong,
)
from pipeproof.ir.codes import CODES
from pipeproof.ir.reading import Mistakes
from pipeproof.ir.source import Expectation
from pipeproof.ir.transport import names

__all__ = ["EXPECT", "RULES", "expectations", "selected"]


def _code(node: Node, mistakes: Mistakes) -> bool:
    if isinstance(node, Scalar) and node.text in CODES:
        return True
    close = did_you_mean(node.text[:40], CODES) if isinstance(node, Scalar) else ""
    return wrong(node, mistakes, f"write the code of a rule, as PP301{close}")


def _prefix(node: Node, mistakes: Mistakes) -> bool:
    known = isinstance(node, Scalar) and len(node.text) > 1
    if known and any(code.startswith(node.text) for code in CODES if isinstance(node, Scalar)):
        return True
    return wrong(node, mistakes, "write the code of a rule or how codes begin, as PP301 or PP3")


_PLACES = items(pattern(r"r(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})", "rank and position, as r0.1"))
_ENTRY = keys(
    {
        "transport": one_of(*names(), "custom"),
        "verdict": one_of("proved", "refuted", "unknown"),
        "rule": _code,
        "or": items(_code),
        "at": _PLACES,
        "at_any": _PLACES,
        "exact": one_of("true", "false"),
    },
    needs=("verdict",),
)


def _entry(node: Node, mistakes: Mistakes) -> bool:
    right = _ENTRY(node, mistakes)
    if isinstance(node, Table) and "rule" not in node.entries:
        for key in ("or", "at", "at_any", "exact"):
            if key in node.entries:
                found = f"'{key}' stands without 'rule'"
                right = wrong(node.heads[key], mistakes, "name the rule that is expected", found)
    return right


EXPECT: Check = items(_entry, expected="a list of what is expected", least=0)
RULES: Check = keys({"select": items(_prefix), "ignore": items(_prefix)})


def _texts(table: Table, key: str) -> tuple[str, ...]:
    node = table.entries.get(key)
    return (
        tuple(each.text for each in node.nodes if isinstance(each, Scalar))
        if isinstance(node, Items)
        else ()
    )


def _word(table: Table, key: str) -> str | None:
    node = table.entries.get(key)
    return node.text if isinstance(node, Scalar) else None


def expectations(node: Node) -> tuple[Expectation, ...]:
    """Return the expectations of a node that `EXPECT` finds nothing wrong with."""
    entries = node.nodes if isinstance(node, Items) else ()
    return tuple(
        Expectation(
            transport=_word(entry, "transport"),
            verdict=_word(entry, "verdict") or "",
            rule=_word(entry, "rule"),
            alternatives=_texts(entry, "or"),
            at=_texts(entry, "at"),
            at_any=_texts(entry, "at_any"),
            exact=_word(entry, "exact") == "true",
            line=entry.line,
        )
        for entry in entries
        if isinstance(entry, Table)
    )


def selected(node: Node | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return codes selected and codes ignored by a node that `RULES` finds nothing wrong with."""
    if not isinstance(node, Table):
        return (), ()
    return _texts(node, "select"), _texts(node, "ignore")
