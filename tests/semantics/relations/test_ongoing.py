"""Gradients that are used while a reduction of them may still run."""

import pytest

from tests.semantics.gradient_faults import faults, said
from tests.semantics.made import frame

ONE: dict[str, object] = {"stages": 1}
M2: dict[str, object] = {"microbatches": 2}
M3: dict[str, object] = {"microbatches": 3}
RUNNING = [
    (("0B0; 0REDUCE h=x; WAIT x; 0STEP",), ONE, []),
    (("0B0; 0REDUCE h=x; 0STEP; WAIT x",), ONE, ["PP501 r0.2"]),
    (("0B0; 0REDUCE h=x; 0STEP",), ONE, ["PP501 r0.2"]),
    (("0B0; 0REDUCE h=x; 0SCALE by=1; WAIT x; 0STEP",), ONE, ["PP501 r0.2"]),
    (("0B0; 0REDUCE h=x; 0B1; WAIT x; 0STEP",), {**ONE, **M2}, ["PP502 r0.2"]),
    (("0B0; 0REDUCE h=x; WAIT x; 0B1; 0STEP",), {**ONE, **M2}, ["PP704 r0.1"]),
    (("0B0; 0REDUCE h=x; 0W1; WAIT x; 0B2; 0STEP",), {**ONE, **M3}, ["PP502 r0.2", "PP704 r0.1"]),
    (("0REDUCE h=x; 0ZERO; WAIT x; 0B0; 0STEP",), ONE, ["PP502 r0.1", "PP704 r0.0"]),
    (("0B0; 0REDUCE param=a h=x; 0REDUCE param=b h=y; WAIT x; WAIT y; 0STEP",), ONE, []),
    (("0B0; 0REDUCE param=a h=x; 0STEP param=b; WAIT x; 0STEP param=a",), ONE, ["PP705 r0.2"]),
    (("0B0; 0NORM ranks=0 h=x; 0SCALE by=1; WAIT x; 0STEP",), ONE, ["PP501 r0.2"]),
    (("0B0; 0TIE ranks=0 h=x; 0STEP; WAIT x",), ONE, ["PP501 r0.2"]),
    (("0B0; 0TIE ranks=0 h=x; WAIT x; 0STEP",), ONE, []),
    (("0B0; 1B0; 0REDUCE h=x; 1REDUCE; 1STEP; WAIT x; 0STEP",), {"stages": 2}, []),
]


@pytest.mark.parametrize(("programs", "keys", "found"), RUNNING)
def test_a_gradient_is_left_alone_while_a_reduction_of_it_may_run(
    programs: tuple[str, ...], keys: dict[str, object], found: list[str]
) -> None:
    assert faults(frame(*programs, **keys)) == found


def test_a_use_while_a_reduction_runs_names_the_reduction() -> None:
    programs = ("0B0; 0REDUCE h=x; 0STEP",)

    assert said("reduction_read", *programs, stages=1) == [
        {"op": "0STEP", "why": "reads the gradient while 0REDUCE h=x may still run"}
    ]
