"""What `explain` says of a rule."""

import json

import pytest

from tests.cli.made import Command


@pytest.mark.parametrize("word", ["PP301", "pp301", "deadlock"])
def test_a_rule_is_explained_by_code_or_name(command: Command, word: str) -> None:
    assert command("explain", word) == 0
    assert command.out.startswith("PP301 deadlock\n\nRanks wait.\n\nMore.\n\n")


def test_what_to_change_stands_behind_it(command: Command) -> None:
    assert command("explain", "PP301") == 0
    assert (
        "\n\nWhat to change: Break the circle: on one of the ranks, move what the other "
        in command.out
    )
    assert all(len(line) <= 96 for line in command.out.splitlines())


def test_where_nothing_is_known_to_change_nothing_is_said(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeproof.reports._advice._ADVICE", {})
    assert command("explain", "PP101") == 0
    assert command.out == "PP101 missing-operation\n\nIt is missing.\n\nWhy: x.\n"


def test_all_rules_are_listed_in_order_of_codes(command: Command) -> None:
    assert command("explain") == 0
    assert command.out == (
        "PP101  missing-operation: It is missing.\nPP301  deadlock: Ranks wait.\n"
    )


@pytest.mark.parametrize(("word", "meant"), [("PP310", "PP301"), ("dedlock", "deadlock")])
def test_an_unknown_rule_exits_2_with_what_is_meant(
    command: Command, word: str, meant: str
) -> None:
    assert command("explain", word) == 2
    assert f"did you mean '{meant}'?" in command.err


def test_a_program_reads_json(command: Command) -> None:
    assert command("explain", "PP301", "--format", "json") == 0
    assert json.loads(command.out) == [
        {"code": "PP301", "name": "deadlock", "doc": "Ranks wait.\n\nMore.", "message": "{why}"}
    ]
    assert command("explain", "--format", "json") == 0
    assert len(json.loads(command.out)) == 2
