from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pipeproof import api
from pipeproof.execution.runtime.predicted import EXPLANATIONS, TABLE, compared, predicted
from pipeproof.execution.runtime.programs import SLOTS
from pipeproof.execution.runtime.ran import At, Kind, Ran
from pipeproof.execution.runtime.steps import BEFORE
from pipeproof.verdict.verdict import Outcome
from tests.execution.runtime import cases
from tests.execution.runtime.cases import of_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeproof.execution.runtime.ran import Runtime

FIRST = "0UNSHARD,0F0,0SEND_F0,0RECV_B0,0B0,0REDUCE_GRAD,0RESHARD\n"
LAST = "1UNSHARD,1RECV_F0,1F0,1B0,1SEND_B0,1REDUCE_GRAD,1RESHARD\n"
RAN = {kind: Ran(kind, said="", at=(At(0, "0B0"),)) for kind in Kind}
MUTANTS = 60


def of(first: str = FIRST, last: str = LAST, microbatches: int = 1) -> cases.Case:
    return of_text("made", "made", first + last, 2, microbatches)


def why(case: cases.Case, kind: Kind, at: str = "0B0") -> str:
    return compared(case.program, case.verdict, replace(RAN[kind], at=(At(0, at),))).why


def test_every_rule_in_the_table_is_one() -> None:
    assert set(TABLE) <= {rule.code for rule in api.rules()}


def test_what_is_proved_is_predicted_to_be_right() -> None:
    case = of()

    assert predicted(case.verdict) is Kind.RIGHT
    assert compared(case.program, case.verdict, RAN[Kind.RIGHT]).agrees
    for kind in set(Kind) - {Kind.RIGHT}:
        assert not compared(case.program, case.verdict, RAN[kind]).agrees


def test_nothing_explains_that_torch_refuses_what_is_proved() -> None:
    case, refused = of(), replace(RAN[Kind.ERROR], at=(At(0, BEFORE),))

    assert not compared(case.program, case.verdict, refused).agrees


def test_of_what_is_unknown_nothing_is_predicted() -> None:
    case = of()
    found = compared(case.program, replace(case.verdict, outcome=Outcome.UNKNOWN), RAN[Kind.WRONG])

    assert found.predicted is None
    assert found.agrees


def test_a_receive_without_its_send_is_predicted_to_hang() -> None:
    assert predicted(of(last=LAST.replace("1SEND_B0,", "")).verdict) is Kind.HANG


def test_a_read_without_its_receive_is_predicted_to_be_an_error() -> None:
    assert predicted(of(first=FIRST.replace("0RECV_B0,", "")).verdict) is Kind.ERROR


def test_a_read_without_its_receive_is_not_noticed_slot_by_slot() -> None:
    closed = cases.in_slots("made", "0F0,0B0\n1F0,1B0\n", 2, 1)

    assert predicted(closed.verdict, SLOTS) is Kind.WRONG
    assert predicted(closed.verdict) is Kind.ERROR


def test_two_reductions_are_predicted_to_give_wrong_numbers() -> None:
    twice = "0REDUCE_GRAD,0REDUCE_GRAD"

    assert predicted(of(first=FIRST.replace("0REDUCE_GRAD", twice)).verdict) is Kind.WRONG


def test_nothing_else_is_taken_for_what_was_predicted() -> None:
    case = of(last=LAST.replace("1SEND_B0,", ""))

    assert [kind for kind in Kind if why(case, kind)] == []
    assert compared(case.program, case.verdict, RAN[Kind.HANG]).agrees
    assert not compared(case.program, case.verdict, RAN[Kind.WRONG]).agrees


def test_a_hang_of_other_ranks_is_not_the_one_that_was_predicted() -> None:
    case = of(last=LAST.replace("1SEND_B0,", ""))
    stuck = [replace(RAN[Kind.HANG], at=(At(rank, "0B0"),)) for rank in range(2)]

    assert [compared(case.program, case.verdict, ran).agrees for ran in stuck] == [True, False]


def test_a_use_while_sharded_is_predicted_to_be_an_error() -> None:
    case = of(first=FIRST.replace("0UNSHARD,0F0", "0F0,0UNSHARD"))

    assert {each.rule for each in case.verdict.violations} == {"PP406"}
    assert predicted(case.verdict) is Kind.ERROR
    assert why(case, Kind.RIGHT) == ""


