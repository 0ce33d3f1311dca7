"""The closed forms of PipeDream, vertical sync and 2BW hold, and one version off does not."""

import pytest

from pipeproof.api import judge_text
from tests.semantics.made import text
from tests.semantics.policies import STASH, VERTICAL, verdict, weights


def pipedream(stage: int, stages: int, total: int) -> list[str]:
    """The 1F1B order without a flush: an update after every backward, with a stash."""
    warm = min(stages - 1 - stage, total)
    program = [f"{stage}F{m}" for m in range(warm)]
    for m in range(total):
        if m + warm < total:
            program.append(f"{stage}F{m + warm}")
        program += [f"{stage}B{m} w=stash wv={max(0, m - warm)}", f"{stage}STEP"]
    return program


def off_by_one(programs: list[list[str]], stage: int, op: str, version: int) -> list[list[str]]:
    changed = [list(program) for program in programs]
    at = next(n for n, each in enumerate(changed[stage]) if each.split()[0] == op)
    changed[stage][at] = f"{op} w={version}"
    return changed


@pytest.mark.parametrize("stages", [2, 3, 4])
def test_the_closed_form_of_pipedream_holds_and_one_off_does_not(stages: int) -> None:
    total = 2 * stages
    programs = [pipedream(stage, stages, total) for stage in range(stages)]
    keys = {**STASH, "microbatches": total}

    assert verdict(*map("; ".join, programs), **keys) == []
    for stage in range(stages):
        last = total - 1
        version = max(0, last - (stages - 1 - stage)) - 1
        wrong = off_by_one(programs, stage, f"{stage}B{last}", version)
        at = next(n for n, each in enumerate(wrong[stage]) if each.endswith(f"w={version}"))
        assert verdict(*map("; ".join, wrong), **keys) == [f"PP601 r{stage}.{at}"]


@pytest.mark.parametrize("stages", [2, 3, 4])
def test_pipedream_keeps_as_many_versions_as_microbatches_are_in_flight(stages: int) -> None:
    programs = ["; ".join(pipedream(stage, stages, 2 * stages)) for stage in range(stages)]
    keys = {**STASH, "microbatches": 2 * stages}
    enough, few = ({"storage": {"weights": {"slots": n}}} for n in (stages, stages - 1))

    assert verdict(*programs, **keys, **enough) == []
    assert {each.split()[0] for each in verdict(*programs, **keys, **few)} == {"PP604"}
    assert all(each.split()[1].startswith("r0.") for each in verdict(*programs, **keys, **few))


def vertical(stage: int, stages: int, total: int) -> list[str]:
    """PipeDream with vertical sync: every stage reads what the first read, m - (P - 1)."""
    program = []
    for each in pipedream(stage, stages, total):
        op = each.split()[0]
        if op[1] in "FB":
            version = max(0, int(op[2:]) - (stages - 1))
            program.append(f"{op} w={version}")
        else:
            program.append(op)
    return program


@pytest.mark.parametrize("stages", [2, 3, 4])
def test_the_closed_form_of_vertical_sync_holds_and_one_off_does_not(stages: int) -> None:
    total = 2 * stages
    programs = [vertical(stage, stages, total) for stage in range(stages)]
    keys = {**VERTICAL, "microbatches": total}

    assert verdict(*map("; ".join, programs), **keys) == []
    for stage in range(1, stages):
        wrong = programs
        for kind in "FB":
            wrong = off_by_one(wrong, stage, f"{stage}{kind}{total - 1}", stages - 1)
        found = verdict(*map("; ".join, wrong), **keys)
        assert [each.split()[0] for each in found] == ["PP602", "PP602"]
        assert all(each.split()[1].startswith(f"r{stage}.") for each in found)


