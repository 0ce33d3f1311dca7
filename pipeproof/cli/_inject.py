"""`--inject`: something goes wrong on purpose, is to be named, and to leave nothing half done."""

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, partial
from typing import TYPE_CHECKING, TypedDict, TypeVar

import click

from pipeproof.cli._exits import Exit, worst
from pipeproof.cli._output import printable_lines
from pipeproof.cli._telling import Teller
from pipeproof.errors import UnsupportedFeatureError
from pipeproof.verdict.verdict import Outcome, TransportVerdict

if TYPE_CHECKING:
    from pipeproof.api import Asked
    from pipeproof.execution._events import Events
    from pipeproof.execution.faults.harness import Drive, Trial
    from pipeproof.execution.faults.injections import Injection
    from pipeproof.execution.faults.node import Ended, Manner
    from pipeproof.execution.faults.split import Setting
    from pipeproof.ir.as_run import AsRun
    from pipeproof.ir.faults import Policy
    from pipeproof.ir.schedule import Schedule
    from pipeproof.ir.source import Document
    from pipeproof.verdict.result import Json

__all__ = ["Injecting", "inject_options"]

_F = TypeVar("_F", bound=Callable[..., object])
_OF_FILE = "faults"
_HINT = "'--inject'"


def inject_options(command: _F) -> _F:
    """Add the options that say what goes wrong, and what becomes of it."""
    for option in (
        click.option(
            "--policy",
            type=click.Choice(("raise", "abort", "recover")),
            help="What becomes of an injected fault; what the file says, else raise.",
        ),
        click.option(
            "--inject",
            metavar="[KIND@PLACE]",
            multiple=True,
            is_flag=False,
            flag_value=_OF_FILE,
            help="Let something go wrong, as dropped@r0:0SEND_F0; without a place, what the file's "
            "faults say. Each is a run of its own.",
        ),
    ):
        command = option(command)
    return command


class InjectValues(TypedDict):
    """What the options say."""

    witness: str
    seed: int
    processes: str | None
    inject: tuple[str, ...]
    policy: "Policy | None"
    format_: str
    verbose: bool


