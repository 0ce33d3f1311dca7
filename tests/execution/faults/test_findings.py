from pipeproof.execution.faults.findings import Answer, Finding, Place, merged, place_of
from tests.execution.faults.ran import events, setting

AT = Place(1, 2, 3, "forward")


def test_a_place_is_told_in_words() -> None:
    assert str(AT) == "rank 1, stage 2, microbatch 3, forward"
    assert str(AT._replace(message=True)) == "rank 1, stage 2, microbatch 3, forward, message"
    assert str(Place(4)) == "rank 4"


def test_lateness_a_wrong_value_and_a_stopped_rank_are_answers_of_their_own() -> None:
    four = {Answer.LATE_MESSAGE, Answer.LATE_OPERATION, Answer.WRONG_VALUE, Answer.STOPPED}

    assert len({each.value for each in four}) == 4
    assert len({each.value for each in Answer}) == len(Answer)


def test_what_several_ranks_say_of_one_fault_is_one_finding() -> None:
    mine, yours = (Finding(Answer.LOST, AT, (f"seen by {by}",), by) for by in (2, 0))
    other = Finding(Answer.LATE_MESSAGE, AT, (), 1)

    assert merged((mine,), (yours, other)) == (other, yours)
    assert merged((yours, other), (mine,)) == merged((mine,), (yours, other))


def test_places_are_those_of_operations_and_of_what_is_sent() -> None:
    own = setting()
    told, ops = events(own), own.run.operations
    places = {told.text(row): str(place_of(ops, row)) for row in range(len(ops))}

    assert places["1F0"] == "rank 1, stage 1, microbatch 0, forward"
    assert places["1SEND_F1"] == "rank 1, stage 1, microbatch 1, forward, message"
    assert places["2SEND_B1"] == "rank 2, stage 2, microbatch 1, backward, message"
    assert places["2B0"] == "rank 2, stage 2, microbatch 0, backward"
    assert places["0STEP"] == "rank 0, stage 0, step"
