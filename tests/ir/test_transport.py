import pytest

from pipeproof.ir.transport import (
    DEFAULT,
    NAMED,
    STRICT,
    Completion,
    Groups,
    Queue,
    Wait,
    named,
    names,
)

RENDEZVOUS, BUFFERED = Completion.RENDEZVOUS, Completion.BUFFERED


@pytest.mark.parametrize(
    ("name", "completion", "queue", "groups", "wait"),
    [
        ("rendezvous", RENDEZVOUS, Queue.NONE, Groups.INDEPENDENT, Wait.BLOCKING),
        ("rendezvous-edge", RENDEZVOUS, Queue.EDGE, Groups.INDEPENDENT, Wait.BLOCKING),
        ("rendezvous-serial", RENDEZVOUS, Queue.PAIR, Groups.INDEPENDENT, Wait.BLOCKING),
        ("rendezvous-rank", RENDEZVOUS, Queue.RANK, Groups.INDEPENDENT, Wait.BLOCKING),
        ("rendezvous-atomic", RENDEZVOUS, Queue.NONE, Groups.ATOMIC, Wait.BLOCKING),
        ("buffered", BUFFERED, Queue.NONE, Groups.INDEPENDENT, Wait.BLOCKING),
        ("buffered-1", BUFFERED, Queue.NONE, Groups.INDEPENDENT, Wait.BLOCKING),
        ("nccl-lazy", RENDEZVOUS, Queue.PAIR, Groups.INDEPENDENT, Wait.AT_USE),
        ("nccl-eager", RENDEZVOUS, Queue.RANK, Groups.INDEPENDENT, Wait.AT_USE),
        ("nccl-direction", RENDEZVOUS, Queue.DIRECTION, Groups.INDEPENDENT, Wait.AT_USE),
        ("nccl-edge", RENDEZVOUS, Queue.EDGE, Groups.INDEPENDENT, Wait.AT_USE),
        ("gloo", BUFFERED, Queue.EDGE, Groups.INDEPENDENT, Wait.AT_USE),
        ("nccl-first", RENDEZVOUS, Queue.PAIR, Groups.INDEPENDENT, Wait.AT_USE),
        ("nccl-small", BUFFERED, Queue.PAIR, Groups.INDEPENDENT, Wait.AT_USE),
    ],
)
def test_named_transports_are_those_of_the_language(
    name: str, completion: Completion, queue: Queue, groups: Groups, wait: Wait
) -> None:
    (transport,) = named(name)

    assert transport.name == name
    assert (transport.completion, transport.queue) == (completion, queue)
    assert (transport.groups, transport.wait) == (groups, wait)
    assert transport.capacity == (1 if name == "buffered-1" else None)
    assert transport.lazy == (name == "nccl-first")


def test_strict_is_the_default_and_stands_for_six() -> None:
    assert DEFAULT == "strict"
    assert tuple(each.name for each in named("strict")) == STRICT
    assert len(STRICT) == 6
    assert set(names()) == {*NAMED, "strict"}


def test_unknown_name_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        named("pigeon")
