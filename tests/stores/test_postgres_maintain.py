from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace

import pytest

pytest.importorskip("psycopg", reason="psycopg is not installed")

import psycopg
from psycopg.conninfo import make_conninfo

from quoth.errors import IndexBusy, IndexFault, IndexUnwritable, NoIndex, SettingsError
from quoth.stores.postgres import PostgresStore, migrate, postgres_schema
from quoth.stores.postgres.maintenance import maintain
from quoth.stores.postgres.maintenance_report import (
    IndexHealth,
    Maintenance,
    Recall,
    TableHealth,
    fresh_vector_index,
    maintenance_json,
)
from quoth.stores.postgres.postgres_connections import Connection
from quoth.types import SplitDocument

from .contract import question, search, write
from .fakes import HashEmbedder, metadata, numbered, split

PATIENCE = 60
"""Seconds after which something that was waited for counts as hanging."""


def documents(count: int, *, sentences: int) -> list[SplitDocument]:
    return [numbered(f"doc{number}.md", sentences) for number in range(count)]


@pytest.fixture
def store(database_url: str, schema: str) -> Iterator[PostgresStore]:
    with closing(PostgresStore(database_url, schema=schema, vectors="vector", ef_search=100)) as store:
        yield store


@pytest.fixture
def connection(database_url: str, schema: str) -> Iterator[Connection]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("SELECT set_config('search_path', quote_ident(%s) || ', public', false)", (schema,))
        yield connection


def kept(url: str, schema: str, *, reindex: bool = False, sample: int = 0) -> Maintenance:
    return maintain(url, schema, ef_search=100, reindex=reindex, sample=sample, progress=None)


def table(found: Maintenance, name: str) -> TableHealth:
    return next(one for one in found.tables if one.name == name)


def index(found: Maintenance, name: str = "sentences_by_vector") -> IndexHealth:
    return next(one for one in found.indexes if one.name == name)


def advice(found: Maintenance) -> list[str]:
    """All but what it says of the server's pgvector, which may be old."""
    return [one for one in found.advice if not one.startswith("pgvector")]


# What it does


def test_a_healthy_index_is_good(database_url: str, schema: str, store: PostgresStore) -> None:
    write(store, documents(8, sentences=200))
    told: list[tuple[str, int, int]] = []
    found = maintain(
        database_url, schema, ef_search=100, reindex=False, sample=20, progress=lambda *one: told.append(one)
    )

    assert found.exact is False
    assert advice(found) == []
    assert (found.sentences, table(found, "sentences").rows) == (1600, 1600)
    assert (found.rebuilt, found.removed) == ((), ())
    assert [(one.filter, one.k, one.questions) for one in found.recall] == [(None, 50, 20), ("1 documents", 50, 20)]
    assert all(one.mean >= 0.95 for one in found.recall)
    assert found.recall[1].passing == 0.125
    assert {"comparing", "searching", "filtering", "vacuuming"} == {what for what, _, _ in told}
    assert all(0 <= done <= total for _, done, total in told)
    assert kept(database_url, schema, sample=20).recall == found.recall


def test_the_filter_is_a_document_type_where_there_are_several(
    database_url: str, schema: str, store: PostgresStore
) -> None:
    def typed(doc_id: str, kind: str, sentences: int) -> SplitDocument:
        texts = [f"{kind} {number} says topic{number % 30} and {doc_id}." for number in range(sentences)]
        return split(doc_id, *texts, about=metadata(document_type=kind))

    write(store, [typed("a.md", "rule", 900), typed("b.md", "letter", 150), typed("c.md", "note", 20)])
    found = kept(database_url, schema, sample=10)

    assert [(one.filter, one.passing) for one in found.recall] == [
        (None, 1.0),
        ("document_type=letter", round(150 / 1070, 4)),
    ]
    assert found.recall[1].mean == 1.0  # so few are compared one by one


