"""Every setting with its default and its range, in sections. `overrides` reads the values that a user sets."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from typing import Any


def _between(low: float, high: float, default: Any) -> Any:  # noqa: ANN401 - the field declares its own type
    return field(default=default, metadata={"low": low, "high": high})


def _one_of(*choices: str, default: str) -> Any:  # noqa: ANN401
    return field(default=default, metadata={"choices": choices})


@dataclass(frozen=True, slots=True)
class RetrievalSettings:
    """`alpha_lexical` None takes the weight from the kind of question; `alpha_semantic` None is 1 - `alpha_lexical`."""

    mode: str = _one_of("hybrid", "lexical", "dense", default="hybrid")
    alpha_lexical: float | None = _between(0, 1, None)
    alpha_semantic: float | None = _between(0, 1, None)
    candidates: int = _between(1, 10_000, 50)
    tag_boost: Mapping[str, float] = field(default_factory=dict)
    tag_boost_mode: str = _one_of("add", "multiply", default="add")
    tag_boost_factor: float = _between(1, 10, 1.2)
    detect_types: bool = True
    max_question_characters: int = _between(1, 1_000_000, 4_000)


@dataclass(frozen=True, slots=True)
class RerankSettings:
    """`late` compares token by token; `reader` reads the `reads` best of these together with the question.

    `model` is a cross-encoder to read with, by folder or by name on the model hub, which `download` allows to ask; None
    reads with the one in the package. `none` keeps the fused order. On real questions `cosine` orders worse than
    `none`, because it ignores the full-text score.
    """

    kind: str = _one_of("reader", "late", "none", "cosine", "llm", default="reader")
    topk: int = _between(1, 1_000, 20)
    reads: int = _between(1, 100, 8)
    model: str | None = None
    download: bool = False


@dataclass(frozen=True, slots=True)
class LlmSettings:
    """The language model behind `rerank.kind=llm`, on any endpoint with OpenAI's API.

    `key_variable` names the environment variable that holds the key, which keeps the key out of files. Prices are in
    dollars per million tokens; 0 for both means unknown.
    """

    base_url: str = "https://api.openai.com/v1"
    model: str = "gpt-4o"
    key_variable: str = "OPENAI_API_KEY"
    seconds: float = _between(0.1, 600, 15.0)
    retries: int = _between(0, 10, 2)
    passages: int = _between(8, 20, 20)
    prompt_price: float = _between(0, 10_000, 0.0)
    completion_price: float = _between(0, 10_000, 0.0)


@dataclass(frozen=True, slots=True)
class ContextSettings:
    """What an agent is given: passages of at least `floor` relevance, at most `max` of them, in `token_budget` tokens.

    When fewer than `low_max` passages reach `floor`, the best others above `nothing` make up the number. When none
    reaches `floor`, the status is `low_confidence`; when none reaches `nothing`, it is `no_results`. `tokenizer` is the
    path of a `tokenizer.json`; None uses the tokenizer of the embedding model.
    """

    token_budget: int = _between(100, 1_000_000, 4_000)
    max: int = _between(1, 100, 8)
    low_max: int = _between(1, 100, 5)
    floor: float = _between(0, 1, 0.5)
    nothing: float = _between(0, 1, 0.3)
    scale_slope: float | None = _between(0, 10_000, None)
    scale_intercept: float | None = _between(-10_000, 10_000, None)
    neighbours: bool = True
    references: bool = True
    definitions: bool = True
    tokenizer: str | None = None


@dataclass(frozen=True, slots=True)
class SelectionSettings:
    """At most `max_sentences` are quoted, without sentences that are too similar to each other.

    A sentence answers when it reaches `min_share` of the best score. Context is added up to `min_support` sentences.
    """

    mmr_lambda: float = _between(0, 1, 0.70)
    max_sim_threshold: float = _between(0, 1, 0.82)
    max_sentences: int = _between(1, 100, 6)
    min_support: int = _between(1, 100, 1)
    min_share: float = _between(0, 1, 0.75)


@dataclass(frozen=True, slots=True)
class DecisionSettings:
    """`abstain` off answers every question, to measure retrieval; quotes are still verified.

    A sentence supports an answer when its relevance reaches `support_score`. Quoth answers when its confidence reaches
    `abstain_score_thresh`. None takes the value that `answer` stands for: see `Engine.thresholds`.
    """

    abstain: bool = True
    answer: str = _one_of("careful", "balanced", "eager", default="balanced")
    abstain_score_thresh: float | None = _between(0, 1, None)
    support_score: float | None = _between(0, 1, None)


AUTO = "auto"
ENGLISH_MODEL = "all-MiniLM-L6-v2"


@dataclass(frozen=True, slots=True)
class EmbeddingSettings:
    """The model `auto` is that of the index; for a new index `wiring.for_documents` chooses it.

    `path` is a directory with the weights; `threads` 0 means all cores; `download` allows the model hub.

    The prefixes stand in front of every question and every sentence; None takes those that the model's files name.
    The `device` `cuda` needs a GPU and the package `onnxruntime-gpu`. The fields from `dimension` on are for the
    provider `openai`. `key_variable` names the environment variable that holds the key.
    """

    provider: str = _one_of("onnx", "openai", default="onnx")
    model_name: str = "auto"
    path: str | None = None
    download: bool = False
    query_prefix: str | None = None
    passage_prefix: str | None = None
    threads: int = _between(0, 1_024, 0)
    device: str = _one_of("cpu", "cuda", default="cpu")
    batch_size: int = _between(1, 4_096, 32)
    dimension: int | None = _between(1, 65_536, None)
    base_url: str = "https://api.openai.com/v1"
    key_variable: str = "OPENAI_API_KEY"
    seconds: float = _between(0.1, 600, 30.0)
    question_seconds: float = _between(0.1, 600, 5.0)
    retries: int = _between(0, 20, 5)


@dataclass(frozen=True, slots=True)
class IngestSettings:
    """Limits on the size of a file, and on the time and memory of the process that extracts its text.

    `workers` 0 starts a process for each core. `json_text` and `json_title` are paths of fields, with dots between keys
    and commas between paths; without `json_text` all fields of a JSON file are read. `language` is that of documents
    that state none themselves; empty: it is recognised.
    """

    max_file_mb: int = _between(1, 1_000_000, 512)
    seconds: float = _between(0.1, 86_400, 120.0)
    memory_mb: int = _between(256, 10**7, 4_096)
    workers: int = _between(0, 1_024, 0)
    json_text: str = ""
    json_title: str = "title"
    language: str = ""


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Above `faiss_threshold` vectors the dense search of a folder is approximate, with exact rescoring.

    The others are for PostgreSQL: the `schema` of the index, the column type of the `vectors` of a new index, and the
    least `ef_search` of its approximate search.
    """

    faiss_threshold: int = _between(1, 10**12, 200_000)
    schema: str = "quoth"
    vectors: str = _one_of("vector", "halfvec", default="vector")
    ef_search: int = _between(1, 1_000, 200)


