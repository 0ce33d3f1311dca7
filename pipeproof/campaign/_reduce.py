"""What every way of making a schedule smaller shares: taking out, and names that close ranks."""

import re
from collections.abc import Callable, Iterable

from pipeproof.campaign._draft import Draft, Operation, Spot, Tree
from pipeproof.campaign._mutate_order import take_out

__all__ = ["remove", "rename_values", "renumber", "tidy"]

_VALUE = re.compile(r"([FB])(\d+)\.(\d+)|([XYAL])\.(\d+)")
_STAGED = re.compile(r"(\d+)([A-Z_]+?)(\d*)")
_NAMES_FIRST = ("FREE", "WRITE", "USE", "COLL", "WAIT", "CHOOSE", "RESTORE", "HOLD", "DROP")

Number = Callable[[int], int]
OfValue = Callable[[str, int], int]


def remove(draft: Draft, spots: Iterable[Spot]) -> None:
    """Take operations out, and the waits that have nothing left to wait for."""
    for spot in sorted(set(spots), reverse=True):
        take_out(draft, spot)
    tidy(draft)


def tidy(draft: Draft) -> None:
    """Take out each WAIT for what nobody has started since the last one."""
    ready = draft.described.get("ready", {})
    for rank, program in enumerate(draft.programs):
        if str(rank) in ready:
            every = {line.own["h"] for line in program if "h" in line.own}
            program[:] = [
                line
                for line in program
                if line.first.kind != "WAIT" or line.first.words[1] in every
            ]
            continue
        started: set[str] = set()
        kept = []
        for line in program:
            if line.first.kind == "WAIT":
                if line.first.words[1] not in started:
                    continue
                if "if" not in line.own:
                    started.discard(line.first.words[1])
            elif "h" in line.own:
                started.add(line.own["h"])
            kept.append(line)
        program[:] = kept


def renumber(
    draft: Draft,
    *,
    stage: Number = lambda number: number,
    microbatch: Number = lambda number: number,
    of_value: OfValue | None = None,
) -> None:
    """Give stages and microbatches other numbers, wherever they stand.

    `of_value` says which stage a value `F` or `B` of a stage is of; `stage`, unless given.
    """

    def value(text: str) -> str:
        return rename_values(text, microbatch, of_value or (lambda _, number: stage(number)))

    def head(text: str) -> str:
        found = _STAGED.fullmatch(text)
        if found is None:
            return text
        own = str(microbatch(int(found[3]))) if found[3] else ""
        return f"{stage(int(found[1]))}{found[2]}{own}"

    for _, each in draft.every():
        _rename(each, head, value)
    if "faults" in draft.described:
        draft.described["faults"] = _mapped(
            draft.described["faults"], lambda text: value(head(text))
        )


def _rename(each: Operation, head: Callable[[str], str], value: Callable[[str], str]) -> None:
    first = 2 if each.kind in _NAMES_FIRST else 1
    each.words[0] = head(each.words[0])
    each.words[first:] = [value(word) for word in each.words[first:]]
    if "v" in each.attributes:
        each.attributes["v"] = value(each.attributes["v"])


def rename_values(text: str, microbatch: Number, of_value: OfValue) -> str:
    """Return a value under other numbers; what is no value stays."""
    found = _VALUE.fullmatch(text)
    if found is None:
        return text
    if found[1]:
        return f"{found[1]}{of_value(found[1], int(found[2]))}.{microbatch(int(found[3]))}"
    return f"{found[4]}.{microbatch(int(found[5]))}"


def _mapped(tree: Tree, change: Callable[[str], str]) -> Tree:
    if isinstance(tree, str):
        return change(tree)
    if isinstance(tree, dict):
        return {key: _mapped(each, change) for key, each in tree.items()}
    return [_mapped(each, change) for each in tree]
