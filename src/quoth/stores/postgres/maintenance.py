"""Maintenance of an index in service: rebuild its indexes, vacuum its tables, and measure the recall of search.

Questions and ingests go on meanwhile. Indexes are rebuilt before vacuuming, because vacuuming an HNSW index is slow.

Recall is measured by the search that questions use. Stored vectors stand for questions, spread evenly over the table,
so that the same index gives the same figures. The exact answer is computed here, in one pass over all vectors: one scan
for the server, instead of one for each question.
"""

# ruff: noqa: S608  only constant text is put into SQL; values are always bound

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import NoReturn

import numpy as np
import psycopg
from psycopg import errors, sql

from quoth.errors import IndexBusy, IndexFault, IndexUnwritable, QuothError, SettingsError
from quoth.protocols import Progress
from quoth.stores.database_rows import Row
from quoth.stores.postgres import postgres_faults as faults
from quoth.stores.postgres import postgres_schema
from quoth.stores.postgres.maintenance_report import (
    IndexHealth,
    Maintenance,
    Recall,
    TableHealth,
    fresh_vector_index,
    maintenance_json,
)
from quoth.stores.postgres.postgres_connections import Connection, Connections
from quoth.stores.postgres.postgres_reader import PostgresReader
from quoth.stores.postgres.postgres_rows import original
from quoth.stores.postgres.postgres_schema import PublishedIndex
from quoth.stores.postgres.postgres_search import FEW, conditions
from quoth.stores.postgres.postgres_store import no_index
from quoth.types import NO_FILTERS, Filters, Query, Vectors

__all__ = ["Maintenance", "maintain", "maintenance_json"]

_WAIT = "60s"  # for a lock
_WAIT_TO_REBUILD = "15min"  # a rebuild waits until the transactions before it have ended, however long they take
_WAIT_TO_TIDY = "10s"  # somebody waits for the error
_MEMORY = 256 * 2**20  # bytes to rebuild an index with, at least
_MOST_SAMPLE = 10_000
_VECTORS = "sentences_by_vector"

_LOCK = "SELECT pg_try_advisory_lock(hashtextextended('quoth maintenance ' || %s, 0))"
_UNLOCK = "SELECT pg_advisory_unlock(hashtextextended('quoth maintenance ' || %s, 0))"
_READS_ONLY = "SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean"
# A role may vacuum and rebuild what it owns; from version 17 on also what it was given MAINTAIN for.
_TABLES = """
SELECT c.relname, s.n_live_tup, s.n_dead_tup, pg_total_relation_size(c.oid), s.last_vacuum::text,
       s.last_autovacuum::text, pg_has_role(c.relowner, 'USAGE') OR {maintain}
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_stat_user_tables s ON s.relid = c.oid
WHERE n.nspname = %s AND c.relkind = 'r' ORDER BY c.relname
"""
_INDEXES = """
SELECT c.relname, a.amname, i.indisvalid AND i.indisready, pg_relation_size(c.oid)
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_am a ON a.oid = c.relam WHERE n.nspname = %s ORDER BY c.relname
"""
_MORE_MEMORY = """
SELECT set_config('maintenance_work_mem', greatest(pg_size_bytes(current_setting('maintenance_work_mem')), %s) / 1024
                  || 'kB', false)
"""
_CREATE = "CREATE INDEX CONCURRENTLY {} ON {} USING hnsw (vector {}) WITH (m = 16, ef_construction = 64)"

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


