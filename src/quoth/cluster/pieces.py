"""Which runs of which documents are kept in parts, and what a shard needs of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from quoth.cluster.faults import AGAIN
from quoth.cluster.parts import Part
from quoth.cluster.shards import Put
from quoth.corpus.tally import Taken
from quoth.errors import ClusterFault


class Pieces:
    """Which runs of which documents are kept, and where."""

    def __init__(self) -> None:
        self._parts: dict[str, Part] = {}
        self._places: dict[tuple[str, str], dict[int, tuple[str, int]]] = defaultdict(dict)
        self._of: dict[str, dict[str, int]] = defaultdict(dict)
        self._taken: dict[tuple[str, str], Taken] = {}

    def add(self, part: Part) -> None:
        self._parts[part.name] = part
        for place, piece in enumerate(part.pieces):
            key = piece.taken.doc_id, piece.fingerprint
            self._places[key][piece.number] = part.name, place
            self._of[key[0]][key[1]] = piece.of
            self._taken[key] = piece.taken

    def done(self, doc_id: str) -> tuple[dict[str, frozenset[int]], dict[str, int]]:
        """The numbers of the runs that are kept of a document, and how many there are, both by fingerprint."""
        of = self._of.get(doc_id, {})
        return {fingerprint: frozenset(self._places[doc_id, fingerprint]) for fingerprint in of}, of

    def taken(self, doc_id: str, fingerprint: str) -> Taken:
        """What there is to tell of a document, all of whose runs are kept."""
        if len(self._places[doc_id, fingerprint]) != self._of[doc_id].get(fingerprint):
            raise ClusterFault(f"a part of the document {doc_id} was lost on the cluster", hint=AGAIN)
        return self._taken[doc_id, fingerprint]

    def plan(self, wanted: Mapping[str, str]) -> tuple[tuple[Part, ...], tuple[Put, ...]]:
        """The parts of some documents (fingerprints by id), and the documents in the order of the parts."""
        runs = {doc_id: sorted(self._places[doc_id, fingerprint].items()) for doc_id, fingerprint in wanted.items()}
        names = sorted({name for some in runs.values() for _, (name, _) in some})
        number = {name: place for place, name in enumerate(names)}
        put = [
            Put(doc_id, wanted[doc_id], tuple((number[name], piece) for _, (name, piece) in some))
            for doc_id, some in runs.items()
        ]
        return tuple(self._parts[name] for name in names), tuple(sorted(put, key=lambda one: one.runs[0]))
