"""What the stages ask of their adapters. A stage takes one of these and never imports an implementation."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from quoth.types import (
    Candidate,
    Candidates,
    Document,
    DocumentInfo,
    Filters,
    IndexInfo,
    Judgement,
    Known,
    ModelIdentity,
    Page,
    Passage,
    Probe,
    Query,
    QuestionTokens,
    Sentence,
    ShardState,
    SplitDocument,
    Support,
    Usage,
    Vectors,
)

Progress = Callable[[str, int, int], None]
"""Told (what is being done, how many are done, of how many); a total of 0 means that it is not known."""


class Embedder(Protocol):
    """Texts to unit-length vectors, one row each, in the same order."""

    @property
    def identity(self) -> ModelIdentity: ...

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors: ...

    @property
    def has_tokens(self) -> bool:
        """Whether this model's tokens can be stored and compared."""
        ...

    def embed_tokens(self, texts: Sequence[str], *, progress: Progress | None = None) -> tuple[Vectors, list[bytes]]:
        """The same rows, and beside each the codes of its tokens; empty for a model that has none."""
        ...

    def embed_question(self, text: str) -> tuple[Vectors, QuestionTokens | None]:
        """The question's row, and its tokens ready to be compared with such codes; None for a model without them."""
        ...


class Reranker(Protocol):
    """Score each candidate for the question, absolutely, in the same order."""

    name: str
    needs_tokens: bool
    """Whether it can do nothing without the tokens of the question."""

    def score(self, probe: Probe, candidates: Sequence[Candidate]) -> list[Support]: ...


class Judge(Protocol):
    """A model that reads passages and says how far each answers the question; `ProviderFault` when it cannot."""

    name: str

    @property
    def most(self) -> int:
        """How many passages it takes at once."""
        ...

    def judge(self, question: str, passages: Sequence[tuple[str, str]]) -> tuple[list[Judgement], Usage]:
        """One judgement for each (id, text), in the same order."""
        ...


class TokenCounter(Protocol):
    """Counts tokens as a model would."""

    name: str

    def count(self, text: str) -> int: ...


class Cache(Protocol):
    """Bytes by key, for a while. Losing an entry costs time and nothing else, so it never raises."""

    def get(self, key: str) -> bytes | None: ...

    def put(self, key: str, value: bytes, *, seconds: float) -> None: ...


class Reader(Protocol):
    """One generation of an index: nothing read through it changes while it is open."""

    @property
    def info(self) -> IndexInfo: ...

    @property
    def missing(self) -> tuple[str, ...]:
        """The parts of the index that cannot be asked now, such as `shard 3 of 8`; nothing that is read is of them.

        What concerns one of their documents is a `PartMissing`; lists and counts are of the other parts.
        """
        ...

    def may_lack(self, filters: Filters) -> bool:
        """Whether sentences within these filters may be in a part that is missing."""
        ...

    def search(self, query: Query) -> Candidates: ...

    def frequencies(self, terms: Sequence[str]) -> dict[str, int]:
        """How many sentences hold each term, folded and stemmed as in search; a term of several words needs all."""
        ...

    def document(self, doc_id: str) -> Document | None: ...

    def documents(self, ids: Collection[str] | None = None) -> tuple[DocumentInfo, ...]:
        """Every document, or those of `ids` that exist, ordered by id."""
        ...

    def sentences(self, doc_id: str) -> Iterator[Sentence]:
        """Every sentence of a document in reading order, headings included."""
        ...

    def passages(self, doc_id: str) -> tuple[Passage, ...]:
        """Every passage of a document in reading order."""
        ...

    def page(self, doc_id: str, number: int) -> Page | None:
        """A page of a document, each box within 0.05 points of what was stored; None for one that it has not."""
        ...

    def neighbours(self, candidate: Sentence) -> tuple[Sentence | None, Sentence | None]:
        """The sentence before and the one after, in the same document."""
        ...

    def expect(self, sentences: Sequence[Sentence]) -> None:
        """Told whose neighbours and documents will be asked for next: what is far away can then be fetched at once."""
        ...

    def vectors(self, doc_id: str) -> Vectors:
        """One row for each sentence of the document that can be evidence, in reading order."""
        ...


class Store(Protocol):
    """Where an index lives. Readers see the whole old or the whole new generation, never a mixture."""

    kind: str
    """Its technique in a word, such as `embedded`; scores of two kinds are not the same."""

    @property
    def place(self) -> str:
        """Where it is, for people: a folder, or an address without its password."""
        ...

    def size(self) -> int:
        """Bytes that the index takes where it is kept."""
        ...

    def published(self) -> float | None:
        """When the current generation was published, in seconds since 1970; None where there is none."""
        ...

    def read(self) -> AbstractContextManager[Reader]:
        """Open the current generation; `NoIndex` when there is none. Threads may each hold a reader at once."""
        ...

    def close(self) -> None:
        """Let go of files, connections and memory. The store can be used again."""
        ...

    def known(self) -> Mapping[str, Known]:
        """What is known of every stored document, by id; empty when there is no index yet."""
        ...

    def write(
        self,
        put: Iterable[SplitDocument],
        *,
        remove: Collection[str],
        embedder: Embedder,
        profile: tuple[str, str],
        progress: Progress | None,
    ) -> IndexInfo:
        """Add or replace documents, remove others, and publish it all as one new generation.

        A document of which only the root changed is told its new one, and that alone makes no new generation.
        Vectors are kept as soon as they are made, so that an interrupted write does not embed again. `profile` is
        its name and YAML. A store takes one writer at a time, or one for each document: another gets `IndexBusy`.
        """
        ...


class RemoteShards(Store, Protocol):
    """A store whose shards are elsewhere, and may not answer."""

    @property
    def trouble(self) -> str:
        """Why what is published may not be what is in service, for operators; empty where it is."""
        ...

    def states(self) -> tuple[ShardState, ...]:
        """How each shard does; nothing before the first question."""
        ...
