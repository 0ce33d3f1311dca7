"""The schema of spec files reads programs as the reader does."""

from collections.abc import Iterator

import pytest

from pipeproof.ir._attributes import ATTRIBUTES
from pipeproof.ir._instructions import STAGED, WORDS, Mistake, Tables, read_operation
from tests.cli.schemas import is_read, typed, wrong

HEAD = "pipeproof: 1\nmicrobatches: 2\n"


@pytest.mark.parametrize(
    "program",
    [
        "0F0xyz",
        "0FOO",
        "0F 1",
        "F0",
        "0F",
        "00F0",
        "0UNSHARD1",
        "0f0",
        "0F0, 0F1",
        "0F0 gradient=1",
        "0F0 w",
        "0F0 w=",
        "0F0 = 1",
        "SEND",
        "SEND F0 1 to=1",
        "SEND F0.x to=1",
        "WAIT",
        "COLL ranks=0",
        "FREE",
        "WRITE a",
        "HOLD many",
        "CHOOSE c a",
        "STEP",
        "0F0 | 0F1",
        "[0SEND_F0 | ]",
        "[0SEND_F0",
        "[0SEND_F0 0RECV_B0]",
        "(0F0;0B0)",
        "(0F0;0B0)OVERLAP",
        "(0F0;0SEND_F0)OVERLAP_F_B",
        "()OVERLAP_F_B",
        "0F0;\n0B0 # fine\n0X0",
    ],
)
def test_an_instruction_that_is_none_is_refused_by_both(program: str) -> None:
    quoted = program.replace("\n", "\\n")
    text = f'{HEAD}ranks: ["{quoted}", [1F0]]\n'

    assert not is_read(text)
    assert wrong("spec", typed(text))
    assert wrong("spec", typed(text.replace(f'"{quoted}"', f'["{quoted}"]')))


ONE = {"in": "a", "mode": "add", "last": "no", "kind": "all", "async": "rng,data", "v": "any"}
OPERANDS = {
    "value": "F0.1",
    "handle": "h",
    "name": "n",
    "storage": "s",
    "written": "B1.0",
    "count": "3",
    "what": "lr",
    "alternatives": "a|b",
}


def instructions() -> Iterator[str]:
    """Yield each operation as short as can be, and with each attribute that there is."""
    staged = ((f"2{word}{'3' * form.microbatch}", form) for word, form in STAGED.items())
    for head, form in (*staged, *WORDS.items()):
        operands = (
            "X.1" if head == "LOAD" and each == "value" else OPERANDS[each]
            for each in form.operands
        )
        bare = " ".join((head, *operands, *(f"{key}=0" for key in form.demands)))
        yield bare
        for key in ATTRIBUTES:
            yield f"{bare} {key}={'a:b' if key == 'if' else ONE.get(key, '1')}"


def test_every_instruction_of_the_reader_is_one_of_the_schema() -> None:
    read = []
    for text in instructions():
        try:
            read_operation(text, Tables())
        except Mistake:
            continue
        read.append(text)
    said = {word.partition("=")[0] for text in read for word in text.split() if "=" in word}

    assert {text.split()[0].strip("0123456789") for text in read} == {*STAGED, *WORDS}
    assert said == {*ATTRIBUTES}
    for text in read:
        assert wrong("spec", {"pipeproof": 1, "microbatches": 1, "ranks": [text]}) == [], text


@pytest.mark.parametrize(
    "program",
    [
        "",
        "  # a comment; of 0X0\n\n",
        "0F0 ; 0F1;;\t0B0 in=a # ; 0X\r\n ;",
        "[ 0SEND_F0 buf=a|0RECV_B0 ] h=x if=c:a; CHOOSE c a|b|c.d",
        "( 0F7 w=stash ; 7B3 )OVERLAP_F_B if=c:a",
        "COLL all ranks=0,1 kind=reduce to=0; SAVE async=rng,data",
        "RECV any from=any; RECV F0.0 from=0 v=any; SEND F0.0 to=1 shape=2,3*4 dtype=a+b/c@d",
    ],
)
def test_programs_may_be_written_in_many_ways(program: str) -> None:
    assert wrong("spec", {"pipeproof": 1, "microbatches": 1, "ranks": [program, [program]]}) == []


@pytest.mark.parametrize("ranks", [" [[], 0F0]", " ['', 0F0]", " [[''], 0F0]", "\n  -\n  - 0F0"])
def test_a_rank_may_do_nothing(ranks: str) -> None:
    text = f"{HEAD}ranks:{ranks}\n"

    assert is_read(text)
    assert wrong("spec", typed(text)) == []


def test_a_long_program_is_no_riddle() -> None:
    """A pattern that goes back over what it has read would not end here."""
    long = "0F0 in=a out=b w=stash; " * 20_000

    assert wrong("spec", {"pipeproof": 1, "microbatches": 1, "ranks": [long]}) == []
    assert wrong("spec", {"pipeproof": 1, "microbatches": 1, "ranks": [f"{long}0F0 in=a out"]})
