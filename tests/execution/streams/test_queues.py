from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from pipeproof.execution.streams.device import Kernel
from pipeproof.execution.streams.queues import Queues, seeded
from tests.execution.streams.flowed import every, interleaved

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Choose = Callable[[Sequence[int]], int]


def told(queues: Queues, what: list[str], stream: int, letters: str) -> None:
    for letter in letters:
        queues.launch(stream, Kernel(letter, partial(what.append, letter)))


def free(choose: Choose) -> list[str]:
    queues, what = Queues(choose), list[str]()
    one, other = queues.stream(), queues.stream()
    told(queues, what, one, "ab")
    told(queues, what, other, "xyz")
    queues.finish()
    return what


def awaited(choose: Choose) -> list[str]:
    queues, what = Queues(choose), list[str]()
    one, other = queues.stream(), queues.stream()
    told(queues, what, one, "a")
    event = queues.record(one)
    told(queues, what, one, "b")
    told(queues, what, other, "x")
    queues.wait(other, event)
    told(queues, what, other, "y")
    queues.finish()
    return what


def test_streams_take_any_order_that_keeps_each_of_theirs() -> None:
    assert every(free) == interleaved("ab", "xyz")


def test_what_waits_for_an_event_comes_behind_it_and_nothing_else_is_ordered() -> None:
    wanted = {each for each in interleaved("ab", "xy") if each.index("a") < each.index("y")}

    assert every(awaited) == wanted


def test_seeds_come_to_every_order_in_time() -> None:
    assert {tuple(free(seeded(seed))) for seed in range(400)} == interleaved("ab", "xyz")


def test_a_seed_is_one_order() -> None:
    assert [free(seeded(7)) for _ in range(3)] == [free(seeded(7))] * 3


@pytest.mark.parametrize(("units", "happens"), [(0, "awxyz"), (2, "wxayz"), (9, "wxyza")])
def test_a_pause_lasts_while_others_do_as_much_or_have_nothing_left(
    units: int, happens: str
) -> None:
    queues, what = Queues(lambda able: able[0]), list[str]()
    one, other = queues.stream(), queues.stream()
    queues.sleep(one, units)
    told(queues, what, one, "a")
    told(queues, what, other, "wxyz")
    queues.finish()

    assert "".join(what) == happens


def test_an_event_behind_a_pause_is_over_after_it() -> None:
    queues, what = Queues(lambda able: able[0]), list[str]()
    one, other, third = queues.stream(), queues.stream(), queues.stream()
    queues.sleep(one, 2)
    event = queues.record(one)
    queues.wait(other, event)
    told(queues, what, other, "a")
    told(queues, what, third, "xyz")
    queues.finish()

    assert "".join(what) == "xyaz"


def test_nothing_happens_before_it_is_finished() -> None:
    queues, what = Queues(seeded(0)), list[str]()
    told(queues, what, queues.stream(), "a")

    assert not what
    queues.finish()
    assert what == ["a"]


def test_a_kernel_that_fails_leaves_nothing_behind() -> None:
    queues, what = Queues(lambda able: able[0]), list[str]()
    one, other = queues.stream(), queues.stream()
    queues.launch(one, Kernel("fails", partial(what.__delitem__, 7)))
    told(queues, what, other, "x")

    with pytest.raises(IndexError):
        queues.finish()
    queues.finish()
    assert not what
