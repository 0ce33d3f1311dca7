"""What the subcommands write is what its schema says, and the schema says no more."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from pipeproof.api import judge_text
from pipeproof.campaign.executor import Ended
from pipeproof.campaign.report import report
from pipeproof.campaign.store import Row
from pipeproof.campaign.targets.itself import Itself
from pipeproof.cli import run
from pipeproof.cli.schema import schemas
from pipeproof.ir.recorded import Recorded
from pipeproof.reports._recording import recording
from pipeproof.reports.json import render
from pipeproof.verdict.result import Compared, Entry, Failure, FileReport, Result
from pipeproof.verdict.verdict import Accepted, Explained, Hop, TraceStep, Undecided
from tests.cli.made import ROOT
from tests.cli.schemas import Json, schema, validator, wrong
from tests.execution.faults import campaign
from tests.semantics.spans.made import earliest, swapped
from tests.timing.made import known

UPSTREAM = "specs/upstream/torch-2.13"
CHECKED = (
    *("specs/illegal/swapped-receive.yaml", "specs/illegal/signal-after-send.yaml"),
    *("specs/illegal/memory-of-two-stashes.yaml", "specs/illegal/one-stage-rolls-back.yaml"),
    *("specs/illegal/never-reduced.yaml", "specs/illegal/both-turns-receive-first.yaml"),
    *(
        "specs/legal/memory-of-two-stashes-fixed.yaml",
        "specs/legal/two-communicators-one-message-fixed.yaml",
    ),
    *(f"{UPSTREAM}/zbv-2x3-deferred.yaml", f"{UPSTREAM}/interleaved-1f1b-2x4-lowered.csv"),
    "specs/recovery/candidate-lacks-random-state.yaml",
    "specs/illegal/send-outlives-its-step.yaml",
)
CHOSEN = "specs/post-validation/two-stages-stale-not-drained.yaml"
SHORT = "specs/illegal/stash-one-slot-short.yaml"
BROKEN = "specs/illegal/no-delay-under-2bw.yaml"
LEFT = "pipeproof: 1\nmicrobatches: 2\nranks: [0F0; 0B0; 0STEP param=p; 0F1; 0B1]\n"
NAMED = re.compile(r"\"pipeproof\.([a-z]+)/[0-9]+\"")
NOT_DESCRIBED = {"frontier", "page", "trace"}  # for the version that wrote it; a format of Chrome
CHOOSES = "ranks: ['CHOOSE c a|b; 0F0; 0B0; 0STEP if=c:a; 0SKIP if=c:b']\n"
IN_TORCH = ("run.runtime",)  # it takes processes of its own
EARLY = "ranks: ['0F0; 0SEND_F0; 0RECV_B0; 0B0', '1F0; 1RECV_F0; 1B0; 1SEND_B0']\n"

Written = Callable[..., dict[str, Json]]


@pytest.fixture
def written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Written:
    """Runs a command in the root of the repository, and returns the object that it writes."""
    monkeypatch.chdir(ROOT)
    (tmp_path / "wrong.yaml").write_text("pipeproof: 1\nmicrobatches: x\nranks: [0F0]\n")
    (tmp_path / "open.yaml").write_text(
        "pipeproof: 1\nmicrobatches: 2\nranks: [0F0]\nprofile: megatron\n"
    )

    def told(*argv: object) -> dict[str, Json]:
        assert run([str(each) for each in argv]) in {0, 1, 2, 3}
        captured = capsys.readouterr()
        assert captured.out, captured.err
        found = json.loads(captured.out)
        assert isinstance(found, dict)
        return found

    return told


def agreed(name: str, *objects: Json, unseen: tuple[str, ...] = ()) -> None:
    """Hold that objects are as the schema says, and that each of its keys stands in one.

    Keys that begin with one of `unseen` need not.
    """
    said = {key for each in objects for key in keys_of(schema(name), each, name)}

    assert [wrong(name, each) for each in objects] == [[] for _ in objects]
    missing = sorted({*every_key(schema(name), name)} - said)
    assert all(each.startswith(unseen) for each in missing), "\n".join(missing)


def keys_of(node: Json, value: Json, path: str) -> Iterator[str]:
    """Yield the keys of the schema that stand in a value, by where the schema describes them."""
    assert isinstance(node, dict)
    name = path.partition(".")[0].partition("|")[0]
    defined = schema(name).get("$defs", {})
    assert isinstance(defined, dict)
    if "$ref" in node:
        to = str(node["$ref"]).removeprefix("#/$defs/")
        yield from keys_of(defined[to], value, f"{name}.{to}")
    for number, each in enumerate(alternatives(node)):
        if validator(name).evolve(schema={**each, "$defs": defined}).is_valid(value):
            yield from keys_of(each, value, f"{path}|{number}")
    if isinstance(value, list) and "items" in node:
        for item in value:
            yield from keys_of(node["items"], item, f"{path}[]")
    known = node.get("properties")
    if isinstance(value, dict) and isinstance(known, dict):
        for key in value.keys() & known.keys():
            yield f"{path}.{key}"
            yield from keys_of(known[key], value[key], f"{path}.{key}")


def every_key(node: Json, path: str) -> Iterator[str]:
    """Yield the keys that a schema describes, each where it describes them."""
    assert isinstance(node, dict)
    defined = node.get("$defs", {})
    assert isinstance(defined, dict)
    for name, each in defined.items():
        yield from every_key(each, f"{path}.{name}")
    for number, each in enumerate(alternatives(node)):
        yield from every_key(each, f"{path}|{number}")
    if "items" in node:
        yield from every_key(node["items"], f"{path}[]")
    known = node.get("properties", {})
    assert isinstance(known, dict)
    for key, each in known.items():
        yield f"{path}.{key}"
        yield from every_key(each, f"{path}.{key}")


def alternatives(node: Mapping[str, Json]) -> list[dict[str, Json]]:
    found = node.get("anyOf", [])
    assert isinstance(found, list)
    return [each for each in found if isinstance(each, dict)]


def test_results_are_as_the_schema_says(written: Written, tmp_path: Path) -> None:
    few = ("--transport", "gloo", "--transport", "rendezvous")
    many = written("check", *CHECKED, tmp_path, *few, "--statistics", "--format", "json")
    why = written("check", CHECKED[7], "--why", "first", *few[:2], "--format", "json")
    asked = ("--engine", "all", "--statistics", *few[:2])
    every = written("check", CHECKED[0], *asked, "--format", "json")
    confirmed = written("check", CHECKED[0], "--confirm", *few[:2], "--format", "json")

    agreed(
        "result",
        many,
        why,
        every,
        confirmed,
        json.loads(render(made())),
        unseen=("result.provenance.transport",),
    )


def made() -> Result:
    """Return a result with what few results hold: credits, outcomes, a baseline."""
    text = (ROOT / CHECKED[0]).read_text(encoding="utf-8")
    verdict = judge_text(text, "a.yaml")
    (transport, *_) = verdict.transports
    (broken, *_) = transport.violations
    step, open_ = TraceStep("F0.0", "drained", 0, 1), Undecided("PP501", "a budget ran out")
    hops = (Hop(step, step, crosses=True), Hop(step, step, crosses=False, needed=True))
    told = Explained(("PP401",), broken.at[0], "F0.0", hops, (step,), where="c: a")
    accepted = replace(broken, accepted=Accepted("known", "2026-01-31"))
    shown = replace(
        transport, violations=(accepted,), explanations=(told,), outcomes=2, unknown=(open_,)
    )
    gone = Entry("1f", "PP301", "a.yaml", "they wait", "known", "2026-01-31", ("gloo",))
    report = FileReport("a.yaml", replace(verdict, transports=(shown,)))
    failed = FileReport("b.yaml", failure=Failure("it broke", 101))
    return Result("1", (report, failed), Compared("base.json", 1, (gone,), 2))


def test_expectations_are_as_the_schema_says(written: Written, tmp_path: Path) -> None:
    text = (ROOT / CHECKED[0]).read_text(encoding="utf-8").replace("PP202", "PP301")
    (tmp_path / "differs.yaml").write_text(text)

    agreed("test", written("test", tmp_path, CHECKED[0], "--format", "json"))


def test_timings_are_as_the_schema_says(written: Written) -> None:
    agreed("timing", written("show", CHECKED[0], "specs/legal/1f1b-4x8.yaml", "--format", "json"))


def test_slots_are_as_the_schema_says(written: Written, tmp_path: Path) -> None:
    text = "pipeproof: 1\nmicrobatches: 1\nranks: [0F0]\nstorage: {stash: {slots: 1, take: any}}\n"
    (tmp_path / "any.yaml").write_text(text)

    agreed("slots", written("slots", tmp_path, *CHECKED[2:4], SHORT, "--format", "json"))


def test_contracts_are_as_the_schema_says(written: Written, tmp_path: Path) -> None:
    (tmp_path / "left.yaml").write_text(LEFT)
    paths = (BROKEN, CHECKED[6], CHOSEN, tmp_path / "left.yaml")

    agreed("contract", *(written("contract", path, "--format", "json") for path in paths))


def test_partitions_are_as_the_schema_says(written: Written, tmp_path: Path) -> None:
    costs = tmp_path / "costs.json"
    costs.write_text('{"embed": 1, "block": 2.5, "head": 1}')

    agreed("partition", written("partition", "--layers", costs, "--stages", 2, "--format", "json"))


def test_baselines_are_as_the_schema_says(
    written: Written, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "base.json"

    assert run(["baseline", str(path), CHECKED[0], "--reason", "known"]) == 0
    assert "base.json: 2 accepted" in capsys.readouterr().out
    found = json.loads(path.read_text(encoding="utf-8"))
    agreed("baseline", found, unseen=("baseline.accepted[].count",))


def test_configurations_are_as_the_schema_says(written: Written, tmp_path: Path) -> None:
    path = tmp_path / "pipeproof.toml"
    path.write_text('transport = ["gloo"]\n')

    agreed("config", written("config", "show", "--config", path, "--format", "json"))


def test_certificates_are_as_the_schema_says(written: Written, tmp_path: Path) -> None:
    for name, ranks in (("chooses", CHOOSES), ("early", EARLY)):
        (tmp_path / name).write_text(f"pipeproof: 1\nmicrobatches: 1\n{ranks}")
    paths = (CHECKED[0], CHECKED[7], tmp_path / "chooses", tmp_path / "early")

    agreed(
        "certificate",
        *(written("certify", path, "--transport", "gloo") for path in paths),
        unseen=("certificate.proved.paths[]|1", "certificate.refuted.outcome"),
    )


def test_runs_and_replays_are_as_the_schema_says(written: Written, tmp_path: Path) -> None:
    path, spec = tmp_path / "result.json", tmp_path / "run.yaml"
    one = ("--transport", "rendezvous")
    path.write_text(
        json.dumps(written("check", CHECKED[0], "--transport", "gloo", "--format", "json"))
    )
    spec.write_text(campaign.text(2, 1))
    fault = ("--inject", "missing@r0")
    runs: list[tuple[object, ...]] = [(CHECKED[0], *one), (CHECKED[7], *one)]
    runs += [(spec, *fault), (CHECKED[0], *fault, *one)]

    agreed("replay", written("replay", path, "--format", "json"))
    agreed("run", *(written("run", *each, "--format", "json") for each in runs), unseen=IN_TORCH)


def test_conformities_are_as_the_schema_says(
    written: Written, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schedule, spans = tmp_path / "run.csv", earliest(known("1f1b", 2, 4))
    shape = ("--ranks", "2", "--microbatches", "4", "-o", str(schedule))
    assert run(["generate", "1f1b", *shape]) == 0
    assert capsys.readouterr().out == ""

    found = []
    for number, each in enumerate((spans, swapped(0, "0F1", "0F2")(spans), spans[:3])):
        trace = tmp_path / f"{number}.json"
        trace.write_text(recording(Recorded(tuple(each), together=number == 0)))
        found.append(written("conform", trace, schedule, "--format", "json"))
    agreed("conform", *found, unseen=("conform.silent",))


def test_what_the_lab_works_out_is_as_the_schema_says(written: Written) -> None:
    coverage = ("lab", "coverage", "--p", "0.2", "--trials", "5", "--trials", "10")
    backlog = ("lab", "backlog", "--arrival", "3", "--service", "3.5", "--initial", "4.25")
    asked = ((), ("--predict", "0.7"))

    agreed(
        "lab", *(written(*each, *more, "--format", "json") for each in (coverage, backlog)
                 for more in asked),
    )  # fmt: skip


def test_hunts_are_as_the_schema_says() -> None:
    target = Itself(2, 40, 0)
    first, second = target.tasks()
    find = {"find": "engines", "said": "they differ", "text": "x", "verdict": "none"}
    rows = (
        Row(first.key, Ended(first, "done", find, "")),
        Row(second.key, Ended(second, "timeout", None, "it took more than 1 s")),
    )

    agreed("hunt", *(json.loads(report(target, each).json()) for each in (rows, (), rows[1:])))


def test_every_object_that_is_written_has_a_schema() -> None:
    texts = (path.read_text(encoding="utf-8") for path in (ROOT / "pipeproof").rglob("*.py"))
    named = {name for text in texts for name in NAMED.findall(text)}

    assert named - NOT_DESCRIBED == {*schemas()} - {"spec"}
    assert named >= NOT_DESCRIBED


@pytest.mark.parametrize("name", sorted({*schemas()} - {"spec"}))
def test_a_schema_takes_no_other_object(name: str) -> None:
    assert wrong(name, {"schema": f"pipeproof.{name}/2"})
    assert wrong(name, [])
    for path, each in objects(schema(name), name):
        assert each["additionalProperties"] is False, path


def objects(node: Json, path: str) -> Iterator[tuple[str, Mapping[str, Json]]]:
    """Yield each mapping with keys of its own that a schema describes."""
    if isinstance(node, dict):
        if isinstance(node.get("properties"), dict) and "type" in node:
            yield path, node
        for key, each in node.items():
            yield from objects(each, f"{path}/{key}")
    elif isinstance(node, list):
        for number, each in enumerate(node):
            yield from objects(each, f"{path}/{number}")
