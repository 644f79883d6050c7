"""For whom a transaction reads, and the statistics of the documents that are visible to them.

The server decides what is visible, by the policies that `roles.sql` makes for the role that asks. A transaction says
for whom it reads in settings of its own, which end with it. Here are only the counts of what the server then shows.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from psycopg import sql

from quoth.errors import IndexMismatch
from quoth.language.stems import word_language
from quoth.language.terms import ANALYSIS_VERSION
from quoth.stores.database_rows import Row
from quoth.stores.postgres.postgres_rows import comparable, original, restored
from quoth.stores.postgres.postgres_schema import PublishedIndex, check_version
from quoth.stores.query_terms import WITH_OTHERS, analysis_version
from quoth.stores.write_template import FORMAT, content_digest, counted_languages
from quoth.types import Access, IndexInfo, ModelIdentity

GENERATION = 1
"""The generation that limited readers give: the real one counts writes of documents that they do not see."""

_TABLES = ("documents", "sentences", "passages", "pages")
_MOST_VIEWS = 64
_MOST_COUNTS = 20_000

# The columns that the role may read, and in how many tables a policy limits it.
_DESCRIBED = """
SELECT (SELECT max(version) FROM {migrations}), i.generation, i.label_revision, i.model_name, i.model_revision,
    i.model_precision, i.dimension, i.profile_name, i.profile_source, i.vectors, i.analysis, (
        SELECT count(DISTINCT c.oid) FROM pg_catalog.pg_class c JOIN pg_catalog.pg_policy p ON p.polrelid = c.oid
        WHERE c.oid = ANY ({tables}::regclass[]) AND c.relrowsecurity AND NOT p.polpermissive
        AND pg_catalog.row_security_active(c.oid)
        AND EXISTS (SELECT FROM unnest(p.polroles) AS r WHERE r <> 0 AND pg_catalog.pg_has_role(r, 'USAGE'))),
    {table}::regclass::oid::bigint
FROM {index_info} i
"""
VISIBLE = "SELECT name, fingerprint, sentences, language, evidence, tokens FROM documents"


def settings(access: Access) -> sql.Composed:
    """Return SQL that says for whom the transaction reads."""
    everything = access.labels is None
    labels = [] if access.labels is None else sorted(map(comparable, access.labels))
    return sql.SQL(
        "SELECT set_config('quoth.everything', {}, true), set_config('quoth.labels', {}::text[]::text, true), "
        "set_config('quoth.unlabelled', {}, true)"
    ).format(_on(everything), sql.Literal(labels), _on(access.unlabelled))


def _on(setting: bool) -> sql.Literal:
    return sql.Literal("on" if setting else "off")


def describe(schema: str) -> sql.Composed:
    """Return the query for a row of `Described`."""
    named = [sql.Identifier(schema, table).as_string(None) for table in _TABLES]
    return sql.SQL(_DESCRIBED).format(
        migrations=sql.Identifier(schema, "migrations"),
        index_info=sql.Identifier(schema, "index_info"),
        tables=sql.Literal(named),
        table=sql.Literal(named[0]),
    )


@dataclass(frozen=True, slots=True)
class Described:
    """What the role of an asker may know of a whole index. `limited`: policies limit what it sees.

    `table` is the number that the server gave its documents: an index that was dropped and made again has another one,
    and may have the same generation.
    """

    generation: int
    label_revision: int
    model: ModelIdentity
    profile: tuple[str, str]
    vectors: str
    analysis: int
    limited: bool
    table: int


def parse_described(location: str, row: Row | None) -> Described | None:
    """Return the index of a row of `describe`; None if nothing is published."""
    if row is None or row[0] is None:
        return None
    version, generation, revision, *rest = row
    check_version(location, version)
    if generation == 0:
        return None
    name, source, vectors, analysis, policies, table = rest[4:]
    profile = original(name), original(source)
    limited = policies == len(_TABLES)
    return Described(generation, revision, ModelIdentity(*rest[:4]), profile, vectors, analysis, limited, table)


@dataclass(eq=False)
class VisibleIndex:
    """The index of the visible documents alone, and how many of their sentences hold a query. Threads may share it."""

    published: PublishedIndex
    _held: dict[str, int] = field(default_factory=dict)

    def held(self, queries: Sequence[str], count: Callable[[list[str]], list[int]]) -> list[int]:
        """Return the number of visible sentences for each query, of which `count` counts the new ones."""
        held = self._held
        if new := [query for query in dict.fromkeys(queries) if query not in held]:
            counted = dict(zip(new, count(new), strict=True))
            if len(held) + len(new) > _MOST_COUNTS:
                self._held = {}
            self._held |= counted
            held = held | counted
        return [held[query] for query in queries]


class VisibleIndexes:
    """What was counted last, by generation, labels and access. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._views: OrderedDict[object, VisibleIndex] = OrderedDict()

    def of(self, described: Described, access: Access, count: Callable[[], list[Row]]) -> VisibleIndex:
        """Return the index that `access` sees; `count` reads the rows of `VISIBLE`."""
        key = described, access
        with self._lock:
            found = self._views.get(key)
            if found is not None:
                self._views.move_to_end(key)
                return found
        made = VisibleIndex(_published(described, count()))
        with self._lock:
            self._views[key] = made
            if len(self._views) > _MOST_VIEWS:
                self._views.popitem(last=False)
        return made


def _published(described: Described, rows: Sequence[Row]) -> PublishedIndex:
    documents = [(original(row[0]), row[1], row[2], restored(row[3]), row[4], row[5]) for row in rows]
    languages = counted_languages(Counter(row[3] for row in documents))
    if described.analysis != WITH_OTHERS:  # the words of every document were made as those of English are
        languages = tuple(counted for counted in languages if not word_language(counted[0]))
    digest = content_digest(
        FORMAT, described.model, profile=described.profile, documents=[(row[0], row[1]) for row in documents]
    )
    sentences = sum(row[2] for row in documents)
    info = IndexInfo(
        FORMAT, GENERATION, digest, described.model, *described.profile, len(documents), sentences, languages
    )
    evidence, tokens = sum(row[4] for row in documents), sum(row[5] for row in documents)
    return PublishedIndex(info, evidence, tokens, described.vectors, analysis_version(info.languages))


def check_described(location: str, described: Described) -> None:
    """Raise `IndexMismatch` if another version of the word analysis built the full text."""
    if described.analysis not in (ANALYSIS_VERSION, WITH_OTHERS):
        raise IndexMismatch(
            f"the full text of {location} was made by analysis {described.analysis} of words; "
            f"this version of Quoth needs {WITH_OTHERS}",
            hint="Ingest the same documents again: that makes the full text anew, and embeds nothing.",
        )


def whole(published: PublishedIndex, described: Described) -> PublishedIndex:
    """Describe every document, for somebody who sees all of them."""
    return replace(published, info=replace(published.info, generation=described.generation))
