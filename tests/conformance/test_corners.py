"""Corners of the language where a proof, or an alarm, would be false."""

import pytest

from pipeproof import api

HEAD = "pipeproof: 1\n"


def _judged(text: str) -> tuple[str, set[str], set[str]]:
    """Return the verdict, the rules broken and the rules undecided."""
    if "transport" not in text:
        text += "transport: rendezvous\n"
    verdict = api.judge_text(HEAD + text, "corner.yaml")
    broken = {violation.rule for each in verdict.transports for violation in each.violations}
    unknown = {undecided.rule for each in verdict.transports for undecided in each.unknown}
    return verdict.verdict, broken, unknown


def _one(program: str, *, microbatches: int = 1, stages: int = 1, more: str = "") -> str:
    return f'microbatches: {microbatches}\nstages: {stages}\n{more}ranks:\n  - "{program}"\n'


REFUTED = [
    (
        "a microbatch without its segments",
        _one("0F0; 0F1; 0B1; 0B0", microbatches=2, more="segments: 2\n"),
        "PP101",
    ),
    (
        "one microbatch in two pipelines",
        _one(
            "0F0; 1F0; 1B0; 0B0; 2F0; 3F0; 3B0; 2B0", stages=4, more="pipelines: [[0, 1], [2, 3]]\n"
        ),
        "PP102",
    ),
    (
        "a stray forward in a second pipeline",
        _one("0F0; 1F0; 1B0; 0B0; 2F0", stages=4, more="pipelines: [[0, 1], [2, 3]]\n"),
        "PP102",
    ),
    (
        "a loss of the first stage before the last ran",
        _one("0F0; 0L0; 1F0; 1B0; 0B0", stages=2),
        "PP401",
    ),
    ("a label that comes after the loss", _one("0F0; LOAD Y.0; 0B0"), "PP401"),
    (
        "a weight gradient before its forward, in a fragment",
        _one("0W0; 0F0", more="fragment: true\n"),
        "PP402",
    ),
    (
        "a backward before a segment's forward, in a fragment",
        _one("0F0; 0B0; 0F1", microbatches=1, more="fragment: true\nsegments: 2\n"),
        "PP402",
    ),
    (
        "steps of one stage only in one of two",
        _one(
            "0F0; 1F0; 1B0; 0B0; 0STEP; 1STEP; 0F1; 1F1; 1B1; 0B1; 0STEP",
            stages=2,
            more="steps: 2\n",
        ),
        "PP101",
    ),
    ("an AWAIT from a rank that does not exist", _one("0F0; 0B0; AWAIT from=2147483647"), "PP103"),
    (
        "messages between two stages of a rank",
        _one("0F0; [SEND F0.0 to=0 | RECV F0.0 from=0]; 1F0; 1B0; 0B0", stages=2),
        "PP104",
    ),
    (
        "an input loaded on another rank",
        'microbatches: 1\nstages: 1\nplacement: [1]\nranks:\n  - "LOAD X.0"\n  - "0F0; 0B0"\n',
        "PP401",
    ),
    (
        "one STEP for two steps",
        _one("0F0; 0B0; 0F1; 0B1; 0STEP", more="steps: 2\n"),
        "PP703",
    ),
    (
        "a forward after the STEP, in two copies",
        _one(
            "COLL a ranks=0 h=x; 0F0; 0STEP; 0F1",
            microbatches=2,
            more="fragment: true\nsteps: any\n",
        ),
        "PP602",
    ),
    (
        "a repeated contribution, where that of operations is ignored",
        _one("0F0; 0B0; 0B0; 0STEP", more="rules: {ignore: [PP102]}\n"),
        "PP702",
    ),
    (
        "a lost contribution, where what is missing is ignored",
        _one("0F0; 0F1; 0B0; 0STEP", microbatches=2, more="rules: {ignore: [PP101]}\n"),
        "PP701",
    ),
    (
        "a repeated contribution at the end of the program",
        _one("0F0; 0B0; 0B0", more="rules: {select: [PP101, PP702]}\n"),
        "PP702",
    ),
    (
        "adding while a reduction runs",
        _one("0F0; 0F1; 0B0; 0REDUCE h=a; 0B1; WAIT a", microbatches=2),
        "PP502",
    ),
]
LEGAL = [
    (
        "segments of two microbatches",
        _one("0F0; 0F1; 0F2; 0F3; 0B1; 0B0; 0B3; 0B2", microbatches=2, more="segments: 2\n"),
    ),
    (
        "a loss while the stage is sharded",
        _one("0UNSHARD; 0F0; 0RESHARD; 0L0; 0UNSHARD; 0B0; 0RESHARD"),
    ),
    (
        "a message to oneself that links no two stages",
        _one("0F0; [SEND F0.0 to=0 | RECV F0.0 from=0]; 0B0"),
    ),
    ("one SKIP for two steps", _one("0F0; 0B0; 0SKIP; 0F1; 0B1", more="steps: 2\n")),
    ("STEP and SKIP of one stage", _one("0F0; 0B0; 0STEP; 0SKIP")),
    (
        "two STEPs, in two copies",
        _one("COLL a ranks=0 h=x; 0STEP; 0STEP", more="fragment: true\nsteps: any\n"),
    ),
    (
        "an input gradient without its weight gradient, in a fragment",
        _one("0F0; 0I0; 0STEP", more="fragment: true\n"),
    ),
    (
        "weight gradients that read no weights",
        _one("0UNSHARD; 0F0; 0I0; 0RESHARD; 0W0 w=none"),
    ),
    ("parts of one backward", _one("0F0; 0B0 param=a; 0W0 param=b")),
]
UNKNOWN = [
    (
        "what runs when it is ready, over any number of steps",
        "microbatches: 1\nsteps: any\nranks: [{order: ready, program: 0F0}]\n",
        "PP101",
    ),
]


