"""Gradients while a schedule runs: what each accumulator holds, in numbers and by name."""

from collections.abc import Iterator, Mapping
from fractions import Fraction

import torch
from torch import Tensor

from pipeproof.execution._asked import Asked
from pipeproof.execution._illegal import Fault, Illegal, Place
from pipeproof.execution._memory import same
from pipeproof.execution.reference import TWIN, Reference, factor, scaled
from pipeproof.ir.actions import Kind

__all__ = ["Accumulator", "Gradients"]


class Accumulator:
    """The gradient of one weight: `own`, and that of the second replica, `twin`.

    `shares` says what was added since the last update; `counts` how often. `whole` says that all
    of it has been reduced, `tied` that all of it has been summed with its copies. `valid` marks the
    numbers that are valid here after a reduction to a shard.
    """

    def __init__(self, like: Tensor) -> None:
        self.own, self.twin = torch.zeros_like(like), torch.zeros_like(like)
        self.valid = torch.ones_like(like, dtype=torch.bool)
        self.clear()

    def clear(self) -> None:
        """Leave nothing."""
        self.own, self.twin = torch.zeros_like(self.own), torch.zeros_like(self.twin)
        self.valid = torch.ones_like(self.valid)
        self.shares: dict[int, Fraction] = {}
        self.counts: dict[int, int] = {}
        self.reduced, self.whole, self.tied, self.stale = 0, False, False, False
        self.busy: int | None = None

    def add(self, microbatch: int, share: Fraction, own: Tensor, twin: Tensor) -> None:
        """Add a share of a microbatch's gradient."""
        self.own, self.twin = self.own + scaled(own, share), self.twin + scaled(twin, share)
        self.shares[microbatch] = self.shares.get(microbatch, Fraction(0)) + share
        self.counts[microbatch] = self.counts.get(microbatch, 0) + 1
        self.whole = self.tied = False

    def scale(self, by: Fraction) -> None:
        """Multiply all of it."""
        self.own, self.twin = scaled(self.own, by), scaled(self.twin, by)
        self.shares = {m: share * by for m, share in self.shares.items()}


