from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

import pytest

from pipeproof.cli import run
from pipeproof.execution.confirm import Answer, Claim
from pipeproof.ir.transport import Match
from tests.execution.played import SPECS, document, models
from tests.semantics import made

judged = pytest.importorskip("tests.execution.ranks.judged")
confirming = pytest.importorskip("pipeproof.execution.ranks.confirm")
broken = pytest.importorskip("tests.execution.ranks.broken")

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pipeproof.execution.confirm import Confirmed
    from pipeproof.execution.ranks.processes import Processes

PASSED = (
    "0F0; SEND F0.0 to=1; RECV B1.0 from=1; 0B0; 0STEP",
    "RECV F0.0 from=0; 1F0; 1B0; SEND B1.0 to=0; 1STEP",
)
TWO = (
    "0F0; SEND F0.0 to=1; 0F1; SEND F0.1 to=1",
    "RECV F0.0 from=0; 1F0; RECV F0.1 from=0; 1F1",
)
SWAPPED = (TWO[0], "RECV F0.1 from=0; RECV F0.0 from=0; 1F0; 1F1")
PASSED_EARLY = (PASSED[0], "1F0; RECV F0.0 from=0; 1B0; SEND B1.0 to=0; 1STEP")
EARLY_SEND = ("SEND F0.0 to=1; 0F0; RECV B1.0 from=1; 0B0; 0STEP", PASSED[1])
NEIGHBOURS = [
    ("PP203", "half-into-float"),
    ("PP203", "channels-last-into-first"),
    ("PP502", "signal-is-no-completion"),
    ("PP502", "broadcast-is-no-barrier"),
    ("PP504", "output-freed-before-sent"),
]
RULES = (*sorted(broken.CHANGES), *broken.STORED)


def confirmed(processes: Processes, text: str, rule: str) -> Confirmed:
    """What becomes of the first counterexample to a rule."""
    found: Confirmed = next(found for _, found in judged.answers_on(processes, text, rule))
    return found


def two(*programs: str, transport: str = "rendezvous") -> str:
    return made.text(*programs, microbatches=2, fragment=True, transport=transport)


def test_a_legal_schedule_is_bitwise_the_unsplit_model(processes: Processes) -> None:
    text = made.text(*PASSED, transport=["rendezvous", "buffered", "gloo"])

    found = judged.ran_on(processes, text, orders=1)

    assert [each.wrong for each in found] == ["", "", ""]
    assert all(each.compared for each in found)
    for each in found:
        assert [instruction for instruction, _, _ in each.moments] == list(range(10))
        for rank in (each.moments[:5], each.moments[5:]):
            times = [time for _, *both in rank for time in both]
            assert times == sorted(times)


def test_another_witness_runs_as_well(processes: Processes) -> None:
    (found,) = judged.ran_on(
        processes, made.text(*PASSED, transport="rendezvous"), orders=1, witness="transformer"
    )

    assert not found.wrong
    assert found.ratio <= 1


def test_a_deadlock_is_confirmed_where_the_predicted_ranks_are_stuck(processes: Processes) -> None:
    text = made.text(*made.CROSSED, fragment=True, transport="rendezvous")

    assert confirmed(processes, text, "PP301") == (
        Answer.CONFIRMED,
        "stuck as predicted: rank 0 at SEND F0.0 to=1, rank 1 at SEND B1.0 to=0; "
        "never complete: SEND F0.0 to=1, SEND B1.0 to=0",
    )


def test_a_deadlock_that_does_not_happen_is_not_reproduced(processes: Processes) -> None:
    text = made.text(*made.CROSSED, fragment=True, transport=["buffered", "rendezvous"])
    through, stuck = map(judged.subject, models(document(text)))
    wrong = confirming.Subject(through.run, through.transport, through.waits, stuck.guards)

    found = confirming.confirm_on_ranks(processes, wrong, Claim("PP301", ((0, 0), (1, 0)), ()))

    assert found.answer is Answer.NOT_REPRODUCED
    assert found.why == ("seen: rank 0 comes through; predicted: rank 0 at SEND F0.0 to=1")


