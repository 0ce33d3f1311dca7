"""What a person reads."""

import re
from dataclasses import replace
from types import MappingProxyType

import pytest

from pipeproof.reports import text
from pipeproof.verdict.result import FileReport, Quote, Result
from pipeproof.verdict.verdict import (
    Explained,
    Hop,
    Outcome,
    Place,
    TraceStep,
    Violation,
    Warned,
)
from tests.reports.made import (
    DEADLOCK,
    proved,
    refuted,
    transport,
    unknown,
    unreadable,
    verdict,
    whole,
)


def told(*reports: FileReport) -> str:
    return text.render(Result("0.1.0", reports))


def refuted_by(*violations: Violation) -> FileReport:
    found = verdict(
        transport("buffered", Outcome.REFUTED, *violations), outcome=Outcome.REFUTED, path="a.yaml"
    )
    return FileReport("a.yaml", found)


def test_the_header_names_the_file_the_rule_and_the_transport() -> None:
    assert told(refuted()).startswith(
        "crossed.yaml: refuted (PP301 deadlock) under rendezvous\n"
        "  rank 0 waits at 0SEND_F1 for rank 1, which waits at 1SEND_B0 for rank 0\n"
    )


def test_a_place_is_quoted_with_a_caret_below_the_operation() -> None:
    lines = told(refuted()).splitlines()
    at = lines.index("  crossed.yaml:6:25  rank 0, position 3: 0SEND_F1")
    quoted, caret = lines[at + 1], lines[at + 2]

    assert quoted[caret.index("^") : caret.rindex("^") + 1] == "0SEND_F1"


def test_a_deadlock_shows_where_each_rank_stands() -> None:
    said = told(refuted())

    assert "rank 0: past 0F0, 0SEND_F0, 0F1; stands at 0SEND_F1 (position 3)\n" in said
    assert "rank 1: past 1RECV_F0, 1F0, 1B0; stands at 1SEND_B0 (position 3)\n" in said


def test_a_deadlock_shows_what_a_rank_is_past_and_waits_all_the_same() -> None:
    posted = replace(DEADLOCK, trace=(*DEADLOCK.trace, TraceStep("0SEND_F1", "done", 0, 3)))
    stuck = transport("nccl-lazy", Outcome.REFUTED, posted)
    found = verdict(stuck, outcome=Outcome.REFUTED, path="crossed.yaml")
    said = told(FileReport("crossed.yaml", found))

    assert (
        "rank 0: past 0F0, 0SEND_F0, 0F1, 0SEND_F1; not complete: 0SEND_F1 (position 3)\n" in said
    )
    assert "rank 1: past 1RECV_F0, 1F0, 1B0; stands at 1SEND_B0 (position 3)\n" in said


def test_transports_that_agree_share_a_line() -> None:
    said = told(refuted())

    assert "  the same under rendezvous-edge\n" in said
    assert "  under rendezvous-rank: refuted (PP301 deadlock) at r0.3, r1.3\n" in said
    assert "  under buffered: proved by graph, no certificate\n" in said


def test_a_proof_says_that_it_has_no_certificate_and_what_it_covers() -> None:
    assert told(proved()) == (
        "fine.yaml: proved by graph, no certificate\n"
        "  under rendezvous, buffered\n"
        "  covered: 2 transports, any number of steps, 2 stages, 2 ranks, 2 microbatches, "
        "16 operations,\n"
        "    lowering as-written, profile none\n"
        "  assumes A2, A4, A10; 4 rules, 0 instances of PP205, PP501\n"
        "  not described, so not judged: storage, weights\n"
        "\n"
        "1 proved, 0 refuted, 0 unknown\n"
    )


def test_what_is_unknown_says_why() -> None:
    said = told(unknown())

    assert said.startswith("open.yaml: unknown\n")
    assert "not decided under buffered: PP501: storage is not judged by this version\n" in said


