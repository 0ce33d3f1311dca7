"""`pipeproof partition`: what is printed, and what each mistake in its input is told as."""

import json
from pathlib import Path

import pytest

from pipeproof.cli import run


def written(folder: Path, text: str) -> str:
    path = folder / "costs.json"
    path.write_text(text, encoding="utf-8")
    return str(path)


def parted(
    capsys: pytest.CaptureFixture[str], folder: Path, text: str, stages: int, *more: str
) -> tuple[int, str, str]:
    code = run(["partition", "--layers", written(folder, text), "--stages", str(stages), *more])
    told = capsys.readouterr()
    return code, told.out, told.err


def test_stages_are_printed_beside_the_split_by_count(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, out, _ = parted(capsys, tmp_path, "[5, 1, 1, 1, 1, 1]", 2)
    lines = [line.split() for line in out.splitlines()]

    assert code == 0
    assert lines[1] == ["0", "0", "5", "0-2", "7"]
    assert lines[2] == ["1", "1-5", "5", "3-5", "3"]
    assert lines[3] == ["largest", "5", "7"]
    assert "28.6 % below" in out


def test_json_holds_first_and_last_layer_and_load(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    text = '{"embed": 0.5, "block": 0.25, "head": 0.25}'
    _, out, _ = parted(capsys, tmp_path, text, 2, "--format", "json")
    said = json.loads(out)

    assert said["schema"] == "pipeproof.partition/1"
    assert said["partition"] == {
        "largest": 0.5,
        "stages": [
            {"first": 0, "last": 0, "load": 0.5, "names": ["embed", "embed"]},
            {"first": 1, "last": 2, "load": 0.5, "names": ["block", "head"]},
        ],
    }
    assert said["even"]["largest"] == 0.75
    assert said["ideal"] == 0.5


def test_decimals_are_read_as_they_are_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    _, out, _ = parted(capsys, tmp_path, "[0.1, 0.2, 0.3]", 2, "--format", "json")

    assert json.loads(out)["partition"]["largest"] == 0.3


def test_a_whole_number_of_any_length_is_printed_whole(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    large = 2**80 + 1
    _, out, _ = parted(capsys, tmp_path, f"[{large}]", 1, "--format", "json")

    assert json.loads(out)["partition"]["largest"] == large


@pytest.mark.parametrize(
    ("text", "stages", "said"),
    [
        ("[1, 2]", 0, "1:1: 0 stages; expected at least 1"),
        ("[1, 2]", -3, "1:1: -3 stages; expected at least 1"),
        ("[]", 1, "1:1: no layers; expected at least one a stage"),
        ("{}", 1, "1:1: no layers; expected at least one a stage"),
        ("[1, 2]", 3, "1:1: 3 stages for 2 layers; expected at most one stage a layer"),
        ("[1,\n -2]", 1, "2:2: the cost of layer 1 is '-2'; expected a number"),
        ("[1, NaN]", 1, "1:5: the cost of layer 1 is 'NaN'; expected a number"),
        ("[Infinity]", 1, "1:2: the cost of layer 0 is 'Infinity'; expected a number"),
        ("[-Infinity]", 1, "1:2: the cost of layer 0 is '-Infinity'; expected a number"),
        ("[1e999]", 1, "1:2: the cost of layer 0 is '1e999'; expected a number"),
        ("[1e-99999999]", 1, "1:2: the cost of layer 0 is '1e-99999999'; expected a number"),
        ("[true]", 1, "1:2: the cost of layer 0 is 'true'; expected a number"),
        ('["1"]', 1, "1:2: the cost of layer 0 is '\"1\"'; expected a number"),
        ("[[1]]", 1, "1:2: the cost of layer 0 is '[1]'; expected a number"),
        ("3", 1, "1:1: what stands here is no list and no object; expected a JSON list"),
        ("", 1, "1:1: what stands here is no list and no object; expected a JSON list"),
        ("[1 2]", 1, "1:4: the next cost does not begin; expected ',' or ']'"),
        ("[1, ]", 1, "1:5: this is no JSON; expecting value"),
        ("[1", 1, "1:3: the next cost does not begin; expected ',' or ']'"),
        ("[1] x", 1, "1:5: more stands behind the costs; expected the end of the file"),
        ('{"a": 1, "a": 2}', 1, "1:10: the layer 'a' stands twice; expected a name a layer"),
        ("{1: 1}", 1, '1:2: what stands here is no name; expected "name": cost'),
        ('{"a" 1}', 1, "1:6: no cost of 'a'; expected ':'"),
        ("[" * 100_000, 1, "1:2: lists within lists; expected a JSON list"),
    ],
)
def test_a_mistake_is_told_with_its_place(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, stages: int, said: str
) -> None:
    code, out, err = parted(capsys, tmp_path, text, stages)

    assert code == 2
    assert not out
    assert f"costs.json:{said}" in err
    assert "Traceback" not in err


def test_every_mistake_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    _, _, err = parted(capsys, tmp_path, "[-1,\n-2]", 1)

    assert "costs.json:1:2: the cost of layer 0" in err
    assert "costs.json:2:1: the cost of layer 1" in err


def test_names_of_layers_bring_no_control_characters(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    _, out, _ = parted(capsys, tmp_path, '{"\\u001b[31mred": 1}', 1)

    assert "\x1b" not in out


def test_a_file_that_is_not_there_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["partition", "--layers", "nowhere.json", "--stages", "2"])

    assert code == 2
    assert "nowhere.json:1:1: it does not exist; name a file" in capsys.readouterr().err
