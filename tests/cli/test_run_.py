import json
import subprocess
import sys
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from pipeproof import api
from pipeproof.cli import run, run_
from pipeproof.cli._processes import OnRanks
from pipeproof.ir.source import Document
from pipeproof.semantics.model import Model
from pipeproof.verdict.decision import Decision
from pipeproof.verdict.verdict import FileVerdict, Outcome, TransportVerdict
from tests.cli.made import PATH, ROOT
from tests.semantics import made

pytest.importorskip("torch", reason="torch is not installed")

from pipeproof.execution.confirm import Ran

PASSED = (
    "0F0; SEND F0.0 to=1; RECV B1.0 from=1; 0B0",
    "RECV F0.0 from=0; 1F0; 1B0; SEND B1.0 to=0",
)
EARLY = (PASSED[0], "1F0; RECV F0.0 from=0; 1B0; SEND B1.0 to=0")


def written(folder: Path, *programs: str, **keys: object) -> str:
    path = folder / "spec.yaml"
    path.write_text(made.text(*programs, **{"transport": "buffered", **keys}))
    return str(path)


def test_a_legal_schedule_is_seen_to_be_the_unsplit_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, *PASSED)

    assert run(["run", path, "--orders", "2"]) == 0
    assert capsys.readouterr().out == (
        f"{path}: buffered: proved, seen: 2 orders, 28 numbers, "
        "bitwise those of the unsplit model\n"
    )


def test_rounding_is_told_in_parts_of_what_it_may_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, "0F0; 0F1; 0F2; 0B2; 0B0; 0B1", microbatches=3)

    assert run(["run", path, "--witness", "transformer", "--orders", "6"]) == 0
    assert "of what rounding allows" in capsys.readouterr().out


def test_an_illegal_schedule_has_its_counterexample_replayed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, *EARLY)

    assert run(["run", path]) == 1
    out = capsys.readouterr().out
    assert out.startswith(f"{path}: buffered: refuted, confirmed: PP401 1F0")
    assert out.endswith("1F0: nothing stands there: nothing instead of F0.0, seen in the numbers\n")


def test_what_the_witness_cannot_show_is_unknown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mixed = "0F0; 0F1; 0B0; 0STEP; 0B1; 0STEP"
    path = written(tmp_path, mixed, steps=2, weights={"policy": "latest"})

    assert run(["run", path]) == 3
    assert "not run: a gradient mixes versions" in capsys.readouterr().out


def test_a_proof_that_a_run_denies_is_not_to_be_trusted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, *EARLY)
    judge, said = api.judge, TransportVerdict("buffered", Outcome.PROVED, "graph", 1, 1, ())

    def wrong(
        document: Document,
        question: api.Asked | None = None,
        kept: list[tuple[Model, Decision]] | None = None,
    ) -> FileVerdict:
        return replace(judge(document, question, kept), transports=(said,))

    monkeypatch.setattr(api, "judge", wrong)

    assert run(["run", path]) == 4
    out = capsys.readouterr().out
    assert "proved, and not seen: do not trust this: 1F0: nothing stands there" in out