class Gradients:
    """The accumulators of all stages.

    A reduction reads them at its start, or `late`, at its end.
    """

    def __init__(self, asked: Asked, reference: Reference, *, late: bool) -> None:
        self.asked, self.reference, self.ops = asked, reference, asked.ops
        self.late = late
        self.of = {
            (stage, k): Accumulator(first)
            for stage in asked.home
            for k, first in enumerate(reference.witness.first(stage))
        }
        self._running: list[tuple[int, Mapping[int, Accumulator]]] = []
        self._norms: dict[tuple[int, int], Tensor] = {}
        self._met: dict[tuple[str, ...], dict[int, Mapping[int, Accumulator]]] = {}
        self._turns: dict[tuple[str, ...], int] = {}
        self._ends: dict[tuple[int, int], int] = {}
        self._begun: set[tuple[int, int]] = set()
        shards = [int(said["shard"]) for said in self.ops.attributes.values() if "shard" in said]
        self._shards = max(2, *(shard + 1 for shard in shards)) if shards else 1

    def concerned(self, row: int) -> dict[int, Accumulator]:
        """Return the accumulators that a row is about, by weight."""
        stage = int(self.ops.stage[row])
        return {k: self.of[stage, k] for k in self._about(row)}

    def _about(self, row: int) -> list[int]:
        return self.asked.names[int(self.ops.stage[row])].of_parameter(self.asked.said(row))

    def busy(self, row: int) -> Iterator[Illegal]:
        """Yield what a row touches while a reduction or a sum of it runs."""
        stage = int(self.ops.stage[row])
        for each in self.concerned(row).values():
            if each.busy is not None:
                places = (Place(row, stage), Place(each.busy, stage))
                reads = int(self.ops.kind[row]) in (Kind.STEP, Kind.SCALE, Kind.NORM)
                yield Illegal(Fault.BUSY, places, "a gradient at rest", "one on its way", reads)
                return

    def marked(self, row: int) -> Iterator[Illegal]:
        """Yield what is wrong with the mark of a contribution, where its stage carries it."""
        stage = int(self.ops.stage[row])
        if not self.asked.carries_mark(stage):
            return
        marked, last = self.asked.said(row).get("last") == "yes", self.asked.is_last(row)
        if marked != last:
            said = ("last=no", "last=yes")
            yield Illegal(Fault.MARK, (Place(row, stage),), said[last], said[marked])

    def contribute(self, row: int, found: tuple[Tensor, ...]) -> None:
        """Add what a backward found."""
        said = self.asked.said(row)
        stage, microbatch = int(self.ops.stage[row]), int(self.ops.microbatch[row])
        share = Fraction(said.get("c", "1"))
        for k, each in self.concerned(row).items():
            if said.get("mode") == "assign":
                each.clear()
            twin = torch.zeros_like(found[k])
            if self.asked.replicated:
                twin = self.reference.passed(microbatch, TWIN).gradients[stage][k]
            each.add(microbatch, share, found[k], twin)
        if said.get("last") == "yes" and self.asked.is_reduced_by_mark:
            for k in self.asked.weights:
                _reduce(self.of[stage, k])

    def change(self, row: int) -> None:
        """Clear, scale, or leave something over."""
        kind, said = Kind(int(self.ops.kind[row])), self.asked.said(row)
        for k, each in self.concerned(row).items():
            if kind is Kind.ZERO:
                each.clear()
            elif kind is Kind.SCALE:
                each.scale(Fraction(said["by"]))
                self.reference.witness.assert_exact(each.own, each.twin)
            else:
                left = self.reference.witness.numbers(f"left {row} {k}", tuple(each.own.shape), 9)
                each.own = each.own + (left + 1) * self.reference.witness.scale
                each.stale = True

    # collectives over gradients

    def begin(self, row: int) -> None:
        """Start a reduction, a norm or a sum over tied copies: it reads what is there now."""
        kind, stage = Kind(int(self.ops.kind[row])), int(self.ops.stage[row])
        taken = {}
        for k, each in self.concerned(row).items():
            if kind is Kind.NORM:
                self._norms[stage, k] = self._norm(row, each)
                continue
            late = self.late and kind is Kind.REDUCE
            self._begun.update({(stage, k)} if kind is Kind.REDUCE else ())
            taken[k] = each if late else _copy(each)
            taken[k].whole |= kind is Kind.TIE and each.busy is not None
            if not late:
                each.own = torch.full_like(each.own, torch.nan)
                each.twin = torch.full_like(each.twin, torch.nan)
            each.busy = row
        if kind is Kind.TIE:
            self._enter(row, taken)
        self._running.append((row, taken))

    def _enter(self, row: int, taken: Mapping[int, Accumulator]) -> None:
        stage, said = int(self.ops.stage[row]), self.asked.said(row)
        group = str(self.asked.copies.get(stage, ()))
        key = (str(stage), group, said.get("param", ""), said.get("ranks", ""))
        turn = self._turns[key] = self._turns.get(key, 0) + 1
        self._met.setdefault((*key[1:], str(turn)), {})[row] = taken

    def finish(self, rank: int, handle: int | None) -> None:
        """Complete what runs on a rank: what was started under a handle, or everything for None."""
        ended = [
            each
            for each in self._running
            if int(self.ops.rank[each[0]]) == rank
            and (handle is None or int(self.ops.handle[each[0]]) == handle)
        ]
        for row, taken in ended:
            self._running.remove((row, taken))
            if int(self.ops.kind[row]) == Kind.REDUCE:
                self._reduced(row, taken)
            elif int(self.ops.kind[row]) == Kind.TIE:
                self._tied(row, taken)

    def _reduced(self, row: int, taken: Mapping[int, Accumulator]) -> None:
        shard = self.asked.said(row).get("shard")
        for k, each in self.concerned(row).items():
            _become(each, taken[k])
            if self.asked.replicated:
                _reduce(each)
            if shard is not None and self._shards > 1:
                flat = torch.arange(each.own.numel()).reshape(each.own.shape)
                each.valid = flat % self._shards == int(shard)
                each.own = each.own.masked_fill(~each.valid, torch.nan)

    def _tied(self, row: int, taken: Mapping[int, Accumulator]) -> None:
        (others,) = [met for met in self._met.values() if row in met]
        for k, each in self.concerned(row).items():
            _become(each, taken[k])
            for other, brought in others.items():
                if other != row and k in brought:
                    each.own, each.twin = each.own + brought[k].own, each.twin + brought[k].twin
                    each.stale |= brought[k].stale
            brought_by = [met[k] for met in others.values() if k in met]
            states = {str((a.whole, a.valid.tolist())) for a in brought_by}
            each.tied = len(states) == 1 and len(brought_by) > 1

    def _norm(self, row: int, each: Accumulator) -> Tensor:
        """Return what a NORM of a weight sums up: its own magnitudes, and those of its ranks."""
        stage = int(self.ops.stage[row])
        (k,) = [k for k in self.asked.weights if self.of[stage, k] is each]
        end = self._end(stage, k)
        ranks = set(map(int, self.asked.said(row)["ranks"].split(",")))
        there = [s for s in self.asked.home if self.asked.run.placement[s] in ranks]
        others = self.reference.norm(there, end) if there else torch.zeros(())
        mine = self.reference.taken(stage, k, end).abs().sum() if stage in there else 0
        return others - mine + torch.where(each.valid, each.own, 0).abs().sum()

    # updates

    def _end(self, stage: int, k: int) -> int | None:
        """Return which update of a weight comes next, None where it has none."""
        return self._ends.get((stage, k), 0) if self.asked.ends[stage, k] else None

    def end(self, row: int) -> dict[int, Tensor]:
        """Take what a STEP or SKIP is about; return by what a STEP changes each weight.

        What a STEP takes that is withdrawn later is there for the one after.
        """
        stage, updates = int(self.ops.stage[row]), {}
        lost = self.asked.speculation[stage].lost
        for k, each in self.concerned(row).items():
            updates[k] = self._update(stage, k, each)
            if (row, k) in lost:
                continue
            self._ends[stage, k] = self._ends.get((stage, k), 0) + 1
            self._norms.pop((stage, k), None)
            self._begun.discard((stage, k))
            each.clear()
        return updates

    def _update(self, stage: int, k: int, each: Accumulator) -> Tensor:
        end = self._end(stage, k)
        update = torch.where(each.valid, each.own, self.reference.taken(stage, k, end))
        if self.asked.normed:
            norm = self._norms.get((stage, k))
            update = update if norm is None else update * factor(self.reference.witness, norm)
        return update

    def faults(self, stage: int, row: int, weights: list[int]) -> Iterator[Illegal]:
        """Yield what is wrong with what an update, or the end of a program for row -1, finds."""
        for k in weights:
            each = self.of[stage, k]
            end = self._end(stage, k)
            due = self.asked.due(stage, k, end)
            asked = self.asked.numbered(stage, k, end) if row >= 0 else due
            found = self._wrong(stage, k, each, asked)
            update, wanted = self._update(stage, k, each), self.reference.update(stage, k, end)
            if found:
                visible = not same(update, wanted)
                if asked not in (due, each.shares):
                    visible |= not each.shares or self._is_seen(stage, k, asked)
                places = (Place(row, stage),)
                yield Illegal(Fault.GRADIENT, places, _told(asked), found, visible)
        if row >= 0 and self._lacks_reduction(stage, weights):
            told = "a reduction", "none, and nothing was added"
            yield Illegal(Fault.GRADIENT, (Place(row, stage),), *told)

    def _lacks_reduction(self, stage: int, weights: list[int]) -> bool:
        """Whether an update that nothing is due in stands without a reduction that is required."""
        required = self.asked.schedule.gradients.reduce == "required"
        if not required or self.asked.schedule.forward_only:
            return False
        parts = [(stage, k) for k in weights]
        empty = not any(self.of[part].shares for part in parts)
        ends = (self.asked.due(stage, k, self._end(stage, k)) for k in weights)
        return empty and self._begun.isdisjoint(parts) and not any(ends)

    def _is_seen(self, stage: int, k: int, asked: Mapping[int, Fraction]) -> bool:
        """Whether what was added of microbatches that are not asked for is more than zeros."""
        strange = {m: c for m, c in self.of[stage, k].shares.items() if m not in asked}
        return bool(self.reference.gradient(stage, k, strange, both=False).any())

    def left_over(self, stage: int, weights: list[int]) -> Iterator[Illegal]:
        """Yield what no update takes at the end of a stage with updates."""
        for k in weights:
            each = self.of[stage, k]
            if each.shares:
                place = (Place(-1, stage),)
                visible = bool(each.own.isnan().any() or each.own.any())
                yield Illegal(Fault.GRADIENT, place, "nothing", _told(each.shares), visible)
                return

    def differs(self, stage: int, k: int) -> float | None:
        """Return how far a gradient is off, in parts of what rounding allows; None for no bound.

        Bitwise equal is 0. The bound is n · u · Σ|gᵢ|, element by element, around the sum in
        float64.
        """
        witness = self.reference.witness
        each, end = self.of[stage, k], self._end(stage, k)
        update, wanted = self._update(stage, k, each), self.reference.update(stage, k, end)
        if same(update, wanted):
            return 0.0
        if witness.exact or bool(update.isnan().any()):
            return None
        sought, bound = self.reference.rounded(stage, k, end)
        off = (update.double() - sought).abs() / bound.clamp_min(torch.finfo(witness.dtype).tiny)
        return max(float(off.max()), torch.finfo(torch.float64).tiny)

    def _wrong(self, stage: int, k: int, each: Accumulator, due: Mapping[int, Fraction]) -> str:
        found = []
        due = {m: share for m, share in due.items() if share or m in each.shares}
        if each.shares != due or any(each.counts[m] > self._parts(stage, m) for m in due):
            found.append(f"holds {_told(each.shares)}")
        if self.asked.reduced(stage) and due and not (each.whole and each.reduced == 1):
            found.append(
                f"reduced {each.reduced} times" if each.whole else "not reduced as a whole"
            )
        if self._needs_copies(stage, k, due) and not each.tied:
            found.append("not summed with its copies")
        if self.asked.normed and (stage, k) not in self._norms:
            found.append("without its norm")
        if self.asked.normed and self._norms.get((stage, k)) is not None:
            found.extend(self._norm_wrong(stage, k))
        if each.stale:
            found.append("with leftovers")
        if each.busy is not None:
            found.append("on its way")
        return ", ".join(found)

    def _needs_copies(self, stage: int, k: int, due: Mapping[int, Fraction]) -> bool:
        """Whether a weight has copies, and something is due of one of them."""
        tied, end = self.asked.tied(stage, k), self._end(stage, k)
        others = () if self.asked.each else tied
        some = due or any(self.asked.numbered(other, k, end) for other in others)
        return len(tied) > 1 and bool(some)

    def _norm_wrong(self, stage: int, k: int) -> Iterator[str]:
        end = self._end(stage, k)
        norm, witness = self._norms[stage, k], self.reference.witness
        if same(norm, self.reference.norm(range(witness.stages), end)):
            return
        whole, bound = self.reference.norm_rounded(end)
        if witness.exact or not bool((norm.double() - whole).abs() <= bound):
            yield "with the norm of a part"

    def _parts(self, stage: int, microbatch: int) -> int:
        """Return how many parts with a share of their own a backward has, at least 1."""
        rows = self.asked.adding(stage, microbatch)
        return max(1, sum("c" in self.asked.said(row) for row in rows))


def _told(shares: Mapping[int, Fraction]) -> str:
    return ", ".join(f"{share} of {m}" for m, share in sorted(shares.items())) or "nothing"


def _reduce(each: Accumulator) -> None:
    each.own = each.own + each.twin
    each.twin = each.own.clone()
    each.reduced, each.whole = each.reduced + 1, True


def _copy(each: Accumulator) -> Accumulator:
    made = Accumulator(each.own)
    _become(made, each)
    return made


def _become(each: Accumulator, other: Accumulator) -> None:
    each.own, each.twin, each.valid = other.own, other.twin, other.valid
    each.shares, each.counts = dict(other.shares), dict(other.counts)
    each.reduced, each.whole, each.tied = other.reduced, other.whole, other.tied
    each.stale, each.busy = other.stale, None
