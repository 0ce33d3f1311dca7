"""What GitHub shows beside lines."""

from dataclasses import replace

from pipeproof.errors import Problem
from pipeproof.reports import github as report
from pipeproof.verdict.result import FileReport, Result
from pipeproof.verdict.verdict import Outcome, Warned
from tests.reports.made import DEADLOCK, proved, refuted, transport, unreadable, verdict, whole


def test_each_violation_stands_at_its_first_place_once_for_all_transports() -> None:
    lines = report.render(Result("0", (refuted(),))).splitlines()

    assert lines[0] == (
        "::error file=crossed.yaml,line=6,col=25,title=PP301 deadlock::rank 0 waits at 0SEND_F1 "
        "for rank 1, which waits at 1SEND_B0 for rank 0 (under rendezvous, rendezvous-edge, "
        "rendezvous-rank)"
    )
    assert lines[1].startswith("::error file=crossed.yaml,line=6,col=25,title=PP303 stranded")
    assert lines[-1] == "::notice title=pipeproof::0 proved, 1 refuted, 0 unknown"


def test_a_warning_that_differs_only_by_its_transport_is_told_once() -> None:
    names = ("rendezvous", "rendezvous-edge", "gloo")
    alike = tuple(
        replace(
            transport(name, Outcome.PROVED),
            warnings=(Warned("PP302", f"it is stuck under {name}"),),
        )
        for name in names
    )
    other = replace(
        transport("buffered", Outcome.PROVED), warnings=(Warned("PP303", "it is left over"),)
    )
    found = verdict(*alike, other, outcome=Outcome.PROVED, path="a.yaml")
    lines = report.render(Result("0", (FileReport("a.yaml", found),))).splitlines()

    assert lines[:-1] == [
        "::warning file=a.yaml,title=PP302::it is stuck under rendezvous "
        "(under rendezvous, rendezvous-edge, gloo)",
        "::warning file=a.yaml,title=PP303::it is left over (under buffered)",
    ]


def test_errors_come_first_and_what_is_unknown_is_a_warning() -> None:
    lines = report.render(whole()).splitlines()
    levels = [line.split()[0] for line in lines]

    assert levels == sorted(levels, key=["::error", "::warning", "::notice"].index)
    assert "::error file=bad.yaml,line=3,col=7,title=pipeproof::'2X0' is no operation; " in (
        "\n".join(lines)
    )
    assert (
        "::warning file=open.yaml,title=PP501 unknown::storage is not judged by this version "
        "(under buffered)" in lines
    )
    assert "::error file=odd.yaml,title=pipeproof::do not trust this run: no replay" in lines


def test_no_more_are_written_than_github_shows() -> None:
    many = tuple(replace(unreadable(), problems=(_problem(n),)) for n in range(25))
    lines = report.render(Result("0", many)).splitlines()

    assert len(lines) == 11
    assert lines[9] == ("::error title=pipeproof::16 more; `pipeproof check` tells them all")


def _problem(n: int) -> Problem:
    return Problem("bad.yaml", n + 1, 1, "nothing", "write something")


def test_ten_are_all_written() -> None:
    many = tuple(replace(unreadable(), problems=(_problem(n),)) for n in range(10))
    lines = report.render(Result("0", many)).splitlines()

    assert len(lines) == 11
    assert "more" not in lines[9]


def test_nothing_in_a_file_or_its_name_is_a_command() -> None:
    message = "a\n::error::injected\r::set-output name=x::y\x1b[31m 100%"
    broken = replace(DEADLOCK, message=message)
    found = verdict(
        transport("rendezvous", Outcome.REFUTED, broken),
        outcome=Outcome.REFUTED,
        path="a,line=1::\n::error::b.yaml",
    )
    lines = report.render(Result("0", (FileReport(found.path, found),))).splitlines()

    assert [line.split()[0] for line in lines] == ["::error", "::warning", "::notice"]
    assert lines[0].startswith("::error file=a%2Cline=1%3A%3A%0A%3A%3Aerror%3A%3Ab.yaml,title=")
    assert "a%0A::error::injected%0D::set-output name=x::y\ufffd[31m 100%25" in lines[0]


def test_a_success_is_one_notice() -> None:
    told = report.render(Result("0", (proved(),)))

    assert told == "::notice title=pipeproof::1 proved, 0 refuted, 0 unknown\n"


def test_a_case_of_a_file_stands_in_that_file() -> None:
    problem = Problem("many.yaml#7", 2, 1, "this", "that")
    found = verdict(
        transport("rendezvous", Outcome.REFUTED, DEADLOCK),
        outcome=Outcome.REFUTED,
        path="many.yaml#3",
    )
    files = (
        FileReport("many.yaml#3", found, quotes=refuted().quotes),
        FileReport("many.yaml#7", problems=(problem,)),
    )
    lines = report.render(Result("0", files)).splitlines()

    assert [line.split(",")[0] for line in lines[:3]] == [
        "::error file=many.yaml",
        "::error file=many.yaml",
        "::warning file=many.yaml",
    ]