def test_where_nothing_waits_no_deadlock_is_confirmed(processes: Processes) -> None:
    (model,) = models(document(made.text(*PASSED, transport="rendezvous")))

    found = confirming.confirm_on_ranks(
        processes, judged.subject(model), Claim("PP301", ((0, 1),), ())
    )

    assert found == (Answer.NOT_REPRODUCED, "nothing waits at [(0, 1)]")


def test_crossed_messages_are_seen_in_the_numbers(processes: Processes) -> None:
    found = confirmed(processes, two(*SWAPPED, transport="buffered"), "PP202")

    assert found == (
        Answer.CONFIRMED,
        "RECV F0.1 from=0: the message holds another value: F0.0 instead of F0.1, "
        "seen in the numbers",
    )


def test_what_is_not_illegal_is_not_reproduced(processes: Processes) -> None:
    (model,) = models(document(two(*TWO)))

    found = confirming.confirm_on_ranks(
        processes, judged.subject(model), Claim("PP202", ((0, 1), (1, 0)), ())
    )

    assert found == (Answer.NOT_REPRODUCED, "nothing illegal was met at its places")


def test_tags_pair_what_posting_order_crosses(processes: Processes) -> None:
    (model,) = models(document(two(*SWAPPED, transport="buffered")))
    frame = model.frame
    tagged = replace(frame.transport, match=Match.TAG)
    subject = confirming.Subject(frame.run, tagged, frame.waits, model.progress)

    (found,) = confirming.run_on_ranks(processes, subject, orders=1)

    assert not found.wrong


def test_a_message_larger_than_its_room_ends_the_process(processes: Processes) -> None:
    text = made.text(
        "0F0; SEND F0.0 to=1 shape=4x4",
        "RECV F0.0 from=0 shape=2x4; 1F0",
        fragment=True,
        transport="buffered",
    )

    found = confirmed(processes, text, "PP203")

    assert found.answer is Answer.CONFIRMED
    assert "the process ended" in found.why
    assert "96 vs 48" in found.why


def test_a_receive_behind_its_reader_is_seen(processes: Processes) -> None:
    early = made.text(*PASSED_EARLY, transport="buffered")

    assert confirmed(processes, early, "PP401") == (
        Answer.CONFIRMED,
        "1F0: nothing stands there: nothing instead of F0.0, seen in the numbers",
    )


def test_a_send_before_its_value_is_made_is_seen_by_its_receiver(processes: Processes) -> None:
    found = confirmed(processes, made.text(*EARLY_SEND, transport="rendezvous"), "PP405")

    assert found.answer is Answer.CONFIRMED
    assert found.why.endswith("seen in numbers")


def test_a_message_that_nobody_receives_is_found_by_one_more_receive(processes: Processes) -> None:
    text = two(TWO[0] + "; SEND F0.0 to=1", TWO[1], transport="buffered")

    assert confirmed(processes, text, "PP303") == (
        Answer.CONFIRMED,
        "one more receive at the end gets the message that nobody received, bit by bit",
    )


@pytest.mark.parametrize(("rule", "name"), NEIGHBOURS)
def test_shipped_counterexamples_are_confirmed_and_their_neighbours_run_clean(
    processes: Processes, rule: str, name: str
) -> None:
    illegal = (SPECS / "illegal" / f"{name}.yaml").read_text()
    legal = (SPECS / "legal" / f"{name}-fixed.yaml").read_text()

    assert confirmed(processes, illegal, rule).answer is Answer.CONFIRMED
    assert [each.wrong for each in judged.ran_on(processes, legal, 1) if each.wrong] == []


def test_an_order_that_gloo_does_not_take_is_not_observable(processes: Processes) -> None:
    text = (SPECS / "illegal" / "only-last-receive-awaited.yaml").read_text()

    found = confirmed(processes, text, "PP501")

    assert found.answer is Answer.NOT_OBSERVABLE
    assert found.why.startswith("gloo takes no such order; replayed: 1F0: nothing stands there")


