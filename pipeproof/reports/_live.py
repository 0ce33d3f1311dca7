"""The most that is live at once, a line a rank."""

from collections.abc import Iterator

from pipeproof.ir.sizes import size_text
from pipeproof.verdict.verdict import FileVerdict, Live

__all__ = ["live_lines"]

_RANKS = 8
_ONE = {"activations": "activation", "gradients": "gradient", "versions": "version"}
_COUNTED = ("activations", "gradients", "kept", "versions")


def live_lines(verdict: FileVerdict) -> Iterator[str]:
    """Yield the most that each rank holds at once over all transports, some ranks at most."""
    most: dict[int, dict[str, Live]] = {}
    for each in (live for transport in verdict.transports for live in transport.live):
        kinds = most.setdefault(each.rank, {})
        known = kinds.get(each.kind, each)
        size = None if each.size is None else max(each.size, known.size or 0)
        exact = each.exact and known.exact
        kinds[each.kind] = Live(each.rank, each.kind, max(each.number, known.number), size, exact)
    for rank in sorted(most)[:_RANKS]:
        exact = all(live.exact for live in most[rank].values())
        amounts = ", ".join(_amounts(most[rank])) or "nothing"
        yield f"rank {rank}: {'' if exact else 'at most '}{amounts}"
    if len(most) > _RANKS:
        yield f"… and {len(most) - _RANKS} more ranks; --format json lists all"


def _amounts(kinds: dict[str, Live]) -> Iterator[str]:
    for kind in (*_COUNTED, "accumulators", "optimizer state", "everything"):
        live = kinds.get(kind)
        if live is None:
            continue
        size = "" if live.size is None else size_text(live.size)
        if kind == "everything":
            yield f"{size} in all"
        elif live.number and kind in _COUNTED:
            word = _ONE.get(kind, kind) if live.number == 1 else kind
            yield f"{live.number} {word}{f' ({size})' if live.size else ''}"
        elif live.size:
            yield f"{kind} {size}"
