"""Vector search: exact in memory, or FAISS with exact rescoring for many vectors. Each partition has these files:

vectors.npy    float16, one row for each evidence sentence: by document id, then in reading order
rows.npy       int64, the sentence row of each
documents.npy  int64, the document row of each
tags.npy       int64, pairs of a position in this partition and the id of a tag that the sentence there has
lengths.npy    int32, the number of terms of each; missing in what an earlier version wrote
faiss.index    only where there are many vectors and FAISS is installed

A position is an offset into these files, counted through all partitions. FAISS keeps an inverted file of 8-bit vectors
for each partition, which proposes; the stored vectors decide.
"""

from __future__ import annotations

import logging
import math
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from quoth.errors import IndexMismatch
from quoth.machine import available_cores
from quoth.stores.database_rows import Row, RowLimits, unit_vectors
from quoth.stores.embedded import generations
from quoth.stores.embedded.generations import Partition, evidence, partition_folder
from quoth.stores.embedded.lexical_index import LENGTHS
from quoth.types import Candidate, Candidates, Sentence, Vectors

_VECTORS, _ROWS, _DOCUMENTS, _TAGS, _FAISS = "vectors.npy", "rows.npy", "documents.npy", "tags.npy", "faiss.index"
_BATCH = 4096  # vectors that are written at once
_WORTH_TWO_CORES = 10_000  # vectors: fewer are compared in the time that it takes to wake a thread
_BLOCK = 65_536  # vectors that FAISS takes at once, or that are compared at once
_TRAINING_PER_LIST = 40  # the least that FAISS takes without complaint; training is most of the time

# Lists hold about sqrt(n) / 4 vectors of a partition. Of the 50 nearest among vectors of real sentences with noise, one
# list in 16 held 96% (124,000 vectors) to 99.4% (a million), one in 8 98.5% to 99.7%, and one in 6 99% to 99.7% for
# half as much time again. More rounds of training than these 4 found no more.
_LISTS = 4
_ROUNDS = 4
_PROBED_SHARE = 8
_PROBED_AT_LEAST = 16
_RESCORED = 4  # times the asked number, to make up for what 8 bits lose

# Groups of cosines, and how many of them there must be for each that is wanted, so that finding the best of each pays.
_GROUP = 64
_WORTH_GROUPS = 4

# Up to this many allowed vectors it is cheaper, and exact, to score them all.
_FEW = 50_000

