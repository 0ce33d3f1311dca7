"""Fault by fault: the smallest schedule that has it, and its legal neighbour."""

from collections.abc import Mapping

from pipeproof.execution.replayer import Fault

PAIR = ("0F0; SEND F0.0 to=1; RECV B1.0 from=1; 0B0", "RECV F0.0 from=0; 1F0; 1B0; SEND B1.0 to=0")
SECOND = "RECV F0.0 from=0; RECV F0.1 from=0; 1F0; 1F1"
STEPS = "0F0; 0B0; 0STEP; 0F1 {}; 0B1 {}; 0STEP"
FORWARDS = {"microbatches": 2, "fragment": True}
UPDATES = {"steps": 2, "weights": {"policy": "stash"}}
REDUCED = {"microbatches": 2, "gradients": {"reduce": "required"}}
TIED = {"gradients": {"tied": [["0", "1"]]}}
NORMED = {"gradients": {"norm": "all"}}
HELD = {"fragment": True, "stages": 2}
FLIGHT = "versions,pending,order,rng,data"
LACKING, TAKE = FLIGHT.replace("pending,", ""), "RECV F0.0 from=0; 1F0"
SPECULATIVE = {"steps": 2, "weights": {"policy": "speculative"}}
BACK = "0F0; 1F0; 1B0; 0B0; 0STEP; 1STEP; 0F1; {}0ROLLBACK; 0STEP; {}1B1; 0B1; 0STEP; 1STEP"

