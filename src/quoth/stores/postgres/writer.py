"""One write: stage the documents, embed what is new, then publish everything in one transaction.

Each chunk of vectors commits by itself, so that it is durable long before the documents are published. The last
transaction replaces the documents and names the new generation; its commit is the moment of publication.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np

from quoth.errors import IndexMismatch, ModelError
from quoth.protocols import Embedder, Progress
from quoth.stores.embedded.rows import Row, search_texts
from quoth.stores.postgres import described, rows
from quoth.stores.postgres.connections import Connection
from quoth.stores.postgres.described import Published
from quoth.stores.postgres.faults import writing
from quoth.stores.postgres.publish import Change, move, publish, refresh_statistics, refuse_mixture
from quoth.stores.postgres.staging import Staging
from quoth.stores.postgres.texts import original
from quoth.text.terms import ANALYSIS_VERSION
from quoth.types import IndexInfo, SplitDocument, Vectors

_CHUNK = 4096  # texts: enough to sort by length well, few enough to lose little when interrupted
_MOST_DIMENSIONS = {"vector": 2000, "halfvec": 4000}  # that an HNSW index takes


class Write:
    """The state of one write; `run` does it all."""

    def __init__(
        self,
        connection: Connection,
        place: str,
        *,
        schema: str,
        embedder: Embedder,
        profile: tuple[str, str],
        progress: Progress | None,
        vectors: str,
    ) -> None:
        self._connection = connection
        self._place = place
        self._schema = schema
        self._embedder = embedder
        self._model = embedder.identity
        self._profile = profile
        self._progress = progress
        self._vectors = vectors
        self._staging = Staging(connection, self._model)
        with writing(place):
            self._old = described.read(connection, place, schema=schema)

    def run(self, put: Iterable[SplitDocument], remove: Collection[str]) -> IndexInfo:
        self._check_vectors()
        with writing(self._place):
            self._staging.create()
        removed = self._stage(put, remove)
        changed = bool(self._staging.documents or removed)
        self._check_model()
        if self._old is not None and not changed and self._described_alike(self._old):
            return self._old.info
        self._embed_missing()
        self._tell("indexing", 0, 0)  # not inside the transaction: what a listener raises is not the index's fault
        change = Change(
            place=self._place,
            schema=self._schema,
            model=self._model,
            profile=self._profile,
            vectors=self._vectors,
            put=self._staging.documents,
            removed=removed,
            evidence=self._staging.evidence,
        )
        with writing(self._place):
            info = publish(self._connection, change).info
        refresh_statistics(self._connection, change, sentences=info.sentences)
        self._tell("indexing", info.sentences, info.sentences)
        return info

    def _stage(self, put: Iterable[SplitDocument], remove: Collection[str]) -> tuple[str, ...]:
        """Set the documents aside, and say which ones are removed."""
        with writing(self._place):
            known = described.read_known(self._connection)
        other_model = self._old is not None and self._old.info.model != self._model
        seen = set()
        moved: dict[str, str] = {}
        for split in put:
            doc_id = split.document.id
            before = known.get(doc_id)
            seen.add(doc_id)
            moved.pop(doc_id, None)
            if other_model or before is None or before.fingerprint != split.fingerprint:
                if self._staging.put(split):
                    with writing(self._place):
                        self._staging.flush()
            else:
                self._staging.take_back(doc_id)
                if before.root != split.root:
                    moved[doc_id] = split.root
        removed = tuple(sorted(known.keys() & set(remove) - seen))
        with writing(self._place):
            self._staging.finish(removed)
            # Where a document was found is no part of the index's identity: that needs no new generation.
            if moved:
                move(self._connection, self._schema, moved)
        return removed

    def _check_vectors(self) -> None:
        most = _MOST_DIMENSIONS[self._vectors]
        if self._model.dimension > most:
            raise IndexMismatch(
                f"{self._model.name} gives {self._model.dimension} dimensions, and an index over "
                f"'{self._vectors}' takes {most}",
                hint="Keep the vectors as 'halfvec' (up to 4000 dimensions), or use a smaller model.",
            )
        old = self._old
        if old is not None and old.vectors != self._vectors and old.info.model == self._model:
            raise IndexMismatch(
                f"{self._place} keeps its vectors as '{old.vectors}', not as '{self._vectors}'",
                hint="Change the setting back, or ingest into another schema.",
            )

    def _check_model(self) -> None:
        """Vectors of two models never mix, so another model must bring every document anew."""
        if self._old is not None and self._old.info.model != self._model:
            with writing(self._place):
                refuse_mixture(self._connection, self._place, old=self._old.info, model=self._model)

    def _described_alike(self, old: Published) -> bool:
        info = old.info
        alike = (info.model, info.profile_name, info.profile_source) == (self._model, *self._profile)
        return alike and old.analysis == ANALYSIS_VERSION

    def _embed_missing(self) -> None:
        with writing(self._place):
            total = self._staging.find_vectors(published=self._old is not None)
        done = last = 0
        while done < total:
            with writing(self._place):
                found = self._staging.missing(after=last, count=_CHUNK)
            made, tokens = self._embed(list(search_texts(map(_parts, found))), done=done, total=total)
            with writing(self._place):
                self._staging.keep([row[1] for row in found], rows.vectors_to_keep(made, kind=self._vectors), tokens)
            done += len(found)
            last = found[-1][0]

    def _embed(self, texts: list[str], *, done: int, total: int) -> tuple[Vectors, list[bytes]]:
        def overall(what: str, here: int, _: int) -> None:
            if self._progress is not None:
                self._progress(what, done + here, total)

        vectors, tokens = self._embedder.embed_tokens(texts, progress=overall)
        wanted = (len(texts), self._model.dimension)
        if vectors.shape != wanted or not np.isfinite(vectors).all():
            raise ModelError(
                f"{self._model.name} gave vectors of shape {vectors.shape} or not finite, where {wanted} was due",
                hint="Check the model's files; nothing was published.",
            )
        return vectors, tokens

    def _tell(self, what: str, done: int, total: int) -> None:
        if self._progress is not None:
            self._progress(what, done, total)


def _parts(row: Row) -> Row:
    _, _, text, lead_start, lead_stop, lead_text = row
    return original(text), lead_start, lead_stop, None if lead_text is None else original(lead_text)