@dataclass(frozen=True, slots=True)
class CacheSettings:
    """How long to cache the vectors and the results of questions, and in how much memory; 0 caches nothing."""

    vector_seconds: float = _between(0, 10**9, 3_600.0)
    result_seconds: float = _between(0, 10**9, 300.0)
    memory_mb: int = _between(0, 10**6, 64)


@dataclass(frozen=True, slots=True)
class LogSettings:
    """`queries` is a SQLite file, or the address of a migrated database, to log every retrieval in, with its question.

    None logs nothing.
    """

    queries: str | None = None


@dataclass(frozen=True, slots=True)
class AccessSettings:
    """Who sees the documents that have no labels: with `open` everybody, with `closed` only who sees everything."""

    default: str = _one_of("open", "closed", default="open")


@dataclass(frozen=True, slots=True)
class ReceiptsSettings:
    """`watch` is where saved receipts are: an ingest says which of them quote documents that it changed.

    It is a file, a folder, or `table:NAME` in the database of the index.
    """

    watch: str | None = None


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """The limits of `quoth serve` for a request, a key and an upload, and the folder for its own `state`.

    In each process, `threads` requests are answered at a time and `queue` more may wait; the next is refused. `cors`
    lists origins, separated by blanks. A limit of 0 is no limit. `webhook` is the path of the route for workflows;
    None turns that route off.
    """

    state: str = ".quoth-service"
    keys: str | None = None
    threads: int = _between(1, 256, 2)
    queue: int = _between(0, 100_000, 128)
    seconds: float = _between(0.1, 3_600, 30.0)
    shard_seconds: float = _between(0.05, 3_600, 3.0)
    grace_seconds: float = _between(0, 3_600, 30.0)
    per_minute: int = _between(0, 10**6, 600)
    max_body_kb: int = _between(1, 10**6, 1_024)
    max_upload_mb: int = _between(1, 10**5, 64)
    min_kb_per_second: int = _between(0, 10**6, 4)
    max_batch: int = _between(1, 10**6, 1_000)
    max_cells: int = _between(1, 10**9, 20_000)
    uploads: bool = True
    quota_mb: int = _between(0, 10**9, 0)
    quota_documents: int = _between(0, 10**9, 0)
    key_quota_mb: int = _between(0, 10**9, 0)
    key_quota_documents: int = _between(0, 10**9, 0)
    open_metrics: bool = False
    cors: str = ""
    webhook: str | None = "/webhook/arc-retrieval"
    log_questions: bool = False
    traces: bool = False


@dataclass(frozen=True, slots=True)
class OidcSettings:
    """An OpenID Connect provider, whose tokens open the service as keys do. Without an `issuer` none do.

    The keys of the provider are found from the `issuer`; the `audience` is the name of this service at the provider.
    `labels_claim` names the groups of somebody: these are the labels that they hold, or stand for the ones that
    `labels` gives them. A claim inside another is named with a dot. A `read_scope` of None lets every valid token read.
    """

    issuer: str | None = None
    audience: str | None = None
    labels_claim: str = "groups"
    labels: Mapping[str, str] = field(default_factory=dict)
    scope_claim: str = "scope"
    read_scope: str | None = None
    write_scope: str = "quoth:write"
    skew_seconds: float = _between(0, 300, 30.0)


