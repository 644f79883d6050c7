"""Uploads of several machines that serve one index in a database: each of them knows the jobs and files of all."""

from __future__ import annotations

import hashlib
import json
import tracemalloc
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from quoth.errors import JobsUnavailable
from quoth.http.job_file import JobFile
from quoth.http.job_runner import JobRunner
from quoth.http.jobs import JobTable
from quoth.http.service import ServeOptions
from quoth.http.shared_uploads import SharedUploads
from quoth.library import ingest_named
from quoth.protocols import Progress

from ..command_line import PATIENCE
from .job_places import database_at
from .serving import wait_for
from .test_runner import Works
from .uploading import Uploads, plan, program, serving

psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")
sql = pytest.importorskip("psycopg.sql", reason="psycopg is not installed")
lock_number = pytest.importorskip("quoth.stores.postgres.postgres_publish").lock_number

RYE, ASKED = b"# Rye\n\nRye ripens in August on the northern fields.\n", "When does rye ripen on the northern fields?"
ANSWER = ["Rye ripens in August on the northern fields."]
MEGABYTE = 2**20


@dataclass(frozen=True, slots=True)
class Database:
    """A schema of a database without an index."""

    url: str
    schema: str
    folder: Path

    @property
    def place(self) -> str:
        return f"{self.url}|{self.schema}"

    def machine(self, name: str, **settings: str) -> ServeOptions:
        """What `quoth serve` is told on a machine of that name, which has a state of its own."""
        return plan(self.url, self.folder / name, store__schema=self.schema, **settings)

    def execute(self, statement: str, *values: object) -> list[Any]:
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(sql.SQL("SET search_path = {}, public").format(sql.Identifier(self.schema)))
            cursor = connection.execute(statement, values)
            return cursor.fetchall() if cursor.description else []


@pytest.fixture
def database(database_url: str, schema: str, tmp_path: Path) -> Database:
    return Database(database_url, schema, tmp_path)


@pytest.fixture
def two(database: Database) -> Iterator[tuple[Uploads, Uploads]]:
    with serving(database.machine("a")) as a, serving(database.machine("b")) as b:
        yield a, b


def test_what_is_uploaded_at_one_machine_is_seen_and_served_by_the_other(two: tuple[Uploads, Uploads]) -> None:
    a, b = two
    accepted = a.put("rye.md", RYE, title="Rye")

    assert b.ended(accepted)["state"] == "done"
    assert b.client.get("/jobs").json() == a.client.get("/jobs").json()
    for machine in two:
        assert machine.answer(ASKED) == ANSWER
        assert machine.get("rye.md", "/original").content == RYE
        assert machine.get("rye.md").json()["has_original"] is True
    newer = RYE.replace(b"August", b"July")
    assert a.ended(b.put("rye.md", newer))["state"] == "done"  # neither takes it for a document from elsewhere
    assert a.get("rye.md", "/original").content == newer
    assert b.delete_done("rye.md")["notes"] == []
    assert a.get("rye.md").status_code == 404


def test_a_machine_that_is_killed_in_the_middle_of_a_job_is_stood_in_for(database: Database) -> None:
    options = ("--set", f"store.schema={database.schema}")
    log = database.folder / "log"
    with ExitStack() as stack:
        a, process = stack.enter_context(program(database.url, database.folder / "a", *options, log=log))
        assert a.put_done("first.md", "Oats are sown first.\n")["state"] == "done"
        holder = stack.enter_context(psycopg.connect(database.url))
        holder.execute(
            sql.SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE").format(sql.Identifier(database.schema, "staged_vectors"))
        )
        accepted = a.put("rye.md", RYE)
        at = accepted.headers["location"]
        wait_for(lambda: a.client.get(at).json()["state"] == "running")
        b, _ = stack.enter_context(program(database.url, database.folder / "b", *options, log=log))
        assert b.client.get(at).json()["state"] == "running"
        process.kill()
        process.wait(PATIENCE)
        holder.rollback()

        assert b.ended(accepted)["state"] == "done"
        assert b.get("rye.md", "/original").content == RYE
        a = stack.enter_context(serving(database.machine("a")))
        assert [machine.answer(ASKED) for machine in (a, b)] == [ANSWER] * 2
        assert [machine.get("first.md", "/original").status_code for machine in (a, b)] == [200] * 2
    assert "Traceback" not in log.read_text()


