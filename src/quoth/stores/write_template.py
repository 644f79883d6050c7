"""One write, in the same steps for every store: stage the documents, embed what is new, publish everything at once.

Staged documents change nothing that readers see. Each chunk of vectors is committed as soon as it is made, so that an
interrupted write does not embed it again. Publishing is one transaction, whose commit names the new generation.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from typing import ClassVar

import numpy as np

from quoth.errors import IndexMismatch, ModelError
from quoth.protocols import Embedder, Progress
from quoth.stores.database_rows import Row, search_text
from quoth.types import IndexInfo, ModelIdentity, Refusals, SplitDocument, StoredDocument, Vectors, primary_language

FORMAT = 3
"""The version of the content. It is the same in every store, so that the digests of two stores agree."""
CHUNK = 4096
"""Texts that are embedded together: enough to sort by length well, few enough to lose little when interrupted."""


@dataclass(eq=False, kw_only=True)
class WriteTemplate(ABC):
    """The state of one write. `run` does it all; a store supplies the steps that touch its tables.

    `old` is the published generation, None if there is none. `elsewhere` says what else to ingest into.
    """

    elsewhere: ClassVar[str]

    old: IndexInfo | None
    embedder: Embedder
    profile: tuple[str, str]
    progress: Progress | None
    model: ModelIdentity = field(init=False)
    staged: set[str] = field(default_factory=set, init=False)
    removed: tuple[str, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        self.model = self.embedder.identity
        self._report = self.progress or (lambda *_: None)

    def run(
        self,
        put: Iterable[SplitDocument],
        remove: Collection[str],
        refusals: Refusals | None = None,
        labels: Mapping[str, tuple[str, ...]] | None = None,
    ) -> IndexInfo:
        with self.staging():
            self._stage_all(put, remove, {} if labels is None else labels)
            if refusals is not None:
                self.remember(refusals)
            if self.old is not None:
                self.refuse_mixture(self.old)
            if self.old is not None and not self.staged and not self.removed and self.is_described_by(self.old):
                return self.old
            self._embed_missing()
            self._report("indexing", 0, 0)  # not inside the transaction: an error of a listener is not the index's
            info = self.publish()
            self._report("indexing", info.sentences, info.sentences)
            return info

    def is_described_by(self, info: IndexInfo) -> bool:
        """Return whether a write without any documents would leave the index as it is."""
        return (info.model, info.profile_name, info.profile_source) == (self.model, *self.profile)

    def refuse_mixture(self, old: IndexInfo) -> None:
        """Raise if a document would keep vectors of another model: a new model must bring every document again."""
        if old.model != self.model and self.keeps_documents():
            hint = f"Ingest into another {self.elsewhere}, or remove this one first."
            if (old.model.name, old.model.dimension) == (self.model.name, self.model.dimension):
                hint = "Ingest all folders of the index in one command, so that every sentence is embedded anew."
            raise IndexMismatch(
                f"{self.index_name} was made with {_described(old.model)}, not {_described(self.model)}", hint=hint
            )

    def describe(self, documents: Collection[tuple[str, str, int, str | None]], *, generation: int) -> IndexInfo:
        """Describe an index of documents: id, fingerprint, number of sentences and language of each, in any order."""
        fingerprints = [(doc_id, fingerprint) for doc_id, fingerprint, _, _ in documents]
        digest = content_digest(FORMAT, self.model, profile=self.profile, documents=fingerprints)
        sentences = sum(sentences for _, _, sentences, _ in documents)
        languages = counted_languages(Counter(language for *_, language in documents))
        return IndexInfo(FORMAT, generation, digest, self.model, *self.profile, len(documents), sentences, languages)

    @property
    @abstractmethod
    def index_name(self) -> str:
        """The index as messages name it."""

    @abstractmethod
    def staging(self) -> AbstractContextManager[None]:
        """Make empty tables for the documents of this write, and remove them at the end."""

    @abstractmethod
    def stored_documents(self) -> Mapping[str, StoredDocument]:
        """Return the published documents by id."""

    @abstractmethod
    def stage(self, split: SplitDocument) -> None:
        """Stage a document; it replaces an earlier version that was staged in this write."""

    @abstractmethod
    def unstage(self, doc_id: str) -> None:
        """Drop a staged document, if there is one of that id."""

    @abstractmethod
    def finish_staging(self, moved: Mapping[str, str]) -> None:
        """Note the removed documents, and store the new root of each moved document, by id."""

    def state_labels(self, labels: Mapping[str, tuple[str, ...]]) -> None:  # noqa: B027 - a store may keep no labels
        """Store the labels that the files of documents state now, by id, in place of those in force."""

    @abstractmethod
    def remember(self, refusals: Refusals) -> None:
        """Store which files were refused, in place of what is stored about the same files and folders."""

    @abstractmethod
    def keeps_documents(self) -> bool:
        """Return whether the index holds documents that this write neither replaces nor removes."""

    @abstractmethod
    def find_missing(self) -> int:
        """List the staged texts without a vector, each once; return how many there are."""

    @abstractmethod
    def missing(self, *, after: int) -> list[Row]:
        """Return up to `CHUNK` of these: row, key, text and text of the lead; ordered by row."""

    @abstractmethod
    def keep(self, keys: Sequence[bytes], vectors: Vectors, tokens: Sequence[bytes]) -> None:
        """Commit new vectors, for this write and for the next one if this one is interrupted."""

    @abstractmethod
    def publish(self) -> IndexInfo:
        """Bring the staged documents into the index, remove others, and publish the new generation."""

    def _stage_all(
        self, put: Iterable[SplitDocument], remove: Collection[str], labels: Mapping[str, tuple[str, ...]]
    ) -> None:
        stored = self.stored_documents()
        other_model = self.old is not None and self.old.model != self.model
        seen = set()
        moved: dict[str, str] = {}
        stated: dict[str, tuple[str, ...]] = {}
        for split in put:
            doc_id = split.document.id
            before = stored.get(doc_id)
            seen.add(doc_id)
            moved.pop(doc_id, None)
            stated.pop(doc_id, None)
            if other_model or before is None or before.fingerprint != split.fingerprint:
                self.stage(split)
                self.staged.add(doc_id)
                continue
            self.unstage(doc_id)  # the last version of a document counts
            self.staged.discard(doc_id)
            if before.root != split.root:
                moved[doc_id] = split.root
            if before.stated_access != split.access:
                stated[doc_id] = split.access
        stated |= {doc_id: own for doc_id, own in labels.items() if doc_id in stored and doc_id not in seen}
        self.removed = tuple(sorted(stored.keys() & set(remove) - seen))
        # Where a document was found is not part of the index's identity: a new root needs no new generation.
        self.finish_staging(moved)
        if stated:
            self.state_labels(stated)

    def _embed_missing(self) -> None:
        total = self.find_missing()
        done = last = 0
        while done < total:
            found = self.missing(after=last)
            texts = [search_text(text, lead) for _, _, text, lead in found]
            vectors, tokens = self._embed(texts, done=done, total=total)
            self.keep([row[1] for row in found], vectors, tokens)
            done += len(found)
            last = found[-1][0]

    def _embed(self, texts: list[str], *, done: int, total: int) -> tuple[Vectors, list[bytes]]:
        vectors, tokens = self.embedder.embed_tokens(
            texts, progress=lambda step, count, _: self._report(step, done + count, total)
        )
        wanted = (len(texts), self.model.dimension)
        if vectors.shape != wanted or not np.isfinite(vectors).all():
            raise ModelError(
                f"{self.model.name} gave vectors of shape {vectors.shape} or not finite, where {wanted} was due",
                hint="Check the model's files; nothing was published.",
            )
        return vectors, tokens


def counted_languages(tags: Mapping[str | None, int]) -> tuple[tuple[str, int], ...]:
    """Return the primary code of each language with its count, the most common one first, from counts of tags."""
    counts: Counter[str] = Counter()
    for tag, count in tags.items():
        if (code := primary_language(tag)) is not None:
            counts[code] += count
    return tuple(sorted(counts.items(), key=lambda counted: (-counted[1], counted[0])))


def _described(model: ModelIdentity) -> str:
    return f"{model.name} ({model.revision}, {model.precision}, {model.dimension} dimensions)"


def content_digest(
    form: int, model: ModelIdentity, *, profile: tuple[str, str], documents: Iterable[tuple[str, str]]
) -> str:
    """Return one digest of format, model, profile and documents: the same for the same content in any store."""
    content = json.dumps([form, asdict(model), *profile, sorted(documents)], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()
