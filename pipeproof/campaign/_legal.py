"""Schedules that are legal by construction, drawn from a seed.

What all ranks do is drawn as one sequence in which everything is there before it is needed, and
every message is received right after it is sent; each rank then does its part in that order.
"""

import json
from random import Random

from pipeproof.campaign._spoiled import SPOILS

__all__ = ["broken_text", "legal_text"]

Json = str | int | bool | list["Json"] | dict[str, "Json"]

_CREDITS = 6
_TRANSPORTS = (
    *("rendezvous", "rendezvous-edge", "rendezvous-serial", "rendezvous-rank", "buffered"),
    *("buffered-1", "nccl-lazy", "nccl-eager", "nccl-direction", "nccl-edge", "gloo"),
)


def legal_text(seed: int) -> str:
    """Return the text of a small schedule that is legal under its transport.

    Of one seed in eight it is no training, but messages that overtake each other on few credits.
    """
    if seed % 8 == _CREDITS:
        return _credits_text(Random(f"credits {seed}"))  # noqa: S311  a seed gives the same again
    return _Legal(Random(f"legal {seed}")).text()  # noqa: S311  a seed gives the same again


def _credits_text(draw: Random) -> str:
    """Return messages of one rank to another, so many at most under way, received in any order."""
    capacity = draw.choice((1, 2, 2, 3))
    unsent = [f"v{number}" for number in range(capacity + draw.randrange(1, 4))]
    under_way: list[str] = []
    programs: list[list[str]] = [[], []]
    while unsent or under_way:
        if unsent and len(under_way) < capacity and (not under_way or draw.randrange(2)):
            under_way.append(unsent.pop(0))
            programs[0].append(f"SEND {under_way[-1]} to=1")
        else:
            value = under_way.pop(draw.randrange(len(under_way)))
            programs[1].append(f"RECV {value} from=0")
    transport: dict[str, Json] = {
        "completion": "buffered",
        "capacity": capacity,
        "queue": "none",
        "groups": "independent",
        "wait": "blocking",
        "match": "tag",
    }
    spec: dict[str, Json] = {
        "pipeproof": 1,
        "stages": 2,
        "microbatches": 1,
        "fragment": True,
        "transport": transport,
        "ranks": ["; ".join(program) for program in programs],
    }
    return json.dumps(spec, indent=1)


def broken_text(seed: int) -> tuple[str, str]:
    """Return a legal schedule of which one thing was spoiled, and a rule that is broken now."""
    draw = Random(f"broken {seed}")  # noqa: S311  as above
    legal = _Legal(draw)
    legal.text()
    while True:
        spoil, rule = draw.choice(SPOILS)
        if spoil(draw, legal.programs):
            return legal.written(), rule


