"""Settings: read once, at the edge, from a profile, a file, the environment and flags; frozen ever after."""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from types import UnionType
from typing import Any, ClassVar, Protocol, TypeVar, Union, get_args, get_origin, get_type_hints

import yaml

from quoth.errors import SettingsError

NOT_SETTINGS = frozenset({"QUOTH_INDEX", "QUOTH_STORE", "QUOTH_CACHE_DIR", "QUOTH_PROFILE", "QUOTH_SERVE"})
"""Variables with our prefix that name a place rather than a setting."""


class _IsDataclass(Protocol):
    __dataclass_fields__: ClassVar[dict[str, Any]]


_Section = TypeVar("_Section", bound=_IsDataclass)


def _between(low: float, high: float, default: Any) -> Any:  # noqa: ANN401 - the field's own type says what it is
    return field(default=default, metadata={"low": low, "high": high})


def _one_of(*choices: str, default: str) -> Any:  # noqa: ANN401
    return field(default=default, metadata={"choices": choices})


@dataclass(frozen=True, slots=True)
class RetrievalSettings:
    """`alpha_lexical` None means: by the kind of question. `alpha_semantic` None means: the rest to 1."""

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
    """`evidence` compares token by token; `none` keeps the fused order. On real questions `cosine` alone is worse than
    that: it forgets what the words said.
    """

    kind: str = _one_of("evidence", "none", "cosine", "llm", default="evidence")
    topk: int = _between(1, 1_000, 20)


@dataclass(frozen=True, slots=True)
class LlmSettings:
    """The judging model behind `rerank.kind=llm`, on any endpoint that speaks OpenAI's protocol.

    `key_variable` names the environment variable that holds the key, so that no file has to. Prices are in dollars for
    a million tokens; 0 for both means that they are not known.
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

    Where fewer reach it, the best `low_max` above `nothing` are given; where none does, the result is `low_confidence`,
    and below `nothing` there is no result. `tokenizer` is a `tokenizer.json`; without one, the embedding model's own.
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
    """A sentence is quoted when it scores at least `min_share` of the best one; the best `min_support` always are."""

    mmr_lambda: float = _between(0, 1, 0.70)
    max_sim_threshold: float = _between(0, 1, 0.82)
    max_sentences: int = _between(1, 100, 6)
    min_support: int = _between(1, 100, 1)
    min_share: float = _between(0, 1, 0.75)


@dataclass(frozen=True, slots=True)
class DecisionSettings:
    """`abstain` off answers whatever was found, for measuring retrieval; the verbatim check always stays.

    A sentence supports an answer when its relevance reaches `support_score`; an answer is given when its confidence
    reaches `abstain_score_thresh`. Both were set on the questions that the evidence model was fitted on, so that 95% of
    the sentences and 92% of the answers that are right pass.
    """

    abstain: bool = True
    abstain_score_thresh: float = _between(0, 1, 0.30)
    support_score: float = _between(0, 1, 0.30)


@dataclass(frozen=True, slots=True)
class EmbeddingSettings:
    """`path` is a directory with the weights; `threads` 0 means all cores; `download` allows the model hub.

    `device` is where the model runs: `cuda` needs a GPU and the package `onnxruntime-gpu`. The fields from `dimension`
    on are for the provider `openai`. `key_variable` names the environment variable that holds the key.
    """

    provider: str = _one_of("onnx", "openai", default="onnx")
    model_name: str = "all-MiniLM-L6-v2"
    path: str | None = None
    download: bool = False
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
    """What a file may cost: the limits on its size, and on the time and memory of the process that extracts its text.

    `workers` 0 means one for each core.
    """

    max_file_mb: int = _between(1, 1_000_000, 512)
    seconds: float = _between(0.1, 86_400, 120.0)
    memory_mb: int = _between(256, 10**7, 4_096)
    workers: int = _between(0, 1_024, 0)


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Above `faiss_threshold` vectors the dense search of a folder is approximate, with exact rescoring.

    The others are for PostgreSQL: the `schema` that an index lives in, how a new one keeps its `vectors`, and how far
    its approximate search looks at least.
    """

    faiss_threshold: int = _between(1, 10**12, 200_000)
    schema: str = "quoth"
    vectors: str = _one_of("vector", "halfvec", default="vector")
    ef_search: int = _between(1, 1_000, 200)


@dataclass(frozen=True, slots=True)
class CacheSettings:
    """How long the vectors of questions and what was found for them are kept, and in how much memory; 0 keeps none.

    With `redis_url` several processes share them.
    """

    vector_seconds: float = _between(0, 10**9, 3_600.0)
    result_seconds: float = _between(0, 10**9, 300.0)
    memory_mb: int = _between(0, 10**6, 64)
    redis_url: str | None = None


