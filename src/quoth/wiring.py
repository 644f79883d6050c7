"""The only place that chooses adapters: which store, which embedder, which reranker."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quoth.caching import CachedEmbedder, CountedCache, ResultCache
from quoth.calibration import check_calibration, circumstances
from quoth.engine import Engine
from quoth.errors import IndexMismatch, ModelError, SettingsError
from quoth.profiles import parse_profile
from quoth.protocols import Embedder, Judge, Progress, Reranker, Store, TokenCounter
from quoth.providers.evidence_model import load_evidence_model, load_scales
from quoth.select.evidence import EvidenceReranker, Logistic
from quoth.select.relevance import Scale
from quoth.select.rerank import CosineReranker
from quoth.settings import (
    CacheSettings,
    EmbeddingSettings,
    LlmSettings,
    Overrides,
    Settings,
    StoreSettings,
)
from quoth.types import IndexInfo

if TYPE_CHECKING:
    from quoth.providers.weights import Weights
    from quoth.stores.postgres.query_log import PostgresQueryLog
    from quoth.stores.query_log import QueryLog

_DATABASE = ("postgresql://", "postgres://")
"""What an address begins with that names no folder."""
_OBJECTS = ("s3://", "gs://", "az://")
"""What an address begins with that names a prefix in object storage."""
_MOST_CACHED = 4 * 2**20
"""Bytes of one value in a cache that is shared."""


def default_cache_dir(environ: Mapping[str, str] = os.environ) -> Path:
    """Where built model graphs and copies of shards are kept: QUOTH_CACHE_DIR, else the user's cache folder."""
    if named := environ.get("QUOTH_CACHE_DIR"):
        return Path(named)
    return Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "quoth"


def open_store(place: str | Path, settings: StoreSettings) -> Store:
    """The index in a folder, whole or in shards, in shards in object storage, or in the database of an address."""
    if str(place).startswith(_OBJECTS):
        from quoth.stores.sharded import ShardedStore

        return ShardedStore(place, cache=default_cache_dir(), faiss_threshold=settings.faiss_threshold)
    if is_database(place):
        from quoth.stores.postgres import PostgresStore

        return PostgresStore(str(place), schema=settings.schema, vectors=settings.vectors, ef_search=settings.ef_search)
    if (Path(place) / "cluster.json").exists():
        from quoth.stores.sharded import ShardedStore

        return ShardedStore(Path(place), faiss_threshold=settings.faiss_threshold)
    from quoth.stores.embedded import EmbeddedStore

    return EmbeddedStore(Path(place), faiss_threshold=settings.faiss_threshold)


def is_database(place: str | Path) -> bool:
    """Whether a place is the address of a database; `SettingsError` for the address of anything else."""
    scheme = re.match(r"([A-Za-z][\w+.-]*):/", str(place))
    if scheme is None or str(place).startswith(_DATABASE):
        return scheme is not None
    raise SettingsError(  # without the address: it may hold a password
        f"an index cannot be at an address that begins with '{scheme[1]}:'",
        hint="Give a folder, postgresql://user@host/database, or s3://bucket/prefix.",
    )


def maintain_store(
    place: str | Path, settings: StoreSettings, *, reindex: bool, sample: int, progress: Progress | None
) -> dict[str, Any]:
    """What the maintenance of an index in a database found, as JSON."""
    url = _database(place, "maintained")
    from quoth.stores.postgres.maintain import maintain, maintenance_json

    return maintenance_json(
        maintain(url, settings.schema, ef_search=settings.ef_search, reindex=reindex, sample=sample, progress=progress)
    )


def migrate_store(place: str | Path, settings: StoreSettings) -> tuple[str, int | None, int]:
    """Where the tables are, and their version before (None: there were none) and after."""
    url = _database(place, "migrated")
    from quoth.stores.postgres.maintain import upgrade

    done = upgrade(url, settings.schema)
    return done.place, done.before, done.after


def _database(place: str | Path, what: str) -> str:
    if not is_database(place):
        raise SettingsError(
            f"{place} is a folder, and only an index in a database is {what}",
            hint="Give --store postgresql://user@host/database, or set QUOTH_STORE.",
        )
    return str(place)


@lru_cache(maxsize=4)
def open_embedder(settings: EmbeddingSettings) -> Embedder:
    """The model named in the settings; a process loads it once."""
    if settings.model_name == "hash":
        from quoth.providers.hash_embedder import HashEmbedder

        return HashEmbedder()
    if settings.provider == "openai":
        return _http_embedder(settings)
    from quoth.providers.onnx_embedder import OnnxEmbedder

    return OnnxEmbedder(
        _weights(settings),
        cache_dir=default_cache_dir(),
        threads=settings.threads,
        batch_size=settings.batch_size,
        device=settings.device,
    )


