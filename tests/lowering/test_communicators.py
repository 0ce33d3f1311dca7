"""Whether a call that sends and receives stands on a communicator of its own."""

import dataclasses

import numpy as np

from pipeproof import schedules
from pipeproof.ir.transport import NAMED
from pipeproof.lowering.communicators import joined, splits_calls
from pipeproof.lowering.lower import lower


def test_only_where_a_pair_of_ranks_has_its_own_do_calls_part() -> None:
    made = schedules.generate("1f1b", ranks=2, microbatches=2)
    run = lower(dataclasses.replace(made, lowering="torch-single"))

    assert [name for name in NAMED if splits_calls(run, NAMED[name])] == [
        *("rendezvous-serial", "nccl-lazy", "nccl-first", "nccl-small"),
    ]


def test_other_lowerings_keep_what_they_say() -> None:
    run = lower(schedules.generate("1f1b", ranks=2, microbatches=2))

    assert all(splits_calls(run, transport) for transport in NAMED.values())


def test_joined_calls_stand_on_the_default_communicator() -> None:
    made = schedules.generate("1f1b", ranks=2, microbatches=2)
    run = lower(dataclasses.replace(made, lowering="torch-single"))

    assert np.any(run.operations.comm)
    assert not np.any(joined(run).operations.comm)
