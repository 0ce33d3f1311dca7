"""What operations read and write, by hand."""

import numpy as np

from pipeproof.ir.accesses import Access, codes, early_parts, reads, supply, writes
from pipeproof.ir.actions import Kind
from pipeproof.ir.as_run import AsRun
from pipeproof.ir.operations import Row, build
from pipeproof.ir.schedule import Schedule
from pipeproof.ir.values import ValueKind, encode
from pipeproof.lowering.lower import lower
from tests.semantics.made import run


def touched(made: AsRun, access: Access) -> list[str]:
    """Each read or write as operation and value."""
    ops = made.operations
    both = zip(access.rows.tolist(), access.values.tolist(), strict=True)
    return [f"{ops.text(row)} {ops.value_text(value)}" for row, value in both]


def supplied(made: AsRun, value: str) -> list[tuple[str, int, int]]:
    """Each reader of a value, the row that supplies it, and the one that writes it later."""
    reading = reads(made)
    given = supply(made.operations, reading, writes(made))
    columns = (reading.rows.tolist(), reading.values.tolist())
    found = zip(*columns, given.writer.tolist(), given.later.tolist(), strict=True)
    return [
        (made.operations.text(row), writer, later)
        for row, code, writer, later in found
        if made.operations.value_text(code) == value
    ]


def test_codes_are_those_of_values() -> None:
    made = codes(ValueKind.F, np.asarray([0, 2]), np.asarray([1, 3]))

    assert made.tolist() == [encode(ValueKind.F, 0, 1), encode(ValueKind.F, 2, 3)]


def test_stages_read_what_the_stages_beside_them_make() -> None:
    made = run("0F0; 1F0; 1B0; 0I0")

    assert touched(made, reads(made)) == ["0F0 X.0", "1F0 F0.0", "1F0 Y.0", "0I0 B1.0"]


def test_the_forward_of_the_last_stage_makes_the_loss_where_no_operation_does() -> None:
    made = run("0F0; 1F0; 1B0; 0I0; 0W0")

    assert touched(made, writes(made)) == [
        "0F0 F0.0",
        "1F0 F1.0",
        "1F0 L.0",
        "1B0 B1.0",
        "0I0 B0.0",
    ]


def test_a_loss_reads_activation_and_label_and_is_read_by_the_last_backward() -> None:
    made = run("0F0; 0L0; 0B0; 0F1; 0B1", microbatches=2)

    assert touched(made, reads(made)) == [
        *("0F0 X.0", "0L0 F0.0", "0L0 Y.0", "0B0 L.0"),
        *("0F1 X.1", "0F1 Y.1"),  # no L of microbatch 1 stands there: its backward reads no loss
    ]
    assert touched(made, writes(made)) == [
        *("0F0 F0.0", "0L0 L.0", "0B0 B0.0"),
        *("0F1 F0.1", "0F1 L.1", "0B1 B0.1"),
    ]


def test_messages_and_loads_touch_the_values_they_name() -> None:
    made = run("LOAD X.0; SEND F0.0 to=1; SEND meta to=1", "RECV F0.0 from=0; RECV any from=0")

    assert touched(made, reads(made)) == ["SEND F0.0 to=1 F0.0", "SEND meta to=1 meta"]
    assert touched(made, writes(made)) == ["LOAD X.0 X.0", "RECV F0.0 from=0 F0.0"]


def test_storage_is_written_and_used_with_values_of_all_kinds() -> None:
    made = run("WRITE b F0.0; WRITE c meta; USE b F0.0; USE c meta")

    assert touched(made, writes(made)) == ["WRITE b F0.0 F0.0", "WRITE c meta meta"]
    assert touched(made, reads(made)) == ["USE b F0.0 F0.0", "USE c meta meta"]


def test_a_use_of_what_is_no_value_or_named_nowhere_reads_nothing() -> None:
    rows = [
        Row(0, at, 0, Kind.USE, attributes={"storage": "b", "written": written})
        for at, written in enumerate(("2X0", "meta"))
    ]
    made = lower(Schedule(build(rows), ranks=1, stages=1, microbatches=1))

    assert len(reads(made).rows) == 0


