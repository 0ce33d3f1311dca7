"""What contradicts itself in a bundle is found, although every digest was made anew."""

import json
from collections.abc import Callable

import pytest

from pipeproof.cli._afresh import afresh
from pipeproof.evidence import environment
from pipeproof.evidence.manifest import MANIFEST, SUMS, Json, sums
from pipeproof.evidence.verify import Status, verify
from tests.evidence.conftest import Made
from tests.evidence.made import Contents, manifest, resealed, sealed
from tests.evidence.test_verify import OTHER, why


def refused(files: Contents, made: Made, judges: bool = True) -> str:  # noqa: FBT001, FBT002
    found = verify(files, made.now, afresh if judges else None)
    assert found.status is Status.TAMPERED
    return why(found)


def test_resealing_what_was_not_changed_changes_nothing(made: Made) -> None:
    assert resealed(made.files) == made.files


def test_a_certificate_of_another_schedule_is_found(made: Made) -> None:
    swapped = {**made.files, "certificates/000.json": made.files["certificates/001.json"]}

    assert "rejected by the second checker" in refused(resealed(swapped), made, judges=False)


def test_a_certificate_swapped_with_its_schedule_as_run_is_found(made: Made) -> None:
    swapped = {**made.files}
    for folder in ("certificates", "as-run"):
        swapped[f"{folder}/000.json"] = made.files[f"{folder}/001.json"]

    said = refused(resealed(swapped, lambda p: p["schedules"][0].update(statements=1)), made)  # type: ignore[index, union-attr]

    assert "the result has no PP301" in said


def test_an_edited_certificate_is_found(made: Made) -> None:
    certificate = json.loads(made.files["certificates/000.json"])
    certificate["statements"][0]["run"].reverse()
    files = {**made.files, "certificates/000.json": json.dumps(certificate).encode()}

    assert "rejected by the second checker" in refused(resealed(files), made, judges=False)


def test_another_input_is_found_by_judging_it(made: Made) -> None:
    files = {**made.files, "inputs/001.yaml": made.files["inputs/000.yaml"]}

    assert "gives another schedule as run" in refused(resealed(files), made)


def test_a_verdict_that_is_edited_in_the_manifest_is_found(made: Made) -> None:
    def proved(predicate: dict[str, Json]) -> None:
        predicate["schedules"][1].update(verdict="proved", transports=[])  # type: ignore[index, union-attr]

    said = refused(resealed(made.files, proved), made, judges=False)

    assert said == "the manifest and the result differ"


def edited(files: Contents, number: int, **entry: Json) -> Contents:
    result = json.loads(files["results/check.json"])
    result["files"][number].update(entry)
    return {**files, "results/check.json": as_check_writes(result)}


def as_check_writes(result: dict[str, Json]) -> bytes:
    entries = result.pop("files")
    assert isinstance(entries, list)
    rows = ",\n".join(json.dumps(each) for each in entries)
    return f'{json.dumps(result)[:-1]}, "files": [\n{rows}]}}\n'.encode()


def test_a_verdict_that_is_edited_everywhere_is_found_by_its_certificate(made: Made) -> None:
    legal = json.loads(made.files["results/check.json"])["files"][0]["transports"][:1]
    legal[0]["name"] = "rendezvous"
    files = edited(made.files, 1, verdict="proved", transports=legal)

    def proved(predicate: dict[str, Json]) -> None:
        under = {"name": "rendezvous", "verdict": "proved", "rule": None}
        predicate["schedules"][1].update(verdict="proved", transports=[under])  # type: ignore[index, union-attr]
        predicate["boundaries"] = manifest(made.files)["predicate"]["boundaries"]  # type: ignore[index, call-overload]

    said = refused(resealed(files, proved), made, judges=False)

    assert "the result has no PP301" in said


def test_what_no_certificate_shows_is_found_by_judging_it_afresh(made: Made) -> None:
    entry = json.loads(made.files["results/check.json"])["files"][2]
    entry["transports"][0]["violations"][0]["message"] = "nothing much"
    files = resealed(edited(made.files, 2, **entry))

    assert verify(files, made.now).status is Status.FRESH, "the second checker cannot see it"
    assert refused(files, made) == "twice.yaml: judged afresh, it differs"


def test_an_exit_code_that_is_not_its_results_is_found(made: Made) -> None:
    def zero(predicate: dict[str, Json]) -> None:
        predicate["commands"][0]["exit"] = 0  # type: ignore[index]

    assert "the exit code of `check`" in refused(resealed(made.files, zero), made, judges=False)


def test_statements_that_were_counted_otherwise_are_found(made: Made) -> None:
    def none(predicate: dict[str, Json]) -> None:
        predicate["schedules"][0]["statements"] = 0  # type: ignore[index]

    assert "it holds 2 statements" in refused(resealed(made.files, none), made, judges=False)


def test_a_file_that_nothing_names_is_found(made: Made) -> None:
    files = resealed({**made.files, "commands/more.txt": b"x"})

    assert refused(files, made, judges=False).startswith("it holds a file that it does not name")


