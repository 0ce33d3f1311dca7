"""More legal and illegal twins: another way to break a rule than that of its page."""

from pipeproof.testing._written import Json, Written, written

__all__ = ["WRITTEN"]


def _twins(
    name: str, told: str, illegal: tuple[str, ...], legal: tuple[str, ...], **keys: Json
) -> tuple[Written, Written]:
    """Return a schedule that shows what is told, and one with the same keys that shows nothing."""
    return (
        written(f"{name}, illegal", told, *illegal, **keys),
        written(f"{name}, legal", "", *legal, **keys),
    )


WRITTEN: tuple[Written, ...] = (
    *_twins(
        *("a backward that lacks", "PP701 r0.3, PP101"),
        *(("0F0; 0B0; 0F1",), ("0F0; 0B0; 0F1; 0B1",)),
        stages=1,
        microbatches=2,
    ),
    *_twins(
        *("a backward twice and in halves", "PP102 r0.2, PP702 r0.3"),
        *(("0F0; 0B0; 0B0",), ("0F0; 0B0 c=1/2; 0B0 c=1/2",)),
        stages=1,
    ),
    *_twins(
        *("what one commits another takes back", "PP106 r0.4 r1.4"),
        ("0F0; 0B0; 0STEP; 0F1; 0COMMIT; 0B1", "1F0; 1B0; 1STEP; 1F1; 1ROLLBACK; 1F1; 1B1"),
        ("0F0; 0B0; 0STEP; 0F1; 0COMMIT; 0B1", "1F0; 1B0; 1STEP; 1F1; 1COMMIT; 1B1"),
        stages=2,
        steps=2,
        fragment=True,
        weights={"policy": "speculative"},
    ),
    *_twins(
        *("a signal that nobody gives", "PP201 r0.0"),
        *(("AWAIT from=1; 0F0", "1F0"), ("AWAIT from=1; 0F0", "1F0; SIGNAL to=0")),
        stages=2,
        fragment=True,
    ),
    *_twins(
        *("a layout that differs", "PP203 r0.0 r1.0"),
        ("SEND v to=1 layout=nc", "RECV v from=0 layout=cn"),
        ("SEND v to=1 layout=nc", "RECV v from=0"),
        stages=2,
        fragment=True,
    ),
    *_twins(
        *("a collective that a rank never enters", "PP205 r0.0"),
        *(("COLL k ranks=0,1; 0F0", "1F0"), ("COLL k ranks=0,1; 0F0", "1F0; COLL k ranks=0,1")),
        stages=2,
        fragment=True,
    ),
    *_twins(
        *("two stages of one rank in the wrong order", "PP401 r0.0"),
        *(("1F0; 0F0",), ("0F0; 1F0",)),
        stages=2,
        placement=[0, 0],
        fragment=True,
    ),
    *_twins(
        *("a gradient that its rank makes later", "PP403 r0.2"),
        *(("0F0; 1F0; 0B0; 1B0",), ("0F0; 1F0; 1B0; 0B0",)),
        stages=2,
        placement=[0, 0],
    ),
    *_twins(
        *("sharded again before the backward", "PP406 r0.3"),
        *(("0UNSHARD; 0F0; 0RESHARD; 0B0",), ("0UNSHARD; 0F0; 0B0; 0RESHARD",)),
        stages=1,
    ),
    *_twins(
        *("two receives into one storage", "PP502 r1.1, PP503 r1.1, PP505 r1.3"),
        (
            "SEND a to=1; SEND b to=1",
            "RECV a from=0 buf=s h=x; RECV b from=0 buf=s; WAIT x; USE s a",
        ),
        (
            "SEND a to=1; SEND b to=1",
            "RECV a from=0 buf=s h=x; RECV b from=0 buf=t; WAIT x; USE s a",
        ),
        stages=2,
        fragment=True,
    ),
    *_twins(
        *("one slot for two microbatches", "PP503 r1.1, PP505 r1.2"),
        ("SEND F0.0 to=1; SEND F0.1 to=1", "RECV F0.0 from=0; RECV F0.1 from=0; 1F0; 1F1"),
        ("SEND F0.0 to=1; SEND F0.1 to=1", "RECV F0.0 from=0; 1F0; RECV F0.1 from=0; 1F1"),
        stages=2,
        microbatches=2,
        fragment=True,
        storage={"receive": {"slots": 1}},
    ),
    *_twins(
        *("freed before it is read", "PP504 r0.1"),
        *(("WRITE s v; FREE s; USE s v",), ("WRITE s v; USE s v; FREE s",)),
        stages=1,
        fragment=True,
    ),
    *_twins(
        *("written over before it is read", "PP503 r0.1, PP505 r0.2"),
        *(("WRITE s v; WRITE s w; USE s v",), ("WRITE s v; USE s v; WRITE s w; USE s w",)),
        stages=1,
        fragment=True,
    ),
    *_twins(
        *("bytes that are live", "PP506 r0.1, PP506 r0.2"),
        *(("0F0; 0F1; 0B0; 0B1",), ("0F0; 0B0; 0F1; 0B1",)),
        stages=1,
        microbatches=2,
        sizes={"keep": "1MiB"},
        bounds={"memory": "1MiB"},
    ),
    *_twins(
        *("a contribution that is overwritten", "PP701 r0.4"),
        ("0F0; 0B0; 0F1; 0B1 mode=assign; 0STEP",),
        ("0F0; 0B0 mode=assign; 0F1; 0B1; 0STEP",),
        stages=1,
        microbatches=2,
    ),
    *_twins(
        *("shares by tokens", "PP703 r0.4"),
        ("0F0; 0B0 c=1/2; 0F1; 0B1 c=1/2; 0STEP",),
        ("0F0; 0B0 c=3/4; 0F1; 0B1 c=1/4; 0STEP",),
        stages=1,
        microbatches=2,
        gradients={"coefficients": {"tokens": [6, 2]}},
    ),
    *_twins(
        *("the mark of the last contribution", "PP704 r0.2, PP704 r0.3"),
        ("0F0; 0F1; 0B0 last=yes; 0B1 last=no; 0STEP",),
        ("0F0; 0F1; 0B0 last=no; 0B1 last=yes; 0STEP",),
        stages=1,
        microbatches=2,
    ),
    *_twins(
        *("one stage reduces and the other does not", "PP705 r1.4"),
        ("0F0; 0SEND_F0; 0RECV_B0; 0B0; 0REDUCE; 0STEP", "1RECV_F0; 1F0; 1B0; 1SEND_B0; 1STEP"),
        (
            "0F0; 0SEND_F0; 0RECV_B0; 0B0; 0REDUCE; 0STEP",
            "1RECV_F0; 1F0; 1B0; 1SEND_B0; 1REDUCE; 1STEP",
        ),
        stages=2,
    ),
    *_twins(
        *("stepped while it is reduced", "PP501 r0.3"),
        ("0F0; 0B0; 0REDUCE h=r; 0STEP; WAIT r",),
        ("0F0; 0B0; 0REDUCE h=r; WAIT r; 0STEP",),
        stages=1,
    ),
    *_twins(
        *("running statistics out of order", "PP801 r0.1"),
        *(("0F1 state=a; 0F0 state=a",), ("0F0 state=a; 0F1 state=a",)),
        stages=1,
        microbatches=2,
        fragment=True,
    ),
    *_twins(
        *("saved while a message is under way", "PP803 r0.1"),
        ("SEND v to=1 h=x; SAVE; WAIT x", "RECV v from=0"),
        ("SEND v to=1 h=x; WAIT x; SAVE", "RECV v from=0"),
        stages=2,
        fragment=True,
    ),
    *_twins(
        *("gone on from another place in the data", "PP804 r0.2"),
        *(("CONSUME 4; SAVE; RESUME at=8",), ("CONSUME 4; SAVE; RESUME at=4",)),
        stages=1,
        fragment=True,
    ),
)
