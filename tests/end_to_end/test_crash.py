"""Ingests that are killed at random moments: the short form of `tools/crash.py`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from doors.command_line import HASH, PATIENCE, environment

SCRIPT = Path(__file__).parents[2] / "tools" / "crash.py"


def test_a_kill_at_any_moment_loses_nothing() -> None:
    ran = subprocess.run(
        [sys.executable, SCRIPT, "--kills", "10", "--documents", "18"],
        capture_output=True,
        text=True,
        check=False,
        timeout=5 * PATIENCE,
        env=environment(HASH),
    )

    assert ran.returncode == 0, ran.stdout + ran.stderr
    *found, last = ran.stdout.splitlines()
    assert last == "10 kills, 0 with harm"
    assert {line.rsplit("found: ")[1] for line in found} <= {"before", "after"}
