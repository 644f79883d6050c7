"""Open shards on the first call for them, answer calls from other processes, and keep them open for the next."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from quoth.errors import IndexDamaged, IndexMismatch, LabelsUnsupported, NoIndex, QuothError
from quoth.protocols import Neighbours
from quoth.settings import StoreSettings
from quoth.stores.disk_faults import reading
from quoth.stores.embedded import EmbeddedStore
from quoth.stores.embedded.embedded_reader import EmbeddedReader
from quoth.stores.embedded.generations import Layout
from quoth.stores.locations import open_location
from quoth.stores.sharded import cluster_manifest as manifest
from quoth.stores.sharded.cluster_manifest import ShardEntry
from quoth.stores.sharded.local_shard import LocalShard
from quoth.stores.sharded.shard_protocol import FetchedSentences, ShardAccess, ShardChoice, ShardQuery, WordCounts
from quoth.stores.sharded.sharded_store import ShardCopy, fetch_shard
from quoth.stores.sharded.visible_reader import shard_view
from quoth.types import EVERYTHING, Access, Document, DocumentInfo, Sentence
from quoth.wiring import default_cache_dir

Version: TypeAlias = tuple[str, int, str, int]
"""The folder, generation and digest of a shard, and the revision of the labels that were set since it was written."""

_NOBODY = Access(frozenset(), unlabelled=False)
_IDLE_SECONDS = 300.0
"""How long an unused shard stays open after it was replaced: questions may still be running on it."""
_AGAIN_SECONDS = 5.0
"""A damaged shard is opened again after this time at the earliest, and after twice the time that opening it took."""
_BACK, _AHEAD = 2, 3
_MOST_REVISIONS = 8
_SHORT_TEXT = 64 * 2**10
_WITH_NEIGHBOURS = 12
"""How many of the sentences of a shard come with their neighbours. Of four shards, those of nine questions in ten."""
_SMALLEST_PARTITION = 4096
"""The smallest partition of an index, as every store has it by default."""


@dataclass(slots=True)
class _HostedShard:
    """A shard, if it is open. `fault` is why it could not be opened last, and `retry_at` when to try again.

    `entries` are its entries by the revision of their labels, the newest last.
    """

    used: float
    entries: dict[int, ShardEntry] = field(default_factory=dict)
    opened: tuple[EmbeddedStore, ShardCopy] | None = None
    fault: Exception | None = None
    retry_at: float = 0.0
    opening: threading.Lock = field(default_factory=threading.Lock)

    def close(self) -> None:
        if self.opened is not None:
            self.opened[0].close()


def version_of(entry: ShardEntry) -> Version:
    return entry.folder, entry.generation, entry.digest, entry.labels.revision


def _files_of(version: Version) -> tuple[str, int, str]:
    """Return what tells the files of a shard from others: new labels do not open it again."""
    return version[:3]


def layout_of(settings: StoreSettings) -> Layout:
    return Layout(settings.faiss_threshold, _SMALLEST_PARTITION)


class ShardHost:
    """Answers calls to the shards of the index at `place`. Threads may share it.

    Shards in object storage are copied to `cache`, by default where this machine keeps such files; `layout` is the
    layout of the whole index.
    """

    def __init__(self, place: str, *, cache: Path | None, layout: Layout) -> None:
        self._place = open_location(place)
        self._cache = cache or default_cache_dir()
        self._layout = layout
        self._lock = threading.Lock()
        self._shards: dict[tuple[str, int, str], _HostedShard] = {}

    def call(self, entry: ShardEntry, method: str, args: Sequence[Any]) -> Any:  # noqa: ANN401 - as the method gives
        """Return what `Shard` or `Reader` would; raise `IndexFault` if the shard does not match its entry.

        The method `limited` carries another one that reads as somebody with limited access. An earlier version does
        not know it, so it refuses where it would ignore an argument.
        """
        access, revision = EVERYTHING, None
        if method == "limited":
            limited, method, args = args
            access, revision = _checked(limited, method)
        elif method == "labels":
            access = _NOBODY  # the labels of all documents are read, and kept
        store, _copy = self._opened(entry)  # the copy lasts as long as this value
        with suppress(NoIndex), store.read_part(access, entry.labels) as reader:
            if (reader.info.generation, reader.info.digest) != (entry.generation, entry.digest):
                raise IndexMismatch(
                    f"the shard {entry.folder} of the index at {self._place.uri} was changed after it was published",
                    hint=manifest.PUBLISH,
                )
            if revision is not None and (reader.visible is None or reader.visible.labelled.revision != revision):
                raise IndexMismatch(
                    f"labels in the shard {entry.folder} of the index at {self._place.uri} were changed meanwhile",
                    hint="Ask again.",
                )
            return _METHODS[method](LocalShard(reader, entry.terms), reader, *args)
        raise IndexDamaged(
            f"the shard {entry.folder} of the index at {self._place.uri} is missing", hint=manifest.PUBLISH
        )

    def entry(self, version: Version) -> ShardEntry | None:
        """Return the entry of a shard that is open here; None if it is not."""
        with self._lock:
            shard = self._shards.get(_files_of(version))
            return shard.entries.get(version[-1]) if shard is not None and shard.opened is not None else None

    def check(self) -> None:
        """Raise `IndexFault` if shards are open and none of them can be read. Opens nothing."""
        with self._lock:
            stores = [shard.opened[0] for shard in self._shards.values() if shard.opened is not None]
        fault: QuothError | None = None
        for store in stores:
            try:
                with store.read():
                    return
            except QuothError as error:
                fault = error
        if fault is not None:
            raise fault

    def close_idle(self, keep: Collection[ShardEntry]) -> bool:
        """Close the shards that are not in `keep` and were not used for a while; return whether there were any."""
        keep_versions = {_files_of(version_of(entry)) for entry in keep}
        before = time.monotonic() - _IDLE_SECONDS
        with self._lock:
            idle = [
                version
                for version, shard in self._shards.items()
                if version not in keep_versions and shard.used < before and not shard.opening.locked()
            ]
            closing = [self._shards.pop(version) for version in idle]
        for shard in closing:
            shard.close()
        return bool(closing)

    def close(self) -> None:
        with self._lock:
            closing, self._shards = self._shards, {}
        for shard in closing.values():
            shard.close()

    def _opened(self, entry: ShardEntry) -> tuple[EmbeddedStore, ShardCopy]:
        """Return the open shard. One thread opens it, perhaps for minutes, and the others wait; other shards answer."""
        with self._lock:
            began = time.monotonic()
            version = version_of(entry)
            shard = self._shards.setdefault(_files_of(version), _HostedShard(began))
            shard.used = began
            shard.entries[version[-1]] = entry
            if len(shard.entries) > _MOST_REVISIONS:
                del shard.entries[min(shard.entries)]
        fault = shard.fault
        with shard.opening:
            # Comparing all files of a damaged shard again would cost much, and tell nothing.
            if shard.fault is not None and (shard.fault is not fault or time.monotonic() < shard.retry_at):
                raise shard.fault
            if shard.opened is None:
                try:
                    copy = fetch_shard(self._place, entry, cache=self._cache)
                    shard.opened = EmbeddedStore(copy.folder, **asdict(self._layout)), copy
                except Exception as error:
                    now = time.monotonic()
                    again = max(_AGAIN_SECONDS, 2 * (now - began)) if isinstance(error, IndexDamaged) else 0.0
                    shard.fault, shard.retry_at = error, now + again
                    raise
                shard.fault = None
            return shard.opened


def _checked(limited: object, method: str) -> tuple[Access, int]:
    """Return the access and the revision of a limited call; refuse what is no limit."""
    if isinstance(limited, ShardAccess) and limited.access.labels is not None and method in _LIMITED:
        return limited.access, limited.revision
    raise LabelsUnsupported(
        f"a shard does not answer '{method}' for limited access", hint="Run the same version of Quoth on every node."
    )


def _label_state(reader: EmbeddedReader) -> tuple[int, frozenset[str]]:
    """Return the revision of the labels, and every label that a document has."""
    if reader.visible is None:
        raise LabelsUnsupported("the labels of a shard were not read", hint="Please report this.")
    return reader.visible.labelled.revision, reader.visible.labelled.labels


def _around(
    reader: EmbeddedReader, sentences: Sequence[Sentence]
) -> tuple[dict[str, Neighbours], tuple[Document, ...]]:
    """Return the neighbours of each sentence, by its id, and the documents of the sentences that are short.

    A caller that wants the neighbours of a sentence goes on to theirs, so a few before and after it are included.
    """
    found: dict[str, Neighbours] = {}
    for sentence in sentences:
        found[sentence.id] = reader.neighbours([sentence])[0]
        for side, count in ((0, _BACK), (1, _AHEAD)):
            current = found[sentence.id][side]
            for _ in range(count):
                if current is None:
                    break
                found[current.id] = reader.neighbours([current])[0]
                current = found[current.id][side]
    return found, _short_documents(reader, reader.documents({sentence.doc_id for sentence in sentences}))


def _word_counts(shard: LocalShard, most: int) -> WordCounts:
    with reading(shard.reader.location):
        counts = shard.reader.lexical.most_used(most)
    return WordCounts(dict(counts), complete=len(counts) < most)


def _fetched(
    shard: LocalShard, reader: EmbeddedReader, query: ShardQuery, choice: ShardChoice
) -> tuple[FetchedSentences, dict[str, Neighbours], tuple[DocumentInfo, ...], tuple[Document, ...]]:
    """Return the sentences, and what an answer goes on to read: neighbours of the best, and the likely documents."""
    found = shard.fetch(query, choice)
    best = sorted(found.candidates.items, key=lambda item: -(item.dense + item.lexical))[:_WITH_NEIGHBOURS]
    sentences = [item.sentence for item in best]
    beside = dict(zip((sentence.id for sentence in sentences), reader.neighbours(sentences), strict=True))
    infos = reader.documents(choice.likely)
    return found, beside, infos, _short_documents(reader, infos)


def _short_documents(reader: EmbeddedReader, infos: Sequence[DocumentInfo]) -> tuple[Document, ...]:
    found = (reader.document(info.id) for info in infos if info.characters <= _SHORT_TEXT)
    return tuple(document for document in found if document is not None)


_METHODS: Mapping[str, Callable[..., Any]] = {
    "info": lambda _, reader: reader.info,
    "ping": lambda _, reader: None,
    "labels": lambda _, reader: _label_state(reader),
    "view": lambda _, reader: shard_view(reader),
    "words": lambda shard, _, most: _word_counts(shard, most),
    "counts": lambda shard, _, terms, variants: (shard.holding(terms), shard.held(variants)),
    "search": lambda shard, _, query: shard.search(query),
    "fetch": _fetched,
    "document": lambda _, reader, doc_id: reader.document(doc_id),
    "texts": lambda _, reader, ids: list(reader.texts(ids)),
    "documents": lambda _, reader, ids: reader.documents(ids),
    "sentences": lambda _, reader, doc_id, near: tuple(reader.sentences(doc_id, near)),
    "sections": lambda _, reader, doc_id: (tuple(reader.sentences(doc_id)), reader.passages(doc_id)),
    "passages": lambda _, reader, doc_id: reader.passages(doc_id),
    "page": lambda _, reader, doc_id, number: reader.page(doc_id, number),
    "around": lambda _, reader, sentences: _around(reader, sentences),
    "vectors": lambda _, reader, doc_id: reader.vectors(doc_id),
}
"""The calls that other processes may make: a fixed list, never the name of an attribute."""

_LIMITED = _METHODS.keys() - {"info", "ping", "labels", "words"}
"""What somebody with limited access may be answered."""
