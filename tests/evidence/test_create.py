"""Bundles are made of what was run, are the same wherever they are made, and hold no secret."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from pipeproof.errors import ParseError
from pipeproof.evidence.commands import Ended
from pipeproof.evidence.create import Options, Plan, Scheduled, create
from pipeproof.recheck import recheck
from tests.evidence.conftest import Made
from tests.evidence.made import (
    ENVIRON,
    FILES,
    bundle,
    contents,
    git,
    inside,
    manifest,
    plan,
    repository,
)
from tests.semantics.made import text

TOKEN = "ghp_" + "4f" * 12
SCHEDULES = (Scheduled("legal.yaml", "legal.yaml"),)


def test_it_holds_what_was_checked_byte_for_byte_and_what_was_found(made: Made) -> None:
    predicate = manifest(made.files)["predicate"]
    assert isinstance(predicate, dict)

    assert [made.files[f"inputs/{n:03}.yaml"].decode() for n in range(3)] == [*FILES.values()]
    found = {each["name"]: (each["verdict"], each["statements"]) for each in predicate["schedules"]}
    assert found["legal.yaml"] == ("proved", 2)
    assert found["stuck.yaml"] == ("refuted", 1)
    assert found["twice.yaml"][0] == "refuted"
    certificate, run = made.files["certificates/000.json"], made.files["as-run/000.json"]
    assert recheck(certificate.decode(), run.decode()) == 2
    assert predicate["repository"]["commit"] == made.commit
    assert json.loads(made.files["results/check.json"])["verdict"] == "refuted"


def test_every_command_stands_there_with_its_log_and_its_exit_code(made: Made) -> None:
    predicate = manifest(made.files)["predicate"]
    assert isinstance(predicate, dict)
    commands = predicate["commands"]

    check = ["pipeproof", "check", "--format=json", "--no-config", "--no-cache", "--", *FILES]
    assert (commands[0]["argv"], commands[0]["exit"]) == (check, 1)
    assert commands[-1]["argv"] == ["echo", "said"]
    assert made.files[commands[-1]["stdout"]] == b"said\n"
    purposes = [each["purpose"] for each in commands]
    assert purposes[1:4] == ["resolve", "certify", "recheck"]
    assert purposes[-1] == "asked"
    assert b"certified: proved" in made.files[commands[2]["stderr"]]


def test_boundaries_say_what_was_qualified_and_what_was_not(made: Made) -> None:
    predicate = manifest(made.files)["predicate"]
    assert isinstance(predicate, dict)
    said = predicate["boundaries"]

    assert said["transports"] == ["gloo", "rendezvous"]
    assert said["sizes"]["ranks"] == 2
    assert said["devices"].startswith("CPU: ")
    assert "NCCL" in said["not_validated"]
    assert said["outside"] == ["relaunch", "placement", "replacement", "quarantine"]


def test_the_same_commit_in_another_folder_gives_the_same_bytes(made: Made, tmp_path: Path) -> None:
    root = repository(tmp_path / "another" / "place")

    created = bundle(root, tmp_path / "b", asked=("echo said",))

    assert contents(tmp_path / "b") == made.files
    assert created.id == manifest(made.files)["predicate"]["id"]  # type: ignore[index, call-overload]


def test_another_time_gives_the_same_id_and_another_manifest(made: Made, tmp_path: Path) -> None:
    later = {**ENVIRON, "SOURCE_DATE_EPOCH": "1800000000"}

    created = bundle(made.root, tmp_path / "b", asked=("echo said",), environ=later)

    again = contents(tmp_path / "b")
    assert created.id == manifest(made.files)["predicate"]["id"]  # type: ignore[index, call-overload]
    assert again["manifest.json"] != made.files["manifest.json"]


def test_without_a_fixed_time_durations_are_told(made: Made, tmp_path: Path) -> None:
    environ = {"PATH": ENVIRON["PATH"]}
    bundle(made.root, tmp_path / "b", "legal.yaml", environ=environ)

    predicate = manifest(contents(tmp_path / "b"))["predicate"]
    assert isinstance(predicate, dict)
    assert predicate["times"]["fixed"] is False
    assert [each["milliseconds"] for each in predicate["runs"]] == [7, 7, 7, 7]


def test_a_planted_token_lands_nowhere_in_the_bundle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = repository(tmp_path / TOKEN / "r", {"a.yaml": FILES["legal.yaml"]})
    git(root, "remote", "add", "origin", f"https://me:{TOKEN}@host/{'x'}?token={TOKEN}")
    environ = {**ENVIRON, "DEPLOY_TOKEN": TOKEN, "LANG": TOKEN}
    monkeypatch.setenv("DEPLOY_TOKEN", TOKEN)
    asked = ("env", "pwd", f"echo {TOKEN}", "git remote -v")
    stored = Plan(root, plan(root, "a.yaml").schedules, Options(), asked, f"https://h/{TOKEN}")

    create(stored, str(tmp_path / "b"), environ, inside)

    held = [name for name, data in contents(tmp_path / "b").items() if TOKEN.encode() in data]
    assert held == []
    assert b"[removed]" in contents(tmp_path / "b")["commands/004.out"]


def test_an_input_with_a_secret_is_refused_and_nothing_is_left(tmp_path: Path) -> None:
    spec = FILES["legal.yaml"] + f"# {TOKEN}\n"
    root = repository(tmp_path / "r", {"a.yaml": spec})

    with pytest.raises(ParseError, match="would hold the value of the variable 'DEPLOY_TOKEN'"):
        bundle(root, tmp_path / "b", "a.yaml", environ={**ENVIRON, "DEPLOY_TOKEN": TOKEN})
    assert [each.name for each in tmp_path.iterdir()] == ["r"]


def test_a_file_that_changes_while_it_is_checked_is_refused(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", {"legal.yaml": FILES["legal.yaml"]})

    with pytest.raises(ParseError, match="changed while it was checked"):
        bundle(root, tmp_path / "b", "legal.yaml", asked=("cp /dev/null legal.yaml",))
    assert not (tmp_path / "b").exists()


def test_a_rejected_certificate_is_told_and_kept(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", {"legal.yaml": FILES["legal.yaml"]})

    def spoiled(argv: Sequence[str], folder: Path, logs: Path) -> Ended:
        ended = inside(argv, folder, logs)
        if "certify" in argv:
            certificate = json.loads(ended.stdout)
            certificate["statements"][0]["run"].reverse()
            return ended._replace(stdout=json.dumps(certificate).encode())
        return ended

    found = create(plan(root, "legal.yaml"), str(tmp_path / "b"), ENVIRON, spoiled)

    assert found.rejected == ("certificates/000.json",)


def test_a_check_that_gives_no_result_is_told_with_what_it_said(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", {"legal.yaml": FILES["legal.yaml"]})

    def broken(argv: Sequence[str], folder: Path, logs: Path) -> Ended:
        return Ended(101, b"", b"internal error: it broke\n", 1)

    with pytest.raises(ParseError, match="internal error: it broke"):
        create(Plan(root, SCHEDULES), str(tmp_path / "b"), ENVIRON, broken)
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize("command", ["", "  ", "echo 'x"])
def test_what_is_no_command_is_refused_before_anything_runs(made: Made, command: str) -> None:
    with pytest.raises(ParseError, match="is no command"):
        create(Plan(made.root, SCHEDULES, asked=(command,)), "/nowhere/b", ENVIRON, inside)


@pytest.mark.parametrize("epoch", ["", "now", "-1", "9" * 30, "\u0661"])
def test_a_time_that_is_none_is_refused(made: Made, tmp_path: Path, epoch: str) -> None:
    with pytest.raises(ParseError, match="write seconds since 1970"):
        bundle(made.root, tmp_path / "b", "legal.yaml", environ={"SOURCE_DATE_EPOCH": epoch})
    assert not (tmp_path / "b").exists()


def test_an_imported_file_is_an_input_too(tmp_path: Path) -> None:
    spec = "pipeproof: 1\nmicrobatches: 1\nimport: {format: torch-csv, path: run.csv}\n"
    root = repository(tmp_path / "r", {"a.yaml": spec, "run.csv": "0F0,0B0\n"})

    bundle(root, tmp_path / "b", "a.yaml")

    predicate = manifest(contents(tmp_path / "b"))["predicate"]
    assert isinstance(predicate, dict)
    assert [each["path"] for each in predicate["inputs"]] == ["a.yaml", "run.csv"]
    assert predicate["schedules"][0]["imports"] == "run.csv"


def test_hostile_names_stand_in_the_manifest_and_name_no_file(tmp_path: Path) -> None:
    names = ["-x.yaml", "a b'\"<|>\u202e.yaml", "::error::\n.yaml"]
    root = repository(tmp_path / "r", dict.fromkeys(names, text("0F0", fragment=True)))

    bundle(root, tmp_path / "b", *names)

    files = contents(tmp_path / "b")
    predicate = manifest(files)["predicate"]
    assert isinstance(predicate, dict)
    assert [each["path"] for each in predicate["inputs"]] == names
    assert all(name.isascii() and name.replace("/", "a").isprintable() for name in files)
