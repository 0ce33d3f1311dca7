"""The helper for other people's tests: what it takes, and how it fails."""

from pathlib import Path

import pytest

from pipeproof.errors import InputError
from pipeproof.testing import assert_legal, mock_stages

LEGAL = "pipeproof: 1\nmicrobatches: 1\nranks:\n  - 0F0; 0SEND_F0\n  - 1RECV_F0; 1F0\n"
CROSSED = (
    "pipeproof: 1\nmicrobatches: 1\nfragment: true\nranks:\n"
    "  - 0F0; 0SEND_F0; 0RECV_B0\n  - 1SEND_B0; 1RECV_F0; 1F0; 1B0\n"
)
ORDERS = {0: ["0F0", None, "0B0"], 1: ["1F0", "1B0"]}
EARLY = {0: ["0F0", "0B0"], 1: ["1B0", "1F0"]}


def failure(schedule: object, transport: str | None = None, profile: str | None = None) -> str:
    with pytest.raises(AssertionError) as caught:
        assert_legal(schedule, transport, profile=profile)
    return str(caught.value)


def test_a_legal_schedule_passes(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(LEGAL)

    assert_legal(LEGAL)
    assert_legal(path)
    assert_legal(str(path), "gloo")
    assert_legal(path, ["gloo", "rendezvous"])
    assert_legal(ORDERS)
    assert_legal("0F0,0B0", profile="none")


def test_a_known_schedule_passes() -> None:
    assert_legal("pipeproof: 1\nmicrobatches: 4\nschedule: {name: zbv, ranks: 2}\n")


def test_an_illegal_schedule_fails_with_the_report() -> None:
    said = failure(CROSSED, "rendezvous")

    assert said.startswith("the schedule is illegal\n<text>: refuted (")
    assert "0 proved, 1 refuted, 0 unknown" in said


def test_the_place_is_quoted_from_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("0F0,0B0\n1B0,1F0\n")

    assert f"{path}:2:1  rank 1, position 0: 1B0\n    1B0,1F0\n" in failure(path)


def test_orders_are_lowered_as_torch_does() -> None:
    said = failure(EARLY)

    assert said.startswith("the schedule is illegal\norders: refuted (PP402")
    assert "lowering torch, profile torch-runtime" in said


def test_orders_with_messages_are_judged_as_they_stand() -> None:
    swapped = {0: ["0F0", "0F1", "0SEND_F0", "0SEND_F1"], 1: ["1RECV_F1", "1RECV_F0", "1F0", "1F1"]}

    assert "refuted (PP202 crossed-messages) under gloo" in failure(swapped, "gloo")


def test_unknown_is_no_success() -> None:
    said = failure("pipeproof: 1\nmicrobatches: 1\nbounds: {memory: 1GiB}\nranks: [0F0]\n")

    assert said.startswith("the schedule is not proved: unknown is no success\n<text>: unknown")


def test_what_is_not_modelled_is_unknown() -> None:
    assert "profile 'megatron' is not modelled yet" in failure(LEGAL, profile="megatron")


@pytest.mark.parametrize(
    ("schedule", "said"),
    [("nowhere.yaml", "it cannot be read"), ("no\nschedule", "this is no schedule")],
)
def test_what_cannot_be_read_is_an_error(schedule: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        assert_legal(schedule)


def test_a_transport_must_exist() -> None:
    with pytest.raises(InputError, match="did you mean 'gloo'"):
        assert_legal(LEGAL, "glo")


@pytest.mark.parametrize("schedule", [object(), {}, {1: ["0F0"]}, 7])
def test_an_object_without_orders_is_an_error(schedule: object) -> None:
    with pytest.raises(ValueError, match="an order of actions for each rank from 0"):
        assert_legal(schedule)


def test_what_is_missing_everywhere_is_found_by_the_number_of_microbatches() -> None:
    with pytest.raises(AssertionError, match="PP101"):
        assert_legal(ORDERS, microbatches=2)
    with pytest.raises(AssertionError, match="PP101"):
        assert_legal(ORDERS, stages=3)


class TestTorch:
    """Objects of torch, built with stages that compute nothing and without process group."""

    def test_a_shipped_class_is_legal(self) -> None:
        schedules = pytest.importorskip("torch.distributed.pipelining.schedules")

        assert_legal(schedules.ScheduleInterleaved1F1B(mock_stages(2, 2), 4))
        assert_legal(schedules.ScheduleGPipe(mock_stages(2)[0], 3))

    def test_a_deferred_receive_is_illegal(self) -> None:
        schedules = pytest.importorskip("torch.distributed.pipelining.schedules")
        made = schedules.ScheduleZBVZeroBubble(mock_stages(2, 2), 3, defer_pp_recv=True)

        assert "PP202 crossed-messages" in failure(made, "gloo")

    def test_what_the_loops_of_1f1b_and_gpipe_execute_is_judged(self) -> None:
        schedules = pytest.importorskip("torch.distributed.pipelining.schedules")

        assert_legal(schedules.Schedule1F1B(mock_stages(2)[0], 2))
        assert_legal(schedules.ScheduleGPipe(mock_stages(2)[0], 2))

    def test_a_slot_locked_schedule_is_judged_slot_by_slot(self) -> None:
        """Without bubbles every reader stands at the slot of its maker."""
        schedules = pytest.importorskip("torch.distributed.pipelining.schedules")
        read = schedules._Action.from_str
        made = schedules.PipelineScheduleMulti(mock_stages(2, 1), 2)
        made.pipeline_order = {
            0: [read(cell) for cell in ("0F0", "0F1", "0B0", "0B1")],
            1: [read(cell) for cell in ("1F0", "1B0", "1F1", "1B1")],
        }

        assert "PP401" in failure(made)

    def test_a_class_of_ones_own_needs_no_process_group(self) -> None:
        schedules = pytest.importorskip("torch.distributed.pipelining.schedules")

        class Mine(schedules._PipelineScheduleRuntime):  # type: ignore[name-defined,misc]
            """All forwards, then all backwards; `swapped` runs the last stage out of order."""

            def __init__(self, stages: list[object], microbatches: int, *, swapped: bool) -> None:
                super().__init__(stages, microbatches)
                forwards = [list(range(microbatches)) for _ in range(2)]
                if swapped:
                    forwards[1].reverse()
                read = schedules._Action.from_str
                self.pipeline_order = {
                    rank: [read(f"{rank}F{i}") for i in forwards[rank]]
                    + [read(f"{rank}B{i}") for i in range(microbatches)]
                    for rank in range(2)
                }
                self._prepare_schedule_with_comms(self.pipeline_order)

        assert_legal(Mine(mock_stages(2), 2, swapped=False))
        assert "PP505 wrong-contents" in failure(Mine(mock_stages(2), 2, swapped=True))
