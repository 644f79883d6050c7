"""The only place that chooses adapters: which store, which embedder, which reranker."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from quoth.ask import Engine
from quoth.errors import IndexMismatch
from quoth.profiles import parse_profile
from quoth.protocols import Embedder, Reranker, Store
from quoth.select.rerank import CosineReranker
from quoth.settings import EmbeddingSettings, Overrides, RerankSettings, StoreSettings
from quoth.types import IndexInfo


def default_cache_dir(environ: Mapping[str, str] = os.environ) -> Path:
    """Where built model graphs are kept: QUOTH_CACHE_DIR, else the user's cache folder."""
    if named := environ.get("QUOTH_CACHE_DIR"):
        return Path(named)
    return Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "quoth"


def open_store(place: Path, settings: StoreSettings) -> Store:
    from quoth.stores.embedded import EmbeddedStore

    return EmbeddedStore(place, faiss_threshold=settings.faiss_threshold)


@lru_cache(maxsize=4)
def open_embedder(settings: EmbeddingSettings) -> Embedder:
    """The model named in the settings; a process loads it once."""
    if settings.model_name == "hash":
        from quoth.providers.hash_embedder import HashEmbedder

        return HashEmbedder()
    from quoth.providers.onnx_embedder import OnnxEmbedder
    from quoth.providers.weights import find_weights

    path = Path(settings.path) if settings.path else None
    weights = find_weights(settings.model_name, path=path, allow_download=settings.download)
    return OnnxEmbedder(
        weights, cache_dir=default_cache_dir(), threads=settings.threads, batch_size=settings.batch_size
    )


def open_reranker(settings: RerankSettings) -> Reranker | None:
    return CosineReranker() if settings.kind == "cosine" else None


def engine_for(info: IndexInfo, overrides: Overrides) -> Engine:
    """What answers questions from an index: its own profile, the settings in force, and the model it was made with."""
    profile = parse_profile(info.profile_source)
    settings = overrides.over(profile.settings, profile=profile.name)
    embedder = open_embedder(settings.embedding) if settings.retrieval.mode != "lexical" else None
    if embedder and embedder.identity != info.model:
        raise IndexMismatch(
            f"the index was made with {info.model.name} ({info.model.revision}, {info.model.precision}, "
            f"{info.model.dimension} dimensions), not with {embedder.identity.name} ({embedder.identity.revision}, "
            f"{embedder.identity.precision}, {embedder.identity.dimension} dimensions)",
            hint="Set embedding.model_name or embedding.path to the index's model, or ingest again into a new --index.",
        )
    return Engine(embedder, open_reranker(settings.rerank), profile, settings, settings.digest)
