import csv
import random
from itertools import islice

import pytest

from pipeproof.errors import (
    LimitError,
    ParseError,
    Problem,
    UnsupportedFeatureError,
    UsageError,
)
from pipeproof.frontends import torch_csv
from pipeproof.ir.operations import Bracket
from pipeproof.ir.reading import ReadOptions
from pipeproof.ir.source import Document

ZBV = """\
0F0,0F1,,,0F2,7I0,7W0
1F0,1F1,6F0,,6I0,,
"""
OVERLAPS = "0F0,(0F1;7B0)OVERLAP_F_B,(0F2;0B0)OVERLAP_F_B\n"
WITH_MESSAGES = """\
0UNSHARD,0F0,0SEND_F0,0RECV_B0,0B0,0REDUCE_GRAD,0RESHARD
1RECV_F0,1F0,1B0,1SEND_B0
"""


def read(text: str, options: ReadOptions | None = None) -> Document:
    (document,) = torch_csv.read(text, "a.csv", ReadOptions() if options is None else options)
    return document


def programs(document: Document) -> list[list[str]]:
    ranks = range(document.schedule.ranks)
    return [list(document.schedule.operations.program(rank)) for rank in ranks]


def places(document: Document) -> list[tuple[int, int]]:
    return [document.places.place(row) for row in range(len(document.schedule.operations))]


def wrong(text: str) -> tuple[str, ...]:
    with pytest.raises(ParseError) as caught:
        read(text)
    return tuple(str(problem).removeprefix("a.csv:") for problem in caught.value.problems)


@pytest.mark.parametrize("text", [ZBV, OVERLAPS, WITH_MESSAGES, '"0F0",0F1', " 0F0 ,1F0", ",,0F0"])
def test_csvs_are_sniffed(text: str) -> None:
    assert torch_csv.sniff(text, "any")


@pytest.mark.parametrize(
    "text", ["", ",,\n", "pipeproof: 1\nranks:\n - 0F0\n", "a,b,c\n", "[0, 1]"]
)
def test_other_files_are_not_sniffed(text: str) -> None:
    assert not torch_csv.sniff(text, "any.csv")


@pytest.mark.parametrize("text", [ZBV, OVERLAPS, WITH_MESSAGES])
def test_one_row_is_one_rank(text: str) -> None:
    rows = [[cell for cell in row if cell] for row in csv.reader(text.splitlines())]

    assert programs(read(text)) == rows


def test_computations_only_are_lowered_from_written_order() -> None:
    assert read(ZBV).schedule.lowering == "torch"
    assert read(OVERLAPS).schedule.lowering == "torch"
    assert read(WITH_MESSAGES).schedule.lowering == "as-written"


def test_numbers_are_inferred_from_the_highest() -> None:
    found = read(ZBV).schedule

    assert (found.ranks, found.stages, found.microbatches) == (2, 8, 3)
    assert found.placement == ()
    assert (found.steps, found.fragment) == (1, False)


def test_options_override_what_is_inferred() -> None:
    found = read(ZBV, ReadOptions(stages=9, microbatches=4)).schedule

    assert (found.stages, found.microbatches) == (9, 4)


def test_profile_is_torchs_unless_another_is_asked_for() -> None:
    found = read(ZBV).schedule
    names = ["nccl-lazy", "nccl-first", "nccl-eager", "nccl-small", "gloo"]

    assert (found.profile, [each.name for each in found.transports]) == ("torch-runtime", names)
    none = read(ZBV, ReadOptions(profile="none")).schedule
    assert (none.profile, len(none.transports)) == ("none", 6)
    with pytest.raises(UsageError, match="'pigeon' is no profile"):
        read(ZBV, ReadOptions(profile="pigeon"))
    with pytest.raises(UnsupportedFeatureError, match="deepspeed"):
        read(ZBV, ReadOptions(profile="deepspeed"))


def test_bubbles_are_no_positions() -> None:
    document = read(",0F0,,0B0,\n,\n1F0, ,1B0\n")

    assert programs(document) == [["0F0", "0B0"], [], ["1F0", "1B0"]]
    assert document.schedule.operations.position.tolist() == [0, 1, 0, 1]
    assert places(document) == [(1, 2), (1, 7), (3, 1), (3, 7)]


