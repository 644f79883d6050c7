"""Metrics for Prometheus and traces for OpenTelemetry.

With several processes, each writes its metrics to files of its own, and a scrape adds them up.
"""

from __future__ import annotations

import collections
import os
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.registry import Collector

from quoth.errors import MissingExtra
from quoth.types import ShardState

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

REGISTRY = CollectorRegistry()
_BUCKETS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
_STAGE_BUCKETS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0, 15.0)
REFUSALS = ("busy", "rate", "auth", "too-large", "timeout")
"""Error codes that count as refusals; the others are failures or mistakes."""
_SUM: Literal["livesum"] = "livesum"  # over the processes that are alive

REQUESTS = Counter("quoth_http_requests", "Requests served.", ["method", "route", "status"], registry=REGISTRY)
SECONDS = Histogram(
    "quoth_http_request_seconds", "How long requests took.", ["route"], buckets=_BUCKETS, registry=REGISTRY
)
STAGES = Histogram(
    "quoth_stage_seconds", "How long stages took.", ["path", "stage"], buckets=_STAGE_BUCKETS, registry=REGISTRY
)
OUTCOMES = Counter("quoth_outcomes", "Answers, and abstentions by reason.", ["outcome", "reason"], registry=REGISTRY)
RETRIEVALS = Counter("quoth_retrievals", "Retrievals by status.", ["status"], registry=REGISTRY)
DEGRADED = Counter("quoth_degraded", "Results that lacked a part.", ["part"], registry=REGISTRY)
CACHES = Counter("quoth_cache_requests", "What caches were asked for.", ["cache", "result"], registry=REGISTRY)
CORPORA = Counter("quoth_corpus_requests", "Requests to each corpus.", ["corpus", "route", "status"], registry=REGISTRY)
REFUSED = Counter("quoth_refused", "Requests sent away.", ["why"], registry=REGISTRY)
JOBS = Counter("quoth_jobs", "Jobs that ended.", ["kind", "state"], registry=REGISTRY)
WAITING = Gauge("quoth_requests_waiting", "Requests in the queue.", multiprocess_mode=_SUM, registry=REGISTRY)
RUNNING = Gauge("quoth_requests_running", "Requests in work.", multiprocess_mode=_SUM, registry=REGISTRY)

# Create these series now: a series that appears with its first event shows no increase, so no alert would fire.
for _why in REFUSALS:
    REFUSED.labels(_why)
for _kind in ("put", "delete", "grid"):
    for _state in ("done", "failed"):
        JOBS.labels(_kind, _state)

_INDEX_GAUGES = {
    "age_seconds": "Since the index was published.",
    "documents": "Documents in the index.",
    "sentences": "Sentences in the index.",
    "bytes": "What the index takes where it is kept.",
}


_CORPUS_GAUGES = {"ready": "Whether the corpus can answer."}


def count_requests(waiting: int, running: int) -> None:
    """Publish how many requests wait and how many are being served."""
    WAITING.set(waiting)
    RUNNING.set(running)


class Stopwatch:
    """Measures the stages of one question: called with the name of each stage when it ends."""

    def __init__(self, path: str, traces: Traces | None = None) -> None:
        self._path = path
        self._traces = traces
        self._last = time.time_ns()

    def __call__(self, stage: str) -> None:
        began, self._last = self._last, time.time_ns()
        STAGES.labels(self._path, stage).observe(max(0, self._last - began) / 1e9)
        if self._traces is not None:
            self._traces.add(f"{self._path} {stage}", began, self._last)


_CACHES = {"vector": "vector", "found": "result"}
"""Kinds of cache keys, and the name of each cache in the metrics."""


class CacheCounts:
    """Adds the hits and misses that a cache has counted since the last update to the metrics."""

    def __init__(self) -> None:
        self._seen: collections.Counter[tuple[str, bool]] = collections.Counter()
        self._lock = threading.Lock()

    def update(self, counts: Mapping[tuple[str, bool], int]) -> None:
        with self._lock:
            new = collections.Counter(counts) - self._seen
            self._seen += new
        for (kind, hit), count in new.items():
            CACHES.labels(_CACHES.get(kind, kind), "hit" if hit else "miss").inc(count)


