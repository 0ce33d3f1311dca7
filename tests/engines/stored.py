"""Random programs with storage of all kinds, and random programs whose sends wait for credits."""

import json
import random
import re
from dataclasses import replace

from pipeproof.frontends import spec
from pipeproof.ir.reading import ReadOptions
from pipeproof.ir.transport import Match
from pipeproof.lowering.lower import lower
from pipeproof.lowering.waits import write_in
from pipeproof.semantics.model import Model
from tests.oracle.programs import random_programs, random_transport, render
from tests.semantics.made import BUFFERED, RENDEZVOUS

__all__ = [
    "CREDITS",
    "HIDDEN",
    "OUT_OF_ORDER",
    "WEAK_C",
    "credited",
    "models",
    "plain",
    "stored",
]

WEAK_C = replace(RENDEZVOUS, weak=frozenset({"c"}))
CREDITS = replace(BUFFERED, capacity=2, match=Match.TAG)
OUT_OF_ORDER = (
    "SEND a to=1; SEND b to=1; SEND t to=1",
    "RECV b from=0; RECV t from=0; RECV a from=0",
)
HIDDEN = (  # the receive of v may be late, and no execution with u as late as can be shows it
    "RECV v from=2 h=x buf=s; SEND u to=1 comm=c; USE s v",
    "RECV u from=0 comm=c",
    "SEND v to=0",
)
_NAMES = ("s", "t", "u")
_MESSAGE = re.compile(r"(SEND|RECV) (\S+) (to|from)=\d+")
_PLACES = {"F": ("in", "out", "keep"), "B": ("gin", "gout"), "I": ("gin", "gout"), "W": ("gin",)}


def models(text: str) -> list[Model]:
    """The model of a file under each of its transports."""
    run = lower(spec.read(text, "made", ReadOptions())[0].schedule)
    return [Model(run, each, write_in(run, each.wait)) for each in run.schedule.transports]


def plain(seed: int, *, messages: tuple[int, int] = (1, 7), weak: bool = True) -> str:
    """A random program that says nothing of storage."""
    rng = random.Random(seed)
    return render(random_programs(rng, messages=messages), random_transport(rng, weak=weak))


def stored(seed: int) -> str:
    """A random program with storage: named, freed, written, used, pooled, bounded."""
    rng = random.Random(seed)
    drawn = random_programs(rng, messages=(2, 7))
    transport = random_transport(rng, weak=rng.random() < 0.3)
    lines: list[str] = []
    for line in render(drawn, transport, extra=_keys(rng)).splitlines():
        if not line.startswith("    - "):
            lines.append(line)
            continue
        instruction = json.loads(line.removeprefix("    - "))
        for each in (*_beside(rng, instruction), _placed(rng, instruction)):
            lines.append(f"    - {json.dumps(each)}")
    return "\n".join(lines) + "\n"


def credited(seed: int) -> str:
    """A random program that sends more messages on a channel than there is room for."""
    rng = random.Random(seed)
    count, capacity = rng.choice([(3, 2), (4, 2), (4, 3)])
    keep, early = rng.random(), rng.random()
    sends, receives = list(range(count)), list(range(count))
    rng.shuffle(receives)
    left: list[str] = []
    right: list[str] = []
    for sent, received in zip(sends, receives, strict=True):
        left += [f"0F{sent}"] if rng.random() < keep else []
        left.append(f"SEND {_sent(sent, keep)} to=1{_handle(rng, early)}")
        right.append(f"RECV {_sent(received, keep)} from=0{_handle(rng, early)}")
        if rng.random() < 0.3:
            left.append("AWAIT from=1")
            right.append("SIGNAL to=0")
    for program in (left, right):
        if any("h=x" in each for each in program) and rng.random() < 0.5:
            program.append("WAIT x")
    keys = {
        "pipeproof": 1,
        "fragment": True,
        "stages": 2,
        "microbatches": count,
        "transport": {"completion": "buffered", "capacity": capacity, "match": "tag"},
        "sizes": {"F": "1MiB"},
        "bounds": {"memory": f"{rng.randint(1, 3)}MiB"},
        "ranks": [left, right],
    }
    return json.dumps(keys)


def _sent(number: int, keep: float) -> str:
    return f"F0.{number}" if keep > 0.2 else f"v{number}"


def _handle(rng: random.Random, share: float) -> str:
    return " h=x" if rng.random() < share else ""


def _keys(rng: random.Random) -> dict[str, object]:
    keys: dict[str, object] = {}
    pools: dict[str, object] = {}
    for pool in ("receive", "send", "stash"):
        if rng.random() < 0.4:
            pools[pool] = {
                "slots": rng.randint(1, 3),
                "guard": rng.choice(["none", "none", "wait"]),
                "slot": rng.choice(["microbatch mod slots", "use mod slots"]),
            }
    if pools:
        keys["storage"] = pools
    if rng.random() < 0.5:
        keys["sizes"] = {"F": "3MiB", "B": "2MiB", "keep": "5MiB", "weights": "1MiB"}
        keys["bounds"] = {"memory": f"{rng.randint(4, 12)}MiB"}
    return keys


def _placed(rng: random.Random, instruction: str) -> str:
    """The instruction with storage for some of what it reads and writes."""

    def message(match: re.Match[str]) -> str:
        return f"{match[0]} buf={rng.choice(_NAMES)}" if rng.random() < 0.6 else match[0]

    operation = re.fullmatch(r"\d+([FBIW])\d+", instruction)
    if operation is None:
        return _MESSAGE.sub(message, instruction)
    places = [place for place in _PLACES[operation[1]] if rng.random() < 0.4]
    return " ".join([instruction, *(f"{place}={rng.choice(_NAMES)}" for place in places)])


def _beside(rng: random.Random, instruction: str) -> list[str]:
    """What is done with storage before an instruction."""
    if rng.random() < 0.75:
        return []
    name = rng.choice(_NAMES)
    match = _MESSAGE.search(instruction)
    value = match[2] if match else f"v{rng.randint(0, 3)}"
    return [rng.choice([f"FREE {name}", f"WRITE {name} {value}", f"USE {name} {value}"])]
