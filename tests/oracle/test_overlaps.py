"""Overlapping accesses against answers worked out by hand."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

from tests.oracle.machine import explore
from tests.oracle.overlaps import accesses, conflicts, seen
from tests.oracle.projection import Projected, projected


def read(*programs: str, transport: str = "rendezvous", buffers: int = 0) -> Projected:
    keys = {
        "transport": transport,
        "ranks": [program.split("; ") if program else [] for program in programs],
    }
    return projected(json.dumps(keys), tuple(range(len(programs))), 2, buffers)


def overlapping(*programs: str, transport: str = "rendezvous", limit: int = 1000) -> list[str]:
    """The accesses that meet, as `read r0.1 a, write r0.2`."""
    drawn = read(*programs, transport=transport)
    maybe = conflicts(accesses(drawn.programs, drawn.stages))
    saw = seen(drawn.programs, transport, limit, {each.first.end for each in maybe})
    return [
        f"{each.first.does} r{each.first.rank}.{each.first.position} {each.first.storage}, "
        f"{each.second.does} r{each.second.rank}.{each.second.position}"
        for each in maybe
        if saw.reaches(each.second) and saw.meet(each)
    ]


@pytest.mark.parametrize(
    ("programs", "found"),
    [
        (("SEND v to=1 buf=a h=h; WRITE a w; WAIT h", "RECV v from=0"), "read r0.0 a, write r0.1"),
        (("SEND v to=1 buf=a h=h; WAIT h; WRITE a w", "RECV v from=0"), ""),
        (("SEND v to=1 buf=a h=h; FREE a; WAIT h", "RECV v from=0"), "read r0.0 a, free r0.1"),
        (("SEND v to=1 buf=a h=h; USE a v; WAIT h", "RECV v from=0"), ""),
        (
            ("0F0 out=a; SEND F0.0 to=1 h=h; 0F1 out=a", "RECV F0.0 from=0"),
            "read r0.1 a, write r0.2",
        ),
        (("RECV v from=1 buf=a h=h; USE a v; WAIT h", "SEND v to=0"), "write r0.0 a, read r0.1"),
        (
            ("RECV F1.0 from=1 buf=a h=h; 0F0 in=a keep=a", "SEND F1.0 to=0"),
            "write r0.0 a, read r0.1",
        ),
        (
            ("SEND v to=1 buf=a h=h; AWAIT from=1; WRITE a z", "RECV v from=0; SIGNAL to=0"),
            "",
        ),
        (
            ("[SEND v to=1 buf=a | RECV w from=1 buf=a]", "[SEND w to=0 | RECV v from=0]"),
            "read r0.0 a, write r0.0",
        ),
        (("RECV x from=1; SEND v to=1 buf=a h=h; WRITE a w", ""), ""),
    ],
)
@pytest.mark.parametrize("limit", [1000, 1])
def test_accesses_that_meet(programs: tuple[str, ...], found: str, limit: int) -> None:
    assert overlapping(*programs, limit=limit) == ([found] if found else [])


def test_what_the_transport_leaves_open() -> None:
    programs = (
        "SEND v to=1 buf=a h=h; SEND w to=1 h=g; WAIT g; WRITE a x",
        "RECV v from=0; RECV w from=0",
    )

    assert overlapping(*programs, transport="buffered") == ["read r0.0 a, write r0.3"]
    assert overlapping(*programs, transport="gloo") == []


@pytest.mark.parametrize("transport", ["nccl-lazy", "nccl-eager", "rendezvous-rank"])
def test_a_message_to_oneself_does_not_wait_for_itself_in_a_queue(transport: str) -> None:
    drawn = read("SEND v to=0 h=h; RECV v from=0; WAIT h", transport=transport)

    assert not explore(drawn.programs, transport).stuck


def test_a_projection_keeps_what_the_machine_knows() -> None:
    drawn = read(
        "0F0 w=2 out=s; 0SEND_F0 h=x; WAIT x; 0STEP; 0SCALE by=1/2; SAVE",
        "CHOOSE q a|b; FREE q0 if=q:b; FREE q0 if=q:a; 1RECV_F0 if=q:b; 1RECV_F0 if=q:a; "
        "RECV any from=any; 1NORM ranks=0; WAIT y",
        buffers=1,
    )

    assert drawn.text("gloo").splitlines()[7:] == [
        "  -",
        '    - "0F0 out=s"',
        '    - "SEND F0.0 to=1 h=x"',
        '    - "WAIT x"',
        '    - "0STEP"',
        "  -",
        '    - "FREE q0"',
        '    - "RECV F0.0 from=0 buf=q0"',
        '    - "RECV v1 from=0 buf=q0"',
    ]


def test_the_machine_knows_nothing_of_the_package() -> None:
    modules = [path for path in Path(__file__).parent.glob("*.py") if path.stem[:5] != "test_"]
    trees = [ast.walk(ast.parse(path.read_text(encoding="utf-8"))) for path in modules]
    froms = [
        node.module or "" for tree in trees for node in tree if isinstance(node, ast.ImportFrom)
    ]

    assert "tests.oracle.model" in froms
    assert not [name for name in froms if name.startswith("pipeproof")]
