"""What is told of a target is data."""

from pipeproof.campaign.targets.target import Case, Table, Told, many


def test_cases_are_in_order_of_their_names() -> None:
    cases = [Case("b", "what", "text", "1"), Case("a", "what", "text", "2")]

    assert [each.name for each in sorted(cases)] == ["a", "b"]


def test_a_target_is_not_distrusted_unless_it_says_so() -> None:
    assert not Told(("covered",), 1, (Table("t", ("t",), ()),), ()).distrust


def test_one_is_told_as_one() -> None:
    assert [many(number, "rank") for number in (0, 1, 2)] == ["0 ranks", "1 rank", "2 ranks"]
