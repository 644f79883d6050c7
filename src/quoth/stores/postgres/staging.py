"""Where documents wait until they are published: temporary tables, which end with the connection."""

# ruff: noqa: S608  only constant names are put into SQL; values are always bound

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

from quoth.stores.embedded.rows import Row
from quoth.stores.postgres import rows
from quoth.stores.postgres.connections import Connection
from quoth.stores.postgres.texts import storable
from quoth.types import ModelIdentity, SplitDocument, Vectors

_FLUSH = 4096  # sentences: each copy is a round trip, and memory must not grow with the corpus

_TABLES = {
    "documents": rows.DOCUMENT_COLUMNS,
    "sentences": rows.SENTENCE_COLUMNS,
    "passages": rows.PASSAGE_COLUMNS,
    "pages": rows.PAGE_COLUMNS,
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
_COPY_START = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_COPY_END = struct.pack(">h", -1)


class Staging:
    """The documents of one write, each sentence with the key of its vector under `model`."""

    def __init__(self, connection: Connection, model: ModelIdentity) -> None:
        self._connection = connection
        self._model = model
        self._numbers: dict[str, int] = {}
        self._replaced: list[int] = []
        self._next = 0
        self._waiting: dict[str, list[Row]] = {table: [] for table in _TABLES}
        self.evidence = 0

    def create(self) -> None:
        for statement in _CREATE:
            self._connection.execute(statement)

    def put(self, split: SplitDocument) -> bool:
        """Set a document aside; say whether enough have come together to `flush` them."""
        self.take_back(split.document.id)  # the last version of a document counts
        number = self._next
        self._next += 1
        self._numbers[split.document.id] = number
        terms = rows.terms_of(split)
        self._waiting["documents"].append((number, *rows.document_row(split, terms)))
        self._waiting["sentences"].extend(
            (number, *rows.sentence_row(ordinal, sentence, terms=one, model=self._model))
            for ordinal, (sentence, one) in enumerate(zip(split.sentences, terms, strict=True))
        )
        self._waiting["passages"].extend(
            (number, *rows.passage_row(ordinal, passage)) for ordinal, passage in enumerate(split.passages)
        )
        self._waiting["pages"].extend((number, *rows.page_row(page)) for page in split.pages)
        self.evidence += sum(one is not None for one in terms)
        return sum(map(len, self._waiting.values())) >= _FLUSH

    def take_back(self, doc_id: str) -> None:
        """Forget a document that was staged, if it was."""
        if (number := self._numbers.pop(doc_id, None)) is not None:
            self._replaced.append(number)

    def flush(self) -> None:
        """Bring what waits to the server."""
        for table, columns in _TABLES.items():
            if waiting := self._waiting[table]:
                with self._connection.cursor().copy(f"COPY new_{table} (entry, {columns}) FROM STDIN") as copy:
                    for row in waiting:
                        copy.write_row(row)
                self._waiting[table] = []

    def finish(self, removed: Sequence[str]) -> None:
        """Bring the rest, and note which documents leave: those replaced and those of `removed`."""
        self.flush()
        if self._replaced:
            for table in _TABLES:
                self._connection.execute(f"DELETE FROM new_{table} WHERE entry = ANY (%s)", (self._replaced,))
        self._connection.execute(
            "INSERT INTO leaving SELECT name FROM new_documents UNION SELECT unnest(%s::text[])",
            ([storable(one) for one in removed],),
        )
        for table in _TABLES:
            self._connection.execute(f"ANALYZE new_{table}")  # the server never does it for temporary tables

    @property
    def documents(self) -> tuple[str, ...]:
        return tuple(self._numbers)

    def find_vectors(self, *, published: bool) -> int:
        """Take every vector that is there already, staged or `published`; say how many are missing.

        They are copied: a writer of other documents may remove them before we publish.
        """
        wanted = "key IN (SELECT n.key FROM new_sentences n)"
        self._connection.execute(
            f"INSERT INTO new_vectors SELECT v.key, v.vector, v.tokens FROM staged_vectors v WHERE v.{wanted}"
        )
        if published:
            self._connection.execute(
                "INSERT INTO new_vectors SELECT DISTINCT ON (s.key) s.key, s.vector::vector, s.tokens "
                f"FROM sentences s WHERE s.{wanted} ON CONFLICT DO NOTHING"
            )
        self._connection.execute("ANALYZE new_vectors")
        return self._connection.execute(_MISSING).rowcount

    def missing(self, *, after: int, count: int) -> list[Row]:
        """Up to `count` texts without a vector: row, key, and what makes the search text."""
        return self._connection.execute(
            "SELECT m.row, m.key, s.text, s.lead_start, s.lead_stop, s.lead_text FROM new_missing m "
            "JOIN new_sentences s USING (row) WHERE m.row > %s ORDER BY m.row LIMIT %s",
            (after, count),
        ).fetchall()

    def keep(self, keys: Sequence[bytes], vectors: Vectors, tokens: Iterable[bytes]) -> None:
        """Keep new vectors, for this write and for one that takes over if it is interrupted."""
        with self._connection.transaction():
            with self._connection.cursor().copy("COPY new_vectors FROM STDIN (FORMAT binary)") as copy:
                copy.write(_COPY_START)
                for key, vector, codes in zip(keys, vectors, tokens, strict=True):
                    copy.write(_tuple(key, rows.packed(vector), codes))
                copy.write(_COPY_END)
            self._connection.execute(
                "INSERT INTO staged_vectors (key, vector, tokens) SELECT key, vector, tokens FROM new_vectors "
                "WHERE key = ANY (%s) ORDER BY key ON CONFLICT DO NOTHING",  # in order: two writers cannot lock up
                (list(keys),),
            )


def _tuple(*fields: bytes) -> bytes:
    """A row of a binary copy."""
    return struct.pack(">h", len(fields)) + b"".join(struct.pack(">i", len(field)) + field for field in fields)
