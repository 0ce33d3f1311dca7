"""Programs under each transport, and what each key of a transport changes."""

from pipeproof.ir.transport import NAMED
from pipeproof.testing._written import Json, Written, written

__all__ = ["WRITTEN"]

_CIRCLE = "PP301 r0.0 r1.0"
_UNDER_EACH: tuple[tuple[str, tuple[str, ...], dict[str, str]], ...] = (
    (
        "sends that cross",
        ("SEND a to=1; RECV b from=1", "SEND b to=0; RECV a from=0"),
        {"": "buffered buffered-1 nccl-edge gloo nccl-small", "else": _CIRCLE},
    ),
    (
        "two communicators in two orders",
        ("SEND a to=1; SEND b to=1 comm=c", "RECV b from=0 comm=c; RECV a from=0"),
        {
            "": "buffered buffered-1 nccl-lazy nccl-direction nccl-edge gloo nccl-small",
            "else": _CIRCLE,
        },
    ),
    ("names that differ", ("SEND a to=1", "RECV b from=0"), {"else": "PP202 r0.0 r1.0"}),
    (
        "one bracket each",
        ("[SEND a to=1 | RECV b from=1]", "[SEND b to=0 | RECV a from=0]"),
        {"else": ""},
    ),
    (
        "two calls against a bracket",
        ("[SEND a to=1 | SEND b to=1]", "RECV a from=0; RECV b from=0"),
        {_CIRCLE: "rendezvous-atomic", "else": ""},
    ),
    (
        "a ring of first calls",
        (
            "SEND a to=1; RECV c from=2",
            "SEND b to=2; RECV a from=0",
            "SEND c to=0; RECV b from=1",
        ),
        {
            "": "buffered buffered-1 nccl-lazy nccl-edge gloo nccl-small",
            "else": "PP301 r0.0 r1.0 r2.0",
        },
    ),
    (
        "forward and backward traffic",
        ("SEND F0.0 to=1; RECV B1.0 from=1", "SEND B1.0 to=0; RECV F0.0 from=0"),
        {"": "buffered buffered-1 nccl-direction nccl-edge gloo nccl-small", "else": _CIRCLE},
    ),
    (
        "written after it is sent",
        ("WRITE s v; SEND v to=1 buf=s; WRITE s w", "RECV v from=0"),
        {
            "": "rendezvous rendezvous-edge rendezvous-serial rendezvous-rank rendezvous-atomic "
            "buffered buffered-1",
            "else": "PP502 r0.2",
        },
    ),
    (
        "two sends before they are received",
        (
            "SEND a to=1; SEND b to=1; SEND go to=1 comm=c",
            "RECV go from=0 comm=c; RECV a from=0; RECV b from=0",
        ),
        {
            "": "buffered nccl-lazy nccl-direction nccl-edge gloo nccl-small",
            "PP301 r0.1 r1.0": "buffered-1",
            "else": _CIRCLE,
        },
    ),
    (
        "a receive that its reader waits for",
        ("0F0; SEND F0.0 to=1", "RECV F0.0 from=0 buf=s; 1F0 in=s; WRITE s v"),
        {"else": ""},
    ),
)


def _under_each() -> list[Written]:
    found = []
    for name, ranks, told in _UNDER_EACH:
        by_name = {each: said for said, names in told.items() for each in names.split()}
        for transport in NAMED:
            said = by_name.get(transport, told["else"])
            keys: dict[str, Json] = {"stages": 4, "fragment": True, "transport": transport}
            found.append(written(f"{name}, {transport}", said, *ranks, **keys))
    return found


def _with(
    name: str, told: str, *ranks: str, completion: str = "rendezvous", **keys: Json
) -> Written:
    transport: dict[str, Json] = {"completion": completion, **keys}
    return written(name, told, *ranks, stages=4, fragment=True, transport=transport)


_BEHIND_GO = (
    "SEND a to=1; SEND b to=1; SEND c to=1; SEND go to=1 comm=k",
    "RECV go from=0 comm=k; RECV c from=0; RECV b from=0; RECV a from=0",
)
_ONE_HAS_COME = (
    "WRITE s a; SEND a to=1 buf=s h=x; SEND b to=1 h=y; SEND c to=1 h=z; WAIT z; WRITE s d; WAIT x",
    "RECV a from=0; RECV b from=0; RECV c from=0",
)
_SECOND_CREDIT = (
    "SEND a to=1 h=x; SEND b to=1 h=x",
    "RECV a from=0 buf=s h=x; RECV b from=0; USE s a; WAIT x",
)
_EITHER = (
    "SEND a to=1 h=x; SEND b to=1 h=x; SEND c to=1; SIGNAL to=2",
    "RECV a from=0 buf=s h=x; RECV b from=0 h=x; RECV c from=0; USE s a; WAIT x",
    "AWAIT from=0",
)
_ONE_SET = ("[SEND a to=1 | SEND b to=1]", "RECV a from=0 h=x; RECV b from=0 h=x; WAIT x")
_IN_TWO_ORDERS = ("SEND a to=1 h=x; SEND b to=1 h=x", "RECV b from=0; RECV a from=0")
_LATE = "RECV a from=0 h=r; WAIT r; COLL k ranks=0,1"