def _weights(settings: EmbeddingSettings) -> Weights:
    from quoth.providers.weights import find_weights

    path = Path(settings.path) if settings.path else None
    return find_weights(settings.model_name, path=path, allow_download=settings.download)


def _http_embedder(settings: EmbeddingSettings) -> Embedder:
    """The model behind an API; what the settings leave open is OpenAI's large model, cut to 1536 dimensions."""
    from quoth.providers.http_embedder import HttpEmbedder

    if settings.model_name == EmbeddingSettings().model_name:
        settings = replace(settings, model_name="text-embedding-3-large", dimension=settings.dimension or 1536)
    if settings.dimension is None:
        raise SettingsError(
            f"the dimension of the embedding model '{settings.model_name}' is not set",
            hint="Set embedding.dimension to the length of its vectors.",
        )
    return HttpEmbedder(
        settings,
        model=settings.model_name,
        dimension=settings.dimension,
        key=os.environ.get(settings.key_variable),
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


def open_judge(settings: LlmSettings, environ: Mapping[str, str] = os.environ) -> Judge:
    from quoth.providers.llm_judge import LlmJudge

    return LlmJudge(settings, key=environ.get(settings.key_variable))


def open_counter(settings: Settings) -> TokenCounter:
    """What counts the tokens of a context: the tokenizer that the settings name, else that of the embedding model."""
    return _counter(settings.context.tokenizer, settings.embedding)


@lru_cache(maxsize=4)
def _counter(named: str | None, embedding: EmbeddingSettings) -> TokenCounter:
    from quoth.providers import tokenizer

    if named is not None:
        return tokenizer.open_counter(named, None)
    local = embedding if embedding.provider == "onnx" else EmbeddingSettings()
    try:
        return tokenizer.open_counter(None, _weights(local).tokenizer)
    except ModelError:  # without weights on this machine there is no tokenizer either
        return tokenizer.open_counter(None, None)


@lru_cache(maxsize=4)
def open_cache(settings: CacheSettings) -> CountedCache | None:
    """Where vectors of questions and what was found for them are kept; None when nothing is."""
    if settings.redis_url is not None:
        from quoth.providers.redis_cache import RedisCache

        return CountedCache(RedisCache(settings.redis_url, max_value_bytes=_MOST_CACHED))
    if settings.memory_mb == 0:
        return None
    from quoth.providers.memory_cache import MemoryCache

    return CountedCache(MemoryCache(settings.memory_mb * 2**20))


def open_results(settings: CacheSettings) -> ResultCache | None:
    cache = open_cache(settings)
    return None if cache is None or settings.result_seconds == 0 else ResultCache(cache, settings.result_seconds)


def open_query_log(settings: Settings) -> QueryLog | PostgresQueryLog | None:
    """The log that every retrieval is written to; None unless the settings name one."""
    return None if settings.log.queries is None else _query_log(settings.log.queries, settings.store.schema)


@lru_cache(maxsize=4)
def _query_log(place: str, schema: str) -> QueryLog | PostgresQueryLog:
    if is_database(place):
        from quoth.stores.postgres.query_log import PostgresQueryLog

        return PostgresQueryLog(place, schema=schema)
    from quoth.stores.query_log import QueryLog

    return QueryLog(Path(place).expanduser())


def _remembering(embedder: Embedder, settings: CacheSettings) -> Embedder:
    cache = open_cache(settings)
    if cache is None or settings.vector_seconds == 0:
        return embedder
    return CachedEmbedder(embedder, cache, seconds=settings.vector_seconds)


def _scales(settings: Settings, *, store: str) -> dict[str, Scale]:
    """The scales that ship for a kind of store, with what the settings say over them."""
    slope, intercept = settings.context.scale_slope, settings.context.scale_intercept
    return {
        name: Scale(one.slope if slope is None else slope, one.intercept if intercept is None else intercept)
        for name, one in load_scales(store).items()
    }


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
    return Engine(
        embedder=embedder and _remembering(embedder, settings.cache),
        reranker=reranker,
        judge=open_judge(settings.llm) if settings.rerank.kind == "llm" else None,
        confidence_model=confidence_model,
        scales=_scales(settings, store=store),
        open_counter=lambda: open_counter(settings),
        profile=profile,
        settings=settings,
        settings_digest=settings.digest,
    )


def circumstances_of(info: IndexInfo, settings: Settings, *, store: str) -> dict[str, str]:
    """What a calibration of this index under these settings would be made for."""
    profile = (info.profile_name, info.profile_source)
    return circumstances(
        settings, confidence=_confidence_name(settings), model=info.model, store=store, profile=profile
    )


def _confidence_name(settings: Settings) -> str:
    """Names how the confidence of an answer comes about; changes when the same question would get another one."""
    return "fused score" if settings.rerank.kind != "evidence" else f"evidence {load_evidence_model().revision}"
