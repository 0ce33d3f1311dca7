from collections.abc import Mapping
from pathlib import Path

import pytest

from pipeproof.errors import (
    InputError,
    LimitError,
    MalformedScheduleError,
    ParseError,
    UnsupportedFeatureError,
    UsageError,
)
from pipeproof.frontends import spec
from pipeproof.ir.reading import ReadOptions
from pipeproof.ir.schedule import Schedule
from pipeproof.ir.source import Document, Expectation
from pipeproof.ir.transport import Completion, Match, Queue, Transport, Wait, named

HEAD = "pipeproof: 1\nmicrobatches: 2\n"
RANKS = "ranks: [0F0, 1F0]\n"


def read(text: str, options: ReadOptions | None = None) -> Document:
    (document,) = spec.read(text, "a.yaml", ReadOptions() if options is None else options)
    return document


def schedule(more: str = "", options: ReadOptions | None = None) -> Schedule:
    """Read a file of two ranks, two stages and two microbatches with `more` keys."""
    return read(f"{HEAD}{RANKS}{more}", options).schedule


def wrong(text: str, kind: type[InputError] = ParseError) -> tuple[str, ...]:
    """Return what is wrong with a file, each as `line:column: found; expected`."""
    with pytest.raises(kind) as caught:
        read(text)
    assert type(caught.value) is kind
    return tuple(str(problem).removeprefix("a.yaml:") for problem in caught.value.problems)


def wrong_keys(more: str, kind: type[InputError] = ParseError) -> tuple[str, ...]:
    return wrong(f"{HEAD}{RANKS}{more}", kind)


def programs(document: Document) -> list[list[str]]:
    ranks = range(document.schedule.ranks)
    return [list(document.schedule.operations.program(rank)) for rank in ranks]


@pytest.mark.parametrize(
    "text",
    [
        "pipeproof: 1\n",
        "# comment\ntitle: a\npipeproof: 1\n",
        "'pipeproof': 1",
        '{"pipeproof": 1}',
        '{\n  "title": "a", "pipeproof" : 1',
        "---\npipeproof: 2",
    ],
)
def test_a_mapping_with_the_key_is_sniffed(text: str) -> None:
    assert spec.sniff(text, "any")


@pytest.mark.parametrize("text", ["", "0F0,0F1\n", "pipeproof", "my pipeproof: 1", "a: b\n"])
def test_what_has_not_the_key_is_not_sniffed(text: str) -> None:
    assert not spec.sniff(text, "any.yaml")


def test_a_small_file_has_the_defaults_of_the_language() -> None:
    document = read(f"{HEAD}ranks:\n  - |\n    0F0\n    0B0\n  - [1F0, 1B0]\n")

    assert programs(document) == [["0F0", "0B0"], ["1F0", "1B0"]]
    found = document.schedule
    assert (found.ranks, found.stages, found.microbatches, found.steps) == (2, 2, 2, 1)
    assert (found.placement, found.pipelines, found.segments) == ((), (), 1)
    assert (found.fragment, found.profile, found.lowering) == (False, "none", "as-written")
    assert found.transports == named("strict")
    assert found.gradients.reduce == "default"
    assert dict(found.described) == {}
    assert document.name == "a.yaml"


def test_json_is_read_like_yaml() -> None:
    document = read('{"pipeproof": 1, "microbatches":2,\n"ranks":["0F0\\n0B0", ["1F0"]]}')

    assert programs(document) == [["0F0", "0B0"], ["1F0"]]
    assert [document.places.place(row) for row in range(3)] == [(2, 11), (2, 16), (2, 24)]


@pytest.mark.parametrize(
    ("ranks", "places"),
    [
        ("- |\n  0F0\n    0F1\n", [(4, 3), (5, 5)]),
        ("- |2\n\n    0F0; 0F1 # c\n", [(5, 5), (5, 10)]),
        ("- 0F0; 0F1\n", [(3 + 0, 10 - 7), (3, 8)]),
        ("- ' 0F0; 0F1'\n", [(3, 5), (3, 10)]),
        ("- '0F0 in=a'\n- \"\\u0030F0;\\t0F1\"\n", [(3, 4), (4, 4), (4, 15)]),
        ("- >\n  0F0;\n  0F1\n", [(3, 3), (3, 3)]),
        ("- - 0F0\n  - '[0SEND_F0 | 0RECV_B0]'\n", [(3, 5), (4, 7), (4, 18)]),
    ],
)
def test_operations_stand_where_they_are_written(ranks: str, places: list[tuple[int, int]]) -> None:
    document = read(
        f"pipeproof: 1\nmicrobatches: 2\nranks:\n{ranks}".replace("ranks:\n", "ranks:\n")
    )
    shift = 1

    expected = [(line + shift, column) for line, column in places]
    assert [document.places.place(row) for row in range(len(places))] == expected


