"""Vector search: exact in memory, or codes that propose for many vectors. Each partition has these files:

rows.npy        the row of each evidence sentence: by document id, then in reading order
documents.npy   the document row of each
embeddings.npy  the embedding of each, whose vector is in the database; missing in what an earlier version wrote
tags.npy        pairs of a position in this partition and the id of a tag that the sentence there has
lengths.npy     the number of terms of each; missing in what an earlier version wrote
codes.npy       the codes of the vectors (see vector_codes.py), only where there are many

A position is an offset into these files, counted through all partitions. Codes propose; the vectors decide.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from quoth.errors import IndexMismatch, ModelError
from quoth.machine import available_cores
from quoth.stores.database_rows import RowLimits, unit_vectors
from quoth.stores.embedded import generations
from quoth.stores.embedded.document_tables import DocumentTables
from quoth.stores.embedded.generations import Partition, TagIds, partition_folder, save_numbers
from quoth.stores.embedded.lexical_index import LENGTHS
from quoth.stores.embedded.vector_codes import Codes, CodeScan, encode
from quoth.types import Candidate, Candidates, Sentence, Vectors

_ROWS, _DOCUMENTS, _EMBEDDINGS, _TAGS, _CODES = (
    f"{name}.npy" for name in ("rows", "documents", "embeddings", "tags", "codes")
)
_EARLIER_VECTORS, _EARLIER_FAISS = "vectors.npy", "faiss.index"
"""What an earlier version wrote: the vectors, and an index of them where there are many."""
_BATCH = 4096  # vectors that are read at once
_WORTH_TWO_CORES = 10_000  # vectors: fewer are compared in the time that it takes to wake a thread
_BLOCK = 65_536  # vectors that are compared at once

# Times the asked number, to make up for what two bits lose: of the 50 nearest to real questions among a million, 400
# proposals held 99.8% (200: 98.1%). Where vectors lie so close together that the scores of the first and the last
# hardly differ, more are rescored.
_RESCORED = 8
_RESCORED_AT_MOST = 64

# Groups of cosines, and how many of them there must be for each that is wanted, so that finding the best of each pays.
_GROUP = 64
_WORTH_GROUPS = 4

# Up to this many allowed vectors it is cheaper, and exact, to score them all.
_FEW = 10_000

Positions: TypeAlias = NDArray[np.int64]
"""Offsets into the vectors of a generation, counted through all partitions."""

_log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class PartitionVectors:
    """The loaded files of one partition. `units` are its vectors, where all are held in memory."""

    rows: Positions
    documents: Positions
    embeddings: Positions
    tags: NDArray[np.int64]
    codes: Codes | None
    lengths: NDArray[np.int32] | None
    units: Vectors | None = None


Take: TypeAlias = Callable[[Positions], Vectors]
"""Gives the unit vectors at these positions."""


class ExactSearch:
    """Computes every cosine, which takes milliseconds for up to some hundred thousand vectors."""

    def __init__(self, partitions: Sequence[PartitionVectors], tables: DocumentTables) -> None:
        total = sum(len(partition.rows) for partition in partitions)
        self._matrix: Vectors = np.empty((total, tables.dimension), dtype=np.float32)
        shared = total >= _WORTH_TWO_CORES and available_cores() > 1
        self._second_core = ThreadPoolExecutor(1, thread_name_prefix="cosines") if shared else None
        start = 0
        for partition in partitions:
            part = self._matrix[start : start + len(partition.rows)]
            _fill(part, partition, tables)
            partition.units = part
            start += len(part)

    def take(self, positions: Positions, tables: DocumentTables) -> Vectors:
        return self._matrix[positions]

    def nearest(self, query: Vectors, count: int, allowed: Positions | None, take: Take) -> Positions:
        if allowed is not None and len(allowed) < len(self._matrix) // 16:  # one document, say
            return allowed[near_best(self._matrix[allowed] @ query, count)]
        cosines = self._cosines(query)
        return near_best(cosines, count) if allowed is None else allowed[near_best(cosines[allowed], count)]

    def exactly(self, query: Vectors, count: int, allowed: Positions, take: Take) -> Positions:
        return self.nearest(query, count, allowed, take)

    def _cosines(self, query: Vectors) -> Vectors:
        """Return the cosine of every vector, computed on two cores if both are free."""
        # Not `@`: the threads of the linear algebra library wait for each other, for long on a machine with other work.
        cosines: Vectors = np.empty(len(self._matrix), dtype=np.float32)
        if self._second_core is None:
            np.einsum("ij,j->i", self._matrix, query, out=cosines)
            return cosines
        half = len(self._matrix) // 2
        rest = self._second_core.submit(np.einsum, "ij,j->i", self._matrix[half:], query, out=cosines[half:])
        np.einsum("ij,j->i", self._matrix[:half], query, out=cosines[:half])
        if rest.cancel():  # it has not begun: no core was free
            np.einsum("ij,j->i", self._matrix[half:], query, out=cosines[half:])
        else:
            rest.result()
        return cosines


def near_best(cosines: NDArray[np.float32], count: int) -> Positions:
    """Return the positions of the `count` best, and of all within rounding of the last of these."""
    if len(cosines) <= count:
        return np.arange(len(cosines))
    least = _largest(_among_best(cosines, count), count)
    return np.flatnonzero(cosines >= least - 1e-5)


def _among_best(cosines: NDArray[np.float32], count: int) -> NDArray[np.float32]:
    """Return few cosines that the `count` best are among: those that reach so many of the best of small groups."""
    groups = len(cosines) // _GROUP
    if groups <= _WORTH_GROUPS * count:
        return cosines
    best = cosines[: groups * _GROUP].reshape(groups, _GROUP).max(axis=1)
    return cosines[cosines >= _largest(best, count)]


def _largest(values: NDArray[np.float32], place: int) -> np.float32:
    """Return the value in this place from the top, counted from 1."""
    largest: np.float32 = np.partition(values, len(values) - place)[len(values) - place]
    return largest


class CodeSearch:
    """Finds approximate neighbours by their codes, and rescores them from the stored vectors."""

    def __init__(self, partitions: Sequence[PartitionVectors], tables: DocumentTables) -> None:
        self._embeddings: Positions = np.concatenate([partition.embeddings for partition in partitions])
        self._scan = CodeScan([_codes(partition, tables) for partition in partitions])

    def take(self, positions: Positions, tables: DocumentTables) -> Vectors:
        return unit_vectors(tables.vectors(self._embeddings[positions]))

    def nearest(self, query: Vectors, count: int, allowed: Positions | None, take: Take) -> Positions:
        if allowed is not None and len(allowed) <= _FEW:
            return self.exactly(query, count, allowed, take)
        proposed = self._proposed(query, count, allowed)
        if len(proposed) == 0:  # the codes say nothing of a vector without a length
            return self.exactly(query, count, np.arange(self._scan.total) if allowed is None else allowed, take)
        return np.sort(proposed)

    def _proposed(self, query: Vectors, count: int, allowed: Positions | None) -> Positions:
        wanted = _RESCORED * count
        while True:
            scores, found = self._best(query, wanted, allowed)
            certain = len(found) < wanted or scores[count - 1] - scores[-1] >= self._scan.margin
            if certain or wanted >= _RESCORED_AT_MOST * count:
                return found
            wanted = min(4 * wanted, _RESCORED_AT_MOST * count)

    def _best(self, query: Vectors, wanted: int, allowed: Positions | None) -> tuple[NDArray[np.float32], Positions]:
        """Return scores and positions of the `wanted` best allowed ones, or of all if there are fewer; best first."""
        if allowed is None:
            return self._scan.best(query, wanted)
        inside = np.zeros(self._scan.total, dtype=np.bool_)
        inside[allowed] = True
        asked = least = min(wanted, len(allowed))
        while True:
            asked = min(2 * asked * self._scan.total // len(allowed), self._scan.total)
            scores, found = self._scan.best(query, asked)
            kept = np.flatnonzero(inside[found])[:wanted]
            if len(kept) >= least or asked == self._scan.total:
                return scores[kept], found[kept]

    def exactly(self, query: Vectors, count: int, allowed: Positions, take: Take) -> Positions:
        blocks = (allowed[start : start + _BLOCK] for start in range(0, len(allowed), _BLOCK))
        cosines = np.concatenate([take(block) @ query for block in blocks])
        return allowed[near_best(cosines, count)]


def _fill(part: Vectors, partition: PartitionVectors, tables: DocumentTables) -> None:
    if partition.units is not None:  # another generation has them in memory
        part[:] = partition.units
        return
    for start, stored in _stored(partition.embeddings, tables):
        part[start : start + len(stored)] = unit_vectors(stored)


def _codes(partition: PartitionVectors, tables: DocumentTables) -> Codes:
    return _encoded(partition.embeddings, tables) if partition.codes is None else partition.codes


def _encoded(embeddings: Positions, tables: DocumentTables) -> Codes:
    empty = encode(np.empty((0, tables.dimension), dtype=np.float32))
    return np.concatenate([empty, *(encode(unit_vectors(stored)) for _, stored in _stored(embeddings, tables))])


def _stored(embeddings: Positions, tables: DocumentTables) -> Iterator[tuple[int, NDArray[np.float16]]]:
    """Yield vectors with the number of the first, as many as are read at once."""
    for start in range(0, len(embeddings), _BATCH):
        yield start, tables.vectors(embeddings[start : start + _BATCH])


def build(tables: DocumentTables, partition: Partition, folder: Path, *, tag_ids: TagIds) -> int:
    """Write the files for the partition's evidence sentences into `folder`; return how many there are."""
    folder.mkdir(parents=True)
    found = [(document, *row[:3]) for document in partition.documents for row in tables.evidence(document)]
    tagged = ((place, number) for place, (*_, tags) in enumerate(found) for number in tag_ids(tags))
    embeddings = _numbers(embedding for _, _, embedding, _ in found)
    save_numbers(folder / _ROWS, _numbers(row for _, row, _, _ in found))
    save_numbers(folder / _DOCUMENTS, _numbers(document for document, *_ in found))
    save_numbers(folder / _EMBEDDINGS, embeddings)
    save_numbers(folder / _TAGS, _numbers(number for pair in tagged for number in pair).reshape(-1, 2))
    if partition.with_codes:
        np.save(folder / _CODES, _encoded(embeddings, tables))
    return len(found)


