"""Small schedules drawn from a seed: few instructions of many kinds, out of order now and then."""

import json
import random
from collections.abc import Callable

__all__ = ["small_text"]

_RANKS = (2, 2, 2, 3)
_INSTRUCTIONS = 8  # so that every state can be looked at

Json = str | int | list["Json"] | dict[str, "Json"]
Programs = list[list[str]]


def small_text(seed: int, attempt: int) -> str:
    """Return the text of a schedule; not every one can be read, for a WAIT may wait for nothing."""
    draw = random.Random(f"{seed}.{attempt}")  # noqa: S311  a seed gives the same schedule again
    programs: Programs = [[] for _ in range(draw.choice(_RANKS))]
    while sum(map(len, programs)) < _INSTRUCTIONS - 2:
        draw.choice(_PIECES)(draw, programs)
    spec: dict[str, Json] = {
        "pipeproof": 1,
        "stages": 2 * len(programs),
        "microbatches": 2,
        "fragment": "true",
        "transport": _transport(draw),
        "ranks": ["; ".join(program) or "SIGNAL to=0" for program in programs],
    }
    if "capacity" not in str(spec["transport"]) and draw.random() < 0.5:  # noqa: PLR2004  half of them
        spec["sizes"] = {"F": "1MiB", "B": "1MiB", "keep": draw.choice(["1MiB", "2MiB"])}
        spec["bounds"] = {"memory": draw.choice(["1MiB", "2MiB", "3MiB"])}
    return json.dumps(spec, indent=1).replace('"true"', "true")


def _transport(draw: random.Random) -> Json:
    found: dict[str, Json] = {
        "completion": draw.choice(["rendezvous", "buffered"]),
        "queue": draw.choice(["none", "none", "edge", "direction", "pair", "rank"]),
        "groups": draw.choice(["independent", "independent", "atomic"]),
        "wait": draw.choice(["blocking", "blocking", "at-use", "explicit"]),
        "match": draw.choice(["order", "order", "tag"]),
    }
    if found["completion"] == "buffered" and draw.random() < 0.6:  # noqa: PLR2004  most of them
        found["capacity"] = draw.choice([1, 2])
    return found


def _add(draw: random.Random, program: list[str], *instructions: str) -> None:
    """Put instructions behind a program, or now and then somewhere in it."""
    for each in instructions:
        early = draw.random() < 0.25  # noqa: PLR2004  now and then
        program.insert(draw.randrange(len(program) + 1) if early else len(program), each)


def _pair(draw: random.Random, programs: Programs) -> tuple[int, int]:
    one, other = draw.sample(range(len(programs)), 2)
    return one, other


def _value(draw: random.Random, sender: int) -> str:
    return draw.choice([f"F{sender}.0", f"F{sender}.1", "v", "w"])


def _ends(draw: random.Random, sender: int, receiver: int) -> tuple[str, str]:
    value, storage = _value(draw, sender), draw.choice(["", "", " buf=s"])
    comm = draw.choice(["", "", "", " comm=c"])
    send = f"SEND {value} to={receiver}{comm}{draw.choice(['', storage])}"
    return send, f"RECV {value} from={sender}{comm}{storage}"


def _message(draw: random.Random, programs: Programs) -> None:
    sender, receiver = _pair(draw, programs)
    for rank, end in zip((sender, receiver), _ends(draw, sender, receiver), strict=True):
        if draw.random() < 0.3:  # noqa: PLR2004  some are waited for later
            _add(draw, programs[rank], f"{end} h=x", "WAIT x")
        else:
            _add(draw, programs[rank], end)


def _exchange(draw: random.Random, programs: Programs) -> None:
    one, other = _pair(draw, programs)
    out, back = _ends(draw, one, other), _ends(draw, other, one)
    _add(draw, programs[one], f"[{out[0]} | {back[1]}]")
    _add(draw, programs[other], *([f"[{back[0]} | {out[1]}]"] if draw.random() < 0.5 else back[:1]))  # noqa: PLR2004


def _collective(draw: random.Random, programs: Programs) -> None:
    name, kind = draw.choice("ab"), draw.choice(["", "", " from=0", " to=0"])
    for rank in (0, 1):
        handle = draw.choice(["", "", " h=y"])
        _add(draw, programs[rank], f"COLL {name} ranks=0,1{kind}{handle}")


def _signal(draw: random.Random, programs: Programs) -> None:
    one, other = _pair(draw, programs)
    _add(draw, programs[one], f"SIGNAL to={other}")
    _add(draw, programs[other], f"AWAIT from={one}")


def _compute(draw: random.Random, programs: Programs) -> None:
    rank = draw.randrange(len(programs))
    stage = rank + draw.choice([0, 0, len(programs)])
    kind, storage = draw.choice("FFBIW"), draw.choice(["", "", " out=s"])
    _add(draw, programs[rank], f"{stage}{kind}{draw.choice('01')}{storage if kind == 'F' else ''}")


def _store(draw: random.Random, programs: Programs) -> None:
    rank = draw.randrange(len(programs))
    value = _value(draw, draw.randrange(len(programs)))
    _add(draw, programs[rank], draw.choice([f"WRITE s {value}", f"USE s {value}", "FREE s"]))


_PIECES: tuple[Callable[[random.Random, Programs], None], ...] = (
    *(_message, _message, _message, _exchange),
    *(_collective, _signal, _compute, _compute, _store),
)
