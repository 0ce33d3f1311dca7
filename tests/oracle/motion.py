"""What may happen in a state: a rank takes a step, messages drain, a message arrives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.oracle.model import Model, Need, Place, State, place

if TYPE_CHECKING:
    from collections.abc import Iterator


class Machine(Model):
    """Programs under one transport, ready to run."""

    def posted_in(self, taken: tuple[int, ...]) -> int:
        """The ends that are posted."""
        mask = 0
        for masks, count in zip(self.posted, taken, strict=True):
            mask |= masks[count]
        return mask

    def met(self, taken: tuple[int, ...], need: Need) -> bool:
        """Whether the other rank's instruction has started."""
        return need.position >= 0 and taken[need.rank] >= self.start[need.rank][need.position]

    def short(self, send: int, complete: int) -> bool:
        """Whether the channel of a send has no credit left for it."""
        if self.capacity is None:
            return False
        return len(self.unreceived(send, complete)) >= self.capacity

    def unreceived(self, send: int, complete: int) -> list[int]:
        """The sends in front of this one on its channel that have not arrived."""
        partner = self.partner
        return [n for n in self.earlier[send] if partner[n] < 0 or not complete >> partner[n] & 1]

    def _may_complete(self, number: int, posted: int, complete: int) -> bool:
        """Whether a posted end may become complete, members moving on their own."""
        if self.before[number] & ~complete:
            return False
        partner = self.partner[number]
        if not self.ends[number].message.send:
            return partner >= 0 and bool(complete >> partner & 1)
        if self.buffered:
            return not self.short(number, complete)
        return partner >= 0 and bool(posted >> partner & 1) and not self.before[partner] & ~complete

    def _together(self, posted: int, complete: int, allowed: int) -> int:
        """The sends of the largest set of groups that may move as wholes."""
        ends, partner = self.ends, self.partner
        groups: dict[Place, list[int]] = {}
        for spot, numbers in self.at.items():
            if numbers and all(
                posted >> n & 1
                and allowed >> n & 1
                and partner[n] >= 0
                and not complete >> (n if ends[n].message.send else partner[n]) & 1
                and not self.before[n] & ~complete
                for n in numbers
            ):
                groups[spot] = numbers
        while True:
            kept = {
                spot: numbers
                for spot, numbers in groups.items()
                if all(ends[partner[n]].spot in groups for n in numbers)
            }
            if len(kept) == len(groups):
                break
            groups = kept
        return self._mask(n for spot in groups for n in groups[spot] if ends[n].message.send)

    def _moves(self, taken: tuple[int, ...], complete: int, allowed: int) -> Iterator[int]:
        """What the complete ends may become next when only the allowed messages move."""
        posted = self.posted_in(taken)
        if self.atomic and (moving := self._together(posted, complete, allowed)):
            yield complete | moving
        open_ends = posted & allowed & ~complete
        for number, end in enumerate(self.ends):
            alone = open_ends >> number & 1 and not (self.atomic and end.message.send)
            if alone and self._may_complete(number, posted, complete):
                yield complete | 1 << number

    def stands(self, taken: tuple[int, ...], rank: int, comm: str) -> bool:
        """Whether a rank stands in an instruction that waits on a communicator."""
        steps, count = self.steps[rank], taken[rank]
        return count < len(steps) and comm in steps[count].comms

    def _weak_moment(self, taken: tuple[int, ...], complete: int) -> int:
        """The complete ends after the weak messages have moved that may, no rank going on."""
        allowed = self.all & ~self.weak
        for number, end in enumerate(self.ends):
            comm, both = end.message.comm, (end.rank, end.message.peer)
            if self.weak >> number & 1 and all(self.stands(taken, rank, comm) for rank in both):
                allowed |= 1 << number
        while (more := next(self._moves(taken, complete, allowed), None)) is not None:
            complete = more
        return complete

    def may_go_on(self, rank: int, taken: tuple[int, ...], complete: int) -> bool:
        """Whether a rank may take its next step."""
        steps, count = self.steps[rank], taken[rank]
        if count == len(steps) or steps[count].ends & ~complete:
            return False
        return all(self.met(taken, need) for need in steps[count].needs)

    def moves(self, taken: tuple[int, ...], complete: int) -> Iterator[int]:
        """What the complete ends may become next, messages on weak communicators left out."""
        return self._moves(taken, complete, self.all & ~self.weak)

    def successors(self, state: State) -> list[State]:
        """All states one step further."""
        taken, complete = state
        found: list[State] = []
        for rank in range(len(self.steps)):
            if self.may_go_on(rank, taken, complete):
                found.append(((*taken[:rank], taken[rank] + 1, *taken[rank + 1 :]), complete))
        found += [(taken, more) for more in self.moves(taken, complete)]
        if not found and self.weak and (more := self._weak_moment(taken, complete)) != complete:
            found.append((taken, more))
        return found

    def initial(self) -> State:
        """Nothing has happened."""
        return (0,) * len(self.programs), 0

    def hangs(self, state: State) -> bool:
        """Whether some rank is not at its end."""
        return any(count < len(steps) for count, steps in zip(state[0], self.steps, strict=True))

    def name(self, number: int) -> str:
        """The place of an end."""
        return place(*self.ends[number].spot)
