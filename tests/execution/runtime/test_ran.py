from __future__ import annotations

import pytest

from pipeproof.execution.ranks.processes import Processes, Raised, Returned, Stuck
from pipeproof.execution.runtime.programs import CLASSES, SLOTS, Program, of_csv
from pipeproof.execution.runtime.ran import At, Kind, Runtime, together
from pipeproof.execution.runtime.steps import BEHIND, Told

RIGHT = Told(10)
WRONG = Told(10, ("the output of step 1",))
GONE = Told(error="RuntimeError: Connection closed by peer", gone=True, at="0B0")
HOMES = {
    **dict.fromkeys(("GPipe", "1F1B"), (0, 1)),
    **dict.fromkeys(("ZBVZeroBubble", "DualPipeV"), (0, 1, 1, 0)),
}


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_that_torch_ships_is_bitwise_the_unsplit_model(name: str, runtime: Runtime) -> None:
    program = Program(2, 4, HOMES.get(name, (0, 1, 0, 1)), runner=name)

    ran = runtime.run(program)

    assert (ran.kind, ran.said) == (Kind.RIGHT, "")
    assert ran.compared == 2 * (len(program.homes) * 8 + 5)


def test_an_order_of_computations_is_lowered_by_torch(runtime: Runtime) -> None:
    text = "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n"

    ran = runtime.run(Program(2, 2, (0, 1), text))
    assert ran.kind is Kind.RIGHT
    for rank in range(2):
        own = [(name, begun, ended) for of, name, begun, ended in ran.moments if of == rank]
        times = [time for _, *both in own for time in both]
        names = [name for name, _, _ in own]
        assert times == sorted(times)
        assert names == 2 * names[: len(names) // 2], "two steps"
        assert {name for name in names if name[1] in "FB"} == {
            f"{rank}{kind}{m}" for kind in "FB" for m in range(2)
        }


def test_the_older_runtime_is_locked_to_slots(runtime: Runtime) -> None:
    text = "0F0,0F1,,0B0,,0B1\n,1F0,1B0,1F1,1B1,\n"
    shifted = text.replace(",1F0", "1F0,").replace(",,", ",", 1)

    runs = [
        runtime.run(Program(2, 2, (0, 1), each, runner=SLOTS))
        for each in (
            text,
            shifted,
        )
    ]

    assert [ran.kind for ran in runs] == [Kind.RIGHT, Kind.WRONG]


def test_a_stage_that_computes_while_it_is_sharded_is_an_error(runtime: Runtime) -> None:
    text = "0UNSHARD,0F0,0B0,0REDUCE_GRAD,0RESHARD\n"
    early = text.replace("0UNSHARD,0F0", "0F0,0UNSHARD")

    legal, illegal = (runtime.run(of_csv(each, 1, 1)) for each in (text, early))

    assert legal.kind is Kind.RIGHT
    assert (
        illegal.said == "rank 0 in 0F0: AssertionError: Attempted to compute on sharded stage_idx=0"
    )


def test_receives_that_are_swapped_are_seen_in_the_gradients(runtime: Runtime) -> None:
    text = (
        "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1,0REDUCE_GRAD\n"
        "1RECV_F1,1RECV_F0,1F0,1F1,1B0,1SEND_B0,1B1,1SEND_B1,1REDUCE_GRAD\n"
    )

    ran = runtime.run(Program(2, 2, (0, 1), text, messages=True))

    assert ran.kind is Kind.WRONG
    assert "rank 0: the gradient of weight 0 of stage 0 of step 1" in ran.said


def test_a_send_that_nobody_receives_hangs_behind_the_last_action(runtime: Runtime) -> None:
    text = (
        "0F0,0SEND_F0,0SEND_F0,0RECV_B0,0B0,0REDUCE_GRAD\n1RECV_F0,1F0,1B0,1SEND_B0,1REDUCE_GRAD\n"
    )

    ran = runtime.run(Program(2, 1, (0, 1), text, messages=True), limit=1.5)

    assert ran.kind is Kind.HANG
    assert At(0, BEHIND) in ran.at


def test_an_error_of_a_rank_comes_before_what_others_saw() -> None:
    ran = together([Returned(Told(error="KeyError: 0", at="0B0")), Stuck("1F0"), Returned(GONE)])

    assert ran.kind is Kind.ERROR
    assert ran.said == "rank 0 in 0B0: KeyError: 0"
    assert ran.at == (At(0, "0B0"),)


def test_a_process_that_ends_is_an_error() -> None:
    ran = together([Raised("the process ended", "ProcessEnded", "0F0"), Returned(RIGHT)])

    assert (ran.kind, ran.at) == (Kind.ERROR, (At(0, "0F0"),))


def test_a_peer_that_is_gone_is_no_hang_and_no_right_run() -> None:
    assert together([Returned(GONE), Returned(RIGHT)]).kind is Kind.ERROR
    assert together([Returned(GONE), Stuck("1F0")]).kind is Kind.HANG


def test_ranks_that_are_stuck_come_before_numbers_that_are_wrong() -> None:
    ran = together([Stuck("0B1"), Returned(WRONG)])

    assert (ran.kind, ran.said) == (Kind.HANG, "rank 0 in 0B1")


def test_numbers_of_all_ranks_are_counted_and_those_that_are_wrong_are_named() -> None:
    assert together([Returned(RIGHT), Returned(RIGHT)]).compared == 20
    assert together([Returned(RIGHT), Returned(WRONG)]).said == "rank 1: the output of step 1"


class Closing(Processes):
    """Processes that count how often they are closed."""

    closed = 0

    def close(self) -> None:
        type(self).closed += 1
        super().close()


def test_a_runtime_ends_its_own_processes_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeproof.execution.runtime.ran.Processes", Closing)
    with Closing() as given:
        with Runtime(given):
            pass
        closed = [Closing.closed]
    with Runtime():
        pass

    assert [*closed, Closing.closed] == [0, 2]
