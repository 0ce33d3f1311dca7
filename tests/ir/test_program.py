from collections.abc import Sequence

import pytest

from pipeproof.errors import LimitError, ParseError
from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import ANY, NONE, Bracket, Row
from pipeproof.ir.program import Piece, Programs
from pipeproof.ir.reading import Mistakes, ReadOptions
from pipeproof.ir.values import ValueKind, encode


def read(*ranks: str, ordered: bool = True) -> Programs:
    """Read one program a rank; raise what is wrong."""
    mistakes = Mistakes("f")
    programs = Programs(mistakes, ReadOptions())
    for text in ranks:
        programs.read([Piece(text, 1, 1)], ordered=ordered)
    programs.check_choices()
    mistakes.settle()
    return programs


def row(text: str) -> Row:
    """Read a program of one operation."""
    (only,) = read(text).rows
    return only


def wrong(*ranks: str) -> tuple[str, ...]:
    """Return what is wrong, as `line:column: found; expected`."""
    with pytest.raises(ParseError) as caught:
        read(*ranks)
    return tuple(str(problem).removeprefix("f:") for problem in caught.value.problems)


def places(pieces: Sequence[Piece]) -> tuple[tuple[int, int], ...]:
    programs = Programs(Mistakes("f"), ReadOptions())
    programs.read(pieces)
    return tuple(map(programs.marks().place, range(len(programs.rows))))


def test_lines_and_semicolons_separate_instructions() -> None:
    programs = read("0F0; 0F1\n\n# nothing\n  0B0 ;;0B1  # ; 0B2\r\n")

    assert list(programs.operations().program(0)) == ["0F0", "0F1", "0B0", "0B1"]
    assert [each.position for each in programs.rows] == [0, 1, 2, 3]


def test_each_rank_counts_its_own_positions() -> None:
    programs = read("0F0;0F1", "", "1F0")

    assert [(each.rank, each.position) for each in programs.rows] == [(0, 0), (0, 1), (2, 0)]
    assert programs.ranks == 3


def test_compute_has_stage_and_microbatch() -> None:
    assert row("2R3") == Row(0, 0, 0, Kind.R, 2, 3)
    assert row("0REDUCE_GRAD") == Row(0, 0, 0, Kind.REDUCE, 0)
    assert row("0REDUCE") == row("0REDUCE_GRAD")


def test_message_in_long_form_has_the_stage_and_microbatch_of_its_value() -> None:
    value = encode(ValueKind.F, 3, 1)

    assert row("SEND F3.1 to=2") == Row(0, 0, 0, Kind.SEND, 3, 1, value, 2)
    assert row("RECV X.4 from=0").microbatch == 4
    assert row("RECV X.4 from=0").stage == NONE
    assert row("SEND state to=1").microbatch == NONE


def test_message_in_torch_form_has_what_is_written() -> None:
    assert row("3SEND_F1") == Row(0, 0, 0, Kind.SEND_F, 3, 1)
    assert row("0RECV_B2 dtype=f16").attributes == {"dtype": "f16"}


def test_any_is_whichever_comes() -> None:
    assert (row("RECV any from=any").value, row("RECV any from=any").peer) == (ANY, ANY)
    assert row("RECV F0.0 from=any v=any").attributes == {"v": "any"}


def test_operands_without_a_column_are_attributes() -> None:
    assert row("COLL a ranks=0,1 kind=all").attributes == {
        "name": "a",
        "ranks": "0,1",
        "kind": "all",
    }
    assert row("WRITE b F0.1").attributes == {"storage": "b", "written": "F0.1"}
    assert row("USE b v").attributes == {"storage": "b", "written": "v"}
    assert row("FREE b").attributes == {"storage": "b"}
    assert row("HOLD 2").attributes == {"count": "2"}
    assert row("RESUME at=3").attributes == {"at": "3"}
    assert row("RESTORE rng have=a want=b").attributes == {
        "what": "rng",
        "have": "a",
        "want": "b",
    }
    assert row("CHOOSE q a|b").attributes == {"name": "q", "written": "a|b"}
    assert row("SAVE async=versions,rng").attributes == {"async": "versions,rng"}


def test_names_stand_in_tables_by_first_use() -> None:
    programs = read("SEND v to=1 comm=b h=x; SEND w to=1 comm=a h=y", "RECV v from=0 comm=b h=x")
    operations = programs.operations()

    assert operations.comms == ("", "b", "a")
    assert operations.handles == ("x", "y")
    assert operations.names == ("v", "w")
    assert operations.handle.tolist() == [0, 1, 0]


