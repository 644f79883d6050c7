"""One write into a PostgreSQL index. Staged documents wait in temporary tables, which end with the connection."""

# ruff: noqa: S608  only constant names are put into SQL; values are always bound

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from quoth.errors import IndexMismatch
from quoth.stores import database_rows as shared
from quoth.stores.database_rows import Row
from quoth.stores.postgres import postgres_rows as rows
from quoth.stores.postgres import postgres_schema
from quoth.stores.postgres.postgres_faults import writing
from quoth.stores.postgres.postgres_publish import PostgresWrite, analysis_now, move, set_labels
from quoth.stores.postgres.postgres_rows import original, restored, storable
from quoth.stores.write_template import CHUNK
from quoth.types import IndexInfo, Refusals, SplitDocument, StoredDocument, Vectors

_FLUSH = 4096  # rows: each copy is a round trip, and memory must not grow with the corpus
_MOST_DIMENSIONS = {"vector": 2000, "halfvec": 4000}  # that an HNSW index takes

_TABLES = {
    "documents": rows.DOCUMENT_COLUMNS,
    "sentences": rows.SENTENCE_COLUMNS,
    "passages": shared.PASSAGE_COLUMNS,
    "pages": shared.PAGE_COLUMNS,
}
_CREATE = [
    *(
        f"CREATE TEMPORARY TABLE new_{table} AS SELECT 0::bigint AS entry, {columns} FROM {table} WITH NO DATA"
        for table, columns in _TABLES.items()
    ),
    "ALTER TABLE new_sentences ADD COLUMN row bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    "CREATE TEMPORARY TABLE new_vectors (key bytea PRIMARY KEY, vector vector NOT NULL, tokens bytea NOT NULL)",
    "CREATE TEMPORARY TABLE new_missing (row bigint PRIMARY KEY, key bytea NOT NULL)",
    'CREATE TEMPORARY TABLE leaving (name text COLLATE "C" PRIMARY KEY)',
    'CREATE TEMPORARY TABLE term_changes (lexeme text COLLATE "C" NOT NULL, change bigint NOT NULL)',
]
_MISSING = """
INSERT INTO new_missing SELECT min(s.row), s.key FROM new_sentences s
WHERE s.key IS NOT NULL AND NOT EXISTS (SELECT FROM new_vectors v WHERE v.key = s.key) GROUP BY s.key
"""