def test_overlap_is_one_position_of_several_members() -> None:
    document = read(OVERLAPS)
    operations = document.schedule.operations

    assert operations.position.tolist() == [0, 1, 1, 2, 2]
    assert operations.member.tolist() == [0, 0, 1, 0, 1]
    assert operations.bracket.tolist() == [Bracket.NONE, *[Bracket.OVERLAP] * 4]
    assert places(document) == [(1, 1), (1, 6), (1, 10), (1, 27), (1, 31)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0F0\r\n1F0\r\n", [(1, 1), (2, 1)]),
        ("0F0\r1F0", [(1, 1), (2, 1)]),
        (' 0F0 ,\t1F0\n"2F0" ,3F0', [(1, 2), (1, 7)]),
        ('"0F0","1F0"\n2F0', [(1, 2), (1, 8), (2, 1)]),
        ("( 0F0 ; 0B0 )OVERLAP_F_B , 1F0", [(1, 3), (1, 9), (1, 28)]),
    ],
)
def test_quotes_spaces_and_line_ends_are_tolerated_as_by_torch(
    text: str, expected: list[tuple[int, int]]
) -> None:
    if '" ,' in text:
        assert wrong(text)[0].startswith("2:1: ")
    else:
        assert places(read(text)) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "1:1: no operation stands in the file"),
        (",,\n", "1:1: no operation stands in the file"),
        ("0F0,0F0xyz", "1:5: '0F0xyz' is no action; write 2F0, 1SEND_F3 or 0UNSHARD (torch would"),
        ("0F0, 0FOO", "1:6: '0FOO' is no action"),
        ("0F0,0F 1", "1:5: '0F 1' is no action"),
        ("0F0;1F0", "1:1: '0F0;1F0' is no action"),
        ("00F0", "1:1: '00F0' is no action"),
        ("0F01", "1:1: '0F01' is no action"),
        ("0UNSHARD5", "1:1: '0UNSHARD5' is no action"),
        ("0F", "1:1: '0F' is no action"),
        ("0REDUCE", "1:1: '0REDUCE' is no action"),
        ("0f0", "1:1: '0f0' is no action"),
        ("0R0", "1:1: '0R0' is no action"),
        ("0F\u0663", "1:1: '0F\u0663' is no action"),
        ("16777216F0", "1:1: '16777216F0' is no action; stages are numbers up to"),
        ("9" * 5000 + "F0", "1:1: '999"),
        ("()OVERLAP_F_B", "1:1: '()OVERLAP_F_B' is no action"),
        ("(0F0;;0B0)OVERLAP_F_B", "1:1: '(0F0;;0B0)OVERLAP_F_B' is no action"),
        ("(0F0;0B0)", "1:1: '(0F0;0B0)' is no action"),
        ("(0F0;0B0}", "1:1: '(0F0;0B0}' is no action"),
        ("(0F0;0B0)OVERLAP_F_B0", "1:1: '(0F0;0B0)OVERLAP_F_B0' is no action"),
        ("(0F0;(0B0)OVERLAP_F_B;0W0)OVERLAP_F_B", "1:1: '(0F0;(0B0)"),
        ("(0F0;0SEND_F0)OVERLAP_F_B", "1:1: '(0F0;0SEND_F0)OVERLAP_F_B' is no action"),
        ("0F0)OVERLAP_F_B", "1:1: '0F0)OVERLAP_F_B' is no action"),
        ("(0F0,0B0)OVERLAP_F_B", "1:1: '(0F0' is no action"),
        ('0F0,"0F1', "1:5: '\"0F1' is no action"),
        ('"0F0,0F1"', "1:2: '0F0,0F1' is no action"),
        ("0F0\n\n1F0\n", "2:1: a blank line stands between rows; torch counts it as a rank"),
        ("0F0,,0SEND_F0\n", "1:5: an empty cell stands here; write an action: torch refuses"),
        ("0F0,0SEND_F0,\n", "1:14: an empty cell stands here"),
        ("\ufeff0F0", "1:1: the file starts with a byte order mark"),
        ("0F0,\x000F1", "1:5: character U+0000"),
    ],
)
def test_what_is_no_csv_is_refused(text: str, said: str) -> None:
    assert wrong(text)[0].startswith(said)


def test_all_mistakes_come_at_once() -> None:
    said = wrong("0F0,0X0,\n0Y0,(0F0;0B)OVERLAP_F_B\n")

    assert [each.split(": ")[0] for each in said] == ["1:5", "2:1", "2:5"]


def test_a_blank_line_at_the_end_is_noted() -> None:
    document = read("0F0\n1F0\n\n\n")

    assert document.schedule.ranks == 2
    (note,) = document.notes
    assert isinstance(note, Problem)
    assert (note.line, note.found) == (3, "a blank line ends the file")
    assert note.expected == "torch counts it as another rank"
    assert read("0F0\n1F0\n").notes == ()


@pytest.mark.parametrize("name", ["ranks", "instructions", "csv-bytes"])
def test_limits_have_names(name: str) -> None:
    with pytest.raises(LimitError, match=rf"limit '{name}': --limit {name}=N"):
        read(ZBV, ReadOptions(limits={name: 1}))


def test_a_number_far_out_does_not_ask_for_more_than_the_limit() -> None:
    with pytest.raises(LimitError, match="limit 'instructions'"):
        read("0F0,0F2147483647\n")


def test_there_is_one_case() -> None:
    assert read(ZBV, ReadOptions(case=0)).schedule.ranks == 2
    with pytest.raises(ParseError, match="case 3 stands nowhere"):
        read(ZBV, ReadOptions(case=3))


def test_rows_are_read_alike_at_once_and_cell_by_cell() -> None:
    draw = random.Random(7)
    kinds = ("F", "B", "I", "W", "SEND_F", "RECV_F", "SEND_B", "RECV_B")
    cells = [f"{draw.randrange(20)}{draw.choice(kinds)}{draw.randrange(200)}" for _ in range(200)]
    cells[7:7] = ["(0F1;7B0)OVERLAP_F_B", "0UNSHARD", "(0F1)OVERLAP_F_B", "3REDUCE_GRAD"]
    plain = read(",".join(cells))
    quoted = read(",".join(f'"{cell}"' for cell in cells))

    for column in ("position", "member", "kind", "stage", "microbatch", "bracket"):
        one = getattr(plain.schedule.operations, column)
        assert one.tolist() == getattr(quoted.schedule.operations, column).tolist()


def test_many_cells_are_read_at_once() -> None:
    row = ",".join(f"{stage}F{microbatch}" for microbatch in range(2048) for stage in range(8))

    document = read("\n".join([row] * 16))
    assert len(document.schedule.operations) == 262_144
    first = list(islice(document.schedule.operations.program(15), 3))
    assert first == ["0F0", "1F0", "2F0"]
