"""Messages that do not find each other, or find the wrong one."""

from collections.abc import Iterator

import numpy as np

from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import NOBODY, IntArray
from pipeproof.ir.sets import among, distinct, numbered, without
from pipeproof.semantics.found import Finding, Findings
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.pairing import pair_signals
from pipeproof.semantics.relations._spots import at, finding, ordinal_in_group

__all__ = ["crossed", "misshapen", "split", "stranded", "unbalanced", "unmatched"]


def _lone(frame: Frame) -> tuple[IntArray, IntArray]:
    """Return the sends and the receives that have no partner, as rows."""
    pairing = frame.pairing
    return pairing.send[pairing.receive < 0], pairing.receive[pairing.send < 0]


def _route(frame: Frame, rows: IntArray) -> IntArray:
    """Number (source, destination) of messages."""
    ops = frame.ops
    sends = ops.kind[rows] == Kind.SEND
    source = np.where(sends, ops.rank[rows], ops.peer[rows])
    return np.asarray(source * frame.ranks + np.where(sends, ops.peer[rows], ops.rank[rows]))


def _split_pairs(frame: Frame) -> list[tuple[int, int]]:
    """Pair lone sends and receives of one value between the same ranks on other communicators."""
    sends, receives = _lone(frame)
    rows = np.concatenate((sends, receives))
    if not len(sends) or not len(receives):
        return []
    _, value = numbered(frame.ops.value[rows])
    key = _route(frame, rows) * len(rows) + value
    left, right = key[: len(sends)], key[len(sends) :]
    turn = {
        (int(k), int(n)): int(r)
        for k, n, r in zip(right, ordinal_in_group(right), receives, strict=True)
    }
    pairs = []
    for k, n, send in zip(left, ordinal_in_group(left), sends, strict=True):
        receive = turn.get((int(k), int(n)))
        if receive is not None and frame.ops.comm[send] != frame.ops.comm[receive]:
            pairs.append((int(send), receive))
    return pairs


def split(frame: Frame) -> Findings:
    """A send and a receive of one value between the same ranks stand on one communicator."""
    names = [name or "the default one" for name in frame.ops.comms]
    found = [
        finding(
            frame,
            send,
            receive,
            value=frame.ops.value_text(int(frame.ops.value[send])),
            one=names[int(frame.ops.comm[send])],
            other=names[int(frame.ops.comm[receive])],
        )
        for send, receive in _split_pairs(frame)
    ]
    return Findings(int(np.sum(frame.run.is_message)), found)


def unmatched(frame: Frame) -> Findings:
    """Every message has a partner, and every AWAIT a SIGNAL."""
    told = {row for pair in _split_pairs(frame) for row in pair}
    sends, receives = _lone(frame)
    rows = [row for row in np.concatenate((sends, receives)).tolist() if row not in told]
    _, _, awaits = pair_signals(frame.run)
    judged = int(np.sum(frame.run.is_message)) + int(np.sum(frame.ops.is_kind(Kind.AWAIT)))
    found = [_lonely(frame, row) for row in sorted([*rows, *awaits.tolist()])]
    return Findings(judged, found)


def _lonely(frame: Frame, row: int) -> Finding:
    missing = {Kind.SEND: "receive", Kind.RECV: "send", Kind.AWAIT: "signal"}
    kind, peer = Kind(int(frame.ops.kind[row])), int(frame.ops.peer[row])
    return finding(frame, row, missing=missing[kind], peer=str(peer))


def unbalanced(frame: Frame) -> Findings:
    """On each channel as many messages are sent as received."""
    told = [row for pair in _split_pairs(frame) for row in pair]
    pairing = frame.pairing
    channels = distinct(pairing.channel)
    kept = ~(among(pairing.send, told) | among(pairing.receive, told))
    lone_send = kept & (pairing.receive < 0)
    lone_receive = kept & (pairing.send < 0)
    if frame.ops.comms[-1] == NOBODY:  # such a receive stands on no channel
        kept &= pairing.channel % len(frame.ops.comms) != len(frame.ops.comms) - 1
        lone_receive &= kept
    found = []
    for channel in channels[among(channels, pairing.channel[lone_send | lone_receive])].tolist():
        here = kept & (pairing.channel == channel)
        sent, received = int(np.sum(here & ~lone_receive)), int(np.sum(here & ~lone_send))
        if sent != received:
            found.append(Finding((), _channel(frame, channel, sent, received)))
    return Findings(len(channels), found)


def _channel(frame: Frame, channel: int, sent: int, received: int) -> dict[str, str]:
    route, comm = divmod(channel, len(frame.ops.comms))
    source, destination = divmod(route, frame.ranks)
    name = frame.ops.comms[comm]
    return {
        "source": str(source),
        "destination": str(destination),
        "comm": f" on communicator {name}" if name else "",
        "sent": str(sent),
        "received": str(received),
    }


def crossed(frame: Frame) -> Findings:
    """A receive gets the value that it names."""
    pairing, ops = frame.pairing, frame.ops
    paired = np.flatnonzero((pairing.send >= 0) & (pairing.receive >= 0))
    sent, wanted = ops.value[pairing.send[paired]], ops.value[pairing.receive[paired]]
    wrong = paired[(sent != wanted) & (wanted >= 0) & (sent >= 0)]
    found = []
    for transfer in wrong.tolist():
        send, receive = int(pairing.send[transfer]), int(pairing.receive[transfer])
        facts = {
            "sent": ops.value_text(int(ops.value[send])),
            "wanted": ops.value_text(int(ops.value[receive])),
            "source": str(ops.rank[send]),
            "destination": str(ops.rank[receive]),
        }
        spots = (at(frame, send), at(frame, receive))
        arrival = int(frame.arrived(np.asarray(transfer)))
        found.append(Finding(tuple(sorted(spots, key=lambda s: s.row)), facts, arrival))
    return Findings(len(paired), found)


def misshapen(frame: Frame) -> Findings:
    """The two ends of a message agree on shape, dtype and layout, where both give them."""
    pairing, said = frame.pairing, frame.ops.attributes
    paired = np.flatnonzero((pairing.send >= 0) & (pairing.receive >= 0))
    return Findings(len(paired), list(_differing(frame, paired) if said else ()))


def _differing(frame: Frame, paired: IntArray) -> Iterator[Finding]:
    pairing, said = frame.pairing, frame.ops.attributes
    for transfer in paired.tolist():
        send, receive = int(pairing.send[transfer]), int(pairing.receive[transfer])
        left, right = said.get(send, {}), said.get(receive, {})
        for what in ("shape", "dtype", "layout"):
            if what in left and what in right and left[what] != right[what]:
                yield finding(frame, send, receive, what=what, sent=left[what], wanted=right[what])
                break


def stranded(frame: Frame) -> Findings:
    """No message leaves its sender that nobody receives."""
    sends, _ = _lone(frame)
    told = [row for pair in _split_pairs(frame) for row in pair]
    sends = without(sends, told)
    sent = int(np.sum(frame.run.is_message & frame.ops.is_kind(Kind.SEND)))
    found = []
    for row in sends.tolist():
        event = int(frame.drained(frame.pairing.of_row[np.asarray(row)]))
        facts = {"op": frame.text(row), "peer": str(frame.ops.peer[row])}
        found.append(Finding((at(frame, row),), facts, event))
    return Findings(sent, found)
