"""What a program that reads files of strangers may know of this machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from quoth import machine
from quoth.machine import plain_environment

SECRETS = ("PGPASSWORD", "QUOTH_SERVE", "QUOTH_STORE", "OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "https_proxy")
NEEDED = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "PYTHONPATH", "LD_LIBRARY_PATH", "QUOTH_CACHE_DIR")


def test_secrets_are_not_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*SECRETS, *NEEDED, "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "ORT_DISABLE_TELEMETRY"):
        monkeypatch.setenv(name, f"of {name}")
    handed_on = plain_environment()

    assert not set(SECRETS) & set(handed_on)
    assert {name: handed_on[name] for name in NEEDED} == {name: f"of {name}" for name in NEEDED}
    assert {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "ORT_DISABLE_TELEMETRY"} <= set(handed_on)


@pytest.mark.parametrize(
    ("quota", "cores"),
    [("150000 100000", 2), ("50000 100000", 1), ("900000 100000", 4), ("max 100000", 4), (None, 4)],
)
def test_a_container_grants_its_quota_and_never_more_than_the_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quota: str | None, cores: int
) -> None:
    file = tmp_path / "cpu.max"
    if quota is not None:
        file.write_text(quota)
    monkeypatch.setattr(machine, "_CPU_QUOTA", file)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3}, raising=False)

    assert machine.available_cores() == cores