@pytest.mark.parametrize(
    ("rule", "transport", "why"),
    [
        ("PP301", "rendezvous-serial", "gloo keeps no queue for both directions of a pair"),
        ("PP506", "rendezvous", "nothing that ranks exchange depends on it"),
    ],
)
def test_what_real_ranks_cannot_show_is_told(
    processes: Processes, rule: str, transport: str, why: str
) -> None:
    (model,) = models(document(made.text(*PASSED, transport=transport)))

    found = confirming.confirm_on_ranks(
        processes, judged.subject(model), Claim(rule, ((0, 1),), ())
    )

    assert found == (Answer.NOT_OBSERVABLE, why)


@pytest.fixture
def _alive(processes: Processes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the command use the ranks that are alive already."""
    monkeypatch.setattr(
        "pipeproof.execution.ranks.processes.Processes", lambda: nullcontext(processes)
    )


def written(folder: Path, *programs: str, **keys: object) -> str:
    path = folder / "spec.yaml"
    path.write_text(made.text(*programs, **keys))
    return str(path)


@pytest.mark.usefixtures("_alive")
def test_each_rank_is_a_process_and_other_transports_are_passed_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, *PASSED, transport=["rendezvous", "rendezvous-rank"])
    trace = str(tmp_path / "trace.json")

    assert run(["run", path, "--processes", "gloo", "--orders", "1", "--trace", trace]) == 0
    assert capsys.readouterr().out == (
        f"{path}: rendezvous: proved, seen: 1 orders, 16 numbers, bitwise those of the unsplit "
        "model\n"
        f"{path}: rendezvous-rank: not run on real ranks: gloo keeps no queue of all that a rank "
        "sends\n"
    )
    assert run(["conform", trace, path, "--transport", "rendezvous"]) == 0
    told = capsys.readouterr().out
    assert "10 spans of 2 ranks, 1 step" in told
    assert "all ranks were recorded by one clock" in told


@pytest.mark.usefixtures("_alive")
def test_a_counterexample_is_run_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, *EARLY_SEND, transport="rendezvous")

    assert run(["run", path, "--processes", "gloo"]) == 1
    assert f"{path}: rendezvous: refuted, confirmed: PP405 " in capsys.readouterr().out


@pytest.mark.usefixtures("_alive")
def test_where_no_transport_can_be_run_the_answer_is_unknown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, *PASSED, transport="buffered-1")

    assert run(["run", path, "--processes", "gloo"]) == 3
    assert capsys.readouterr().out == (
        f"{path}: buffered-1: not run on real ranks: gloo has no room that a send could wait for\n"
    )


@pytest.mark.parametrize("other", [("--runtime", "torch"), ("--device", "cuda")])
def test_a_schedule_is_run_in_one_way(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], other: tuple[str, str]
) -> None:
    path = written(tmp_path, *PASSED)

    assert run(["run", path, "--processes", "gloo", *other]) == 2
    assert f"--processes and {other[0]} are different ways" in capsys.readouterr().err


def answered(processes: Processes, rule: str) -> Iterator[tuple[str, Confirmed]]:
    """Originals, and what becomes of a counterexample to what a change made of each."""
    for pair in broken.pairs(rule):
        for _, found in judged.answers_on(processes, pair.illegal, rule):
            yield pair.legal, found


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_ten_counterexamples_to_a_rule_are_confirmed_and_their_originals_run_clean(
    processes: Processes, rule: str, record_property: Callable[[str, object], None]
) -> None:
    taken = list(islice(answered(processes, rule), 10))
    found = [each for _, each in taken]
    originals = sorted({legal for legal, _ in taken})
    wrong = [each.wrong for text in originals for each in judged.ran_on(processes, text)]

    count = Counter(each.answer for each in found)
    record_property("counts", {answer.value: number for answer, number in count.items()})
    record_property("originals", len(originals))
    assert len(found) == 10
    assert count[Answer.CONFIRMED] >= 0.95 * len(found)
    assert not count[Answer.NOT_REPRODUCED]
    assert not any(wrong)
