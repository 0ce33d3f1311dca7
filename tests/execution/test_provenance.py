import json
import os
from dataclasses import asdict

import pytest
import torch

from pipeproof.execution.provenance import Provenance, provenance, settled
from pipeproof.execution.witness import WITNESSES
from tests.semantics import made

PROGRAM = "0F0; 0F1; 0B0; 0B1; 0STEP"


def of(*seeds: int, witness: str = "linear", program: str = PROGRAM, **keys: object) -> Provenance:
    return provenance(made.run(program, **{"microbatches": 2, **keys}), witness, seeds)


@pytest.mark.parametrize(
    ("witness", "precision"), [(n, "float64" if n == "linear" else "float32") for n in WITNESSES]
)
def test_precision_is_that_of_the_witness(witness: str, precision: str) -> None:
    assert of(0, witness=witness).precision == precision


def test_equal_runs_come_of_the_same_and_everything_is_json() -> None:
    assert of(0, 1) == of(0, 1)
    assert json.loads(json.dumps(asdict(of(0, 1))))["seeds"] == [0, 1]


def test_other_data_have_another_digest() -> None:
    digests = {
        of(0).inputs,
        of(1).inputs,
        of(0, 1).inputs,
        of(0, witness="dropout").inputs,
        of(0, microbatches=1, steps=2).inputs,
        of(0, program="0F0; 1F0; 1B0; 0B0", microbatches=1).inputs,
        of(
            0, program="0F0; 1F0; 1B0; 0B0", microbatches=1, gradients={"tied": [["0", "1"]]}
        ).inputs,
    }

    assert len(digests) == 7


def test_policy_and_boundary_are_those_that_the_file_asks_for() -> None:
    found = of(0, weights={"policy": "stash", "updates": "microbatch"})

    assert (found.policy, found.boundary) == ("stash", "each microbatch")
    assert (of(0).policy, of(0).boundary) == ("flush", "each step of 2 microbatches")
    assert of(0, program="0F0; 0B0; 0F1; 0B1").boundary == "none"


def test_nothing_names_the_machine_or_its_user() -> None:
    said = json.dumps(asdict(of(0)))

    for name in (os.uname().nodename, os.path.expanduser("~"), os.getcwd()):  # noqa: PTH109, PTH111
        assert name not in said


def test_flags_are_those_that_hold_while_it_runs_and_go_back_behind_it() -> None:
    threads, outside = torch.get_num_threads(), of(0).flags

    with settled():
        inside = of(0).flags

    assert inside["deterministic_algorithms"] is True
    assert inside["fill_uninitialized_memory"] is True
    assert inside["threads"] == 1
    assert (inside["tf32"], inside["cudnn_benchmark"]) == (False, False)
    assert inside["cublas_workspace_config"] == ":4096:8"
    assert of(0).flags == outside
    assert torch.get_num_threads() == threads


def test_flags_go_back_behind_an_error() -> None:
    outside = of(0).flags

    with pytest.raises(ValueError, match="stop"), settled():
        raise ValueError("stop")  # noqa: EM101

    assert of(0).flags == outside


def test_memory_that_nobody_wrote_is_nan_while_it_is_settled() -> None:
    with settled():
        assert bool(torch.empty(64).isnan().all())
