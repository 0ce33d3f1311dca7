"""Schedules of which every rule that a certificate can show is proved."""

from tests.rechecking.making import CROSSED, EXPLICIT, PAIR, Json

LEGAL: dict[str, tuple[list[list[str]], Json, Json]] = {
    "buffered sends cross": (CROSSED, {"completion": "buffered"}, {}),
    "one bracket each": (
        [["[SEND a to=1 | RECV b from=1]"], ["[SEND b to=0 | RECV a from=0]"]],
        {"groups": "atomic"},
        {},
    ),
    "at use": (
        [["0F0", "SEND F0.0 to=1", "0STEP"], ["RECV F0.0 from=0", "1F0", "1STEP"]],
        {"wait": "at-use"},
        {},
    ),
    "at use, read by an overlap": (
        [PAIR[0], ["RECV F0.0 from=0", "(1F1;1F0)OVERLAP_F_B"]],
        {"wait": "at-use"},
        {},
    ),
    "handles": (
        [["SEND a to=1 h=s", "WAIT s"], ["[RECV a from=0 buf=x] h=r", "WAIT r", "USE x a"]],
        {"wait": "explicit"},
        {},
    ),
    "capacity of two": (
        [
            ["SEND a to=1", "SEND b to=1", "RECV c from=1"],
            ["SEND c to=0", "RECV a from=0", "RECV b from=0"],
        ],
        {"completion": "buffered", "capacity": 2},
        {},
    ),
    "tags out of order": (
        [["SEND a to=1", "SEND b to=1"], ["RECV b from=0", "RECV a from=0"]],
        {"completion": "buffered", "match": "tag"},
        {},
    ),
    "queue of directions": (
        [
            ["SEND F0.0 to=1 h=s", "RECV B1.0 from=1", "WAIT s"],
            ["SEND B1.0 to=0", "RECV F0.0 from=0"],
        ],
        {"queue": "direction"},
        {},
    ),
    "lazy communicators": (PAIR, {"communicators": "lazy"}, {}),
    "a barrier": ([["COLL a ranks=0,1"], ["COLL a ranks=0,1"]], {}, {}),
    "a barrier with a handle": (
        [["COLL a ranks=0,1 h=c", "SEND a to=1", "WAIT c"], ["RECV a from=0", "COLL a ranks=0,1"]],
        {},
        {},
    ),
    "ties": ([["0TIE ranks=0,1"], ["1TIE ranks=0,1"]], {}, {"gradients": {"tied": [["0", "1"]]}}),
    "signals": ([["SIGNAL to=1", "AWAIT from=1"], ["AWAIT from=0", "SIGNAL to=0"]], {}, {}),
    "storage used again after a wait": (
        [
            [
                "0F0 out=x",
                "SEND F0.0 to=1 buf=x h=s",
                "WAIT s",
                "0F1 out=x",
                "SEND F0.1 to=1 buf=x",
            ],
            ["RECV F0.0 from=0", "RECV F0.1 from=0"],
        ],
        EXPLICIT,
        {},
    ),
    "storage used again after a reply": (
        [
            ["0F0 out=x", "SEND F0.0 to=1 buf=x", "RECV r from=1 h=r", "WAIT r", "0F1 out=x"],
            ["RECV F0.0 from=0 h=r", "WAIT r", "SEND r to=0"],
        ],
        EXPLICIT,
        {},
    ),
    "a guarded slot": (
        [
            ["0F0", "SEND F0.0 to=1 h=a", "0F1", "SEND F0.1 to=1 h=b", "WAIT a", "WAIT b"],
            ["RECV F0.0 from=0", "RECV F0.1 from=0"],
        ],
        {},
        {"described": {"storage": {"send": {"slots": "1", "guard": "wait"}}}},
    ),
    "two slots": (
        [
            ["SEND F0.0 to=1", "SEND F0.1 to=1"],
            ["RECV F0.0 from=0", "RECV F0.1 from=0", "1F0", "1F1"],
        ],
        {},
        {"described": {"storage": {"receive": {"slots": "2"}}}},
    ),
    "slots by use, one pool a rank": (
        [
            ["SEND F0.1 to=1", "SEND F0.3 to=1"],
            ["RECV F0.1 from=0", "RECV F0.3 from=0", "1F1", "1F3"],
        ],
        {},
        {
            "described": {
                "storage": {"receive": {"slots": "2", "slot": "use mod slots", "per": "rank"}}
            }
        },
    ),
    "a stash": (
        [["0F0", "0B0", "0F1", "0I1", "0W1"]],
        {},
        {"described": {"storage": {"stash": {"slots": "1"}}}},
    ),
    "a register of losses": (
        [["0F0", "0B0", "0F1", "0B1"]],
        {},
        {"described": {"storage": {"registers": ["loss"]}}},
    ),
    "an input that is kept where it stands": ([["0F0 in=x keep=x", "0I0 gout=g", "0W0"]], {}, {}),
    "written, read and freed": (
        [["WRITE a v", "USE a v", "FREE a", "WRITE a w", "USE a w"]],
        {},
        {},
    ),
    "halves": ([["0F0", "0I0", "0R1", "0W0"]], {}, {}),
    "a weight gradient that is a part of its backward": (
        [["0F0", "0B0 param=a", "0W0 param=b"]],
        {},
        {"fragment": "false", "microbatches": 1},
    ),
    "no fragment": (
        [["LOAD X.0 buf=i", "0F0 in=i", "0B0", "0STEP"]],
        {},
        {"fragment": "false", "microbatches": 1},
    ),
    "two pipelines": (
        [["0F0", "SEND F0.0 to=1"], ["RECV F0.0 from=0", "2F0", "1F1", "3F1"]],
        {},
        {"stages": 4, "pipelines": [[0, 2], [1, 3]]},
    ),
    "a rank without a program": ([["0F0"], []], {}, {}),
}
