"""Certificates by hand: those that show what they state are accepted, all others are not."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from pipeproof import recheck as module
from pipeproof.recheck import Rejected, Replay, Unreadable, recheck
from tests.rechecking.illegal import ILLEGAL
from tests.rechecking.legal import LEGAL
from tests.rechecking.making import (
    CROSSED,
    EXPLICIT,
    PAIR,
    PAIR_RUN,
    Json,
    advance,
    as_run,
    certificate,
    check,
    is_proved,
    proved,
    refuted,
    signed,
    stuck,
    waits_of,
)
from tests.rechecking.refuted import REFUTED, WRONG
from tests.rechecking.tampered import NO_INSTRUCTIONS, TAMPERED

# ---- accepted


def test_a_proof_by_hand_is_accepted() -> None:
    assert check(as_run(PAIR), proved()) == 1


def test_the_line_end_of_the_schedule_is_no_part_of_it() -> None:
    schedule = as_run(PAIR)

    assert recheck(signed(certificate(schedule, proved())), schedule + "\n") == 1


def test_a_deadlock_by_hand_is_accepted() -> None:
    # r0.0 0 1, r0.1 2 3, r1.0 4 5, r1.1 6 7
    assert check(as_run(CROSSED), refuted("PP301", [0, 4], places=[[0, 0], [1, 0]])) == 1


def test_several_statements_are_counted() -> None:
    schedule = as_run(PAIR)

    assert check(schedule, proved(), proved(["PP301"])) == 2


def test_an_early_forward_by_hand_is_accepted() -> None:
    schedule = as_run([PAIR[0], ["1F0", "RECV F0.0 from=0"]])

    assert check(schedule, refuted("PP401", [4], before=11, after=4)) == 1


@pytest.mark.parametrize("name", LEGAL)
def test_what_is_legal_is_accepted(name: str) -> None:
    programs, transport, keys = LEGAL[name]

    assert is_proved(as_run(programs, transport, **keys))


def test_two_copies_are_accepted_and_raise_ids() -> None:
    schedule = as_run(PAIR, steps="any", microbatches=1)

    assert is_proved(schedule, copies=2)
    assert waits_of(schedule, 2).program.sends[1].value == ("F", 0, 1)


def test_a_credit_is_no_edge_where_more_than_one_may_be_missing() -> None:
    # with two credits and tags, the third drains when either of the first two has arrived
    programs = [
        ["SEND a to=1 h=x", "SEND b to=1 h=x", "SEND c to=1 buf=q", "WRITE q d", "WAIT x"],
        ["RECV b from=0", "RECV a from=0", "RECV c from=0"],
    ]
    transport = {"completion": "buffered", "capacity": 2, "match": "tag"}
    waits = waits_of(as_run(programs, transport))
    (a, b, c) = (waits.program.drained(message) for message in range(3))

    assert not waits.comes_before(a + 1, c)
    assert not waits.comes_before(b + 1, c)


def blocked_entry() -> tuple[str, Json]:
    """Make a pair that only a count orders: of one and one, the earlier must have arrived."""
    programs = [
        [
            "SEND a to=1 buf=p h=x",
            "SEND b to=1 h=y",
            "SEND c to=1 h=z",
            "WAIT z",
            "WRITE p d",
            "WAIT x",
        ],
        ["RECV a from=0", "RECV b from=0", "RECV c from=0"],
    ]
    schedule = as_run(programs, {"completion": "buffered", "capacity": 2, "queue": "edge"})
    waits = waits_of(schedule)
    before, after = waits.program.drained(0), 2 * 4
    entry = {
        "before": before,
        "after": after,
        "blocked": advance(waits, {before}, all_enter=False),
    }
    return schedule, proved(["PP502"], run=advance(waits), paths=[entry])


def test_a_run_without_the_one_in_which_the_other_does_not_happen_is_accepted() -> None:
    schedule, statement = blocked_entry()

    assert check(schedule, statement) == 1


@pytest.mark.parametrize("change", ["shorter", "with before", "with after", "both kinds"])
def test_a_blocked_run_that_is_none_is_rejected(change: str) -> None:
    schedule, statement = blocked_entry()
    entry = statement["paths"][0]
    match change:
        case "shorter":
            entry["blocked"] = entry["blocked"][:-1]
        case "with before":
            entry["blocked"] = [*entry["blocked"], entry["before"]]
        case "with after":
            entry["blocked"] = [*entry["blocked"], entry["after"]]
        case _:
            entry["path"] = [entry["before"], entry["after"]]

    with pytest.raises(Rejected, match=r"blocked|can still happen|paths"):
        check(schedule, statement)


# ---- illegal schedules are never proved


@pytest.mark.parametrize("name", ILLEGAL)
def test_what_is_illegal_is_not_accepted_as_proved(name: str) -> None:
    programs, transport, keys, rules = ILLEGAL[name]

    assert not is_proved(as_run(programs, transport, **keys), rules)


def test_a_reduce_orders_the_others_before_its_root() -> None:
    programs = [
        ["SEND a to=1 buf=x", "COLL s ranks=0,1 to=0", "WRITE x b"],
        ["RECV a from=0 h=r", "WAIT r", "COLL s ranks=0,1 to=0"],
    ]

    assert is_proved(as_run(programs, EXPLICIT), ["PP502"])


# ---- refuted


@pytest.mark.parametrize("name", REFUTED)
def test_a_counterexample_is_accepted(name: str) -> None:
    programs, transport, keys, statement = REFUTED[name]
    schedule = as_run(programs, transport, **keys)

    assert check(schedule, statement(schedule)) == 1


@pytest.mark.parametrize("name", REFUTED)
def test_no_proof_of_the_same_rule_is_accepted(name: str) -> None:
    programs, transport, keys, statement = REFUTED[name]
    schedule = as_run(programs, transport, **keys)

    assert not is_proved(schedule, [statement(schedule)["rule"]])


@pytest.mark.parametrize("name", LEGAL)
def test_no_deadlock_is_accepted_of_what_runs_to_its_end(name: str) -> None:
    programs, transport, keys = LEGAL[name]
    schedule = as_run(programs, transport, **keys)

    with pytest.raises(Rejected, match="everything has happened"):
        check(schedule, stuck(schedule, "PP301", [[0, 0]]))


@pytest.mark.parametrize("name", WRONG)
def test_a_counterexample_that_is_none_is_rejected(name: str) -> None:
    programs, transport, statement, why = WRONG[name]
    schedule = as_run(programs, transport)

    with pytest.raises(Rejected, match=why):
        check(schedule, statement(schedule))


# ---- tampering


@pytest.mark.parametrize("name", TAMPERED)
def test_a_proof_that_was_tampered_with_is_rejected(name: str) -> None:
    change, why = TAMPERED[name]

    with pytest.raises(Rejected, match=why):
        check(as_run(PAIR), proved(**change))


@pytest.mark.parametrize("place", range(len(PAIR_RUN)))
def test_no_event_of_a_run_can_be_left_out(place: int) -> None:
    with pytest.raises(Rejected, match="run"):
        check(as_run(PAIR), proved(run=PAIR_RUN[:place] + PAIR_RUN[place + 1 :]))


@pytest.mark.parametrize("key", ["transport", "copies", "verdict", "rules", "run", "paths"])
def test_no_key_of_a_statement_can_be_left_out(key: str) -> None:
    statement = proved()
    del statement[key]

    with pytest.raises(Rejected, match=key):
        check(as_run(PAIR), statement)


def test_a_digest_that_was_not_computed_again_is_rejected() -> None:
    schedule = as_run(PAIR)
    given = json.loads(signed(certificate(schedule, proved())))
    given["statements"][0]["rules"] = ["PP301"]

    with pytest.raises(Rejected, match="digest"):
        recheck(module.canonical(given), schedule)


def test_the_certificate_of_another_schedule_is_rejected() -> None:
    other = as_run([["0F0", "SEND F0.0 to=1"], ["RECV F0.0 from=0", "1F0"]], microbatches=4)

    with pytest.raises(Rejected, match="schedule"):
        recheck(signed(certificate(as_run(PAIR), proved())), other)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"schema": "pipeproof.certificate/2"}, "schema"),
        ({"tool": "hand"}, "tool"),
        ({"tool": {"name": "hand"}}, "version"),
        ({"statements": []}, "none"),
        ({"statements": {}}, "no list"),
        ({"statements": [proved(), proved()]}, "stated twice"),
        ({"statements": ["proved"]}, "no object"),
        ({"note": "trust me"}, "no key"),
    ],
)
def test_a_certificate_of_another_form_is_rejected(change: Json, why: str) -> None:
    schedule = as_run(PAIR)

    with pytest.raises(Rejected, match=why):
        recheck(signed(certificate(schedule, proved()) | change), schedule)


def test_a_rejection_names_its_statement() -> None:
    with pytest.raises(Rejected, match=r"^statement 1: run"):
        check(as_run(PAIR), proved(), proved(["PP301"], run=[]))


@pytest.mark.parametrize(
    "keys",
    [
        {"described": {"faults": {}}},
        {"described": {"storage": {"stash": {"slots": "4", "take": "any"}}}},
        {"described": {"storage": {"registers": ["grad"], "receive": {"slots": "1"}}}},
        {"profile": "another"},
        {"ranks": 3},
        {"pipelines": [[0]]},
        {"more": 1},
    ],
)
def test_a_schedule_with_what_the_checker_does_not_know_is_rejected(keys: Json) -> None:
    assert not is_proved_raw(as_run(PAIR, **keys))


def is_proved_raw(schedule: str) -> bool:
    try:
        return check(schedule, proved(["PP301"])) == 1
    except Rejected:
        return False


@pytest.mark.parametrize("text", NO_INSTRUCTIONS)
def test_an_instruction_that_is_none_is_rejected(text: str) -> None:
    assert not is_proved_raw(as_run([[text, *PAIR[0]], PAIR[1]]))


@pytest.mark.parametrize(
    ("certified", "schedule"),
    [
        ("", None),
        ("[]", None),
        ('{"a": 1, "a": 2}', None),
        ('{"a": 1.5}', None),
        ('{"a": NaN}', None),
        ("[" * 100_000, None),
        (None, "{"),
        (None, '{"b": 1, "a": 2}'),
        (None, as_run(PAIR).replace(",", ", ", 1)),
    ],
)
def test_what_cannot_be_read_is_no_rejection(certified: str | None, schedule: str | None) -> None:
    given = signed(certificate(as_run(PAIR), proved())) if certified is None else certified

    with pytest.raises(Unreadable):
        recheck(given, as_run(PAIR) if schedule is None else schedule)


# ---- the command


def command(tmp_path: Path, certified: str, schedule: str) -> tuple[int, str]:
    (tmp_path / "c.json").write_text(certified, encoding="utf-8")
    (tmp_path / "s.json").write_text(schedule, encoding="utf-8")
    arguments = ["-I", str(module.__file__), str(tmp_path / "c.json"), str(tmp_path / "s.json")]
    run = subprocess.run(  # noqa: S603
        [sys.executable, *arguments], capture_output=True, text=True, check=False
    )
    return run.returncode, run.stdout + run.stderr


def test_the_file_alone_is_a_command(tmp_path: Path) -> None:
    schedule = as_run(PAIR)

    assert command(tmp_path, signed(certificate(schedule, proved())), schedule + "\n") == (
        0,
        "accepted: 1 statement\n",
    )


def test_the_command_says_why_it_rejects(tmp_path: Path) -> None:
    code, said = command(tmp_path, signed(certificate(as_run(PAIR), proved(run=[]))), as_run(PAIR))

    assert code == 1
    assert said.startswith("rejected: statement 0: run: ")


def test_the_command_tells_what_it_cannot_read(tmp_path: Path) -> None:
    assert command(tmp_path, "{", as_run(PAIR))[0] == 2


def test_the_command_wants_two_files(capsys: pytest.CaptureFixture[str]) -> None:
    assert module.main([]) == 2
    said = capsys.readouterr().err
    assert "usage" in said
    assert "pipeproof convert FILE --to as-run -o AS_RUN.json" in said


def test_the_file_imports_the_standard_library_only() -> None:
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    names = {
        name.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [str(node.module)]
        )
    }

    assert names <= set(sys.stdlib_module_names)


def test_a_long_chain_of_waits_needs_no_recursion() -> None:
    count = 3_000
    programs = [
        [f"SEND a{n} to=1 h=x" for n in range(count)],
        [f"RECV a{n} from=0 h=x" for n in range(count)],
    ]
    schedule = as_run(
        [[*programs[0], "AWAIT from=1"], [*programs[1], "AWAIT from=0", "SIGNAL to=0"]]
    )
    waits = waits_of(schedule)
    starts = [event for event in range(4 * (count + 1)) if event < 4 * count + 6]
    replay, run = Replay(waits, all_enter=True), list[int]()
    for event in [*starts, *range(waits.program.program_events, waits.program.events)]:
        if not replay.blocked(event):
            replay.take(event)
            run.append(event)

    with pytest.raises(Rejected, match="circle"):
        check(schedule, refuted("PP301", run, places=[[0, count]]))
