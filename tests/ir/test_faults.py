"""What goes wrong is a value, and names are found in the table."""

from pipeproof.ir.faults import Faulted, Struck, value_code
from pipeproof.ir.values import ValueKind, encode
from tests.semantics.made import run


def test_only_faults_of_ranks_excuse_a_rank() -> None:
    struck = (
        Struck("missing", 1),
        Struck("stops", 2, at=3),
        Struck("dropped", 0, base=4),
        Struck("delayed", 3, base=0),
    )

    assert Faulted("raise", struck).ranks == {1, 2}


def test_values_have_the_code_that_the_table_has() -> None:
    ops = run("SEND F0.1 to=1; SEND w to=1", "", microbatches=2, fragment=True).operations

    assert value_code(ops, "F0.1") == int(ops.value[0]) == encode(ValueKind.F, 0, 1)
    assert value_code(ops, "w") == int(ops.value[1])
    assert value_code(ops, "absent") is None
    assert value_code(ops, "F0.01") is None
