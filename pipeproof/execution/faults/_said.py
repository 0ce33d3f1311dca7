"""What packets say, read: findings, opinions, and a message spoilt on purpose."""

from collections.abc import Mapping

from pipeproof.execution.faults.findings import Answer, Finding
from pipeproof.execution.faults.injections import Injection, What
from pipeproof.execution.faults.ledgers import Bit, turned
from pipeproof.execution.faults.packets import Body, Data
from pipeproof.ir.operations import Operations

__all__ = ["HOPELESS", "conditions", "findings_in", "late", "spoilt", "value_text"]

HOPELESS = (Answer.STOPPED, Answer.MISSING, Answer.CANNOT)
"""What leaves nothing to recover with."""


def late(now: tuple[Finding, ...], known: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Return who stopped once the findings of all were known."""
    new = (each for each in now if each not in known and each.answer in HOPELESS)
    return tuple(each._replace(after_step=True) for each in new)


def conditions(said: Mapping[int, str]) -> list[str]:
    """Return on what each rank says that it works."""
    return [each.partition("|")[0] for each in said.values()]


def value_text(ops: Operations, value: int) -> str:
    """Return a value in words, also one that the schedule has not."""
    try:
        return ops.value_text(value)
    except IndexError:
        return f"value {value}, which the schedule has not"


def findings_in(body: Body) -> tuple[Finding, ...]:
    """Return the findings that a packet brings."""
    every = body if isinstance(body, tuple) else ()
    return tuple(each for each in every if isinstance(each, Finding))


def spoilt(right: Data, fault: Injection | None) -> Data:
    """Return what a message holds once it is spoilt as a fault says."""
    match fault.what if fault else None:
        case What.CORRUPTED:
            return right._replace(value=right.value ^ 1)
        case What.MISSHAPEN:
            return right._replace(numbers=right.numbers[:-1].clone())
        case What.TURNED if fault is not None:
            (wrong,) = turned([right.numbers], Bit(fault.bit), 1)
            return right._replace(numbers=wrong)
        case _:
            return right
