"""A schedule written as a spec is read again as the same schedule."""

import pytest

from pipeproof.frontends import spec
from pipeproof.ir.canonical import canonical
from pipeproof.ir.reading import ReadOptions
from pipeproof.ir.spec_text import write_spec

WRITTEN = """\
pipeproof: 1
title: "a: 'b' #c"
stages: 2
microbatches: 1
steps: any
fragment: true
transport: {completion: buffered, capacity: 1, weak: default}
gradients: {reduce: once, coefficients: ["1"]}
bounds: {memory: 2GiB}
ranks:
  - {order: ready, program: "0F0; [SEND F0.0 to=1 | RECV B1.0 from=1] h=a; WAIT a"}
  - ""
expect:
  - {verdict: refuted, rule: PP201, at: [r0.1], exact: true}
"""


def test_what_is_read_again_says_the_same() -> None:
    document = spec.read(WRITTEN, "a.yaml", ReadOptions())[0]
    again = spec.read(write_spec(document, None), "a.yaml", ReadOptions())[0]

    assert canonical(again.schedule) == canonical(document.schedule)
    assert (again.title, again.expect[0].at) == (document.title, document.expect[0].at)


@pytest.mark.parametrize("title", ["a\n- b", "\u202e", '"', "no", "::error::x", "x" * 9000])
def test_a_title_stays_a_title(title: str) -> None:
    document = spec.read(WRITTEN, "a.yaml", ReadOptions())[0]
    object.__setattr__(document, "title", title)
    again = spec.read(write_spec(document, None), "a.yaml", ReadOptions())[0]

    assert again.title == title
