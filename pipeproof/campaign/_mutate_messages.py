"""Mutations of messages, collectives, signals and waits."""

from random import Random

from pipeproof.campaign._draft import TORCH, Draft, Line, Operation, Spot
from pipeproof.campaign._mutate_order import choose, move, take_out

__all__ = ["spelled"]

_MESSAGES = ("SEND", "RECV", *TORCH)


def _messages(draft: Draft, *kinds: str) -> list[tuple[Spot, Operation]]:
    return draft.every(*(kinds or _MESSAGES))


def spelled(draft: Draft, spot: Spot) -> Operation:
    """Spell a message of torch out, as `SEND F0.1 to=1`, and return it; others stay as they are."""
    line = draft.at(spot)
    each = line.operations[spot.member]
    if each.kind in TORCH:
        value, sender, receiver, _ = draft.message(spot, each)
        head, side, peer = ("SEND", "to", receiver) if each.is_send else ("RECV", "from", sender)
        written = Operation([head, value], {side: str(peer), **each.attributes})
        line.operations[spot.member] = written
        return written
    return each


def drop_message(rng: Random, draft: Draft) -> bool:
    """One end of a message is left out, and what waits for it."""
    spot = choose(rng, [spot for spot, _ in _messages(draft)])
    if spot is None:
        return False
    line = draft.at(spot)
    alone, handle = len(line.operations) == 1, line.own.get("h")
    take_out(draft, spot)
    program = draft.programs[spot.rank]
    if alone and handle is not None:
        after = range(spot.position, len(program))
        waits = [n for n in after if program[n].first.words == ["WAIT", handle]]
        program[:] = [line for n, line in enumerate(program) if n not in waits[:1]]
    return True


def cross_messages(rng: Random, draft: Draft) -> bool:
    """Two messages of one rank to or from the same peer change places."""
    found: list[tuple[Spot, Spot]] = []
    last: dict[tuple[bool, int, int, str], Spot] = {}
    for spot, each in _messages(draft):
        _, sender, receiver, comm = draft.message(spot, each)
        way = (each.is_send, sender, receiver, comm)
        before = last.get(way)
        if before is not None and before.rank == spot.rank:
            found.append((before, spot))
        last[way] = spot
    if not found:
        return False
    one, other = rng.choice(found)
    a, b = draft.at(one).operations, draft.at(other).operations
    a[one.member], b[other.member] = b[other.member], a[one.member]
    return True


def redirect_message(rng: Random, draft: Draft) -> bool:
    """One end of a message names another rank."""
    ranks = len(draft.programs)
    spot = choose(rng, [spot for spot, _ in _messages(draft)] if ranks > 1 else [])
    if spot is None:
        return False
    each = spelled(draft, spot)
    side = "to" if each.is_send else "from"
    others = [n for n in range(ranks) if str(n) != each.attributes[side] and n != spot.rank]
    if not others:
        return False
    each.attributes[side] = str(rng.choice(others))
    return True


def split_communicator(rng: Random, draft: Draft) -> bool:
    """One end of a message stands on another communicator."""
    found = [spot for spot, each in _messages(draft) if each.attributes.get("from") != "any"]
    spot = choose(rng, found)
    if spot is None:
        return False
    each = draft.at(spot).operations[spot.member]
    named = sorted({one.attributes.get("comm", "") for _, one in _messages(draft)})
    others = [name for name in (*named, "elsewhere") if name != each.attributes.get("comm", "")]
    name = rng.choice(others)
    if name:
        each.attributes["comm"] = name
    else:
        del each.attributes["comm"]
    return True


def change_shape(rng: Random, draft: Draft) -> bool:
    """The two ends of a message differ in shape, type or layout."""
    sends: dict[tuple[str, int, int, str], Operation] = {}
    found = []
    for spot, each in _messages(draft, "SEND", "SEND_F", "SEND_B"):
        sends.setdefault(draft.message(spot, each), each)
    for spot, each in _messages(draft, "RECV", "RECV_F", "RECV_B"):
        partner = sends.get(draft.message(spot, each))
        found += [(partner, each)] if partner is not None else []
    if not found:
        return False
    send, receive = rng.choice(found)
    key, one, other = rng.choice(
        [("shape", "4x8", "4x9"), ("dtype", "bf16", "fp32"), ("layout", "nchw", "nhwc")]
    )
    send.attributes[key], receive.attributes[key] = one, other
    return True


