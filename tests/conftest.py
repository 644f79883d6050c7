"""Where every part must be there (QUOTH_TEST_PARTS=required), a test that skips for want of one fails."""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest

_REQUIRED = os.environ.get("QUOTH_TEST_PARTS") == "required"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
    if _REQUIRED and report.skipped and "is not installed" in reason:
        report.outcome = "failed"
        report.longrepr = f"{reason}: this run must not skip for want of a part"
    return report
