"""`pipeproof slots`: what is live, and how many slots are enough."""

import json
from pathlib import Path

import pytest

from pipeproof.cli import run

SPEC = """\
pipeproof: 1
microbatches: 4
transport: rendezvous
storage: {{stash: {{slots: {slots}}}}}
{more}ranks:
  - 0F0; 0F1; 0B1; 0F3; 0B3; 0B0; 0F2; 0B2
"""


def written(folder: Path, slots: int, more: str = "") -> str:
    path = folder / "a.yaml"
    path.write_text(SPEC.format(slots=slots, more=more))
    return str(path)


def test_the_safe_counts_of_a_pool_are_printed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code = run(["slots", written(tmp_path, 3)])
    out = capsys.readouterr().out

    assert code == 1
    assert "stash slots (microbatch mod slots): safe with 2, or from 4 on" in out
    assert "3 as described is not safe" in out


def test_a_file_whose_pools_are_safe_exits_0(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code = run(["slots", written(tmp_path, 2)])
    out = capsys.readouterr().out

    assert code == 0
    assert "2 as described is safe" in out
    assert "rank 0: 1 activation, 1 gradient, 2 kept, 1 version" in out


def test_sizes_turn_numbers_into_bytes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    sizes = "sizes: {keep: 1.5GiB, weights: 4GiB}\n"
    run(["slots", written(tmp_path, 2, sizes)])

    assert "2 kept (3 GiB), 1 version (4 GiB), 7 GiB in all" in capsys.readouterr().out


def test_json_holds_the_same(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    run(["slots", written(tmp_path, 3), "--format", "json"])
    said = json.loads(capsys.readouterr().out)
    (file,) = said["files"]

    assert said["schema"] == "pipeproof.slots/1"
    assert file["pools"] == [
        {
            "pool": "stash",
            "slot": "microbatch mod slots",
            "guard": "none",
            "described": 3,
            "safe": [2],
            "safe_from": 4,
            "text": "safe with 2, or from 4 on",
        }
    ]
    assert {"rank": 0, "kind": "kept", "most": 2, "bytes": None, "exact": True} in (
        file["transports"][0]["live"]
    )


def test_an_unreadable_file_exits_2_and_says_where(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("pipeproof: 1\nmicrobatches: 1\nranks: [0Q0]\n")
    code = run(["slots", str(path)])
    err = capsys.readouterr().err

    assert code == 2
    assert f"{path}:3:9: " in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("take: any", "stash slots are handed out at run time"),
        ("slot: use mod slots", "slots are counted only where the runtime has no choice"),
    ],
)
def test_what_a_runtime_chooses_is_left_undecided(
    more: str, said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    text = SPEC.format(slots=f"1, {more}", more="")
    path = tmp_path / "a.yaml"
    path.write_text(text if "take" in more else text.replace("0F0;", "CHOOSE q a|b; 0F0;"))

    assert run(["slots", str(path)]) == 3
    assert said in capsys.readouterr().out
