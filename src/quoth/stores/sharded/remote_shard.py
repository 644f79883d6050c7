"""A shard behind a call. What it says that stays true for its generation is kept, and not asked again."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, Protocol

from quoth.errors import IndexFault, PartLost
from quoth.protocols import Reader
from quoth.stores.sharded import scoring
from quoth.stores.sharded.kept import Kept, text_size
from quoth.stores.sharded.manifest import ShardEntry
from quoth.stores.sharded.presence import Presence
from quoth.stores.sharded.shard import shard_name
from quoth.stores.sharded.values import Chosen, Scored, ShardHits, ShardQuery, Weights
from quoth.stores.variants import Variant
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
    Vectors,
)

_COUNT, _INFO, _PASSAGE, _SENTENCE = 100, 1_000, 300, 1_000
"""Bytes that such a value takes, about."""


class Transport(Protocol):
    """Carries one call to whoever hosts a shard (`host.ShardHost.call`); `place` counts from 0.

    `PartLost` where no answer comes in time, or whoever should give it is gone; `IndexFault` where it says no. `info`
    may take as long as it takes to open a shard, all others no longer than a question can wait.
    """

    def __call__(self, place: int, entry: ShardEntry, method: str, args: tuple[Any, ...]) -> Any: ...  # noqa: ANN401


class RemoteShard:
    """See `shard.Shard`; its reader is itself a shard's. Threads may share it, for as long as its generation lasts."""

    def __init__(
        self, place: int, entry: ShardEntry, whole: IndexInfo, *, transport: Transport, presence: Presence, kept: Kept
    ) -> None:
        self.entry = entry
        self._place = place
        self._transport = transport
        self._presence = presence
        self._kept = kept
        self._reader = RemoteReader(self, place, whole, kept)

    @property
    def reader(self) -> Reader:
        return self._reader

    def held(self, variants: Sequence[Variant]) -> tuple[int, ...]:
        return self.counts((), variants)[1]

    def search(self, query: ShardQuery) -> ShardHits:
        found: ShardHits = self.ask("search", query)
        return found

    def scores(self, weights: Weights, rows: Sequence[int], *, lots: int) -> tuple[Scored, ...]:
        found: tuple[Scored, ...] = self.ask("scores", weights, rows, lots)
        return found

    def candidates(self, query: ShardQuery, chosen: Sequence[Chosen]) -> Candidates:
        found: Candidates = self.ask("candidates", query, chosen)
        return found

    def ask(self, method: str, *args: object) -> Any:  # noqa: ANN401 - as the method gives
        """One call. A shard that says no is as lost as one that says nothing: it cannot be part of an answer."""
        try:
            given = self._transport(self._place, self.entry, method, args)
        except IndexFault as fault:
            why = fault.why if isinstance(fault, PartLost) else str(fault)
            self._presence.lost(self._place, why)
            raise PartLost(shard_name(self._place, self._presence.shards), why) from fault
        self._presence.answered(self._place)
        return given

    def counts(self, terms: Sequence[str], variants: Sequence[Variant]) -> tuple[dict[str, int], tuple[int, ...]]:
        """How many sentences hold each term, and each variant. Both in one call, and each once in a generation."""
        held = {one: self._kept.get(("term", self._place, one)) for one in terms}
        counted = {one: self._kept.get(("variant", self._place, one)) for one in variants}
        new_terms = [one for one, count in held.items() if count is None]
        new_variants = [one for one, count in counted.items() if count is None]
        if new_terms or new_variants:
            found, numbers = self.ask("counts", new_terms, new_variants)
            held |= found
            counted |= dict(zip(new_variants, numbers, strict=True))
            for one in new_terms:
                self._kept.put(("term", self._place, one), found[one], size=_COUNT)
            for variant in new_variants:
                self._kept.put(("variant", self._place, variant), counted[variant], size=_COUNT)
        return held, tuple(counted[one] for one in variants)


