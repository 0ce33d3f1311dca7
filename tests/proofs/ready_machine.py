"""A ready rank as a machine, one step at a time: every pick, every interleaving."""

from collections.abc import Iterator
from typing import NamedTuple

Instruction = tuple[str, ...]
"""("F", m), ("B", m), ("SEND", value, to), ("RECV", value, from), ("BAR",)."""


class Rank(NamedTuple):
    """A rank: its stage is its number; what is not `ready` runs in order."""

    program: tuple[Instruction, ...]
    ready: bool = False
    limit: int | None = None
    prefer: str = ""


class State(NamedTuple):
    """What each rank ran in order, whether it is inside the last, and what it posted."""

    ran: tuple[tuple[int, ...], ...]
    inside: tuple[bool, ...]
    posts: tuple[tuple[int, int], ...]  # (rank, instruction) of messages in posting order
    over: bool = False


class Machine:
    """The ranks under a transport: `together` for rendezvous, `tag` for pairing by value."""

    def __init__(self, ranks: list[Rank], *, together: bool, tag: bool, bound: int | None) -> None:
        self.ranks, self.together, self.tag, self.bound = ranks, together, tag, bound

    def ends(self, *, ordered: bool) -> set[State]:
        """Return the states in which nothing more can happen; without their order if not so."""
        none = State(tuple(() for _ in self.ranks), tuple(False for _ in self.ranks), ())
        todo, seen, found = [none], {self._shape(none, ordered=ordered)}, set[State]()
        while todo:
            state = todo.pop()
            steps = list(self._steps(state))
            if not steps:
                found.add(state)
            for each in steps:
                shape = self._shape(each, ordered=ordered)
                if shape not in seen:
                    seen.add(shape)
                    todo.append(each)
        return found

    def _shape(self, state: State, *, ordered: bool) -> object:
        """What tells two states apart; the order of posts counts within a channel only."""
        lines: dict[tuple[object, ...], tuple[tuple[int, int], ...]] = {}
        for post in state.posts:
            key = (post[0], *self._channel(*post))
            lines[key] = (*lines.get(key, ()), post)
        rest = (tuple(sorted(lines.items(), key=str)), state.inside, state.over)
        if ordered:
            return (state.ran, *rest)
        last = tuple(ran[-1:] for ran in state.ran)
        return (tuple(map(frozenset, state.ran)), last, *rest)

    def is_complete(self, state: State) -> bool:
        """Whether every rank has run its program."""
        whole = zip(self.ranks, state.ran, state.inside, strict=True)
        return all(len(ran) == len(rank.program) and not inside for rank, ran, inside in whole)

    def pairs(self, state: State) -> list[tuple[str, str]]:
        """The values of each send and of the receive that it meets."""
        found = []
        for rank, at in state.posts:
            if self.ranks[rank].program[at][0] == "SEND":
                partner = self._partner(state, rank, at)
                if partner is not None:
                    values = (
                        self.ranks[rank].program[at][1],
                        self.ranks[partner[0]].program[partner[1]][1],
                    )
                    found.append(values)
        return found

    def _steps(self, state: State) -> Iterator[State]:
        for rank, inside in enumerate(state.inside):
            if inside:
                if self._may_end(state, rank):
                    yield state._replace(inside=_with(state.inside, rank, value=False))
                continue
            for at in self._picks(state, rank):
                yield self._start(state, rank, at)

    def _start(self, state: State, rank: int, at: int) -> State:
        ran = list(state.ran)
        ran[rank] = (*ran[rank], at)
        what = self.ranks[rank].program[at]
        posts = (*state.posts, (rank, at)) if what[0] in ("SEND", "RECV") else state.posts
        over = state.over
        if what[0] == "F" and self.bound is not None:
            over |= self._live(state, rank) + 1 > self.bound
        return State(tuple(ran), _with(state.inside, rank, value=True), posts, over)

    def _picks(self, state: State, rank: int) -> list[int]:
        own, ran = self.ranks[rank], state.ran[rank]
        left = [at for at in range(len(own.program)) if at not in ran]
        if not own.ready:
            return left[:1]
        able = [at for at in left if self._is_able(state, rank, at)]
        if own.limit is not None and self._live(state, rank) >= own.limit:
            able = [at for at in able if own.program[at][0] != "F"]
        first = {"backward": "B", "forward": "F"}.get(own.prefer, "")
        later = {"backward": "F", "forward": "B"}.get(own.prefer, "")
        if any(own.program[at][0] == first for at in able):
            able = [at for at in able if own.program[at][0] != later]
        return able

    def _is_able(self, state: State, rank: int, at: int) -> bool:
        program, ran = self.ranks[rank].program, state.ran[rank]
        what = program[at]
        bars = [k for k, each in enumerate(program) if each[0] == "BAR"]
        if any(k < at and k not in ran for k in bars):
            return False
        if what[0] == "BAR":
            return all(k in ran for k in range(at))
        if what[0] == "RECV":
            return self._is_posted(state, rank, at)
        return all(self._has(state, rank, value) for value in self._reads(rank, what))

    def _reads(self, rank: int, what: Instruction) -> list[str]:
        if what[0] == "F":
            return [f"F{rank - 1}.{what[1]}"]
        if what[0] == "B":
            return [f"F{rank}.{what[1]}", f"B{rank + 1}.{what[1]}"]
        return [what[1]]

    def _has(self, state: State, rank: int, value: str) -> bool:
        """Whether a value is there: nobody on the rank makes it, or who does is done."""
        makers = [
            k for k, each in enumerate(self.ranks[rank].program) if self._makes(rank, each) == value
        ]
        return not makers or any(k in state.ran[rank] for k in makers)

    def _makes(self, rank: int, what: Instruction) -> str:
        if what[0] in ("F", "B"):
            return f"{what[0]}{rank}.{what[1]}"
        return what[1] if what[0] == "RECV" else ""

    def _channel(self, rank: int, at: int) -> tuple[object, ...]:
        what = self.ranks[rank].program[at]
        ends = (rank, int(what[2])) if what[0] == "SEND" else (int(what[2]), rank)
        return (*ends, what[1]) if self.tag else ends

    def _line(self, state: State, rank: int, channel: tuple[object, ...]) -> list[tuple[int, int]]:
        return [post for post in state.posts if post[0] == rank and self._channel(*post) == channel]

    def _is_posted(self, state: State, rank: int, at: int) -> bool:
        channel = self._channel(rank, at)
        sender = int(self.ranks[rank].program[at][2])
        return len(self._line(state, sender, channel)) > len(self._line(state, rank, channel))

    def _partner(self, state: State, rank: int, at: int) -> tuple[int, int] | None:
        channel, other = self._channel(rank, at), int(self.ranks[rank].program[at][2])
        number = self._line(state, rank, channel).index((rank, at))
        theirs = self._line(state, other, channel)
        return theirs[number] if number < len(theirs) else None

    def _may_end(self, state: State, rank: int) -> bool:
        at = state.ran[rank][-1]
        what = self.ranks[rank].program[at][0]
        if what not in ("SEND", "RECV") or (what == "SEND" and not self.together):
            return True
        return self._partner(state, rank, at) is not None

    def _live(self, state: State, rank: int) -> int:
        program, ran = self.ranks[rank].program, state.ran[rank]
        ended = {program[k][1] for k in ran if program[k][0] == "B"}
        return len({program[k][1] for k in ran if program[k][0] == "F"} - ended)


def _with(flags: tuple[bool, ...], rank: int, *, value: bool) -> tuple[bool, ...]:
    return (*flags[:rank], value, *flags[rank + 1 :])


class Late(Machine):
    """A machine whose messages are only started: who reads one, and the end, wait for it."""

    def is_complete(self, state: State) -> bool:
        return super().is_complete(state) and all(
            self._partner(state, rank, at) is not None
            for rank, at in state.posts
            if self.together or self.ranks[rank].program[at][0] == "RECV"
        )

    def _may_end(self, state: State, rank: int) -> bool:
        return True

    def _has(self, state: State, rank: int, value: str) -> bool:
        program, ran = self.ranks[rank].program, state.ran[rank]
        makers = [at for at, each in enumerate(program) if self._makes(rank, each) == value]
        return not makers or any(
            at in ran and (program[at][0] != "RECV" or self._partner(state, rank, at) is not None)
            for at in makers
        )
