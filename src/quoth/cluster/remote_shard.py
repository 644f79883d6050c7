"""A shard in another process: the calls to it, the cache of its replies, and a record of whether it answers."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, cast

from quoth.errors import IndexFault, ShardLost
from quoth.language.stems import word_languages
from quoth.protocols import Neighbours, Reader
from quoth.stores.embedded.visible_documents import narrowed
from quoth.stores.query_terms import Variant, variants
from quoth.stores.sharded import bm25
from quoth.stores.sharded.cluster_manifest import ClusterManifest, ShardEntry
from quoth.stores.sharded.shard_protocol import (
    FetchedSentences,
    ShardAccess,
    ShardChoice,
    ShardHits,
    ShardQuery,
    WordCounts,
    shard_name,
)
from quoth.stores.sharded.visible_reader import ShardView
from quoth.types import (
    Access,
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
    Span,
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
SLOW = frozenset({"info", "words"})
"""Calls that open a shard for a router."""
_log = logging.getLogger(__name__)


class Transport(Protocol):
    """Carries a call to the host of shard `number`, which counts from 0; see `shard_host.ShardHost.call`.

    Raises `ShardLost` if no reply comes in time or the host is gone, and `IndexFault` if it refuses. Methods in `SLOW`
    may take as long as opening the shard takes, every other one no longer than a question can wait.
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