def split_group(rng: Random, draft: Draft) -> bool:
    """A group call becomes calls one after another."""
    lines = [
        (program, n)
        for program in draft.programs
        for n, line in enumerate(program)
        if line.form == "group" and len(line.operations) > 1 and "h" not in line.attributes
    ]
    if not lines:
        return False
    program, position = rng.choice(lines)
    line = program[position]
    members = list(line.operations)
    rng.shuffle(members)
    behind = {key: each for key, each in line.attributes.items() if key == "if"}
    program[position : position + 1] = [
        Line([Operation(each.words, {**each.attributes, **behind})]) for each in members
    ]
    return True


def join_group(rng: Random, draft: Draft) -> bool:
    """Two messages one after another become one group call."""
    found = [
        (program, n)
        for program in draft.programs
        for n in range(len(program) - 1)
        if all(
            line.form != "overlap"
            and line.first.kind in _MESSAGES
            and not {"h", "if"} & line.own.keys()
            for line in program[n : n + 2]
        )
    ]
    if not found:
        return False
    program, position = rng.choice(found)
    members = [*program[position].operations, *program[position + 1].operations]
    program[position : position + 2] = [Line(members, "group")]
    return True


def drop_signal(rng: Random, draft: Draft) -> bool:
    """A signal is not given, or not awaited."""
    spot = choose(rng, [spot for spot, _ in draft.every("SIGNAL", "AWAIT")])
    if spot is None:
        return False
    take_out(draft, spot)
    return True


def skip_wait(rng: Random, draft: Draft) -> bool:
    """What was started is not waited for."""
    spot = choose(rng, [spot for spot, _ in draft.every("WAIT", "AWAIT")])
    if spot is None:
        return False
    take_out(draft, spot)
    return True


def wait_late(rng: Random, draft: Draft) -> bool:
    """What was started is waited for only later in the program."""
    found = [
        spot
        for spot, _ in draft.every("WAIT", "AWAIT")
        if spot.position + 1 < len(draft.programs[spot.rank])
    ]
    spot = choose(rng, found)
    if spot is None:
        return False
    program = draft.programs[spot.rank]
    move(program, spot.position, rng.randint(spot.position + 2, len(program)))
    return True


def never_waited(rng: Random, draft: Draft) -> bool:
    """A message is started and nobody waits for it."""
    found = [
        spot
        for spot, _ in _messages(draft)
        if draft.at(spot).form == "one" and "h" not in draft.at(spot).own
    ]
    spot = choose(rng, found)
    if spot is None:
        return False
    draft.at(spot).own["h"] = "unawaited"
    return True


def reorder_collective(rng: Random, draft: Draft) -> bool:
    """A rank enters two collectives, or a collective and a message, in the other order."""
    kinds = ("COLL", "TIE", "NORM")
    found = []
    for spot, _ in draft.every(*kinds):
        program = draft.programs[spot.rank]
        others = [
            n
            for n in range(spot.position + 1, len(program))
            if program[n].first.kind in (*kinds, *_MESSAGES)
        ]
        earlier = [n for n in range(spot.position) if program[n].first.kind in _MESSAGES]
        found += [(program, spot.position, n) for n in (*others[:1], *earlier[-1:])]
    if not found:
        return False
    program, one, other = rng.choice(found)
    program[one], program[other] = program[other], program[one]
    return True


def miss_collective(rng: Random, draft: Draft) -> bool:
    """A rank does not enter a collective."""
    spot = choose(rng, [spot for spot, _ in draft.every("COLL")])
    if spot is None:
        return False
    take_out(draft, spot)
    return True
