"""`--processes gloo`: schedules on real ranks, each a process of its own."""

from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from pipeproof.errors import UnsupportedFeatureError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pipeproof.execution.confirm import Claim, Confirmed, Ran
    from pipeproof.execution.ranks.confirm import Subject
    from pipeproof.execution.ranks.processes import Processes
    from pipeproof.semantics.model import Model

__all__ = ["OnRanks", "one_way", "processes_option", "ranks_of"]

processes_option = click.option(
    "--processes",
    type=click.Choice(("gloo",)),
    help="Run each rank as a process, with messages of torch over gloo on this machine.",
)


def one_way(**asked: object) -> None:
    """Check that a schedule is to be run in one way at most.

    Raises:
        click.UsageError: several are asked for.
    """
    chosen = [f"--{name}" for name, value in asked.items() if value]
    if len(chosen) > 1:
        said = f"{' and '.join(chosen)} are different ways of running a schedule; name one."
        raise click.UsageError(said)


class OnRanks:
    """Runs schedules and counterexamples on real ranks, which stay alive in between."""

    def __init__(self, processes: "Processes", witness: str) -> None:
        self.processes, self.witness = processes, witness

    def unfair(self, models: "Iterable[Model]") -> str | None:
        """Return why real ranks cannot show what happens under a transport, None where they can."""
        from pipeproof.execution.ranks.fair import unfair  # noqa: PLC0415  torch, when needed

        found = (unfair(each.frame.run, each.frame.transport) for each in models)
        return next((why for why in found if why is not None), None)

    def runs(self, models: "Iterable[Model]", orders: int, seed: int) -> "list[Ran]":
        """Run every outcome of a legal schedule.

        Raises:
            UnsupportedFeatureError: real ranks or the witness cannot show it.
        """
        from pipeproof.execution.ranks.confirm import run_on_ranks  # noqa: PLC0415
        from pipeproof.execution.witness import InexactError  # noqa: PLC0415

        try:
            return [
                one
                for each in models
                for one in run_on_ranks(
                    self.processes, _subject(each), orders=orders, witness=self.witness, seed=seed
                )
            ]
        except InexactError as error:
            raise UnsupportedFeatureError(str(error)) from error

    def confirming(self, model: "Model", claim: "Claim") -> "Confirmed":
        """Return what becomes of a counterexample on real ranks."""
        from pipeproof.execution.ranks.confirm import confirm_on_ranks  # noqa: PLC0415

        return confirm_on_ranks(self.processes, _subject(model), claim, witness=self.witness)


def _subject(model: "Model") -> "Subject":
    from pipeproof.execution.ranks.confirm import Subject  # noqa: PLC0415  torch, when needed

    frame = model.frame
    return Subject(frame.run, frame.transport, frame.waits, model.progress)


@contextmanager
def ranks_of(processes: str | None, witness: str) -> "Iterator[OnRanks | None]":
    """Keep real ranks alive where they are asked for, and end them."""
    if processes is None:
        yield None
        return
    from pipeproof.execution.ranks.processes import Processes  # noqa: PLC0415  when needed

    with Processes() as alive:
        yield OnRanks(alive, witness)