def double_buffered(stage: int, stages: int, batch: int, steps: int) -> list[str]:
    """2BW over 1F1B without a flush: batch t reads max(0, t - 1), the update after its last."""
    program = []
    for each in pipedream(stage, stages, batch * steps):
        op = each.split()[0]
        if op[1] in "FB":
            version = max(0, int(op[2:]) // batch - 1)
            program.append(f"{op} w={version}")
            if op[1] == "B" and (int(op[2:]) + 1) % batch == 0:
                program.append(f"{stage}STEP")
    return program


@pytest.mark.parametrize("stages", [2, 3, 4])
def test_the_closed_form_of_2bw_holds_and_one_off_does_not(stages: int) -> None:
    batch, steps = stages, 4
    programs = [double_buffered(stage, stages, batch, steps) for stage in range(stages)]
    keys = {**weights("2bw"), "microbatches": batch, "steps": steps}

    assert verdict(*map("; ".join, programs), **keys) == []
    for version in (1, 3):
        wrong = programs
        for kind in "FB":
            wrong = off_by_one(wrong, 0, f"0{kind}{batch * steps - 1}", version)
        rules = {each.split()[0] for each in verdict(*map("; ".join, wrong), **keys)}
        assert rules & {"PP601", "PP602"}


@pytest.mark.parametrize("stages", [4, 8])
def test_2bw_with_too_few_microbatches_reads_what_there_is_not_yet(stages: int) -> None:
    enough, few = stages - 1, stages - 2
    keys = weights("2bw")
    for batch, reads in ((enough, 0), (few, 6 if stages == 4 else None)):
        programs = [double_buffered(stage, stages, batch, 4) for stage in range(stages)]
        found = verdict(*map("; ".join, programs), **keys, microbatches=batch, steps=4)
        assert (len(found) == 0) == (reads == 0)


def with_messages(program: list[str], stages: int) -> str:
    """A program with the messages that its operations need."""
    whole: list[str] = []
    for each in program:
        stage, kind, number = int(each[0]), each[1], each.split()[0][2:]
        before, after = (
            (stage > 0, stage < stages - 1) if kind == "F" else (stage < stages - 1, stage > 0)
        )
        computes = kind in "FB"
        whole += [f"{stage}RECV_{kind}{number}"] * (computes and before)
        whole.append(each)
        whole += [f"{stage}SEND_{kind}{number}"] * (computes and after)
    return "; ".join(whole)


def judged(programs: list[list[str]], **keys: object) -> tuple[str, set[str]]:
    """The verdict of the whole command, and the rules that are broken."""
    lines = (with_messages(program, len(programs)) for program in programs)
    found = judge_text(text(*lines, transport="buffered", **keys), "form")
    broken = {violation.rule for each in found.transports for violation in each.violations}
    return found.verdict, broken


@pytest.mark.parametrize("stages", [2, 3, 4])
def test_whole_schedules_of_the_three_forms_are_proved_and_one_off_refuted(stages: int) -> None:
    total, last = 2 * stages, 2 * stages - 1
    every: dict[str, object] = {"microbatches": total}
    stashed = [pipedream(stage, stages, total) for stage in range(stages)]
    synced = [vertical(stage, stages, total) for stage in range(stages)]
    doubled = [double_buffered(stage, stages, stages, 2) for stage in range(stages)]
    twice = {**weights("2bw"), "microbatches": stages, "steps": 2}

    assert judged(stashed, **STASH, **every) == ("proved", set())
    assert judged(synced, **VERTICAL, **every) == ("proved", set())
    assert judged(doubled, **twice) == ("proved", set())
    wrong = off_by_one(stashed, 0, f"0B{last}", last - stages)
    assert judged(wrong, **STASH, **every) == ("refuted", {"PP601"})
    wrong = off_by_one(synced, stages - 1, f"{stages - 1}F{last}", stages - 1)
    wrong = off_by_one(wrong, stages - 1, f"{stages - 1}B{last}", stages - 1)
    assert judged(wrong, **VERTICAL, **every) == ("refuted", {"PP602"})
    wrong = off_by_one(off_by_one(doubled, 0, f"0F{last}", 1), 0, f"0B{last}", 1)
    assert judged(wrong, **twice)[0] == "refuted"
