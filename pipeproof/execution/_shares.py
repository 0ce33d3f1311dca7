"""What is read from the keys of a file: shares of microbatches, slots for versions, names."""

from collections.abc import Mapping
from fractions import Fraction

from pipeproof.ir.as_run import AsRun
from pipeproof.ir.schedule import Plain, Schedule

__all__ = ["coefficients", "names", "slots", "texts"]


def coefficients(schedule: Schedule) -> tuple[Fraction, ...]:
    """Return the share of each microbatch of a step; a segment has that of its microbatch."""
    said, ids = schedule.gradients.other.get("coefficients", "sum"), max(schedule.ids_per_step, 1)
    if isinstance(said, str):
        whole = ids // max(schedule.segments, 1)
        return (Fraction(1, whole) if said == "mean" else Fraction(1),) * ids
    numbers = _fractions(said.get("tokens", ()) if isinstance(said, Mapping) else said)
    total = sum(numbers, Fraction(0)) if isinstance(said, Mapping) else Fraction(1)
    each = ids // len(numbers) if numbers else 1
    return tuple(number / total for number in numbers for _ in range(each))


def slots(*, schedule: Schedule, policy: str) -> int | None:
    """Return how many versions are kept at once, None for all of them."""
    table = schedule.described.get("storage")
    pool = table.get("weights") if isinstance(table, Mapping) else None
    said = pool.get("slots") if isinstance(pool, Mapping) else None
    if isinstance(said, str):
        return int(said)
    return 2 if policy == "2bw" else None


def names(run: AsRun) -> int:
    """Return how many weights a stage must have for every name of the file to be one's own."""
    said = run.operations.attributes.values()
    parameters = {each["param"] for each in said if "param" in each}
    buckets = {each["bucket"] for each in said if "bucket" in each}
    return max(len(parameters) + 1, len(buckets))


def texts(value: Plain) -> tuple[str, ...]:
    """Return the words of a list."""
    return tuple(each for each in value if isinstance(each, str))


def _fractions(value: Plain) -> tuple[Fraction, ...]:
    return tuple(Fraction(each) for each in texts(value))
