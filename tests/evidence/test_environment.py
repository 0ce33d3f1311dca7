"""What commands run in is told from a list, and nothing else of it."""

from pathlib import Path

import pytest

import pipeproof
from pipeproof.evidence import environment as module
from pipeproof.evidence.environment import VARIABLES, environment, source, tool


def test_only_variables_on_the_list_are_told() -> None:
    told = environment({"CI": "true", "MY_TOKEN": "secret", "HOME": "/home/me"})

    assert told["variables"] == {"CI": "true"}
    assert not any("TOKEN" in name or "HOME" in name for name in VARIABLES)


def test_packages_that_judge_are_told_with_what_they_consist_of() -> None:
    packages = environment({})["packages"]
    assert isinstance(packages, list)
    found = {each["name"]: each["version"] for each in packages}

    assert {"numpy", "z3-solver"} <= found.keys()
    assert all(found.values())


def test_the_source_has_one_digest_whatever_folder_it_stands_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for name in ("one", "two"):
        (tmp_path / name / "sub" / "__pycache__").mkdir(parents=True)
        (tmp_path / name / "__init__.py").write_text("x = 1\n")
        (tmp_path / name / "sub" / "a.py").write_text("y = 1\n")
        (tmp_path / name / "sub" / "__pycache__" / "a.pyc").write_text(name)
        monkeypatch.setattr(pipeproof, "__file__", str(tmp_path / name / "__init__.py"))
        found.append(source.__wrapped__())
    (tmp_path / "two" / "sub" / "a.py").write_text("y = 2\n")

    assert found[0] == found[1] != source.__wrapped__()
    assert tool()["source"] == source()


def test_torch_is_asked_only_where_there_is_a_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_DRIVERS", ())

    assert environment({})["devices"] == []


def test_what_torch_says_is_told_and_its_failure_is_no_device(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_DRIVERS", ("/",))
    monkeypatch.setattr(module, "find_spec", lambda _: object())
    for script, told in (("print('a card')", ["a card"]), ("raise SystemExit(1)", [])):
        monkeypatch.setattr(module, "_ASK", script)

        assert environment({})["devices"] == told
