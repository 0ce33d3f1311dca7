"""The interpreter says of small schedules what the language says, in both directions."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from tests.interpreter import gradient_origins, machine, origins, weight_origins
from tests.interpreter.machine import Machine
from tests.interpreter.observation import equivalent, observe
from tests.interpreter.reports import REPORTS
from tests.interpreter.spec import read_spec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.interpreter.drafts import Draft
    from tests.interpreter.machine import State

_STORAGE = ("PP501", "PP502", "PP503", "PP504", "PP505")


def text(*programs: str, **keys: str) -> str:
    """A file; a program has one instruction a line or between semicolons."""
    defaults = {"stages": "1", "microbatches": "1", "placement": "loop", "transport": "rendezvous"}
    lines = [f"{key}: {value}" for key, value in (defaults | keys).items()]
    return "\n".join([*lines, "ranks:", *(f"  - '{program}'" for program in programs)]) + "\n"


def codes(*programs: str, **keys: str) -> set[str]:
    """The rules that are broken."""
    return set(observe(text(*programs, **keys)).codes)


@pytest.mark.parametrize(("rule", "file"), [pytest.param(r, t, id=n) for n, r, t in REPORTS])
def test_reports_break_the_rule_that_is_said_of_them_and_their_twins_none(
    rule: str, file: str
) -> None:
    found = observe(file)

    expected = "PP50x" if rule in _STORAGE else rule
    assert found.legal == (not rule)
    assert not rule or expected in found.codes


def test_a_send_may_see_what_is_written_while_it_is_in_flight() -> None:
    first = "WRITE a u; SEND u to=1 buf=a h=s; WRITE a v; WAIT s"
    found = observe(text(first, "RECV u from=0", stages="2", fragment="true"))

    assert found.reads[0, "SEND u", "u", 0] == {"u", "poison", "v"}


def test_a_send_that_is_known_to_be_received_sees_only_its_value() -> None:
    first = "WRITE a u; SEND u to=1 buf=a h=s; RECV x from=1; WRITE a v; WAIT s"
    second = "RECV u from=0; WRITE b x; SEND x to=0 buf=b"
    found = observe(text(first, second, stages="2", fragment="true"))

    assert found.legal


def test_a_buffered_send_returns_before_its_receive_is_posted() -> None:
    programs = (
        "WRITE a u; SEND u to=1 buf=a; RECV x from=1",
        "WRITE b x; SEND x to=0 buf=b; RECV u from=0",
    )

    assert observe(text(*programs, stages="2", fragment="true")).stuck
    assert observe(text(*programs, stages="2", fragment="true", transport="buffered")).legal


def test_a_receive_is_waited_for_at_its_use_where_the_runtime_does_so() -> None:
    programs = "RECV u from=1 buf=a; USE a u", "WRITE b u; SEND u to=0 buf=b"
    at_use = "{completion: rendezvous, queue: none, groups: independent, wait: at-use}"
    explicit = at_use.replace("at-use", "explicit")

    assert observe(text(*programs, stages="2", fragment="true", transport=at_use)).legal
    assert not observe(text(*programs, stages="2", fragment="true", transport=explicit)).legal


def test_two_receives_into_one_storage_mix() -> None:
    programs = (
        "RECV u from=1 buf=a h=h; RECV v from=1 buf=a h=h; WAIT h; USE a v",
        "WRITE b u; WRITE c v; SEND u to=0 buf=b; SEND v to=0 buf=c",
    )
    found = observe(text(*programs, stages="2", fragment="true"))

    assert "poison" in found.reads[0, "USE v", "v", 0]


def test_an_operation_overwrites_what_only_it_reads() -> None:
    assert not codes("0F0 keep=a; 0B0 gout=a; USE a B0.0", fragment="true")
    assert codes("0F0 keep=a; 0I0 gout=a; 0W0", fragment="true") == {"PP50x"}


def test_a_forward_keeps_its_input_where_it_is() -> None:
    load = "LOAD X.0 buf=a; 0F0 in=a keep=a; "

    assert not codes(load + "0B0")
    assert codes(load + "WRITE a v; 0B0") == {"PP50x"}


def test_pools_and_registers_name_storage() -> None:
    order = "0F0; 0F1; 0B0; 0B1"

    assert not codes(order, microbatches="2", storage="{stash: {slots: 2}}")
    assert codes(order, microbatches="2", storage="{stash: {slots: 1}}") == {"PP50x"}
    assert codes(order, microbatches="2", storage="{registers: [loss]}") == {"PP50x"}
    assert not codes("0F0; 0B0; 0F1; 0B1", microbatches="2", storage="{registers: [loss]}")


def test_a_pool_shared_by_a_rank_is_used_in_turn() -> None:
    program = "0F0; 1F0; 1B0; 0B0"
    turn = "slot: use mod slots, per: rank"

    def pool(slots: int) -> str:
        return f"{{stash: {{slots: {slots}, {turn}}}}}"

    assert not codes(program, stages="2", storage=pool(2))
    assert codes(program, stages="2", storage=pool(1)) == {"PP50x"}


def test_storage_is_free_until_it_is_written_again() -> None:
    assert not codes("WRITE a u; FREE a; FREE a; WRITE a v; USE a v", fragment="true")
    assert codes("WRITE a u; FREE a; USE a u", fragment="true") == {"PP50x"}


def test_a_bound_on_live_forwards_counts_what_is_held() -> None:
    program = "HOLD 1; 0F0; 0F1; 0B0; 0B1; DROP 1"

    assert not codes(program, microbatches="2", bounds="{live: 3}")
    assert codes(program, microbatches="2", bounds="{live: 2}") == {"PP506"}
    assert codes("HOLD 1; 0F0; 0B0") == {"PP507"}


def test_memory_is_counted_from_what_brings_a_value_to_its_last_reader() -> None:
    sizes = "{F: 1KiB, keep: 2KiB, B: 4KiB, weights: 8KiB}"

    assert not codes("0F0; 0B0", sizes=sizes, bounds="{memory: 14KiB}")
    assert codes("0F0; 0B0", sizes=sizes, bounds="{memory: 13KiB}") == {"PP506"}


def test_a_backward_must_read_what_its_forward_read() -> None:
    keys = {"microbatches": "2", "weights": "{policy: stash, updates: microbatch}"}
    program = "0F0; 0F1; 0B0; 0STEP; 0B1 w={}; 0STEP"

    assert not codes(program.format("stash"), **keys)
    assert codes(program.format("latest"), **keys) == {"PP601"}
    assert codes(program.format("stash wv=1"), **keys) == {"PP601"}


def test_flush_asks_for_the_version_that_is_updated() -> None:
    program = "0F0; 0B0; 0STEP; 0F1 w={0}; 0B1 w={0}; 0STEP"

    assert not codes(program.format(1), steps="2")
    assert codes(program.format(0), steps="2") == {"PP602"}


def test_two_versions_are_kept_where_two_are_asked_for() -> None:
    program = "0F0; 0B0; 0STEP; 0F1 w=0; 0B1 w=0; 0STEP; 0F2 w=1; 0B2 w=1; 0STEP"

    assert not codes(program, steps="3", weights="{policy: 2bw}")
    assert codes(program, steps="3", weights="{policy: 2bw}", storage="{weights: {slots: 1}}") == {
        "PP604"
    }


def test_a_version_that_is_too_old_is_stale() -> None:
    keys = {"microbatches": "2", "weights": "{policy: latest, updates: microbatch}"}
    program = "0F0; 0F1; 0B0; 0STEP; 0B1; 0STEP"

    assert not codes(program, bounds="{staleness: 1}", **keys)
    assert codes(program, bounds="{staleness: 0}", **keys) == {"PP603"}


def test_only_forwards_read_what_is_not_committed() -> None:
    keys = {"steps": "2", "weights": "{policy: speculative}"}

    assert not codes("0F0; 0B0; 0STEP; 0F1; 0COMMIT; 0B1; 0STEP", **keys)
    assert codes("0F0; 0B0; 0STEP; 0F1; 0B1; 0COMMIT; 0STEP", **keys) == {"PP605"}


def test_contributions_of_a_withdrawn_step_are_still_there() -> None:
    keys = {"steps": "2", "weights": "{policy: speculative}"}
    program = "0F0; 0B0; 0STEP; 0F1; 0ROLLBACK; 0STEP; 0F1; 0B1; 0STEP"

    assert not codes(program, **keys)
    assert codes(program.replace("ROLLBACK; 0STEP", "ROLLBACK; 0ZERO; 0STEP"), **keys) == {"PP701"}


def test_parts_of_a_contribution_add_up() -> None:
    assert not codes("0F0; 0I0; 0W0 c=1/4; 0W0 c=3/4; 0STEP")
    assert codes("0F0; 0I0; 0W0 c=1/4; 0W0 c=1/4; 0STEP") == {"PP703"}
    assert codes("0F0; 0I0; 0W0; 0W0 c=3/4; 0STEP") >= {"PP702"}


def test_a_parameter_that_one_microbatch_lacks_is_lost() -> None:
    program = "0F0; 0B0 param=w; 0B0 param=b; 0F1; 0B1 param=w; 0STEP"

    assert codes(program, microbatches="2") == {"PP701"}


def test_tokens_share_the_gradient_out() -> None:
    keys = {"microbatches": "2", "gradients": "{coefficients: {tokens: [6, 2]}}"}

    assert not codes("0F0; 0B0 c=3/4; 0F1; 0B1 c=1/4; 0STEP", **keys)
    assert codes("0F0; 0B0 c=1/4; 0F1; 0B1 c=3/4; 0STEP", **keys) == {"PP703"}


def test_a_gradient_in_reduction_is_left_alone() -> None:
    program = "0F0; 0B0; 0REDUCE h=g; WAIT g; 0STEP"

    assert not codes(program)
    assert codes(program.replace("WAIT g; 0STEP", "0STEP; WAIT g")) == {"PP501"}
    assert codes("0F0; 0F1; 0B0; 0REDUCE h=g; 0B1; WAIT g; 0STEP", microbatches="2") == {"PP502"}


def test_an_update_before_its_last_contribution_is_early() -> None:
    assert "PP706" in codes("0F0; 0F1; 0B0; 0STEP; 0B1", microbatches="2")


def test_leftovers_are_cleared_before_they_are_used() -> None:
    assert not codes("0STALE; 0ZERO; 0F0; 0B0; 0STEP")
    assert codes("0STALE; 0F0; 0B0; 0STEP") == {"PP708"}


def test_a_norm_is_taken_over_all_ranks_and_last() -> None:
    keys = {"gradients": "{norm: all}"}

    assert not codes("0F0; 0B0; 0NORM ranks=0; 0STEP", **keys)
    assert codes("0F0; 0NORM ranks=0; 0B0; 0STEP", **keys) == {"PP709"}


def test_a_recomputation_starts_from_what_its_forward_started_from() -> None:
    assert not codes("0F0 rng=a; 0R0 rng=a; 0B0")
    assert codes("0F0 rng=a; 0R0 rng=b; 0B0") == {"PP801"}
    assert codes("0F0; 0R0 rng=b; 0B0") == {"PP801"}


def test_a_checkpoint_waits_until_nothing_is_open() -> None:
    assert not codes("CONSUME 1; 0F0; 0B0; SAVE; RESUME at=1")
    assert codes("CONSUME 1; 0F0; SAVE; 0B0; RESUME at=1") == {"PP803"}
    assert codes("CONSUME 1; 0F0; 0B0; SAVE; RESUME at=2") == {"PP804"}


def test_the_order_of_what_nobody_shares_makes_no_difference() -> None:
    one, other = (
        observe(text(program, microbatches="2"))
        for program in ("0F0; 0F1; 0B0; 0B1", "0F0; 0B0; 0F1; 0B1")
    )

    assert equivalent(one, other)


class _Unreduced(Machine):
    """A machine that leaves no order out."""

    def successors(self, state: State) -> Iterator[State]:
        for rank in range(len(self.steps)):
            if after := self._advance(state, rank):
                yield after
        for number in range(len(self.ends)):
            if self._may_complete(state, number):
                yield self._complete(state, number)


def _small(make: Callable[[Random], Draft], seed: int) -> Draft:
    """A draft of few instructions on at least two ranks; one without a WAIT, sometimes."""
    rng = Random(f"small {seed}")
    while True:
        draft = make(rng)
        if len(draft.programs) < 2 or sum(map(len, draft.programs)) > 24:
            continue
        for program in draft.programs:
            waits = [line for line in program if line.kind == "WAIT"]
            if waits and seed % 3:
                program[:] = [line for line in program if line is not waits[0]]
        return draft


@pytest.mark.parametrize("seed", range(8))
def test_leaving_out_orders_changes_nothing_that_is_seen(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = read_spec(_small(origins.handled if seed % 2 else origins.named, seed).text)

    reduced = machine.run(spec)
    monkeypatch.setattr(machine, "Machine", _Unreduced)
    full = machine.run(spec, limit=200_000)

    assert full.states > reduced.states
    assert (full.reads, full.clashes, full.stuck) == (
        reduced.reads,
        reduced.clashes,
        reduced.stuck,
    )


_ORIGINS: tuple[Callable[[Random], Draft], ...] = (
    origins.named,
    origins.handled,
    origins.pooled,
    origins.live,
    origins.memory,
    origins.recomputing,
    origins.saved,
    gradient_origins.gradients,
    weight_origins.flush,
    weight_origins.stash,
    weight_origins.vertical,
    weight_origins.double_buffered,
    weight_origins.latest,
    weight_origins.speculative,
    weight_origins.gathered,
    weight_origins.cached,
)


@pytest.mark.parametrize("make", _ORIGINS, ids=lambda make: make.__name__)
def test_what_is_drawn_is_legal(make: Callable[[Random], Draft]) -> None:
    for seed in range(5):
        draft = make(Random(f"legal {seed}"))

        assert observe(draft.text).legal, draft.text
