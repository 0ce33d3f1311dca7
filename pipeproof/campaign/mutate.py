"""Mutations with names: one change of a schedule each, drawn from a seed."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random
from types import MappingProxyType

from pipeproof.campaign import (
    _mutate_gradients as gradients,
)
from pipeproof.campaign import (
    _mutate_messages as messages,
)
from pipeproof.campaign import (
    _mutate_order as order,
)
from pipeproof.campaign import (
    _mutate_restart as restart,
)
from pipeproof.campaign import (
    _mutate_storage as storage,
)
from pipeproof.campaign import (
    _mutate_weights as weights,
)
from pipeproof.campaign._draft import Draft, draft_of
from pipeproof.campaign.judged import judged, names_of, number_of, read, text_of, told
from pipeproof.campaign.task import Json
from pipeproof.errors import InputError, UnsupportedFeatureError
from pipeproof.ir.schedule import Schedule
from pipeproof.ir.source import Document, OnePlace
from pipeproof.ir.spec_text import write_spec
from pipeproof.lowering.lower import lower

__all__ = ["describe", "mutant", "mutate", "mutations", "perform", "written_out"]

_Change = Callable[[Random, Draft], bool]
_DRAWS = 8  # of one seed, until one changes something

_MUTATIONS: Mapping[str, _Change] = MappingProxyType(
    {
        "swap": order.swap,
        "move": order.shift,
        "drop": order.drop,
        "drop-operation": order.drop_operation,
        "duplicate": order.duplicate,
        "relabel": order.relabel,
        "relabel-stage": order.relabel_stage,
        "misplace": order.misplace,
        "backward-first": order.backward_first,
        "weight-gradient-first": order.weight_gradient_first,
        "reshard-early": order.reshard_early,
        "skip-step": order.skip_step,
        "drop-message": messages.drop_message,
        "cross-messages": messages.cross_messages,
        "redirect-message": messages.redirect_message,
        "split-communicator": messages.split_communicator,
        "change-shape": messages.change_shape,
        "split-group": messages.split_group,
        "join-group": messages.join_group,
        "drop-signal": messages.drop_signal,
        "skip-wait": messages.skip_wait,
        "wait-late": messages.wait_late,
        "never-waited": messages.never_waited,
        "reorder-collective": messages.reorder_collective,
        "miss-collective": messages.miss_collective,
        "shrink-pool": storage.shrink_pool,
        "shrink-bound": storage.shrink_bound,
        "free-early": storage.free_early,
        "share-storage": storage.share_storage,
        "read-other": storage.read_other,
        "one-storage": storage.name_one_storage,
        "hold-more": storage.hold_more,
        "hold-for-ever": storage.hold_for_ever,
        "mixed-version": weights.mixed_version,
        "drop-stash": weights.drop_stash,
        "keep-fewer-versions": weights.keep_fewer,
        "skip-gather": weights.skip_gather,
        "update-early": weights.update_early,
        "read-across-update": weights.read_across_update,
        "withdraw": weights.withdraw,
        "wrong-coefficient": gradients.wrong_coefficient,
        "scale-again": gradients.scale_again,
        "assign-for-add": gradients.assign_for_add,
        "clear-between": gradients.clear_between,
        "repeat-contribution": gradients.repeat_contribution,
        "leave-stale": gradients.leave_stale,
        "reduce-early": gradients.reduce_early,
        "drop-reduction": gradients.drop_reduction,
        "reduce-again": gradients.reduce_again,
        "drop-tie": gradients.drop_tie,
        "partial-norm": gradients.partial_norm,
        "close-early": gradients.close_early,
        "recompute-other": restart.recompute_other,
        "recompute-version": restart.recompute_version,
        "reorder-state": restart.reorder_state,
        "restore-less": restart.restore_less,
        "resume-elsewhere": restart.resume_elsewhere,
        "save-early": restart.save_early,
    }
)


def mutations() -> tuple[str, ...]:
    """Return the names of all mutations, those of order first, those of restarts last."""
    return tuple(_MUTATIONS)


def describe(name: str) -> str:
    """Return one sentence on what a mutation does.

    Raises:
        ValueError: there is no such mutation.
    """
    return (_change(name).__doc__ or "").strip().splitlines()[0]


def mutate(schedule: Schedule, name: str, seed: int) -> Schedule | None:
    """Return a schedule with one change.

    Same schedule, name and seed: same mutant, on every machine. What changes are the programs as
    they stand in the schedule, so of a computation order its computations, and keys of the file.

    Args:
        schedule: any; it stays as it is.
        name: one of `mutations()`.
        seed: any number; another one chooses another place or another way.

    Returns:
        The mutant, or None where there is nothing that this mutation changes.

    Raises:
        ValueError: there is no such mutation.
    """
    change = _change(name)
    draft = draft_of(schedule)
    before = draft.words()
    rng = Random(f"{name} {seed}")  # noqa: S311  seeded by text, so alike on every machine
    for _ in range(_DRAWS):
        other = draft.copy()
        if not change(rng, other):
            return None
        if other.words() == before:
            continue
        try:
            return other.schedule()
        except InputError:  # such as a WAIT for what nobody starts any more
            continue
    return None


def _change(name: str) -> _Change:
    if name not in _MUTATIONS:
        message = f"there is no mutation {name!r}; write one of {', '.join(_MUTATIONS)}"
        raise ValueError(message)
    return _MUTATIONS[name]


def written_out(document: Document) -> Document:
    """Return a document with what its lowering adds written out, to be judged as written.

    Raises:
        UnsupportedFeatureError: it cannot be lowered.
        LimitError: there would be too many operations.
    """
    if document.schedule.lowering == "as-written":
        return document
    run = lower(document.schedule)
    schedule = replace(
        document.schedule,
        operations=run.spelled,
        placement=run.placement,
        lowering="as-written",
        slots=None,
    )
    return replace(document, schedule=schedule, places=OnePlace(), origin=MappingProxyType({}))


def mutant(body: Mapping[str, Json]) -> Document | None:
    """Return the mutant that a task speaks of, as written; None where it does not apply.

    Of a computation order computations change, and messages are written out behind them; where
    nothing is left of the change then, such as of a coefficient, it is made behind them.

    Args:
        body: `text`, a spec; `mutation`, its name; `seed`; and `written-out: 1` where messages
            are to be written out before, not after.

    Raises:
        InputError: the text is no spec.
        UnsupportedFeatureError: it cannot be lowered, before or after.
    """
    document = replace(read(text_of(body, "text")), expect=())
    name, seed = text_of(body, "mutation"), number_of(body, "seed") or 0
    whole = written_out(document)
    if not number_of(body, "written-out") and document.schedule.lowering != "as-written":
        changed = mutate(document.schedule, name, seed)
        if changed is None:
            return None
        other = _written(replace(document, schedule=changed))
        if other is None or write_spec(other, None) != write_spec(whole, None):
            return other
    changed = mutate(whole.schedule, name, seed)
    return None if changed is None else _written(replace(whole, schedule=changed))


def _written(document: Document) -> Document | None:
    """Return a document as it reads once it is written; None where no file says this."""
    try:
        return read(write_spec(written_out(replace(document, places=OnePlace())), None))
    except (InputError, UnsupportedFeatureError):
        return None


def perform(body: Mapping[str, Json]) -> Mapping[str, Json]:
    """Do a task of kind `mutant`.

    Args:
        body: as `mutant` takes it; and, if they are there, `transports`, names, and `states`.

    Returns:
        `applies`, 0 or 1; where it does, `text`, the mutant as a spec; and what a task of kind
        `judge` says of it.
    """
    document = mutant(body)
    if document is None:
        return {"applies": 0}
    found = judged(document, names_of(body, "transports"), number_of(body, "states"))
    return {"applies": 1, "text": write_spec(document, None), **told(found)}
