"""The transaction that publishes a write.

Writers of different documents publish at the same time: each locks its documents, by a hash of their ids, and only the
last step (the counts of terms, and the row of the index) is done by one writer at a time. A write that changes the
model, the profile or the indexes runs alone. A writer that waits too long gets `IndexBusy`.
"""

# ruff: noqa: S608  only constant names are put into SQL; values are always bound

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import astuple, dataclass, field
from typing import ClassVar

import psycopg
from psycopg import sql

from quoth.errors import IndexMismatch
from quoth.language.stems import word_language
from quoth.language.terms import ANALYSIS_VERSION
from quoth.stores.database_rows import PAGE_COLUMNS, PASSAGE_COLUMNS, qualified, search_text
from quoth.stores.postgres import postgres_rows as rows
from quoth.stores.postgres import postgres_schema
from quoth.stores.postgres.postgres_connections import Connection
from quoth.stores.postgres.postgres_faults import writing
from quoth.stores.postgres.postgres_rows import comparable, original, restored, sentence_terms, storable
from quoth.stores.postgres.postgres_schema import PublishedIndex
from quoth.stores.postgres.postgres_search import FEW
from quoth.stores.query_terms import PER_VERSION, WITH_OTHERS, analysis_version
from quoth.stores.write_template import WriteTemplate
from quoth.types import IndexInfo, labels_of

_WAIT = "5min"  # for another writer to publish, which builds an index at times
_BUCKETS = 512  # bounded, because the server's table of locks is
_MEMORY = "256MB"  # to build an index with, unless the server grants more
_KEPT = "7 days"  # how long vectors wait for a write that does not come back

_FULL_TEXT = """
CREATE INDEX sentences_by_term ON sentences USING gin (search) WITH (fastupdate = off);
CREATE INDEX sentences_by_impact ON sentences USING gin (impacts(search, norm)) WITH (fastupdate = off)
"""


@dataclass(eq=False, kw_only=True)
class PostgresWrite(WriteTemplate):
    """A write into PostgreSQL, and what it changes. `vectors` is the type that the index keeps vectors in.

    `put` numbers the staged documents by id; `evidence` is the number of evidence sentences that they add.
    """

    elsewhere: ClassVar[str] = "schema"
    connection: Connection
    location: str
    schema: str
    vectors: str
    published: PublishedIndex | None
    put: dict[str, int] = field(default_factory=dict, init=False)
    evidence: int = field(default=0, init=False)

    @property
    def index_name(self) -> str:
        return self.location

    def keeps_documents(self) -> bool:
        with writing(self.location):
            staying = self.connection.execute(
                "SELECT EXISTS (SELECT FROM documents d WHERE NOT EXISTS (SELECT FROM leaving l WHERE l.name = d.name))"
            ).fetchone()
        return staying != (False,)

    def publish(self) -> IndexInfo:
        with writing(self.location):
            info = self._publish().info
        if self.evidence * 10 > info.sentences:
            with suppress(psycopg.Error):  # all is published already
                self.connection.execute("SET lock_timeout = '1s'")
                self.connection.execute("ANALYZE documents, sentences, terms")
        return info

    def _publish(self) -> PublishedIndex:
        """Bring what is staged into the index, all at once; a new version of a document replaces the old one."""
        alone = False
        while True:
            with self.connection.transaction():
                _lock(self.connection, self.schema, (*self.put, *self.removed), alone=alone)
                now = postgres_schema.read_published(self.connection, self.location, schema=self.schema)
                if alone or not self._needs_all(now):
                    return _replace(self, now, alone=alone)
            alone = True

    def _needs_all(self, now: PublishedIndex | None) -> bool:
        """Return whether the write must run alone."""
        if now is None or now.analysis != analysis_now(self.connection, besides="new_documents"):
            return True
        if not WriteTemplate.is_described_by(self, now.info):
            return True
        # Only the owner of a table can index it; until he does (`quoth maintain --reindex`), search goes without.
        indexed = _has_vector_index(self.connection) or not _is_owner(self.connection)
        return not indexed and now.evidence + self.evidence > FEW


def move(connection: Connection, schema: str, roots: Mapping[str, str]) -> None:
    """Store the new root of each document, by id."""
    with connection.transaction():
        _lock(connection, schema, roots, alone=False)
        connection.execute(
            "UPDATE documents d SET root = m.root FROM unnest(%s::text[], %s::text[]) AS m (name, root) "
            "WHERE d.name = m.name",
            (list(map(storable, roots)), list(map(storable, roots.values()))),
        )


