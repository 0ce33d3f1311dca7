"""What is wrong with a spec file is said with its place, and with what was expected."""

import pytest

from pipeproof.errors import MalformedScheduleError
from tests.frontends.made import HEAD, wrong, wrong_keys


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
        ("storage: {registers: [a b]}", "4:23", "write one of loss, grad"),
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
