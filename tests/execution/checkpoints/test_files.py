from __future__ import annotations

import os
from dataclasses import fields, replace
from typing import TYPE_CHECKING

import pytest
import torch

from pipeproof.execution.checkpoints import files
from pipeproof.execution.checkpoints.state import CheckpointError, Part, unequal
from tests.execution.checkpoints.saved import PIPELINE, moment

if TYPE_CHECKING:
    from pathlib import Path

    from pipeproof.execution.checkpoints._trees import Tree


@pytest.fixture(scope="module")
def part() -> Part:
    return moment(PIPELINE, 45, "dropout").parts()[0]


def test_what_is_packed_comes_back_bitwise(part: Part) -> None:
    data = files.pack(part)

    assert not unequal(files.unpack(data, "it"), part)
    assert files.pack(files.unpack(data, "it")) == data


def test_numbers_come_back_with_their_bits_their_strides_and_their_types(part: Part) -> None:
    odd = torch.tensor([[-0.0, torch.nan, torch.inf], [1e-310, 2.0, -3.0]], dtype=torch.float64)
    said: dict[str, Tree] = {
        "odd": odd.T,
        "none": torch.zeros(0),
        "one": torch.tensor(3.5, dtype=torch.bfloat16),
        "mask": torch.tensor([True, False]),
        "words": ["a", None, True, 1, 1.5],
    }

    back = files.unpack(files.pack(replace(part, caller=said)), "it").caller

    assert isinstance(back["odd"], torch.Tensor)
    assert back["odd"].stride() == odd.T.stride()
    assert torch.equal(back["odd"].view(torch.int64), odd.T.view(torch.int64))
    assert back["words"] == said["words"]
    assert str(back["one"]) == str(said["one"])


def test_a_file_that_is_torn_anywhere_or_altered_is_rejected(part: Part) -> None:
    data = files.pack(part)
    torn = [data[:n] for n in (0, 10, 60, 100, len(data) // 2, len(data) - 1)]
    altered = [data[:n] + bytes([data[n] ^ 1]) + data[n + 1 :] for n in range(0, len(data), 997)]

    for each in (*torn, *altered, data + b"\0"):
        with pytest.raises(CheckpointError, match=r"^rank 0: "):
            files.unpack(each, "rank 0")


@pytest.mark.parametrize("field", [each.name for each in fields(Part)])
def test_a_file_without_a_field_is_rejected_though_its_digest_is_right(
    part: Part, field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = part.tree()
    del tree[field]
    monkeypatch.setattr(Part, "tree", lambda _: tree)
    data = files.pack(part)

    with pytest.raises(CheckpointError, match="and a checkpoint holds"):
        files.unpack(data, "it")


def test_what_holds_a_program_is_rejected_and_not_run(part: Part) -> None:
    forged = replace(part, caller={"x": {"kind": "eval", "of": ["1"]}, "y": {"tensor": ["a"]}})
    packed = files.pack(forged)

    assert files.unpack(packed, "it").caller["x"] == {"kind": "eval", "of": ["1"]}
    with pytest.raises(CheckpointError, match="no tree of numbers"):
        files.unpack(files.pack(replace(part, caller={"y": {"tensor": ["x", [], [], 0]}})), "it")


def test_a_file_is_whole_or_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "rank" / "a.ckpt"
    files.write(path, b"before")

    def fails(number: int) -> None:
        raise OSError(number, "no space left")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(OSError, match="no space left"):
        files.write(path, b"after")

    assert path.read_bytes() == b"before"
    assert [each.name for each in path.parent.iterdir()] == ["a.ckpt"]


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"a\.ckpt: No such file"):
        files.read(tmp_path / "a.ckpt")


def test_a_seal_is_that_of_the_bytes(part: Part) -> None:
    data = files.pack(part)

    assert files.seal(data, "it") == files.seal(bytes(data), "it")
    assert files.seal(data, "it") != files.seal(files.pack(replace(part, caller={})), "it")
    with pytest.raises(CheckpointError, match="torn or altered"):
        files.seal(data[:-1], "it")