@dataclass(eq=False, kw_only=True)
class PostgresWriter(PostgresWrite):
    """See `WriteTemplate`."""

    _replaced: list[int] = field(default_factory=list, init=False)
    _waiting: dict[str, list[Row]] = field(default_factory=lambda: {table: [] for table in _TABLES}, init=False)

    def is_described_by(self, info: IndexInfo) -> bool:
        analysed = self.published is not None and self.published.analysis == analysis_now(self.connection)
        return analysed and super().is_described_by(info)

    @contextmanager
    def staging(self) -> Iterator[None]:
        self._check_vectors()
        with writing(self.location):
            for statement in _CREATE:
                self.connection.execute(statement)
        yield

    def stored_documents(self) -> Mapping[str, StoredDocument]:
        with writing(self.location):
            return postgres_schema.read_stored_documents(self.connection)

    def stage(self, split: SplitDocument) -> None:
        """Hold the rows of a document, each sentence with the key of its vector, until there are enough to copy."""
        self.unstage(split.document.id)
        entry = self.put[split.document.id] = len(self.put) + len(self._replaced)
        terms = rows.terms_of(split)
        self._waiting["documents"].append((entry, *rows.document_row(split, terms)))
        self._waiting["sentences"].extend(
            (entry, *rows.sentence_row(ordinal, sentence, terms=found, model=self.model))
            for ordinal, (sentence, found) in enumerate(zip(split.sentences, terms, strict=True))
        )
        self._waiting["passages"].extend(
            (entry, *shared.passage_row(*numbered)) for numbered in enumerate(split.passages)
        )
        self._waiting["pages"].extend((entry, *shared.page_row(page)) for page in split.pages)
        self.evidence += sum(found is not None for found in terms)
        if sum(map(len, self._waiting.values())) >= _FLUSH:
            with writing(self.location):
                self._flush()

    def unstage(self, doc_id: str) -> None:
        if (entry := self.put.pop(doc_id, None)) is not None:
            self._replaced.append(entry)

    def finish_staging(self, moved: Mapping[str, str]) -> None:
        execute = self.connection.execute
        with writing(self.location):
            self._flush()
            if self._replaced:
                for table in _TABLES:
                    execute(f"DELETE FROM new_{table} WHERE entry = ANY (%s)", (self._replaced,))
            execute(
                "INSERT INTO leaving SELECT name FROM new_documents UNION SELECT unnest(%s::text[])",
                ([storable(doc_id) for doc_id in self.removed],),
            )
            for table in _TABLES:
                execute(f"ANALYZE new_{table}")  # the server never does it for temporary tables
            if moved:
                move(self.connection, self.schema, moved)

    def state_labels(self, labels: Mapping[str, tuple[str, ...]]) -> None:
        with writing(self.location):
            set_labels(self.connection, self.schema, labels, stated=True)

    def remember(self, refusals: Refusals) -> None:
        covered = ([storable(root) for root in refusals.folders], [storable(doc_id) for doc_id in refusals.files])
        with writing(self.location), self.connection.transaction(), self.connection.cursor() as cursor:
            cursor.execute("DELETE FROM refused_files WHERE root = ANY (%s) OR path = ANY (%s)", covered)
            cursor.executemany(
                "INSERT INTO refused_files (root, path, why, hint) VALUES (%s, %s, %s, %s)",
                [tuple(map(storable, row)) for row in shared.refusal_rows(refusals)],
            )

    def find_missing(self) -> int:
        """Copy every vector that is already there, staged or published, and list the texts without one.

        They are copied because a writer of other documents may remove them before we publish.
        """
        wanted = "key IN (SELECT n.key FROM new_sentences n)"
        with writing(self.location):
            self.connection.execute(
                f"INSERT INTO new_vectors SELECT v.key, v.vector, v.tokens FROM staged_vectors v WHERE v.{wanted}"
            )
            if self.old is not None:
                self.connection.execute(
                    "INSERT INTO new_vectors SELECT DISTINCT ON (s.key) s.key, s.vector::vector, s.tokens "
                    f"FROM sentences s WHERE s.{wanted} ON CONFLICT DO NOTHING"
                )
            self.connection.execute("ANALYZE new_vectors")
            return self.connection.execute(_MISSING).rowcount

    def missing(self, *, after: int) -> list[Row]:
        with writing(self.location):
            found = self.connection.execute(
                "SELECT m.row, m.key, s.text, s.lead_text FROM new_missing m "
                "JOIN new_sentences s USING (row) WHERE m.row > %s ORDER BY m.row LIMIT %s",
                (after, CHUNK),
            )
            return [(row, key, original(text), restored(lead)) for row, key, text, lead in found]

    def keep(self, keys: Sequence[bytes], vectors: Vectors, tokens: Sequence[bytes]) -> None:
        stored = rows.vectors_to_keep(vectors, kind=self.vectors)
        with writing(self.location), self.connection.transaction():
            with self.connection.cursor().copy("COPY new_vectors FROM STDIN (FORMAT binary)") as copy:
                for key, vector, codes in zip(keys, stored, tokens, strict=True):
                    copy.write_row((key, rows.packed(vector), codes))  # bytes are copied as they are
            self.connection.execute(
                "INSERT INTO staged_vectors (key, vector, tokens) SELECT key, vector, tokens FROM new_vectors "
                "WHERE key = ANY (%s) ORDER BY key ON CONFLICT DO NOTHING",  # in order: two writers cannot lock up
                (list(keys),),
            )

    def _flush(self) -> None:
        """Copy the waiting rows to the server."""
        for table, columns in _TABLES.items():
            if waiting := self._waiting[table]:
                with self.connection.cursor().copy(f"COPY new_{table} (entry, {columns}) FROM STDIN") as copy:
                    for row in waiting:
                        copy.write_row(row)
                self._waiting[table] = []

    def _check_vectors(self) -> None:
        most = _MOST_DIMENSIONS[self.vectors]
        if self.model.dimension > most:
            raise IndexMismatch(
                f"{self.model.name} gives {self.model.dimension} dimensions, and an index over "
                f"'{self.vectors}' takes {most}",
                hint="Keep the vectors as 'halfvec' (up to 4000 dimensions), or use a smaller model.",
            )
        published = self.published
        if published is not None and published.vectors != self.vectors and published.info.model == self.model:
            raise IndexMismatch(
                f"{self.location} keeps its vectors as '{published.vectors}', not as '{self.vectors}'",
                hint="Change the setting back, or ingest into another schema.",
            )
