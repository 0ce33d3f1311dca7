"""What is not known is refused with what is closest to it."""

from pathlib import Path

import pytest

from pipeproof.cli import run

SHAPE = ("--ranks", "2", "--microbatches", "2")
SPEC = "pipeproof: 1\nmicrobatches: 1\nranks: [0F0]\n"


@pytest.mark.parametrize(
    ("argv", "meant"),
    [
        (("chekc", "a.yaml"), "did you mean 'check'?"),
        (("check", "a.yaml", "--formt", "json"), "'--format'"),
        (("check", "a.yaml", "--transport", "glo"), "did you mean 'gloo'?"),
        (("check", "a.yaml", "--profile", "torch-runtme"), "did you mean 'torch-runtime'?"),
        (("check", "a.yaml", "--select", "PP3O1"), "did you mean 'PP301'?"),
        (("check", "a.yaml", "--ignore", "PP50"), ""),
        (("check", "a.yaml", "--limit", "dept=3"), "did you mean 'depth'?"),
        (("check", "a.yaml", "--budget", "state=3"), "did you mean 'states'?"),
        (("check", "--schedule", "1f1", *SHAPE), "did you mean '1f1b'?"),
        (("generate", "gpip", *SHAPE), "did you mean 'gpipe'?"),
        (("init", "-", "--schedule", "zbvv"), "did you mean 'zbv'?"),
        (
            ("check", "--schedule", "gpipe", *SHAPE, "--option", "backwards=descending"),
            "did you mean 'backward'?",
        ),
        (("explain", "dedlock"), "did you mean 'deadlock'?"),
        (("diagram", "a.yaml", "--rule", "dedlock"), "did you mean 'deadlock'?"),
    ],
)
def test_a_word_of_the_command_line(
    argv: tuple[str, ...],
    meant: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.yaml").write_text(SPEC, encoding="utf-8")

    assert (run(argv) == 2) is bool(meant)
    assert meant in (err := capsys.readouterr().err)
    assert ("did you mean" in err.lower()) is bool(meant)


@pytest.mark.parametrize(
    ("more", "meant"),
    [
        ("transprot: gloo", "transport"),
        ("transport: glo", "gloo"),
        ("transport: {que: pair}", "queue"),
        ("transport: {queue: pairs}", "pair"),
        ("profile: torch-runtme", "torch-runtime"),
        ("weights: {policy: flash}", "flush"),
        ("bounds: {lives: 1}", "live"),
        ("expect: [{verdict: proven}]", "proved"),
        ("expect: [{verdict: refuted, rule: PP3O1}]", "PP301"),
        ("faults: {among: [{rank: 0, fault: mising}]}", "missing"),
        ("storage: {recieve: {slots: 1}}", "receive"),
    ],
)
def test_a_key_or_word_of_a_spec(
    more: str, meant: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(f"{SPEC}{more}\n", encoding="utf-8")

    assert run(["check", str(path)]) == 2
    assert f"did you mean '{meant}'?" in capsys.readouterr().err