def test_title_and_source_are_for_people() -> None:
    document = read(f"title: Some: 'thing'\nsource: a#1\n{HEAD}{RANKS}".replace(": 'thing'", ""))

    assert document.title == "Some"
    assert dict(document.origin) == {"source": "a#1"}


def test_numbers_and_switches() -> None:
    found = schedule("stages: 3\nsteps: 2\nsegments: 2\nfragment: true\n")

    assert (found.stages, found.steps, found.segments, found.fragment) == (3, 2, 2, True)
    assert schedule("steps: any\n").steps is None


def test_stages_are_those_that_operations_and_values_name() -> None:
    text = "pipeproof: 1\nmicrobatches: 1\nranks: [{}]\n"

    assert read(text.format("'SEND B3.0 to=0'")).schedule.stages == 4
    assert read(text.format("'WRITE a F2.0'")).schedule.stages == 3
    assert read(text.format("'SEND v to=0'")).schedule.stages == 1


def test_options_stand_for_what_the_file_does_not_say() -> None:
    options = ReadOptions(microbatches=7, stages=5, profile="torch-runtime")

    assert schedule("", options).microbatches == 2
    found = read(f"pipeproof: 1\n{RANKS}", options).schedule
    assert (found.microbatches, found.stages, found.profile) == (7, 5, "torch-runtime")
    assert schedule("stages: 2\n", options).stages == 2


@pytest.mark.parametrize(
    ("placement", "ranks"),
    [
        ("loop", (0, 1, 0, 1)),
        ("v", (0, 1, 1, 0)),
        ("[1, 0, 0, 1]", (1, 0, 0, 1)),
        ("[1, 1, 1, 1]", (1, 1, 1, 1)),
    ],
)
def test_placement(placement: str, ranks: tuple[int, ...]) -> None:
    assert schedule(f"stages: 4\nplacement: {placement}\n").placement == ranks


def test_a_stage_on_two_ranks_is_read() -> None:
    assert programs(read(f"{HEAD}ranks: [0F0, 0F0]\n")) == [["0F0"], ["0F0"]]


@pytest.mark.parametrize(
    ("transport", "expected"),
    [
        ("gloo", named("gloo")),
        ("strict", named("strict")),
        ("[buffered-1, gloo]", (*named("buffered-1"), *named("gloo"))),
        ("[rendezvous, strict]", named("strict")),
    ],
)
def test_transports_by_name(transport: str, expected: tuple[Transport, ...]) -> None:
    assert schedule(f"transport: {transport}\n").transports == expected


def test_a_transport_of_its_own_is_custom() -> None:
    more = "{completion: buffered, capacity: 2, queue: edge, wait: at-use, match: tag"
    found = schedule(f"transport: {more}, weak: [default], communicators: lazy}}\n").transports

    assert found == (
        Transport(
            "custom",
            completion=Completion.BUFFERED,
            queue=Queue.EDGE,
            wait=Wait.AT_USE,
            match=Match.TAG,
            capacity=2,
            weak=frozenset([""]),
            lazy=True,
        ),
    )


def test_profile_brings_its_transports() -> None:
    found = schedule("profile: torch-runtime\n")

    assert found.profile == "torch-runtime"
    names = ["nccl-lazy", "nccl-first", "nccl-eager", "nccl-small", "gloo"]
    assert [each.name for each in found.transports] == names
    assert schedule("profile: torch-runtime\ntransport: gloo\n").transports == named("gloo")