@dataclass(frozen=True, eq=False)
class _Current(Collector):
    """What is true at the time of a scrape, and counted by nobody."""

    index: Mapping[str, float]
    version: str
    shards: Sequence[ShardState]
    corpora: Mapping[str, Mapping[str, float]]

    def collect(self) -> Iterable[Metric]:
        for name, value in self.index.items():
            yield GaugeMetricFamily(f"quoth_index_{name}", _INDEX_GAUGES[name], value=value)
        for name, help_text in {**_INDEX_GAUGES, **_CORPUS_GAUGES}.items():
            prefix = "corpus" if name in _CORPUS_GAUGES else "index"
            gauge = GaugeMetricFamily(f"quoth_{prefix}_{name}", help_text, labels=["corpus"])
            for corpus, values in self.corpora.items():
                if name in values:
                    gauge.add_metric([corpus], values[name])
            if gauge.samples:
                yield gauge
        info = GaugeMetricFamily("quoth_build_info", "The version that runs.", labels=["version"])
        info.add_metric([self.version], 1)
        yield info
        if self.shards:
            yield from _shard_families(self.shards)


def _shard_families(shards: Sequence[ShardState]) -> Sequence[Metric]:
    up = GaugeMetricFamily("quoth_shard_up", "Whether a shard answers.", labels=["shard"])
    quiet = GaugeMetricFamily("quoth_shard_quiet_seconds", "Since a shard last answered.", labels=["shard"])
    calls = CounterMetricFamily("quoth_shard_calls", "What a shard was asked.", labels=["shard"])
    faults = CounterMetricFamily("quoth_shard_faults", "What a shard did not answer.", labels=["shard"])
    for shard in shards:
        up.add_metric([shard.name], float(shard.up))
        calls.add_metric([shard.name], shard.calls)
        faults.add_metric([shard.name], shard.faults)
        if shard.quiet_seconds is not None:
            quiet.add_metric([shard.name], shard.quiet_seconds)
    return (up, quiet, calls, faults)


def scrape(
    index: Mapping[str, float],
    *,
    version: str,
    shards: Sequence[ShardState] = (),
    corpora: Mapping[str, Mapping[str, float]] = MappingProxyType({}),
) -> bytes:
    """Return all metrics in the format of Prometheus. The names in `index` lack their prefix `quoth_index_`.

    Where there are several `corpora`, each has such values of its own, and `ready`.
    """
    counted = REGISTRY
    if folder := os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        _forget_dead_processes(Path(folder))
        counted = CollectorRegistry()
        MultiProcessCollector(counted)  # type: ignore[no-untyped-call]
    current = CollectorRegistry()
    current.register(_Current(index, version, shards, corpora))
    return generate_latest(counted) + generate_latest(current)


def _forget_dead_processes(folder: Path) -> None:
    """Remove the gauges of killed processes, which would count for ever. Their counters stay."""
    for file in folder.glob("gauge_live*.db"):
        pid = file.stem.rpartition("_")[2]
        try:
            os.kill(int(pid), 0)
        except ProcessLookupError:
            mark_process_dead(pid)  # type: ignore[no-untyped-call]
        except (ValueError, PermissionError):
            pass  # a file of somebody else, or a process of another user, which is alive


class Traces:
    """Sends a span for each request, and one below it for each stage; without a provider it does nothing."""

    def __init__(self, provider: TracerProvider | None) -> None:
        self._provider = provider
        self._tracer = None if provider is None else provider.get_tracer("quoth")

    @contextmanager
    def request(self, headers: Mapping[str, str]) -> Iterator[Any]:
        """Open and yield a span below the span that the headers name; yield None without a provider."""
        if self._tracer is None:
            yield None
            return
        from opentelemetry.trace import SpanKind
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        parent = TraceContextTextMapPropagator().extract(dict(headers))
        with self._tracer.start_as_current_span("request", context=parent, kind=SpanKind.SERVER) as span:
            yield span

    def add(self, name: str, began: int, ended: int) -> None:
        """Add a span below the current one; the times are in nanoseconds since 1970."""
        if self._tracer is not None:
            self._tracer.start_span(name, start_time=began).end(ended)

    def close(self) -> None:
        if self._provider is not None:
            self._provider.shutdown()


def open_traces(*, on: bool) -> Traces:
    """Return traces that go over OTLP to the address in the `OTEL_*` variables; if not `on`, traces that do nothing."""
    if not on:
        return Traces(None)
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import SERVICE_NAME, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise MissingExtra("sending traces", "otel") from error
    provider = TracerProvider(resource=Resource.create({SERVICE_NAME: "quoth"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return Traces(provider)