_KEEP_LABELS = """
UPDATE new_documents n SET access = k.access FROM (
    SELECT DISTINCT ON (m.entry) m.entry, d.access FROM new_documents m JOIN documents d
    ON d.access <> d.stated_access AND d.stated_access = m.stated_access AND (
        d.name = m.name OR d.name IN (SELECT l.name FROM leaving l) AND d.source_sha256 = m.source_sha256
        AND NOT EXISTS (SELECT FROM documents o WHERE o.name = m.name))
    ORDER BY m.entry, d.name) k
WHERE n.entry = k.entry
"""
"""A document keeps the labels that somebody has set, also under another name, until its files state other ones."""


def set_labels(connection: Connection, schema: str, labels: Mapping[str, Iterable[str]], *, stated: bool) -> str | None:
    """Replace the labels of documents by id, all or none; return the first id that is not there.

    `stated`: the files of the documents state them now.
    """
    columns = "access = %(own)s, stated_access = %(own)s" if stated else "access = %(own)s"
    with connection.transaction() as transaction:
        _lock(connection, schema, labels, alone=False)
        for doc_id, own in sorted(labels.items()):
            values = {"own": list(map(comparable, labels_of(own))), "name": comparable(doc_id)}
            if connection.execute(f"UPDATE documents SET {columns} WHERE name = %(name)s", values).rowcount == 0:
                raise psycopg.Rollback(transaction)
        connection.execute("UPDATE index_info SET label_revision = label_revision + 1")
        return None
    return doc_id


def _lock(connection: Connection, schema: str, doc_ids: Iterable[str], *, alone: bool) -> None:
    connection.execute(sql.SQL("SET LOCAL lock_timeout = {}").format(_WAIT))
    ours = lock_number(f"quoth {schema}")
    if alone:
        connection.execute("SELECT pg_advisory_xact_lock(%s, -1)", (ours,))
        return
    connection.execute("SELECT pg_advisory_xact_lock_shared(%s, -1)", (ours,))
    buckets = sorted({lock_number(doc_id) % _BUCKETS for doc_id in doc_ids})  # in order: no deadlock
    connection.execute("SELECT pg_advisory_xact_lock(%s, b) FROM unnest(%s::integer[]) AS b", (ours, buckets))


def lock_number(text: str) -> int:
    """Return the number of an advisory lock that a text names."""
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:4], "big", signed=True)


def _replace(write: PostgresWrite, now: PublishedIndex | None, *, alone: bool) -> PublishedIndex:
    connection = write.connection
    if now is not None:
        write.refuse_mixture(now.info)
    if now is not None and now.info.model == write.model and now.vectors != write.vectors:
        raise IndexMismatch(
            f"{write.location} has meanwhile been made with store.vectors={now.vectors}",
            hint=f"Set store.vectors to {now.vectors}, and run the same command again.",
        )
    connection.execute(_KEEP_LABELS)
    connection.execute("TRUNCATE term_changes")
    _count_terms(connection, "-count(*)", "leaving")
    connection.execute("DELETE FROM documents d USING leaving l WHERE d.name = l.name")
    other_analysis = now is not None and analyse_again(connection, now.analysis)
    if now is None or (now.vectors, now.info.model.dimension) != (write.vectors, write.model.dimension):
        _make_vector_column(write)
    _insert(connection)
    _count_terms(connection, "count(*)", "new_documents")
    if now is None:
        connection.execute(_FULL_TEXT)
    # From here on one writer at a time: what follows needs to see what the others have published.
    generation = connection.execute("SELECT generation FROM index_info FOR UPDATE").fetchone()
    new = _described(write, generation[0] + 1 if generation else 1)
    if alone and new.evidence > FEW and not _has_vector_index(connection) and _is_owner(connection):
        _make_vector_index(connection, write.vectors)
    if other_analysis:
        connection.execute("DELETE FROM terms")
        connection.execute("TRUNCATE term_changes")
        _count_terms(connection, "count(*)", "documents")
    _change_terms(connection)
    postgres_schema.write_published(connection, new)
    connection.execute(
        "INSERT INTO ingestion_batches (generation, digest, put, removed, sentences) VALUES (%s, %s, %s, %s, %s)",
        (new.info.generation, new.info.digest, len(write.put), len(write.removed), new.info.sentences),
    )
    connection.execute("DELETE FROM staged_vectors v USING new_vectors n WHERE v.key = n.key")
    connection.execute("DELETE FROM staged_vectors v WHERE v.made < now() - %s::interval", (_KEPT,))
    return new


