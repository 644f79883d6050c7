"""Where jobs are kept: what is true of them in a file is true of them in a database."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(params=["file", "database"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place for `job_places.database_at`."""
    if request.param == "file":
        return str(tmp_path / "service.db")
    return f"{request.getfixturevalue('database_url')}|{request.getfixturevalue('schema')}"
