"""The transaction that publishes a write.

Writers of different documents publish at the same time: each locks its documents, by a hash of their ids, and only the
last step (the counts of terms, and the row of the index) is done by one at a time. A write that changes what the index
is, its model, its profile or its indexes, has all to itself. Whoever waits too long gets `IndexBusy`.
"""

# ruff: noqa: S608  only constant names are put into SQL; values are always bound

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

import psycopg
from psycopg import sql

from quoth.errors import IndexMismatch
from quoth.stores.postgres import described, rows
from quoth.stores.postgres.analysis import analyse_again
from quoth.stores.postgres.connections import Connection
from quoth.stores.postgres.described import Published
from quoth.stores.postgres.search import FEW
from quoth.stores.postgres.texts import storable
from quoth.text.terms import ANALYSIS_VERSION
from quoth.types import IndexInfo, ModelIdentity

_WAIT = "5min"  # for another writer to publish, which builds an index at times
_BUCKETS = 512  # bounded, because the server's table of locks is
_MEMORY = "256MB"  # to build an index with, unless the server grants more
_KEPT = "7 days"  # how long vectors wait for a write that does not come back

_FULL_TEXT = "CREATE INDEX sentences_by_term ON sentences USING gin (search) WITH (fastupdate = off)"


@dataclass(frozen=True, slots=True)
class Change:
    """What a write does to the index. `evidence` is how many sentences it adds that can be evidence."""

    place: str
    schema: str
    model: ModelIdentity
    profile: tuple[str, str]
    vectors: str
    put: tuple[str, ...]
    removed: tuple[str, ...]
    evidence: int

    def needs_all(self, now: Published | None, *, indexed: bool) -> bool:
        """Whether it may not run beside another one. `indexed` says whether there is an index of the vectors yet."""
        if now is None:
            return True
        info = now.info
        alike = (info.model, info.profile_name, info.profile_source) == (self.model, *self.profile)
        return not alike or now.analysis != ANALYSIS_VERSION or (not indexed and now.evidence + self.evidence > FEW)


def publish(connection: Connection, change: Change) -> Published:
    """Bring what is staged into the index, all at once; a new version of a document replaces the old one."""
    alone = False
    while True:
        with connection.transaction():
            connection.execute(sql.SQL("SET LOCAL lock_timeout = {}").format(_WAIT))
            _lock(connection, change.schema, (*change.put, *change.removed), alone=alone)
            now = described.read(connection, change.place, schema=change.schema)
            # Only the owner of a table can index it; until he does (`quoth maintain --reindex`), search goes without.
            if alone or not change.needs_all(now, indexed=_has_vector_index(connection) or not _is_owner(connection)):
                return _replace(connection, change, now, alone=alone)
        alone = True


def refresh_statistics(connection: Connection, change: Change, *, sentences: int) -> None:
    """Have the planner know a table that has changed much. All is published already, so that it may fail."""
    if change.evidence * 10 > sentences:
        with suppress(psycopg.Error):
            connection.execute("SET lock_timeout = '1s'")
            connection.execute("ANALYZE documents, sentences, terms")


def refuse_mixture(connection: Connection, place: str, *, old: IndexInfo, model: ModelIdentity) -> None:
    """Vectors of two models never mix: refuse where a document would stay that is not brought anew."""
    kept = connection.execute(
        "SELECT EXISTS (SELECT FROM documents d WHERE NOT EXISTS (SELECT FROM leaving l WHERE l.name = d.name))"
    ).fetchone()
    if kept != (False,):
        raise IndexMismatch(
            f"{place} was made with {_named(old.model)}, not {_named(model)}",
            hint="Ingest into another schema, or remove this one first.",
        )


def move(connection: Connection, schema: str, roots: Mapping[str, str]) -> None:
    """Tell documents, by id, the folder that they are in now."""
    with connection.transaction():
        connection.execute(sql.SQL("SET LOCAL lock_timeout = {}").format(_WAIT))
        _lock(connection, schema, roots, alone=False)
        connection.execute(
            "UPDATE documents d SET root = m.root FROM unnest(%s::text[], %s::text[]) AS m (name, root) "
            "WHERE d.name = m.name",
            (list(map(storable, roots)), list(map(storable, roots.values()))),
        )


def _lock(connection: Connection, schema: str, doc_ids: Iterable[str], *, alone: bool) -> None:
    ours = _hash(f"quoth {schema}")
    if alone:
        connection.execute("SELECT pg_advisory_xact_lock(%s, -1)", (ours,))
        return
    connection.execute("SELECT pg_advisory_xact_lock_shared(%s, -1)", (ours,))
    buckets = sorted({_hash(doc_id) % _BUCKETS for doc_id in doc_ids})  # in order: no deadlock
    connection.execute("SELECT pg_advisory_xact_lock(%s, b) FROM unnest(%s::integer[]) AS b", (ours, buckets))


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:4], "big", signed=True)


