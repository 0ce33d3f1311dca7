import pytest

from pipeproof.ir.values import (
    MAX_STAGE,
    ValueKind,
    encode,
    kind_of,
    microbatch_of,
    read_value,
    stage_of,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("X.0", (ValueKind.X, 0, 0)),
        ("Y.3", (ValueKind.Y, 0, 3)),
        ("A.1", (ValueKind.A, 0, 1)),
        ("F2.1", (ValueKind.F, 2, 1)),
        ("B10.3", (ValueKind.B, 10, 3)),
        ("L.2", (ValueKind.L, 0, 2)),
        ("meta_01", (ValueKind.NAME, 0, 0)),
        ("F2", (ValueKind.NAME, 0, 0)),
    ],
)
def test_values_are_read(text: str, value: tuple[ValueKind, int, int]) -> None:
    assert read_value(text) == value


@pytest.mark.parametrize(
    "text", ["", "F2.", "F.1", "X1.0", "F01.0", "F0.01", "f0.0", "1a", "a-b", "F٣.0", "F16777216.0"]
)
def test_what_is_no_value_is_refused(text: str) -> None:
    assert isinstance(read_value(text), str)


@pytest.mark.parametrize("kind", ValueKind)
def test_a_code_keeps_what_it_is_made_of(kind: ValueKind) -> None:
    code = encode(kind, MAX_STAGE, 2**31 - 1)

    assert 0 <= code < 2**63
    assert (kind_of(code), stage_of(code), microbatch_of(code)) == (kind, MAX_STAGE, 2**31 - 1)
