from __future__ import annotations

from pathlib import Path

import pytest

from .samples import sample_index


@pytest.fixture(scope="session")
def agriculture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The index of the agriculture guides."""
    return sample_index("agriculture", tmp_path_factory)
