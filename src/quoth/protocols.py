"""The protocols of stores and models. Stages depend on these and never import an implementation."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from quoth.types import (
    EVERYTHING,
    Access,
    Candidate,
    Candidates,
    Document,
    DocumentInfo,
    EncodedQuestion,
    Filters,
    IndexInfo,
    LlmScore,
    ModelIdentity,
    Page,
    Passage,
    Query,
    QuestionTokens,
    Refusals,
    Refused,
    Sentence,
    SentenceInContext,
    ShardState,
    Span,
    SplitDocument,
    StoredDocument,
    Support,
    TokenMark,
    Usage,
    Vectors,
)

Progress = Callable[[str, int, int], None]
"""Called with (description of the work, number done, total); a total of 0 means unknown."""

Neighbours = tuple[Sentence | None, Sentence | None]
"""The sentence before and the sentence after."""


class Embedder(Protocol):
    """Turns texts into unit-length vectors, a row for each text, in the same order."""

    identity: ModelIdentity
    has_tokens: bool
    """Whether this model's tokens can be stored and compared."""

    def embed_tokens(self, texts: Sequence[str], *, progress: Progress | None = None) -> tuple[Vectors, list[bytes]]:
        """Return a row for each text, and the codes of its tokens; empty for a model without tokens."""

    def embed_question(self, text: str) -> tuple[Vectors, QuestionTokens | None]:
        """Return the question's vector, and its tokens to compare with token codes; None without tokens."""


class Reranker(Protocol):
    """Scores each candidate for the question on an absolute scale, in the same order."""

    name: str
    needs_tokens: bool
    """Whether `score` reads the tokens of the question."""

    def score(self, encoded: EncodedQuestion, candidates: Sequence[Candidate]) -> list[Support]: ...


class PairReader(Protocol):
    """A cross-encoder: it reads the question and a sentence together."""

    revision: str
    """Changes with everything that a score depends on."""

    def read(self, question: str, sentences: Sequence[SentenceInContext]) -> list[float]:
        """Return for each sentence, in the same order, a logit that it answers. Depends on nothing else it reads."""

    def mark(self, question: str, sentences: Sequence[SentenceInContext]) -> list[tuple[TokenMark, ...]]:
        """Return for each sentence the tokens of its text, as far as it is read; none if the model marks no words."""


class LlmReranker(Protocol):
    """A language model that scores how well passages answer a question. Raises `ProviderFault` when it fails."""

    name: str
    max_passages: int
    """The largest number of passages in a request."""

    def score(self, question: str, passages: Sequence[tuple[str, str]]) -> tuple[list[LlmScore], Usage]:
        """Return a score for each passage (id, text), in the same order, and what the request used."""


class TokenCounter(Protocol):
    """Counts tokens with the tokenizer of a model."""

    name: str

    def count(self, text: str) -> int: ...


class Reader(Protocol):
    """One generation of an index. Its content does not change while it is open."""

    @property
    def info(self) -> IndexInfo: ...

    @property
    def missing(self) -> tuple[str, ...]:
        """The names of the shards that do not answer now, such as `shard 3 of 8`.

        Reading a document of such a shard raises `ShardMissing`; lists and counts leave its documents out.
        """

    def may_lack(self, filters: Filters) -> bool:
        """Return whether a missing shard may hold sentences that match `filters`."""

    def search(self, query: Query) -> Candidates: ...

    def frequencies(self, terms: Sequence[str]) -> dict[str, int]:
        """Return the number of sentences that hold each term, stemmed as in search, with every word of the term."""

    def document(self, doc_id: str) -> Document | None: ...

    def texts(self, ids: Collection[str]) -> Iterator[tuple[str, bytes]]:
        """Yield id and canonical text, encoded as UTF-8, of each document of `ids` that exists, ordered by id.

        All of them are read at once: ask for no more than fits into memory.
        """

    def documents(self, ids: Collection[str] | None = None) -> tuple[DocumentInfo, ...]:
        """Return every document, or those of `ids` that exist, ordered by id."""

    def sentences(self, doc_id: str, near: Span | None = None) -> Iterator[Sentence]:
        """Yield every sentence of a document in reading order, headings included.

        With `near` only those that begin in it or right behind its end, and the last one before it.
        """

    def passages(self, doc_id: str) -> tuple[Passage, ...]:
        """Return every passage of a document in reading order."""

    def page(self, doc_id: str, number: int) -> Page | None:
        """Return a page of a document, each box within 0.05 points of the original; None when there is no such page."""

    def neighbours(self, sentences: Sequence[Sentence]) -> list[Neighbours]:
        """Return the sentences before and after each sentence in its document; None at the ends of the document.

        A remote shard gets a single request for all its sentences.
        """

    def vectors(self, doc_id: str) -> Vectors:
        """Return a row for each sentence of the document that can be evidence, in reading order."""