@dataclass
class ShardHealth:
    """Whether a shard answers. A lost shard is left out until a check succeeds. Threads may share it."""

    name: str
    calls: int = 0
    faults: int = 0
    answered_at: float | None = None
    lost_at: float | None = None
    returned_at: float = 0.0
    losses: int = 0
    """Since it last answered for a while."""
    why: str = ""
    """Why it is lost; empty if it is not."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answered(self) -> None:
        """Note a reply to a call. A lost shard stays lost: the call may have started before the loss."""
        with self._lock:
            self.calls += 1
            self.answered_at = time.monotonic()
            if self.lost_at is None and self.answered_at - self.returned_at > _LONGEST_SECONDS:
                self.losses = 0

    def lost(self, why: str) -> ShardLost:
        """Note a failed call, and leave the shard out from now on; return the error to raise."""
        with self._lock:
            first = self.lost_at is None
            self.calls += 1
            self.faults += 1
            self.lost_at, self.why = time.monotonic(), why
            self.losses += first
        if first:
            _log.warning("%s does not answer, and is left out: %s", self.name, why)
        return ShardLost(self.name, why)

    def back(self) -> None:
        """Note a successful check: the shard takes part again."""
        with self._lock:
            returned = self.lost_at is not None
            self.answered_at = time.monotonic()
            self.lost_at, self.why = None, ""
            if returned:
                self.returned_at = self.answered_at
        if returned:
            _log.warning("%s answers again", self.name)

    def due(self) -> bool:
        """Return whether the shard should be checked now."""
        now = time.monotonic()
        with self._lock:
            if self.lost_at is None:
                return self.answered_at is not None and now - self.answered_at > _QUIET_SECONDS
            patience: float = _FIRST_SECONDS * 2 ** min(10, self.losses - 1)
            return now - self.lost_at > min(_LONGEST_SECONDS, patience)

    def state(self) -> ShardState:
        now = time.monotonic()
        with self._lock:
            quiet = None if self.answered_at is None else now - self.answered_at
            return ShardState(self.name, self.lost_at is None, self.calls, self.faults, quiet, self.why)


class RemoteShard:
    """Implements `shard_protocol.Shard` with calls. Threads may share it while its generation is served."""

    def __init__(self, number: int, cluster: ClusterManifest, *, transport: Transport, cache: ReplyCache) -> None:
        self.entry = cluster.shards[number]
        self.health = ShardHealth(shard_name(number, len(cluster.shards)))
        self.checked = False
        """Whether it was compared with the manifest. If not, it is never put into service."""
        self._number = number
        self._transport = transport
        self._cache = cache
        self.limited: ShardAccess | None = None
        """Limits every call; None asks for everything."""
        self.words: WordCounts | None = None
        """Counts that need no call; None for limited access, which counts what it sees."""
        self.reader: Reader = RemoteReader(self, cluster.info)

    def seen_by(self, access: Access) -> RemoteShard:
        """Return this shard as limited `access` sees it. The host is asked for the labels that are in force now."""
        revision, labels = self.call("labels")
        seen = copy(self)
        seen.words = None
        seen.limited = ShardAccess(narrowed(access, labels), revision)
        seen.reader = RemoteReader(seen, self.reader.info)
        return seen

    def view(self) -> ShardView:
        """Return what a limited shard holds."""
        return cast("ShardView", self.call("view"))

    def held(self, variants: Sequence[Variant]) -> tuple[int, ...]:
        return self.counts((), variants)[1]

    def holding(self, terms: Sequence[Sequence[Variant]]) -> tuple[int, ...]:
        """Also fetch the variants, which the search asks for next: it saves one more call to every shard."""
        return self.counts([tuple(term) for term in terms], bm25.lookups(terms))[0]

    def search(self, query: ShardQuery) -> ShardHits:
        return cast("ShardHits", self.call("search", query))

    def fetch(self, query: ShardQuery, choice: ShardChoice) -> FetchedSentences:
        """Also fetch the neighbours of the sentences and the likely documents, unless these are cached."""
        new = tuple(doc_id for doc_id in choice.likely if self._recalled("document", doc_id) is None)
        found, beside, infos, documents = self.call("fetch", query, replace(choice, likely=new))
        for sentence_id, neighbours in beside.items():
            self.remember("neighbours", sentence_id, neighbours)
        for info in infos:
            self.remember("listed", info.id, (info,))
        for document in documents:
            self.remember("document", document.id, document)
        return cast("FetchedSentences", found)

    def call(self, method: str, *args: object) -> Any:  # noqa: ANN401 - as the method gives
        """Call the shard. A shard that refuses counts as lost: it cannot take part in an answer."""
        if self.limited is not None:
            method, args = "limited", (self.limited, method, args)
        try:
            reply = self._transport(self._number, self.entry, method, args)
        except IndexFault as fault:
            why = fault.why if isinstance(fault, ShardLost) else str(fault)
            raise self.health.lost(why) from fault
        self.health.answered()
        return reply

    def cached(self, kind: str, keys: Sequence[Hashable], fetch: Callable[[list[Any]], Iterable[Any]]) -> list[Any]:
        """Return a value for each key. `fetch` gets those that are not cached, and returns their values in order."""
        values = {key: self._recalled(kind, key) for key in keys}
        if new := [key for key, value in values.items() if value is None]:
            for key, value in zip(new, fetch(new), strict=True):
                values[key] = value
                if value is not None:
                    self.remember(kind, key, value)
        return [values[key] for key in keys]

    def _recalled(self, kind: str, key: Hashable) -> Any:  # noqa: ANN401
        return self._cache.get((kind, self._number, self.limited, key))

    def remember(self, kind: str, key: Hashable, value: object) -> None:
        self._cache.put((kind, self._number, self.limited, key), value, size=_size(value))

    def counts(
        self, terms: Sequence[tuple[Variant, ...]], variants: Sequence[Variant]
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return how many sentences hold each term and each variant. One call asks for all that are not known."""

        def known(variants: Sequence[Variant]) -> int | None:
            return None if self.words is None else self.words.holding(variants)

        def fetch(keys: list[tuple[bool, Any]]) -> list[int]:
            new_terms = [key for is_term, key in keys if is_term]
            by_term, by_variant = self.call("counts", new_terms, [key for is_term, key in keys if not is_term])
            return [*by_term, *by_variant]

        keys: list[tuple[bool, Any]] = [*((True, term) for term in terms), *((False, variant) for variant in variants)]
        counts = {key: count for key in keys if (count := known(key[1] if key[0] else (key[1],))) is not None}
        new = [key for key in dict.fromkeys(keys) if key not in counts]
        counts |= zip(new, self.cached("count", new, fetch), strict=True)
        counted = [counts[key] for key in keys]
        return tuple(counted[: len(terms)]), tuple(counted[len(terms) :])


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
        languages = word_languages(self.info)
        counts = self._shard.holding([variants(term, languages) for term in terms])
        return dict(zip(terms, counts, strict=True))

    def document(self, doc_id: str) -> Document | None:
        return cast("Document | None", self._one("document", doc_id))

    def texts(self, ids: Collection[str]) -> Iterator[tuple[str, bytes]]:
        return iter(self._shard.call("texts", list(ids)))

    def documents(self, ids: Collection[str] | None = None) -> tuple[DocumentInfo, ...]:
        if ids is None:
            return cast("tuple[DocumentInfo, ...]", self._one("documents", None))

        def fetch(new: list[str]) -> list[tuple[DocumentInfo, ...]]:
            by_id = {info.id: (info,) for info in self._shard.call("documents", new)}
            return [by_id.get(doc_id, ()) for doc_id in new]

        listed = self._shard.cached("listed", list(dict.fromkeys(ids)), fetch)
        return tuple(sorted((info for several in listed for info in several), key=lambda info: info.id))

    def sentences(self, doc_id: str, near: Span | None = None) -> Iterator[Sentence]:
        if near is not None:
            return iter(self._shard.call("sentences", doc_id, near))
        sentences, passages = self._shard.call("sections", doc_id)  # whoever reads all of them reads the passages next
        self._shard.remember("passages", doc_id, passages)
        return iter(sentences)

    def passages(self, doc_id: str) -> tuple[Passage, ...]:
        return cast("tuple[Passage, ...]", self._one("passages", doc_id))

    def page(self, doc_id: str, number: int) -> Page | None:
        return cast("Page | None", self._shard.call("page", doc_id, number))

    def neighbours(self, sentences: Sequence[Sentence]) -> list[Neighbours]:
        by_id = {sentence.id: sentence for sentence in sentences}

        def fetch(ids: list[str]) -> list[Neighbours]:
            around, documents = self._shard.call("around", [by_id[sentence_id] for sentence_id in ids])
            for sentence_id, neighbours in around.items():
                self._shard.remember("neighbours", sentence_id, neighbours)
            for document in documents:
                self._shard.remember("document", document.id, document)
            return [around[sentence_id] for sentence_id in ids]

        return self._shard.cached("neighbours", [sentence.id for sentence in sentences], fetch)

    def vectors(self, doc_id: str) -> Vectors:
        return cast("Vectors", self._shard.call("vectors", doc_id))

    def _one(self, method: str, argument: str | None) -> Any:  # noqa: ANN401
        """Return the reply to a call with one argument; a reply of None is not cached."""
        return self._shard.cached(method, [argument], lambda _: [self._shard.call(method, argument)])[0]


def _size(reply: object) -> int:
    """Return roughly how many bytes a reply takes."""
    match reply:
        case tuple():
            return sum(map(_size, reply))
        case Sentence():
            return _SENTENCE + sys.getsizeof(reply.text)
        case Document():
            return _INFO + sys.getsizeof(reply.text)
        case DocumentInfo():
            return _INFO
        case Passage():
            return _PASSAGE
        case _:
            return _COUNT
