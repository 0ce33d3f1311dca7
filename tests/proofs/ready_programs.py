"""Small programs of ready ranks, drawn, and what a machine says of them."""

import json
import random
from typing import NamedTuple

from tests.proofs.ready_machine import Instruction, Machine, Rank


class Case(NamedTuple):
    ranks: list[Rank]
    together: bool
    tag: bool
    bound: int | None

    @property
    def machine(self) -> Machine:
        return Machine(self.ranks, together=self.together, tag=self.tag, bound=self.bound)

    @property
    def transport(self) -> dict[str, str]:
        completion = "rendezvous" if self.together else "buffered"
        return {"completion": completion, "match": "tag" if self.tag else "order"}

    @property
    def text(self) -> str:
        said: dict[str, object] = {"pipeproof": 1, "stages": 2, "microbatches": 2}
        said |= {"placement": [0, 1], "fragment": True, "transport": self.transport}
        said["ranks"] = [_written(number, rank) for number, rank in enumerate(self.ranks)]
        if self.bound is not None:
            said["bounds"] = {"live": self.bound}
        return json.dumps(said)


def _written(number: int, rank: Rank) -> object:
    program: object = "\n".join(_line(number, each) for each in rank.program) or []
    if not rank.ready:
        return program
    said: dict[str, object] = {"order": "ready", "program": program}
    if rank.limit is not None:
        said["limit"] = {"live": rank.limit}
    if rank.prefer:
        said["prefer"] = rank.prefer
    return said


def _line(rank: int, what: Instruction) -> str:
    match what:
        case ("SEND", value, peer):
            return f"SEND {value} to={peer}"
        case ("RECV", value, peer):
            return f"RECV {value} from={peer}"
        case ("BAR",):
            return "HOLD 0"
        case _:
            return f"{rank}{what[0]}{what[1]}"


def drawn(seed: int) -> Case:
    rng = random.Random(seed)
    programs: list[list[Instruction]] = [[], []]
    for m in range(rng.randint(1, 2)):
        _microbatch(rng, programs, m)
    for value, source in (("u", 0), ("w", 1)):
        if rng.random() < 0.3:
            _message(programs, value, source)
    for program in programs:
        if rng.random() < 0.5:
            rng.shuffle(program)
        if rng.random() < 0.2:
            program.insert(rng.randint(0, len(program)), ("BAR",))
    ready = [rng.random() < 0.75 for _ in programs]
    ready[rng.randrange(2)] = True
    ranks = [_rank(rng, each, ready=own) for each, own in zip(programs, ready, strict=True)]
    together, tag = rng.random() < 0.6, rng.random() < 0.6
    return Case(ranks, together, tag, rng.choice([None, None, 1, 2]))


def _microbatch(rng: random.Random, programs: list[list[Instruction]], m: int) -> None:
    if rng.random() < 0.8:
        _message(programs, f"F0.{m}", 0)
    if rng.random() < 0.8:
        programs[0].insert(rng.randint(0, len(programs[0])), ("F", str(m)))
    for kind in "FB":
        if rng.random() < 0.7:
            programs[1].append((kind, str(m)))
    if rng.random() < 0.7:
        _message(programs, f"B1.{m}", 1)
    if rng.random() < 0.7:
        programs[0].append(("B", str(m)))


def _message(programs: list[list[Instruction]], value: str, source: int) -> None:
    programs[source].append(("SEND", value, str(1 - source)))
    programs[1 - source].append(("RECV", value, str(source)))


def _rank(rng: random.Random, program: list[Instruction], *, ready: bool) -> Rank:
    if not ready:
        return Rank(tuple(program))
    prefer = rng.choice(["", "", "backward", "forward"])
    return Rank(tuple(program), ready=True, limit=rng.choice([None, None, 1, 2]), prefer=prefer)
