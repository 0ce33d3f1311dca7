"""What is changed in a proof, and what the checker then says."""

from tests.rechecking.making import PAIR_PATHS, PAIR_RUN, Json


def paths(*entries: Json) -> Json:
    return {"paths": list(entries)}


TAMPERED: dict[str, tuple[Json, str]] = {
    "an event dropped": ({"run": PAIR_RUN[:-1]}, "missing"),
    "an event dropped in the middle": ({"run": [e for e in PAIR_RUN if e != 10]}, "waits for"),
    "an event moved": ({"run": [0, 1, 2, 10, 4, 11, 3, 8, 5, 6, 7, 9]}, "waits for"),
    "an event repeated": ({"run": [*PAIR_RUN, 9]}, "twice"),
    "an event for another": ({"run": [*PAIR_RUN[:-1], 7]}, "twice"),
    "an event that is none": ({"run": [*PAIR_RUN, 12]}, "no event"),
    "a negative event": ({"run": [*PAIR_RUN, -1]}, "no event"),
    "a switch for an event": ({"run": [False, *PAIR_RUN[1:]]}, "no event"),
    "a text for an event": ({"run": ["0", *PAIR_RUN[1:]]}, "no event"),
    "a run that is none": ({"run": {}}, "no list"),
    "a pair left out": (paths(), "nothing shows"),
    "a hop dropped": (paths({"before": 11, "after": 6, "path": [11, 6]}), "does not wait"),
    "a hop redirected": (paths({"before": 11, "after": 6, "path": [11, 3, 6]}), "does not wait"),
    "an edge backwards": (paths({"before": 5, "after": 11, "path": [5, 11]}), "does not wait"),
    "a path that ends elsewhere": (paths({"before": 11, "after": 6, "path": [11, 5]}), "ends else"),
    "a path that begins elsewhere": (paths({"before": 11, "after": 6, "path": [5, 6]}), "begins"),
    "an empty path": (paths({"before": 11, "after": 6, "path": []}), "begins"),
    "a path of one": (paths({"before": 6, "after": 6, "path": [6]}), "begins"),
    "a path for the wrong pair": (paths({"before": 11, "after": 7, "path": [11, 5, 7]}), "nothing"),
    "a pair twice": (paths(PAIR_PATHS[0], PAIR_PATHS[0]), "stand twice"),
    "a path without its ends": (paths({"path": [11, 5, 6]}), "lacks"),
    "a path and more": (paths({**PAIR_PATHS[0], "why": "so"}), "no key"),
    "another entry that does not hold": (
        paths(PAIR_PATHS[0], {"before": 0, "after": 10, "path": [0, 5, 10]}),
        "does not wait",
    ),
    "a blocked run of nothing": (paths({"before": 11, "after": 6, "blocked": []}), "can still"),
    "verdict flipped": ({"verdict": "refuted"}, "rule"),
    "verdict unknown": ({"verdict": "unknown"}, "verdict"),
    "a rule twice": ({"rules": ["PP301", "PP301"]}, "twice"),
    "no rule": ({"rules": []}, "none"),
    "a rule that no certificate shows": ({"rules": ["PP301", "PP101"]}, "can show"),
    "a rule that is none": ({"rules": ["PP999"]}, "can show"),
    "a transport that is not there": ({"transport": "buffered"}, "none of the schedule"),
    "other copies": ({"copies": 2}, "waits for"),
    "three copies": ({"copies": 3}, "copies"),
    "a switch for copies": ({"copies": True}, "whole number"),
    "a key too many": ({"places": [[0, 0]]}, "no key"),
}

NO_INSTRUCTIONS = [
    "0F00",
    "0F0  in=a",
    "0F0 in=a in=b",
    "0F0 to=1",
    "0X0",
    "3SEND_F1",
    "SEND a",
    "SEND to=1",
    "SEND F0.01 to=1",
    "[SEND a to=1 h=x | RECV b from=1]",
    "[SEND a to=1 | 0F0]",
    "(0F0;0L0)OVERLAP_F_B",
    "COLL a ranks=0,0,1",
    "COLL a ranks=1",
    "COLL a ranks=0,1 from=2",
    "CHOOSE x a|b",
    "",
]