class Store(Protocol):
    """The storage of an index. Readers see the whole old or the whole new generation, never a mixture."""

    kind: str
    """The kind of store, such as `embedded`. Scores differ slightly between kinds."""

    @property
    def location(self) -> str:
        """The location as shown to people: a folder, or an address without its password."""

    def size(self) -> int:
        """Return the size of the index in bytes."""

    def published(self) -> float | None:
        """Return when the current generation was published, in seconds since 1970; None when there is none."""

    def read(self, access: Access = EVERYTHING) -> AbstractContextManager[Reader]:
        """Open the current generation. Raise `NoIndex` when there is none. Several threads may read at a time.

        With limited `access` the reader does and says, byte for byte, what it would if the index had never held the
        other documents; its generation is 1, and it lists no labels. Raise `LabelsUnsupported` where a store cannot
        do that.
        """

    def relabel(self, labels: Mapping[str, Collection[str]]) -> None:
        """Replace the labels of documents by id, all or none; it holds from the next `read` on, in every process.

        It is no new generation. A document keeps these labels when it is ingested again, until its files state other
        ones than before. Raise `CorpusError` when there is no such document.
        """

    def close(self) -> None:
        """Release files, connections and memory. The store can be used again."""

    def stored_documents(self) -> Mapping[str, StoredDocument]:
        """Return the record of every document by id, without text; empty when there is no index yet."""

    def refused_files(self) -> tuple[tuple[str, Refused], ...]:
        """Return the root of each file that ingests refused, with why; ordered by path. It is no part of a generation.

        Empty for a store that does not remember them.
        """

    def write(
        self,
        put: Iterable[SplitDocument],
        *,
        remove: Collection[str],
        embedder: Embedder,
        profile: tuple[str, str],
        progress: Progress | None,
        refusals: Refusals | None = None,
        labels: Mapping[str, tuple[str, ...]] | None = None,
    ) -> IndexInfo:
        """Add or replace the documents of `put`, remove others by id, and publish a new generation.

        When only the `root` or the labels of documents change, the generation stays. Vectors are saved as soon as they
        are computed, so that a write that was interrupted does not compute them again. `profile` is a name and its
        YAML. `refusals` is read when all of `put` has been, and so are `labels`, which the files of unchanged documents
        state now, by id: they take the place of those in force. Raise `IndexBusy` when another process is writing.
        """


class RemoteShards(Store, Protocol):
    """A store whose shards run in other processes and may not answer."""

    @property
    def trouble(self) -> str:
        """Why the shards may serve another generation than the published one, for operators; else empty."""

    def states(self) -> tuple[ShardState, ...]:
        """Return the state of each shard; empty before the first question."""


class Statements(Protocol):
    """SQL statements in one transaction of a database; a value stands where `?` does."""

    def execute(self, statement: str, values: Sequence[object] = ()) -> Sequence[tuple[Any, ...]]:
        """Return the rows that the statement gives; none if it gives none."""


class JobDatabase(Protocol):
    """A database with tables of jobs, for processes or machines that share them.

    One beside an index raises `JobsUnavailable`, and no other error of its own, when it cannot be asked.
    """

    def transaction(self, *, alone: bool = False) -> AbstractContextManager[Statements]:
        """All statements of the block take effect, or none. With `alone` no other block with `alone` runs meanwhile."""

    def alone(self) -> AbstractContextManager[bool]:
        """Whether the caller is the one worker of all that share the database, until the block ends.

        Another can be it as soon as this process or its connection ends. From then on no `transaction` of this thread
        succeeds in the block. A process that is only slow or stopped stays the worker.
        """
