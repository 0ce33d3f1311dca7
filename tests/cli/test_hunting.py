"""What is shown of a campaign while it runs: on a terminal only."""

import io
import sys
from pathlib import Path

import pytest

from pipeproof.campaign._inline import Inline
from pipeproof.campaign.campaign import campaign
from pipeproof.campaign.store import Store
from pipeproof.cli import _hunting
from pipeproof.cli._hunting import hunting
from tests.campaign.conforming import LIMITS
from tests.campaign.kinds import perform, squares, task


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "store", {})


def shown(store: Store, monkeypatch: pytest.MonkeyPatch, seen: io.StringIO) -> str:
    monkeypatch.setattr(sys, "stderr", seen)
    monkeypatch.setattr(_hunting, "_EVERY", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    with store, hunting() as watch:
        campaign(squares(3), store, Inline(perform), LIMITS)
        tasks = [*squares(5), task("raise")]
        campaign(tasks, store, Inline(perform), LIMITS, watch=watch)
        campaign(tasks[:5], store, Inline(perform), LIMITS, watch=watch)
    return seen.getvalue()


def test_a_bar_tells_how_far_how_fast_and_what_has_no_answer(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = shown(store, monkeypatch, Terminal())

    assert "hunting" in told
    assert "3/6" in told
    assert "/s, 1 without an answer" in told


def test_nothing_is_shown_where_nobody_watches(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shown(store, monkeypatch, io.StringIO()) == ""
