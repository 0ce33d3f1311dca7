from collections.abc import Mapping

import pytest

from pipeproof.errors import (
    LimitError,
    MalformedScheduleError,
    ParseError,
    UnsupportedFeatureError,
    UsageError,
)
from pipeproof.frontends import spec
from pipeproof.ir.reading import ReadOptions
from pipeproof.ir.source import Expectation
from pipeproof.ir.transport import Completion, Match, Queue, Transport, Wait, named
from tests.frontends.made import HEAD, RANKS, programs, read, schedule, wrong


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


def test_what_is_described_is_kept_as_written() -> None:
    more = """\
storage:
  receive: {slots: 2, slot: microbatch mod slots, guard: wait, per: rank}
  stash: {slots: 4, take: any}
  registers: [loss, grad]
weights: {policy: stash, updates: microbatch}
bounds: {live: 4, memory: 70GiB, staleness: 1, makespan: 40}
sizes: {F: 64MiB, weights: [4GiB, 2GiB]}
costs: {F: 1, comm: 0.5}
faults: {among: [{rank: 0, fault: stops, at: 1}, {op: 1F0, fault: delayed}], policy: raise}
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


@pytest.mark.parametrize(
    ("costs", "column"),
    [
        ("{F: 0}", 12),
        ("{F: 1, B: 0.000}", 18),
        ("{B: [2, 0]}", 16),
    ],
)
def test_a_forward_and_a_backward_take_time(costs: str, column: int) -> None:
    text = f"pipeproof: 1\nmicrobatches: 1\ncosts: {costs}\nranks: [0F0, 1F0]\n"
    with pytest.raises(MalformedScheduleError) as raised:
        spec.read(text, "made", ReadOptions())

    assert [(each.line, each.column) for each in raised.value.problems] == [(3, column)]
    assert raised.value.problems[0].expected.startswith("write a time above 0")


def test_what_comes_beside_may_take_no_time() -> None:
    costs = "{F: 0.5, B: 1, I: 0, W: [0, 0], comm: 0, L: 0, R: 0}"
    text = f"pipeproof: 1\nmicrobatches: 1\ncosts: {costs}\nranks: [0F0, 1F0]\n"

    assert spec.read(text, "made", ReadOptions())[0].schedule.described["costs"]