def test_a_warning_that_differs_by_its_transport_is_one_line() -> None:
    found = verdict(
        *(
            replace(
                transport(name, Outcome.PROVED),
                warnings=(Warned("PP302", f"it is stuck under {name}"),),
            )
            for name in ("rendezvous", "rendezvous-edge", "rendezvous-rank")
        ),
        outcome=Outcome.PROVED,
        path="a.yaml",
    )
    said = told(FileReport("a.yaml", found))

    assert (
        "  warning PP302: it is stuck under rendezvous "
        "(so under rendezvous-edge, rendezvous-rank)\n" in said
    )
    assert said.count("PP302") == 1


def test_the_last_line_counts() -> None:
    last = text.render(whole()).splitlines()[-1]

    assert last == "1 proved, 1 refuted, 2 unknown, 2 unreadable"


def test_the_last_line_names_unreadable_files_only_where_there_are_some() -> None:
    assert told(unreadable()).endswith("0 proved, 0 refuted, 0 unknown, 1 unreadable\n")
    assert told().endswith("0 proved, 0 refuted, 0 unknown\n")


def test_control_characters_of_a_file_never_reach_the_terminal() -> None:
    message = replace(DEADLOCK, message="a\x1b]0;title\x07b\nc\u202ed")
    said = told(refuted(), refuted_by(message), FileReport("x\x1b[2J.yaml", unsupported="\x00"))

    assert all(line.isprintable() for line in said.split("\n"))


def test_ten_other_violations_are_listed_and_the_rest_counted() -> None:
    others = [
        Violation("PP101", "missing-operation", f"0F{i} stands nowhere", (), 9) for i in range(14)
    ]
    said = told(refuted_by(DEADLOCK, *others))

    assert said.count("also PP101") == 10
    assert "  … and 4 more; --format json lists all\n" in said


def test_a_cycle_of_many_ranks_shows_six_places() -> None:
    at = tuple(Place(rank, 0, f"SEND F0.0 to={rank + 1}", rank) for rank in range(64))
    said = told(refuted_by(replace(DEADLOCK, at=at, trace=())))

    assert said.count(", position 0: SEND") == 6
    assert "  … and 58 more places\n" in said


@pytest.mark.parametrize("rule", ["PP301", "PP403"])
@pytest.mark.parametrize("ranks", [2, 64])
def test_an_execution_takes_at_most_twelve_lines(rule: str, ranks: int) -> None:
    trace = tuple(
        TraceStep(f"{rank}F{position}", phase, rank, position)
        for position in range(100)
        for rank in range(ranks)
        for phase in ("start", "done")
    )
    said = told(refuted_by(replace(DEADLOCK, rule=rule, trace=trace))).splitlines()
    start = said.index("  how it comes to it:") + 1

    assert 1 < said.index("", start) - start <= 12


def test_an_execution_of_a_hazard_keeps_its_order() -> None:
    trace = (
        TraceStep("RECV F0.0 from=0", "start", 1, 0),
        TraceStep("0F0", "start", 0, 0),
        TraceStep("0F0", "done", 0, 0),
        TraceStep("1F0", "start", 1, 1),
    )
    said = told(refuted_by(replace(DEADLOCK, rule="PP501", trace=trace))).splitlines()
    start = said.index("  how it comes to it:") + 1

    assert [line.split() for line in said[start : start + 4]] == [
        ["rank", "0", "rank", "1"],
        ["RECV", "F0.0", "from=0", "starts"],
        ["0F0"],
        ["1F0", "starts"],
    ]


def test_what_lowering_wrote_in_and_a_second_step_are_said() -> None:
    at = (Place(0, 2, "SEND F0.0 to=1", 1, step=1, lowered=True),)
    said = told(refuted_by(replace(DEADLOCK, at=at)))

    assert "SEND F0.0 to=1, in the second step (stands in no file: lowering wrote it in" in said


def test_the_end_of_a_program_has_no_quote() -> None:
    said = told(refuted_by(replace(DEADLOCK, at=(Place(0, 8, "", -1),))))

    assert "  rank 0, position 8: end of program\n" in said


