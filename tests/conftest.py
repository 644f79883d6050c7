"""Where every part must be there (QUOTH_TEST_PARTS=required), a test that skips for want of one fails."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator

import pytest

pytest_plugins = ["stores.object_storage"]  # places of either kind, for whoever asks for them

_REQUIRED = os.environ.get("QUOTH_TEST_PARTS") == "required"

# A shell that starts us in the background has us ignore Ctrl-C, and programs that tests start would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
    if _REQUIRED and report.skipped and "is not installed" in reason:
        report.outcome = "failed"
        report.longrepr = f"{reason}: this run must not skip for want of a part"
    return report