WRITTEN: tuple[Written, ...] = (
    *_under_each(),
    _with(
        *("credits that are too few", "PP301 r0.2 r1.0", *_BEHIND_GO),
        completion="buffered",
        capacity=2,
        match="tag",
    ),
    _with(
        *("credits that suffice", "", *_BEHIND_GO),
        completion="buffered",
        capacity=3,
        match="tag",
    ),
    _with(
        *("a credit shows that one has come", "", *_ONE_HAS_COME),
        completion="buffered",
        capacity=2,
        queue="edge",
    ),
    _with(
        *("no credit shows that one has come", "PP502 r0.5", *_ONE_HAS_COME),
        completion="buffered",
        capacity=3,
    ),
    _with(
        *("one credit orders two receives", "", *_SECOND_CREDIT),
        completion="buffered",
        capacity=1,
        match="tag",
    ),
    _with(
        *("two credits order nothing", "PP501 r1.2", *_SECOND_CREDIT),
        completion="buffered",
        capacity=2,
        match="tag",
    ),
    _with(
        *("either of two has come, not this one", "PP501 r1.3", *_EITHER),
        completion="buffered",
        capacity=2,
        match="tag",
    ),
    _with("tags out of order", "", *_IN_TWO_ORDERS, match="tag"),
    _with("names out of order", "PP202 r0.0 r1.0, PP202 r0.1 r1.1", *_IN_TWO_ORDERS),
    _with("calls of one atomic set", "", *_ONE_SET, groups="atomic"),
    _with(
        "calls of one atomic set in one queue", _CIRCLE, *_ONE_SET, groups="atomic", queue="rank"
    ),
    _with(
        *("no wait", "PP501 r1.1", "SEND v to=1", "RECV v from=0 buf=s; USE s v"),
        completion="buffered",
        wait="explicit",
    ),
    _with(
        *("a wait", "", "SEND v to=1", "RECV v from=0 buf=s h=x; WAIT x; USE s v"),
        completion="buffered",
        wait="explicit",
    ),
    _with("a weak message in a call", "", "SEND v to=1 comm=c", "RECV v from=0 comm=c", weak=["c"]),
    _with(
        *("a weak message whose sender is elsewhere", "PP301 r0.1 r1.0"),
        *("SEND v to=1 comm=c h=x; AWAIT from=1; WAIT x", "RECV v from=0 comm=c; SIGNAL to=0"),
        weak=["c"],
    ),
    _with(
        *("a reduce orders its root", ""),
        *("SEND a to=1 buf=s; COLL k ranks=0,1 to=0; WRITE s b", f"{_LATE} to=0"),
        completion="buffered",
        wait="explicit",
    ),
    _with(
        *("a broadcast does not order its root", "PP502 r0.2"),
        *("SEND a to=1 buf=s; COLL k ranks=0,1 from=0; WRITE s b", f"{_LATE} from=0"),
        completion="buffered",
        wait="explicit",
    ),
    _with(
        *("a collective in a circle with a message", "PP301 r0.0 r1.0 r1.1"),
        *("RECV v from=1; COLL k ranks=0,1", "COLL k ranks=0,1 h=y; WAIT y; SEND v to=0"),
    ),
    _with(
        *("a collective beside a message", ""),
        *("RECV v from=1; COLL k ranks=0,1", "COLL k ranks=0,1 h=y; SEND v to=0; WAIT y"),
    ),
    _with(
        *("signals that wait for each other", _CIRCLE),
        *("AWAIT from=1; SIGNAL to=1", "AWAIT from=0; SIGNAL to=0"),
    ),
    _with("signals in turn", "", "SIGNAL to=1; AWAIT from=1", "AWAIT from=0; SIGNAL to=0"),
    _with(
        *("three ends on three communicators", "PP204 r0.0 r1.0, PP201 r1.1, PP105"),
        *("SEND a to=1 comm=c", "RECV a from=0 comm=d; RECV a from=0"),
        completion="buffered",
        wait="explicit",
    ),
)