def test_few_sentences_need_no_index(database_url: str, schema: str, store: PostgresStore) -> None:
    write(store, [split("a.md", "Sow canola at 2.5 cm.", "Roll the field.")])
    found = kept(database_url, schema, reindex=True, sample=50)

    assert found.exact
    assert advice(found) == []
    assert [(one.filter, one.questions, one.mean, one.worst) for one in found.recall] == [(None, 2, 1.0, 1.0)]
    assert "sentences_by_vector" not in found.rebuilt


def test_dead_rows_are_counted_and_vacuumed(
    database_url: str, schema: str, store: PostgresStore, connection: Connection
) -> None:
    write(store, documents(3, sentences=500))
    kept(database_url, schema)
    connection.execute("ALTER TABLE sentences SET (autovacuum_enabled = off)")
    connection.execute("UPDATE sentences SET page = page + 1")
    connection.execute("SELECT pg_stat_force_next_flush()")
    found = kept(database_url, schema)

    dirty = table(found, "sentences")
    assert (dirty.dead_rows, dirty.dead_rows_left, dirty.dead_share) == (1500, 0, 0.5)
    assert dirty.last_vacuum is not None
    assert "sentences had 50% dead rows" in advice(found)[0]
    assert table(kept(database_url, schema), "sentences").dead_rows == 0


def test_indexes_are_rebuilt_while_questions_are_asked(database_url: str, schema: str, store: PostgresStore) -> None:
    put = documents(12, sentences=200)
    write(store, put)
    write(store, [], remove=[one.document.id for one in put[1:6]])
    kept(database_url, schema)
    asked = question("topic7", "doc9.md", vector="Sentence 7 of doc9.md: topic7 topic7.")
    before = search(store, asked)
    seen: list[object] = []
    done = threading.Event()

    def ask() -> None:
        try:
            while not done.is_set():
                seen.append([item.sentence for item in search(store, asked).items if "lexical" in item.found_by])
        except Exception as error:
            seen.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    found = kept(database_url, schema, reindex=True, sample=10)
    done.set()
    thread.join()

    assert set(found.rebuilt) == {
        "sentences_by_impact",
        "sentences_by_label",
        "sentences_by_term",
        "sentences_by_vector",
    }
    rebuilt = index(found)
    assert rebuilt.bytes_before is not None
    assert rebuilt.bytes < rebuilt.bytes_before
    assert not any("--reindex" in one for one in found.advice)
    lexical = [item.sentence for item in before.items if "lexical" in item.found_by]
    assert seen
    assert all(one == lexical for one in seen)


def test_a_missing_index_of_vectors_is_made(
    database_url: str, schema: str, store: PostgresStore, connection: Connection
) -> None:
    write(store, documents(3, sentences=400))
    connection.execute("DROP INDEX sentences_by_vector")
    assert "no index of the vectors" in advice(kept(database_url, schema))[0]
    found = kept(database_url, schema, reindex=True)

    assert advice(found) == []
    assert index(found).valid
    assert write(store, documents(4, sentences=400)).documents == 4


def interrupt_a_rebuild(database_url: str, schema: str) -> None:
    """Have a rebuild wait for an old transaction, and cancel it there, as Ctrl-C would."""
    failed: list[psycopg.Error] = []
    with psycopg.connect(database_url) as old, psycopg.connect(database_url, autocommit=True) as worker:
        old.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        old.execute(f'SELECT count(*) FROM "{schema}".sentences')  # noqa: S608

        def rebuild() -> None:
            try:
                worker.execute(f'REINDEX INDEX CONCURRENTLY "{schema}".sentences_by_term')
            except psycopg.Error as error:
                failed.append(error)

        thread = threading.Thread(target=rebuild)
        thread.start()
        with psycopg.connect(database_url, autocommit=True) as watcher:
            waiting = "SELECT FROM pg_stat_activity WHERE pid = %s AND wait_event_type = 'Lock'"
            for _ in range(PATIENCE * 20):
                if watcher.execute(waiting, (worker.info.backend_pid,)).fetchone() is not None:
                    break
                time.sleep(0.05)
            watcher.execute("SELECT pg_cancel_backend(%s)", (worker.info.backend_pid,))
        thread.join()
    assert [type(one) for one in failed] == [psycopg.errors.QueryCanceled]


