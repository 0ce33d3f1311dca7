"""One fault, put into a run on purpose: the run without it, the run with it, and what must hold."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pipeproof.execution.faults.findings import Answer, Finding, Place
from pipeproof.execution.faults.injections import Injection, What
from pipeproof.execution.faults.node import Ended, Manner
from pipeproof.execution.faults.split import Setting
from pipeproof.ir.faults import Policy

__all__ = ["Drive", "Trial", "stray_of", "tried"]

Drive = Callable[[Setting, Injection | None, Manner], list[Ended]]
"""Runs all ranks of a schedule, simulated or on gloo."""

_OUTCOMES: dict[Policy, str] = {"raise": "raised", "abort": "skipped", "recover": "stepped"}
_DEAD = ("stopped", "missing")
_TWO, _THREE, _FOUR = 2, 3, 4


@dataclass(frozen=True, slots=True)
class Trial:
    """A run with a fault, beside its control: the same run without one.

    `answer` and `place` are what the fault is to be named as; None where nobody can notice it.
    """

    injection: Injection
    policy: Policy
    answer: Answer | None
    place: Place
    control: tuple[Ended, ...]
    ended: tuple[Ended, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the ranks that live say together."""
        return next((each.findings for each in self.ended if each.outcome not in _DEAD), ())

    @property
    def is_named(self) -> bool:
        """Whether the fault is named as what it is, where it is, and nothing else is claimed."""
        said = [(each.answer, each.place) for each in self.findings]
        return said == ([] if self.answer is None else [(self.answer, self.place)])

    @property
    def stray(self) -> str:
        """What is wrong with the control, empty where it is clean."""
        return stray_of(self.control)

    def broken(self) -> Iterator[str]:
        """Yield what must hold after a fault and does not."""
        live = [each for each in self.ended if each.outcome not in _DEAD]
        if len({tuple((one.answer, one.place) for one in each.findings) for each in live}) > 1:
            yield "the ranks do not say the same"
        if len({each.outcome for each in live}) > 1:
            yield "the ranks do not do the same"
        if any(len(each.confirmations) < _TWO for each in self.findings):
            yield "a fault is claimed without two confirmations"
        yield from self._half_applied()
        yield from self._against_policy(live)

    def _half_applied(self) -> Iterator[str]:
        there = [each for each in self.ended if each.before]  # a dead process has no weights
        unchanged = [each.rank for each in there if each.after == each.before]
        wanted = {each.rank: each.after for each in self.control}
        updated = [each.rank for each in there if each.after == wanted[each.rank]]
        if len(unchanged) < len(there) and len(updated) < len(there):
            if unchanged:
                alone = sorted({each.rank for each in there} - set(unchanged))
                yield f"half applied: ranks {alone} have other weights than before, and not all do"
            else:
                wrong = sorted({each.rank for each in there} - set(updated))
                yield f"applied wrong: ranks {wrong} have other weights than without the fault"

    def _against_policy(self, live: list[Ended]) -> Iterator[str]:
        wanted = _OUTCOMES[self.policy]
        during = [each for each in self.findings if not each.after_step]
        outcomes = {each.outcome for each in live}
        if during and outcomes != {wanted}:
            said = " and ".join(sorted(outcomes))
            yield f"the policy is {self.policy}, and the ranks have {said}"
        differs = next((each.differs for each in live if each.differs), "")
        if "stepped" in outcomes and differs:
            yield f"the step is taken, and {differs} is not that of the unsplit model"

    @property
    def is_kept(self) -> bool:
        """Whether the control is clean, the fault is named, and all holds that must."""
        return not self.stray and self.is_named and not list(self.broken())

    def __str__(self) -> str:
        """Return what came of it, in words."""
        if self.stray:
            return f"do not trust this: {self.stray}"
        said = [str(each) for each in self.findings] or [self._nothing()]
        named = self._named() if self.is_named else f"expected {self._expected()}"
        then = sorted({each.outcome for each in self.ended if each.outcome not in _DEAD})
        kept = list(self.broken()) or ["nothing half applied"]
        shows = "one run, it shows this fault here and nothing of others"
        done = f"all ranks: {', '.join(then)}" if then else "no rank is left"
        return "; ".join([*said, named, done, *kept, shows])

    def _nothing(self) -> str:
        alone = self.injection.what is What.TURNED and len(self.ended) == 1
        return "cannot be localised: no other rank has a copy" if alone else "nothing is noticed"

    def _named(self) -> str:
        if self.answer is None:
            return "nothing is to be named"
        if self.answer is Answer.DISAGREEMENT:
            return "the place named, no culprit among two"
        return "named exactly"

    def _expected(self) -> str:
        return f"{self.answer.value}: {self.place}" if self.answer else "nothing to be noticed"


def stray_of(control: Sequence[Ended]) -> str:
    """Return what is wrong with a run in which nothing goes wrong, empty where it is clean."""
    for each in control:
        if each.findings:
            return f"without a fault, {each.findings[0]}"
        if each.outcome != "stepped" or each.differs:
            return f"without a fault, rank {each.rank} ends as {each.outcome} {each.differs}"
    return ""


def tried(
    drive: Drive, setting: Setting, injection: Injection, manner: Manner, control: list[Ended]
) -> Trial:
    """Run a schedule with a fault.

    Args:
        drive: runs the ranks.
        setting: the schedule, and on what it is run.
        injection: what goes wrong.
        manner: how the ranks watch, and what they do about it.
        control: how the ranks end without a fault.

    Raises:
        UnsupportedFeatureError: the schedule cannot be run so.
    """
    answer = _expected(setting, injection)
    place = injection.place(setting.run)
    ended = drive(setting._replace(exact=False), injection, manner)
    return Trial(injection, manner.policy, answer, place, tuple(control), tuple(ended))


def _expected(setting: Setting, injection: Injection) -> Answer | None:
    """Return as what a fault is to be found, None where no rank can notice it.

    What is over before two looks confirms it is not noticed; a message that has not come at the
    fourth is a lost one.
    """
    ranks = setting.run.schedule.ranks
    of_operation = not injection.place(setting.run).message
    if injection.what is What.TURNED and of_operation and ranks < _THREE:
        return Answer.DISAGREEMENT if ranks == _TWO else None
    if ranks == 1 and of_operation:
        return None
    if injection.what is What.DELAYED and injection.windows <= _TWO:
        return None
    if injection.what is What.DELAYED and not of_operation and injection.windows > _FOUR:
        return Answer.LOST
    return injection.answer(setting.run)