Positions: TypeAlias = NDArray[np.int64]
"""Offsets into the vectors of a generation, counted through all partitions."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class PartitionVectors:
    """The loaded files of one partition. `stored` is memory-mapped; `faiss` is None if it is unused or empty."""

    rows: Positions
    documents: Positions
    tags: NDArray[np.int64]
    stored: NDArray[np.float16]
    faiss: Any | None
    lengths: NDArray[np.int32] | None


class PartitionOffsets:
    """The first position of each partition."""

    def __init__(self, partitions: Sequence[PartitionVectors]) -> None:
        self._partitions = partitions
        self.starts: Positions = np.cumsum([0, *(len(partition.rows) for partition in partitions)], dtype=np.int64)
        self.total = int(self.starts[-1])

    def within(self, positions: Positions, number: int) -> Positions:
        """Return the positions inside a partition, counted from its start. `positions` must be ascending."""
        first, last = np.searchsorted(positions, self.starts[number : number + 2])
        inside: Positions = positions[first:last] - self.starts[number]
        return inside

    def take(self, positions: Positions) -> Vectors:
        order = np.argsort(positions, kind="stable")
        ascending = positions[order]
        stored = [partition.stored[self.within(ascending, number)] for number, partition in enumerate(self._partitions)]
        taken = np.empty((len(positions), stored[0].shape[1]), dtype=np.float32)
        taken[order] = unit_vectors(np.concatenate(stored))
        return taken


class ExactSearch:
    """Computes every cosine, which takes milliseconds for up to some hundred thousand vectors."""

    def __init__(self, partitions: Sequence[PartitionVectors], split: PartitionOffsets) -> None:
        self._matrix: Vectors = np.empty((split.total, partitions[0].stored.shape[1]), dtype=np.float32)
        self._split = split
        shared = split.total >= _WORTH_TWO_CORES and available_cores() > 1
        self._second_core = ThreadPoolExecutor(1, thread_name_prefix="cosines") if shared else None
        # Block by block, to hold no second copy meanwhile.
        blocks = [
            (start + first, partition.stored[first : first + 1024])
            for start, partition in zip(split.starts.tolist(), partitions, strict=False)
            for first in range(0, len(partition.stored), 1024)
        ]
        half = len(blocks) // 2 if self._second_core else 0
        rest = self._second_core.submit(self._fill, blocks[:half]) if self._second_core else None
        self._fill(blocks[half:])
        if rest is not None:
            rest.result()

    def _fill(self, blocks: Sequence[tuple[int, NDArray[np.float16]]]) -> None:
        for start, stored in blocks:
            self._matrix[start : start + len(stored)] = unit_vectors(stored)

    def nearest(self, query: Vectors, count: int, allowed: Positions | None) -> Positions:
        if allowed is not None and len(allowed) < self._split.total // 16:  # one document, say
            return allowed[near_best(self._split.take(allowed) @ query, count)]
        cosines = self._cosines(query)
        return near_best(cosines, count) if allowed is None else allowed[near_best(cosines[allowed], count)]

    exactly = nearest

    def _cosines(self, query: Vectors) -> Vectors:
        """Return the cosine of every vector, computed on two cores if both are free."""
        # Not `@`: the threads of the linear algebra library wait for each other, for long on a machine with other work.
        cosines: Vectors = np.empty(self._split.total, dtype=np.float32)
        if self._second_core is None:
            np.einsum("ij,j->i", self._matrix, query, out=cosines)
            return cosines
        half = self._split.total // 2
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


class FaissSearch:
    """Finds approximate neighbours in every partition, and rescores them from the stored vectors."""

    def __init__(self, partitions: Sequence[PartitionVectors], split: PartitionOffsets) -> None:
        self._partitions = partitions
        self._split = split

    def nearest(self, query: Vectors, count: int, allowed: Positions | None) -> Positions:
        if allowed is not None and len(allowed) <= _FEW:
            return self.exactly(query, count, allowed)
        found = list(self._proposed(query, _RESCORED * count, allowed))
        scores = np.concatenate([scores for scores, _ in found])
        positions = np.concatenate([positions for _, positions in found])
        if len(positions) < min(count, self._split.total if allowed is None else len(allowed)):
            # The probed lists held too few: nothing may be missing, so score everything allowed.
            return self.exactly(query, count, np.arange(self._split.total) if allowed is None else allowed)
        best = np.lexsort((positions, -scores))[: _RESCORED * count]
        return np.sort(positions[best])

    def _proposed(
        self, query: Vectors, wanted: int, allowed: Positions | None
    ) -> Iterator[tuple[NDArray[np.float32], Positions]]:
        import faiss

        for number, partition in enumerate(self._partitions):
            index = partition.faiss
            if index is None:  # a partition without evidence
                continue
            selector = None
            if allowed is not None:
                held = np.zeros(index.ntotal, dtype=np.bool_)
                held[self._split.within(allowed, number)] = True
                selector = faiss.IDSelectorBitmap(np.packbits(held, bitorder="little"))  # type: ignore[arg-type, call-arg]
            probed = max(_PROBED_AT_LEAST, index.nlist // _PROBED_SHARE)
            settings = faiss.SearchParametersIVF(nprobe=probed, sel=selector)  # type: ignore[call-arg]
            scores, found = index.search(query[None, :], min(wanted, index.ntotal), params=settings)
            proposed = found[0] >= 0
            yield scores[0][proposed], found[0][proposed] + self._split.starts[number]

    def exactly(self, query: Vectors, count: int, allowed: Positions) -> Positions:
        blocks = (allowed[start : start + _BLOCK] for start in range(0, len(allowed), _BLOCK))
        cosines = np.concatenate([self._split.take(block) @ query for block in blocks])
        return allowed[near_best(cosines, count)]


def build(connection: sqlite3.Connection, partition: Partition, folder: Path, *, dimension: int) -> int:
    """Write the vectors of the partition's evidence sentences into `folder`; return how many there are."""
    folder.mkdir(parents=True)
    pairs = _pairs(evidence(connection, partition, columns="s.row, s.document", join=""))
    np.save(folder / _ROWS, np.ascontiguousarray(pairs[:, 0]))
    np.save(folder / _DOCUMENTS, np.ascontiguousarray(pairs[:, 1]))
    tagged = evidence(connection, partition, columns="s.row, t.tag", join="JOIN sentence_tags t ON t.sentence = s.row")
    tags = _pairs(tagged)
    by_row = np.argsort(pairs[:, 0])
    tags[:, 0] = by_row[np.searchsorted(pairs[:, 0], tags[:, 0], sorter=by_row)]
    np.save(folder / _TAGS, tags)
    _write_vectors(connection, partition, folder / _VECTORS, shape=(len(pairs), dimension))
    if partition.faiss and len(pairs):
        build_faiss(np.load(folder / _VECTORS, mmap_mode="r"), folder / _FAISS)
    return len(pairs)


def _pairs(found: Iterable[Row]) -> NDArray[np.int64]:
    return np.fromiter((number for pair in found for number in pair), dtype=np.int64).reshape(-1, 2)