def test_a_place_in_a_case_of_a_file_names_the_file() -> None:
    report = replace(
        refuted(), path="many.json#3", quotes=MappingProxyType({3: Quote(1, 1, "0SEND_F1")})
    )

    assert "  many.json:1:1  rank 0, position 3: 0SEND_F1\n" in told(report)


def test_a_long_line_is_cut_around_the_operation() -> None:
    line = ",".join(f"0F{i}" for i in range(5000))
    column = line.index("0F2500") + 1
    at = (Place(0, 2500, "0F2500", 0),)
    quotes = MappingProxyType({0: Quote(1, column, line)})
    said = told(replace(refuted_by(replace(DEADLOCK, at=at)), quotes=quotes)).splitlines()
    quoted = next(line for line in said if line.startswith("    …"))
    caret = said[said.index(quoted) + 1]

    assert len(quoted) < 110
    assert quoted[caret.index("^") : caret.rindex("^") + 1] == "0F2500"


def test_colour_changes_no_word() -> None:
    plain = text.render(whole())
    coloured = text.render_in_colour(whole())

    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain


def test_what_makes_it_safe_is_told_without_what_a_program_orders_by_itself() -> None:
    def step(event: str, phase: str, rank: int, position: int) -> TraceStep:
        return TraceStep(event, phase, rank, position)

    path = (
        step("F0.0", "drained", 0, 1),
        step("SEND F0.0 to=1", "done", 0, 1),
        step("0F1", "start", 0, 2),
        step("0F1", "done", 0, 2),
        step("0F2", "start", 0, 3),
    )
    crosses = (True, False, False, False)
    hops = tuple(
        Hop(a, b, each, True if each else None)
        for a, b, each in zip(path, path[1:], crosses, strict=False)
    )
    at = Place(0, 3, "0F2", 3, 0, 2)
    explanations = (
        Explained(("PP502", "PP503"), at, "", hops),
        Explained(("PP501",), at, "F0.0", (hops[0]._replace(needed=False),), (path[0],)),
        Explained(("PP501",), at, "F0.0", known=False),
        Explained((), at),
    )
    made = replace(transport("gloo", Outcome.PROVED), explanations=explanations)
    found = verdict(made, outcome=Outcome.PROVED, path="a")
    page = text.render(Result("0", (FileReport("a", found),))).splitlines()

    start = page.index("  what makes it safe under gloo:")
    assert page[start + 1 : start + 11] == [
        "    r0.3 0F2 needs what comes before it (PP502, PP503):",
        "      r0.1 SEND F0.0 drained -> r0.1 SEND F0.0 to=1 ends -> r0.3 0F2 starts",
        "      without the wait at r0.1 it would not be",
        "    r0.3 0F2 needs F0.0 (PP501):",
        "      r0.1 SEND F0.0 drained -> r0.1 SEND F0.0 to=1 ends",
        "      and for want of room until enough messages have arrived: r0.1 SEND F0.0 drained",
        "      without the wait at r0.1 others would order it",
        "    r0.3 0F2 needs F0.0 (PP501):",
        "      ordered, but no small set of waits is known that does it",
        "    r0.3 0F2: nothing that is proved has to come first",
    ]


@pytest.mark.parametrize("coloured", [False, True])
def test_no_line_is_a_command_of_a_runner(coloured: bool) -> None:  # noqa: FBT001
    quotes = MappingProxyType(
        {3: Quote(6, 3, "::error::0SEND_F1"), 11: Quote(7, 3, "  ##[add-mask]1SEND_B0")}
    )
    first = replace(refuted(), path="::stop-commands::x", quotes=quotes)
    render = text.render_in_colour if coloured else text.render
    lines = render(Result("0", (first,))).splitlines()

    assert any(": :stop-commands::x: refuted" in line for line in lines)
    assert any(": :error::0SEND_F1" in line for line in lines)
    assert any("# #[add-mask]1SEND_B0" in line for line in lines)
