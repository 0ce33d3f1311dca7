"""A schedule in another form is the same schedule."""

import json
from pathlib import Path

import pytest

from pipeproof.frontends import spec, torch_csv
from pipeproof.ir.reading import ReadOptions
from pipeproof.ir.source import Document
from pipeproof.ir.spec_text import write_spec
from pipeproof.schedules import generate
from tests.cli.made import ROOT, Command, Process

SPECS = sorted((ROOT / "specs").rglob("*.yaml"))
CSVS = sorted((ROOT / "tests" / "data" / "torch").glob("*__compute_comms.csv"))[::8]
PROGRAMS = "pipeproof: 1\nmicrobatches: 2\nranks:\n  - 0F0; 0SEND_F0\n  - 1RECV_F0; 1F0\n"
FULL = """\
pipeproof: 1
title: "a: b, 'c' \\"d\\" #e"
source: "arXiv:1811.06965, \u00a7 2"
stages: 2
microbatches: 2
steps: any
placement: [0, 1]
fragment: true
transport: {completion: buffered, capacity: 2, queue: edge, weak: default}
gradients: {reduce: once, coefficients: ["1/4", "3/4"]}
weights: {policy: stash}
bounds: {live: 4, memory: 70GiB}
sizes: {keep: [1GiB, 2GiB]}
rules: {select: [PP3, PP101], ignore: [PP302]}
ranks:
  - - 0F0; SEND F0.0 to=1 h=a; WAIT a
    - "[SEND F0.1 to=1 | RECV B1.0 from=1] h=b"
    - (0F1;0B0)OVERLAP_F_B
  - ""
expect:
  - {verdict: refuted, rule: PP301, or: [PP201], at: [r0.1], at_any: [r0.2], exact: true}
  - {transport: custom, verdict: unknown}
"""


def reread(document: Document, base: Path | None = None) -> Document:
    imported = document.origin.get("path")
    path = Path(imported).name if isinstance(imported, str) else None
    options = ReadOptions(base=base, generate=generate)
    return spec.read(write_spec(document, path), document.name, options)[0]


def same(a: Document, b: Document) -> None:
    for rank in range(a.schedule.ranks):
        assert list(a.schedule.operations.program(rank)) == list(
            b.schedule.operations.program(rank)
        )
    for name in (
        *("ranks", "stages", "microbatches", "placement", "steps", "fragment", "segments"),
        *("pipelines", "transports", "profile", "lowering", "gradients", "described"),
    ):
        assert getattr(a.schedule, name) == getattr(b.schedule, name), name
    assert (a.select, a.ignore, a.title) == (b.select, b.ignore, b.title)
    assert a.origin.get("source") == b.origin.get("source")
    for one, other in zip(a.expect, b.expect, strict=True):
        assert {**_said(one)} == {**_said(other)}


def _said(expected: object) -> dict[str, object]:
    names = ("transport", "verdict", "rule", "alternatives", "at", "at_any", "exact")
    return {name: getattr(expected, name) for name in names}


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_a_spec_written_as_a_spec_is_the_same(path: Path) -> None:
    options = ReadOptions(base=path.parent, generate=generate)
    (document,) = spec.read(path.read_text(), path.name, options)

    same(document, reread(document, path.parent))


def test_every_key_survives() -> None:
    (document,) = spec.read(FULL, "full.yaml", ReadOptions())

    same(document, reread(document))


@pytest.mark.parametrize("path", CSVS, ids=lambda path: path.stem)
def test_a_torch_csv_written_as_a_spec_is_the_same(path: Path) -> None:
    (document,) = torch_csv.read(path.read_text(), path.name, ReadOptions())

    same(document, reread(document))


@pytest.mark.parametrize("path", CSVS, ids=lambda path: path.stem)
def test_a_torch_csv_written_as_a_torch_csv_is_the_same(command: Command, path: Path) -> None:
    assert command("convert", path, "--to", "csv") == 0
    rows = [",".join(cell.strip() for cell in row.split(",")) for row in path.read_text().split()]
    assert command.out.split() == rows