def test_what_the_runtime_chooses_is_run_in_each_outcome(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = "CHOOSE x one|other; 0F0 if=x:one; 0F1{}; 0B0; 0B1"
    path = written(tmp_path, program.format("; 0F0 if=x:other"), microbatches=2)

    assert run(["run", path, "--orders", "2"]) == 0
    assert ": proved, seen: 2 orders, " in capsys.readouterr().out
    assert run(["run", path, "--orders", "1"]) == 0
    assert "1 orders, each in another of 2 outcomes, " in capsys.readouterr().out

    path = written(tmp_path, program.format(""), microbatches=2)
    assert run(["run", path]) == 1
    assert "(where x is other); 0B0: no forward has kept anything" in capsys.readouterr().out


@pytest.mark.parametrize(
    "argv", [("run", "a.yaml"), ("replay", "a.json"), ("check", "--confirm", "a.yaml")]
)
def test_without_torch_the_extra_is_named(argv: tuple[str, ...], tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules['torch'] = None; from pipeproof.cli import run; "
        f"sys.exit(run({list(argv)}))"
    )

    done = subprocess.run(  # noqa: S603  our own command
        [sys.executable, "-c", script],
        capture_output=True,
        cwd=tmp_path,
        env={"PYTHONPATH": PATH},
        check=False,
        timeout=60,
    )

    assert done.returncode == 2
    assert done.stdout == b""
    assert b"pip install 'pipeproof[torch]'" in done.stderr


def test_checking_imports_no_torch() -> None:
    spec = ROOT / "specs" / "illegal" / "swapped-receive.yaml"
    script = (
        f"import sys; from pipeproof.cli import run; run(['check', {str(spec)!r}]); "
        "sys.exit('torch' in sys.modules)"
    )

    done = subprocess.run(  # noqa: S603  our own command
        [sys.executable, "-c", script],
        capture_output=True,
        env={"PYTHONPATH": PATH},
        check=False,
        timeout=60,
    )

    assert done.returncode == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--policy", "abort"), "'--policy' means nothing here: it says what becomes of"),
        (("--runtime", "torch", "--seed", "0"), "'--seed' means nothing here: torch's runtime"),
        (("--runtime", "torch", "--orders", "3"), "'--orders' means nothing here: torch's"),
        (("--inject", "missing@r0", "--orders", "3"), "'--orders' means nothing here: each"),
    ],
)
def test_an_option_that_would_be_passed_over_is_refused(
    words: tuple[str, ...], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["run", written(tmp_path, *PASSED), *words]) == 2
    assert said in " ".join(capsys.readouterr().err.split())


def test_what_a_name_brings_in_stays_in_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Path(written(tmp_path, *PASSED)).rename(tmp_path / "a\x1b[31m\nb.yaml")

    assert run(["run", str(path), "--orders", "1"]) == 0
    (told,) = capsys.readouterr().out.splitlines()
    assert told.startswith(f"{tmp_path}/a\ufffd[31m b.yaml: buffered: proved, seen")


@pytest.mark.parametrize("words", [(), ("--device", "cpu-streams")])
def test_where_nothing_is_compared_nothing_is_seen(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, "", stages=1, fragment=True)

    assert run(["run", path, *words]) == 3
    assert ": proved, not seen: nothing is computed" in capsys.readouterr().out


def test_real_ranks_have_the_data_of_one_seed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Ranks(OnRanks):
        def __init__(self) -> None:
            self.seeds: list[int] = []

        def unfair(self, models: Iterable[Model]) -> str | None:
            return None

        def runs(self, models: Iterable[Model], orders: int, seed: int) -> list[Ran]:
            self.seeds.append(seed)
            return [Ran(1, 0.0)] * orders

    ranks = Ranks()
    monkeypatch.setattr(run_, "ranks_of", lambda *_: nullcontext(ranks))
    path = written(tmp_path, *PASSED)

    assert run(["run", path, "--processes", "gloo", "--seed", "5", "--format", "json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["runs"]
    assert told["provenance"]["seeds"] == ranks.seeds == [5]


def test_a_transport_that_is_passed_over_stays_refuted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Ranks(OnRanks):
        def __init__(self) -> None:
            pass

        def unfair(self, models: Iterable[Model]) -> str | None:
            named = {each.frame.transport.name for each in models}
            return None if named == {"rendezvous"} else "it has no queues"

        def runs(self, models: Iterable[Model], orders: int, seed: int) -> list[Ran]:
            return [Ran(1, 0.0)]

    monkeypatch.setattr(run_, "ranks_of", lambda *_: nullcontext(Ranks()))
    spec = str(ROOT / "specs" / "illegal" / "exchange-meets-lone-receive.yaml")

    assert run(["run", spec, "--processes", "gloo"]) == run(["check", spec]) == 1
    out = capsys.readouterr().out
    assert "rendezvous: proved, seen" in out
    assert "rendezvous-atomic: not run on real ranks: it has no queues" in out
    assert run(["run", spec, "--processes", "gloo", "--transport", "rendezvous"]) == 0
