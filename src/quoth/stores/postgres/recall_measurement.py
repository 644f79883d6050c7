"""The recall of the vector index, compared with exact search.

Stored vectors stand for questions, spread evenly over the table, so that the same index gives the same figures. What
is measured is the search that questions use. The exact answer is computed here, in one pass over all vectors: one scan
for the server, instead of one for each question.
"""

# ruff: noqa: S608  only constant text is put into SQL; values are always bound

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from quoth.protocols import Progress
from quoth.stores.postgres import postgres_faults as faults
from quoth.stores.postgres.maintenance_report import Recall
from quoth.stores.postgres.postgres_connections import Connection
from quoth.stores.postgres.postgres_reader import PostgresReader
from quoth.stores.postgres.postgres_rows import original
from quoth.stores.postgres.postgres_schema import PublishedIndex
from quoth.stores.postgres.postgres_search import conditions
from quoth.types import NO_FILTERS, Filters, Query, Vectors

K = 50
"""As many as a question takes from the store by default."""

_PASSING = 0.1  # the share of the sentences that the filter should let pass: enough for the index to be used
_MOST_DOCUMENTS = 1000
_CHUNK = 4096
_SAME = 1e-5  # cosines of equal vectors differ by how they are summed up

_SAMPLE = """
SELECT DISTINCT ON (n.id) n.sent
FROM generate_series(0, %(count)s - 1) AS g CROSS JOIN (SELECT min(id) AS low, max(id) AS high FROM sentences) b
CROSS JOIN LATERAL (
    SELECT s.id, {kind}_send(s.vector) AS sent FROM sentences s
    WHERE s.id >= b.low + (b.high - b.low + 1) * g / %(count)s AND s.key IS NOT NULL ORDER BY s.id LIMIT 1) n
ORDER BY n.id
"""
_TYPES = """
SELECT document_type, sum(evidence) FROM documents WHERE document_type IS NOT NULL GROUP BY document_type ORDER BY 1
"""
_DOCUMENTS = "SELECT name, evidence FROM documents WHERE evidence > 0 ORDER BY name LIMIT %s"


def recall_of(reader: PostgresReader, *, sample: int, progress: Progress) -> tuple[Recall, ...]:
    """Measure inside a transaction: without a filter, then with one if some filter divides the index."""
    with faults.reading(reader.location):
        questions = _sample(reader, sample)
        filters, words = _filter(reader.connection, reader.published) or (None, None)
    if not len(questions):
        return ()
    exact, passing = _nearest(reader, questions, filters, progress=progress)
    found = [_compare(reader, questions, exact[0], NO_FILTERS, progress=progress)]
    if filters is not None and passing:
        filtered = _compare(reader, questions, exact[1], filters, progress=progress)
        found.append(replace(filtered, filter=words, passing=round(passing / reader.published.evidence, 4)))
    return tuple(found)


def _sample(reader: PostgresReader, count: int) -> Vectors:
    statement = _SAMPLE.format(kind=reader.published.vectors)
    found = reader.connection.execute(statement, {"count": count}, binary=True).fetchall()
    return reader.received([sent for (sent,) in found])


def _filter(connection: Connection, published: PublishedIndex) -> tuple[Filters, str] | None:
    """Choose the document type whose share is nearest to a tenth, or else the first documents; say it in words too."""
    total = published.evidence
    types = [(original(name), int(held)) for name, held in connection.execute(_TYPES) if 0 < held < total]
    if types:
        name, _ = min(types, key=lambda counted: abs(math.log(counted[1] / total / _PASSING)))
        return Filters(document_types=name), f"document_type={name}"
    names: list[str] = []
    together = 0
    for name, held in connection.execute(_DOCUMENTS, (_MOST_DOCUMENTS,)):
        if together >= total * _PASSING or together + held >= total:
            break
        names.append(original(name))
        together += held
    return (Filters(doc_ids=names), f"{len(names)} documents") if names else None


def _nearest(
    reader: PostgresReader, questions: Vectors, filters: Filters | None, *, progress: Progress
) -> tuple[tuple[Vectors, Vectors], int]:
    """Return the cosines of the `K` nearest among all vectors and among the filtered ones, and how many pass.

    Rows with fewer than `K` vectors are filled up with -inf.
    """
    limits = None if filters is None else conditions(filters)
    test, values = ("false", {}) if limits is None else (limits.scanned, limits.values)
    best = tuple(np.full((len(questions), K), -np.inf, dtype=np.float32) for _ in range(2))
    done = passing = 0
    with reader.connection.cursor(name="quoth_recall") as cursor:
        with faults.reading(reader.location):
            cursor.execute(
                f"SELECT {reader.published.vectors}_send(s.vector), {test} FROM sentences s WHERE s.key IS NOT NULL",
                values,
                binary=True,
            )
        while True:
            with faults.reading(reader.location):
                chunk = cursor.fetchmany(_CHUNK)
            if not chunk:
                return (best[0], best[1]), passing
            cosines = questions @ reader.received([sent for sent, _ in chunk]).T
            allowed = np.array([passes for _, passes in chunk], dtype=bool)
            best = _best(best[0], cosines), _best(best[1], cosines[:, allowed])
            done += len(chunk)
            passing += int(allowed.sum())
            progress("comparing", done, reader.published.evidence)


def _best(so_far: Vectors, more: Vectors) -> Vectors:
    together = np.concatenate([so_far, more], axis=1)
    return np.partition(together, together.shape[1] - K, axis=1)[:, -K:]


def _compare(
    reader: PostgresReader, questions: Vectors, exact: Vectors, filters: Filters, *, progress: Progress
) -> Recall:
    """Compare search with the exact result; a hit as near as the last exact one is right."""
    shares = []
    for number, (question, nearest) in enumerate(zip(questions, exact, strict=True), start=1):
        found = reader.search(Query(vector=question, terms=(), candidates=K, filters=filters))
        wanted = nearest[np.isfinite(nearest)]
        least = float(wanted.min()) - _SAME
        right = sum("dense" in candidate.found_by and candidate.dense >= least for candidate in found.items)
        shares.append(min(right, len(wanted)) / len(wanted))
        progress("searching" if filters is NO_FILTERS else "filtering", number, len(questions))
    return Recall(
        filter=None,
        passing=1.0,
        k=K,
        questions=len(questions),
        mean=round(sum(shares) / len(shares), 4),
        worst=round(min(shares), 4),
    )