def test_what_is_judged_later_is_kept_as_written() -> None:
    more = """\
storage:
  receive: {slots: 2, slot: microbatch mod slots, guard: wait, per: rank}
  stash: {slots: 4, take: any}
  registers: [loss, grad]
weights: {policy: stash, updates: microbatch}
bounds: {live: 4, memory: 70GiB, staleness: 1, makespan: 40}
sizes: {F: 64MiB, weights: [4GiB, 2GiB]}
costs: {F: 1, comm: 0.5}
faults: {among: [{rank: 0, fault: stops, at: 5}, {message: F0.1, fault: dropped}], policy: raise}
"""
    described = schedule(more).described

    assert set(described) == {"storage", "weights", "bounds", "sizes", "costs", "faults"}
    assert described["weights"] == {"policy": "stash", "updates": "microbatch"}
    assert described["sizes"] == {"F": "64MiB", "weights": ("4GiB", "2GiB")}
    storage = described["storage"]
    assert isinstance(storage, Mapping)
    assert storage["registers"] == ("loss", "grad")


def test_gradients_tell_reduce_from_the_rest() -> None:
    found = schedule(
        "gradients: {coefficients: [1/2, 1], reduce: once, tied: [[0, 1]]}\n"
    ).gradients

    assert found.reduce == "once"
    assert dict(found.other) == {"coefficients": ("1/2", "1"), "tied": (("0", "1"),)}
    assert schedule("gradients: {coefficients: {tokens: [6, 2]}}\n").gradients.reduce == "default"


def test_a_rank_whose_order_the_runtime_decides() -> None:
    ready = "{order: ready, program: [WAIT s, SEND v to=0 h=s], limit: {live: 4}, prefer: backward}"
    document = read(f"{HEAD}ranks: [0F0, {ready}]\n")

    assert programs(document) == [["0F0"], ["WAIT s", "SEND v to=0 h=s"]]
    said = {"order": "ready", "limit": {"live": "4"}, "prefer": "backward"}
    assert document.schedule.described == {"ready": {"1": said}}


def test_expectations_and_rules() -> None:
    document = read(
        f"{HEAD}{RANKS}rules: {{select: [PP3], ignore: [PP506]}}\nexpect:\n"
        "  - {transport: gloo, verdict: refuted, rule: PP301, or: [PP205], at: [r0.1, r1.10]}\n"
        "  - {verdict: refuted, rule: PP201, at_any: [r0.1], exact: true}\n"
        "  - {transport: strict, verdict: unknown}\n"
    )

    assert (document.select, document.ignore) == (("PP3",), ("PP506",))
    assert document.expect == (
        Expectation("gloo", "refuted", "PP301", ("PP205",), ("r0.1", "r1.10"), line=6),
        Expectation(None, "refuted", "PP201", at_any=("r0.1",), exact=True, line=7),
        Expectation("strict", "unknown", line=8),
    )


