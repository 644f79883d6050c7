"""The only place that chooses adapters: which store, which embedder, which reranker."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from quoth.ask import Engine
from quoth.calibration import check_calibration, circumstances
from quoth.errors import IndexMismatch
from quoth.profiles import parse_profile
from quoth.protocols import Embedder, Reranker, Store
from quoth.providers.evidence_model import load_evidence_model
from quoth.select.evidence import EvidenceReranker, Logistic
from quoth.select.rerank import CosineReranker
from quoth.settings import EmbeddingSettings, Overrides, Settings, StoreSettings
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


def open_reranker(settings: Settings, embedder: Embedder | None) -> tuple[Reranker | None, Logistic | None]:
    """The reranker that the settings name, and the model of the confidence that goes with it.

    Late interaction needs the tokens of the embedding model; where it gives none, the fused order stays.
    """
    if settings.rerank.kind == "cosine":
        return CosineReranker(), None
    if settings.rerank.kind == "none" or embedder is None or not embedder.has_tokens:
        return None, None
    model = load_evidence_model()
    return EvidenceReranker(model.sentence), model.answer


def engine_for(info: IndexInfo, overrides: Overrides, *, store: str) -> Engine:
    """What answers questions from an index: its own profile, the settings in force, and the model it was made with.

    A calibration in the settings that was made for something else is refused. `store` is the kind of store.
    """
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
    if settings.calibration.threshold is not None:
        check_calibration(settings.calibration, circumstances_of(info, settings, store=store))
    reranker, confidence_model = open_reranker(settings, embedder)
    return Engine(embedder, reranker, confidence_model, profile, settings, settings.digest)


def circumstances_of(info: IndexInfo, settings: Settings, *, store: str) -> dict[str, str]:
    """What a calibration of this index under these settings would be made for."""
    profile = (info.profile_name, info.profile_source)
    return circumstances(
        settings, confidence=_confidence_name(settings), model=info.model, store=store, profile=profile
    )


def _confidence_name(settings: Settings) -> str:
    """Names how the confidence of an answer comes about; changes when the same question would get another one."""
    return "fused score" if settings.rerank.kind != "evidence" else f"evidence {load_evidence_model().revision}"
