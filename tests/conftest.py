"""Without torch, what needs it is skipped, with the reason; Ctrl-C works wherever tests run."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

REASON = "torch is not installed: pip install 'pipeproof[torch]'"


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Skip a module that cannot be imported because there is no torch."""
    report = yield
    call = getattr(report, "call", None)
    if isinstance(call, pytest.CallInfo) and call.excinfo is not None:
        cause = call.excinfo.value.__cause__
        if isinstance(cause, ModuleNotFoundError) and (cause.name or "").split(".")[0] == "torch":
            report.outcome = "skipped"
            report.longrepr = (str(collector.path), 1, f"Skipped: {REASON}")
    return report


def pytest_configure() -> None:
    """Take Ctrl-C where a shell started the tests in the background, which ignores it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
