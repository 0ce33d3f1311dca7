"""`pipeproof hunt`: campaigns, gone on with, in shards and merged."""

import json
from pathlib import Path

import pytest

from pipeproof.campaign._inline import Inline
from pipeproof.cli import hunt, run

SELF = ("--self", "--torch", "0", "--cases", "5", "--seed", "9")


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def _inline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hunt, "executor", lambda _: Inline())


def hunted(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = run(["hunt", *argv])
    out, err = capsys.readouterr()
    return code, out, err


def test_workers_find_what_one_process_finds(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, err = hunted(capsys, *SELF, "--workers", "1")
    monkeypatch.setattr(hunt, "executor", lambda _: Inline())

    assert (code, err) == (0, "")
    assert "5 agree everywhere, 0 do not" in out
    assert hunted(capsys, *SELF) == (0, out, "")


@pytest.mark.usefixtures("_inline")
def test_shards_merged_are_the_whole_campaign(capsys: pytest.CaptureFixture[str]) -> None:
    _, whole, _ = hunted(capsys, *SELF, "--format", "json")
    for shard in ("1/2", "2/2"):
        code, out, _ = hunted(capsys, *SELF, "--shard", shard, "--store", f"{shard[0]}.db")
        assert (code, "0 not run" in out) == (0, False)
    code, merged, _ = hunted(capsys, "merge", "1.db", "2.db", "-o", "both.db", "--format", "json")

    assert (code, merged) == (0, whole)
    assert json.loads(merged)["tasks"]["done"] == 5


@pytest.mark.usefixtures("_inline")
def test_a_store_is_gone_on_with_only_when_asked(capsys: pytest.CaptureFixture[str]) -> None:
    first = hunted(capsys, *SELF, "--store", "a.db")
    refused = hunted(capsys, *SELF, "--store", "a.db")
    again = hunted(capsys, *SELF, "--store", "a.db", "--resume")
    other = hunted(capsys, "--self", "--torch", "0", "--cases", "9", "--store", "a.db", "--resume")

    assert refused[0] == 2
    assert "--resume" in refused[2]
    assert again == first
    assert (other[0], other[1]) == (2, "")
    assert "cases" in other[2]


@pytest.mark.usefixtures("_inline")
def test_a_store_of_another_version_is_not_gone_on_with(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    hunted(capsys, *SELF, "--store", "a.db")
    monkeypatch.setattr(hunt, "__version__", "0.0.1")
    code, out, err = hunted(capsys, *SELF, "--store", "a.db", "--resume")

    assert (code, out) == (2, "")
    assert "version" in err


@pytest.mark.usefixtures("_inline")
def test_an_interrupted_campaign_keeps_what_it_has(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, whole, _ = hunted(capsys, *SELF)

    class Stopped(Inline):
        def run(self, tasks, limits):  # type: ignore[no-untyped-def]
            for number, ended in enumerate(super().run(tasks, limits)):
                if number == 2:
                    raise KeyboardInterrupt
                yield ended

    with monkeypatch.context() as patch:
        patch.setattr(hunt, "executor", lambda _: Stopped())
        code, out, err = hunted(capsys, *SELF, "--store", "a.db")
    assert (code, out) == (130, "")
    assert "a.db, and --resume goes on with it" in err
    assert hunted(capsys, *SELF, "--store", "a.db", "--resume")[1] == whole


@pytest.mark.usefixtures("_inline")
def test_a_generator_over_a_grid_leaves_cases_that_judge_as_they_say(
    capsys: pytest.CaptureFixture[str],
) -> None:
    size = ("--ranks", "1-2", "--microbatches", "3", "--transport", "gloo")
    code, out, err = hunted(capsys, "--generator", "zbv", *size)

    assert code == 1
    assert "zbv torch-deferred       1        1" in out
    assert "minimised to 2 ranks, 2 microbatches, 4 instructions" in out
    assert err == "a found case is written to found\n"
    assert run(["test", "found"]) == 0
    assert len(list(Path("found").glob("test_pp202_*.py"))) == 1


OWN = """
def made(stages, microbatches):
    if microbatches > 2:
        raise ValueError("no more than two")
    return {0: ["0B0", "0F0"] if microbatches == 2 else ["0F0", "0B0"]}
"""


@pytest.mark.usefixtures("_inline")
def test_a_function_of_the_caller_is_hunted_in_where_it_makes_something(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("own.py").write_text(OWN, encoding="utf-8")
    asked = ("--generator", "own:made", "--ranks", "1", "--lowering", "torch", "--microbatches")
    code, out, _ = hunted(capsys, *asked, "1-3")
    refused = hunted(capsys, *asked, "3")

    assert code == 1
    assert "own:made none        0        0        0            1" in out
    assert "own:made torch       1        1        0            0" in out
    assert (refused[0], "no more than two" in refused[2]) == (2, True)


BY_COST = """
def made(stages, microbatches, costs):
    dear = costs["B"] > 2
    return {0: ["0B0", "0F0"] if dear else ["0F0", "0B0"]}
"""


@pytest.mark.usefixtures("_inline")
def test_a_function_is_asked_for_each_of_the_costs(capsys: pytest.CaptureFixture[str]) -> None:
    Path("dear.py").write_text(BY_COST, encoding="utf-8")
    size = ("--ranks", "1", "--lowering", "torch", "--microbatches", "1")
    asked = ("--generator", "dear:made", *size, "--costs", "F=1 B=2")
    cheap, dear = hunted(capsys, *asked), hunted(capsys, *asked, "--costs", "F=1 B=2.5")

    assert cheap[0] == 0
    assert dear[0] == 1
    assert "dear:made torch       1        1        0            0" in dear[1]
    (found,) = (each.read_text() for each in Path("found").glob("*.yaml"))
    assert "--costs 'F=1 B=2.5' --lowering torch" in found


@pytest.mark.parametrize(
    ("name", "costs", "said"),
    [
        ("zbv", "F=1", "a known schedule is the same for all costs"),
        ("dear:made", "B=x", "write each of F"),
        ("dear:made", "B=0", "every B takes some time"),
        ("dear:made", "B=1,2,3", "write one for each of"),
    ],
)
def test_costs_that_are_none_are_told(
    capsys: pytest.CaptureFixture[str], name: str, costs: str, said: str
) -> None:
    Path("dear.py").write_text(BY_COST.replace("costs[", "dict(B=1)["), encoding="utf-8")
    size = ("--ranks", "1", "--microbatches", "1")
    code, _, told = hunted(capsys, "--generator", name, *size, "--costs", costs)

    assert (code, said in told) == (2, True)


@pytest.mark.usefixtures("_inline")
def test_a_schedule_is_hunted_around(capsys: pytest.CaptureFixture[str]) -> None:
    size = ("--ranks", "1", "--microbatches", "2", "--mutants", "2", "--torch", "0")
    only = ("--mutation", "drop", "--mutation", "swap", "--transport", "gloo")
    code, out, _ = hunted(capsys, "--schedule", "gpipe", *size, *only)

    assert code == 0
    assert "4 mutants, " in out
    assert "configurations beside them" in out


@pytest.mark.usefixtures("_inline")
def test_files_are_hunted_around(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.yaml").write_text(
        "pipeproof: 1\nmicrobatches: 1\nranks:\n  - 0F0; 0B0\n", encoding="utf-8"
    )
    only = ("--mutation", "drop", "--mutation", "swap")
    code, out, _ = hunted(capsys, "a.yaml", "--mutants", "1", "--torch", "0", *only)

    assert code == 0
    assert "1 schedule, 1 of them proved" in out


@pytest.mark.usefixtures("_inline")
def test_a_schedule_that_is_illegal_itself_is_no_success(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("a.yaml").write_text(
        "pipeproof: 1\nmicrobatches: 1\nranks:\n  - 0B0; 0F0\n", encoding="utf-8"
    )
    asked = ("a.yaml", "--mutants", "1", "--torch", "0", "--mutation", "relabel")
    code, out, _ = hunted(capsys, *asked)

    assert code == 1
    assert "1 of them refuted before anything is changed" in out
    assert "found: nothing" in out


@pytest.mark.usefixtures("_inline")
def test_names_of_files_are_told_without_what_a_terminal_or_a_runner_acts_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    name = "::error::x\x1b[31m\u202e<b>.yaml"
    Path(name).write_text("pipeproof: 1\nmicrobatches: 1\nranks:\n  - 0F0; 0B0\n")
    asked = (f"./{name}", "--mutants", "1", "--mutation", "drop", "--torch", "0")
    code, out, _ = hunted(capsys, *asked)
    _, said, _ = hunted(capsys, *asked, "--format", "json")

    assert code == 0
    assert not {"\x1b", "\u202e"} & {*out}
    assert not any(line.lstrip().startswith("::") for line in out.splitlines())
    assert said.isascii()


@pytest.mark.usefixtures("_inline")
def test_cases_that_cannot_be_written_are_no_crash(capsys: pytest.CaptureFixture[str]) -> None:
    Path("found").write_text("in the way", encoding="utf-8")
    text = "def made(stages, microbatches):\n    return {0: ['0B0', '0F0']}\n"
    Path("backwards.py").write_text(text, encoding="utf-8")
    size = ("--ranks", "1", "--microbatches", "1", "--transport", "gloo")
    code, out, err = hunted(capsys, "--generator", "backwards:made", *size)

    assert code == 2
    assert "PP402" in out
    assert "found" in err
    assert "Traceback" not in err


@pytest.mark.usefixtures("_inline")
def test_no_case_is_nothing_to_check(capsys: pytest.CaptureFixture[str]) -> None:
    assert hunted(capsys, "--self", "--cases", "0")[0] == 5


@pytest.mark.usefixtures("_inline")
@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ((), "Write one of FILE..., --schedule, --generator, --self"),
        (("--self", "--schedule", "gpipe"), "Write one of"),
        (("--self", "--resume"), "--resume goes with --store FILE"),
        (("--self", "--shard", "3/2"), "K from 1 to N"),
        (("--self", "--shard", "0/2"), "K from 1 to N"),
        (("--self", "--shard", "::error::"), "K from 1 to N"),
        (("--self", "--workers", "0"), "--workers"),
        (("--self", "--budget", "time=3"), "known: states"),
        (("--self", "--store", "no/such/folder/a.db"), "a.db"),
        (("--generator", "zvb", "--ranks", "2", "--microbatches", "2"), "did you mean"),
        (("--generator", "zbv", "--ranks", "2-1", "--microbatches", "2"), "--ranks"),
        (("--generator", "zbv", "--ranks", "a", "--microbatches", "2"), "as 2 or 2-4,8"),
        (("--generator", "zbv"), "--ranks and --microbatches"),
        (("--generator", "zbv", "--ranks", "1-99999", "--microbatches", "1-9"), "more than"),
        (("--schedule", "zbv", "--ranks", "1-2", "--microbatches", "2"), "write one size"),
        (("--schedule", "zbv", "--ranks", "2", "--microbatches", "2", "--mutation", "x"), "known"),
        (("--schedule", "zvb", "--ranks", "2", "--microbatches", "2"), "zvb"),
        (("a.yaml", "--ranks", "2"), "not with a FILE"),
        (("a.yaml",), "does not exist"),
        (("--self", "--transport", "tcp"), "known"),
        (("merge",), "hunt merge STORE... -o STORE"),
        (("merge", "a.db"), "hunt merge STORE... -o STORE"),
        (("merge", "a.db", "-o", "b.db"), "a.db"),
    ],
)
def test_what_is_asked_wrongly_is_told(
    capsys: pytest.CaptureFixture[str], argv: tuple[str, ...], said: str
) -> None:
    code, out, err = hunted(capsys, *argv)

    assert (code, out) == (2, "")
    assert said in err
    assert "Traceback" not in err