def test_a_worker_that_loses_its_lock_gives_up_before_it_writes(database: Database) -> None:
    """Another may have taken over, and done later jobs of the same document."""
    works = Works(database.folder / "a", shared=database.place)
    job = works.put("a.md", b"text")
    ended = (
        "SELECT pg_terminate_backend(pid) FROM pg_locks "
        "WHERE locktype = 'advisory' AND objid = 4294967294 AND classid::bigint = %s"
    )
    key = lock_number(f"quoth {database.schema}") % 2**32
    works.index.trouble = lambda _: assert_one(database.execute(ended, key))

    with pytest.raises(JobsUnavailable):
        works.runner.run_all()
    works.index.trouble = lambda _: None
    works.again().runner.run_all()
    assert works.how(job) == "done"
    assert works.files() == {"a.md": b"text"}
    stored = works.jobs.get(job)
    assert stored is not None
    assert stored.tries == 2


def assert_one(found: list[Any]) -> None:
    assert found == [(True,)]


def test_each_index_has_jobs_and_a_worker_of_its_own(database: Database) -> None:
    other = f"{database.schema}_other"
    try:
        tables = [JobTable(database_at(f"{database.url}|{schema}")) for schema in (database.schema, other)]
        tables[0].add("x", "put", "a.md")
        with tables[0].alone() as first, tables[1].alone() as second:
            assert (first, second) == (True, True)
            assert ([job.id for job in tables[0].claim()], tables[1].claim()) == (["x"], ())
    finally:
        database.execute(f'DROP SCHEMA IF EXISTS "{other}" CASCADE')


