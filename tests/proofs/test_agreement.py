"""Engines that are asked the same agree, or nobody is believed."""

from collections.abc import Callable

import pytest

from pipeproof.api import Asked, judge_text
from pipeproof.cli import run
from pipeproof.errors import DisagreementError
from pipeproof.proofs import agreement
from pipeproof.proofs.asked import Effort
from pipeproof.semantics.logic import Rule
from pipeproof.semantics.model import Model
from pipeproof.verdict.decision import Decision
from tests.semantics.made import CROSSED, PASSED_ON, text

HAZARD = ("0F0 out=a; SEND F0.0 to=1 buf=a h=s; 0F1 out=a; WAIT s", "RECV F0.0 from=0")
PROGRAMS = [PASSED_ON, CROSSED, HAZARD]


def blind(rule: str, of: str) -> Callable[[str], agreement.Decide]:
    """Engines as they are, but that the one of this name does not see a rule broken."""
    real = agreement.engine

    def chosen(name: str) -> agreement.Decide:
        def decide(model: Model, rules: tuple[Rule, ...]) -> Decision:
            found = real(name)(model, rules)
            kept = tuple(each for each in found.broken if each.rule.code != rule)
            return found._replace(broken=kept) if name == of else found

        return decide

    return chosen


def left_open(bound: str) -> str:
    """A schedule whose credits leave PP506 open to the engine that tells."""
    programs = (
        "0F0; SEND F0.0 to=1 h=x; 0F1; SEND F0.1 to=1 h=x; SEND t to=1; 0F2",
        "RECV F0.0 from=0 h=x; RECV F0.1 from=0 h=x; RECV t from=0",
    )
    keys: dict[str, object] = {
        "microbatches": 3,
        "fragment": True,
        "sizes": {"F": "1MiB"},
        "bounds": {"memory": bound},
        "transport": {"completion": "buffered", "capacity": 2, "match": "tag"},
    }
    return text(*programs, **keys)


def test_the_engine_that_tells_comes_first() -> None:
    assert agreement.all_engines() == ("graph", "explore", "smt")


@pytest.mark.parametrize("programs", PROGRAMS)
@pytest.mark.parametrize("transport", ["rendezvous", "gloo", "buffered-1"])
def test_all_engines_say_what_one_says(programs: tuple[str, ...], transport: str) -> None:
    spec = text(*programs, microbatches=2, fragment=True, transport=transport)
    one, all_ = judge_text(spec, "made"), judge_text(spec, "made", Asked(engine="all"))

    assert all_.verdict == one.verdict
    assert all_.transports[0].engine == "graph, explore, smt"
    assert [each.rule for each in all_.transports[0].violations] == [
        each.rule for each in one.transports[0].violations
    ]


def test_engines_that_differ_are_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agreement, "engine", blind("PP502", "smt"))
    spec = text(*HAZARD, microbatches=2, fragment=True, transport="buffered")

    with pytest.raises(DisagreementError, match="PP502 overwrite-in-flight: graph finds it broken"):
        judge_text(spec, "made", Asked(engine="all"))


def test_the_command_exits_with_4_where_engines_differ(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: object
) -> None:
    monkeypatch.setattr(agreement, "engine", blind("PP301", "explore"))
    path = f"{tmp_path}/a.yaml"
    with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123
        file.write(text(*CROSSED, fragment=True, transport="rendezvous"))
    code = run(["check", path, "--engine", "all"])

    assert code == 4
    assert "engines disagree on PP301 deadlock" in capsys.readouterr().err


def test_engines_that_differ_where_the_first_decides_nothing_are_not_believed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(agreement, "engine", blind("PP506", "explore"))

    with pytest.raises(DisagreementError, match="PP506 live-bound-exceeded: explore finds nothing"):
        judge_text(left_open("1MiB"), "made", Asked(engine="all"))


