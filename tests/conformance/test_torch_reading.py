"""What we say torch would read is what torch reads."""

import re

import pytest

from pipeproof.ir.actions import read_action

schedules = pytest.importorskip("torch.distributed.pipelining.schedules")

SAID = re.compile(r"\(torch would read it as (\S+)\)")


@pytest.mark.parametrize(
    "text",
    [
        *("0F0xyz", "0FOO", "0F 1", "1F-1", "00F00", "007B012", "0F0;1F0", "0UNSHARD5x", "3W"),
        *("0SEND_F", "1RECV_B1_", "0REDUCE_GRADS", "0F\u0663"),
    ],
)
def test_notes_say_what_torch_reads(text: str) -> None:
    said = SAID.search(str(read_action(text)))

    assert said is not None
    assert said[1] == str(schedules._Action.from_str(text))


@pytest.mark.parametrize("text", ["", "F0", "0f0", "-1F0", "2X0", "0OVERLAP_F_B", "0"])
def test_what_torch_refuses_has_no_note(text: str) -> None:
    assert SAID.search(str(read_action(text))) is None
    if text:
        with pytest.raises(RuntimeError):
            schedules._Action.from_str(text)


@pytest.mark.parametrize("text", ["0F0", "3SEND_F1", "0UNSHARD", "1REDUCE_GRAD", "2I3", "2W3"])
def test_what_is_read_torch_reads_alike(text: str) -> None:
    action = read_action(text)

    assert not isinstance(action, str)
    assert str(schedules._Action.from_str(text)) == text