def _described(write: PostgresWrite, generation: int) -> PublishedIndex:
    """Describe the content of the open transaction."""
    found = write.connection.execute(
        "SELECT name, fingerprint, sentences, language, evidence, tokens FROM documents"
    ).fetchall()
    info = write.describe([(original(row[0]), *row[1:4]) for row in found], generation=generation)
    evidence, tokens = sum(row[4] for row in found), sum(row[5] for row in found)
    return PublishedIndex(info, evidence, tokens, write.vectors, analysis_version(info.languages))


def _insert(connection: Connection) -> None:
    connection.execute(
        f"INSERT INTO documents ({rows.DOCUMENT_COLUMNS}) "
        f"SELECT {rows.DOCUMENT_COLUMNS} FROM new_documents ORDER BY entry"
    )
    joined = "JOIN new_documents n ON n.entry = s.entry JOIN documents d ON d.name = n.name"
    connection.execute(
        f"INSERT INTO sentences (document, {rows.SENTENCE_COLUMNS}, vector, tokens) "
        f"SELECT d.id, {qualified('s', rows.SENTENCE_COLUMNS)}, v.vector, v.tokens FROM new_sentences s {joined} "
        "LEFT JOIN new_vectors v ON v.key = s.key ORDER BY s.row"
    )
    for table, columns in (("passages", PASSAGE_COLUMNS), ("pages", PAGE_COLUMNS)):
        connection.execute(
            f"INSERT INTO {table} (document, {columns}) SELECT d.id, {qualified('s', columns)} "
            f"FROM new_{table} s {joined}"
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


def _make_vector_column(write: PostgresWrite) -> None:
    write.connection.execute("ALTER TABLE sentences DROP COLUMN IF EXISTS vector")
    write.connection.execute(
        f"ALTER TABLE sentences ADD COLUMN vector {write.vectors}({write.model.dimension:d}), "
        "ADD CONSTRAINT evidence_has_a_vector CHECK ((key IS NULL) = (vector IS NULL))"
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


_BATCH = 2000
_NEXT = """
SELECT s.id, s.text, s.lead_text, d.language FROM sentences s JOIN documents d ON d.id = s.document
WHERE s.key IS NOT NULL AND s.id > %s AND s.document = ANY (%s) ORDER BY s.id LIMIT %s
"""
_UPDATE = """
UPDATE sentences s SET terms = n.terms, length = n.length, norm = n.norm
FROM unnest(%s::bigint[], %s::text[], %s::integer[], %s::integer[]) AS n (id, terms, length, norm) WHERE s.id = n.id
"""
_TOTALS = """
UPDATE documents d SET tokens = coalesce((SELECT sum(s.length) FROM sentences s WHERE s.document = d.id), 0)
"""


def analysis_now(connection: Connection, *, besides: str = "") -> int:
    """Return the version of the words of all documents, and of those of a temporary table."""
    tables = " UNION ".join(f"SELECT language FROM {table}" for table in filter(None, ("documents", besides)))
    return analysis_version([restored(tag) or "" for (tag,) in connection.execute(tables)])


def analyse_again(connection: Connection, before: int) -> bool:
    """Write the terms of sentences again that another version made, and return whether there were any.

    The version `before` may have known nothing of languages besides English. This is done within the open transaction;
    the counts of terms are left to others.
    """
    languages = connection.execute("SELECT id, language FROM documents").fetchall() if before != WITH_OTHERS else []
    english_holds = before % PER_VERSION == ANALYSIS_VERSION
    documents = [row for row, tag in languages if not english_holds or word_language(restored(tag))]
    last = 0
    while found := connection.execute(_NEXT, (last, documents, _BATCH)).fetchall():
        terms = [
            sentence_terms(search_text(original(text), restored(lead)), restored(tag)) for _, text, lead, tag in found
        ]
        connection.execute(_UPDATE, ([row[0] for row in found], *map(list, zip(*map(astuple, terms), strict=True))))
        last = found[-1][0]
    if documents:
        connection.execute(_TOTALS)
    return bool(documents)
