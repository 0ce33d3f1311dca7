"""Every kind of task has its work, and the same task has the same answer."""

import pytest

from pipeproof.campaign.task import Task, canonical
from pipeproof.campaign.work import WORK, perform, work

HANGS = """\
pipeproof: 1
microbatches: 1
transport: [rendezvous, buffered]
fragment: true
ranks:
  - 0F0; RECV B1.0 from=1; SEND F0.0 to=1
  - RECV F0.0 from=0; 1F0; 1B0; SEND B1.0 to=0
"""


@pytest.mark.parametrize("kind", sorted(WORK))
def test_every_kind_names_what_does_it(kind: str) -> None:
    assert callable(work(kind))


def test_a_kind_that_nobody_does_is_named() -> None:
    with pytest.raises(ValueError, match=r"no task is of kind 'dance'; write one of .*judge"):
        perform(Task("dance", {}))


def test_a_task_has_the_same_answer_each_time() -> None:
    task = Task("judge", {"text": HANGS})

    assert canonical(perform(task)) == canonical(perform(task))
