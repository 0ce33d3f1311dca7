"""`--device`: schedules on streams of a GPU, or on queues of the CPU with the same events."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypedDict, TypeVar

import click

from pipeproof.errors import UnsupportedFeatureError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipeproof.execution.confirm import Claim, Confirmed, Ran
    from pipeproof.execution.streams.device import Device
    from pipeproof.execution.streams.running import Modelled
    from pipeproof.semantics.model import Model

__all__ = ["OnStreams", "device_option", "streams_of"]

_F = TypeVar("_F", bound=Callable[..., object])
_CPU, _QUEUES, _CUDA = "cpu", "cpu-streams", "cuda"
_WITNESS = "linear"


class _Values(TypedDict):
    device: str
    witness: str
    processes: str | None
    runtime: str | None
    inject: tuple[str, ...]


def device_option(command: _F) -> _F:
    """Add the option that names what a schedule runs on."""
    return click.option(
        "--device",
        type=click.Choice((_CPU, _QUEUES, _CUDA)),
        default=_CPU,
        show_default=True,
        help="cuda: ranks as streams of a GPU; cpu-streams: as queues with the same events.",
    )(command)


def streams_of(values: _Values) -> "OnStreams | None":
    """Return what runs schedules on streams, None where they are not asked for.

    Raises:
        click.UsageError: there is no such device, or another option does not go with it.
    """
    if values["device"] == _CPU:
        return None
    for other, given in _beside(values).items():
        if given:
            said = f"'--device' names streams of one process: leave '{other}' out"
            raise click.UsageError(said)
    if values["witness"] != _WITNESS:
        said = f"on streams every number is exact: '--witness {_WITNESS}' is the one that is run"
        raise click.UsageError(said)
    if values["device"] == _CUDA:
        from pipeproof.execution.streams.cuda import missing  # noqa: PLC0415  torch, when needed

        why = missing()
        if why is not None:
            said = f"no CUDA device: {why}; '--device cpu-streams' needs none"
            raise click.UsageError(said)
    return OnStreams(values["device"])


def _beside(values: _Values) -> dict[str, bool]:
    """Return the other ways to run a schedule, and which of them are asked for."""
    return {
        "--processes": values["processes"] is not None,
        "--runtime": values["runtime"] is not None,
        "--inject": bool(values["inject"]),
    }


class OnStreams:
    """Runs schedules and counterexamples with their ranks as streams."""

    def __init__(self, device: str) -> None:
        self.device = device

    def unfair(self, models: "Iterable[Model]") -> str | None:
        """Return why streams cannot show what happens under a transport: they can under each."""
        del models
        return None

    def runs(self, models: "Iterable[Model]", orders: int, seed: int) -> "list[Ran]":
        """Run every outcome of a legal schedule, each in several orders.

        Raises:
            UnsupportedFeatureError: streams or the witness cannot show it.
        """
        from pipeproof.execution.streams.running import run_legal  # noqa: PLC0415
        from pipeproof.execution.witness import InexactError  # noqa: PLC0415

        seeds = range(seed, seed + orders)
        try:
            return [
                run_legal(_modelled(each), self._made(one), seed=one)
                for each in models
                for one in seeds
            ]
        except InexactError as error:
            raise UnsupportedFeatureError(str(error)) from error

    def confirming(self, model: "Model", claim: "Claim") -> "Confirmed":
        """Return what becomes of a counterexample on streams."""
        from pipeproof.execution.streams.running import confirm  # noqa: PLC0415

        return confirm(_modelled(model), claim, self._made)

    def _made(self, seed: int) -> "Device":
        if self.device == _CUDA:
            from pipeproof.execution.streams.cuda import Cuda  # noqa: PLC0415

            return Cuda()
        from pipeproof.execution.streams.queues import Queues, seeded  # noqa: PLC0415

        return Queues(seeded(seed))


def _modelled(model: "Model") -> "Modelled":
    from pipeproof.execution.streams.running import Modelled  # noqa: PLC0415

    frame = model.frame
    return Modelled(frame.run, frame.transport.match, model.happens_before)