def test_no_more_steps_are_run_than_the_verdict_covers(runtime: Runtime) -> None:
    left = of(first=FIRST.replace(",0RESHARD", ""))
    again = replace(left.program, steps=2)

    assert (left.verdict.outcome, left.verdict.steps) == (Outcome.PROVED, 1)
    assert runtime.run(left.program).kind is Kind.RIGHT
    assert "Unsharding the same stage_idx=0 twice" in runtime.run(again).said
    assert of().program.steps == 2


def test_a_reduction_that_divides_by_one_is_not_seen() -> None:
    twice = FIRST.replace("0REDUCE_GRAD", "0REDUCE_GRAD,0REDUCE_GRAD")

    assert why(of(first=twice), Kind.RIGHT) == "the reduction divides nothing"


def two(first: str) -> cases.Case:
    last = "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1,1REDUCE_GRAD\n"
    return of(first, last, 2)


@pytest.mark.parametrize(
    ("first", "explained"),
    [
        ("0REDUCE_GRAD,0RECV_B0,0B0,0RECV_B1,0B1,0REDUCE_GRAD", "the reduction divides nothing"),
        ("0RECV_B0,0B0,0REDUCE_GRAD,0RECV_B1,0B1,0REDUCE_GRAD", ""),
        ("0RECV_B0,0B0,0RECV_B1,0B1,0REDUCE_GRAD,0REDUCE_GRAD", ""),
    ],
)
def test_a_reduction_before_the_first_gradient_divides_nothing(first: str, explained: str) -> None:
    case = two(f"0F0,0SEND_F0,0F1,0SEND_F1,{first}\n")

    assert why(case, Kind.RIGHT) == explained


def test_a_receive_that_stands_twice_before_its_use_is_refused_by_torch() -> None:
    twice = of(first=FIRST.replace("0RECV_B0", "0RECV_B0,0RECV_B0"))
    left = of(first=FIRST.replace("0B0,", "0B0,0RECV_B0,"))

    assert [why(case, Kind.ERROR) for case in (twice, left)] == ["received twice"] * 2
    assert why(of(last=LAST.replace("1SEND_B0,", "")), Kind.ERROR) == ""


def test_an_error_before_any_action_is_the_loader_s() -> None:
    case = of(last=LAST.replace("1SEND_B0,", ""))

    assert why(case, Kind.ERROR, BEFORE) == "refused by the loader"
    assert why(case, Kind.ERROR, "0B0") == ""


@pytest.mark.parametrize("case", [*cases.examples()], ids=lambda case: case.name)
def test_a_small_file_runs_as_predicted(case: cases.Case, runtime: Runtime) -> None:
    found = compared(case.program, case.verdict, runtime.run(case.program))

    assert found.predicted is found.seen is case.expected


def campaign() -> Iterator[cases.Case]:
    """Yield all cases, those for as many ranks one after another."""
    found = [
        *(cases.shipped()),
        *(cases.files()),
        *(cases.deferred()),
        *(cases.mutants(MUTANTS)),
        *(cases.slots()),
    ]
    yield from sorted(found, key=lambda case: case.program.ranks)


@pytest.mark.slow
def test_what_torch_does_is_what_a_verdict_under_gloo_says(runtime: Runtime) -> None:
    matrix: Counter[tuple[str, str, str]] = Counter()
    reasons: Counter[str] = Counter()
    illegal, unexplained = 0, []
    for case in campaign():
        found = compared(case.program, case.verdict, runtime.run(case.program))
        matrix[case.group, str(found.predicted), found.seen] += 1
        illegal += case.verdict.outcome is Outcome.REFUTED
        if found.predicted is not found.seen:
            reasons[found.why] += 1
        if not found.agrees:
            unexplained.append((case.name, found))
    sys.stdout.write("\n".join(told(matrix, reasons)))

    assert not unexplained
    assert set(reasons) <= set(EXPLANATIONS)
    assert illegal >= 60


def told(matrix: Counter[tuple[str, str, str]], reasons: Counter[str]) -> Iterator[str]:
    for group in (*dict.fromkeys(key[0] for key in matrix), ""):
        yield f"\n{group or 'all'}: predicted, seen: {', '.join(Kind)}"
        for said in (*Kind, "None"):
            row = [
                sum(
                    n
                    for key, n in matrix.items()
                    if key[1:] == (said, kind) and group in ("", key[0])
                )
                for kind in Kind
            ]
            if any(row):
                yield f"{said:14}{''.join(f'{n:6}' for n in row)}"
    yield from (f"{number} off the diagonal: {name}" for name, number in reasons.items())