def test_boundaries_that_were_widened_are_found(made: Made) -> None:
    def wider(predicate: dict[str, Json]) -> None:
        predicate["boundaries"]["not_validated"] = []  # type: ignore[index]

    assert "boundaries" in refused(resealed(made.files, wider), made, judges=False)


@pytest.mark.parametrize(("option", "said"), [("profile", "legal.yaml: "), ("lowering", "is none")])
def test_options_that_nobody_can_give_are_found(made: Made, option: str, said: str) -> None:
    def strange(predicate: dict[str, Json]) -> None:
        predicate["options"][option] = "none such"  # type: ignore[index]

    assert said in refused(resealed(made.files, strange), made)


def test_what_another_build_words_otherwise_is_not_taken_for_tampering(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    def worded(predicate: dict[str, Json]) -> None:
        predicate["boundaries"]["not_validated"] = ["all but this"]  # type: ignore[index]

    files = resealed(made.files, worded)
    assert refused(files, made, judges=False) == "its boundaries are others"
    monkeypatch.setattr(environment, "source", lambda: OTHER)
    assert verify(files, made.now).status is Status.TOOL_DIFFERS

    def wider(predicate: dict[str, Json]) -> None:
        predicate["boundaries"]["sizes"]["ranks"] = 64  # type: ignore[index, call-overload]

    assert refused(resealed(made.files, wider), made) == "its boundaries are others"


def test_a_result_that_two_readers_read_otherwise_is_found(made: Made) -> None:
    twice = made.files["results/check.json"].replace(
        b'"verdict": "refuted",', b'"verdict": "proved", "verdict": "refuted",', 1
    )
    files = resealed({**made.files, "results/check.json": twice})

    assert refused(files, made, judges=False).endswith("a key stands twice in one object")


def test_what_nests_too_deeply_is_tampered_with(made: Made) -> None:
    for depth in (500, 100_000):
        deep = b'{"schema": "pipeproof.result/1", "files": ' + b"[" * depth + b"]" * depth + b"}"
        files = resealed({**made.files, "results/check.json": deep})

        assert verify(files, made.now, afresh).status is Status.TAMPERED


def test_an_input_outside_of_the_repository_is_found_before_it_is_looked_for(made: Made) -> None:
    def away(predicate: dict[str, Json]) -> None:
        for each in (predicate["inputs"][0], predicate["schedules"][0]):  # type: ignore[index]
            each["path"] = "../../etc/passwd"  # type: ignore[index]

    assert "outside of the repository" in refused(resealed(made.files, away), made)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"more": 1}, "holds a key that it may not hold"),
        ({"stored": 7}, "is not string or null"),
        ({"results": "../x"}, "is not written as it should be"),
        ({"results": "results/check.json\n"}, "is not written as it should be"),
        ({"tool": None}, "is not object"),
    ],
)
def test_a_manifest_that_is_not_as_its_schema_says_is_found(
    made: Made, change: dict[str, Json], said: str
) -> None:
    found = manifest(made.files)
    files = sealed(made.files, {**found, "predicate": {**found["predicate"], **change}})  # type: ignore[dict-item]

    assert said in refused(files, made)


def test_a_manifest_that_is_spaced_otherwise_is_found(made: Made) -> None:
    spaced = json.dumps(manifest(made.files), indent=1).encode()
    files = {**made.files, MANIFEST: spaced}

    assert "not canonical" in refused({**files, SUMS: sums(files)}, made)


Forged = Callable[[dict[str, Json]], None]


def command(number: int, **said: Json) -> Forged:
    def change(predicate: dict[str, Json]) -> None:
        predicate["commands"][number].update(said)  # type: ignore[index, union-attr]

    return change


def fewer(predicate: dict[str, Json]) -> None:
    for key in ("commands", "runs"):
        predicate[key].pop()  # type: ignore[union-attr]


def diff_of_nothing(predicate: dict[str, Json]) -> None:
    predicate["repository"].update(dirty=False, diff="0" * 64)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (command(1, argv=["true"]), "its command 1 is not that which makes a bundle"),
        (command(2, purpose="judge"), "its command 2 is not that which makes a bundle"),
        (command(3, exit=4), "the exit code of its command 3 is not what came of it"),
        (command(3, stderr="commands/001.err"), "it holds a file that it does not name"),
        (fewer, "it holds a file that it does not name"),
        (diff_of_nothing, "what it says of git contradicts itself"),
    ],
)
def test_commands_that_make_no_bundle_are_found(made: Made, change: Forged, said: str) -> None:
    assert said in refused(resealed(made.files, change), made)


@pytest.mark.parametrize(
    ("key", "value"), [("verdict", "proved"), ("note", "all is well"), ("tool", {"name": "x"})]
)
def test_what_a_result_says_beside_its_schedules_is_held_to_them(
    made: Made, key: str, value: Json
) -> None:
    result = {**json.loads(made.files["results/check.json"]), key: value}
    files = {**made.files, "results/check.json": as_check_writes(result)}

    assert refused(resealed(files), made) == "results/check.json holds something else"


def test_another_schema_in_its_place_is_found(made: Made) -> None:
    files = {**made.files, "evidence.schema.json": b"{}"}

    assert refused(resealed(files), made) == "evidence.schema.json is another"
