"""Counterexamples, and what looks like one."""

from collections.abc import Callable

from tests.rechecking.illegal import ILLEGAL
from tests.rechecking.making import CROSSED, EXPLICIT, PAIR, Json, early, refuted, stuck

THREE = [["SEND a to=1 comm=c"], ["RECV a from=0 comm=d", "RECV a from=0"]]
ENTERED = [["RECV a from=1", "COLL k ranks=0,1"], ["COLL k ranks=0,1 h=y", "WAIT y", "SEND a to=0"]]

REFUTED: dict[str, tuple[list[list[str]], Json, Json, Callable[[str], Json]]] = {
    "deadlock": (CROSSED, {}, {}, lambda s: stuck(s, "PP301", [[0, 0], [1, 0]])),
    "deadlock of a pair's queue": (
        *ILLEGAL["queue of a pair"][:3],
        lambda s: stuck(s, "PP301", [[0, 0], [1, 0]]),
    ),
    "deadlock of atomic calls": (
        *ILLEGAL["two calls against a bracket"][:3],
        lambda s: stuck(s, "PP301", [[0, 0], [1, 0]]),
    ),
    "deadlock of first calls": (
        *ILLEGAL["lazy calls in a ring"][:3],
        lambda s: stuck(s, "PP301", [[0, 0], [1, 0], [2, 0]]),
    ),
    "a slot that guards itself": (
        *ILLEGAL["a slot that guards itself"][:3],
        lambda s: stuck(s, "PP301", [[1, 1]]),
    ),
    "credits": (
        [
            ["SEND a to=1", "SEND b to=1", "SEND x to=1 comm=c"],
            ["RECV x from=0 comm=c", "RECV a from=0", "RECV b from=0"],
        ],
        {"completion": "buffered", "capacity": 1},
        {},
        lambda s: stuck(s, "PP301", [[0, 1], [1, 0]]),
    ),
    "signals": (
        [["AWAIT from=1", "SIGNAL to=1"], ["AWAIT from=0", "SIGNAL to=0"]],
        {},
        {},
        lambda s: stuck(s, "PP301", [[0, 0], [1, 0]]),
    ),
    "collectives in two orders": (
        [["COLL a ranks=0,1", "COLL b ranks=0,1"], ["COLL b ranks=0,1", "COLL a ranks=0,1"]],
        {},
        {},
        lambda s: stuck(s, "PP205", [[0, 0], [1, 0]]),
    ),
    "an entry with a handle, and who waits for it": (
        ENTERED,
        {},
        {},
        lambda s: stuck(s, "PP301", [[0, 0], [1, 0], [1, 1]]),
    ),
    "entries with handles in two orders": (
        [
            ["COLL a ranks=0,1 h=x", "WAIT x", "COLL b ranks=0,1"],
            ["COLL b ranks=0,1", "COLL a ranks=0,1"],
        ],
        {},
        {},
        lambda s: stuck(s, "PP205", [[0, 0], [0, 1], [1, 0]]),
    ),
    "two calls of one atomic set in one queue": (
        *ILLEGAL["two calls of one atomic set in one queue"][:3],
        lambda s: stuck(s, "PP301", [[0, 0], [1, 0]]),
    ),
    "a set behind another one in two queues": (
        [
            ["SEND a to=1 h=x", "[SEND b to=1 | RECV c from=1] h=x", "WAIT x"],
            ["[RECV b from=0 | SEND c to=0] h=x", "RECV a from=0 h=x", "WAIT x"],
        ],
        {"groups": "atomic", "queue": "pair"},
        {},
        lambda s: stuck(s, "PP301", [[0, 1], [1, 1]]),
    ),
    "a collective that a rank never enters": (
        [["COLL a ranks=0,1"], []],
        {},
        {},
        lambda s: stuck(s, "PP205", [[0, 0]]),
    ),
    "no partner": ([["SEND a to=1"], []], {}, {}, lambda _: refuted("PP201", [], places=[[0, 0]])),
    "what is left over of three ends without a partner": (
        THREE,
        EXPLICIT,
        {},
        lambda _: refuted("PP201", [], places=[[1, 1]]),
    ),
    "no signal": ([["AWAIT from=1"], []], {}, {}, lambda _: refuted("PP201", [], places=[[0, 0]])),
    "crossed": (
        [["SEND a to=1"], ["RECV b from=0"]],
        {},
        {},
        lambda _: refuted("PP202", [], places=[[0, 0], [1, 0]]),
    ),
    "early backward": ([["0B0", "0F0"]], {}, {}, lambda s: early(s, "PP402", 3, 0)),
    "early weight gradient": ([["0W0", "0I0"]], {}, {}, lambda s: early(s, "PP404", 3, 0)),
    "early send": (*ILLEGAL["sent before it is made"][:3], lambda s: early(s, "PP405", 3, 0)),
    "nowhere": (
        [["LOAD X.0"], ["0F0"]],
        {},
        {"fragment": "false", "placement": [1, 0]},
        lambda s: early(s, "PP401", -1, 2),
    ),
    "not complete": (PAIR, EXPLICIT, {}, lambda s: early(s, "PP501", 11, 6)),
    "in flight": (*ILLEGAL["overwritten in flight"][:3], lambda s: early(s, "PP502", 8, 2)),
    "freed in flight": (*ILLEGAL["freed in flight"][:3], lambda s: early(s, "PP504", 8, 2)),
    "freed and read": (*ILLEGAL["freed and read"][:3], lambda s: early(s, "PP504", 5, 2)),
    "unread": (
        [["WRITE x a", "WRITE x b", "USE x a"]],
        {},
        {},
        lambda _: refuted("PP503", [], places=[[0, 1]]),
    ),
    "contents": (
        [["WRITE x a", "WRITE x b", "USE x a"]],
        {},
        {},
        lambda _: refuted("PP505", [], places=[[0, 2]]),
    ),
}

