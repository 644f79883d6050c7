"""The upkeep of an index in service: rebuild what has grown, vacuum, and measure how well search still finds.

Questions and ingests go on meanwhile. Indexes are rebuilt before vacuuming, because vacuuming an HNSW index is slow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

import psycopg
from psycopg import errors, sql

from quoth.errors import IndexBusy, IndexUnwritable, QuothError, SettingsError
from quoth.protocols import Progress
from quoth.stores.postgres import described, faults, versions
from quoth.stores.postgres.connections import Connection, Connections
from quoth.stores.postgres.described import Published
from quoth.stores.postgres.health import (
    IndexHealth,
    Maintenance,
    Recall,
    TableHealth,
    fresh_vector_index,
    maintenance_json,
)
from quoth.stores.postgres.recall import recall_of
from quoth.stores.postgres.search import FEW
from quoth.stores.postgres.store import no_index

__all__ = ["Maintenance", "Upgrade", "maintain", "maintenance_json", "upgrade"]

_WAIT = "60s"  # for a lock
_WAIT_TO_REBUILD = "15min"  # a rebuild waits until the transactions before it have ended, however long they take
_WAIT_TO_TIDY = "10s"  # somebody waits for the error
_MEMORY = 256 * 2**20  # bytes to rebuild an index with, at least
_MOST_SAMPLE = 10_000
_VECTORS = "sentences_by_vector"

_LOCK = "SELECT pg_try_advisory_lock(hashtextextended('quoth maintenance ' || %s, 0))"
_READS_ONLY = "SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean"
# A role may vacuum and rebuild what it owns; from version 17 on also what it was given MAINTAIN for.
_TABLES = """
SELECT c.relname, s.n_live_tup, s.n_dead_tup, pg_total_relation_size(c.oid), s.last_vacuum::text,
       s.last_autovacuum::text, pg_has_role(c.relowner, 'USAGE') OR {maintain}
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_stat_user_tables s ON s.relid = c.oid
WHERE n.nspname = %s AND c.relkind = 'r' ORDER BY c.relname
"""
_INDEXES = """
SELECT c.relname, a.amname, i.indisvalid AND i.indisready, pg_relation_size(c.oid),
       c.relname ~ '_cc(new|old)[0-9]*$' AND NOT i.indisvalid
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_am a ON a.oid = c.relam WHERE n.nspname = %s ORDER BY c.relname
"""
_MORE_MEMORY = """
SELECT set_config('maintenance_work_mem', greatest(pg_size_bytes(current_setting('maintenance_work_mem')), %s) / 1024
                  || 'kB', false)