@pytest.mark.parametrize(("what", "text", "rule"), REFUTED, ids=[case[0] for case in REFUTED])
def test_an_illegal_corner_is_refuted(what: str, text: str, rule: str) -> None:
    verdict, broken, _ = _judged(text)

    assert (verdict, rule in broken) == ("refuted", True), what


@pytest.mark.parametrize(("what", "text"), LEGAL, ids=[case[0] for case in LEGAL])
def test_a_legal_corner_is_proved(what: str, text: str) -> None:
    assert _judged(text)[0] == "proved", what


@pytest.mark.parametrize(("what", "text", "rule"), UNKNOWN, ids=[case[0] for case in UNKNOWN])
def test_a_corner_that_no_rule_judges_is_unknown(what: str, text: str, rule: str) -> None:
    verdict, _, unknown = _judged(text)

    assert (verdict, rule in unknown) == ("unknown", True), what


def test_weak_communicators_are_judged_on_two_copies_for_any_number_of_steps() -> None:
    text = (
        "microbatches: 1\nstages: 1\nfragment: true\nsteps: any\n"
        "transport: {completion: buffered, weak: default}\n"
        'ranks:\n  - "RECV bar from=1; SIGNAL to=2; RECV bar from=2"\n'
        '  - "SEND bar to=0; AWAIT from=2"\n  - "AWAIT from=0; SIGNAL to=1; SEND bar to=0"\n'
    )

    assert _judged(text)[:2] == ("refuted", {"PP301"})


def test_a_weak_message_whose_sender_has_left_its_call_is_a_deadlock() -> None:
    text = (
        "microbatches: 1\nstages: 1\nfragment: true\n"
        "transport: {completion: buffered, weak: default}\n"
        'ranks:\n  - "RECV a from=2; RECV foo from=1"\n  - "SEND foo to=0; SIGNAL to=2"\n'
        '  - "AWAIT from=1; SEND a to=0"\n'
    )

    assert _judged(text)[:2] == ("refuted", {"PP301"})


@pytest.mark.parametrize("program", ["AWAIT from=0; SIGNAL to=0", "SEND a to=0; RECV a from=0"])
def test_a_deadlock_of_one_place_says_what_it_is(program: str) -> None:
    text = HEAD + _one(program, more="fragment: true\n") + "transport: rendezvous\n"
    first = api.judge_text(text, "corner.yaml").first

    assert first is not None
    assert first.rule == "PP301"
    assert "waits for what comes after it" in first.message


@pytest.mark.parametrize(
    ("program", "rule"),
    [
        ("0F0 bucket=a; 0B0; 0F0 bucket=b", "PP402"),
        ("0F0 bucket=a; 1F0; 0F0 bucket=b; 1B0; 0B0", "PP401"),
        ("0F0; 1F0; 1B0 c=1/2; 0B0; 1B0 c=1/2", "PP403"),
        ("0F0 bucket=a; SEND F0.0 to=0 comm=c; 0F0 bucket=b; RECV F0.0 from=0 comm=c", "PP405"),
    ],
)
def test_what_reads_between_the_parts_of_an_operation_comes_too_early(
    program: str, rule: str
) -> None:
    keys = "placement: [0, 0]\nfragment: true\ntransport: buffered\n"
    _, broken, _ = _judged(_one(program, stages=2, more=keys))

    assert rule in broken


def test_a_rank_without_instructions_holds_what_its_stages_hold() -> None:
    keys = "placement: [0, 1]\nfragment: true\nsizes: {weights: [1GiB, 4GiB]}\n"
    text = 'microbatches: 1\nstages: 2\nbounds: {memory: 2GiB}\nranks: ["0F0", []]\n'
    verdict = api.judge_text(HEAD + keys + text + "transport: rendezvous\n", "made")

    assert verdict.first_rule == "PP506"
    assert [(place.rank, place.position) for place in verdict.transports[0].violations[0].at] == [
        (1, 0)
    ]


@pytest.mark.parametrize(("program", "steps"), [("0F0; 0B0", "any"), ("0F0", 1)])
def test_a_bound_holds_for_any_number_of_steps_only_where_every_forward_ends(
    program: str, steps: object
) -> None:
    text = _one(program, more="bounds: {live: 2}\nfragment: true\ntransport: rendezvous\n")
    (transport,) = api.judge_text(HEAD + text, "made").transports

    assert (transport.outcome, transport.steps) == ("proved", steps)