def _numbers(found: Iterable[int]) -> NDArray[np.int64]:
    return np.fromiter(found, dtype=np.int64)


class DenseIndex:
    """The vectors of one generation, each with its sentence row. Threads may share it.

    `loaded` are partitions that another generation has in memory, by their key.
    """

    def __init__(self, folder: Path, *, tables: DocumentTables, loaded: Mapping[str, PartitionVectors]) -> None:
        manifest = generations.manifest(folder)
        fresh = tuple(partition_folder(new.number) + "/" for new in manifest.partitions if new.key not in loaded)
        generations.check(
            folder,
            {
                name: entry
                for name, entry in manifest.files.items()
                if name.startswith(fresh) and not name.endswith((_EARLIER_VECTORS, _EARLIER_FAISS))
            },
        )
        self.partitions = {
            partition.key: loaded.get(partition.key) or _load(folder / partition_folder(partition.number), tables)
            for partition in manifest.partitions
        }
        partitions = tuple(self.partitions.values())
        self._starts: Positions = np.cumsum([0, *(len(partition.rows) for partition in partitions)], dtype=np.int64)
        self.rows: Positions = np.concatenate([partition.rows for partition in partitions])
        self.documents: Positions = np.concatenate([partition.documents for partition in partitions])
        self._by_row = np.argsort(self.rows)
        self._lengths: NDArray[np.int32] | None = None
        search = CodeSearch if _can_compare_codes(manifest) else ExactSearch
        self._search: CodeSearch | ExactSearch = search(partitions, tables)

    def take(self, positions: Positions, tables: DocumentTables) -> Vectors:
        """Return the unit vectors at these positions; `tables` are those of the generation."""
        return self._search.take(positions, tables)

    def top(self, query: Vectors, count: int, allowed: Positions | None, tables: DocumentTables) -> Positions:
        """Return the positions of the `count` nearest, best first; equal cosines (to six decimals) by position."""
        return self.nearest(query, count, allowed, tables)[0][: max(0, count)]

    def nearest(
        self,
        query: Vectors,
        count: int,
        allowed: Positions | None,
        tables: DocumentTables,
        *,
        exactly: bool = False,
    ) -> tuple[Positions, NDArray[np.float64]]:
        """Return positions and cosines of the `count` nearest and of all ties with the last, ordered as `top`.

        `exactly` compares every allowed vector, and does not let codes propose some.
        """
        if count <= 0 or len(self.rows) == 0 or (allowed is not None and len(allowed) == 0):
            return np.empty(0, dtype=np.int64), np.empty(0)

        def take(positions: Positions) -> Vectors:
            return self.take(positions, tables)

        if exactly and allowed is not None:
            near = self._search.exactly(query, count, allowed, take)
        else:
            near = self._search.nearest(query, count, allowed, take)
        found = cosines(query, take(near))
        order = np.lexsort((near, -found))
        order = order[found[order] >= found[order[:count][-1]]]
        return near[order], found[order]

    def allowed(self, limits: RowLimits) -> Positions | None:
        """Return the positions of the sentences within `limits`, ascending; None means all."""
        if limits.anywhere:
            return None
        mask = np.ones(len(self.rows), dtype=np.bool_)
        if limits.documents is not None:
            mask &= np.isin(self.documents, np.fromiter(limits.documents, dtype=np.int64))
        for wanted in limits.tags:
            tagged = np.zeros(len(self.rows), dtype=np.bool_)
            for start, partition in zip(self._starts, self.partitions.values(), strict=False):
                tagged[start + partition.tags[np.isin(partition.tags[:, 1], list(wanted)), 0]] = True
            mask &= tagged
        return np.flatnonzero(mask)

    def lengths(self, count: Callable[[Sequence[int]], Sequence[int]]) -> NDArray[np.int32]:
        """Return the number of terms of each sentence; `count` counts those of sentence rows where none are stored."""
        if self._lengths is None:
            known = [
                partition.lengths
                if partition.lengths is not None
                else np.array(count(partition.rows.tolist()), dtype=np.int32)
                for partition in self.partitions.values()
            ]
            self._lengths = np.concatenate(known)
        return self._lengths

    def positions(self, sentence_rows: NDArray[np.int64]) -> Positions:
        """Return the positions of these rows, which must all be evidence sentences."""
        return self._by_row[np.searchsorted(self.rows, sentence_rows, sorter=self._by_row)]