@dataclass(frozen=True, slots=True)
class LogSettings:
    """`queries` is a SQLite file, or the address of a migrated database, that every retrieval is written to, with its
    question; none is written by default."""

    queries: str | None = None


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """What `quoth serve` grants to a request, a key and an upload, and where it keeps what is its own.

    `threads` answer at once and `queue` requests may wait for them in each process; one more is sent away. `cors` is a
    list of origins, with blanks between them. Limits of 0 are no limits.
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
    max_batch: int = _between(1, 10**6, 1_000)
    uploads: bool = True
    open_metrics: bool = False
    cors: str = ""
    log_questions: bool = False
    traces: bool = False


@dataclass(frozen=True, slots=True)
class CalibrationSettings:
    """What `quoth calibrate` found; in force when `threshold` is set, and refused unless `made_for` holds.

    The probability of a confidence is logistic(`slope` * its log odds + `intercept`). `threshold` is a raw confidence.
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
    service: ServiceSettings = ServiceSettings()
    calibration: CalibrationSettings = CalibrationSettings()

    @property
    def digest(self) -> str:
        """A short name for the values that can change an answer; threads, devices, patience, keys and prices cannot."""
        values = asdict(self)
        for section in ("store", "ingest", "cache", "log", "service"):
            del values[section]
        for name in ("threads", "device", "batch_size", "seconds", "question_seconds", "retries", "key_variable"):
            del values["embedding"][name]
        for name in ("seconds", "retries", "key_variable", "prompt_price", "completion_price"):
            del values["llm"][name]
        if self.calibration.threshold is None:
            del values["calibration"]
        return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:12]


def setting_keys() -> Iterator[tuple[str, Any]]:
    """Every key (`selection.max_sentences`) with its default."""
    for section in fields(Settings):
        for one in fields(getattr(Settings(), section.name)):
            yield f"{section.name}.{one.name}", getattr(getattr(Settings(), section.name), one.name)


MOST_YAML_VALUES = 1_000_000
"""In one text, what aliases stand for counted each time: ten lines of them can stand for a thousand million."""


class _BoundedLoader(yaml.SafeLoader):
    """Refuses values that hold themselves, or too many others, before any of them is made."""

    def __init__(self, source: str | bytes) -> None:
        super().__init__(source)
        self._sizes: dict[yaml.Node, int] = {}

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:  # noqa: ANN401 - any node, or a place
        alias = self.check_event(yaml.AliasEvent)
        node = super().compose_node(parent, index)
        if node is None:
            return None
        if alias and node not in self._sizes:
            raise yaml.YAMLError("a value holds itself")
        if not alias:
            inner = node.value if isinstance(node, yaml.SequenceNode) else ()
            inner = [one for pair in node.value for one in pair] if isinstance(node, yaml.MappingNode) else inner
            self._sizes[node] = 1 + sum(self._sizes[one] for one in inner)
        if self._sizes[node] > MOST_YAML_VALUES:
            raise yaml.YAMLError(f"it stands for more than {MOST_YAML_VALUES:,} values")
        return node


def parse_yaml(source: str | bytes, *, what: str, hint: str) -> Any:  # noqa: ANN401 - YAML holds anything
    """The content of a YAML text; `what` names it in the error."""
    try:
        return yaml.load(source, Loader=_BoundedLoader)  # noqa: S506 - it is a safe loader
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        # A date that does not exist (2022-13-01) is a ValueError, a thousand brackets a RecursionError.
        raise SettingsError(f"{what} is not valid YAML: {error}", hint=hint) from error


def read_settings_file(path: Path) -> Mapping[str, Any]:
    """The content of a `quoth.yaml`."""
    try:
        source = path.read_bytes()
    except OSError as error:
        raise SettingsError(
            f"cannot read {path}: {error.strerror}", hint="Check the path given to --config."
        ) from error
    content = parse_yaml(source, what=str(path), hint="Correct the file; see docs/settings.md.") or {}
    if not isinstance(content, dict):
        raise SettingsError(f"{path} must hold a mapping", hint="For example: selection: {max_sentences: 4}")
    return content


def environment_settings(environ: Mapping[str, str]) -> dict[str, str]:
    """Dotted keys from `QUOTH_SECTION_KEY` variables; an unknown one is an error, since a typo would go unnoticed."""
    names = {"QUOTH_" + key.upper().replace(".", "_"): key for key, _ in setting_keys()}
    mappings = {name: key for name, key in names.items() if key in _mapping_keys()}
    found: dict[str, str] = {}
    for variable, value in environ.items():
        if not variable.startswith("QUOTH_") or variable in NOT_SETTINGS:
            continue
        inside = next((name for name in mappings if variable.startswith(name + "_")), None)
        if variable in names:
            found[names[variable]] = value
        elif inside:
            found[f"{mappings[inside]}.{variable.removeprefix(inside + '_').lower()}"] = value
        else:
            raise SettingsError(f"unknown variable {variable}", hint=_did_you_mean(variable, names))
    return found


