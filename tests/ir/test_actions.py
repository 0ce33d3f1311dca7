import pytest

from pipeproof.ir.actions import LARGEST, Action, Kind, read_action, read_overlap, whole_number


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("2F0", Action(2, Kind.F, 0)),
        ("0I3", Action(0, Kind.I, 3)),
        ("4W1", Action(4, Kind.W, 1)),
        ("7B12", Action(7, Kind.B, 12)),
        ("3SEND_F1", Action(3, Kind.SEND_F, 1)),
        ("0RECV_B2", Action(0, Kind.RECV_B, 2)),
        ("0UNSHARD", Action(0, Kind.UNSHARD, -1)),
        ("1RESHARD", Action(1, Kind.RESHARD, -1)),
        ("0REDUCE_GRAD", Action(0, Kind.REDUCE, -1)),
    ],
)
def test_actions_read_as_torch_writes_them(text: str, action: Action) -> None:
    assert read_action(text) == action


@pytest.mark.parametrize(
    ("text", "torch"),
    [
        ("0F0xyz", "0F0"),
        ("0FOO", "0F"),
        ("0F 1", "0F"),
        ("00F00", "0F0"),
        ("0F0;1F0", "0F0"),
        ("1F-1", "1F"),
        ("0UNSHARD5", "0UNSHARD5"),
    ],
)
def test_what_torch_reads_as_something_else_is_refused_and_said(text: str, torch: str) -> None:
    expected = read_action(text)

    assert isinstance(expected, str)
    assert f"(torch would read it as {torch})" in expected


@pytest.mark.parametrize(
    "text", ["", "F0", "0f0", "-1F0", "2X0", "0F", "0", "0OVERLAP_F_B", " 0F0"]
)
def test_what_is_no_action_is_refused(text: str) -> None:
    assert isinstance(read_action(text), str)


def test_numbers_are_bounded_and_have_no_leading_zero() -> None:
    assert whole_number("0") == 0
    assert whole_number(str(LARGEST)) == LARGEST
    assert [whole_number(text) for text in ("00", "01", "-1", "", "1.0", "٣")] == [None] * 6
    assert whole_number(str(LARGEST + 1)) is None
    assert isinstance(read_action("9" * 5000 + "F0"), str)
    assert "…" in str(read_action("9" * 5000 + "F0xyz"))


def test_overlap_holds_its_members_in_order() -> None:
    members = (Action(0, Kind.F, 7), Action(7, Kind.B, 3))

    assert read_overlap("(0F7;7B3)OVERLAP_F_B") == members
    assert read_overlap("( 0F7 ; 7B3 )OVERLAP_F_B") == members


@pytest.mark.parametrize(
    "text",
    [
        "()OVERLAP_F_B",
        "(0F0;;1B0)OVERLAP_F_B",
        "(0F0;1SEND_F0)OVERLAP_F_B",
        "(0F0;1B0)",
        "(0F0;(1B0)OVERLAP_F_B)OVERLAP_F_B",
        "(0F0;1B0)OVERLAP_F_B0",
    ],
)
def test_what_is_no_overlap_is_refused(text: str) -> None:
    assert isinstance(read_overlap(text), str)
