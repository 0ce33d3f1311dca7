"""Nothing here runs without torch; all of it shares one set of ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("torch")

if TYPE_CHECKING:
    from pipeproof.execution.ranks.processes import Processes
    from pipeproof.execution.runtime.ran import Runtime


@pytest.fixture(scope="session")
def runtime(processes: Processes) -> Runtime:
    """Return torch's runtime, on ranks that have imported it before they start."""
    from pipeproof.execution.runtime.ran import Runtime  # noqa: PLC0415  needs torch

    made = Runtime(processes)
    processes.renew()
    return made