@pytest.mark.parametrize(
    ("more", "place", "said"),
    [
        ("stagess: 2", "4:1", "did you mean 'stages'?"),
        ("stages: 02", "4:9", "'02' stands here; write a whole number"),
        ("stages: 0", "4:9", "write a whole number from 1"),
        ("stages: 0x2", "4:9", "write a whole number"),
        ("stages: 99999999999", "4:9", "write a whole number"),
        ("stages:", "4:8", "nothing stands here"),
        ("stages: [2]", "4:9", "a list stands here"),
        ("steps: no", "4:8", "'no' stands here"),
        ("fragment: yes", "4:11", "write one of true, false"),
        ("title: {a: b}", "4:8", "a mapping stands here; write text"),
        ("placement: w", "4:12", "write one of loop, v"),
        ("placement: []", "4:12", "an empty list"),
        ("profile: tourch", "4:10", "write one of none, torch-runtime"),
        ("transport: rendezvuos", "4:12", "did you mean 'rendezvous'?"),
        ("transport: [gloo, gloo]", "4:19", "name a transport once"),
        ("transport: {completion: buffered, guard: a}", "4:35", "'guard' is no key here"),
        ("communicators: lazy", "4:1", "a key of a transport"),
        ("storage: {recieve: {slots: 2}}", "4:11", "did you mean 'receive'?"),
        ("storage: {receive: {slot: use mod slots}}", "4:20", "the key 'slots' is missing"),
        ("storage: {send: {slots: 2, take: any}}", "4:28", "'take' is no key here"),
        ("storage: {stash: {slots: 2, slot: m mod 2}}", "4:35", "write one of microbatch mod"),
        ("storage: {registers: [a b]}", "4:23", "write a name"),
        ("weights: {policy: 3bw}", "4:19", "did you mean '2bw'?"),
        ("gradients: {coefficients: [0.5, 1]}", "4:28", "write an exact fraction"),
        ("gradients: {coefficients: {tokens: [x, 1]}}", "4:37", "write a whole number"),
        ("gradients: {tied: [[0]]}", "4:20", "write a list of two stages or more"),
        ("gradients: {norm: some}", "4:19", "write all"),
        ("costs: {F: fast}", "4:12", "write a number of time units"),
        ("bounds: {memory: 70 GiB}", "4:18", "write a size in bytes"),
        ("bounds: {memory: 1GiX}", "4:18", "write a size in bytes"),
        ("faults: [{rank: 1, fault: missing}]", "4:9", "write a mapping with among"),
        ("faults: {among: [{rank: 1, fault: late}]}", "4:35", "write one of missing, stops"),
        ("faults: {among: [{rank: 1, fault: stops}]}", "4:18", "'at' is missing"),
        ("faults: {among: [{rank: 1, op: 0F0, fault: delayed}]}", "4:18", "of one rank, one"),
        ("faults: {among: [{op: 0X0, fault: delayed}]}", "4:23", "write 2F0"),
        ("faults: {among: [{message: F0., fault: dropped}]}", "4:28", "write a value"),
        ("rules: {select: [PP999]}", "4:18", "write the code of a rule"),
        ("rules: {select: PP3}", "4:17", "write a list"),
        ("expect: [{transport: gloo}]", "4:10", "the key 'verdict' is missing"),
        ("expect: [{verdict: refused}]", "4:20", "did you mean 'refuted'?"),
        ("expect: [{verdict: refuted, rule: PP3}]", "4:35", "write the code of a rule"),
        ("expect: [{verdict: refuted, rule: PP301, at: [0.1]}]", "4:47", "write rank and position"),
        ("expect: [{verdict: refuted, at: [r0.1]}]", "4:29", "'at' stands without 'rule'"),
        ("schedule: 1f1b", "4:1", "'schedule' stands beside 'ranks'"),
    ],
)
def test_a_key_takes_what_the_language_says(more: str, place: str, said: str) -> None:
    (problem,) = wrong_keys(f"{more}\n")

    assert problem.startswith(f"{place}: ")
    assert said in problem