@dataclass(frozen=True, slots=True)
class ProxySettings:
    """A proxy that knows who asks, and says so in headers. They are believed from its `addresses` alone.

    Addresses and networks are separated by blanks; without any, no header is believed. Labels are separated by commas.
    """

    addresses: str = ""
    user_header: str = "X-Forwarded-User"
    labels_header: str = "X-Forwarded-Groups"
    scope: str = _one_of("read", "write", default="read")


@dataclass(frozen=True, slots=True)
class AuditSettings:
    """`reads` writes down who saw which quote of which document, and when, in `reads.jsonl` of the service's state.

    Entries are kept for `days` (0: for ever), and at most `mb` of them. `when_full` is what happens to an answer whose
    entry cannot be written: it is refused, or it goes on.
    """

    reads: bool = False
    when_full: str = _one_of("continue", "refuse", default="continue")
    days: int = _between(0, 36_500, 365)
    mb: int = _between(1, 10**7, 1_024)


@dataclass(frozen=True, slots=True)
class EvidenceSettings:
    """The result of `quoth fit`. It applies when `sentence` is not empty, and is refused when `made_for` differs.

    `sentence` and `answer` hold an `intercept` and a weight for each feature: see `EvidenceModel`.
    """

    sentence: Mapping[str, float] = field(default_factory=dict)
    answer: Mapping[str, float] = field(default_factory=dict)
    questions: int = _between(0, 10**12, 0)
    made_for: Mapping[str, str] = field(default_factory=dict)

    @property
    def language(self) -> str | None:
        """The language of the questions that the weights were fitted to, where it is not English."""
        return self.made_for.get("language") if self.sentence else None


@dataclass(frozen=True, slots=True)
class CalibrationSettings:
    """The result of `quoth calibrate`. It applies when `threshold` is set, and is refused when `made_for` differs.

    The calibrated probability is logistic(`slope` * log odds of the confidence + `intercept`). `threshold` is a
    confidence before calibration.
    """

    threshold: float | None = _between(0, 1, None)
    risk: float | None = _between(0, 1, None)
    confidence: float | None = _between(0, 1, None)
    slope: float = _between(1e-6, 1e6, 1.0)
    intercept: float = _between(-1e6, 1e6, 0.0)
    questions: int = _between(0, 10**12, 0)
    answered: int = _between(0, 10**12, 0)
    wrong: int = _between(0, 10**12, 0)
    made_for: Mapping[str, str] = field(default_factory=dict)

    @property
    def language(self) -> str | None:
        """The language of the questions that it was made with, where it is not English."""
        return self.made_for.get("language") if self.threshold is not None else None


@dataclass(frozen=True, slots=True)
class Settings:
    retrieval: RetrievalSettings = RetrievalSettings()
    rerank: RerankSettings = RerankSettings()
    llm: LlmSettings = LlmSettings()
    selection: SelectionSettings = SelectionSettings()
    decision: DecisionSettings = DecisionSettings()
    context: ContextSettings = ContextSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    ingest: IngestSettings = IngestSettings()
    store: StoreSettings = StoreSettings()
    cache: CacheSettings = CacheSettings()
    log: LogSettings = LogSettings()
    access: AccessSettings = AccessSettings()
    receipts: ReceiptsSettings = ReceiptsSettings()
    service: ServiceSettings = ServiceSettings()
    oidc: OidcSettings = OidcSettings()
    proxy: ProxySettings = ProxySettings()
    audit: AuditSettings = AuditSettings()
    evidence: EvidenceSettings = EvidenceSettings()
    calibration: CalibrationSettings = CalibrationSettings()

    @property
    def digest(self) -> str:
        """A short hash of the settings that can change an answer; threads, timeouts, keys and prices are left out."""
        values = asdict(self)
        for section in ("store", "ingest", "cache", "log", "access", "receipts", "service", "oidc", "proxy", "audit"):
            del values[section]
        for name in ("threads", "device", "batch_size", "seconds", "question_seconds", "retries", "key_variable"):
            del values["embedding"][name]
        if self.embedding.model_name == AUTO:
            values["embedding"]["model_name"] = ENGLISH_MODEL
        for name in ("seconds", "retries", "key_variable", "prompt_price", "completion_price"):
            del values["llm"][name]
        del values["rerank"]["download"]
        if not self.evidence.sentence:
            del values["evidence"]
        if self.calibration.threshold is None:
            del values["calibration"]
        return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:12]


@cache
def setting_keys() -> Mapping[str, Any]:
    """Return every dotted key, such as `selection.max_sentences`, with its default."""
    defaults = Settings()
    return {
        f"{section.name}.{setting.name}": getattr(getattr(defaults, section.name), setting.name)
        for section in fields(defaults)
        for setting in fields(getattr(defaults, section.name))
    }