def _mapping_keys() -> frozenset[str]:
    """Keys whose value is a mapping; an entry of it can be set by itself, as `retrieval.tag_boost.crop`."""
    return frozenset(key for key, default in setting_keys() if isinstance(default, Mapping))


def with_values(settings: Settings, values: Mapping[str, Any], *, source: str) -> Settings:
    """Settings with nested values (as in YAML) put over them; `source` names where they came from in errors."""
    for name, content in ((str(key), content) for key, content in values.items()):
        known = {one.name for one in fields(Settings)}
        if name not in known:
            raise SettingsError(f"{source}: unknown section '{name}'", hint=_did_you_mean(name, known))
        if not isinstance(content, Mapping):
            raise SettingsError(f"{source}: '{name}' must be a mapping", hint=f"For example: {name}: {{key: value}}")
        for key, value in content.items():
            settings = with_value(settings, f"{name}.{key}", value, source=source)
    return settings


def with_strings(settings: Settings, values: Mapping[str, str], *, source: str) -> Settings:
    """Settings with `key=value` texts put over them, read as YAML scalars (`0.4`, `true`, `{crop: 0.1}`)."""
    for key, text in values.items():
        value = parse_yaml(text, what=f"{source}: {key}={text}", hint="Quote the value.")
        settings = with_value(settings, key, value, source=source)
    return settings


def with_value(settings: Settings, key: str, value: object, *, source: str) -> Settings:
    """Settings with one dotted key changed, checked for its type and range."""
    section_name, _, name = key.partition(".")
    whole, _, entry = key.rpartition(".")
    if whole in _mapping_keys():
        held = getattr(getattr(settings, section_name), whole.removeprefix(f"{section_name}."))
        return with_value(settings, whole, {**held, entry: value}, source=source)
    known = [one for one, _ in setting_keys()]
    if key not in known:
        raise SettingsError(f"{source}: unknown setting '{key}'", hint=_did_you_mean(key, known))
    section = getattr(settings, section_name)
    return replace(settings, **{section_name: _replace(section, name, value, source=source)})


def _replace(section: _Section, name: str, value: object, *, source: str) -> _Section:
    declared = next(one for one in fields(section) if one.name == name)
    wanted = get_type_hints(type(section))[name]
    label = f"{type(section).__name__.removesuffix('Settings').lower()}.{name}"
    checked = _checked(value, wanted, label=f"{source}: {label}")
    _check_range(checked, declared.metadata, label=f"{source}: {label}")
    return replace(section, **{name: checked})


def _checked(value: object, wanted: Any, *, label: str) -> object:  # noqa: ANN401 - a type hint is any object
    """`value` as the wanted type; only int to float is converted."""
    if get_origin(wanted) in {Union, UnionType}:
        if value is None:
            return None
        wanted = next(one for one in get_args(wanted) if one is not type(None))
    if get_origin(wanted) is not None:
        if not isinstance(value, Mapping):
            raise SettingsError(f"{label} must be a mapping, not {value!r}", hint="For example: {crop: 0.08}")
        return {str(key): _checked(one, get_args(wanted)[1], label=f"{label}.{key}") for key, one in value.items()}
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
        raise SettingsError(f"{label} must be {_type_name(wanted)}, not {value!r}", hint="See docs/settings.md.")
    return value


def _check_range(value: object, limits: Mapping[str, Any], *, label: str) -> None:
    if "choices" in limits and value not in limits["choices"]:
        raise SettingsError(f"{label} is {value!r}", hint=f"Choose one of: {', '.join(limits['choices'])}.")
    if "low" in limits and isinstance(value, int | float) and not limits["low"] <= value <= limits["high"]:
        raise SettingsError(f"{label} is {value}", hint=f"It must lie between {limits['low']} and {limits['high']}.")


def _type_name(wanted: type) -> str:
    return {"float": "a number", "int": "a whole number", "bool": "true or false", "str": "text"}[wanted.__name__]


def _did_you_mean(name: str, known: Collection[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f"Did you mean '{close[0]}'?" if close else "See docs/settings.md for every key."


@dataclass(frozen=True, slots=True)
class Overrides:
    """What the user set, by where: a file, the environment, flags. The later one wins; all win over the profile."""

    file: Mapping[str, Any]
    environment: Mapping[str, str]
    flags: Mapping[str, str]

    def over(self, profile_settings: Mapping[str, Any], *, profile: str) -> Settings:
        """The settings in force under a profile."""
        settings = with_values(Settings(), profile_settings, source=f"profile '{profile}'")
        settings = with_values(settings, self.file, source="quoth.yaml")
        settings = with_strings(settings, self.environment, source="environment")
        return with_strings(settings, self.flags, source="--set")


NO_OVERRIDES = Overrides(file={}, environment={}, flags={})