"""
_CREATE = "CREATE INDEX CONCURRENTLY {} ON {} USING hnsw (vector {}) WITH (m = 16, ef_construction = 64)"


@dataclass(frozen=True, slots=True)
class Upgrade:
    """The version of the tables before, None where there were none, and after."""

    place: str
    before: int | None
    after: int


@dataclass(frozen=True, slots=True)
class _Index:
    """`left_over` says that an interrupted rebuild made it, and nothing uses it."""

    name: str
    kind: str
    valid: bool
    bytes: int
    left_over: bool


def upgrade(url: str, schema: str) -> Upgrade:
    """Bring the tables to the version of this program."""
    connections = Connections(url, schema)
    with connections.writer() as connection:
        with faults.writing(connections.place):
            before = versions.version_of(connection, schema)
        return Upgrade(connections.place, before, versions.bring_up_to_date(connections, connection))


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
    place = connections.place
    with connections.writer() as connection, _alone(connection, connections):
        run = _Run(connection, place, schema=schema, progress=progress)
        published = run.published()
        before = run.tables()
        removed, rebuilt = run.rebuild(published) if reindex else ((), {})
        run.vacuum(tuple(before))
        recall = run.recall(ef_search=ef_search, sample=sample) if sample else ()
        after = run.tables()
        return Maintenance(
            place=place,
            pgvector=run.pgvector(),
            generation=published.info.generation,
            sentences=published.info.sentences,
            ef_search=ef_search,
            exact=published.evidence <= FEW,
            rebuilt=tuple(rebuilt),
            removed=removed,
            tables=tuple(_table(one, after.get(name, one)) for name, one in before.items()),
            indexes=tuple(_health(one, published, rebuilt) for one in run.indexes()),
            recall=recall,
        )


@contextmanager
def _alone(connection: Connection, connections: Connections) -> Iterator[None]:
    """Refuse a server that only reads, and a second maintenance. The lock ends with the connection."""
    place = connections.place
    with faults.writing(place):
        reads_only = connection.execute(_READS_ONLY).fetchone()
        connection.execute(sql.SQL("SET lock_timeout = {}").format(_WAIT))
        if reads_only == (True,):
            raise IndexUnwritable(
                f"{place} cannot be maintained: this server only reads",
                hint="A replica is maintained through its primary server: give its address.",
            )
        if connection.execute(_LOCK, (connections.schema,)).fetchone() != (True,):
            raise IndexBusy(f"{place} is being maintained already", hint="Try again when that is done.")
    yield


class _Run:
    """The steps of one maintenance."""

    def __init__(self, connection: Connection, place: str, *, schema: str, progress: Progress | None) -> None:
        self._connection = connection
        self._place = place
        self._schema = schema
        self._progress = progress

    def published(self) -> Published:
        with faults.reading(self._place):
            try:
                published = described.read(self._connection, self._place, schema=self._schema)
            except (errors.UndefinedTable, errors.InvalidSchemaName):
                published = None
        if published is None:
            raise no_index(self._place)
        return published

    def pgvector(self) -> str:
        with faults.reading(self._place):
            found = self._connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchone()
        return str(found[0]) if found else "0"

    def tables(self) -> dict[str, TableHealth]:
        """Those of the schema that this user may maintain; an error where the index is not among them."""
        may = "has_table_privilege(c.oid, 'MAINTAIN')" if self._connection.info.server_version >= 170_000 else "false"
        with faults.reading(self._place):
            found = self._connection.execute(sql.SQL(_TABLES).format(maintain=sql.SQL(may)), (self._schema,)).fetchall()
        tables = {name: TableHealth(name, live, dead, dead, *rest) for name, live, dead, *rest, may in found if may}
        if "sentences" not in tables:
            raise IndexUnwritable(
                f"{self._place} cannot be maintained: this user does not own its tables",
                hint="Use the user that made the index (its owner), or one with the role of it.",
            )
        return tables

    def indexes(self) -> list[_Index]:
        """Those that searching uses, and what was left over of them."""
        with faults.reading(self._place):
            found = self._connection.execute(_INDEXES, (self._schema,)).fetchall()
        return [one for one in (_Index(*row) for row in found) if one.left_over or one.kind in {"hnsw", "gin"}]

    def rebuild(self, published: Published) -> tuple[tuple[str, ...], dict[str, int]]:
        """Say which left-over indexes were removed, and which were rebuilt, with the size of each before."""
        with faults.writing(self._place):
            self._connection.execute(_MORE_MEMORY, (_MEMORY,))
            self._connection.execute(sql.SQL("SET lock_timeout = {}").format(_WAIT_TO_REBUILD))
        found = self.indexes()
        removed = self._remove([one.name for one in found if one.left_over])
        rebuilt = {one.name: one.bytes for one in found if not one.left_over}
        for done, name in enumerate(rebuilt):
            self._tell("reindexing", done, len(rebuilt))
            self._rebuild(sql.SQL("REINDEX INDEX CONCURRENTLY {}").format(self._named(name)))
        if _VECTORS not in rebuilt and published.evidence > FEW:
            rebuilt[_VECTORS] = 0
            self._rebuild(
                sql.SQL(_CREATE).format(
                    sql.Identifier(_VECTORS), self._named("sentences"), sql.SQL(f"{published.vectors}_cosine_ops")
                )
            )
        self._tell("reindexing", len(rebuilt), len(rebuilt))
        return removed, rebuilt

    def _rebuild(self, statement: sql.Composed) -> None:
        try:
            with faults.writing(self._place):
                self._connection.execute(statement)
        except BaseException:
            # What it leaves behind would cost every write. The first error counts, and the next run tries again.
            with suppress(QuothError, psycopg.Error):
                self._connection.execute(sql.SQL("SET lock_timeout = {}").format(_WAIT_TO_TIDY))
                self._remove([one.name for one in self.indexes() if one.left_over])
            raise

    def _remove(self, names: Sequence[str]) -> tuple[str, ...]:
        with faults.writing(self._place):
            for name in names:
                self._connection.execute(sql.SQL("DROP INDEX CONCURRENTLY IF EXISTS {}").format(self._named(name)))
        return tuple(names)

    def vacuum(self, tables: Sequence[str]) -> None:
        with faults.writing(self._place):
            self._connection.execute(sql.SQL("SET lock_timeout = {}").format(_WAIT))
        for done, name in enumerate(tables):
            self._tell("vacuuming", done, len(tables))
            with faults.writing(self._place):
                self._connection.execute(sql.SQL("VACUUM (ANALYZE) {}").format(self._named(name)))
        self._tell("vacuuming", len(tables), len(tables))

    def recall(self, *, ef_search: int, sample: int) -> tuple[Recall, ...]:
        """Measured within one view of the index, whatever is published meanwhile."""
        self._connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        self._connection.read_only = True
        with faults.reading(self._place), self._connection.transaction():
            return recall_of(
                self._connection,
                self.published(),
                place=self._place,
                ef_search=ef_search,
                sample=sample,
                progress=self._progress,
            )

    def _named(self, name: str) -> sql.Identifier:
        return sql.Identifier(self._schema, name)

    def _tell(self, what: str, done: int, total: int) -> None:
        if self._progress is not None:
            self._progress(what, done, total)


def _table(before: TableHealth, after: TableHealth) -> TableHealth:
    return replace(before, rows=after.rows, dead_rows_left=after.dead_rows, bytes=after.bytes)


def _health(index: _Index, published: Published, rebuilt: Mapping[str, int]) -> IndexHealth:
    fresh = None
    if index.kind == "hnsw" and not index.left_over:
        fresh = fresh_vector_index(
            published.evidence, dimension=published.info.model.dimension, vectors=published.vectors
        )
    return IndexHealth(index.name, index.kind, index.valid, index.bytes, fresh, rebuilt.get(index.name))