def test_bracket_is_one_position() -> None:
    programs = read("[SEND F0.0 to=1 | 0RECV_B0] h=x if=q:a; CHOOSE q a|b")
    first, second, _ = programs.rows

    assert (first.position, first.member, second.position, second.member) == (0, 0, 0, 1)
    assert (first.bracket, second.bracket) == (Bracket.GROUP, Bracket.GROUP)
    assert first.handle == second.handle == 0
    assert first.attributes == second.attributes == {"if": "q:a"}


def test_overlap_is_one_position_and_its_semicolon_separates_nothing_else() -> None:
    programs = read("(0F7;7B3 gin=a)OVERLAP_F_B; 0F8")

    assert [each.position for each in programs.rows] == [0, 0, 1]
    assert [each.bracket for each in programs.rows] == [Bracket.OVERLAP, Bracket.OVERLAP, 0]
    assert programs.rows[1].attributes == {"gin": "a"}


@pytest.mark.parametrize(
    "text",
    [
        "0F0 in=a out=b aux=c keep=d w=3 rng=r0 ctx=autocast:on fill=1 bucket=A state=s",
        "0L0 in=a out=b label=c",
        "0B0 gin=a gout=b w=stash wv=0 c=1/4 param=E mode=assign last=yes",
        "0I0 gin=a gout=b w=latest wv=0 c=1 param=E mode=add last=no",
        "0W0 w=none",
        "0R0 w=stash rng=r0 ctx=mask state=s",
        "LOAD X.0 buf=a sample=7",
        "SEND F0.0 to=1 comm=c h=x buf=a shape=2,3 dtype=f16 layout=nhwc",
        "0SEND_F0 comm=c h=x buf=a shape=3 dtype=f16 layout=nhwc",
        "COLL a comm=c h=x ranks=0,1",
        "COLL a ranks=0,1 from=1",
        "COLL a ranks=0,1 kind=broadcast from=1",
        "COLL a ranks=0,1 kind=reduce to=0",
        "SIGNAL to=1; AWAIT from=1",
        "0ZERO param=E; 0SCALE by=1/4 param=E; 0REDUCE h=x param=E shard=1",
        "0NORM h=x ranks=0,1 param=E; 0TIE h=y ranks=0,1 param=E; 0STALE param=E",
        "0STEP param=E; 0SKIP param=E; 0COMMIT param=E; 0ROLLBACK param=E; 0GATHER bucket=A",
        "SAVE; CONSUME 4; DROP 1; 0UNSHARD; 0RESHARD",
    ],
)
def test_instructions_take_the_attributes_of_the_table(text: str) -> None:
    programs = read(text)

    assert list(programs.operations().program(0)) == [each.strip() for each in text.split(";")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0F0xyz", "torch would read it as 0F0"),
        ("0FOO", "torch would read it as 0F"),
        ("0F 1", "torch would read it as 0F"),
        ("2X0", "write 2F0, 1SEND_F3"),
        ("F0", "write 2F0"),
        ("STEP", "STEP is of a stage: write 0STEP"),
        ("SENDD F0.1 to=1", "did you mean 'SEND'?"),
        ("0SEND_G1", "did you mean 'SEND_F'?"),
        ("send F0.1 to=1", "did you mean 'SEND'?"),
        ("SEND F0.1", "has no to=; write to= behind it"),
        ("RECV F0.1 to=1", "RECV takes no 'to'; write from "),
        ("SEND F0.1 from=1", "SEND takes no 'from'"),
        ("SEND any to=1", "only RECV takes whichever comes"),
        ("AWAIT from=any", "name a rank"),
        ("SEND F0 .1 to=1", "'.1' is no attribute"),
        ("SEND F01.1 to=1", "'F01.1' is no value"),
        ("0F0 gin=a", "F takes no 'gin'"),
        ("0F0 bufffer=a", "F takes no 'bufffer'"),
        ("0F0 in=a in=b", "'in' stands twice"),
        ("0F0 in=", "in= takes a name"),
        ("0F0 w=old", "w= takes latest, stash, cache, none or the number of a version"),
        ("0F0 fill=2", "fill= takes 1"),
        ("0B0 c=0.5", "c= takes an exact fraction"),
        ("0B0 c=1/0", "c= takes an exact fraction"),
        ("0B0 mode=set", "mode= takes one of add, assign"),
        ("0B0 last=true", "last= takes one of yes, no"),
        ("0STEP h=x", "STEP takes no 'h'"),
        ("0ZERO shard=1", "ZERO takes no 'shard'"),
        ("0SCALE", "has no by="),
        ("0TIE ranks=0,0", "ranks= takes ranks that differ"),
        ("COLL a", "has no ranks="),
        ("COLL a ranks=1,2", "rank 0 is none of ranks=1,2"),
        ("COLL a ranks=0,1 kind=broadcast", "broadcast has from="),
        ("COLL a ranks=0,1 from=0 to=1", "has neither from= nor to="),
        ("COLL a ranks=0,1 to=2", "name one of its ranks"),
        ("LOAD F0.0", "write X.0, Y.0 or A.0"),
        ("HOLD", "HOLD takes a whole number"),
        ("HOLD many", "HOLD takes a whole number"),
        ("WRITE b", "WRITE takes a value"),
        ("CHOOSE q a", "CHOOSE takes its outcomes"),
        ("CHOOSE q a|a", "CHOOSE takes its outcomes"),
        ("SAVE async=all", "async= takes some of versions"),
        ("RESTORE rng have=a", "has no want="),
        ("0F99999999999", "microbatches up to"),
        ("16777216F0", "stages are numbers up to 16777215"),
        ("0F\u0663", "written in ASCII"),
        ("0F0\u00a0in=a", "written in ASCII"),
        ("[SEND F0.1 to=1", "close the bracket"),
        ("[]", "nothing stands between separators"),
        ("[0SEND_F0 | ]", "nothing stands between separators"),
        ("[0F0]", "a bracket holds messages"),
        ("[0SEND_F0 h=x]", "write it behind the bracket"),
        ("[0SEND_F0] comm=x", "a bracket takes no 'comm'"),
        ("SEND F0.1 to=1 | RECV B1.1 from=1", "a group call is one bracket"),
        ("()OVERLAP_F_B", "nothing stands between separators"),
        ("(0F0;0SEND_F0)OVERLAP_F_B", "an overlap holds F, B, I and W only"),
        ("(0F0;0B0)OVERLAP", "write (0F7;7B3)OVERLAP_F_B"),
        ("(0F0;0B0)OVERLAP_F_B h=x", "a bracket takes no 'h'"),
        ("WAIT x", "nothing was started under 'x'"),
        ("WAIT", "WAIT takes a handle"),
        ("0F0 if=q", "if= takes a choice and its outcome"),
        ("0F0 if=q:a", "nothing chooses 'q'"),
        ("CHOOSE q a|b; 0F0 if=q:c", "'c' is no outcome of q; write one of a, b"),
    ],
)
def test_what_is_no_instruction_is_refused(text: str, expected: str) -> None:
    (said,) = wrong(text)

    assert expected in said


