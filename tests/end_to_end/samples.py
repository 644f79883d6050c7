"""Indexes of the sample corpora with the real model, made once for all the processes of a test run."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from doors.command_line import MINILM, run

EXAMPLES = Path(__file__).parents[2] / "examples"


def sample_index(name: str, factory: pytest.TempPathFactory) -> Path:
    """The index of `examples/NAME`, made by the profile of that name."""
    common = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        common = common.parent
    index = common / f"sample-{name}"
    with (common / f"sample-{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # A second run finds everything unchanged, and is a claim in itself: nothing is read or embedded twice.
        ran = run("ingest", EXAMPLES / name, "--index", index, "--profile", name, variables=MINILM)
    assert (ran.code, ran.data) == (0, b""), ran.talk
    return index