def test_what_an_interrupted_rebuild_left_is_removed(database_url: str, schema: str, store: PostgresStore) -> None:
    write(store, [numbered("a.md", 50)])
    interrupt_a_rebuild(database_url, schema)
    left = kept(database_url, schema)
    found = kept(database_url, schema, reindex=True)

    assert not index(left, "sentences_by_term_ccnew").valid
    assert left.removed == ()
    assert "sentences_by_term_ccnew" in advice(left)[0]
    assert "--reindex" in advice(left)[0]
    assert found.removed == ("sentences_by_term_ccnew",)
    assert advice(found) == []
    assert all(one.valid for one in found.indexes)


def test_a_rebuild_that_fails_leaves_nothing_behind(
    database_url: str, schema: str, store: PostgresStore, connection: Connection
) -> None:
    """It waits for an old transaction, and an administrator cancels it there."""
    write(store, documents(3, sentences=400))
    threads: list[threading.Thread] = []

    def hinder(what: str, done: int, _: int) -> None:
        if what == "reindexing" and done == 0:
            old.execute(f'SELECT count(*) FROM "{schema}".sentences')  # noqa: S608
            threads.append(threading.Thread(target=cancel))
            threads[0].start()

    def cancel() -> None:
        wanted = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE 'REINDEX%%' AND "
        for _ in range(PATIENCE * 20):
            if connection.execute(wanted + "wait_event_type = 'Lock'").fetchone() is not None:
                break
            time.sleep(0.05)
        time.sleep(0.2)
        old.rollback()  # removing what is left waits for it as well

    with psycopg.connect(database_url) as old:
        old.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        with pytest.raises(IndexFault, match="cannot be written"):
            maintain(database_url, schema, ef_search=100, reindex=True, sample=0, progress=hinder)
        threads[0].join()

    assert all(one.valid for one in kept(database_url, schema).indexes)


def test_a_poor_index_is_found_out(
    database_url: str, schema: str, store: PostgresStore, connection: Connection
) -> None:
    write(store, documents(10, sentences=400))
    connection.execute("DROP INDEX sentences_by_vector")
    connection.execute(
        "CREATE INDEX sentences_by_vector ON sentences USING hnsw (vector vector_cosine_ops) "
        "WITH (m = 2, ef_construction = 4)"
    )
    found = kept(database_url, schema, sample=20)

    assert found.recall[0].worst <= found.recall[0].mean < 0.95
    assert not found.good
    assert any("raise store.ef_search, now 100, to 200" in one for one in found.advice)


@pytest.mark.parametrize("vectors", ["vector", "halfvec"])
@pytest.mark.parametrize("dimension", [32, 384])
def test_the_size_of_a_fresh_index_is_known(database_url: str, schema: str, vectors: str, dimension: int) -> None:
    embedder = HashEmbedder(dimension=dimension)
    with closing(PostgresStore(database_url, schema=schema, vectors=vectors, ef_search=100)) as store:
        write(store, documents(3, sentences=500), embedder=embedder)
    bloat = index(kept(database_url, schema)).bloat

    assert bloat is not None
    assert 0.9 < bloat < 1.1


# What it refuses


def test_only_one_runs_at_a_time(database_url: str, schema: str, store: PostgresStore) -> None:
    write(store, [numbered("a.md", 20)])
    seen: list[Exception] = []

    def again(what: str, done: int, _: int) -> None:
        if what == "vacuuming" and done == 0:
            with pytest.raises(IndexBusy, match="maintained already") as caught:
                kept(database_url, schema)
            seen.append(caught.value)

    maintain(database_url, schema, ef_search=100, reindex=False, sample=0, progress=again)

    assert len(seen) == 1
    assert advice(kept(database_url, schema)) == []  # the lock has ended


def test_a_server_that_only_reads_is_refused(database_url: str, schema: str, store: PostgresStore) -> None:
    write(store, [numbered("a.md", 20)])
    read_only = make_conninfo(database_url, options="-c default_transaction_read_only=on")

    with pytest.raises(IndexUnwritable, match="only reads") as caught:
        kept(read_only, schema)
    assert "primary" in caught.value.hint


