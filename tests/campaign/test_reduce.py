"""Each way of making a schedule smaller leaves a schedule, with names that close ranks."""

import pytest

from pipeproof.campaign._draft import Draft, Spot, draft_of
from pipeproof.campaign._reduce import remove
from pipeproof.campaign._reduce_ids import fewer_microbatches, fewer_steps
from pipeproof.campaign._reduce_keys import fewer_attributes, fewer_keys
from pipeproof.campaign._reduce_ranks import fewer_ranks, fewer_stages
from pipeproof.campaign._reduce_units import units
from pipeproof.campaign.judged import read

CHAIN = """\
pipeproof: 1
stages: 3
placement: [0, 1, 2]
microbatches: 1
fragment: true
ranks:
  - 0F0 out=a; SEND F0.0 to=1 buf=a h=x; WAIT x; FREE a; COLL k ranks=0,1,2
  - RECV F0.0 from=0 buf=a h=x; WAIT x; 1F0 in=a out=b; SEND F1.0 to=2 buf=b; COLL k ranks=0,1,2
  - RECV F1.0 from=1; 2F0; COLL k ranks=0,1,2
"""
TWO = """\
pipeproof: 1
stages: 1
microbatches: 2
steps: 2
gradients: {coefficients: ["1/4", "3/4"]}
sizes: {F: [1MiB], keep: 2MiB}
ranks:
  - 0F0; 0B0 c=1/4; 0F1; 0B1 c=3/4; 0STEP; 0F2 w=1; 0B2 c=1/4; 0F3 w=1; 0B3 c=3/4; 0STEP
"""


def draft(text: str) -> Draft:
    return draft_of(read(text).schedule)


def programs(of: Draft) -> list[list[str]]:
    return [[line.text for line in program] for program in of.programs]


def test_without_a_middle_rank_its_neighbours_send_to_each_other() -> None:
    without = [each for each in fewer_ranks(draft(CHAIN)) if len(each.programs) == 2]

    assert [
        ["0F0 out=a", "SEND F0.0 to=1 h=x buf=a", "WAIT x", "FREE a", "COLL k ranks=0,1"],
        ["RECV F0.0 from=0", "1F0", "COLL k ranks=0,1"],
    ] in [programs(each) for each in without]
    assert all(each.stages == len(each.placement) for each in without)


def test_two_ranks_as_one_have_no_message_between_them_and_no_name_for_two_things() -> None:
    joined = [programs(each) for each in fewer_ranks(draft(CHAIN))]

    assert [
        ["0F0 out=a", "FREE a", "COLL k ranks=0,1", "1F0 in=a_2 out=b", "SEND F1.0 to=1 buf=b"],
        ["RECV F1.0 from=0", "2F0", "COLL k ranks=0,1"],
    ] in joined


@pytest.mark.parametrize("text", [CHAIN, TWO])
def test_whatever_is_smaller_is_a_schedule_or_none(text: str) -> None:
    of = draft(text)
    before = of.words()
    ways = (
        fewer_ranks,
        fewer_stages,
        fewer_microbatches,
        fewer_steps,
        fewer_attributes,
        fewer_keys,
    )
    every = [each.text() for way in ways for each in way(of)]

    assert [read(each) for each in every if each is not None]
    assert of.words() == before
    assert of.text() not in every


def test_without_a_microbatch_the_others_close_up_in_every_step() -> None:
    last, first = fewer_microbatches(draft(TWO))

    assert programs(last) == [
        ["0F0", "0B0 c=1/4", "0STEP", "0F1 w=1", "0B1 c=1/4", "0STEP"],
    ]
    assert (last.microbatches, last.gradients) == (1, {"coefficients": ["1/4"]})
    assert programs(first)[0][1] == "0B0 c=3/4"
    assert first.gradients == {"coefficients": ["3/4"]}


def test_without_a_step_ids_and_versions_count_from_there() -> None:
    found = [programs(each)[0] for each in fewer_steps(draft(TWO))]

    assert ["0F0 w=0", "0B0 c=1/4", "0F1 w=0", "0B1 c=3/4", "0STEP"] in found
    assert ["0F0", "0B0 c=1/4", "0F1", "0B1 c=3/4", "0STEP"] in found


def test_faults_follow_what_they_name() -> None:
    text = CHAIN.replace(
        "ranks:\n",
        "faults: {among: [{rank: 2, fault: missing}, {message: F1.0, fault: dropped}]}\nranks:\n",
    )
    without = next(each for each in fewer_stages(draft(text)) if each.placement == [0, 1])
    of_rank = next(iter(fewer_ranks(draft(text))))

    assert without.described["faults"] == {
        "among": [{"rank": "2", "fault": "missing"}, {"message": "F1.0", "fault": "dropped"}]
    }
    assert of_rank.described["faults"] == {"among": [{"message": "F1.0", "fault": "dropped"}]}


def test_a_wait_goes_with_the_last_of_what_it_waits_for() -> None:
    of = draft(CHAIN)
    remove(of, [Spot(0, 1, 0)])

    assert programs(of)[0] == ["0F0 out=a", "FREE a", "COLL k ranks=0,1,2"]


def test_both_ends_of_a_message_and_all_of_a_collective_are_one_unit() -> None:
    found = [{spot.rank for spot in unit} for unit in units(draft(CHAIN))]

    assert found == [{0}, {0, 1}, {0}, {0, 1, 2}, {1}, {1, 2}, {2}]


def test_a_key_is_left_out_whole_and_in_parts() -> None:
    found = [each.described.get("sizes") for each in fewer_keys(draft(TWO))]

    assert [each for each in found if each != {"F": ["1MiB"], "keep": "2MiB"}] == [
        None,
        {"keep": "2MiB"},
        {"F": ["1MiB"]},
    ]


def test_an_attribute_that_is_demanded_stays() -> None:
    for each in fewer_attributes(draft(CHAIN)):
        text = each.text()
        assert text is not None
        assert text.count("to=") == 2
