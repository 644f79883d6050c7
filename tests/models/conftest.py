from __future__ import annotations

from pathlib import Path

import pytest

from quoth.errors import ModelError
from quoth.models.onnx_embedder import OnnxEmbedder
from quoth.models.weights import Weights, find_weights

from .tiny_bert import write_tiny_bert


@pytest.fixture(scope="session")
def minilm() -> Weights:
    """The real weights. Only their absence skips a test: damaged ones must fail it."""
    try:
        return find_weights("all-MiniLM-L6-v2", path=None, allow_download=False)
    except ModelError as error:
        pytest.skip(f"needs the real weights: {error.hint}")


@pytest.fixture(scope="session")
def embedder(minilm: Weights, tmp_path_factory: pytest.TempPathFactory) -> OnnxEmbedder:
    return OnnxEmbedder(minilm, cache_dir=tmp_path_factory.mktemp("cache"), threads=0)


@pytest.fixture
def tiny(tmp_path: Path) -> Weights:
    """A random two-layer network that needs no download."""
    return Weights("tiny", write_tiny_bert(tmp_path / "tiny"), sha256=None)
