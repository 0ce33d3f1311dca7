"""What a schedule does not describe is named."""

import pytest

from pipeproof.ir.undescribed import undescribed
from tests.semantics.made import schedule

EVERYTHING = ("storage", "weight versions", "reductions", "sharding", "shapes", "memory")


def test_order_alone_describes_nothing_else() -> None:
    assert undescribed(schedule("0F0; 0B0")) == EVERYTHING


@pytest.mark.parametrize(
    ("program", "described"),
    [
        ("0F0 out=a", "storage"),
        ("FREE a", "storage"),
        ("WRITE a v", "storage"),
        ("0STEP", "weight versions"),
        ("0REDUCE", "reductions"),
        ("0UNSHARD", "sharding"),
        ("SEND v to=0 shape=4", "shapes"),
    ],
)
def test_what_an_instruction_describes_is_not_missing(program: str, described: str) -> None:
    assert {*EVERYTHING} - {*undescribed(schedule(program, stages=1))} == {described}


@pytest.mark.parametrize(
    ("key", "described"),
    [
        ({"storage": {"stash": {"slots": 2}}}, "storage"),
        ({"weights": {"policy": "flush"}}, "weight versions"),
        ({"sizes": {"F": "1MiB"}}, "memory"),
        ({"bounds": {"live": 2}}, "memory"),
    ],
)
def test_what_a_key_describes_is_not_missing(key: dict[str, object], described: str) -> None:
    assert {*EVERYTHING} - {*undescribed(schedule("0F0", **key))} == {described}