@pytest.mark.parametrize(
    ("more", "place", "said"),
    [
        ("placement: [0]", "4:12", "write the rank of each of 2 stages"),
        ("placement: [0, 2]", "4:16", "write a rank below 2"),
        ("stages: 3\nplacement: v", "5:12", "do not fold evenly"),
        ("pipelines: [[0]]", "4:12", "stage 1 stands in no pipeline"),
        ("pipelines: [[0, 1], [1]]", "4:22", "stage 1 stands here again"),
        ("stages: 1\npipelines: [[0, 1]]", "5:17", "write a stage below 1"),
        ("gradients: {coefficients: [1]}", "4:27", "write one for each of 2 microbatches"),
        ("gradients: {coefficients: {tokens: [1]}}", "4:36", "write one for each of 2"),
        ("gradients: {tied: [[0, 2]]}", "4:24", "write a stage below 2"),
        ("costs: {F: [1, 1, 1]}", "4:12", "write one for each of 2 stages"),
        ("sizes: {F: [1GiB]}", "4:12", "write one for each of 2 stages"),
    ],
)
def test_keys_agree_with_each_other(more: str, place: str, said: str) -> None:
    (problem,) = wrong_keys(f"{more}\n", MalformedScheduleError)

    assert problem.startswith(f"{place}: ")
    assert said in problem


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("", "1:1", "nothing stands in the file"),
        ("# only a comment\n", "1:1", "nothing stands in the file"),
        ("[]", "1:1", "a list stands here; write a mapping"),
        ("text", "1:1", "'text' stands here; write a mapping"),
        ("pipeproof: 2\nmicrobatches: 1\nranks: [0F0]", "1:12", "the version of the language"),
        ("microbatches: 1\nranks: [0F0]", "1:1", "the key 'pipeproof' is missing"),
        ("pipeproof: 1\nranks: [0F0]", "1:1", "the key 'microbatches' is missing"),
        ("pipeproof: 1\nmicrobatches: 1", "1:1", "no program stands here"),
        (f"{HEAD}ranks: 0F0", "3:8", "write a list with the program of each rank"),
        (f"{HEAD}ranks: []", "3:8", "an empty list"),
        (f"{HEAD}ranks: [[[0F0]]]", "3:10", "quote it: YAML reads a list here"),
        (f"{HEAD}ranks: [{{order: written, program: 0F0}}]", "3:17", "write ready"),
        (f"{HEAD}ranks: [{{order: ready}}]", "3:9", "the key 'program' is missing"),
        (f"{HEAD}ranks: [0F0]\n---\na: b", "4:1", "a second document starts here"),
        (f"{HEAD}ranks: [0F0\nstages: 1", "4:7", "write YAML or JSON"),
        (f"{HEAD}\tranks: [0F0]", "3:1", "write YAML or JSON"),
        (f"{HEAD}ranks: [0F0]\nranks: [0F1]", "4:1", "it stands at line 3, column 1"),
        ('{"pipeproof": 1, "microbatches": 1, "microbatches": 1, "ranks": ["0F0"]}', "1:37", "1:"),
        (f"{HEAD}ranks: &a [0F0]", "3:8", "anchors are refused"),
        (f"{HEAD}ranks: !!seq [0F0]", "3:8", "tags are refused"),
        (f"{HEAD}ranks: [! 0F0]", "3:9", "tags are refused"),
        (f"{HEAD}ranks: [0F0]\n<<: {{a: b}}", "4:1", "merge keys are refused"),
        (f"{HEAD}ranks: [0F0]\n? [a]\n: b", "4:3", "a key is no text"),
        (f"{HEAD}ranks: ['0F\x00']", "3:12", "character U+0000"),
        (f"{HEAD}ranks: ['\ud800']", "3:10", "character U+D800"),
        (f"\ufeff{HEAD}ranks: [0F0]", "1:1", "byte order mark"),
    ],
)
def test_what_is_no_spec_is_refused(text: str, place: str, said: str) -> None:
    problem = wrong(text)[0]

    assert problem.startswith(f"{place}: ")
    assert said.removesuffix("1:") in problem


def test_an_alias_is_refused_and_not_followed() -> None:
    first, second = wrong(f"{HEAD}ranks: &a [*a]")

    assert first.startswith("3:8: an anchor")
    assert second.startswith("3:12: an alias of 'a'")


def test_all_mistakes_come_at_once_in_order_of_the_file() -> None:
    said = wrong(
        "pipeproof: 1\nmicrobatches: 0\nranks:\n  - 0F0; 2X0\n  - |\n    0F0 on=1\nstps: 1\n"
    )

    assert [each.split(": ")[0] for each in said] == ["2:15", "4:10", "6:9", "7:1"]


def test_nothing_is_typed_that_no_key_asks_for() -> None:
    assert read(f"title: 12:30\nsource: no\n{HEAD}{RANKS}").title == "12:30"


@pytest.mark.parametrize(
    ("text", "limits", "name"),
    [
        (f"{HEAD}{RANKS}", {"bytes": 20}, "bytes"),
        (f"{HEAD}ranks: [[[[0F0]]]]", {"depth": 3}, "depth"),
        (f"{HEAD}ranks: " + "[" * 17, {}, "depth"),
        ("[" * 100_000, {}, "depth"),
        (f"{HEAD}{RANKS}", {"ranks": 1}, "ranks"),
        (f"{HEAD}ranks: ['0F0;0F1;0F0']", {"instructions": 2}, "instructions"),
        (f"{HEAD}ranks: [[0F0,0F0,0F0,0F0,0F0,0F0]]", {"instructions": 2}, "instructions"),
        (f"{HEAD}{RANKS}stages: 2147483647\nplacement: loop", {}, "instructions"),
        (f"{HEAD}{RANKS}steps: 2147483647", {}, "instructions"),
    ],
)
def test_limits_have_names(text: str, limits: dict[str, int], name: str) -> None:
    with pytest.raises(LimitError, match=rf"limit '{name}': --limit {name}=N"):
        read(text, ReadOptions(limits=limits))


