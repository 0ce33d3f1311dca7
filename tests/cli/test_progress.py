"""What is shown of how far the command is: on a terminal only, and only where it takes a while."""

import io
import sys
from collections.abc import Callable

import pytest

from pipeproof.cli import _progress
from pipeproof.cli._progress import counted, watching


class Terminal(io.StringIO):
    """Somebody who watches."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Terminal]:
    """Called within a test, for pytest puts its own stderr in place once a fixture is made."""

    def put() -> Terminal:
        seen = Terminal()
        monkeypatch.setattr(sys, "stderr", seen)
        return seen

    monkeypatch.setattr(_progress, "_AFTER", 0.0)
    monkeypatch.setattr(_progress, "_EVERY", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    return put


def test_states_and_layer_of_an_exploration_are_shown(watched: Callable[[], Terminal]) -> None:
    terminal = watched()
    with watching() as watch:
        watch.states = 2_000_000
        watch.explored(1_234_567, 31)

    assert "exploring" in terminal.getvalue()
    assert "1,234,567 states, layer 31" in terminal.getvalue()


def test_both_bars_are_shown_together(watched: Callable[[], Terminal]) -> None:
    terminal = watched()
    with watching() as watch:
        for _ in watch.counted([1, 2, 3]):
            watch.explored(7, 0)
            watch._bars().refresh()

    assert "7 states, layer 0" in terminal.getvalue()
    assert "3/3" in terminal.getvalue()


def test_nothing_is_shown_of_what_takes_no_while(
    watched: Callable[[], Terminal], monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = watched()
    monkeypatch.setattr(_progress, "_AFTER", 1e9)
    with watching() as watch:
        watch.explored(7, 0)
        assert list(watch.counted([1, 2])) == [1, 2]

    assert terminal.getvalue() == ""


def test_nothing_is_shown_where_nobody_watches(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_progress, "_AFTER", 0.0)
    monkeypatch.setattr(_progress, "_EVERY", 0.0)
    with watching() as watch:
        watch.explored(7, 0)

    assert list(counted(range(50))) == list(range(50))
    assert capsys.readouterr() == ("", "")


def test_many_things_are_counted(watched: Callable[[], Terminal]) -> None:
    terminal = watched()
    assert list(counted(range(50))) == list(range(50))
    assert "50/50" in terminal.getvalue()
