"""Whatever a file holds, its page has the elements that it is to have, and nothing acts in it."""

import json
import os
import re
import subprocess
import sys
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

import pytest

from pipeproof.cli import run
from pipeproof.errors import Problem
from pipeproof.reports import html
from pipeproof.verdict.result import Failure, FileReport, Quote, Result
from pipeproof.verdict.verdict import Outcome, Place, Undecided, Violation, Warned
from tests.reports import made
from tests.reports.paged import Elements, data_of, validate

ROOT = Path(__file__).parents[2]
HOSTILE = (
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "--></main><img src=x onerror=alert(1)>",
    "\"'><svg onload=alert(1)>",
    "javascript:alert(1)",
    "${data} $script $$ {{x}}",
    "&lt;b&gt;&#x41;&nbsp",
    "::error file=x::y",
    "\x00\x07\x1b[31m\r\n\t\x7f\x85\u2028\u2029\u202e\u2066\ud800",
    "]]>\\u003c/script\\u003e",
    "x" * 200_000,
    "<" * 200_000,
)
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800]")


def result(text: str) -> Result:
    """A result in which everything that may come from a file says the same."""
    place = Place(0, 0, text, 0, 0, 0)
    violation = Violation("PP301", "deadlock", text, (place,), 1, first=True)
    transport = made.transport(text, Outcome.REFUTED, violation)
    undecided = made.transport("open", Outcome.UNKNOWN, unknown=(Undecided("PP501", text),))
    verdict = made.verdict(transport, undecided, outcome=Outcome.REFUTED, path=text)
    quotes = {0: Quote(1, 1, text, text)}
    return Result(
        "0.1.0",
        (
            FileReport(text, verdict, quotes=quotes),
            FileReport(text, problems=(Problem(text, 1, 1, text, text),)),
            FileReport(text, failure=Failure(text, 4)),
            FileReport(text, unsupported=text),
        ),
    )


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_whatever_a_file_says_the_elements_of_its_page_are_the_same(text: str) -> None:
    page = html.render(result(text))
    data = data_of(page)
    validate(data)

    assert Elements(page).found == Elements(html.render(result("plain"))).found
    assert not _UNSEEN.search(page.replace(made_style(page), ""))
    assert len(page) < 600_000


def made_style(page: str) -> str:
    found = re.search(r"<style>(.*?)</style>", page, re.DOTALL)
    assert found is not None
    return found[1]


def test_only_what_stands_in_the_page_may_run_or_load() -> None:
    page = html.render(made.whole())
    found = Elements(page).found
    policy = next(dict(own)["content"] for tag, own in found if "http-equiv" in dict(own))
    scripts = re.findall(r'<script type="module">(.*?)</script>', page, re.DOTALL)
    allowed = {
        f"'sha256-{b64encode(sha256(each.encode()).digest()).decode()}'"
        for each in [*scripts, made_style(page)]
    }
    assert policy is not None
    parts = dict(each.strip().partition(" ")[::2] for each in policy.split(";"))

    assert len(scripts) == 1
    assert parts["default-src"] == "'none'"
    assert {parts["script-src"], parts["style-src"]} == allowed
    assert {parts["font-src"], parts["img-src"]} == {"data:"}
    assert not {name for _, own in found for name, _ in own if name.startswith("on")}
    assert not {name for _, own in found for name, _ in own if name in ("src", "href", "style")}
    assert re.findall(r"https?://(?!www\.w3\.org/)", page) == []


def test_what_is_cut_says_how_long_it_was_and_what_cannot_be_seen_is_spelled_out() -> None:
    long = data_of(html.render(result("x" * 200_000)))["files"][0]
    turned = data_of(html.render(result("a\u202eb\x1b")))["files"][0]

    assert long["path"].text == f"{'x' * 2000}… (200000 characters)"
    assert turned["path"].text == r"a\u202eb\u001b"


def test_names_and_titles_of_a_file_do_not_act(tmp_path: Path) -> None:
    spec, out = tmp_path / "a.yaml", tmp_path / "a.html"
    bad = "</script><!--\"'<img src=x onerror=alert(1)>\u202e"
    keys = {
        "pipeproof": 1,
        "title": bad,
        "microbatches": 1,
        "ranks": ["0F0; SEND F0.0 to=1 h=a", "RECV F0.0 from=0; 1F0; 1B0; 1B0"],
    }
    spec.write_text(json.dumps(keys))
    run(["check", str(spec), "--format", "html", "-o", str(out)])
    data = data_of(out.read_text())
    validate(data)

    assert data["files"][0]["title"].text == bad.replace("\u202e", r"\u202e")
    assert out.read_text().count("<img") == 0


def test_a_page_of_a_schedule_is_always_the_same() -> None:
    path = "specs/illegal/mirror-gradients-not-summed.yaml"
    pages = {
        subprocess.run(  # noqa: S603  our own command
            [sys.executable, "-m", "pipeproof", "check", path, "--format", "html"],
            capture_output=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=False,
            timeout=60,
        ).stdout
        for seed in ("1", "2")
    }

    assert [page[:15].lower() for page in pages] == [b"<!doctype html>"]


def test_warnings_are_told() -> None:
    transport = made.transport("buffered", Outcome.REFUTED, made.DEADLOCK)
    verdict = made.verdict(transport, outcome=Outcome.REFUTED, path="a.yaml")
    page = html.render(Result("0.1.0", (FileReport("a.yaml", verdict),)))
    view = data_of(page)["files"][0]["views"][0]

    assert transport.warnings == (Warned("PP302", view["warnings"][0]["message"].text),)
    assert "warning PP302 under buffered" in " ".join(Elements(page).said)
