"""A task is known by what it is to do, and by nothing else."""

import pytest

from pipeproof.campaign import task as tasks
from pipeproof.campaign.task import Json, Task, canonical


def test_the_order_in_which_a_body_is_written_is_no_part_of_its_key() -> None:
    one = Task("judge", {"a": 1, "b": ["x", {"c": 2, "d": 3}]})
    other = Task("judge", {"b": ["x", {"d": 3, "c": 2}], "a": 1})

    assert one.key == other.key


@pytest.mark.parametrize(
    ("kind", "body"),
    [("mutant", {"a": 1}), ("judge", {"a": 2}), ("judge", {"a": "1"}), ("judge", {"b": 1})],
)
def test_another_task_has_another_key(kind: str, body: dict[str, Json]) -> None:
    assert Task(kind, body).key != Task("judge", {"a": 1}).key


def test_another_version_of_the_tool_makes_another_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = Task("judge", {"a": 1}).key
    monkeypatch.setattr(tasks, "__version__", "99.0.0")

    assert Task("judge", {"a": 1}).key != before


def test_a_tuple_and_a_list_are_one_content() -> None:
    assert canonical({"a": (1, "x")}) == canonical({"a": [1, "x"]}) == '{"a":[1,"x"]}'


@pytest.mark.parametrize("wrong", [1.5, None, {1: "x"}, {"a": {2.5}}])
def test_what_machines_write_differently_is_refused(wrong: object) -> None:
    with pytest.raises(TypeError):
        canonical([wrong])  # type: ignore[list-item]


def test_text_of_any_kind_is_written_in_ascii() -> None:
    assert canonical("\u202e\ud800\x00") == '"\\u202e\\ud800\\u0000"'
