"""Options that a way of running a schedule does not hear: named all the same, they are refused."""

from collections.abc import Iterator
from typing import TypedDict

import click
from click.core import ParameterSource

__all__ = ["all_heard"]

_WRITTEN = (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)


class _Values(TypedDict):
    runtime: str | None
    inject: tuple[str, ...]


def all_heard(values: _Values) -> None:
    """Check that every option that is written means something beside the others.

    Raises:
        click.UsageError: one would be passed over.
    """
    context = click.get_current_context(silent=True)
    for option, why in _unheard(values):
        if context is not None and context.get_parameter_source(option) in _WRITTEN:
            said = f"'--{option}' means nothing here: {why}"
            raise click.UsageError(said)


def _unheard(values: _Values) -> Iterator[tuple[str, str]]:
    if not values["inject"]:
        yield "policy", "it says what becomes of '--inject'"
    if values["runtime"]:
        why = "torch's runtime runs a file once, on data of its own"
        yield "orders", why
        yield "seed", why
    if values["inject"]:
        yield "orders", "each '--inject' is one run"
