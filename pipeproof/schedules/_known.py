"""The modules of this room as values, and whether what is asked of one of them can be had."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType, ModuleType
from typing import Literal

from pipeproof import plugins
from pipeproof.errors import Problem, UsageError, did_you_mean, printable
from pipeproof.ir.values import MAX_STAGE
from pipeproof.schedules._order import Order, Shape

__all__ = ["Known", "all_known", "require", "require_shape"]


@dataclass(frozen=True, slots=True)
class Known:
    """What a module of this room states.

    `expected` says what is expected of the number of microbatches, nothing where it is so.
    `options` holds the values of each option; the first is taken where none is asked for.
    """

    name: str
    stages_per_rank: int | None
    placement: Literal["loop", "v"]
    order: Callable[[Shape, int], Order]
    expected: Callable[[Shape], str]
    options: Mapping[str, tuple[str, ...]]

    def place(self, shape: Shape) -> tuple[int, ...]:
        """Return the rank of each stage: in a loop, or back and forth in a V."""
        around = range(shape.ranks)
        back = around if self.placement == "loop" else around[::-1]
        return tuple(
            rank for turn in range(shape.stages_per_rank) for rank in (back if turn % 2 else around)
        )


def all_known() -> tuple[Known, ...]:
    """Return every known schedule in order of its name."""
    import pipeproof.schedules as room  # noqa: PLC0415  a package cannot name itself

    return tuple(sorted(map(_known, plugins.members(room)), key=lambda each: each.name))


def _known(module: ModuleType) -> Known:
    return Known(
        module.NAME,
        module.STAGES_PER_RANK,
        module.PLACEMENT,
        module.order,
        getattr(module, "expected", _takes_any),
        getattr(module, "OPTIONS", MappingProxyType({})),
    )


def _takes_any(_: Shape) -> str:
    return ""


def require(name: str) -> Known:
    """Return the known schedule of that name.

    Raises:
        UsageError: there is none.
    """
    known = {each.name: each for each in all_known()}
    if name in known:
        return known[name]
    said = f"write one of {', '.join(known)}{did_you_mean(name[:40].lower(), known)}"
    shown = printable(name)
    raise UsageError([Problem(shown[1:-1], 1, 1, f"{shown} is no known schedule", said)])


def require_shape(
    known: Known,
    ranks: int,
    microbatches: int,
    stages_per_rank: int | None,
    options: Mapping[str, str],
) -> Shape:
    """Return what is asked of `known`, its defaults filled in.

    Raises:
        UsageError: it cannot be had.
    """
    only = known.stages_per_rank
    chosen = stages_per_rank if stages_per_rank is not None else only or 1
    defaults = {key: values[0] for key, values in known.options.items()}
    shape = Shape(ranks, microbatches, chosen, MappingProxyType(defaults | dict(options)))
    wrong = [*_wrong_numbers(known, shape), *_wrong_options(known, options)]
    if not wrong and (said := known.expected(shape)):
        wrong.append((f"{microbatches} microbatches on {ranks} ranks", said))
    if wrong:
        raise UsageError([Problem(known.name, 1, 1, found, said) for found, said in wrong])
    return shape


def _wrong_numbers(known: Known, shape: Shape) -> Iterator[tuple[str, str]]:
    asked = (
        ("ranks", shape.ranks),
        ("microbatches", shape.microbatches),
        ("stages a rank", shape.stages_per_rank),
    )
    low = [(f"{count} {what}", "write 1 or more") for what, count in asked if count < 1]
    yield from low
    only = known.stages_per_rank
    if only is not None and shape.stages_per_rank != only:
        yield f"{shape.stages_per_rank} stages a rank", f"{known.name} takes {only}"
    if not low and shape.stages > MAX_STAGE + 1:
        yield f"{shape.stages} stages", f"there are at most {MAX_STAGE + 1}"


def _wrong_options(known: Known, options: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for key, value in options.items():
        found = f"{printable(key)} is no option of {known.name}"
        if not known.options:
            yield found, "it has none"
        elif key not in known.options:
            close = did_you_mean(key[:40], known.options)
            yield found, f"write one of {', '.join(known.options)}{close}"
        elif value not in (values := known.options[key]):
            close = did_you_mean(value[:40], values)
            yield (
                f"{printable(value)} is no value of '{key}'",
                f"write {' or '.join(values)}{close}",
            )
