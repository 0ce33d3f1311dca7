"""A verdict written down is read back as the same verdict."""

import json
from dataclasses import fields, is_dataclass, replace
from itertools import pairwise
from types import MappingProxyType
from typing import get_type_hints

import numpy as np
import pytest

from pipeproof.api import Asked, judge
from pipeproof.cli._inputs import expand, load
from pipeproof.errors import PipeproofError
from pipeproof.ir.reading import ReadOptions
from pipeproof.schedules import generate
from pipeproof.verdict.stored import decoded, encoded
from pipeproof.verdict.verdict import (
    Explained,
    FileVerdict,
    Hop,
    Live,
    Outcome,
    Place,
    Seen,
    TraceStep,
    TransportVerdict,
    Undecided,
    Violation,
    Warned,
)
from tests.cli.made import ROOT

STEP = TraceStep("0F0", "start", 0, 1)
PLACE = Place(0, 1, "0F0", 2, 0, None, 3, 1, lowered=True)
HOP = Hop(STEP, STEP, crosses=True, needed=None)
COUNTED: int = np.int64(7)  # type: ignore[assignment]  # engines count with numpy
FULL = FileVerdict(
    path="a\ud800\x00é.yaml",
    outcome=Outcome.REFUTED,
    stages=1,
    ranks=2,
    microbatches=3,
    operations=4,
    lowering="torch",
    profile="none",
    fragment=True,
    transports=(
        TransportVerdict(
            name="gloo",
            outcome=Outcome.UNKNOWN,
            engine="graph, explore",
            events=5,
            steps="any",
            assumes=("A1", "A2"),
            instances=MappingProxyType({"PP301": 0, "PP101": COUNTED}),
            unknown=(Undecided("PP1", "why"),),
            warnings=(Warned("PP302", "told"),),
            violations=(
                Violation(
                    "PP301",
                    "deadlock",
                    "they wait",
                    (PLACE,),
                    COUNTED,
                    (STEP,),
                    reached=False,
                    first=True,
                    seen=Seen("confirmed", "it hangs", "linear"),
                ),
            ),
            live=(Live(0, "kept", 3, None, exact=True), Live(1, "kept", 3, 8, exact=False)),
            outcomes=2,
            explanations=(Explained(("PP1",), PLACE, "F0.0", (HOP,), (STEP,), known=False),),
        ),
    ),
    undescribed=("storage",),
    notes=("a note",),
    forward_only=True,
)


def again(verdict: FileVerdict) -> FileVerdict:
    return decoded(json.loads(json.dumps(encoded(verdict))))


def documents(part: slice) -> list[FileVerdict]:
    """Verdicts of a part of the specs that ship, and of known orders."""
    options = ReadOptions(generate=generate)
    found = []
    for source in list(expand([str(ROOT / "specs")]))[part]:
        try:
            loaded = load(source, options)
            for document in loaded.documents if loaded is not None else ():
                found.append(judge(document, Asked(why=(), live=True)))
        except PipeproofError:
            continue
    return found


def test_a_verdict_with_everything_in_it_comes_back_equal() -> None:
    found = again(FULL)

    assert found == FULL
    assert list(found.transports[0].instances) == ["PP301", "PP101"]
    assert type(found.transports[0].violations[0].cost) is int
    assert found.transports[0].outcome is Outcome.UNKNOWN


def test_verdicts_of_shipped_specs_come_back_equal() -> None:
    found = documents(slice(3, None, 61))

    assert len(found) > 4
    assert {each.verdict for each in found} >= {"proved", "refuted"}
    assert [again(each) for each in found] == found


@pytest.mark.slow
def test_verdicts_of_all_shipped_specs_come_back_equal() -> None:
    found = documents(slice(None))

    assert [again(each) for each in found] == found


def test_different_verdicts_are_written_differently() -> None:
    others = [
        FULL,
        replace(FULL, stages=2),
        replace(FULL, fragment=False),
        replace(FULL, notes=("a", "note")),
        replace(FULL, undescribed=(), notes=("storage", "a note")),
        replace(FULL, transports=(*FULL.transports, *FULL.transports)),
    ]
    written = sorted(json.dumps(encoded(each)) for each in others)

    assert all(left != right for left, right in pairwise(written))


@pytest.mark.parametrize("spoiled", [None, [], {}, "proved", 1, True, [[]], {"path": "a"}])
def test_what_is_no_verdict_is_refused(spoiled: object) -> None:
    with pytest.raises(ValueError, match="where"):
        decoded(spoiled)


def test_a_part_of_another_type_is_refused_wherever_it_stands() -> None:
    whole = encoded(FULL)
    tried = 0
    for path, value in list(parts(whole)):
        for other in (1.5, {"a": 1}, [*([] if not isinstance(value, list) else value), 2.5]):
            tried += 1
            with pytest.raises(ValueError, match=r"where|is not a valid"):
                decoded(changed(whole, path, other))

    assert tried > 200


def parts(value: object, path: tuple[int, ...] = ()) -> list[tuple[tuple[int, ...], object]]:
    own = [(path, value)] if path else []
    inner = enumerate(value) if isinstance(value, list) else ()
    return own + [part for i, each in inner for part in parts(each, (*path, i))]


def changed(value: object, path: tuple[int, ...], other: object) -> object:
    if not path:
        return other
    assert isinstance(value, list)
    return [
        changed(each, path[1:], other) if i == path[0] else each for i, each in enumerate(value)
    ]


def test_a_number_is_no_truth_and_a_truth_no_number() -> None:
    plain = encoded(FULL)
    names = [each.name for each in fields(FileVerdict)]
    assert is_dataclass(FULL)
    assert get_type_hints(FileVerdict)["fragment"] is bool
    for name, other in (("fragment", 1), ("stages", True), ("outcome", "legal"), ("path", None)):
        with pytest.raises(ValueError, match=r"where|is not a valid"):
            decoded(changed(plain, (names.index(name),), other))


def test_what_has_no_plain_form_is_refused() -> None:
    with pytest.raises(TypeError, match="a float has no plain form"):
        encoded(replace(FULL, notes=(1.5,)))  # type: ignore[arg-type]  # on purpose