def maintain(
    url: str, schema: str, *, ef_search: int, reindex: bool, sample: int, progress: Progress | None
) -> Maintenance:
    """Rebuild the indexes (with `reindex`), vacuum and analyse the tables, and measure.

    `sample` is how many stored vectors the recall is measured with, under `ef_search`; 0 leaves that out. Only one
    runs at a time: another one is refused with `IndexBusy`.
    """
    if not 0 <= sample <= _MOST_SAMPLE:
        raise SettingsError(f"a sample of {sample} cannot be taken", hint=f"Choose 0 to {_MOST_SAMPLE} vectors.")
    connections = Connections(url, schema)
    report = progress or (lambda *_: None)
    with (
        connections.writer() as connection,
        _MaintenanceRun(connection, connections.location, schema, report).alone() as run,
    ):
        published = run.published()
        before = run.tables()
        removed, rebuilt = run.rebuild(published) if reindex else ((), {})
        run.vacuum(tuple(before))
        recall = run.recall(ef_search=ef_search, sample=sample) if sample else ()
        after = run.tables()
        return Maintenance(
            place=connections.location,
            pgvector=run.pgvector(),
            generation=published.info.generation,
            sentences=published.info.sentences,
            ef_search=ef_search,
            exact=published.evidence <= FEW,
            rebuilt=tuple(rebuilt),
            removed=removed,
            tables=tuple(table.vacuumed(after.get(name, table)) for name, table in before.items()),
            indexes=tuple(replace(index, bytes_before=rebuilt.get(index.name)) for index in run.indexes(published)),
            recall=recall,
        )


@dataclass(frozen=True, slots=True)
class _MaintenanceRun:
    """The steps of one maintenance."""

    connection: Connection
    location: str
    schema: str
    progress: Progress

    @contextmanager
    def alone(self) -> Iterator[_MaintenanceRun]:
        """Refuse a server that only reads, and a second maintenance meanwhile."""
        if self._rows(_READS_ONLY) == [(True,)]:
            raise IndexUnwritable(
                f"{self.location} cannot be maintained: this server only reads",
                hint="A replica is maintained through its primary server: give its address.",
            )
        self._wait_for_locks(_WAIT)
        if self._rows(_LOCK, (self.schema,)) != [(True,)]:
            raise IndexBusy(f"{self.location} is being maintained already", hint="Try again when that is done.")
        try:
            yield self
        finally:  # at once, not when the connection is gone
            with suppress(psycopg.Error):
                self.connection.execute(_UNLOCK, (self.schema,))

    def published(self) -> PublishedIndex:
        with faults.reading(self.location):
            try:
                published = postgres_schema.read_published(self.connection, self.location, schema=self.schema)
            except (errors.UndefinedTable, errors.InvalidSchemaName):
                published = None
        if published is None:
            raise no_index(self.location)
        return published

    def pgvector(self) -> str:
        with faults.reading(self.location):
            return postgres_schema.pgvector_version(self.connection) or "0"

    def tables(self) -> dict[str, TableHealth]:
        """Return the tables that this user may maintain; raise if the tables of the index are missing from them."""
        may = "has_table_privilege(c.oid, 'MAINTAIN')" if self.connection.info.server_version >= 170_000 else "false"
        found = self._rows(sql.SQL(_TABLES).format(maintain=sql.SQL(may)), (self.schema,))
        tables = {name: TableHealth(name, live, dead, dead, *rest) for name, live, dead, *rest, may in found if may}
        if "sentences" not in tables:
            raise IndexUnwritable(
                f"{self.location} cannot be maintained: this user does not own its tables",
                hint="Use the user that made the index (its owner), or one with the role of it.",
            )
        return tables

    def indexes(self, published: PublishedIndex) -> list[IndexHealth]:
        """Return the indexes that search uses, and left-over ones."""
        dimension = published.info.model.dimension
        new = fresh_vector_index(published.evidence, dimension=dimension, vectors=published.vectors)
        rows = self._rows(_INDEXES, (self.schema,))
        found = [IndexHealth(name, kind, valid, size, None, None) for name, kind, valid, size in rows]
        return [
            replace(index, fresh_bytes=new) if index.kind == "hnsw" and not index.left_over else index
            for index in found
            if index.left_over or index.kind in {"hnsw", "gin"}
        ]

    def rebuild(self, published: PublishedIndex) -> tuple[tuple[str, ...], dict[str, int]]:
        """Remove left-over indexes, rebuild the others; return the removed names and the old sizes of the rebuilt."""
        self._do(_MORE_MEMORY, (_MEMORY,))
        self._wait_for_locks(_WAIT_TO_REBUILD)
        found = self.indexes(published)
        removed = self._remove_left_over(found)
        rebuilt = {index.name: index.bytes for index in found if not index.left_over}
        for done, name in enumerate(rebuilt):
            self.progress("reindexing", done, len(rebuilt))
            self._rebuild(sql.SQL("REINDEX INDEX CONCURRENTLY {}").format(self._named(name)), published)
        if _VECTORS not in rebuilt and published.evidence > FEW:
            rebuilt[_VECTORS] = 0
            operators = sql.SQL(f"{published.vectors}_cosine_ops")
            statement = sql.SQL(_CREATE).format(sql.Identifier(_VECTORS), self._named("sentences"), operators)
            self._rebuild(statement, published)
        self.progress("reindexing", len(rebuilt), len(rebuilt))
        return removed, rebuilt

    def _rebuild(self, statement: sql.Composed, published: PublishedIndex) -> None:
        try:
            self._do(statement)
        except BaseException:
            # What it leaves behind would cost every write. The first error counts, and the next run tries again.
            with suppress(QuothError):
                self._wait_for_locks(_WAIT_TO_TIDY)
                self._remove_left_over(self.indexes(published))
            raise

    def _remove_left_over(self, found: Sequence[IndexHealth]) -> tuple[str, ...]:
        names = tuple(index.name for index in found if index.left_over)
        for name in names:
            self._do(sql.SQL("DROP INDEX CONCURRENTLY IF EXISTS {}").format(self._named(name)))
        return names

    def vacuum(self, tables: Sequence[str]) -> None:
        self._wait_for_locks(_WAIT)
        for done, name in enumerate(tables):
            self.progress("vacuuming", done, len(tables))
            self._do(sql.SQL("VACUUM (ANALYZE) {}").format(self._named(name)))
        self.progress("vacuuming", len(tables), len(tables))

    def recall(self, *, ef_search: int, sample: int) -> tuple[Recall, ...]:
        """Measure within one snapshot, whatever is published meanwhile."""
        self.connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        self.connection.read_only = True
        with faults.reading(self.location), self.connection.transaction():
            reader = PostgresReader(self.connection, self.published(), self.location, ef_search, self._lost)
            return recall_of(reader, sample=sample, progress=self.progress)

    def _lost(self) -> NoReturn:
        raise IndexFault(f"the connection to {self.location} was lost", hint="Run the same command again.")

    def _wait_for_locks(self, patience: str) -> None:
        self._do(sql.SQL("SET lock_timeout = {}").format(patience))

    def _do(self, statement: str | sql.Composed, values: Sequence[object] | None = None) -> None:
        with faults.writing(self.location):
            self.connection.execute(statement, values)

    def _rows(self, statement: str | sql.Composed, values: Sequence[object] | None = None) -> list[Row]:
        with faults.reading(self.location):
            return self.connection.execute(statement, values).fetchall()

    def _named(self, name: str) -> sql.Identifier:
        return sql.Identifier(self.schema, name)