def test_a_limit_can_be_raised() -> None:
    ranks = ", ".join(["0F0"] * 1025)

    document = read(f"{HEAD}ranks: [{ranks}]\n", ReadOptions(limits={"ranks": 2000}))
    assert document.schedule.ranks == 1025


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("schedule: 1f1b", "generated"),
        ("schedule: {name: 1f1b, ranks: 4, lowering: torch}", "generated"),
        ("import: {format: megatron, path: a.json}", "does not import 'megatron'"),
        ("ranks: [0F0]\nprofile: deepspeed", "profile 'deepspeed' is not modelled yet"),
    ],
)
def test_what_the_language_names_and_this_version_lacks_is_said(more: str, said: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match=said):
        read(f"{HEAD}{more}\n")


def test_mistakes_come_before_what_is_not_supported() -> None:
    wrong(f"{HEAD}schedule: 1f1b\nsteps: x\n")


def test_a_profile_of_the_caller_must_exist() -> None:
    with pytest.raises(UsageError, match="'pigeon' is no profile"):
        schedule("", ReadOptions(profile="pigeon"))


def test_there_is_one_case() -> None:
    assert len(spec.read(f"{HEAD}{RANKS}", "a", ReadOptions(case=0))) == 1
    with pytest.raises(ParseError, match="case 3 stands nowhere"):
        schedule("", ReadOptions(case=3))


class TestImport:
    """`import` reads another file through its front-end."""

    @staticmethod
    def text(more: str = "", path: str = "run.csv") -> str:
        return f"pipeproof: 1\nimport: {{format: torch-csv, path: {path}}}\n{more}"

    def test_a_csv_is_read_beside_the_file(self, tmp_path: Path) -> None:
        (tmp_path / "run.csv").write_text("0F0,0B0\n1F0,1B0\n")
        name = str(tmp_path / "a.yaml")

        (document,) = spec.read(self.text(), name, ReadOptions())
        assert programs(document) == [["0F0", "0B0"], ["1F0", "1B0"]]
        assert document.name == name
        assert document.places.place(1) == (1, 5)
        assert (document.schedule.profile, document.schedule.lowering) == (
            "torch-runtime",
            "torch",
        )
        assert document.origin["path"] == str(tmp_path / "run.csv")

    def test_keys_of_the_file_hold(self, tmp_path: Path) -> None:
        (tmp_path / "run.csv").write_text("0F0,0B0\n1F0,1B0\n")
        more = "stages: 4\nmicrobatches: 3\nplacement: v\ntransport: gloo\nprofile: none\n"

        (document,) = spec.read(self.text(more), "a.yaml", ReadOptions(base=tmp_path))
        found = document.schedule
        assert (found.stages, found.microbatches, found.profile) == (4, 3, "none")
        assert (found.placement, found.transports) == ((0, 1, 1, 0), named("gloo"))

    def test_mistakes_of_the_csv_stand_in_the_csv(self, tmp_path: Path) -> None:
        (tmp_path / "run.csv").write_text("0F0,0F1,0X0\n")

        with pytest.raises(ParseError, match=r"run\.csv:1:9: '0X0' is no action"):
            spec.read(self.text(), "a.yaml", ReadOptions(base=tmp_path))

    @pytest.mark.parametrize("path", ["none.csv", ".", "/dev/zero", "secret.txt"])
    def test_what_is_no_csv_is_refused_where_it_is_named(self, tmp_path: Path, path: str) -> None:
        (tmp_path / "secret.txt").write_text("secret-content:x:0\n")

        with pytest.raises(ParseError) as caught:
            spec.read(self.text(path=path), "a.yaml", ReadOptions(base=tmp_path))
        assert "secret-content" not in str(caught.value)
        assert {(each.line, each.column) for each in caught.value.problems} == {(2, 35)}

    def test_a_large_csv_exceeds_its_limit(self, tmp_path: Path) -> None:
        (tmp_path / "run.csv").write_text("0F0,0F1,0F2\n")
        options = ReadOptions(base=tmp_path, limits={"csv-bytes": 5})

        with pytest.raises(LimitError, match="limit 'csv-bytes'"):
            spec.read(self.text(), "a.yaml", options)