WRONG: dict[str, tuple[list[list[str]], Json, Callable[[str], Json], str]] = {
    "a deadlock of collectives is none of messages": (
        *REFUTED["collectives in two orders"][:2],
        lambda s: stuck(s, "PP301", [[0, 0], [1, 0]]),
        "circle",
    ),
    "a deadlock of messages is none of collectives": (
        CROSSED,
        {},
        lambda s: stuck(s, "PP205", [[0, 0], [1, 0]]),
        "circle",
    ),
    "half of a circle": (CROSSED, {}, lambda s: stuck(s, "PP301", [[0, 0]]), "circle"),
    "a place behind the circle": (
        CROSSED,
        {},
        lambda s: stuck(s, "PP301", [[0, 0], [1, 0], [1, 1]]),
        "circle",
    ),
    "a send that nobody receives is no deadlock": (
        [["SEND a to=1"], []],
        {},
        lambda s: stuck(s, "PP301", [[0, 0]]),
        "circle",
    ),
    "more can happen": (
        CROSSED,
        {},
        lambda _: refuted("PP301", [0], places=[[0, 0], [1, 0]]),
        "can still happen",
    ),
    "a run that is none": (
        CROSSED,
        {},
        lambda _: refuted("PP301", [0, 1, 4], places=[[0, 0], [1, 0]]),
        "before all that it waits for",
    ),
    "an end with a partner": (PAIR, {}, lambda _: refuted("PP201", [], places=[[0, 1]]), "partner"),
    "an end with a partner on another communicator": (
        [["SEND a to=1"], ["RECV a from=0 comm=c"]],
        {},
        lambda _: refuted("PP201", [], places=[[0, 0]]),
        "partner",
    ),
    "the two ends that differ in their communicator": (
        THREE,
        EXPLICIT,
        lambda _: refuted("PP201", [], places=[[1, 0]]),
        "partner",
    ),
    "a circle without the entry on it": (
        ENTERED,
        {},
        lambda s: stuck(s, "PP301", [[0, 0], [1, 1]]),
        "circle",
    ),
    "an entry that nobody waits for": (
        [["COLL k ranks=0,1 h=y", *CROSSED[0]], [*CROSSED[1], "COLL k ranks=0,1"]],
        {},
        lambda s: stuck(s, "PP301", [[0, 0], [0, 1], [1, 0]]),
        "circle",
    ),
    "ends that agree": (
        PAIR,
        {},
        lambda _: refuted("PP202", [], places=[[0, 1], [1, 0]]),
        "two values",
    ),
    "one end": (
        [["SEND a to=1"], ["RECV b from=0"]],
        {},
        lambda _: refuted("PP202", [], places=[[0, 0]]),
        "two values",
    ),
    "a pair that no rule asks for": (
        PAIR,
        EXPLICIT,
        lambda s: early(s, "PP501", 10, 6),
        "asks nothing",
    ),
    "what stands before its reader is not too early": (
        PAIR,
        EXPLICIT,
        lambda s: early(s, "PP401", 11, 6),
        "asks nothing",
    ),
    "a pair that is ordered": (
        PAIR,
        {},
        lambda s: early(s, "PP501", 11, 6),
        "before all that it waits for",
    ),
    "the one before happened": (
        PAIR,
        EXPLICIT,
        lambda _: refuted("PP501", [0, 1, 2, 4, 10, 11, 5, 6], before=11, after=6),
        "stands in it",
    ),
    "the run ends elsewhere": (
        PAIR,
        EXPLICIT,
        lambda _: refuted("PP501", [4, 5, 6, 7], before=11, after=6),
        "last event",
    ),
    "no place": (PAIR, {}, lambda _: refuted("PP201", [], places=[]), "none"),
    "a place twice": (
        CROSSED,
        {},
        lambda s: stuck(s, "PP301", [[0, 0], [0, 0], [1, 0]]),
        "twice",
    ),
    "a place beyond the program": (
        CROSSED,
        {},
        lambda s: stuck(s, "PP301", [[0, 2]]),
        "no position",
    ),
    "a place with another fault": (
        [["WRITE x a", "WRITE x b", "USE x a"]],
        {},
        lambda _: refuted("PP503", [], places=[[0, 0]]),
        "does not stand there",
    ),
    "a rule that a certificate cannot show": (
        PAIR,
        {},
        lambda _: refuted("PP701", [], places=[[0, 0]]),
        "can show",
    ),
}
