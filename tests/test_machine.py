"""What a program that reads files of strangers may know of this machine."""

from __future__ import annotations

import pytest

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
