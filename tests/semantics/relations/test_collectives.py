"""Collectives that not all ranks enter."""

from pipeproof.semantics.relations.collectives import unentered
from tests.semantics.made import frame, places


def test_a_collective_that_all_ranks_enter_is_whole() -> None:
    made = frame("COLL a ranks=0,1", "COLL a ranks=0,1")

    assert (unentered(made).instances, places(made, unentered(made))) == (1, [])


def test_a_rank_that_never_enters_is_told_at_the_entries_of_the_others() -> None:
    made = frame("COLL a ranks=0,1,2", "0F0; COLL a ranks=0,1,2", "")
    found = unentered(made)

    assert places(made, found) == ["r0.0 r1.1"]
    assert found.found[0].facts["why"] == "rank 2 never enters it"


def test_several_absent_ranks_are_told_in_order() -> None:
    made = frame("COLL a ranks=2,1,0", "", "")

    assert unentered(made).found[0].facts["why"] == "rank 1, 2 never enters it"


def test_a_second_entry_of_one_rank_is_a_collective_of_its_own() -> None:
    made = frame("COLL a ranks=0,1; COLL a ranks=0,1", "COLL a ranks=0,1")

    assert unentered(made).instances == 2
    assert places(made, unentered(made)) == ["r0.1"]