def test_computations_only_are_imported(command: Command, csv: Path, tmp_path: Path) -> None:
    (tmp_path / "specs").mkdir()
    out = tmp_path / "specs" / "run.yaml"

    assert command("convert", csv, "--to", "spec", "-o", out) == 0
    assert "\nimport: {format: torch-csv, path: ../run.csv}\n" in out.read_text()
    (document,) = spec.read(out.read_text(), str(out), ReadOptions(base=out.parent))
    same(document, torch_csv.read(csv.read_text(), str(csv), ReadOptions())[0])


def test_an_imported_file_stays_imported_from_its_own_place(
    command: Command, csv: Path, tmp_path: Path
) -> None:
    (tmp_path / "a").mkdir()
    path = tmp_path / "a" / "s.yaml"
    path.write_text(
        "pipeproof: 1\nmicrobatches: 1\nimport: {format: torch-csv, path: ../run.csv}\n"
    )

    assert command("convert", path, "--to", "spec", "-o", tmp_path / "s.yaml") == 0
    assert "\nimport: {format: torch-csv, path: run.csv}\n" in (tmp_path / "s.yaml").read_text()


def test_what_torch_has_no_word_for_is_named_with_its_place(
    command: Command, tmp_path: Path
) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(PROGRAMS.replace("0F0; 0SEND_F0", "0F0; SEND F0.0 to=1; 0STEP"))

    assert command("convert", path, "--to", "csv") == 2
    assert f"{path}:4:10: torch has no word for 'SEND F0.0 to=1'; " in command.err


@pytest.mark.parametrize("operation", ["0F0 w=1", "[0SEND_F0]", "0SEND_F0 h=a", "0SEND_F0 comm=a"])
def test_torch_writes_no_attributes_brackets_or_handles(
    command: Command, tmp_path: Path, operation: str
) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(PROGRAMS.replace("0SEND_F0", operation))

    assert command("convert", path, "--to", "csv") == 2
    assert f"{path}:4:" in command.err


READY = """\
pipeproof: 1
microbatches: 1
ranks:
  - 0F0; 0SEND_F0
  - {order: ready, program: 1RECV_F0; 1F0, limit: {live: 2}, prefer: backward}
  - {order: ready, program: []}
"""


def test_a_rank_that_runs_what_is_ready_stays_one(command: Command, tmp_path: Path) -> None:
    (document,) = spec.read(READY, "ready.yaml", ReadOptions())
    path = tmp_path / "s.yaml"
    path.write_text(READY)

    same(document, reread(document))
    assert command("convert", path, "--to", "csv") == 2
    assert f"{path}:5:29: rank 1 runs what is ready; a row of a torch CSV" in command.err


def test_a_spec_of_torchs_actions_becomes_a_csv(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(PROGRAMS.replace("0SEND_F0", "0SEND_F0; 0REDUCE; (0F1;0B0)OVERLAP_F_B"))

    assert command("convert", path, "--to", "csv") == 0
    assert command.out == "0F0,0SEND_F0,0REDUCE_GRAD,(0F1;0B0)OVERLAP_F_B\n1RECV_F0,1F0\n"


def test_what_was_judged_is_a_line_a_schedule(command: Command, csv: Path) -> None:
    assert command("convert", csv, "--to", "as-run") == 0
    assert command.out == f'{{"name":"{csv}"}}\n'


def test_what_was_judged_is_canonical_json(process: Process) -> None:
    ended = process("convert", SPECS[0], "--to", "as-run")

    assert ended.code == 0
    assert json.dumps(json.loads(ended.out), sort_keys=True, separators=(",", ":")) == (
        ended.out.rstrip("\n")
    )


def test_one_path_is_one_file(command: Command, tmp_path: Path) -> None:
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text(PROGRAMS)

    assert command("convert", tmp_path, "--to", "spec") == 2
    assert command("convert", tmp_path / "missing", "--to", "spec") == 2
    assert command("convert", tmp_path / "a.yaml", "--to", "xml") == 2