def cosines(query: Vectors, vectors: Vectors) -> NDArray[np.float64]:
    """Return cosines in double precision, rounded to six decimals, so that every search gives the same."""
    # Not `@`: for so few vectors, waking the threads of the linear algebra library takes longer than the sums.
    exact: NDArray[np.float64] = np.einsum("ij,j->i", vectors, query, dtype=np.float64)
    return np.round(exact, 6) + 0.0  # no negative zero


def checked_vector(vector: Vectors | None, dimension: int) -> Vectors | None:
    """Return the vector of a question in single precision.

    Raise `IndexMismatch` if it has another dimension, and `ModelError` if it holds what is no number.
    """
    if vector is None:
        return None
    if vector.shape != (dimension,):
        raise IndexMismatch(
            f"a vector of shape {vector.shape} cannot be searched among {dimension} dimensions",
            hint="Ask with the model that the index was made with; quoth status names it.",
        )
    if not np.isfinite(vector).all():
        raise ModelError("the model gives a vector that is no number", hint="Use another model, or export it again.")
    return vector.astype(np.float32, copy=False)  # another type would copy the whole matrix to match


FoundSentence: TypeAlias = tuple[Sentence, float, tuple[str, ...], bytes]
"""A sentence, its lexical score, what found it, and the codes of its tokens."""