def test_what_does_not_exist_touches_nothing() -> None:
    made = run("7F0; 0F3; 0B3", stages=1)

    assert touched(made, reads(made)) == []
    assert touched(made, writes(made)) == []


def test_each_pipeline_has_a_first_and_a_last_stage_of_its_own() -> None:
    made = run("0F0; 1F0; 1B0; 3F1; 2F1", microbatches=2, stages=4, pipelines=[[0, 1], [3, 2]])

    assert touched(made, reads(made)) == [
        *("0F0 X.0", "1F0 F0.0", "1F0 Y.0"),
        *("3F1 X.1", "2F1 F3.1", "2F1 Y.1"),
    ]
    assert [each for each in touched(made, writes(made)) if "L" in each] == ["1F0 L.0", "2F1 L.1"]


def test_a_loss_reads_the_activation_of_the_last_stage_of_its_pipeline() -> None:
    made = run("0F0; 1F0; 0L0")

    assert touched(made, reads(made))[-2:] == ["0L0 F1.0", "0L0 Y.0"]


def test_the_nearest_write_before_a_read_supplies_it() -> None:
    made = run("WRITE b v; WRITE b v; USE b v; WRITE b v")

    assert supplied(made, "v") == [("USE b v", 1, 3)]


def test_a_read_before_every_write_has_only_a_later_one() -> None:
    made = run("USE b v; WRITE b v; WRITE b v")

    assert supplied(made, "v") == [("USE b v", -1, 1)]


def test_a_write_on_another_rank_supplies_nothing() -> None:
    made = run("WRITE b v", "USE b v")

    assert supplied(made, "v") == [("USE b v", -1, -1)]


def test_a_rank_that_writes_nothing_is_supplied_with_nothing() -> None:
    made = run("SEND v to=1", "RECV any from=0")

    assert supplied(made, "v") == [("SEND v to=1", -1, -1)]


def test_members_of_a_group_do_not_supply_each_other() -> None:
    made = run("[RECV v from=1 | SEND v to=1]", "[SEND v to=0 | RECV v from=0]")

    assert supplied(made, "v") == [("SEND v to=1", -1, 0), ("SEND v to=0", -1, 3)]


def test_members_of_an_overlap_supply_those_after_them() -> None:
    made = run("(0F0;1F0)OVERLAP_F_B; (3F0;2F0)OVERLAP_F_B", stages=4)

    assert supplied(made, "F0.0") == [("1F0", 0, -1)]
    assert supplied(made, "F2.0") == [("3F0", -1, 3)]


def test_what_is_made_in_parts_is_there_with_the_last_of_them() -> None:
    made = run("0F0 bucket=a; 0F0 bucket=b; 0B0 c=1/2; 0B0 c=1/2")

    assert early_parts(made).tolist() == [0, 2]
    assert not {0, 2} & set(writes(made).rows.tolist())


def test_a_part_that_stands_again_begins_anew() -> None:
    made = run("0F0 bucket=a; 0F0 bucket=b; 0F0 bucket=a; 0F0 bucket=b")

    assert early_parts(made).tolist() == [0, 2]


def test_a_loss_that_is_brought_to_a_rank_is_read_by_its_last_backward() -> None:
    made = run("0B0; RECV L.0 from=1; WRITE s L.1; 0B1", "SEND L.0 to=0", stages=1, microbatches=2)

    assert supplied(made, "L.0")[0] == ("0B0", -1, 1)
    assert supplied(made, "L.1") == [("0B1", 2, -1)]


def test_a_loss_that_is_brought_to_another_rank_is_not() -> None:
    made = run("0B0", "RECV L.0 from=2", "SEND L.0 to=1", stages=1)

    assert not [each for each in supplied(made, "L.0") if each[0] == "0B0"]