def _replace(connection: Connection, change: Change, now: Published | None, *, alone: bool) -> Published:
    if now is not None and now.info.model != change.model:
        refuse_mixture(connection, change.place, old=now.info, model=change.model)
    elif now is not None and now.vectors != change.vectors:
        raise IndexMismatch(
            f"{change.place} has meanwhile been made with store.vectors={now.vectors}",
            hint=f"Set store.vectors to {now.vectors}, and run the same command again.",
        )
    connection.execute("TRUNCATE term_changes")
    _count_terms(connection, "-count(*)", "leaving")
    connection.execute("DELETE FROM documents d USING leaving l WHERE d.name = l.name")
    anew = now is not None and now.analysis != ANALYSIS_VERSION
    if anew:
        analyse_again(connection)
    if now is None or (now.vectors, now.info.model.dimension) != (change.vectors, change.model.dimension):
        _make_vector_column(connection, change)
    _insert(connection)
    _count_terms(connection, "count(*)", "new_documents")
    if now is None:
        connection.execute(_FULL_TEXT)
    # From here on one writer at a time: what follows needs to see what the others have published.
    generation = connection.execute("SELECT generation FROM index_info FOR UPDATE").fetchone()
    new = described.describe(
        connection,
        generation=generation[0] + 1 if generation else 1,
        model=change.model,
        profile=change.profile,
        vectors=change.vectors,
    )
    if alone and new.evidence > FEW and not _has_vector_index(connection) and _is_owner(connection):
        _make_vector_index(connection, change.vectors)
    if anew:
        connection.execute("DELETE FROM terms")
        connection.execute("TRUNCATE term_changes")
        _count_terms(connection, "count(*)", "documents")
    _change_terms(connection)
    described.write(connection, new)
    connection.execute(
        "INSERT INTO ingestion_batches (generation, digest, put, removed, sentences) VALUES (%s, %s, %s, %s, %s)",
        (new.info.generation, new.info.digest, len(change.put), len(change.removed), new.info.sentences),
    )
    connection.execute("DELETE FROM staged_vectors v USING new_vectors n WHERE v.key = n.key")
    connection.execute("DELETE FROM staged_vectors v WHERE v.made < now() - %s::interval", (_KEPT,))
    return new


def _insert(connection: Connection) -> None:
    connection.execute(
        f"INSERT INTO documents ({rows.DOCUMENT_COLUMNS}) "
        f"SELECT {rows.DOCUMENT_COLUMNS} FROM new_documents ORDER BY entry"
    )
    joined = "JOIN new_documents n ON n.entry = s.entry JOIN documents d ON d.name = n.name"
    connection.execute(
        f"INSERT INTO sentences (document, {rows.SENTENCE_COLUMNS}, vector, tokens) "
        f"SELECT d.id, {_of('s', rows.SENTENCE_COLUMNS)}, v.vector, v.tokens FROM new_sentences s {joined} "
        "LEFT JOIN new_vectors v ON v.key = s.key ORDER BY s.row"
    )
    for table, columns in (("passages", rows.PASSAGE_COLUMNS), ("pages", rows.PAGE_COLUMNS)):
        connection.execute(
            f"INSERT INTO {table} (document, {columns}) SELECT d.id, {_of('s', columns)} FROM new_{table} s {joined}"
        )


def _count_terms(connection: Connection, change: str, names: str) -> None:
    """Note for each lexeme in how many sentences of these documents it is."""
    connection.execute(
        f"INSERT INTO term_changes SELECT u.lexeme, {change} FROM {names} n JOIN documents d ON d.name = n.name "
        "JOIN sentences s ON s.document = d.id CROSS JOIN unnest(tsvector_to_array(s.search)) AS u (lexeme) "
        "GROUP BY u.lexeme"
    )


def _change_terms(connection: Connection) -> None:
    changed = "(SELECT lexeme, sum(change)::bigint AS change FROM term_changes GROUP BY lexeme ORDER BY lexeme)"
    connection.execute(
        f"DELETE FROM terms t USING {changed} c WHERE t.lexeme = c.lexeme AND t.sentences + c.change <= 0"
    )
    connection.execute(
        f"UPDATE terms t SET sentences = t.sentences + c.change FROM {changed} c "
        "WHERE t.lexeme = c.lexeme AND c.change < 0"
    )
    connection.execute(
        f"INSERT INTO terms SELECT c.lexeme, c.change FROM {changed} c WHERE c.change > 0 "
        "ON CONFLICT (lexeme) DO UPDATE SET sentences = terms.sentences + excluded.sentences"
    )


def _make_vector_column(connection: Connection, change: Change) -> None:
    column = sql.SQL("{}({})").format(sql.SQL(change.vectors), sql.Literal(change.model.dimension))
    connection.execute("ALTER TABLE sentences DROP COLUMN IF EXISTS vector")
    connection.execute(
        sql.SQL(
            "ALTER TABLE sentences ADD COLUMN vector {}, "
            "ADD CONSTRAINT evidence_has_a_vector CHECK ((key IS NULL) = (vector IS NULL))"
        ).format(column)
    )


def _has_vector_index(connection: Connection) -> bool:
    found = connection.execute(
        "SELECT FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid "
        "WHERE i.indrelid = 'sentences'::regclass AND c.relname = 'sentences_by_vector'"
    )
    return found.fetchone() is not None


def _is_owner(connection: Connection) -> bool:
    found = connection.execute(
        "SELECT pg_has_role(c.relowner, 'USAGE') FROM pg_class c WHERE c.oid = 'sentences'::regclass"
    ).fetchone()
    return found == (True,)


def _make_vector_index(connection: Connection, vectors: str) -> None:
    connection.execute(
        "SELECT set_config('maintenance_work_mem', %(least)s, true) "
        "WHERE pg_size_bytes(current_setting('maintenance_work_mem')) < pg_size_bytes(%(least)s)",
        {"least": _MEMORY},
    )
    connection.execute(
        f"CREATE INDEX sentences_by_vector ON sentences USING hnsw (vector {vectors}_cosine_ops) "
        "WITH (m = 16, ef_construction = 64)"
    )


def _named(model: ModelIdentity) -> str:
    return f"{model.name} ({model.revision}, {model.precision}, {model.dimension} dimensions)"


def _of(table: str, columns: str) -> str:
    return ", ".join(f"{table}.{column}" for column in columns.split(", "))
