from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("psycopg", reason="psycopg is not installed")

import psycopg
from psycopg.conninfo import make_conninfo

from quoth.documents.files import find_files
from quoth.documents.ingest import ingest
from quoth.domain.profile import load_profile
from quoth.errors import IndexFault, IndexMismatch, NoIndex, SettingsError
from quoth.settings import Settings
from quoth.stores.embedded import EmbeddedStore
from quoth.stores.postgres import PostgresStore, migrate, postgres_schema
from quoth.stores.postgres import postgres_rows as rows
from quoth.stores.postgres import postgres_rows as texts
from quoth.stores.postgres import postgres_search as search
from quoth.stores.postgres.postgres_connections import Connection
from quoth.types import NO_FILTERS, Candidates, Filters, Query, SplitDocument, Vectors

from .contract import CORPUS, NewStore, StoreContract, question, write
from .contract import search as found_by
from .fakes import HashEmbedder, metadata, numbered, split, with_sentences
from .postgres_server import drop_schema, new_schema
from .refusals import check_refusals

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


def stores(url: str, vectors: str) -> Iterator[NewStore]:
    """Makes stores in schemas of their own, which are dropped at the end."""
    made: list[tuple[str, PostgresStore]] = []

    def new_store() -> PostgresStore:
        for _, store in made:
            store.close()  # lets go of connections, which a server has few of, and can be used again
        schema = new_schema()
        made.append((schema, PostgresStore(url, schema=schema, vectors=vectors, ef_search=100)))
        return made[-1][1]

    yield new_store
    for schema, store in made:
        store.close()
        drop_schema(url, schema)


class TestContract(StoreContract):
    @pytest.fixture(scope="class")
    @classmethod
    def new_store(cls, database_url: str) -> Iterator[NewStore]:
        yield from stores(database_url, "vector")


class TestContractWithHalfVectors(StoreContract):
    @pytest.fixture(scope="class")
    @classmethod
    def new_store(cls, database_url: str) -> Iterator[NewStore]:
        yield from stores(database_url, "halfvec")


@pytest.fixture
def store(database_url: str, schema: str) -> Iterator[PostgresStore]:
    with closing(PostgresStore(database_url, schema=schema, vectors="vector", ef_search=100)) as store:
        yield store


def test_refused_files_are_remembered_until_they_are_looked_at_again(store: PostgresStore) -> None:
    check_refusals(store)


@pytest.fixture
def connection(database_url: str, schema: str) -> Iterator[Connection]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("SELECT set_config('search_path', quote_ident(%s) || ', public', false)", (schema,))
        yield connection


# Versions of the schema


def test_a_migrated_schema_without_documents_is_no_index(database_url: str, schema: str, store: PostgresStore) -> None:
    assert migrate(database_url, schema)[2] == postgres_schema.latest()

    assert store.stored_documents() == {}
    with pytest.raises(NoIndex), store.read():
        pass


def test_a_newer_database_is_refused(store: PostgresStore, connection: Connection) -> None:
    write(store, CORPUS)
    connection.execute("INSERT INTO migrations (version, name) VALUES (999, 'of tomorrow')")

    with pytest.raises(IndexMismatch, match="999"), store.read():
        pass
    with pytest.raises(IndexMismatch, match="999"):
        write(store, [split("new.md", "A new sentence.")])
    with pytest.raises(IndexMismatch, match="999"):
        store.stored_documents()


def test_migrations_at_once_are_done_once(database_url: str, schema: str, connection: Connection) -> None:
    done: list[object] = []
    start = threading.Barrier(4)

    def run() -> None:
        start.wait()
        try:
            done.append(migrate(database_url, schema)[2])
        except Exception as error:
            done.append(error)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done == [postgres_schema.latest()] * 4
    assert connection.execute("SELECT count(*) FROM migrations").fetchone() == (len(postgres_schema.migrations()),)