class _Legal:
    """Draws one schedule: `programs` grow as the sequence goes on."""

    def __init__(self, draw: Random) -> None:
        self.draw = draw
        self.ranks = draw.choice((1, 2, 2, 2, 3))
        self.stages = self.ranks * draw.choice((1, 1, 2))
        self.microbatches = draw.choice((1, 2, 2, 3))
        self.splits, self.named = draw.choice((False, False, True)), draw.choice((False, True))
        self.handles = draw.choice((False, True))
        self.programs: list[list[str]] = [[] for _ in range(self.ranks)]
        self.forwards = [0] * self.stages
        self.backwards = [0] * self.stages
        self.kept: list[tuple[int, str]] = []
        self.turn = 0
        self.transport = draw.choice(_TRANSPORTS)
        self.ending: dict[str, Json] = {}

    def text(self) -> str:
        while sum(self.backwards) < self.stages * self.microbatches:
            self._advance()
            if self.draw.randrange(6) == 0:
                self._beside()
        for rank, word in self.kept:
            self.programs[rank].append(word)
        self.ending = self._ended() if self.draw.randrange(2) else {}
        return self.written()

    def written(self) -> str:
        """Return what the programs are now."""
        spec: dict[str, Json] = {
            "pipeproof": 1,
            "stages": self.stages,
            "microbatches": self.microbatches,
            "transport": self.transport,
            **self.ending,
            "ranks": ["; ".join(program) for program in self.programs],
        }
        return json.dumps(spec, indent=1)

    def _advance(self) -> None:
        """Let a stage go on with the next microbatch forwards or backwards."""
        last = self.stages - 1
        ready = [
            (stage, True)
            for stage, done in enumerate(self.forwards)
            if done < self.microbatches and (stage == 0 or self.forwards[stage - 1] > done)
        ]
        ready += [
            (stage, False)
            for stage, done in enumerate(self.backwards)
            if done < self.forwards[stage] and (stage == last or self.backwards[stage + 1] > done)
        ]
        stage, forwards = self.draw.choice(ready)
        if forwards:
            self._do(stage, f"{stage}F{self.forwards[stage]}")
            self._message(stage, stage + 1, "F", self.forwards[stage])
            self.forwards[stage] += 1
            return
        microbatch = self.backwards[stage]
        self._do(stage, f"{stage}{'I' if self.splits else 'B'}{microbatch}")
        self._message(stage, stage - 1, "B", microbatch)
        self.backwards[stage] += 1
        if self.splits:
            self._weights(stage, microbatch)

    def _weights(self, stage: int, microbatch: int) -> None:
        """Compute a gradient of weights now or, as likely, once everything else is done."""
        word = f"{stage}W{microbatch}"
        if self.draw.randrange(2):
            self._do(stage, word)
        else:
            self.kept.append((stage % self.ranks, word))

    def _do(self, stage: int, *words: str) -> None:
        self.programs[stage % self.ranks].extend(words)

    def _message(self, stage: int, to: int, kind: str, microbatch: int) -> None:
        """Carry what a stage computed to the one that needs it, where another rank has it."""
        sender, receiver = stage % self.ranks, to % self.ranks
        if not 0 <= to < self.stages or sender == receiver:
            return
        self.turn += 1
        if self.named:
            value = f"{kind}{stage}.{microbatch}"
            ends = f"SEND {value} to={receiver}", f"RECV {value} from={sender}"
        else:
            ends = f"{stage}SEND_{kind}{microbatch}", f"{to}RECV_{kind}{microbatch}"
        for rank, end in zip((sender, receiver), ends, strict=True):
            if self.handles and self.draw.randrange(2):
                handle = f"h{self.turn}"
                self.programs[rank] += [f"{end} h={handle}", f"WAIT {handle}"]
            else:
                self.programs[rank].append(end)

    def _beside(self) -> None:
        """Do something beside the training: use storage, signal, or enter a collective."""
        draw, rank = self.draw, self.draw.randrange(self.ranks)
        self.turn += 1
        match draw.randrange(3):
            case 0:
                slot = f"s{draw.randrange(2)}"
                words = (f"WRITE {slot} v{self.turn}", f"USE {slot} v{self.turn}", f"FREE {slot}")
                self.programs[rank].extend(words)
            case 1 if self.ranks > 1:
                other = (rank + 1) % self.ranks
                self.programs[rank].append(f"SIGNAL to={other}")
                self.programs[other].append(f"AWAIT from={rank}")
            case _:
                who = ",".join(map(str, range(self.ranks)))
                for program in self.programs:
                    program.append(f"COLL c{self.turn} ranks={who}")

    def _ended(self) -> dict[str, Json]:
        """End the step: reduce what was computed and update weights; return what says so."""
        reduces = self.draw.randrange(2)
        for stage in range(self.stages):
            self._do(stage, *([f"{stage}REDUCE"] if reduces else []), f"{stage}STEP")
        found: dict[str, Json] = {
            "weights": {"policy": self.draw.choice(("flush", "latest"))},
        }
        if reduces:
            found["gradients"] = {"coefficients": "sum", "reduce": "required"}
        return found