@pytest.mark.parametrize(("bound", "outcome"), [("1MiB", "refuted"), ("2MiB", "proved")])
def test_what_one_engine_leaves_open_and_another_refutes_is_refuted(
    bound: str, outcome: str
) -> None:
    spec = left_open(bound)

    (one,), (all_,) = (
        judge_text(spec, "made", Asked(engine=name)).transports for name in ("graph", "all")
    )

    assert (one.outcome.value, one.engine) == (outcome, "graph, explore")
    assert (all_.outcome.value, all_.engine) == (outcome, "graph, explore, smt")
    assert [each.at for each in one.violations] == [each.at for each in all_.violations]


def test_an_engine_goes_no_further_than_it_is_asked_to() -> None:
    spec = text(*PASSED_ON, fragment=True, transport="rendezvous")

    def open_(name: str, effort: Effort) -> dict[str, str]:
        (found,) = judge_text(spec, "made", Asked(engine=name, effort=effort)).transports
        return {each.rule: each.why for each in found.unknown}

    short, few = open_("explore", Effort(states=3)), open_("smt", Effort(rlimit=3))

    assert "the budget of 3 states ended the exploration after" in short["PP301"]
    assert "the solver's budget of 3 steps is used up" in few["PP301"]
    late = open_("explore", Effort(seconds=0.0))["PP301"]
    assert "the time limit of 0 s (by the clock: another run may go further) ended" in late
    assert "the budget of 1 bytes ended" in open_("explore", Effort(memory=1))["PP301"]
    assert open_("explore", Effort(rlimit=1)) == open_("smt", Effort(states=1000)) == {}
    assert open_("all", Effort(states=1, rlimit=1)) == {}  # the graph engine needs neither


def test_who_watches_the_explorer_is_told_and_asked() -> None:
    spec = text(*PASSED_ON, fragment=True, transport="rendezvous")
    seen: list[tuple[int, int]] = []
    watched = Effort(progress=lambda *at: seen.append(at), stopped=lambda: bool(seen))
    (found,) = judge_text(spec, "made", Asked(engine="explore", effort=watched)).transports

    assert seen[0] == (0, 0)
    assert "an interrupt ended the exploration" in {each.why[:34] for each in found.unknown}


BEHIND = (
    "0F0; 0F1; SEND F0.0 to=1; RECV v from=1",
    "SEND v to=0; RECV F0.0 from=0; RECV F0.1 from=0; 1F0; 1F1",
)


@pytest.mark.parametrize(("bound", "places"), [("1MiB", 4), ("2MiB", 1), ("3MiB", 0)])
def test_engines_agree_on_what_would_be_live_behind_a_deadlock(bound: str, places: int) -> None:
    spec = text(
        *BEHIND,
        microbatches=2,
        stages=2,
        fragment=True,
        sizes={"F": "1MiB"},
        bounds={"memory": bound},
        transport="rendezvous",
    )

    assert_told(spec, places)


AWAITS_ITSELF = (
    "0F0; SEND F0.0 to=1; RECV B1.0 from=1; 0B0",
    "RECV F0.0 from=0; AWAIT from=1; 1F0; 1F1; 1B0; 1B1; SEND B1.0 to=0; SIGNAL to=1",
)


@pytest.mark.parametrize(("bound", "places"), [("1MiB", 2), ("2MiB", 0)])
def test_engines_agree_on_what_would_be_live_where_guards_run_in_a_circle(
    bound: str, places: int
) -> None:
    spec = text(
        *AWAITS_ITSELF,
        microbatches=2,
        stages=2,
        fragment=True,
        sizes={"keep": "1MiB"},
        bounds={"memory": bound},
        transport="rendezvous",
    )

    assert_told(spec, places)


def assert_told(spec: str, places: int) -> None:
    """The engine that tells, and all together, find PP506 at as many places, and leave nothing."""
    for asked in (Asked(), Asked(engine="all")):
        (under,) = judge_text(spec, "made", asked).transports
        assert not under.unknown
        assert [each.rule for each in under.violations].count("PP506") == places
