"""What is live on a rank: from which event, until which, and how many bytes."""

import pytest

from pipeproof.engines.graph import most_live
from pipeproof.ir.sizes import UNIT
from pipeproof.semantics.relations.holds import KINDS, memory
from tests.semantics.judged import broken
from tests.semantics.made import event, frame, model

STASH = {"policy": "stash", "updates": "microbatch"}
FRAGMENT: dict[str, object] = {"fragment": True, "stages": 3, "microbatches": 4}


def holds(kind: str, *programs: str, **keys: object) -> list[str]:
    """The holds of one kind as `start r0.0 until done r0.1, drained F0.0`."""
    made = frame(*programs, **{**FRAGMENT, **keys})
    found = memory(made)
    listed = []
    for k in range(len(found.rows)):
        if KINDS[int(found.kind[k])] == kind and found.rows[k] >= 0:
            ends = sorted(event(made, int(end)) for end in found.ends[found.of == k])
            listed.append(
                f"{event(made, int(found.start[k]))} until {', '.join(ends) or 'the end'}"
            )
    return listed


@pytest.mark.parametrize(
    ("kind", "programs", "found"),
    [
        ("activations", ("0F0",), ["start r0.0 until done r0.0"]),
        (
            "activations",
            ("0F0; USE a F0.0; 1F0",),
            [
                "start r0.0 until done r0.0, done r0.1, done r0.2",
                "start r0.2 until done r0.2",
            ],
        ),
        (
            "activations",
            ("0F0; SEND F0.0 to=1", "RECV F0.0 from=0; 1F0"),
            [
                "start r0.0 until done r0.0, done r0.1, drained F0.0",
                "start r1.0 until arrived F0.0, done r1.0, done r1.1",
                "start r1.1 until done r1.1",
            ],
        ),
        (
            "gradients",
            ("2B0; 1B0",),
            ["start r0.0 until done r0.0, done r0.1", "start r0.1 until done r0.1"],
        ),
        ("gradients", ("1I0; 1W0",), ["start r0.0 until done r0.0"]),
        (
            "gradients",
            ("2I0; 1I0; 1W0 gin=g",),
            [
                "start r0.0 until done r0.0, done r0.1, done r0.2",
                "start r0.1 until done r0.1",
            ],
        ),
        ("kept", ("0F0; 0B0",), ["start r0.0 until done r0.1"]),
        ("kept", ("0F0; 0I0; 0W0",), ["start r0.0 until done r0.2"]),
        ("kept", ("0F0; 1B0",), ["start r0.0 until the end"]),
        ("kept", ("0F0; 1F0",), []),
        ("versions", ("0F0; 0B0; 0STEP",), []),
        ("versions", ("0F0; 0STEP; 0B0 w=stash",), ["start r0.1 until done r0.2"]),
        ("versions", ("0F0; 0STEP; 0B0",), []),
        (
            "versions",
            ("0F0; 0STEP; 0STEP; 0B0 w=0; 0F1 w=1",),
            ["start r0.1 until done r0.3", "start r0.2 until done r0.4"],
        ),
        ("versions", ("0F0; 0STEP; 0F1; 0ROLLBACK; 0F1",), ["start r0.1 until done r0.3"]),
        ("versions", ("0F0; 0STEP; 0COMMIT; 0F1",), []),
        (
            "versions",
            ("0STEP; 0ROLLBACK; 0STEP; 0F0 w=0",),
            ["start r0.0 until done r0.1", "start r0.2 until done r0.3"],
        ),
        (
            "versions",
            ("0F0; 0STEP param=p; 0STEP param=q; 0B0 w=stash",),
            ["start r0.1 until done r0.3"],
        ),
        ("versions", ("0F0; 0STEP; 0R0 w=stash",), ["start r0.1 until done r0.2"]),
        ("versions", ("0GATHER; 0STEP; 0F0; 0GATHER; 0F1",), ["start r0.1 until done r0.2"]),
    ],
)
def test_each_is_live_from_its_start_to_its_last_reader(
    kind: str, programs: tuple[str, ...], found: list[str]
) -> None:
    assert holds(kind, *programs) == found


def test_every_stage_holds_a_version_its_gradient_and_its_state_all_the_time() -> None:
    made = frame("0F0", "1F0; 2F0", **{**FRAGMENT, "placement": [0, 1, 1]})
    found = memory(made)

    always = [k for k in range(len(found.rows)) if found.rows[k] < 0]
    assert [int(found.rank[k]) for k in always] == 3 * [0, 1, 1]
    assert not set(always) & set(found.of.tolist())


def pipedream(stage: int, stages: int, microbatches: int) -> str:
    """1F1B with an update after every backward."""
    before, after = stage > 0, stage < stages - 1

    def forward(m: int) -> list[str]:
        receive, send = [f"{stage}RECV_F{m}"] * before, [f"{stage}SEND_F{m} h=s"] * after
        return [*receive, f"{stage}F{m}", *send]

    def backward(m: int) -> list[str]:
        receive, send = [f"{stage}RECV_B{m}"] * after, [f"{stage}SEND_B{m} h=s"] * before
        return [*receive, f"{stage}B{m} w=stash", *send, f"{stage}STEP"]

    lead = min(stages - 1 - stage, microbatches)
    listed = [each for m in range(lead) for each in forward(m)]
    for m in range(microbatches):
        listed += forward(m + lead) if m + lead < microbatches else []
        listed += backward(m)
    return "; ".join(listed)


