"""What trials that found nothing are worth, and the backlog of a queue that is fed and served."""

from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Context, Decimal, localcontext

__all__ = ["DIGITS", "NO_FAULT", "WORDS", "backlog", "coverage", "held", "written"]

DIGITS = 60
"""So many digits behind the point are written; what has more ends with an ellipsis."""

WORDS = (
    "This is arithmetic on an assumption, not a measurement: every trial is taken to meet the "
    "fault with the same chance, independently of the others.",
    "Correlated trials, a rate that nobody knows and assertions that miss the fault invalidate it.",
)
NO_FAULT = "It says nothing of faults that no trial can meet."

_EXACT = 60_000  # digits up to which a power is written out
_GUARD = 2 * DIGITS


def coverage(rate: Decimal, trials: int) -> Decimal:
    """Return the chance that at least one of independent trials meets a fault: 1 - (1 - p)^n.

    It is exact where it has no more than 60,000 digits, else rounded down behind digit 69.

    Raises:
        ValueError: `rate` is no number from 0 to 1, or `trials` is negative.
    """
    if not 0 <= rate <= 1:
        message = f"the rate is {rate}; expected a number from 0 to 1"
        raise ValueError(message)
    if trials < 0:
        message = f"{trials} trials; expected 0 or more"
        raise ValueError(message)
    if rate in (0, 1):
        return rate if trials else Decimal(0)
    _, digits, exponent = rate.as_tuple()
    behind = max(-exponent, len(digits)) if isinstance(exponent, int) else 1
    exact = behind * trials <= _EXACT
    with localcontext(_context(behind * trials + behind + 2 if exact else _GUARD)):
        missed = (1 - rate) ** trials
        if not exact:
            return _below(missed)
        found: Decimal = 1 - missed
        return found


def _below(missed: Decimal) -> Decimal:
    """Return 1 less a chance that is never 0, rounded down."""
    step = Decimal(1).scaleb(-DIGITS - 9)
    if missed < step:
        return 1 - step
    return (1 - missed).quantize(step, rounding=ROUND_DOWN)


def _context(digits: int) -> Context:
    return Context(prec=max(digits, 28), Emin=-(10**17), Emax=10**17)


def written(value: Decimal) -> str:
    """Return a number in plain digits, all of them, or 60 behind the point and an ellipsis."""
    text = f"{value:f}"
    whole, _, behind = text.partition(".")
    behind = behind.rstrip("0")
    if len(behind) > DIGITS:
        return f"{whole}.{behind[:DIGITS]}..."
    return f"{whole}.{behind}" if behind else whole


def held(predicted: Decimal, found: Decimal) -> str:
    """Return what became of a prediction: `held`, `held to N digits`, or `did not hold`.

    It held to its digits where `found`, rounded to as many, is what was predicted.
    """
    exponent = predicted.as_tuple().exponent
    behind = -exponent if isinstance(exponent, int) and exponent < 0 else 0
    with localcontext(_context(_EXACT + DIGITS)):
        if predicted == found:
            return "held"
        rounded = found.quantize(Decimal(1).scaleb(-behind), rounding=ROUND_HALF_EVEN)
        to = f"held to {behind} digit{'' if behind == 1 else 's'}"
        return to if behind and predicted == rounded else "did not hold"


def backlog(arrival: Decimal, service: Decimal, initial: Decimal, steps: int) -> Decimal:
    """Return what is left in a queue after some steps: each adds `arrival`, then serves `service`.

    Nothing below an empty queue is served: after n steps max(0, initial + n (arrival - service)),
    since both rates stay the same.

    Raises:
        ValueError: one of the numbers is negative.
    """
    for name, value in (("arrival", arrival), ("service", service), ("initial", initial)):
        if value < 0:
            message = f"{name} is {value}; expected 0 or more"
            raise ValueError(message)
    if steps < 0:
        message = f"{steps} steps; expected 0 or more"
        raise ValueError(message)
    with localcontext(_context(_GUARD)):
        return max(Decimal(0), initial + steps * (arrival - service))