def test_without_an_index_there_is_nothing_to_maintain(database_url: str, schema: str) -> None:
    with pytest.raises(NoIndex):
        kept(database_url, schema)
    migrate(database_url, schema)
    with pytest.raises(NoIndex):
        kept(database_url, schema)


def test_a_sample_without_sense_is_refused(database_url: str, schema: str) -> None:
    with pytest.raises(SettingsError, match="-1"):
        kept(database_url, schema, sample=-1)


def test_a_server_that_is_not_there_is_named(schema: str) -> None:
    with pytest.raises(IndexFault, match="cannot be reached"):
        kept("postgresql://quoth:secret@127.0.0.1:1/none", schema)


# What it says


def test_an_upgrade_tells_both_versions(database_url: str, schema: str) -> None:
    first = migrate(database_url, schema)
    again = migrate(database_url, schema)

    assert first[1:] == (None, postgres_schema.latest())
    assert again[1:] == (postgres_schema.latest(), postgres_schema.latest())
    assert schema in first[0]


def advised(
    *,
    recall: Sequence[Recall] = (),
    tables: Sequence[TableHealth] = (),
    indexes: Sequence[IndexHealth] = (),
    ef_search: int = 100,
    rebuilt: tuple[str, ...] = (),
    pgvector: str = "0.8.4",
) -> Maintenance:
    return Maintenance(
        "here", pgvector, 1, 5000, ef_search, True, rebuilt, (), tuple(tables), tuple(indexes), tuple(recall)
    )


def test_advice_follows_what_was_found() -> None:
    low = Recall("document_type=rule", 0.1, 50, 20, 0.8, 0.2)
    dead = TableHealth("sentences", 5000, 4000, 4000, 10**6, None, None)
    swollen = IndexHealth("sentences_by_vector", "hnsw", True, 10**7, 10**6, None)

    assert advised(recall=[replace(low, mean=0.95)]).good
    assert advised(recall=[low]).advice == (
        "Only 80% of the nearest sentences are found under a filter: raise store.ef_search, now 100, to 200; "
        "if that does not help, run it again with --reindex.",
    )
    assert "to 1000." in advised(recall=[low], ef_search=800, rebuilt=("x",)).advice[0]
    assert "--reindex" in advised(recall=[low], ef_search=1000).advice[0]
    assert "an old transaction" in advised(tables=[dead]).advice[0]
    assert "had 44% dead rows" in advised(tables=[replace(dead, dead_rows_left=0)]).advice[0]
    assert advised(tables=[replace(dead, rows=100, dead_rows=400, dead_rows_left=0)]).good  # too few to matter
    assert "10.0 times" in advised(indexes=[swollen]).advice[0]
    assert "0.8.4 or later" in advised(pgvector="0.8.1").advice[0]
    assert advised(pgvector="0.10.0").good
    assert len(advised(recall=[low], tables=[dead], indexes=[swollen]).advice) == 3


def test_the_json_says_the_same() -> None:
    swollen = IndexHealth("sentences_by_vector", "hnsw", True, 3 * 10**6, 2 * 10**6, 4 * 10**6)
    dead = TableHealth("sentences", 300, 100, 0, 10**6, "2026-11-16 09:00:00+00", None)
    found = json.loads(json.dumps(maintenance_json(advised(tables=[dead], indexes=[swollen]))))

    assert (found["verdict"], found["advice"]) == ("good", [])
    assert found["tables"][0]["dead_share"] == 0.25
    assert found["indexes"][0]["bloat"] == 1.5
    assert (found["place"], found["recall"], found["ef_search"]) == ("here", [], 100)


def test_a_vector_that_fills_a_page_has_it_to_itself() -> None:
    assert fresh_vector_index(100, dimension=1536, vectors="vector") == 101 * 8192
    assert fresh_vector_index(100, dimension=384, vectors="vector") == 26 * 8192
    assert fresh_vector_index(1, dimension=2000, vectors="vector") > 2 * 8192
