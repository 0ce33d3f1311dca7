"""The plain lowering: a receive before its reader, a send after its maker, nothing else."""

from dataclasses import replace

import pytest

from pipeproof.ir.schedule import Schedule
from pipeproof.lowering.lower import lower
from pipeproof.schedules import generate, names
from tests.lowering.test_torch import PAIRS, read, rows


def test_messages_stand_beside_their_use() -> None:
    assert rows(read("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n", "just-in-time")) == [
        ["0F0", "0SEND_F0", "0F1", "0SEND_F1", "0RECV_B0", "0B0", "0RECV_B1", "0B1"],
        ["1RECV_F0", "1F0", "1B0", "1SEND_B0", "1RECV_F1", "1F1", "1B1", "1SEND_B1"],
    ]


def test_stages_of_one_rank_need_no_message() -> None:
    assert rows(read("0F0,3F0\n1F0,2F0\n", "just-in-time")) == [
        ["0F0", "0SEND_F0", "3RECV_F0", "3F0"],
        ["1RECV_F0", "1F0", "2F0", "2SEND_F0"],
    ]


def test_an_overlap_receives_before_and_sends_after_the_whole() -> None:
    text = "0F0,(0F1;0B0)OVERLAP_F_B,0B1\n1F0,1B0,1F1,1B1\n"

    assert rows(read(text, "just-in-time"))[0][2:5] == [
        "0RECV_B0",
        "(0F1;0B0)OVERLAP_F_B",
        "0SEND_F1",
    ]


def test_what_torch_refuses_is_no_matter_here() -> None:
    assert lower(read("0B0,0F0\n1F0,1B0\n", "just-in-time")).refused is None


@pytest.mark.parametrize("name", names())
def test_every_message_has_its_partner(name: str) -> None:
    found = [
        cell for row in rows(read_known(name)) for cell in row if "SEND_" in cell or "RECV_" in cell
    ]
    sent = sorted(_message(cell) for cell in found if "SEND" in cell)

    assert sent == sorted(_message(cell) for cell in found if "RECV" in cell)
    assert len(sent) == len(set(sent)) > 0


def test_the_corpus_keeps_its_computations() -> None:
    for path in PAIRS[::12]:
        text = path.read_text()
        made = rows(read(text, "just-in-time"))
        kept = [[cell for cell in row if "SEND" not in cell and "RECV" not in cell] for row in made]
        assert kept == rows(read(text, "as-written"))


def read_known(name: str) -> Schedule:
    return replace(generate(name, ranks=3, microbatches=6), lowering="just-in-time")


def _message(cell: str) -> tuple[str, int, int]:
    """Name a message alike at both ends: its direction, the stage that makes it, microbatch."""
    stage, _, rest = cell.partition("SEND_" if "SEND" in cell else "RECV_")
    direction, microbatch = rest[0], int(rest[1:])
    step = 0 if "SEND" in cell else (-1 if direction == "F" else 1)
    return direction, int(stage) + step, microbatch