def test_all_mistakes_of_all_ranks_come_at_once_with_their_places() -> None:
    said = wrong("0F0; 2X0\n  SEND F0.1 to=1 bfu=a", "[0SEND_F0 | 0F0]")

    assert [each.split(": ")[0] for each in said] == ["1:6", "1:13", "2:18"]


def test_a_handle_is_waited_for_once() -> None:
    read("SEND v to=1 h=x; SEND w to=1 h=x; WAIT x; SEND v to=1 h=x; WAIT x")

    assert len(wrong("SEND v to=1 h=x; WAIT x; WAIT x")) == 1
    assert len(wrong("SEND v to=1 h=x", "WAIT x")) == 1


def test_a_wait_that_may_be_passed_over_ends_nothing() -> None:
    read("CHOOSE q a|b; SEND v to=1 h=x; WAIT x if=q:a; WAIT x if=q:b")


def test_where_order_is_the_runtimes_a_handle_may_start_below() -> None:
    read("WAIT x; SEND v to=1 h=x", ordered=False)
    with pytest.raises(ParseError):
        read("WAIT y; SEND v to=1 h=x", ordered=False)


def test_choices_are_seen_by_all_ranks() -> None:
    assert read("CHOOSE q a|b", "0F0 if=q:b").rows[1].attributes == {"if": "q:b"}


def test_places_are_those_of_the_piece() -> None:
    assert places([Piece("0F0\n\n [0SEND_F0 | 0RECV_B0]", 7, 5)]) == ((7, 5), (9, 7), (9, 18))
    assert places([Piece("0F0", 3, 4), Piece("0F1;0F2", 5, 1)]) == ((3, 4), (5, 1), (5, 5))


def test_places_of_a_piece_on_one_line_are_those_of_its_characters() -> None:
    assert places([Piece("0F0\n0F1", 2, 9, (10, 11, 12, 13, 15, 16, 17))]) == ((2, 10), (2, 15))
    assert places([Piece("0F0\n0F1", 2, 9, (9,))]) == ((2, 9), (2, 9))


def test_instructions_are_limited() -> None:
    programs = Programs(Mistakes("f"), ReadOptions(limits={"instructions": 2}))

    with pytest.raises(LimitError, match=r"f:1:9: .*limit 'instructions'"):
        programs.read([Piece("0F0;0F1;0F2", 1, 1)])


def test_torch_words_are_kept_where_they_are_written() -> None:
    assert list(read("0REDUCE_GRAD").operations().program(0)) == ["0REDUCE_GRAD"]
    assert list(read("0REDUCE").operations().program(0)) == ["0REDUCE"]