def test_tables_of_other_programs_are_not_taken_for_ours(database_url: str, schema: str, store: PostgresStore) -> None:
    """`public` is on the search path, for the extension."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE public.migrations (version integer)")
        try:
            connection.execute("INSERT INTO public.migrations VALUES (999)")
            assert store.stored_documents() == {}
            assert write(store, CORPUS).generation == 1
        finally:
            connection.execute("DROP TABLE public.migrations")


def test_a_model_of_another_dimension_replaces_everything(store: PostgresStore) -> None:
    write(store, CORPUS)
    small = HashEmbedder(name="small", dimension=8)
    with pytest.raises(IndexMismatch, match="small"):
        write(store, [split("new.md", "A new sentence.")], embedder=small)
    info = write(store, CORPUS, embedder=small)

    assert info.model.dimension == 8
    with store.read() as reader:
        assert reader.vectors("canola/guide.md").shape == (3, 8)


def test_vectors_are_kept_in_one_way(database_url: str, schema: str, store: PostgresStore) -> None:
    write(store, CORPUS)
    other = PostgresStore(database_url, schema=schema, vectors="halfvec", ef_search=100)

    with pytest.raises(IndexMismatch, match="halfvec"):
        write(other, [split("new.md", "A new sentence.")])
    with pytest.raises(SettingsError):
        PostgresStore(database_url, schema=schema, vectors="vector; DROP TABLE documents", ef_search=100)
    with pytest.raises(SettingsError):
        PostgresStore(database_url, schema="", vectors="vector", ef_search=100)


def test_a_program_without_the_extra_is_told_so() -> None:
    code = "import sys; sys.modules['psycopg'] = None\nimport quoth.stores.postgres"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert "MissingExtra" in ran.stderr
    assert "postgres" in ran.stderr


def test_a_store_says_where_it_is_and_how_large(store: PostgresStore, schema: str) -> None:
    assert store.size() == 0
    write(store, CORPUS)
    assert store.size() > 50_000
    remote = PostgresStore("postgresql://me:secret@db.example:5433/corpus", schema="hoa", vectors="vector", ef_search=9)
    assert remote.location == "postgresql://db.example:5433/corpus (schema hoa)"
    assert store.location.endswith(f"(schema {schema})")


# Text


@given(st.text(alphabet=st.sampled_from("\0\ufdd00a€")) | st.text())
def test_any_text_comes_back_from_its_stored_form(text: str) -> None:
    stored = texts.storable(text)

    assert "\0" not in stored
    assert texts.original(stored) == text


@given(st.text(min_size=1))
def test_a_lexeme_stands_for_one_stem(stem: str) -> None:
    assert rows.lexeme(stem).isascii()
    assert rows.lexeme(stem).isalnum()
    assert stem_of(rows.lexeme(stem)) == stem


def stem_of(lexeme: str) -> str:
    return re.sub("z([0-9a-f]+)z", lambda written: chr(int(written[1], 16)), lexeme[1:])


@settings(max_examples=300, deadline=None)
@given(text=st.text() | st.from_regex(r"([0-9.,:()/&@_-]|[a-z]|http://|\s|é|土){0,40}", fullmatch=True))
def test_the_server_takes_each_term_for_one_lexeme(database_url: str, text: str) -> None:
    terms = rows.sentence_terms(text, None).terms
    found = _server(database_url).execute("SELECT tsvector_to_array(to_tsvector('simple', %s))", (terms,)).fetchone()

    assert found == (sorted(set(terms.split())),)


_servers: dict[str, Connection] = {}


def _server(url: str) -> Connection:
    """One connection for all examples of a property."""
    if url not in _servers:
        _servers[url] = psycopg.connect(url, autocommit=True)
    return _servers[url]


@pytest.fixture(scope="module", autouse=True)
def _servers_end() -> Iterator[None]:
    yield
    while _servers:
        _servers.popitem()[1].close()


def test_term_frequencies_are_read_back_from_the_rank(database_url: str) -> None:
    expression = search._FREQUENCY
    for often in (1, 2, 3, 4, 7, 20, 99, 255):
        found = _server(database_url).execute(
            f"SELECT {expression}::int FROM (SELECT to_tsvector('simple', %s) AS search) s, "  # noqa: S608
            "(SELECT 'xab'::tsquery AS token) t",
            ("xcd " * 3 + "xab " * often + "xcd",),
        )
        assert found.fetchone() == (often,)


def test_a_sentence_without_end_is_stored_and_found(store: PostgresStore) -> None:
    endless = " ".join(f"part{number}" for number in range(60_000))
    write(store, [split("a.md", endless, "Canola is short.")])

    with store.read() as reader:
        assert [item.sentence.text for item in reader.search(question("part77")).items] == [endless]
        assert reader.frequencies(["part77", "canola"]) == {"part77": 1, "canola": 1}


# Scores


def assert_the_same(here: Candidates, there: Candidates) -> None:
    """The same candidates with the same scores, up to how tantivy rounds."""
    assert [item.sentence for item in here.items] == [item.sentence for item in there.items]
    assert [item.found_by for item in here.items] == [item.found_by for item in there.items]
    assert [item.dense for item in here.items] == [item.dense for item in there.items]
    assert [item.tokens for item in here.items] == [item.tokens for item in there.items]
    assert [item.lexical for item in here.items] == pytest.approx([item.lexical for item in there.items], abs=5e-6)
    assert np.array_equal(here.vectors, there.vectors)


QUESTIONS = (
    (("canola",), ("seeding", "sowing"), ("depth",)),
    (("soil",), ("the",), ("kg/ha",), ("nitrogen", "N")),
    (("fence", "fences"), ("height", "zea mays", "tall"), ("unheard-of",)),
    (("of",),),
    (("a",), ("the",), ("and",), ("committee",)),
    (("6.0-7.0",), ("Sec. 4.2",), ("2 in",), ("approval of the committee",)),
)


@pytest.mark.parametrize("vectors", ["vector", "halfvec"])
@pytest.mark.parametrize("name", ["agriculture", "governance"])
def test_scores_are_those_of_the_embedded_store(
    database_url: str, schema: str, tmp_path: Path, name: str, vectors: str
) -> None:
    with closing(PostgresStore(database_url, schema=schema, vectors=vectors, ef_search=100)) as store:
        embedded = EmbeddedStore(tmp_path / "index")
        for one in (embedded, store):
            ingest(
                find_files([EXAMPLES / name]),
                store=one,
                embedder=HashEmbedder(),
                profile=load_profile(name),
                settings=Settings().ingest,
                prune=False,
                progress=None,
            )
        with embedded.read() as there, store.read() as here:
            assert replace(here.info, generation=1) == replace(there.info, generation=1)
            for groups in QUESTIONS:
                vector = HashEmbedder().embed([" ".join(group[0] for group in groups)])[0]
                for query in (Query(vector, groups, 20, NO_FILTERS), Query(None, groups, 7, NO_FILTERS)):
                    assert_the_same(here.search(query), there.search(query))
                terms = [term for group in groups for term in group]
                assert here.frequencies(terms) == there.frequencies(terms)
            for document in there.documents():
                assert here.document(document.id) == there.document(document.id)
                assert tuple(here.sentences(document.id)) == tuple(there.sentences(document.id))
                assert here.passages(document.id) == there.passages(document.id)
            assert here.documents() == there.documents()


# Many rows


def many() -> Iterator[SplitDocument]:
    """Twenty thousand sentences: one in 200 is of the type `rare`, two of five are of the type `common`."""
    for number in range(200):
        kind = "rare" if number == 0 else "common" if number % 5 < 2 else None
        document = numbered(f"doc{number:03d}.md", 100)
        yield with_sentences(
            document.document.id, document.document.text, document.sentences, about=metadata(document_type=kind)
        )


@pytest.fixture(scope="module")
def large(database_url: str) -> Iterator[PostgresStore]:
    schema = new_schema()
    with closing(PostgresStore(database_url, schema=schema, vectors="vector", ef_search=100)) as store:
        write(store, many())
        yield store
    drop_schema(database_url, schema)


def of_type(name: str) -> Filters:
    return Filters((), {}, (name,), None, None)


def best_cosines(store: PostgresStore, vector: Vectors, count: int, *, names: set[str]) -> list[float]:
    """By looking at every vector."""
    with store.read() as reader:
        cosines = np.concatenate([reader.vectors(name) for name in sorted(names)]) @ vector
    return sorted((float(one) for one in cosines), reverse=True)[:count]


def test_a_filter_that_few_rows_pass_still_gives_all_that_was_asked_for(large: PostgresStore) -> None:
    # The words and the vector are those of another document: without the filter all of it would come first.
    query = question("doc150.md", "topic3", "sentence", vector="Sentence 3 of doc150.md: topic3", candidates=100)
    found = found_by(large, replace(query, filters=of_type("rare")))

    assert len(found.items) == 100
    assert {item.sentence.doc_id for item in found.items} == {"doc000.md"}
    assert {item.found_by for item in found.items} == {("lexical", "dense")}


def test_a_filter_that_many_rows_pass_gives_the_nearest_of_them(large: PostgresStore) -> None:
    query = question(vector="Sentence 3 of doc151.md: topic3 topic3.", candidates=60)
    assert query.vector is not None
    found = found_by(large, replace(query, filters=of_type("common")))

    names = {f"doc{number:03d}.md" for number in range(1, 200) if number % 5 < 2}
    exact = best_cosines(large, query.vector, 60, names=names)
    cosines = sorted((item.dense for item in found.items), reverse=True)
    assert len(cosines) == 60
    assert {item.sentence.doc_id for item in found.items} <= names
    assert sum(cosine >= exact[-1] - 1e-5 for cosine in cosines) >= 57  # an approximate index may miss a few


def test_both_searches_go_through_their_indexes(large: PostgresStore) -> None:
    query = question("topic3", "doc150.md", vector="topic3")
    with large.read() as reader:
        words = search.weigh_words(reader.connection, query, reader.published)
        assert words is not None
        for limits in (NO_FILTERS, of_type("common")):
            filtered = replace(query, filters=limits)
            reader.connection.execute(search.SETTINGS, search.settings(filtered, 100))
            conditions = search.conditions(limits)

            nearest = search.both_ways(filtered, reader.published, query.vector, words=words, best={})
            assert "Index Scan using sentences_by_vector" in plan(reader.connection, nearest)
            for score, index in ((words.ideal / 2, "sentences_by_impact"), (0.0, "sentences_by_term")):
                able = search.reaching(words, score, conditions, most=None)
                assert f"Bitmap Index Scan on {index}" in plan(reader.connection, able)


def plan(connection: Connection, asked: search.Statement) -> str:
    return "\n".join(row[0] for row in connection.execute(f"EXPLAIN {asked.text}", asked.values))


def random_words(count: int) -> Iterator[SplitDocument]:
    """Sentences of many lengths, whose words are as common as those of real text; some hold a word several times."""
    drawn = np.random.default_rng(7)
    for number in range(count):
        lengths = drawn.integers(1, 60, size=40)
        sentences = [" ".join(f"w{rank}" for rank in drawn.zipf(1.4, size=length) if rank < 5000) for length in lengths]
        yield split(f"{number:03d}.md", *(f"{sentence} end." for sentence in sentences))


@pytest.fixture(scope="module")
def varied(database_url: str) -> Iterator[PostgresStore]:
    schema = new_schema()
    with closing(PostgresStore(database_url, schema=schema, vectors="vector", ef_search=100)) as store:
        write(store, list(random_words(100)))
        yield store
    drop_schema(database_url, schema)


VARIED_QUESTIONS = (
    question("w1", "w2"),
    question("w1", "w9", "w70", "w300"),
    question("w5", "w6", "w7", "w8", "w9", "w10", "w11", "w12", "end"),
    question("w40", "absent", "w2"),
    replace(question(), terms=(("w3", "w44 w5"), ("w90", "w2"), ("w14/w15",))),
    question(*(f"w{rank}" for rank in range(1, 40))),
)


@pytest.mark.parametrize("query", VARIED_QUESTIONS)
def test_no_sentence_that_reaches_a_score_is_missed(varied: PostgresStore, query: Query) -> None:
    with varied.read() as reader:
        words = search.weigh_words(reader.connection, query, reader.published)
        assert words is not None
        every: dict[int, float] = dict(search.reaching(words, 0, None, most=None).rows(reader.connection))
        ranked = sorted(every.values(), reverse=True)
        for score in ranked[0], ranked[10], ranked[100], ranked[len(ranked) // 2], ranked[-1]:
            able: dict[int, float] = dict(search.reaching(words, score, None, most=None).rows(reader.connection))

            assert {id_ for id_, reached in every.items() if reached >= score} <= able.keys()
            assert {id_: every[id_] for id_ in able} == pytest.approx(able)


@pytest.mark.parametrize("query", VARIED_QUESTIONS)
@pytest.mark.parametrize("count", [1, 3, 50])
def test_the_best_of_many_are_those_of_all(varied: PostgresStore, query: Query, count: int) -> None:
    with varied.read() as reader:
        words = search.weigh_words(reader.connection, query, reader.published)
        assert words is not None
        every: dict[int, float] = dict(search.reaching(words, 0, None, most=None).rows(reader.connection))
        best = search.best_by_words(reader.connection, words, None, count=count)

    shown = sorted((round(min(1, score / words.ideal), 6) for score in every.values()), reverse=True)
    found = sorted((round(min(1, score / words.ideal), 6) for score in best.values()), reverse=True)
    assert found[:count] == pytest.approx(shown[:count], abs=1e-9)
    if shown[count - 1] < 1:
        least = shown[count - 1]
        assert {id_ for id_, score in every.items() if score / words.ideal >= least} <= best.keys()


def test_an_index_tells_most_sentences_that_score_too_little(varied: PostgresStore) -> None:
    with varied.read() as reader:
        words = search.weigh_words(reader.connection, VARIED_QUESTIONS[1], reader.published)
        assert words is not None
        every = sorted(row[1] for row in search.reaching(words, 0, None, most=None).rows(reader.connection))
        able = search.reaching(words, every[-50], None, most=None).rows(reader.connection)

    assert len(every) > 2000
    assert len(able) < 150


@pytest.mark.parametrize("query", VARIED_QUESTIONS)
@pytest.mark.parametrize("filters", [NO_FILTERS, Filters(("003.md", "070.md"), {}, (), None, None)])
def test_many_sentences_are_ranked_as_in_a_folder(
    varied: PostgresStore, tmp_path_factory: pytest.TempPathFactory, query: Query, filters: Filters
) -> None:
    folder = tmp_path_factory.getbasetemp() / "varied"
    embedded = EmbeddedStore(folder, faiss_threshold=10**9)
    if not folder.exists():
        write(embedded, list(random_words(100)))
    asked = replace(query, filters=filters, candidates=30)

    def ranked(found: Candidates) -> list[tuple[float, str]]:
        return sorted((-item.lexical, item.sentence.id) for item in found.items)

    here, there = ranked(found_by(embedded, asked)), ranked(found_by(varied, asked))
    assert [score for score, _ in there] == pytest.approx([score for score, _ in here], abs=2e-6)
    assert len(here) == 30
    clear = [found for found in here if found[0] < here[-1][0] - 1e-5]  # not at the cut
    assert {id_ for _, id_ in clear} <= {id_ for _, id_ in there}


def test_common_words_alone_are_found_where_they_are_enough(large: PostgresStore) -> None:
    """`sentence` is in every row, so that it is looked up only where the rare word leaves places free."""
    found = found_by(large, question("sentence", "doc007.md", candidates=150))
    within = [item for item in found.items if item.sentence.doc_id == "doc007.md"]

    assert len(found.items) == 150
    assert len(within) == 100
    others = {item.lexical for item in found.items} - {item.lexical for item in within}
    assert max(others) < min(item.lexical for item in within)


def test_a_small_change_of_a_large_index_is_found(large: PostgresStore) -> None:
    write(large, [split("extra.md", "Quinoa tolerates salt.")])
    found = found_by(large, question("quinoa", vector="Quinoa tolerates salt.", candidates=3))

    first = max(found.items, key=lambda item: item.dense)
    assert (first.sentence.text, first.found_by) == ("Quinoa tolerates salt.", ("lexical", "dense"))
    write(large, remove=["extra.md"])
    assert found_by(large, question("quinoa")).items == ()


# Connections that are lost


def end_connections(connection: Connection) -> None:
    connection.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE application_name = 'quoth' AND pid <> pg_backend_pid()"
    )


def test_a_question_is_asked_again_over_a_new_connection(store: PostgresStore, connection: Connection) -> None:
    write(store, CORPUS)
    with store.read() as reader:
        before = reader.search(question("canola", vector="canola"))
        end_connections(connection)
        after = reader.search(question("canola", vector="canola"))
        end_connections(connection)
        assert reader.document("canola/guide.md") is not None
    assert after.items == before.items
    end_connections(connection)  # now of one that waits in the pool
    assert set(store.stored_documents()) == {split.document.id for split in CORPUS}


def test_a_reader_never_goes_on_with_another_generation(store: PostgresStore, connection: Connection) -> None:
    write(store, CORPUS)
    with store.read() as reader:
        write(store, [split("new.md", "A new sentence.")])
        end_connections(connection)
        with pytest.raises(IndexFault, match="changed"):
            reader.document("canola/guide.md")
    with store.read() as reader:
        assert reader.document("new.md") is not None


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://me:secret@127.0.0.1:1/nowhere", "cannot be reached"),
        ("postgresql://me:secret@/nowhere?host=/nonexistent", "cannot be reached"),
    ],
)
def test_a_server_that_is_not_there_is_named_without_the_password(url: str, said: str) -> None:
    with pytest.raises(IndexFault, match=said) as raised:
        PostgresStore(url, schema="quoth", vectors="vector", ef_search=100).stored_documents()

    assert "secret" not in str(raised.value) + raised.value.hint
    assert raised.value.hint


def test_a_url_that_cannot_be_read_is_not_repeated() -> None:
    with pytest.raises(SettingsError) as raised:
        PostgresStore("postgresql//me:secret@host/db", schema="quoth", vectors="vector", ef_search=100)

    assert "secret" not in str(raised.value)
    assert raised.value.__cause__ is None


def test_a_database_that_is_not_there_is_a_fault_with_a_next_step(database_url: str) -> None:
    url = make_conninfo(database_url, dbname="no_such_database")
    with pytest.raises(IndexFault, match="no_such_database") as raised:
        PostgresStore(url, schema="quoth", vectors="vector", ef_search=100).stored_documents()

    assert "createdb" in raised.value.hint


def test_rows_are_vectors_as_the_server_sends_them() -> None:
    vectors = rows.vectors_to_keep(HashEmbedder().embed(["one", "two"]), kind="vector")
    sent = [rows.packed(vector) for vector in vectors]

    assert np.array_equal(rows.vectors(sent, kind="vector", dimension=32), vectors)
