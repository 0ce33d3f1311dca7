"""Schedules drawn from a seed that hold every instruction and key of the language."""

import json
from random import Random

__all__ = ["Maker"]

_NAMES = ("a", "b")
_COEFFICIENTS = ("0", "1", "1/2", "1/4", "3", "1/3")
_TRANSPORTS = (
    *("rendezvous", "rendezvous-edge", "rendezvous-serial", "rendezvous-rank", "rendezvous-atomic"),
    *("buffered", "buffered-1", "nccl-lazy", "nccl-eager", "nccl-direction", "nccl-edge", "gloo"),
    *("nccl-first", "nccl-small", "buffered", "buffered", "gloo", "gloo"),
)
_CHOSEN = ("CHOOSE", "from=any", "take")
_POLICIES = ("flush", "stash", "vertical", "2bw", "latest", "speculative")
_OFTEN = 0.6


class Maker:
    """Makes one spec: random keys, and programs of a legal skeleton with random words between."""

    def __init__(self, seed: int) -> None:
        draw = self.draw = Random(seed)  # noqa: S311  a seed gives the same schedule again
        self.ranks = draw.choice((1, 1, 1, 2, 2, 3))
        self.stages = draw.choice((1, 1, 2, 2, 3, 4))
        self.microbatches = draw.choice((1, 1, 2, 2, 3, 4))
        self.steps = draw.choice((1, 1, 1, 2, 3, "any"))
        self.segments = draw.choice((1, 1, 1, 1, 1, 2))
        self.choices = self.chance(0.15)
        self.said = draw.random() * 0.5
        self.open: set[str] = set()

    def chance(self, likely: float) -> bool:
        return self.draw.random() < likely

    def name(self) -> str:
        return self.draw.choice(_NAMES)

    def text(self) -> str:
        ranks = [self.program(rank) for rank in range(self.ranks)]
        if self.chance(0.15):
            self.meet(ranks)
        keys = {"pipeproof": 1, "microbatches": self.microbatches, **self.keys(), "ranks": ranks}
        said = json.dumps({key: value for key, value in keys.items() if value is not None})
        if self.choices and not any(each in said for each in _CHOSEN):
            ranks[0].insert(0, "CHOOSE q a|b")
            return json.dumps({key: value for key, value in keys.items() if value is not None})
        return said

    def meet(self, ranks: list[list[str]]) -> None:
        """Let all ranks enter a collective of some kind somewhere, or nearly all."""
        said = self.draw.choice(("", " kind=all", " from=0", f" to={self.rank()}", " h=h9"))
        word = f"COLL e ranks={','.join(map(str, range(self.ranks)))}{said}"
        for program in ranks:
            if self.chance(0.95):
                program.insert(self.draw.randrange(len(program) + 1), word)

    def keys(self) -> dict[str, object]:
        draw = self.draw
        count = self.stages

        def some(value: object, likely: float = 0.3) -> object:
            return value if self.chance(likely) else None

        lines = [list(range(count))]
        if count % 2 == 0:
            lines = [list(range(count // 2)), list(range(count // 2, count))]
        return {
            "stages": some(self.stages, 0.9),
            "steps": None if self.steps == 1 else self.steps,
            "segments": None if self.segments == 1 else self.segments,
            "placement": some(draw.choice(("loop", [draw.randrange(self.ranks)] * count)), 0.15),
            "fragment": some(self.chance(0.8)),
            "pipelines": some(lines, 0.15),
            "transport": self.transport(),
            "weights": some(
                {
                    "policy": draw.choice(_POLICIES),
                    "updates": draw.choice(("step", "step", "microbatch")),
                },
                0.6,
            ),
            "gradients": some(self.gradients(), 0.5),
            "storage": some(self.storage(), 0.4),
            "bounds": some(self.bounds()),
            "sizes": some({"F": "2B", "B": "3B", "keep": "5B", "weights": "7B", "grads": "1B"}),
            "profile": some(draw.choice(("none", "torch-runtime")), 0.1),
        }

    def transport(self) -> object:
        if self.chance(0.02):
            return self.draw.choice(("strict", ["rendezvous", "gloo"]))
        return self.draw.choice(_TRANSPORTS) if self.chance(0.82) else self.mapping()

    def mapping(self) -> dict[str, object]:
        draw = self.draw
        made: dict[str, object] = {
            "completion": draw.choice(("rendezvous", "buffered")),
            "queue": draw.choice(("none", "edge", "direction", "pair", "rank")),
            "groups": draw.choice(("independent", "atomic")),
            "wait": draw.choice(("blocking", "at-use", "explicit")),
            "match": draw.choice(("order", "order", "tag")),
        }
        if made["completion"] == "buffered" and self.chance(0.5):
            made["capacity"] = draw.choice((1, 2))
        if self.chance(0.15):
            made["weak"] = ["c1"]
        if self.chance(0.15):
            made["communicators"] = "lazy"
        return made

    def gradients(self) -> dict[str, object]:
        draw, count = self.draw, self.microbatches
        asked = draw.choice(("mean", "sum", ["1/2"] * count, {"tokens": [2] * count}))
        made: dict[str, object] = {"coefficients": asked} if self.chance(0.6) else {}
        if self.chance(0.4):
            made["reduce"] = draw.choice(("required", "once", "none"))
        if self.stages > 1 and self.chance(0.4):
            made["tied"] = [draw.sample(range(self.stages), 2)]
        if self.chance(0.3):
            made["norm"] = "all"
        return made

    def storage(self) -> dict[str, object]:
        draw = self.draw
        made: dict[str, object] = {}
        for pool in ("receive", "send", "stash"):
            if self.chance(0.4):
                made[pool] = {
                    "slots": draw.choice((1, 2, 3)),
                    "slot": draw.choice(("microbatch mod slots", "use mod slots")),
                    "guard": draw.choice(("none", "none", "wait")),
                    "per": draw.choice(("rank", "stage")),
                }
        if self.choices and self.chance(0.5):
            made["stash"] = {"slots": 2, "take": "any"}
        if self.chance(0.3):
            made["weights"] = {"slots": draw.choice((1, 2))}
        if self.chance(0.2):
            made["registers"] = ["loss", "grad"]
        return made

    def bounds(self) -> dict[str, object]:
        kinds = {"live": self.draw.choice((0, 1, 2)), "memory": "12B", "staleness": 1}
        return {key: value for key, value in kinds.items() if self.chance(0.5)}

    def program(self, rank: int) -> list[str]:
        self.open = set()
        words = list(self.skeleton(rank)) if self.chance(0.7) else []
        for _ in range(self.draw.randrange(1, 9)):
            words.insert(self.draw.randrange(len(words) + 1), self.word())
        if self.choices and self.chance(0.6):
            words.insert(self.draw.randrange(len(words) + 1), "CHOOSE q a|b")
        return self.with_waits(words)

    def skeleton(self, rank: int) -> list[str]:
        """A step of the rank's stages, one after the other, as often as there are steps."""
        words: list[str] = []
        own = [stage for stage in range(self.stages) if stage % self.ranks == rank]
        number = self.microbatches * self.segments
        for step in range(self.steps if isinstance(self.steps, int) else 1):
            ids = range(step * number, (step + 1) * number)
            for m in ids:
                words += [each for stage in own for each in self.forward(stage, m)]
            for m in reversed(ids):
                words += [each for stage in reversed(own) for each in self.backward(stage, m)]
            words += self.ending(own)
        return words

    def ending(self, own: list[int]) -> list[str]:
        words = []
        for kind, likely in (("REDUCE", 0.3), ("STEP", 0.6)):
            if self.chance(likely):
                words += [self.said_of(f"{stage}{kind}") for stage in own]
        return words

    def forward(self, stage: int, m: int) -> list[str]:
        words = [self.said_of(f"{stage}F{m}")]
        if self.ranks > 1 and stage > 0:
            words.insert(0, self.said_of(f"{stage}RECV_F{m}"))
        if self.ranks > 1 and stage + 1 < self.stages:
            words.append(self.said_of(f"{stage}SEND_F{m}"))
        return words

    def backward(self, stage: int, m: int) -> list[str]:
        kinds = ("I", "W") if self.chance(0.3) else ("B",)
        words = [self.said_of(f"{stage}{kind}{m}") for kind in kinds]
        if self.ranks > 1 and stage + 1 < self.stages:
            words.insert(0, self.said_of(f"{stage}RECV_B{m}"))
        if self.ranks > 1 and stage > 0:
            words.append(self.said_of(f"{stage}SEND_B{m}"))
        return words

    def word(self) -> str:
        """One instruction, of any kind there is."""
        draw = self.draw
        stage = draw.randrange(self.stages + (self.chance(0.05)))
        m = draw.randrange(self.microbatches * (self.steps if isinstance(self.steps, int) else 1))
        m += self.chance(0.05)
        if self.chance(0.08):
            return f"[{self.message(stage, m)} | {self.message(stage, m)}]{self.behind()}"
        if self.chance(0.06):
            return f"({stage}F{m};{stage}{draw.choice('BIW')}{m})OVERLAP_F_B"
        if self.chance(0.15):
            return self.said_of(self.message(stage, m))
        if self.chance(0.35):
            return self.other(m)
        kinds = (
            *("F", "L", "B", "I", "W", "R", "UNSHARD", "RESHARD", "ZERO", "SCALE", "REDUCE"),
            *("NORM", "TIE", "STALE", "STEP", "SKIP", "COMMIT", "ROLLBACK", "GATHER"),
        )
        kind = draw.choice(kinds)
        return self.said_of(f"{stage}{kind}{m if kind in 'FLBIWR' else ''}")

    def other(self, m: int) -> str:
        draw = self.draw
        words = (
            *(f"LOAD {draw.choice('XYA')}.{m}", f"FREE s{draw.randrange(3)}", "SAVE"),
            *(f"WRITE s{draw.randrange(3)} {self.value(m)}", f"CONSUME {draw.randrange(3)}"),
            *(f"USE s{draw.randrange(3)} {self.value(m)}", f"HOLD {draw.randrange(3)}"),
            *(f"DROP {draw.randrange(3)}", "SAVE async=versions,pending,order,rng,data"),
            *(f"RESUME at={draw.randrange(3)}", "RESTORE w have=1 want=1", "SAVE async=order"),
            *(f"RESTORE w have={draw.randrange(2)} want=1", f"SIGNAL to={self.rank()}"),
            *(f"AWAIT from={self.rank()}", f"COLL g ranks={self.several()}"),
            f"COLL g ranks={self.rank()} kind=all h=h2",
        )
        word = draw.choice(words)
        return f"{word} sample={draw.randrange(2)}" if "LOAD" in word and self.chance(0.3) else word

    def rank(self) -> int:
        return self.draw.randrange(self.ranks)

    def several(self) -> str:
        number = self.draw.randrange(1, self.ranks + 1)
        return ",".join(map(str, self.draw.sample(range(self.ranks), number)))

    def value(self, m: int) -> str:
        stage = self.draw.randrange(self.stages)
        return self.draw.choice((f"F{stage}.{m}", f"B{stage}.{m}", f"X.{m}", f"L.{m}", "v1", "v2"))

    def message(self, stage: int, m: int) -> str:
        """One end of a message, in either form."""
        draw = self.draw
        if self.choices and self.chance(0.4):
            return f"RECV {draw.choice((self.value(m), 'any'))} from=any"
        if self.chance(0.4):
            return f"{stage}{draw.choice(('SEND', 'RECV'))}_{draw.choice('FB')}{m}"
        if self.chance(0.5):
            return f"SEND {self.value(m)} to={self.rank()}"
        return f"RECV {self.value(m)} from={self.rank()}"

    def behind(self) -> str:
        said = ""
        if self.chance(0.3):
            said += f" h=h{self.draw.randrange(3)}"
        if self.choices and self.chance(0.3):
            said += f" if=q:{self.draw.choice('ab')}"
        return said

    def said_of(self, word: str) -> str:
        """The instruction with some of the attributes that it takes."""
        kind = next(each for each in sorted(_TAKES, key=len, reverse=True) if each in word)
        said = [each for each in _TAKES[kind] if self.chance(self.said * 0.4)]
        if kind in _NEEDS:
            said = [_NEEDS[kind], *said]
        if self.choices and self.chance(0.15):
            said.append("if")
        return " ".join([word, *(f"{each}={self.attribute(each)}" for each in said)])

    def attribute(self, key: str) -> object:
        draw = self.draw
        named = {
            "w": ("latest", "stash", "cache", "none", "0", "1", "2", "9" * 9),
            "c": _COEFFICIENTS,
            "by": _COEFFICIENTS,
            "mode": ("add", "assign"),
            "last": ("yes", "no"),
            "fill": ("1",),
            "if": ("q:a", "q:b"),
            "rng": ("r0", "r1"),
            "ctx": ("x", "y"),
            "shape": ("4", "8"),
            "dtype": ("bf16", "f32"),
            "layout": ("nc", "cn"),
            "comm": ("c1", "c2"),
            "ranks": (self.several(),),
        }
        if key in named:
            return draw.choice(named[key])
        if key == "h":
            return f"h{draw.randrange(3)}"
        if key in ("wv", "shard"):
            return draw.randrange(3)
        if key in ("param", "bucket", "state"):
            return self.name()
        return f"s{draw.randrange(3)}"

    def with_waits(self, words: list[str]) -> list[str]:
        """Wait for some handles behind what starts under them."""
        found = []
        for word in words:
            found.append(word)
            started = [part[2:] for part in word.split() if part.startswith("h=")]
            if started and self.chance(_OFTEN) and " if=" not in word:
                found.append(f"WAIT {started[0]}")
        return found


_BACK = ("gin", "gout", "w", "wv", "c", "param", "mode", "last")
_MESSAGE = ("buf", "comm", "shape", "dtype", "layout", "h")
_TAKES = {
    "F": ("in", "out", "aux", "keep", "w", "rng", "ctx", "fill", "bucket", "state"),
    "L": ("in", "out", "label"),
    **dict.fromkeys("BIW", _BACK),
    "R": ("w", "rng", "ctx", "state"),
    **dict.fromkeys(("SEND", "RECV"), _MESSAGE),
    **dict.fromkeys(("UNSHARD", "RESHARD"), ()),
    **dict.fromkeys(("ZERO", "SCALE", "STALE", "STEP", "SKIP", "COMMIT", "ROLLBACK"), ("param",)),
    "REDUCE": ("param", "h", "shard"),
    **dict.fromkeys(("NORM", "TIE"), ("param", "h")),
    "GATHER": ("bucket",),
}
_NEEDS = {"SCALE": "by", "NORM": "ranks", "TIE": "ranks"}
