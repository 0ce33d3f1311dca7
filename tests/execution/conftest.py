"""One set of real ranks for every test that needs some: to start one takes seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipeproof.execution.ranks.processes import Processes

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def processes() -> Iterator[Processes]:
    """Return processes that may still hold the ranks of an earlier test."""
    with Processes() as alive:
        yield alive
