from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from .small_corpus import SmallCorpus, ingest_small_corpus


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> SmallCorpus:
    """The small corpus with its index, to be read only."""
    return ingest_small_corpus(tmp_path_factory.mktemp("small"))


@pytest.fixture
def own(small: SmallCorpus, tmp_path: Path) -> SmallCorpus:
    """A copy of the small corpus and its index, to be changed."""
    shutil.copytree(small.folder.parent, tmp_path / "own")
    place = tmp_path / "own"
    return SmallCorpus(place / "fields", place / "index", place / "fields.yaml")