def recall_of(reader: PostgresReader, *, sample: int, progress: Progress) -> tuple[Recall, ...]:
    """Measure inside a transaction: without a filter, then with one if some filter divides the index."""
    statement = _SAMPLE.format(kind=reader.published.vectors)
    found = reader.connection.execute(statement, {"count": sample}, binary=True).fetchall()
    questions = reader.received([sent for (sent,) in found])
    if not len(questions):
        return ()
    filters, words = _filter(reader.connection, reader.published) or (None, None)
    (exact, exact_filtered), passing = _nearest(reader, questions, filters, progress=progress)
    recall = [_compare(reader, questions, exact, NO_FILTERS, progress=progress)]
    if filters is not None and passing:
        filtered = _compare(reader, questions, exact_filtered, filters, progress=progress)
        recall.append(replace(filtered, filter=words, passing=round(passing / reader.published.evidence, 4)))
    return tuple(recall)


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
        sent = f"{reader.published.vectors}_send(s.vector)"
        cursor.execute(f"SELECT {sent}, {test} FROM sentences s WHERE s.key IS NOT NULL", values, binary=True)
        while chunk := cursor.fetchmany(_CHUNK):
            cosines = questions @ reader.received([sent for sent, _ in chunk]).T
            allowed = np.array([passes for _, passes in chunk], dtype=bool)
            best = _best(best[0], cosines), _best(best[1], cosines[:, allowed])
            done += len(chunk)
            passing += int(allowed.sum())
            progress("comparing", done, reader.published.evidence)
    return (best[0], best[1]), passing


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
