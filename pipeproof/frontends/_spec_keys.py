"""The keys of a spec file, and what each of them may hold."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from pipeproof.frontends._profiles import PLANNED, PROFILES, expected_profile
from pipeproof.frontends._spec_expect import EXPECT, RULES
from pipeproof.frontends._spec_nodes import (
    Check,
    Items,
    Node,
    Scalar,
    Table,
    any_of,
    items,
    keys,
    number,
    one_of,
    pattern,
    text,
    wrong,
)
from pipeproof.frontends._spec_schedule import LOWERING, SCHEDULE
from pipeproof.frontends._spec_transport import TRANSPORT
from pipeproof.ir.actions import read_action
from pipeproof.ir.reading import Mistakes
from pipeproof.ir.values import read_value

__all__ = ["DESCRIBED", "FILE", "IMPORTS", "PLANNED_IMPORTS", "READY", "SOURCES"]

SOURCES = ("ranks", "schedule", "import")
DESCRIBED = ("storage", "weights", "costs", "bounds", "sizes", "faults")
IMPORTS = ("torch-csv",)
PLANNED_IMPORTS = ("deepspeed", "megatron", "zero-bubble", "dualpipe", "runtime-trace")

_SWITCH = one_of("true", "false")
_FRACTION = pattern(r"(0|[1-9][0-9]{0,17})(/[1-9][0-9]{0,17})?", "an exact fraction, as 1/4")
_TIME = pattern(r"(0|[1-9][0-9]{0,14})(\.[0-9]{1,9})?", "a number of time units, as 1 or 0.5")
_SIZE = pattern(
    r"(0|[1-9][0-9]{0,17})(\.[0-9]{1,9})?(B|[kKMGT]B|[KMGTP]iB)?", "a size in bytes, as 64MiB"
)


def _each_stage(check: Check) -> Check:
    return any_of(check, items(check, expected="one for all stages, or a list, one a stage"))


def _fault(node: Node, mistakes: Mistakes) -> bool:
    if not isinstance(node, Table):
        return wrong(node, mistakes, "write a fault, as {rank: 1, fault: missing}")
    subject = [key for key in _FAULTS if key in node.entries]
    if len(subject) != 1:
        found = "a fault is of one rank, one message or one op"
        return wrong(node, mistakes, "write one of rank:, message:, op:", found)
    right = keys({**_FAULTS[subject[0]]}, needs=("fault",))(node, mistakes)
    fault = node.entries.get("fault")
    stops = isinstance(fault, Scalar) and fault.text == "stops"
    if stops != ("at" in node.entries):
        said = "write at: with the position where the rank stops, and with no other fault"
        right = wrong(node, mistakes, said, f"'at' is {'missing' if stops else 'of no use'} here")
    return right


def _message(node: Node, mistakes: Mistakes) -> bool:
    found = read_value(node.text) if isinstance(node, Scalar) else "write a value, as F0.1"
    return wrong(node, mistakes, found) if isinstance(found, str) else True


def _op(node: Node, mistakes: Mistakes) -> bool:
    if isinstance(node, Scalar) and re.fullmatch(r"[0-9]{1,9}[RL][0-9]{1,9}", node.text):
        return True
    found = read_action(node.text) if isinstance(node, Scalar) else "write an operation, as 1F0"
    return wrong(node, mistakes, found) if isinstance(found, str) else True


_FAULTS: Mapping[str, Mapping[str, Check]] = MappingProxyType(
    {
        "rank": {"rank": number(), "fault": one_of("missing", "stops"), "at": number()},
        "message": {
            "message": _message,
            "fault": one_of("delayed", "dropped", "duplicated", "corrupted"),
        },
        "op": {"op": _op, "fault": one_of("delayed")},
    }
)
_POOL: Mapping[str, Check] = MappingProxyType(
    {
        "slots": number(1),
        "slot": one_of("microbatch mod slots", "use mod slots"),
        "guard": one_of("none", "wait"),
        "per": one_of("rank", "stage"),
    }
)
_STORAGE = keys(
    {
        "receive": keys(_POOL, needs=("slots",)),
        "send": keys(_POOL, needs=("slots",)),
        "stash": keys({**_POOL, "take": one_of("any")}, needs=("slots",)),
        "weights": keys({"slots": number(1)}, needs=("slots",)),
        "registers": items(one_of("loss", "grad"), expected="a list of loss and grad"),
    }
)
_WEIGHTS = keys(
    {
        "policy": one_of("flush", "stash", "vertical", "2bw", "latest", "speculative"),
        "updates": one_of("step", "microbatch"),
    }
)


def _coefficients(node: Node, mistakes: Mistakes) -> bool:
    if isinstance(node, Items):
        return items(_FRACTION)(node, mistakes)
    return keys({"tokens": items(number())}, needs=("tokens",))(node, mistakes)


_TIED = items(items(number(), least=2, expected="a list of two stages or more"))
_GRADIENTS = keys(
    {
        "coefficients": any_of(one_of("mean", "sum"), _coefficients),
        "reduce": one_of("required", "once", "none"),
        "tied": _TIED,
        "norm": one_of("all"),
    }
)


def _profile(node: Node, mistakes: Mistakes) -> bool:
    word = node.text if isinstance(node, Scalar) else ""
    if word in PROFILES or word in PLANNED:
        return True
    return wrong(node, mistakes, expected_profile(word))


def _steps(node: Node, mistakes: Mistakes) -> bool:
    if isinstance(node, Scalar) and node.text == "any":
        return True
    return number(1)(node, mistakes)


def _version(node: Node, mistakes: Mistakes) -> bool:
    if isinstance(node, Scalar) and node.text == "1":
        return True
    return wrong(node, mistakes, "write pipeproof: 1, the version of the language read here")


def _program(node: Node, mistakes: Mistakes) -> bool:
    if isinstance(node, Scalar):
        return True
    if isinstance(node, Items):
        right = [_instruction(each, mistakes) for each in node.nodes]
        return all(right)
    return wrong(node, mistakes, "write a program: text, or a list of instructions")


def _instruction(node: Node, mistakes: Mistakes) -> bool:
    if isinstance(node, Scalar):
        return True
    said = "write an instruction; where it is a bracket [a | b], quote it: YAML reads a list here"
    return wrong(node, mistakes, said)


READY = keys(
    {
        "order": one_of("ready"),
        "program": _program,
        "limit": keys({"live": number()}),
        "prefer": one_of("backward", "forward"),
    },
    needs=("order", "program"),
)


def _rank(node: Node, mistakes: Mistakes) -> bool:
    return (READY if isinstance(node, Table) else _program)(node, mistakes)


_IMPORT = keys(
    {
        "format": one_of(*IMPORTS, *PLANNED_IMPORTS),
        "path": text,
        "case": number(),
        "lowering": LOWERING,
    },
    needs=("format", "path"),
)
_PROGRAMS = "a list with the program of each rank, rank 0 first"
FILE: Check = keys(
    {
        "pipeproof": _version,
        "title": text,
        "source": text,
        "stages": number(1),
        "microbatches": number(1),
        "steps": _steps,
        "placement": any_of(one_of("loop", "v"), items(number(), expected="loop, v, or a list")),
        "ranks": items(_rank, expected=_PROGRAMS),
        "schedule": SCHEDULE,
        "import": _IMPORT,
        "profile": _profile,
        "transport": TRANSPORT,
        "storage": _STORAGE,
        "weights": _WEIGHTS,
        "gradients": _GRADIENTS,
        "pipelines": items(
            items(number(), expected="a list of stages"), expected="lists of stages"
        ),
        "segments": number(1),
        "costs": keys(dict.fromkeys(("F", "B", "I", "W", "R", "L", "comm"), _each_stage(_TIME))),
        "bounds": keys(
            {"live": number(), "memory": _SIZE, "staleness": number(), "makespan": _TIME}
        ),
        "sizes": keys(
            dict.fromkeys(("F", "B", "keep", "weights", "grads", "state"), _each_stage(_SIZE))
        ),
        "faults": keys(
            {
                "among": items(_fault, expected="a list of faults"),
                "at_most": number(1),
                "policy": one_of("raise", "abort", "recover"),
            },
            needs=("among",),
        ),
        "fragment": _SWITCH,
        "rules": RULES,
        "expect": EXPECT,
    },
    needs=("pipeproof",),
    hints=MappingProxyType(
        {
            "<<": "merge keys are refused; write its keys out",
            "communicators": "it is a key of a transport that is a mapping",
        }
    ),
)