@pytest.mark.parametrize(("stages", "microbatches"), [(1, 3), (2, 6), (4, 10), (8, 20)])
def test_a_stash_of_pipedream_holds_as_many_versions_as_stages_are_left(
    stages: int, microbatches: int
) -> None:
    programs = [pipedream(stage, stages, microbatches) for stage in range(stages)]
    made = model(*programs, microbatches=microbatches, weights=STASH, sizes={"weights": "3B"})
    peaks, exact = most_live(made)

    versions = [(each.number, each.weight) for each in peaks if each.kind == "versions"]
    assert exact
    assert versions == [(stages - s, 3 * (stages - s) * UNIT) for s in range(stages)]


RECEIVED = ("RECV F0.0 from=1 h=h; RECV F0.1 from=1 h=g; WAIT h; 1F0; WAIT g; 1F1",)
SENT = ("SEND F0.0 to=0; SEND F0.1 to=0",)


@pytest.mark.parametrize(
    ("programs", "sizes", "bound", "found"),
    [
        (("0F0; 1F0; 0F1; 1F1",), {"F": "1B"}, "2B", ""),
        (("0F0; 1F0; 0F1; 1F1",), {"F": "1B"}, "1B", "PP506 r0.1, PP506 r0.3"),
        (("0F0; 1F0",), {"F": ["1B", "2B", "4B"]}, "3B", ""),
        (("0F0; 1F0",), {"F": ["1B", "2B", "4B"]}, "2B", "PP506 r0.1"),
        ((*RECEIVED, *SENT), {"F": "1B"}, "3B", ""),
        ((*RECEIVED, *SENT), {"F": "1B"}, "2B", "PP506 r0.3"),
        ((*RECEIVED, *SENT), {"B": "1B"}, "0B", ""),
        (("0F0; SEND F0.0 to=1 h=h; 0F1", "RECV F0.0 from=0"), {"F": "1B"}, "1B", "PP506 r0.2"),
        (("0F0; SEND F0.0 to=1 h=h; WAIT h; 0F1", "RECV F0.0 from=0"), {"F": "1B"}, "1B", ""),
        (
            ("0F0; SEND F0.0 to=1 h=h; RECV v from=1; 0F1", "RECV F0.0 from=0; SEND v to=0"),
            {"F": "1B"},
            "1B",
            "",
        ),
        (
            ("0F0; SEND F0.0 to=1 h=h; RECV v from=1; 0F1", "SEND v to=0; RECV F0.0 from=0"),
            {"F": "1B"},
            "1B",
            "PP506 r0.3",
        ),
        (("0F0; 0F1; 0B0; 0B1",), {"keep": "1B"}, "1B", "PP506 r0.1, PP506 r0.2"),
        (("0F0; 0B0; 0F1; 0B1",), {"keep": "1B"}, "1B", ""),
        (("0F0; 0F1",), {"keep": "1B"}, "0B", ""),
        (
            ("0F0; 0STEP; 0B0 w=stash",),
            {"weights": ["1B", "0B", "0B"]},
            "1B",
            "PP506 r0.1, PP506 r0.2",
        ),
        (("0F0; 0B0; 0STEP",), {"weights": ["1B", "0B", "0B"]}, "1B", ""),
        (("0F0; 0F1",), {"grads": "1B", "state": "1KiB"}, "3KiB", "PP506 r0.0, PP506 r0.1"),
        (("0F0; 0F1",), {"grads": "1B", "state": "1KiB"}, "4KiB", ""),
        (("0F0; 0B0",), {"weights": "1B", "F": "1B", "keep": "1B", "B": "1B"}, "5B", ""),
        (("0F0; 0B0",), {"weights": "1B", "F": "1B", "keep": "1B"}, "4B", "PP506 r0.0"),
        (("0F0; 0F1",), None, "0B", "PP506 ?"),
    ],
)
def test_bytes_live_on_a_rank_stay_below_the_bound(
    programs: tuple[str, ...], sizes: dict[str, object] | None, bound: str, found: str
) -> None:
    keys: dict[str, object] = {"bounds": {"memory": bound}, "weights": STASH}
    keys |= {} if sizes is None else {"sizes": sizes}
    if len(programs) > 1:
        keys["placement"] = [1, 0, 0] if "RECV F" in programs[0] else [0, 1, 1]

    assert broken(*programs, **keys) == [each for each in found.split(", ") if each]


def test_a_rank_without_instructions_exceeds_its_bound_at_its_end() -> None:
    keys = {"sizes": {"weights": "1B"}, "bounds": {"memory": "0B"}, "placement": [0, 1, 1]}

    assert broken("0F0", "", **keys) == ["PP506 r0.0", "PP506 r1.0"]


def test_what_is_live_where_sends_wait_for_credits_is_decided_by_a_look_at_executions() -> None:
    under = {
        "completion": "buffered",
        "capacity": 2,
        "queue": "none",
        "groups": "independent",
        "wait": "blocking",
    }
    programs = (
        "0F0; SEND F0.0 to=1 h=h; SEND v to=1; SEND w to=1; 0F1",
        "[RECV F0.0 from=0 | RECV v from=0]; RECV w from=0",
    )
    keys = {"sizes": {"F": "1B"}, "placement": [0, 1, 1], "under": under}

    assert broken(*programs, bounds={"memory": "1B"}, **keys) == ["PP506 r0.4"]
    assert broken(*programs, bounds={"memory": "2B"}, **keys) == []
