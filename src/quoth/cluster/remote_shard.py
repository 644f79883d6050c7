"""A shard in another process: the calls to it, the cache of its replies, and a record of whether it answers."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

from quoth.errors import IndexFault, ShardLost
from quoth.protocols import Neighbours, Reader
from quoth.stores.query_terms import Variant, asked
from quoth.stores.sharded import bm25
from quoth.stores.sharded.cluster_manifest import ShardEntry
from quoth.stores.sharded.shard_protocol import (
    ChosenSentence,
    QueryWeights,
    ScoredHit,
    ShardHits,
    ShardQuery,
    shard_name,
)
from quoth.types import (
    Candidates,
    Document,
    DocumentInfo,
    Filters,
    IndexInfo,
    Page,
    Passage,
    Query,
    Sentence,
    ShardState,
    Vectors,
)

_COUNT, _INFO, _PASSAGE, _SENTENCE = 100, 1_000, 300, 1_000
"""Bytes that such a value takes in the cache, roughly."""
_CACHE_SLOT = 200
"""Bytes that an entry of the cache takes besides its value."""
_FIRST_SECONDS, _LONGEST_SECONDS = 0.5, 10.0
"""How long a lost shard is left alone before the next check: longer each time, so that questions rarely wait for it."""
_QUIET_SECONDS = 5.0
"""A shard without calls for so long is checked."""
_log = logging.getLogger(__name__)


class Transport(Protocol):
    """Carries a call to the host of shard `number`, which counts from 0; see `shard_host.ShardHost.call`.

    Raises `ShardLost` if no reply comes in time or the host is gone, and `IndexFault` if it refuses. `info` may take as
    long as opening the shard takes, every other method no longer than a question can wait.
    """

    def __call__(self, number: int, entry: ShardEntry, method: str, args: tuple[Any, ...]) -> Any: ...  # noqa: ANN401


class ReplyCache:
    """Replies of a generation, up to `max_bytes`; drops the least recently used. Threads may share it."""

    def __init__(self, max_bytes: int) -> None:
        self._max = max_bytes
        self._lock = threading.Lock()
        self._values: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._bytes = 0

    def get(self, key: Hashable) -> Any:  # noqa: ANN401 - the caller knows what it put there
        """Return the value, or None."""
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key][0]

    def put(self, key: Hashable, value: object, *, size: int) -> None:
        """Store a value of about `size` bytes, unless it would take a quarter of the cache or more."""
        weight = size + _CACHE_SLOT
        if 4 * weight >= self._max:
            return
        with self._lock:
            self._bytes += weight - self._values.pop(key, (None, 0))[1]
            self._values[key] = value, weight
            while self._bytes > self._max:
                self._bytes -= self._values.popitem(last=False)[1][1]


@dataclass(slots=True)
class _ShardRecord:
    calls: int = 0
    faults: int = 0
    answered: float | None = None
    lost_at: float | None = None
    returned: float = 0.0
    losses: int = 0
    """Since it last answered for a while."""
    why: str = ""

    def is_due(self, now: float) -> bool:
        if self.lost_at is None:
            return self.answered is not None and now - self.answered > _QUIET_SECONDS
        patience: float = _FIRST_SECONDS * 2 ** min(10, self.losses - 1)
        return now - self.lost_at > min(_LONGEST_SECONDS, patience)


class ShardHealth:
    """Which shards of a generation answer, by number. A lost one is left out until a check succeeds.

    Threads may share it.
    """

    def __init__(self, shards: int) -> None:
        self._names = [shard_name(number, shards) for number in range(shards)]
        self._lock = threading.Lock()
        self._records = [_ShardRecord() for _ in range(shards)]

    def missing(self) -> Mapping[int, str]:
        """Return the numbers of the shards that do not answer, and why."""
        with self._lock:
            return {number: record.why for number, record in enumerate(self._records) if record.lost_at is not None}

    def answered(self, number: int) -> None:
        """Note a reply to a call. A lost shard stays lost: the call may have started before the loss."""
        with self._lock:
            record = self._records[number]
            record.calls += 1
            record.answered = time.monotonic()
            if record.lost_at is None and record.answered - record.returned > _LONGEST_SECONDS:
                record.losses = 0

    def lost(self, number: int, why: str) -> ShardLost:
        """Note a failed call, and leave the shard out from now on; return the error to raise."""
        with self._lock:
            record = self._records[number]
            first = record.lost_at is None
            record.calls += 1
            record.faults += 1
            record.lost_at, record.why = time.monotonic(), why
            record.losses += first
        if first:
            _log.warning("%s does not answer, and is left out: %s", self._names[number], why)
        return ShardLost(self._names[number], why)

    def back(self, number: int) -> None:
        """Note a successful check: the shard takes part again."""
        with self._lock:
            record = self._records[number]
            returned = record.lost_at is not None
            record.answered = time.monotonic()
            record.lost_at, record.why = None, ""
            if returned:
                record.returned = record.answered
        if returned:
            _log.warning("%s answers again", self._names[number])

    def due(self) -> list[int]:
        """Return the numbers of the shards that should be checked now."""
        now = time.monotonic()
        with self._lock:
            return [number for number, record in enumerate(self._records) if record.is_due(now)]

    def states(self) -> tuple[ShardState, ...]:
        now = time.monotonic()
        with self._lock:
            return tuple(
                ShardState(
                    name,
                    record.lost_at is None,
                    record.calls,
                    record.faults,
                    None if record.answered is None else now - record.answered,
                    record.why,
                )
                for name, record in zip(self._names, self._records, strict=True)
            )


class RemoteShard:
    """Implements `shard_protocol.Shard` with calls. Threads may share it while its generation is served."""

    def __init__(
        self,
        number: int,
        entry: ShardEntry,
        whole: IndexInfo,
        *,
        transport: Transport,
        health: ShardHealth,
        cache: ReplyCache,
    ) -> None:
        self.entry = entry
        self._number = number
        self._transport = transport
        self._health = health
        self._cache = cache
        self.reader: Reader = RemoteReader(self, whole)

    def held(self, variants: Sequence[Variant]) -> tuple[int, ...]:
        return self.counts((), variants)[1]

    def search(self, query: ShardQuery) -> ShardHits:
        return cast("ShardHits", self.call("search", query))

    def scores(self, weights: QueryWeights, rows: Sequence[int], *, partitions: int) -> tuple[ScoredHit, ...]:
        return cast("tuple[ScoredHit, ...]", self.call("scores", weights, rows, partitions))

    def candidates(self, query: ShardQuery, chosen: Sequence[ChosenSentence]) -> Candidates:
        return cast("Candidates", self.call("candidates", query, chosen))

    def call(self, method: str, *args: object) -> Any:  # noqa: ANN401 - as the method gives
        """Call the shard. A shard that refuses counts as lost: it cannot take part in an answer."""
        try:
            reply = self._transport(self._number, self.entry, method, args)
        except IndexFault as fault:
            why = fault.why if isinstance(fault, ShardLost) else str(fault)
            raise self._health.lost(self._number, why) from fault
        self._health.answered(self._number)
        return reply

    def cached(
        self,
        kind: str,
        keys: Sequence[Hashable],
        fetch: Callable[[list[Any]], Iterable[Any]],
        *,
        size: Callable[[Any], int],
    ) -> list[Any]:
        """Return a value for each key. `fetch` gets those that are not cached, and returns their values in order."""
        values = {key: self._cache.get((kind, self._number, key)) for key in keys}
        if new := [key for key, value in values.items() if value is None]:
            for key, value in zip(new, fetch(new), strict=True):
                values[key] = value
                if value is not None:
                    self.remember(kind, key, value, size=size(value))
        return [values[key] for key in keys]

    def remember(self, kind: str, key: Hashable, value: object, *, size: int) -> None:
        self._cache.put((kind, self._number, key), value, size=size)

    def counts(self, terms: Sequence[str], variants: Sequence[Variant]) -> tuple[dict[str, int], tuple[int, ...]]:
        """Return how many sentences hold each term and each variant. One call asks for all that are not cached."""

        def fetch(keys: list[str | Variant]) -> list[int]:
            new_terms = [key for key in keys if isinstance(key, str)]
            by_term, by_variant = self.call("counts", new_terms, [key for key in keys if not isinstance(key, str)])
            return [*(by_term[term] for term in new_terms), *by_variant]

        counted = self.cached("count", [*terms, *variants], fetch, size=lambda _: _COUNT)
        return dict(zip(terms, counted, strict=False)), tuple(counted[len(terms) :])


class RemoteReader:
    """Implements `protocols.Reader` for the documents of one shard."""

    missing: tuple[str, ...] = ()

    def __init__(self, shard: RemoteShard, whole: IndexInfo) -> None:
        self._shard = shard
        self.info = whole

    def may_lack(self, filters: Filters) -> bool:
        return False

    def search(self, query: Query) -> Candidates:
        raise NotImplementedError("a shard alone is not searched")

    def frequencies(self, terms: Sequence[str]) -> dict[str, int]:
        """Also fetch the variants, which the search asks for next: it saves one more call to every shard."""
        return self._shard.counts(terms, bm25.lookups(asked([(term,) for term in terms])))[0]

    def document(self, doc_id: str) -> Document | None:
        return cast("Document | None", self._one("document", doc_id, size=_document_size))

    def documents(self, ids: Collection[str] | None = None) -> tuple[DocumentInfo, ...]:
        if ids is None:
            listing = self._one("documents", None, size=lambda infos: _INFO * len(infos))
            return cast("tuple[DocumentInfo, ...]", listing)

        def fetch(new: list[str]) -> list[tuple[DocumentInfo, ...]]:
            by_id = {info.id: (info,) for info in self._shard.call("documents", new)}
            return [by_id.get(doc_id, ()) for doc_id in new]

        listed = self._shard.cached("listed", list(dict.fromkeys(ids)), fetch, size=lambda _: _INFO)
        return tuple(sorted((info for several in listed for info in several), key=lambda info: info.id))

    def sentences(self, doc_id: str) -> Iterator[Sentence]:
        return iter(self._shard.call("sentences", doc_id))

    def passages(self, doc_id: str) -> tuple[Passage, ...]:
        return cast("tuple[Passage, ...]", self._one("passages", doc_id, size=lambda several: _PASSAGE * len(several)))

    def page(self, doc_id: str, number: int) -> Page | None:
        return cast("Page | None", self._shard.call("page", doc_id, number))

    def neighbours(self, sentences: Sequence[Sentence]) -> list[Neighbours]:
        by_id = {sentence.id: sentence for sentence in sentences}

        def fetch(ids: list[str]) -> list[Neighbours]:
            return self._fetch_neighbours([by_id[sentence_id] for sentence_id in ids])

        return self._shard.cached("neighbours", [sentence.id for sentence in sentences], fetch, size=_neighbours_size)

    def vectors(self, doc_id: str) -> Vectors:
        return cast("Vectors", self._shard.call("vectors", doc_id))

    def _one(self, method: str, argument: str | None, *, size: Callable[[Any], int]) -> Any:  # noqa: ANN401
        """Return the reply to a call with one argument; a reply of None is not cached."""
        return self._shard.cached(method, [argument], lambda _: [self._shard.call(method, argument)], size=size)[0]

    def _fetch_neighbours(self, sentences: Sequence[Sentence]) -> list[Neighbours]:
        """Return the neighbours of each sentence with one call to the shard, and cache all that the reply holds."""
        found = []
        for around, document in self._shard.call("around", sentences):
            found.append(around[0][1])
            for sentence, neighbours in around[1:]:
                self._shard.remember("neighbours", sentence.id, neighbours, size=_neighbours_size(neighbours))
            if document is not None:
                self._shard.remember("document", document.id, document, size=_document_size(document))
        return found


def _document_size(document: Document) -> int:
    return _INFO + sys.getsizeof(document.text)


def _neighbours_size(neighbours: Neighbours) -> int:
    return sum(_SENTENCE + sys.getsizeof(neighbour.text) for neighbour in neighbours if neighbour is not None)
