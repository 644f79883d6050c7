"""Every command on an index in a PostgreSQL database, as on one in a folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from stores.postgres_server import drop_schema, new_schema, running_server

from .command_line import HASH, Ran, run, write_files
from .small_corpus import CANOLA, FILES, PROFILE

SECRET = "sw0rdfish"  # noqa: S105 - of nobody


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with running_server() as url:
        yield url


class Database:
    """The small corpus in a schema of its own, and in a folder beside it."""

    def __init__(self, url: str, schema: str, place: Path) -> None:
        self.url, self.schema, self.place = url, schema, place
        self.variables = {**HASH, "QUOTH_STORE_SCHEMA": schema}
        self.folder = write_files(place / "fields", FILES)
        self.profile = place / "fields.yaml"
        self.profile.write_text(PROFILE, encoding="utf-8")

    def run(self, *arguments: str | Path, stdin: bytes = b"") -> Ran:
        return run(*arguments, "--store", self.url, stdin=stdin, variables=self.variables)

    def beside(self, *arguments: str | Path, stdin: bytes = b"") -> Ran:
        return run(*arguments, "--index", self.place / "index", stdin=stdin)


@pytest.fixture(scope="module")
def database(address: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    one = Database(address, new_schema(), tmp_path_factory.mktemp("database"))
    for ran in (
        one.run("ingest", one.folder, "--profile", one.profile),
        one.beside("ingest", one.folder, "--profile", one.profile),
    ):
        assert ran.code == 0, ran.talk
    yield one
    drop_schema(address, one.schema)


def objects(ran: Ran) -> list[dict[str, Any]]:
    assert ran.code == 0, ran.talk
    return ran.objects


@pytest.mark.parametrize(
    "arguments",
    [
        ("ask", CANOLA, "--json"),
        ("ask", "Why does Halvorsen sow canola?", "--json"),
        ("ask", "Sow wheat", "--tag", "crop=wheat", "--json"),
        ("retrieve", CANOLA, "--json", "--set", "cache.memory_mb=0"),
        ("docs", "--json"),
        ("show", "canola.md", "--json"),
        ("show", "canola.md", "--sentences", "--json"),
        ("show", "canola.md", "--passages", "--json"),
    ],
    ids=lambda arguments: " ".join(arguments)[:40],
)
def test_the_output_is_that_of_a_folder_to_the_byte(database: Database, arguments: tuple[str, ...]) -> None:
    one, other = database.run(*arguments), database.beside(*arguments)

    assert one.code == other.code == 0, one.talk
    assert one.data == other.data


def test_a_batch_and_its_verification(database: Database, tmp_path: Path) -> None:
    questions = tmp_path / "questions.txt"
    questions.write_text(f"{CANOLA}\nSow wheat at what depth?\n", encoding="utf-8")
    assert database.run("batch", questions, "-o", tmp_path / "run.jsonl", "-q").code == 0

    assert objects(database.run("verify", tmp_path / "run.jsonl", "--json"))[0]["failures"] == []
    assert objects(database.run("verify", "--json"))[0]["failures"] == []


def test_an_evaluation(database: Database, tmp_path: Path) -> None:
    text = (database.folder / "canola.md").read_text(encoding="utf-8")
    start = text.index(CANOLA)
    gold = [{"doc_id": "canola.md", "start": start, "end": start + len(CANOLA), "text": CANOLA}]
    line = {"id": "1", "question": CANOLA, "answerable": True, "gold": gold, "gold_mode": "any"}
    questions = tmp_path / "questions.jsonl"
    questions.write_text(json.dumps(line), encoding="utf-8")

    assert objects(database.run("eval", questions, "--json", "-q"))[0]["questions"]


def test_the_whole_index_is_exported(database: Database, tmp_path: Path) -> None:
    variables = database.variables | {"QUOTH_STORE": database.url}
    assert run("export", tmp_path / "out", variables=variables).code == 0

    assert len((tmp_path / "out" / "documents.jsonl").read_text(encoding="utf-8").splitlines()) == len(FILES)


def test_the_status_names_the_place_and_its_size(database: Database) -> None:
    (status,) = objects(database.run("status", "--json"))

    assert status["documents"] == len(FILES)
    assert status["bytes"] > 0
    assert status["index"].startswith("postgresql://")


def test_documents_are_removed_and_come_back(database: Database) -> None:
    assert database.run("remove", "wheat.md").code == 0
    assert "wheat.md" not in [one["doc_id"] for one in objects(database.run("docs", "--json"))]

    ran = database.run("ingest", database.folder)
    assert (ran.code, "1 documents read, 3 unchanged" in ran.talk) == (0, True), ran.talk


def test_a_schema_without_an_index_says_how_to_make_one(address: str) -> None:
    ran = run("ask", CANOLA, "--store", address, variables={**HASH, "QUOTH_STORE_SCHEMA": new_schema()})

    assert ran.code == 1
    assert "there is no index" in ran.talk and "Ingest something into it" in ran.talk


def test_a_server_that_is_not_there_is_named_without_the_password() -> None:
    url = f"postgresql://someone:{SECRET}@127.0.0.1:9/nowhere?connect_timeout=2"
    for arguments in (("ask", CANOLA), ("status",), ("ingest", ".")):
        ran = run(*arguments, "--store", url)
        assert ran.code == 1
        assert "127.0.0.1" in ran.talk
        assert SECRET not in ran.talk + ran.text


def test_many_indexes_live_in_one_database(database: Database, tmp_path: Path) -> None:
    other = Database(database.url, new_schema(), tmp_path)
    (other.folder / "canola.md").unlink()
    try:
        assert other.run("ingest", other.folder).code == 0
        assert len(objects(other.run("docs", "--json"))) == len(FILES) - 1
        assert len(objects(database.run("docs", "--json"))) == len(FILES)
        with psycopg.connect(database.url) as connection:
            found = connection.execute("SELECT count(*) FROM pg_namespace WHERE nspname = ANY(%s)", ([other.schema],))
            assert found.fetchone() == (1,)
    finally:
        drop_schema(database.url, other.schema)


def test_the_query_log_can_live_in_the_database(database: Database) -> None:
    variables = database.variables | {"QUOTH_LOG_QUERIES": database.url, "QUOTH_STORE": database.url}
    assert run("retrieve", CANOLA, "--json", variables=variables).code == 0

    found = run("status", "--quality", "--json", variables=variables).object
    assert [one["question"] for one in found["questions"]] == [CANOLA]


def test_the_tables_are_made_and_looked_after_by_command(address: str) -> None:
    schema = new_schema()
    variables = {**HASH, "QUOTH_STORE_SCHEMA": schema, "QUOTH_STORE": address}
    try:
        assert "made, at version" in run("migrate", variables=variables).text
        assert "already" in run("migrate", variables=variables).text
        assert run("maintain", variables=variables).code == 1  # nothing is published yet
    finally:
        drop_schema(address, schema)


def test_maintenance_says_that_all_is_well(database: Database) -> None:
    (found,) = objects(database.run("maintain", "--json", "-q"))
    assert found["verdict"] == "good"
    assert "All is well." in database.run("maintain", "--reindex", "-q").text


@pytest.mark.parametrize("command", ["migrate", "maintain"])
def test_a_folder_needs_neither(tmp_path: Path, command: str) -> None:
    ran = run(command, "--index", tmp_path)

    assert ran.code == 1
    assert "--store postgresql://" in ran.talk


@pytest.mark.parametrize("place", [f"postgresql+psycopg://u:{SECRET}@h/db", f"mysql://u:{SECRET}@h/db"])
@pytest.mark.parametrize("command", [("status",), ("migrate",), ("ingest", ".")], ids=lambda command: command[0])
def test_an_address_of_something_else_is_no_folder(place: str, command: tuple[str, ...], tmp_path: Path) -> None:
    ran = run(*command, "--store", place, folder=tmp_path)

    assert ran.code == 1
    assert "postgresql://user@host/database" in ran.talk
    assert SECRET not in ran.talk
    assert list(tmp_path.iterdir()) == []


def test_long_types_tags_and_words_are_taken(database: Database, tmp_path: Path) -> None:
    other = Database(database.url, new_schema(), tmp_path)
    long = "".join(chr(0x4E00 + number % 5000) for number in range(6000))
    text = f"---\ndocument_type: {long}\ntags: {{crop: {long}}}\n---\n\nSow it.\n"
    write_files(other.folder, {"long.md": text})
    try:
        ran = other.run("ingest", other.folder, "--profile", other.profile)
        assert ran.code == 0, ran.talk
        found = objects(
            other.run("ask", "Sow it", "--tag", f"crop={long}", "--json", "--set", "decision.abstain=false")
        )
        assert {one["doc_id"] for one in found[0]["answer_sentences"]} == {"long.md"}
    finally:
        drop_schema(database.url, other.schema)


def test_the_summary_names_the_schema_that_was_written(database: Database, tmp_path: Path) -> None:
    other = Database(database.url, new_schema(), tmp_path)
    try:
        arguments = ("ingest", other.folder, "--store", database.url, "--set", f"store.schema={other.schema}")
        assert other.schema in run(*arguments, variables=HASH).talk
    finally:
        drop_schema(database.url, other.schema)


def test_problems_are_those_of_the_same_folder_in_a_folder(address: str, tmp_path: Path) -> None:
    schema = new_schema()
    one = Database(address, schema, tmp_path)
    references = "".join(
        f"{n}. Lee S, Kim J. On soils, part {n}. J. Soil Sci. 20{n:02d};12(3):45-{n + 46}. doi:10.1/{n}\n\n"
        for n in range(1, 15)
    )
    bad: dict[str, bytes | str] = {
        "refs.md": f"# References\n\n{references}",
        "empty.md": b"",
        "nul.txt": b"x\0y",
        "nul\x01.pdf": b"%PDF-1.4",
    }
    write_files(one.folder, bad)
    try:
        assert one.run("ingest", one.folder, "--profile", one.profile).code == 1
        assert one.beside("ingest", one.folder, "--profile", one.profile).code == 1
        found = objects(one.run("docs", "--problems", "--json"))
        assert [problem["doc_id"] for problem in found] == sorted(bad)
        assert found == objects(one.beside("docs", "--problems", "--json"))

        (one.folder / "nul.txt").write_text("Roll the field.", encoding="utf-8")
        assert one.run("ingest", one.folder).code == 1
        assert "nul.txt" not in [problem["doc_id"] for problem in objects(one.run("docs", "--problems", "--json"))]
    finally:
        drop_schema(address, schema)
