"""The documents of one generation that somebody may see, and the statistics of these alone.

What is counted over the visible documents must equal what an index of just these documents counts. Nothing here depends
on a document that is not visible.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import NamedTuple

from quoth.stores.database_rows import RowLimits
from quoth.stores.embedded.dense_index import Positions
from quoth.stores.embedded.lexical_index import LexicalIndex
from quoth.stores.query_terms import Variant
from quoth.stores.write_template import content_digest, counted_languages
from quoth.types import Access, IndexInfo

GENERATION = 1
"""The generation that limited readers give, since the real one counts writes of documents that they do not see."""
_MOST_COUNTS = 20_000


@dataclass(frozen=True, slots=True)
class LabelChanges:
    """Labels that take the place of those in an index, by document id. A later set has a higher revision."""

    revision: int = 0
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


NO_CHANGES = LabelChanges()


class LabelledDocument(NamedTuple):
    """A document as far as its visibility and the description of an index depend on it."""

    row: int
    id: str
    fingerprint: str
    sentences: int
    language: str | None
    access: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class EvidenceCounts:
    """The visible evidence sentences, by their ascending positions, and how many terms they have together.

    `all_terms` is the number of terms of every sentence of the generation, visible or not: tantivy weighs by it.
    """

    positions: Positions
    terms: int
    all_terms: int

    @property
    def sentences(self) -> int:
        return len(self.positions)


CountEvidence = Callable[[frozenset[int]], EvidenceCounts]
"""Counts the evidence sentences of the documents in these rows."""


class VisibleDocuments:
    """The visible ones of `documents`, with what was counted of them in one generation. Threads may share it."""

    def __init__(self, labelled: LabelledDocuments, access: Access) -> None:
        documents = labelled.documents
        self.labelled = labelled
        self.documents = tuple(document for document in documents if access.sees(document.access))
        self.everything = len(self.documents) == len(documents)
        self.rows = frozenset(document.row for document in self.documents)
        self.ids = frozenset(document.id for document in self.documents)
        self.limits = RowLimits(self.rows, ())
        self._held: dict[tuple[Variant, ...], int] = {}
        self._evidence: EvidenceCounts | None = None
        self._lock = threading.Lock()

    def restricted(self, limits: RowLimits) -> RowLimits:
        """Return the part of `limits` that is visible."""
        rows = self.rows if limits.documents is None else self.rows.intersection(limits.documents)
        return RowLimits(rows, limits.tags)

    def held(self, variants: tuple[Variant, ...], lexical: LexicalIndex) -> int:
        """Count the visible sentences that hold every token of any of `variants`."""
        found = self._held.get(variants)
        if found is None:
            if len(self._held) >= _MOST_COUNTS:
                self._held.clear()
            found = self._held[variants] = lexical.counted(variants, self.limits)
        return found

    def evidence(self, count: CountEvidence) -> EvidenceCounts:
        """Return the counts, which `count` makes at the first call."""
        with self._lock:
            if self._evidence is None:
                self._evidence = count(self.rows)
            return self._evidence


_MOST_VIEWS = 64


class LabelledDocuments:
    """Every document of one generation with its labels, and what was asked to see of them. Threads may share it."""

    def __init__(self, key: object, documents: Sequence[LabelledDocument], *, revision: int) -> None:
        self.key = key
        """The generation, and the revision of its labels."""
        self.documents = documents
        self.revision = revision
        self.labels = frozenset(label for document in documents for label in document.access)
        """Every label that a document has."""
        self._views: dict[Access, VisibleDocuments] = {}
        self._lock = threading.Lock()

    def seen_by(self, access: Access) -> VisibleDocuments:
        alike = narrowed(access, self.labels)
        with self._lock:
            found = self._views.pop(alike, None) or VisibleDocuments(self, alike)
            self._views[alike] = found  # the last one was used last
            if len(self._views) > _MOST_VIEWS:
                del self._views[next(iter(self._views))]
            return found


def narrowed(access: Access, labels: frozenset[str]) -> Access:
    """Return limited access without the labels that are not in `labels`.

    Labels that no document has make no difference: many people share what they see.
    """
    return replace(access, labels=labels.intersection(access.labels or ()))


@lru_cache(maxsize=64)
def visible_info(info: IndexInfo, parts: tuple[VisibleDocuments, ...]) -> IndexInfo:
    """Describe an index of the visible documents of `parts` alone; `info` describes the whole one."""
    return described(info, [document for part in parts for document in part.documents])


def described(info: IndexInfo, shown: Sequence[LabelledDocument]) -> IndexInfo:
    """Describe an index of the documents in `shown` alone; `info` describes the whole one."""
    known = set(info.languages)  # an index of an earlier version records none, and analyses all documents as English
    languages = counted_languages(Counter(document.language for document in shown))
    return replace(
        info,
        generation=GENERATION,
        digest=content_digest(
            info.format,
            info.model,
            profile=(info.profile_name, info.profile_source),
            documents=[(document.id, document.fingerprint) for document in shown],
        ),
        documents=len(shown),
        sentences=sum(document.sentences for document in shown),
        language_counts=tuple(counted for counted in languages if counted[0] in known),
    )