class Injecting:
    """Runs one schedule once for each fault, and once without any."""

    def __init__(self, document: "Document", question: "Asked", values: "InjectValues") -> None:
        self.document, self.question, self.values = document, question, values
        self.teller = Teller("pipeproof.run/1", values["format_"], verbose=values["verbose"])
        self.processes = values["processes"]
        self.transport = ""

    def run(self) -> Exit:
        """Run every fault, and say what came of it.

        Raises:
            click.BadParameter: a fault cannot be read, or the file names none.
        """
        from pipeproof.execution.provenance import settled  # noqa: PLC0415  torch, when needed

        with settled(), _driven(self.processes) as drive:
            code = self._all(drive)
        self.teller.close("runs", path=self.document.name)
        return code

    def _all(self, drive: "Drive") -> Exit:
        from pipeproof.execution.faults.harness import stray_of  # noqa: PLC0415  when needed
        from pipeproof.execution.faults.node import Manner  # noqa: PLC0415
        from pipeproof.lowering.faults import policy_of  # noqa: PLC0415

        policy = self.values["policy"] or policy_of(self.document.schedule)
        manner, codes = Manner(policy=policy), set[Exit]()
        try:
            setting, injections = self._read()
            control = drive(setting, None, manner)
            stray = stray_of(control)
            if stray or self._verdict.outcome is Outcome.REFUTED:
                return self._strays(stray or self._broken())
            for each in injections:
                codes.add(self._once(drive, setting, each, manner, control))
        except UnsupportedFeatureError as error:
            self._tell(f"not run: {error}", {"answer": "not run", "why": str(error)})
            codes.add(Exit.UNKNOWN)
        return worst(codes)

    def _strays(self, stray: str) -> Exit:
        """Say what is wrong without any fault: with the schedule, or with what proves it."""
        outcome = self._verdict.outcome
        said = f"{outcome.value} where nothing goes wrong, not run with faults: {stray}"
        self._tell(said, {"answer": "not run", "why": said})
        match outcome:
            case Outcome.PROVED:
                return Exit.DISTRUST
            case Outcome.REFUTED:
                return Exit.REFUTED
            case Outcome.UNKNOWN:
                return Exit.UNKNOWN

    @cached_property
    def _verdict(self) -> TransportVerdict:
        """What is said of the schedule where nothing goes wrong, under what it is run with."""
        from pipeproof import api  # noqa: PLC0415  what judges is imported when needed

        schedule = _healthy(self.document.schedule)
        question = dataclasses.replace(self.question, transports=(self.transport,))
        document = dataclasses.replace(self.document, schedule=schedule)
        return api.judge(document, question).transports[0]

    def _broken(self) -> str:
        first = next(each for each in self._verdict.violations if each.first)
        return f"{first.rule} {first.message}"

    def _read(self) -> "tuple[Setting, list[Injection]]":
        from pipeproof import api  # noqa: PLC0415  what judges is imported when needed
        from pipeproof.execution._events import Events  # noqa: PLC0415
        from pipeproof.execution.faults.split import Setting  # noqa: PLC0415  torch

        transport = api.transports_of(self.document, self.question)[0]
        model = api.models(self.document, self.question)(transport.name, 1)
        if model is None:
            message = f"the schedule has no transport {transport.name}"
            raise UnsupportedFeatureError(message)
        self.transport = transport.name
        run, events = model.frame.run, Events(model.frame.run, transport.match)
        found = [each for text in self.values["inject"] for each in self._faults(text, run, events)]
        run = dataclasses.replace(run, schedule=_healthy(run.schedule))
        return Setting(
            run, transport.match, model.happens_before, self.values["witness"], self.values["seed"]
        ), found

    def _faults(self, text: str, run: "AsRun", events: "Events") -> "Iterator[Injection]":
        """Yield what a text stands for: one fault, or those of the file, of one kind or all."""
        from pipeproof.execution.faults.injections import (  # noqa: PLC0415  when needed
            What,
            injected,
            injections_of,
        )

        kinds = [each.value for each in What]
        if text != _OF_FILE and text not in kinds:
            try:
                yield injected(text, run, events)
            except ValueError as error:
                said = printable_lines(str(error))
                raise click.BadParameter(said, param_hint=_HINT) from error
            return
        every = injections_of(run, events)
        own = [each for each in every if text in (_OF_FILE, each.what.value)]
        if not own:
            of = "" if text == _OF_FILE else f" of the kind {text}"
            said = f"the file names no fault{of}; write KIND@PLACE, as dropped@r0:0SEND_F0"
            raise click.BadParameter(said, param_hint=_HINT)
        yield from own

    def _once(
        self,
        drive: "Drive",
        setting: "Setting",
        injection: "Injection",
        manner: "Manner",
        control: "list[Ended]",
    ) -> Exit:
        from pipeproof.execution.faults.harness import tried  # noqa: PLC0415  when needed

        trial = tried(drive, setting, injection, manner, control)
        self._tell(f"{injection.text}: {trial}", _said(trial))
        return Exit.PROVED if trial.is_kept else Exit.REFUTED

    def _tell(self, text: str, said: "dict[str, Json]") -> None:
        from pipeproof.cli._provenance import came_of  # noqa: PLC0415  imported when needed

        runs_on = "gloo" if self.processes else "one process, simulated time"
        self.teller.tell(
            f"{self.document.name}: {text}",
            {"transport": self.transport or None, **said},
            lambda: came_of(
                self.document,
                self.transport or None,
                self.values["witness"],
                [self.values["seed"]],
                runs_on=runs_on,
            ),
        )


def _healthy(schedule: "Schedule") -> "Schedule":
    """Return a schedule in which nothing is said of faults."""
    described = {key: said for key, said in schedule.described.items() if key != "faults"}
    return dataclasses.replace(schedule, described=described)


def _said(trial: "Trial") -> "dict[str, Json]":
    """Return what came of a fault as JSON holds it."""
    return {
        "inject": trial.injection.text,
        "policy": trial.policy,
        "named": trial.is_named,
        "kept": trial.is_kept,
        "broken": list(trial.broken()),
        "control": "clean",
        "outcomes": [each.outcome for each in trial.ended],
        "shows": "this fault in this run only",
        "findings": [
            {
                "answer": each.answer.value,
                "rank": each.place.rank,
                "stage": each.place.stage,
                "microbatch": each.place.microbatch,
                "direction": each.place.direction,
                "confirmations": list(each.confirmations),
            }
            for each in trial.findings
        ],
    }


@contextmanager
def _driven(processes: str | None) -> "Iterator[Drive]":
    """Run ranks in this process, or as processes that are alive meanwhile."""
    if processes is None:
        from pipeproof.execution.faults.simulated import simulated  # noqa: PLC0415  when needed

        yield simulated
        return
    from pipeproof.execution.faults.ranks import on_ranks  # noqa: PLC0415  when needed
    from pipeproof.execution.ranks.processes import Processes  # noqa: PLC0415

    with Processes() as alive:
        yield partial(on_ranks, alive)