class RemoteReader:
    """See `protocols.Reader`: what concerns the documents of one shard."""

    def __init__(self, shard: RemoteShard, place: int, whole: IndexInfo, kept: Kept) -> None:
        self._shard = shard
        self._place = place
        self._info = whole
        self._kept = kept

    @property
    def info(self) -> IndexInfo:
        return self._info

    @property
    def missing(self) -> tuple[str, ...]:
        return ()

    def may_lack(self, filters: Filters) -> bool:
        return False

    def search(self, query: Query) -> Candidates:
        raise NotImplementedError("a shard alone is not searched")

    def frequencies(self, terms: Sequence[str]) -> dict[str, int]:
        """What will be asked of these words next is counted with them: it would be one more call to every shard."""
        return self._shard.counts(terms, scoring.lookups(scoring.asked([(one,) for one in terms])))[0]

    def document(self, doc_id: str) -> Document | None:
        key = ("document", self._place, doc_id)
        found: Document | None = self._kept.get(key)
        if found is None:
            found = self._shard.ask("document", doc_id)
            self._keep_document(found)
        return found

    def documents(self, ids: Collection[str] | None = None) -> tuple[DocumentInfo, ...]:
        if ids is None:
            return self._all_documents()
        known: dict[str, tuple[DocumentInfo, ...] | None] = {
            one: self._kept.get(("listed", self._place, one)) for one in ids
        }
        if new := [one for one, found in known.items() if found is None]:
            found = {one.id: (one,) for one in self._shard.ask("documents", new)}
            for one in new:
                known[one] = found.get(one, ())
                self._kept.put(("listed", self._place, one), known[one], size=_INFO)
        return tuple(sorted((one for listed in known.values() for one in listed or ()), key=lambda one: one.id))

    def sentences(self, doc_id: str) -> Iterator[Sentence]:
        return iter(self._shard.ask("sentences", doc_id))

    def passages(self, doc_id: str) -> tuple[Passage, ...]:
        found: tuple[Passage, ...] | None = self._kept.get(("passages", self._place, doc_id))
        if found is None:
            found = self._shard.ask("passages", doc_id)
            self._kept.put(("passages", self._place, doc_id), found, size=_PASSAGE * len(found))
        return found

    def page(self, doc_id: str, number: int) -> Page | None:
        found: Page | None = self._shard.ask("page", doc_id, number)
        return found

    def neighbours(self, candidate: Sentence) -> tuple[Sentence | None, Sentence | None]:
        found: tuple[Sentence | None, Sentence | None] | None = self._kept.get(self._beside(candidate))
        if found is None:
            found = self._around([candidate])[0]
        return found

    def expect(self, sentences: Sequence[Sentence]) -> None:
        if new := [one for one in sentences if self._kept.get(self._beside(one)) is None]:
            self._around(new)

    def vectors(self, doc_id: str) -> Vectors:
        found: Vectors = self._shard.ask("vectors", doc_id)
        return found

    def _around(self, sentences: Sequence[Sentence]) -> list[tuple[Sentence | None, Sentence | None]]:
        """The neighbours of each, in one call. What comes with them is kept for whoever asks next."""
        found = []
        for several, document in self._shard.ask("around", sentences):
            found.append(several[0][1])
            for sentence, beside in several:
                size = sum(_SENTENCE + text_size(one.text) for one in beside if one is not None)
                self._kept.put(self._beside(sentence), beside, size=size)
            self._keep_document(document)
        return found

    def _all_documents(self) -> tuple[DocumentInfo, ...]:
        found: tuple[DocumentInfo, ...] | None = self._kept.get(("documents", self._place))
        if found is None:
            found = self._shard.ask("documents", None)
            self._kept.put(("documents", self._place), found, size=_INFO * len(found))
        return found

    def _keep_document(self, document: Document | None) -> None:
        if document is not None:
            key = ("document", self._place, document.id)
            self._kept.put(key, document, size=_INFO + text_size(document.text))

    def _beside(self, sentence: Sentence) -> tuple[str, int, str]:
        return "neighbours", self._place, sentence.id
