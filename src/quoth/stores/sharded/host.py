"""Shards that are asked from elsewhere: opened when the first question comes, and kept open for the next."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from quoth.errors import IndexDamaged, IndexMismatch, NoIndex
from quoth.stores.embedded import EmbeddedStore
from quoth.stores.embedded.reader import EmbeddedReader
from quoth.stores.embedded.shards import Layout
from quoth.stores.places import open_place
from quoth.stores.sharded import manifest
from quoth.stores.sharded.fetched import Fetched, fetched
from quoth.stores.sharded.local import LocalShard
from quoth.stores.sharded.manifest import ShardEntry
from quoth.stores.variants import Variant
from quoth.types import Document, Sentence

Around: TypeAlias = tuple[tuple[tuple[Sentence, tuple[Sentence | None, Sentence | None]], ...], Document | None]
"""Sentences that follow each other, each with its neighbours, and their document where that is short."""

_KEPT = 2
_IDLE_SECONDS = 300.0
"""How long a shard that nobody asks stays open beside the last ones: questions may be under way in it."""
_BACK, _AHEAD = 2, 3
_SHORT_TEXT = 64 * 2**10


@dataclass(frozen=True, slots=True)
class _Open:
    fetched: Fetched
    store: EmbeddedStore


class ShardHost:
    """Answers what is asked of the shards of one place. Threads may share it.

    `cache` is where shards in object storage are copied to; `layout` is that of the whole index.
    """

    def __init__(self, place: str, *, cache: Path, layout: Layout) -> None:
        self._place = open_place(place)
        self._cache = cache
        self._layout = layout
        self._lock = threading.Lock()
        self._shards: OrderedDict[tuple[str, int, str], Future[_Open]] = OrderedDict()
        self._used: dict[tuple[str, int, str], float] = {}

    def call(self, entry: ShardEntry, method: str, args: Sequence[Any]) -> Any:  # noqa: ANN401 - as the method gives
        """What `Shard` or `Reader` would give; `IndexFault` where the shard is not what its entry says."""
        opened = self._opened(entry)
        with suppress(NoIndex), opened.store.read() as reader:
            if (reader.info.generation, reader.info.digest) != (entry.generation, entry.digest):
                raise IndexMismatch(
                    f"the shard {entry.folder} of the index at {self._place.uri} was changed after it was published",
                    hint=manifest.PUBLISH,
                )
            return _METHODS[method](LocalShard(reader, opened.fetched.folder, terms=entry.terms), reader, *args)
        raise IndexDamaged(
            f"the shard {entry.folder} of the index at {self._place.uri} is missing", hint=manifest.PUBLISH
        )

    def close(self) -> None:
        with self._lock:
            doomed = list(self._shards.values())
            self._shards.clear()
            self._used.clear()
        for one in doomed:
            _close(one)

    def _opened(self, entry: ShardEntry) -> _Open:
        """One thread opens it, and the others wait: to fetch it can take minutes, in which other shards answer."""
        key = _key(entry)
        with self._lock:
            found = self._shards.get(key)
            opening = found or self._shards.setdefault(key, Future())
            self._shards.move_to_end(key)
            self._used[key] = time.monotonic()
        if found is None:
            try:
                opening.set_result(self._open(entry))
            except BaseException as error:
                with self._lock:
                    self._shards.pop(key, None)  # the next one tries anew
                    self._used.pop(key, None)
                opening.set_exception(error)
                raise
            self._let_go()
        return opening.result()

    def _open(self, entry: ShardEntry) -> _Open:
        copy = fetched(self._place, entry, cache=self._cache)
        return _Open(
            copy,
            EmbeddedStore(
                copy.folder,
                faiss_threshold=self._layout.faiss_threshold,
                smallest_shard=self._layout.smallest_shard,
            ),
        )

    def _let_go(self) -> None:
        """Of shards that were replaced; the last ones always stay."""
        doomed = []
        with self._lock:
            before = time.monotonic() - _IDLE_SECONDS
            for key in list(self._shards)[:-_KEPT]:
                if self._used[key] < before:
                    doomed.append(self._shards.pop(key))
                    del self._used[key]
        for one in doomed:
            _close(one)


def _close(one: Future[_Open]) -> None:
    if one.done() and one.exception() is None:
        one.result().store.close()


def _key(entry: ShardEntry) -> tuple[str, int, str]:
    return entry.folder, entry.generation, entry.digest


def _around_each(reader: EmbeddedReader, sentences: Sequence[Sentence]) -> tuple[Around, ...]:
    """Each document once, however many of its sentences are asked about."""
    found: list[Around] = []
    seen: set[str] = set()
    for sentence in sentences:
        beside, document = _around(reader, sentence, with_document=sentence.doc_id not in seen)
        found.append((beside, document))
        seen.add(sentence.doc_id)
    return tuple(found)


def _around(reader: EmbeddedReader, sentence: Sentence, *, with_document: bool) -> Around:
    """A few sentences before and after: who asks for the neighbours of one goes on to theirs."""
    beside = reader.neighbours(sentence)
    found = [(sentence, beside)]
    for side, count in ((0, _BACK), (1, _AHEAD)):
        at = beside[side]
        for _ in range(count):
            if at is None:
                break
            found.append((at, reader.neighbours(at)))
            at = found[-1][1][side]
    about = reader.documents([sentence.doc_id]) if with_document else ()
    short = bool(about) and about[0].characters <= _SHORT_TEXT
    return tuple(found), reader.document(sentence.doc_id) if short else None


def _counts(
    shard: LocalShard, reader: EmbeddedReader, terms: Sequence[str], variants: Sequence[Variant]
) -> tuple[dict[str, int], tuple[int, ...]]:
    return reader.frequencies(terms), shard.held(variants)


_Method: TypeAlias = Callable[..., Any]
_METHODS: Mapping[str, _Method] = {
    "info": lambda _, reader: reader.info,
    "ping": lambda _, reader: None,
    "counts": _counts,
    "search": lambda shard, _, query: shard.search(query),
    "scores": lambda shard, _, weights, rows, lots: shard.scores(weights, rows, lots=lots),
    "candidates": lambda shard, _, query, chosen: shard.candidates(query, chosen),
    "document": lambda _, reader, doc_id: reader.document(doc_id),
    "documents": lambda _, reader, ids: reader.documents(ids),
    "sentences": lambda _, reader, doc_id: tuple(reader.sentences(doc_id)),
    "passages": lambda _, reader, doc_id: reader.passages(doc_id),
    "page": lambda _, reader, doc_id, number: reader.page(doc_id, number),
    "around": lambda _, reader, sentences: _around_each(reader, sentences),
    "vectors": lambda _, reader, doc_id: reader.vectors(doc_id),
}
"""What can be asked from elsewhere: an alphabet of words, and never the name of an attribute."""
