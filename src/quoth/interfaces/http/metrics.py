"""What operators count. With several processes each writes to files of its own, and a scrape adds them up."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.registry import Collector

from quoth.types import ShardState

REGISTRY = CollectorRegistry()
_BUCKETS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
_STAGE_BUCKETS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0, 15.0)
_IN_ALL: Literal["livesum"] = "livesum"  # of the processes that live

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
REFUSED = Counter("quoth_refused", "Requests sent away.", ["why"], registry=REGISTRY)
JOBS = Counter("quoth_jobs", "Jobs that ended.", ["kind", "state"], registry=REGISTRY)
WAITING = Gauge("quoth_requests_waiting", "Requests in the queue.", multiprocess_mode=_IN_ALL, registry=REGISTRY)
RUNNING = Gauge("quoth_requests_running", "Requests in work.", multiprocess_mode=_IN_ALL, registry=REGISTRY)

WHY_REFUSED = ("busy", "rate", "auth", "too-large", "timeout")
# A series that is not there yet has no increase when its first event comes: that one would alarm nobody.
for _why in WHY_REFUSED:
    REFUSED.labels(_why)
for _kind in ("put", "delete"):
    for _state in ("done", "failed"):
        JOBS.labels(_kind, _state)

_OF_THE_INDEX = {
    "quoth_index_age_seconds": "Since the index was published.",
    "quoth_index_documents": "Documents in the index.",
    "quoth_index_sentences": "Sentences in the index.",
    "quoth_index_bytes": "What the index takes where it is kept.",
}

_COUNTERS = (REQUESTS, OUTCOMES, RETRIEVALS, DEGRADED, CACHES, REFUSED, JOBS)
_HISTOGRAMS = (SECONDS, STAGES)


def _names() -> Iterator[str]:
    # What a metric is called before its suffix, its maker keeps to itself; a collection tells.
    for counter in _COUNTERS:
        yield from (f"{family.name}_total" for family in counter.collect())
    for histogram in _HISTOGRAMS:
        for family in histogram.collect():
            yield from (f"{family.name}_{suffix}" for suffix in ("bucket", "count", "sum"))
    yield from ("quoth_requests_waiting", "quoth_requests_running", "quoth_build_info", *_OF_THE_INDEX)


NAMES = frozenset(_names())
"""Every series that a scrape can hold."""


def count_requests(waiting: int, running: int) -> None:
    """Say how many wait and how many are served now."""
    WAITING.set(waiting)
    RUNNING.set(running)


class Stopwatch:
    """Told of each stage of a question when it is over; keeps when it began and ended, for traces too."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._last = time.time_ns()
        self.stages: list[tuple[str, int, int]] = []

    def __call__(self, stage: str) -> None:
        now = time.time_ns()
        self.stages.append((stage, self._last, now))
        STAGES.labels(self._path, stage).observe(max(0, now - self._last) / 1e9)
        self._last = now


_CACHES = {"vector": "vector", "found": "result"}
"""Kinds of keys, and what operators call their cache."""


class CacheCounts:
    """Brings what a cache has counted so far over to the metrics."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, bool], int] = {}
        self._lock = threading.Lock()

    def update(self, counts: Mapping[tuple[str, bool], int]) -> None:
        with self._lock:
            for (kind, hit), count in counts.items():
                more = count - self._seen.get((kind, hit), 0)
                if more > 0:
                    CACHES.labels(_CACHES.get(kind, kind), "hit" if hit else "miss").inc(more)
                    self._seen[kind, hit] = count


class _IndexCollector(Collector):
    def __init__(self, values: Mapping[str, float], version: str) -> None:
        self._values = values
        self._version = version

    def collect(self) -> Iterator[GaugeMetricFamily]:
        for name, value in self._values.items():
            yield GaugeMetricFamily(name, _OF_THE_INDEX[name], value=value)
        info = GaugeMetricFamily("quoth_build_info", "The version that runs.", labels=["version"])
        info.add_metric([self._version], 1)
        yield info


class _ShardCollector(Collector):
    """Of the shards of a cluster, as the process that answers sees them."""

    def __init__(self, shards: Sequence[ShardState]) -> None:
        self._shards = shards

    def collect(self) -> Iterator[Metric]:
        up = GaugeMetricFamily("quoth_shard_up", "Whether a shard answers.", labels=["shard"])
        quiet = GaugeMetricFamily("quoth_shard_quiet_seconds", "Since a shard last answered.", labels=["shard"])
        calls = CounterMetricFamily("quoth_shard_calls", "What a shard was asked.", labels=["shard"])
        faults = CounterMetricFamily("quoth_shard_faults", "What a shard did not answer.", labels=["shard"])
        for one in self._shards:
            up.add_metric([one.name], float(one.up))
            calls.add_metric([one.name], one.calls)
            faults.add_metric([one.name], one.faults)
            if one.quiet_seconds is not None:
                quiet.add_metric([one.name], one.quiet_seconds)
        yield from (up, quiet, calls, faults)


def scrape(index: Mapping[str, float], *, version: str, shards: Sequence[ShardState] = ()) -> bytes:
    """All metrics as Prometheus reads them. `index` has the values of the index, if any, without the prefix."""
    registry = CollectorRegistry()
    if folder := os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        _forget_the_dead(Path(folder))
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    else:
        registry.register(_Known())
    registry.register(_IndexCollector({f"quoth_index_{name}": value for name, value in index.items()}, version))
    if shards:
        registry.register(_ShardCollector(shards))
    return generate_latest(registry)


def _forget_the_dead(folder: Path) -> None:
    """A process that was killed has left its gauges behind, and they would count for ever. Its counters stay true."""
    for file in folder.glob("gauge_live*.db"):
        pid = file.stem.rpartition("_")[2]
        if pid.isdecimal() and not _lives(int(pid)):
            mark_process_dead(pid)  # type: ignore[no-untyped-call]


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


class _Known(Collector):
    """The metrics of this process alone."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        yield from REGISTRY.collect()  # type: ignore[misc]  # families of every kind