# fault, keys of the file, programs that have it, programs that do not
CASES: Mapping[str, tuple[Fault, Mapping[str, object], tuple[str, ...], tuple[str, ...]]] = {
    "crossed": (
        Fault.CROSSED,
        FORWARDS,
        ("SEND F0.0 to=1; SEND F0.1 to=1", "RECV F0.1 from=0; RECV F0.0 from=0; 1F0; 1F1"),
        ("SEND F0.0 to=1; SEND F0.1 to=1", SECOND),
    ),
    "early forward": (
        Fault.ABSENT,
        HELD,
        ("SEND F0.0 to=1", "1F0; RECV F0.0 from=0"),
        ("SEND F0.0 to=1", "RECV F0.0 from=0; 1F0"),
    ),
    "backward before forward": (
        Fault.NO_FORWARD,
        {},
        ("0B0; 0F0",),
        ("0F0; 0B0",),
    ),
    "early backward": (
        Fault.ABSENT,
        HELD,
        ("0F0; 0B0; RECV B1.0 from=1", "SEND B1.0 to=0"),
        ("0F0; RECV B1.0 from=1; 0B0", "SEND B1.0 to=0"),
    ),
    "early weight gradient": (
        Fault.NO_INPUT_GRADIENT,
        {},
        ("0F0; 0W0; 0I0",),
        ("0F0; 0I0; 0W0",),
    ),
    "early send": (
        Fault.ABSENT,
        {"transport": "buffered"},
        ("SEND F0.0 to=1; 0F0; RECV B1.0 from=1; 0B0", PAIR[1]),
        PAIR,
    ),
    "sharded": (
        Fault.SHARDED,
        {},
        ("0UNSHARD; 0F0; 0RESHARD; 0B0",),
        ("0UNSHARD; 0F0; 0B0; 0RESHARD",),
    ),
    "read before the receive is complete": (
        Fault.ABSENT,
        {**HELD, "transport": "buffered"},
        ("SEND F0.0 to=1", "RECV F0.0 from=0 h=a buf=s; 1F0 in=s; WAIT a"),
        ("SEND F0.0 to=1", "RECV F0.0 from=0 h=a buf=s; WAIT a; 1F0 in=s"),
    ),
    "written while it is sent": (
        Fault.OTHER,
        {"microbatches": 2, **HELD, "transport": "buffered"},
        ("0F0 out=s; SEND F0.0 to=1 h=a buf=s; 0F1 out=s; WAIT a", "RECV F0.0 from=0"),
        ("0F0 out=s; SEND F0.0 to=1 h=a buf=s; WAIT a; 0F1 out=s", "RECV F0.0 from=0"),
    ),
    "overwritten unread": (
        Fault.OTHER,
        FORWARDS,
        ("LOAD X.0 buf=s; LOAD X.1 buf=s; 0F0 in=s",),
        ("LOAD X.0 buf=s; 0F0 in=s; LOAD X.1 buf=s",),
    ),
    "freed early": (
        Fault.FREED,
        FORWARDS,
        ("LOAD X.0 buf=s; FREE s; 0F0 in=s",),
        ("LOAD X.0 buf=s; 0F0 in=s; FREE s",),
    ),
    "kept where it is overwritten": (
        Fault.OTHER,
        {"microbatches": 2},
        ("LOAD X.0 buf=s; 0F0 in=s keep=s; LOAD X.1 buf=s; 0F1 in=s; 0B0; 0B1",),
        ("LOAD X.0 buf=s; 0F0 in=s keep=s; 0B0; LOAD X.1 buf=s; 0F1 in=s; 0B1",),
    ),
    "a segment before the one before it": (
        Fault.ABSENT,
        {"segments": 2},
        ("0F1; 0F0; 0B1; 0B0; 0STEP",),
        ("0F0; 0F1; 0B1; 0B0; 0STEP",),
    ),
    "a segment backward before the one after it": (
        Fault.ABSENT,
        {"segments": 2, "placement": [0, 0]},
        ("0F0; 0F1; 1F0; 1F1; 1B1; 1B0; 0I0; 0I1; 0W0; 0W1",),
        ("0F0; 0F1; 1F0; 1F1; 1B1; 1B0; 0I1; 0I0; 0W0; 0W1",),
    ),
    "backward before all segments": (
        Fault.NO_FORWARD,
        {"segments": 2, "microbatches": 2, "gradients": {"coefficients": "mean"}},
        ("0F0; 0F1; 0F2; 0B2; 0F3; 0B3; 0B1; 0B0; 0SCALE by=1/2",),
        ("0F0; 0F1; 0F2; 0F3; 0B3; 0B2; 0B1; 0B0; 0SCALE by=1/2",),
    ),
    "mixed": (
        Fault.MIXED,
        UPDATES,
        ("0F0; 0F1; 0B0; 0STEP; 0B1; 0STEP",),
        ("0F0; 0F1; 0B0; 0STEP; 0B1 w=stash; 0STEP",),
    ),
    "not the version of the policy": (
        Fault.POLICY,
        {"steps": 2},
        (STEPS.format("w=0", "w=0"),),
        (STEPS.format("", ""),),
    ),
    "retired": (
        Fault.RETIRED,
        {**UPDATES, "storage": {"weights": {"slots": 1}}},
        ("0F0; 0F1; 0B0; 0STEP; 0B1 w=stash; 0STEP",),
        ("0F0; 0B0; 0STEP; 0F1; 0B1 w=stash; 0STEP",),
    ),
    "used before its update is committed": (
        Fault.UNCOMMITTED,
        SPECULATIVE,
        ("0F0; 0B0; 0STEP; 0F1; 0B1; 0COMMIT; 0STEP",),
        ("0F0; 0B0; 0STEP; 0F1; 0COMMIT; 0B1; 0STEP",),
    ),
    "read without speculation": (
        Fault.UNCOMMITTED,
        {"steps": 2},
        ("0F0; 0B0; 0STEP; 0F1; 0COMMIT; 0B1; 0STEP",),
        ("0F0; 0B0; 0STEP; 0COMMIT; 0F1; 0B1; 0STEP",),
    ),
    "a withdrawn stash": (
        Fault.UNCOMMITTED,
        SPECULATIVE,
        ("0F0; 0B0; 0STEP; 0F1; 0ROLLBACK; 0STEP; 0B1 w=stash; 0STEP",),
        ("0F0; 0B0; 0STEP; 0F1; 0ROLLBACK; 0STEP; 0F1; 0B1 w=stash; 0STEP",),
    ),
    "a withdrawn forward": (
        Fault.NO_FORWARD,
        SPECULATIVE,
        ("0F0; 0B0; 0STEP; 0F1; 0ROLLBACK; 0STEP; 0B1; 0STEP",),
        ("0F0; 0B0; 0STEP; 0F1; 0ROLLBACK; 0STEP; 0F1; 0B1; 0STEP",),
    ),
    "a withdrawn forward of another stage": (
        Fault.NO_FORWARD,
        {**SPECULATIVE, "placement": [0, 0]},
        (BACK.format("", "1F1; "),),
        (BACK.format("1F1; ", "0F1; 1F1; "),),
    ),
    "recomputed with withdrawn weights": (
        Fault.RECOMPUTED,
        SPECULATIVE,
        ("0F0; 0B0; 0STEP; 0F1; 0R1; 0ROLLBACK; 0STEP; 0F1; 0ROLLBACK; 0R1 w=0; 0B1; 0STEP",),
        ("0F0; 0B0; 0STEP; 0F1; 0R1; 0ROLLBACK; 0STEP; 0F1; 0R1; 0B1; 0STEP",),
    ),
    "lost": (
        Fault.GRADIENT,
        {"microbatches": 2},
        ("0F0; 0F1; 0B0; 0ZERO; 0B1; 0STEP",),
        ("0F0; 0F1; 0ZERO; 0B0; 0B1; 0STEP",),
    ),
    "repeated": (
        Fault.GRADIENT,
        {},
        ("0F0; 0B0; 0B0; 0STEP",),
        ("0F0; 0B0; 0STEP",),
    ),
    "with a wrong share": (
        Fault.GRADIENT,
        {"microbatches": 2, "gradients": {"coefficients": "mean"}},
        ("0F0; 0F1; 0B0 c=1/2; 0B1; 0STEP",),
        ("0F0; 0F1; 0B0; 0B1; 0SCALE by=1/2; 0STEP",),
    ),
    "reduced early": (
        Fault.GRADIENT,
        REDUCED,
        ("0F0; 0F1; 0B0; 0REDUCE; 0B1; 0STEP",),
        ("0F0; 0F1; 0B0; 0B1; 0REDUCE; 0STEP",),
    ),
    "never reduced": (
        Fault.GRADIENT,
        REDUCED,
        ("0F0; 0F1; 0B0; 0B1; 0STEP",),
        ("0F0; 0F1; 0B0; 0B1; 0REDUCE; 0STEP",),
    ),
    "closed too soon": (
        Fault.GRADIENT,
        {"microbatches": 2},
        ("0F0; 0F1; 0B0 last=yes; 0B1 last=no; 0STEP",),
        ("0F0; 0F1; 0B0 last=no; 0B1 last=yes; 0STEP",),
    ),
    "added while it is reduced": (
        Fault.GRADIENT,
        REDUCED,
        ("0F0; 0F1; 0B0; 0REDUCE h=r; 0B1; WAIT r; 0STEP",),
        ("0F0; 0F1; 0B0; 0B1; 0REDUCE h=r; WAIT r; 0STEP",),
    ),
    "updated early": (
        Fault.GRADIENT,
        {"microbatches": 2},
        ("0F0; 0F1; 0B0; 0STEP; 0B1",),
        ("0F0; 0F1; 0B0; 0B1; 0STEP",),
    ),
    "updated before everything": (
        Fault.GRADIENT,
        {"gradients": {"reduce": "required"}, "weights": {"policy": "latest"}},
        ("0STEP; 0F0; 0B0; 0REDUCE",),
        ("0F0; 0B0; 0REDUCE; 0STEP",),
    ),
    "with a microbatch of the step before": (
        Fault.GRADIENT,
        {"weights": {"policy": "latest"}},
        ("0SKIP; 0F0; 0B0; 0STEP",),
        ("0SKIP; 0F0; 0B0",),
    ),
    "a microbatch that counts nothing": (
        Fault.GRADIENT,
        {"microbatches": 2, "gradients": {"coefficients": ["1", "0"]}},
        ("0F0; 0F1; 0B0; 0ZERO; 0B1; 0STEP",),
        ("0F0; 0F1; 0B1; 0ZERO; 0B0; 0STEP",),
    ),
    "untied": (
        Fault.GRADIENT,
        TIED,
        ("0F0; 1F0; 1B0; 0B0; 0STEP; 1STEP",),
        ("0F0; 1F0; 1B0; 0B0; 0TIE ranks=0 h=a; 1TIE ranks=0 h=b; WAIT a; WAIT b; 0STEP; 1STEP",),
    ),
    "with leftovers": (
        Fault.GRADIENT,
        {},
        ("0F0; 0STALE; 0B0; 0STEP",),
        ("0F0; 0STALE; 0ZERO; 0B0; 0STEP",),
    ),
    "with the norm of a part": (
        Fault.GRADIENT,
        {**NORMED, "microbatches": 2},
        ("0F0; 0F1; 0B0; 0NORM ranks=0; 0B1; 0STEP",),
        ("0F0; 0F1; 0B0; 0B1; 0NORM ranks=0; 0STEP",),
    ),
    "recomputed with other random state": (
        Fault.RECOMPUTED,
        {},
        ("0F0 rng=a; 0R0 rng=b; 0B0",),
        ("0F0 rng=a; 0R0 rng=a; 0B0",),
    ),
    "recomputed with other weights": (
        Fault.RECOMPUTED,
        UPDATES,
        ("0F0; 0F1; 0B0; 0STEP; 0R1; 0B1 w=stash; 0STEP",),
        ("0F0; 0F1; 0B0; 0STEP; 0R1 w=stash; 0B1 w=stash; 0STEP",),
    ),
    "resumed at another place": (
        Fault.RESTORED,
        {**HELD, "microbatches": 2},
        ("0F0; CONSUME 2; SAVE; RESUME at=1", "LOAD X.0"),
        ("0F0; CONSUME 2; SAVE; RESUME at=2", "LOAD X.0"),
    ),
    "resumed without its versions": (
        Fault.RESTORED,
        {"fragment": True},
        (f"0F0; 0B0; 0STEP; SAVE async={FLIGHT.replace('versions,', '')}; RESUME at=0",),
        (f"0F0; 0B0; 0STEP; SAVE async={FLIGHT}; RESUME at=0",),
    ),
    "resumed without a message on its way": (
        Fault.RESTORED,
        {**HELD, "transport": "buffered"},
        ("SEND F0.0 to=1; SIGNAL to=1", f"AWAIT from=0; SAVE async={LACKING}; RESUME at=0; {TAKE}"),
        ("SEND F0.0 to=1; SIGNAL to=1", f"AWAIT from=0; SAVE async={FLIGHT}; RESUME at=0; {TAKE}"),
    ),
    "restored from another": (
        Fault.RESTORED,
        {"fragment": True},
        ("0F0; RESTORE rng have=r1 want=r0",),
        ("0F0; RESTORE rng have=r0 want=r0",),
    ),
    "handed on out of order": (
        Fault.REGISTER,
        {"microbatches": 2, "fragment": True},
        ("0F1 state=s; 0F0 state=s",),
        ("0F0 state=s; 0F1 state=s",),
    ),
}
