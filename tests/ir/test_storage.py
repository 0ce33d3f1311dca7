"""The contents of storage, by code and in words."""

import numpy as np

from pipeproof.ir.storage import WEIGHT_GRADIENT, content_text, kept_code
from pipeproof.ir.values import ValueKind
from tests.semantics.made import run

MADE = run("1F2 keep=k; SEND F1.2 to=1 buf=a; WRITE b seen", "RECV F1.2 from=0", microbatches=3)


def test_what_forwards_keep_is_told_apart_by_stage_and_microbatch() -> None:
    codes = kept_code(np.asarray([1, 1, 2]), np.asarray([0, 1, 0]))

    assert len(set(codes.tolist())) == 3
    assert content_text(MADE.operations, int(codes[1])) == "what 1F1 kept"


def test_a_weight_gradient_and_values_are_told_in_words() -> None:
    written = (WEIGHT_GRADIENT << 56) | (1 << 32) | 2
    sent = (int(ValueKind.F) << 56) | (1 << 32) | 2

    assert content_text(MADE.operations, written) == "what 1W2 wrote"
    assert content_text(MADE.operations, sent) == "F1.2"


def test_a_table_has_the_length_of_its_rows() -> None:
    assert MADE.storage is not None
    assert len(MADE.storage) == len(MADE.storage.rows) == 3
