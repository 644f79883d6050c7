"""How much of what exact search would find the index finds, on vectors that are stored.

They stand for questions, spread evenly over the table, so that the same index gives the same figures. What is measured
is the search that questions use. The exact answer is computed here, in one pass over all vectors: one scan for the
server, instead of one for each question.
"""

# ruff: noqa: S608  only constant text is put into SQL; values are always bound

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NoReturn

import numpy as np

from quoth.errors import IndexFault
from quoth.protocols import Progress
from quoth.stores.postgres import faults, rows
from quoth.stores.postgres.connections import Connection
from quoth.stores.postgres.described import Published
from quoth.stores.postgres.filters import conditions
from quoth.stores.postgres.health import Recall
from quoth.stores.postgres.reader import PostgresReader
from quoth.stores.postgres.texts import original
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


@dataclass(frozen=True, slots=True)
class _Chosen:
    """A filter, in words, and what share of the sentences passes it."""

    filters: Filters
    words: str
    passing: float


def recall_of(
    connection: Connection,
    published: Published,
    *,
    place: str,
    ef_search: int,
    sample: int,
    progress: Progress | None,
) -> tuple[Recall, ...]:
    """Without a filter, then with one where the index holds what can be told apart. Inside a transaction."""

    def lost() -> NoReturn:
        raise IndexFault(f"the connection to {place} was lost", hint="Run the same command again.")

    with faults.reading(place):
        questions = _sample(connection, published, sample)
        chosen = _filter(connection, published)
    if not len(questions):
        return ()
    exact, passing = _nearest(connection, published, questions, chosen, place=place, progress=progress)
    reader = PostgresReader(connection, published, place=place, ef_search=ef_search, reopen=lost)
    found = [_compare(reader, questions, exact[0], NO_FILTERS, progress=progress)]
    if chosen is not None and passing:
        some = _compare(reader, questions, exact[1], chosen.filters, progress=progress)
        found.append(replace(some, filter=chosen.words, passing=round(passing / published.evidence, 4)))
    return tuple(found)


def _sample(connection: Connection, published: Published, count: int) -> Vectors:
    found = connection.execute(_SAMPLE.format(kind=published.vectors), {"count": count}, binary=True).fetchall()
    return _vectors(published, [sent for (sent,) in found])


def _filter(connection: Connection, published: Published) -> _Chosen | None:
    """The document type whose share is nearest to a tenth, or else the first documents that make up as much."""
    total = published.evidence
    types = [(name, int(held)) for name, held in connection.execute(_TYPES) if 0 < held < total]
    if types:
        name, held = min(types, key=lambda one: abs(math.log(one[1] / total / _PASSING)))
        words = f"document_type={original(name)}"
        return _Chosen(replace(NO_FILTERS, document_types=(original(name),)), words, held / total)
    names: list[str] = []
    together = 0
    for name, held in connection.execute(_DOCUMENTS, (_MOST_DOCUMENTS,)):
        if together >= total * _PASSING or together + held >= total:
            break
        names.append(original(name))
        together += held
    if not names:
        return None
    return _Chosen(replace(NO_FILTERS, doc_ids=tuple(names)), f"{len(names)} documents", together / total)


def _nearest(
    connection: Connection,
    published: Published,
    questions: Vectors,
    chosen: _Chosen | None,
    *,
    place: str,
    progress: Progress | None,
) -> tuple[tuple[Vectors, Vectors], int]:
    """The cosines of the `K` nearest of all and of those that pass the filter, and how many pass.

    Where there are fewer, -inf fills up.
    """
    limits = None if chosen is None else conditions(chosen.filters)
    test, values = ("false", {}) if limits is None else (limits.scanned, limits.values)
    best = tuple(np.full((len(questions), K), -np.inf, dtype=np.float32) for _ in range(2))
    done = passing = 0
    with connection.cursor(name="quoth_recall") as cursor:
        with faults.reading(place):
            cursor.execute(
                f"SELECT {published.vectors}_send(s.vector), {test} FROM sentences s WHERE s.key IS NOT NULL",
                values,
                binary=True,
            )
        while True:
            with faults.reading(place):
                chunk = cursor.fetchmany(_CHUNK)
            if not chunk:
                return (best[0], best[1]), passing
            cosines = questions @ _vectors(published, [sent for sent, _ in chunk]).T
            allowed = np.array([passes for _, passes in chunk], dtype=bool)
            best = _best(best[0], cosines), _best(best[1], cosines[:, allowed])
            done += len(chunk)
            passing += int(allowed.sum())
            if progress is not None:
                progress("comparing", done, published.evidence)


def _best(so_far: Vectors, more: Vectors) -> Vectors:
    together = np.concatenate([so_far, more], axis=1)
    return np.partition(together, together.shape[1] - K, axis=1)[:, -K:]


def _compare(
    reader: PostgresReader, questions: Vectors, exact: Vectors, filters: Filters, *, progress: Progress | None
) -> Recall:
    """What the search finds is right where it is as near as the last of the nearest, so that ties do not count."""
    shares = []
    for number, (question, nearest) in enumerate(zip(questions, exact, strict=True), start=1):
        found = reader.search(Query(vector=question, terms=(), candidates=K, filters=filters))
        wanted = nearest[np.isfinite(nearest)]
        least = float(wanted.min()) - _SAME
        right = sum("dense" in one.found_by and one.dense >= least for one in found.items)
        shares.append(min(right, len(wanted)) / len(wanted))
        if progress is not None:
            progress("searching" if filters is NO_FILTERS else "filtering", number, len(questions))
    return Recall(
        filter=None,
        passing=1.0,
        k=K,
        questions=len(questions),
        mean=round(sum(shares) / len(shares), 4),
        worst=round(min(shares), 4),
    )


def _vectors(published: Published, sent: list[bytes]) -> Vectors:
    return rows.vectors(sent, kind=published.vectors, dimension=published.info.model.dimension)
