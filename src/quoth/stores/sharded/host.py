"""Shards that are asked from elsewhere: opened when the first question comes, and kept open for the next."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from quoth.errors import IndexDamaged, IndexMismatch, NoIndex, QuothError
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

Version: TypeAlias = tuple[str, int, str]
"""What names a version of a shard: its folder, generation and digest."""

_KEPT = 2
_IDLE_SECONDS = 300.0
"""How long a shard that nobody asks stays open after it was replaced: questions may be under way in it."""
_AGAIN_SECONDS = 5.0
"""After which a shard that is not what was written is opened again: at least, and twice the time that it took."""
_BACK, _AHEAD = 2, 3
_SHORT_TEXT = 64 * 2**10


@dataclass(frozen=True, slots=True)
class _Open:
    fetched: Fetched
    store: EmbeddedStore


def version_of(entry: ShardEntry) -> Version:
    return entry.folder, entry.generation, entry.digest


class ShardHost:
    """Answers what is asked of the shards of one place. Threads may share it.

    `cache` is where shards in object storage are copied to; `layout` is that of the whole index.
    """

    def __init__(self, place: str, *, cache: Path, layout: Layout) -> None:
        self._place = open_place(place)
        self._cache = cache
        self._layout = layout
        self._lock = threading.Lock()
        self._shards: OrderedDict[Version, Future[_Open]] = OrderedDict()
        self._used: dict[Version, float] = {}
        self._refused: dict[Version, tuple[QuothError, float]] = {}

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

    def check(self) -> None:
        """`IndexFault` where shards are open, and none of them can be read. Nothing is opened for it."""
        with self._lock:
            opened = [one.result() for one in self._shards.values() if one.done() and one.exception() is None]
        fault: QuothError | None = None
        for one in reversed(opened):
            try:
                with one.store.read():
                    return
            except QuothError as error:
                fault = fault or error
        if fault is not None:
            raise fault

    def let_go(self, keep: Collection[ShardEntry]) -> bool:
        """Close the shards that are not among these and that nobody has asked for a while; whether there were any."""
        return self._end({version_of(entry) for entry in keep})

    def close(self) -> None:
        with self._lock:
            doomed = list(self._shards.values())
            self._shards.clear()
            self._used.clear()
            self._refused.clear()
        for one in doomed:
            _close(one)

    def _opened(self, entry: ShardEntry) -> _Open:
        """One thread opens it, and the others wait: to fetch it can take minutes, in which other shards answer."""
        key = version_of(entry)
        with self._lock:
            refused = self._refused.get(key)
            if refused is not None and time.monotonic() < refused[1]:
                raise IndexDamaged(
                    str(refused[0]), hint=refused[0].hint
                )  # to compare all its files again would cost much, and tell nothing
            found = self._shards.get(key)
            opening = found or self._shards.setdefault(key, Future())
            self._shards.move_to_end(key)
            self._used[key] = time.monotonic()
        if found is None:
            began = time.monotonic()
            try:
                opening.set_result(self._open(entry))
            except BaseException as error:
                with self._lock:
                    self._shards.pop(key, None)  # the next one tries anew
                    self._used.pop(key, None)
                    if isinstance(error, IndexDamaged):
                        now = time.monotonic()
                        self._refused = {one: kept for one, kept in self._refused.items() if kept[1] > now}
                        self._refused[key] = error, now + max(_AGAIN_SECONDS, 2 * (now - began))
                opening.set_exception(error)
                raise
            with self._lock:
                last = set(list(self._shards)[-_KEPT:])
            self._end(last)
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

    def _end(self, keep: Collection[Version]) -> bool:
        """Of shards that were replaced."""
        with self._lock:
            before = time.monotonic() - _IDLE_SECONDS
            old = [key for key, one in self._shards.items() if one.done() and self._used[key] < before]
            doomed = [self._shards.pop(key) for key in old if key not in keep]
            self._used = {key: used for key, used in self._used.items() if key in self._shards}
        for one in doomed:
            _close(one)
        return bool(doomed)


def _close(one: Future[_Open]) -> None:
    if one.done() and one.exception() is None:
        one.result().store.close()


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