def _write_vectors(connection: sqlite3.Connection, partition: Partition, path: Path, *, shape: tuple[int, int]) -> None:
    # Written as it is read, so that memory does not grow with the corpus.
    blobs = evidence(connection, partition, columns="e.vector", join="JOIN embeddings e ON e.id = s.embedding")
    with path.open("wb") as file:
        header = {"descr": "<f2", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        while batch := list(islice(blobs, _BATCH)):
            file.write(b"".join(blob for (blob,) in batch))


def build_faiss(stored: NDArray[np.float16], path: Path) -> None:
    """Train on an even sample and write the index; the same vectors always give the same index."""
    import faiss

    count, dimension = stored.shape
    lists = max(1, min(_LISTS * math.isqrt(count), count // 40))
    quantizer = faiss.IndexFlatIP(dimension)
    kind = faiss.ScalarQuantizer.QT_8bit
    index = faiss.IndexIVFScalarQuantizer(quantizer, dimension, lists, kind, faiss.METRIC_INNER_PRODUCT)
    index.cp.niter = _ROUNDS
    step = max(1, count // (_TRAINING_PER_LIST * lists))
    index.train(unit_vectors(stored[::step]))
    for start in range(0, count, _BLOCK):
        index.add(unit_vectors(stored[start : start + _BLOCK]))
    # FAISS writes in number and does not sync; the caller does, and renames.
    path.write_bytes(faiss.serialize_index(index).tobytes())


class DenseIndex:
    """The vectors of one generation, each with its sentence row. Threads may share it.

    `loaded` are partitions that another generation has in memory, by their key.
    """

    def __init__(self, folder: Path, *, loaded: Mapping[str, PartitionVectors]) -> None:
        manifest = generations.manifest(folder)
        fresh = tuple(partition_folder(new.number) + "/" for new in manifest.partitions if new.key not in loaded)
        generations.check(folder, {name: entry for name, entry in manifest.files.items() if name.startswith(fresh)})
        with_faiss = _can_use_faiss(manifest)
        self.partitions = {
            partition.key: loaded.get(partition.key)
            or _load(folder / partition_folder(partition.number), partition.sentences, with_faiss=with_faiss)
            for partition in manifest.partitions
        }
        partitions = tuple(self.partitions.values())
        self._split = PartitionOffsets(partitions)
        self.take = self._split.take
        self.rows: Positions = np.concatenate([partition.rows for partition in partitions])
        self.documents: Positions = np.concatenate([partition.documents for partition in partitions])
        self._by_row = np.argsort(self.rows)
        self._lengths: NDArray[np.int32] | None = None
        search = FaissSearch if with_faiss else ExactSearch
        self._search = search(partitions, self._split)

    def top(self, query: Vectors, count: int, allowed: Positions | None) -> Positions:
        """Return the positions of the `count` nearest, best first; equal cosines (to six decimals) by position."""
        return self.nearest(query, count, allowed)[0][: max(0, count)]

    def nearest(
        self, query: Vectors, count: int, allowed: Positions | None, *, exactly: bool = False
    ) -> tuple[Positions, NDArray[np.float64]]:
        """Return positions and cosines of the `count` nearest and of all ties with the last, ordered as `top`.

        `exactly` compares every allowed vector, and does not let FAISS propose some.
        """
        if count <= 0 or len(self.rows) == 0 or (allowed is not None and len(allowed) == 0):
            return np.empty(0, dtype=np.int64), np.empty(0)
        if exactly and allowed is not None:
            near = self._search.exactly(query, count, allowed)
        else:
            near = self._search.nearest(query, count, allowed)
        found = cosines(query, self.take(near))
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
            for start, partition in zip(self._split.starts, self.partitions.values(), strict=False):
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
    """Return the vector of a question in single precision; `IndexMismatch` if it has another dimension."""
    if vector is None:
        return None
    if vector.shape != (dimension,):
        raise IndexMismatch(
            f"a vector of shape {vector.shape} cannot be searched among {dimension} dimensions",
            hint="Ask with the model that the index was made with; quoth status names it.",
        )
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


def _can_use_faiss(manifest: generations.GenerationManifest) -> bool:
    built = any(name.endswith(f"/{_FAISS}") for name in manifest.files)
    if built and find_spec("faiss") is None:
        _log.warning("the index holds a FAISS part, but FAISS is not installed: pip install 'quoth[faiss]'")
        return False
    return built


def _load(folder: Path, sentences: int, *, with_faiss: bool) -> PartitionVectors:
    stored = np.load(folder / _VECTORS, mmap_mode="r") if sentences else np.load(folder / _VECTORS)
    index = None
    if with_faiss and sentences:
        import faiss

        index = faiss.read_index(str(folder / _FAISS))
    rows, documents, tags = (np.load(folder / name) for name in (_ROWS, _DOCUMENTS, _TAGS))
    lengths = np.load(folder / LENGTHS) if (folder / LENGTHS).exists() else None
    return PartitionVectors(rows, documents, tags, stored, index, lengths)