def test_only_a_chunk_of_a_file_is_ever_in_memory(database: Database) -> None:
    files = SharedUploads(database_at(database.place), database.folder / "copies")
    data = bytes(range(256)) * (24 * MEGABYTE // 256)
    files.incoming("x").write_bytes(data)
    sha256 = hashlib.sha256(data).hexdigest()
    tracemalloc.start()
    try:
        files.keep("x", "a.pdf", sha256)
        assert not files.incoming("x").exists()
        files.install("x", "a.pdf")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert (files.path / "a.pdf").read_bytes() == data
    assert peak < 8 * MEGABYTE
    assert files.content("a.pdf", sha256) == data


def test_a_file_that_is_damaged_in_the_database_is_neither_ingested_nor_given_out(database: Database) -> None:
    with serving(database.machine("a")) as machine:
        machine.put_done("rye.md", RYE)
        database.execute("UPDATE upload_chunks SET data = data || ' '::bytea")
        assert machine.get("rye.md", "/original").status_code == 404
    works = Works(database.folder / "b", shared=database.place)
    job = works.put("a.md", b"text")
    database.execute("UPDATE upload_chunks SET data = data || ' '::bytea WHERE job = %s", job)
    works.runner.run_all()
    assert works.how(job) == "upload-lost"


def test_names_that_a_database_cannot_hold_are_those_of_no_document(two: tuple[Uploads, Uploads]) -> None:
    for path in ("/documents/a%00.md", "/documents/%ed%a0%80.md", "/jobs/%00", "/jobs/%ed%a0%80"):
        method = "GET" if path.startswith("/jobs") else "DELETE"
        assert two[0].client.request(method, path).status_code == 404, path


def test_a_service_whose_role_only_reads_answers_and_takes_no_uploads(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(database.machine("a")) as a:
        a.put_done("rye.md", RYE)
    role = f"{database.schema}_reader"
    database.execute(f"CREATE ROLE {role}")
    database.execute(f"GRANT USAGE ON SCHEMA {database.schema} TO {role}")
    database.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {database.schema} TO {role}")
    database.execute(f"REVOKE ALL ON jobs, uploads, upload_files, upload_chunks FROM {role}")
    try:
        url = f"{database.url}{'&' if '?' in database.url else '?'}options=-c%20role%3D{role}"
        with serving(plan(url, database.folder / "b", store__schema=database.schema)) as b:
            assert b.answer(ASKED) == ANSWER
            assert b.get("rye.md").json()["has_original"] is False
            assert b.get("rye.md", "/original").status_code == 404
            refused = b.put("oats.md", b"Oats are sown in March.\n")
            assert (refused.status_code, refused.json()["error"]["code"]) == (503, "jobs")
            wait_for(lambda: "jobs cannot be done" in caplog.text)
    finally:
        database.execute(f"DROP OWNED BY {role}")
        database.execute(f"DROP ROLE {role}")


def old_service(options: ServeOptions) -> JobRunner:
    """Uploads as a service kept them before the database did, in its state folder."""

    def ingest(doc_ids: Any, progress: Progress) -> Any:  # noqa: ANN401
        return ingest_named(
            runner.files.path, doc_ids, options.index, profile=None, overrides=options.overrides, progress=progress
        )

    runner = JobRunner(options.state, ingest=ingest, remove=lambda _: ())
    return runner


def accept(runner: JobRunner, job_id: str, doc_id: str, data: bytes, owner: str, **fields: str) -> None:
    runner.files.incoming(job_id).write_bytes(data)
    runner.files.describe(job_id, fields)
    runner.jobs.add(job_id, "put", doc_id, owner=owner, size=len(data))


def test_what_a_machine_kept_before_is_moved_into_the_database(database: Database) -> None:
    given = database.machine("a")
    old = old_service(given)
    accept(old, "1", "rye.md", RYE, "ada", title="Rye")
    accept(old, "2", "lost.md", b"\0", "ada")
    old.run_all()
    (given.state / "files" / "stray.md").write_bytes(b"Of another index.\n")
    accept(old, "3", "oats.md", b"Oats are sown in March.\n", "eve", title="Oats")
    accept(old, "4", "rye.md", RYE.replace(b"August", b"July"), "ada")
    old.jobs.claim()
    old.files.install("4", "rye.md")  # and here it was killed
    with serving(database.machine("b")) as b, serving(given) as a:
        wait_for(lambda: not (given.state / "service.db").exists())
        wait_for(lambda: {b.client.get(f"/jobs/{one}").json().get("state") for one in "34"} == {"done"})
        jobs = JobTable(database_at(database.place))

        assert [(job.id, job.state, job.owner) for job in jobs.recent(9)] == [
            ("4", "done", "ada"),
            ("3", "done", "eve"),
            ("2", "failed", "ada"),
            ("1", "done", "ada"),
        ]
        assert sorted(jobs.uploads()) == [("oats.md", "eve", 24), ("rye.md", "ada", len(RYE) - 2)]
        assert b.get("rye.md", "/original").content == RYE.replace(b"August", b"July")
        assert b.get("oats.md").json()["title"] == "Oats"
        assert a.put_done("rye.md", RYE)["state"] == "done"
        assert b.get("stray.md").status_code == 404
        assert (given.state / "files.moved" / "stray.md").exists()
        assert (given.state / "service.db.moved").exists()


def test_a_move_that_is_cut_off_is_made_whole(database: Database) -> None:
    """Each step may come twice."""
    given = database.machine("a")
    old = old_service(given)
    accept(old, "1", "rye.md", RYE, "ada")
    old.run_all()
    accept(old, "2", "oats.md", b"Oats are sown in March.\n", "eve")
    shared = JobTable(database_at(database.place))
    files = SharedUploads(database_at(database.place), given.state / "copies")
    for job in old.jobs.unfinished():  # what a process did before it was killed
        files.incoming(job.id).write_bytes(b"Oats are sown in March.\n")
        files.keep(job.id, job.doc_id, hashlib.sha256(b"Oats are sown in March.\n").hexdigest())
    with serving(given) as a:
        wait_for(lambda: a.client.get("/jobs/2").json().get("state") == "done")
        assert a.get("oats.md", "/original").status_code == 200
        assert a.get("rye.md", "/original").content == RYE
    assert shared.unfinished() == ()


def test_uploads_wait_until_the_old_ones_are_moved(database: Database) -> None:
    given = database.machine("a")
    accept(old_service(given), "1", "rye.md", RYE, "ada")
    with JobFile(given.state / "service.db").alone(), serving(given) as a:  # as if a process of the old version ran
        refused = a.put("rye.md", b"Rye is sown late.\n")
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "busy")
        assert a.client.get("/jobs").status_code == 503
    with serving(given) as a:
        wait_for(lambda: a.client.get("/jobs/1").json().get("state") == "done")
        assert a.put_done("rye.md", b"Rye is sown late.\n")["state"] == "done"


def test_the_audit_of_each_machine_says_what_it_did(database: Database) -> None:
    with serving(database.machine("a")) as a:
        job = a.put_done("rye.md", RYE)
        wait_for(lambda: len((a.state / "audit.jsonl").read_text().splitlines()) == 2)
        lines = [json.loads(line) for line in (a.state / "audit.jsonl").read_text().splitlines()]
    assert [(line["job"], line["outcome"]) for line in lines] == [(job["id"], "accepted"), (job["id"], "done")]