def scored_candidates(found: Sequence[FoundSentence], vector: Vectors | None, vectors: Vectors) -> Candidates:
    """Add the cosines to what was found, and order it by sentence id. `vectors` has a row for each sentence."""
    dense = np.zeros(len(found)) if vector is None else cosines(vector, vectors)
    items = [
        Candidate(sentence, lexical, float(cosine), found_by, tokens)
        for (sentence, lexical, found_by, tokens), cosine in zip(found, dense, strict=True)
    ]
    return sorted_candidates(items, vectors)


def sorted_candidates(items: Sequence[Candidate], vectors: Vectors) -> Candidates:
    """Order candidates, and the vector of each, by sentence id."""
    order = sorted(range(len(items)), key=lambda number: items[number].sentence.id)
    return Candidates(tuple(items[number] for number in order), vectors[order])


def _can_compare_codes(manifest: generations.GenerationManifest) -> bool:
    many = any(name.endswith((f"/{_CODES}", f"/{_EARLIER_FAISS}")) for name in manifest.files)
    if many and find_spec("faiss") is None:
        _log.warning("the index has many vectors, but FAISS is not installed: pip install 'quoth[faiss]'")
        return False
    return many


def _load(folder: Path, tables: DocumentTables) -> PartitionVectors:
    rows, documents, tags = (np.load(folder / name).astype(np.int64) for name in (_ROWS, _DOCUMENTS, _TAGS))
    codes = np.load(folder / _CODES) if (folder / _CODES).exists() else None
    lengths = np.load(folder / LENGTHS).astype(np.int32) if (folder / LENGTHS).exists() else None
    if (folder / _EMBEDDINGS).exists():
        embeddings = np.load(folder / _EMBEDDINGS).astype(np.int64)
    else:
        held = dict.fromkeys(documents.tolist())  # each document lies together, in reading order
        embeddings = _numbers(number for document in held for number in tables.embeddings(document))
    return PartitionVectors(rows, documents, embeddings, tags, codes, lengths)
