"""Uploads fit in what is allowed, in all and for each key; a body that drips ends in time."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from starlette.types import Message

from quoth.http.app import make_app
from quoth.http.guard.api_keys import KeyScope
from quoth.http.guard.request_bounds import BoundedBody
from quoth.http.http_faults import HttpFault
from quoth.http.job_file import JobFile
from quoth.http.jobs import JobTable, OverQuota, UploadQuota
from quoth.http.response_types import ErrorDetailJson
from quoth.http.upload_folder import UploadFolder

from .job_places import database_at
from .serving import bearer, begun, call, error_of, new_key, opened, plan, sends, wait_for

EACH_TWO = UploadQuota(documents=3, bytes=0, documents_each=2, bytes_each=100)


@pytest.fixture
def jobs(place: str) -> JobTable:
    return JobTable(database_at(place))


def put(jobs: JobTable, doc_id: str, owner: str | None, size: int, quota: UploadQuota = EACH_TWO) -> None:
    """Accept an upload and do it."""
    jobs.add(f"{doc_id} {size}", "put", doc_id, owner=owner, size=size, quota=quota)
    for job in jobs.claim():
        jobs.finish(job, error=None, notes=())


def test_a_key_may_upload_so_many_documents_and_bytes(jobs: JobTable) -> None:
    put(jobs, "a.md", "ada", 60)
    with pytest.raises(OverQuota) as caught:
        put(jobs, "b.md", "ada", 41)
    assert (caught.value.own, caught.value.bytes) == (True, 100)
    put(jobs, "b.md", "ada", 40)
    with pytest.raises(OverQuota):
        put(jobs, "c.md", "ada", 0)
    put(jobs, "c.md", "eve", 100)
    with pytest.raises(OverQuota) as caught:
        put(jobs, "d.md", "zoe", 1)
    assert (caught.value.own, caught.value.documents) == (False, 3)


def test_a_document_that_is_replaced_or_removed_makes_room(jobs: JobTable) -> None:
    put(jobs, "a.md", "ada", 90)
    put(jobs, "a.md", "ada", 100)
    jobs.add("x", "delete", "a.md", owner="ada")
    with pytest.raises(OverQuota):
        put(jobs, "b.md", "ada", 1)  # it is there until the job is done
    for job in jobs.claim():
        jobs.finish(job, error=None, notes=())
    put(jobs, "b.md", "ada", 100)


def test_what_waits_counts_and_what_failed_does_not(jobs: JobTable) -> None:
    jobs.add("1", "put", "a.md", owner="ada", size=60, quota=EACH_TWO)
    with pytest.raises(OverQuota):
        jobs.add("2", "put", "b.md", owner="ada", size=60, quota=EACH_TWO)
    jobs.add("3", "put", "a.md", owner="ada", size=100, quota=EACH_TWO)  # it will replace the first
    while claimed := jobs.claim():
        for job in claimed:
            jobs.finish(job, error=ErrorDetailJson("c", "m", "h"), notes=())
    put(jobs, "b.md", "ada", 100)


def test_a_table_from_before_there_were_owners_is_taken_up(tmp_path: Path) -> None:
    path = tmp_path / "service.db"
    JobFile(path)
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE uploads")
        for column in ("owner", "bytes"):
            connection.execute(f"ALTER TABLE jobs DROP COLUMN {column}")
        connection.execute(
            "INSERT INTO jobs (id, kind, doc_id, state, created) VALUES ('old', 'put', 'a.md', 'queued', '')"
        )
    connection.close()
    folder = UploadFolder(tmp_path / "files")
    (folder.path / "notes").mkdir()
    (folder.path / "notes" / "b.md").write_bytes(b"12345")
    (folder.path / "notes" / "b.md.meta.yaml").write_bytes(b"title: B")
    (folder.path / ".incoming" / "half").write_bytes(b"123")
    jobs = JobTable(JobFile(path, uploaded=folder.files))

    assert [(job.id, job.owner, job.bytes) for job in jobs.unfinished()] == [("old", None, 0)]
    jobs.check_quota("c.md", owner="ada", size=5, quota=UploadQuota(0, 10, 0, 0))
    with pytest.raises(OverQuota):
        jobs.check_quota("c.md", owner="ada", size=6, quota=UploadQuota(0, 10, 0, 0))


def test_an_upload_over_the_quota_is_refused_with_what_to_do(tmp_path: Path) -> None:
    tokens = [new_key(tmp_path / "state", KeyScope.WRITE)[1] for _ in range(2)]
    given = plan(tmp_path / "index", tmp_path / "state", auth=True, key_quota_documents=1, key_quota_mb=1)
    with opened(given, base_url="https://quoth.example") as client:

        def upload(doc_id: str, token: str, data: Any = b"# A\n\nSow peas in March.\n") -> Any:  # noqa: ANN401
            return client.put(f"/documents/{doc_id}", content=data, headers=bearer(token))

        large = upload("large.md", tokens[0], b"x" * (2**20 + 1))
        assert (large.status_code, error_of(large)["code"]) == (413, "quota")
        untold = upload("large.md", tokens[0], iter([b"x" * 2**19] * 3))  # without its length
        assert (untold.status_code, error_of(untold)["code"]) == (413, "quota")
        made = upload("a.md", tokens[0])
        assert made.status_code == 202
        again = upload("b.md", tokens[0])
        assert (again.status_code, error_of(again)["code"]) == (413, "quota")
        assert error_of(again)["message"] == "you have uploaded as much as there is room for: 1 documents or 1 MB"
        assert "service.key_quota_mb" in error_of(again)["hint"]
        assert upload("b.md", tokens[1]).status_code == 202
        wait_for(lambda: client.get(made.headers["location"], headers=bearer(tokens[0])).json()["finished"])
        assert upload("a.md", tokens[0]).status_code == 202
        assert list((tmp_path / "state" / "files" / ".incoming").glob("*.aside")) == []


def test_jobs_are_listed_for_who_started_them(tmp_path: Path) -> None:
    ada, eve = (new_key(tmp_path / "state", KeyScope.WRITE)[1] for _ in range(2))
    with opened(plan(tmp_path / "index", tmp_path / "state", auth=True), base_url="https://quoth.example") as client:
        made = client.put("/documents/a.md", content=b"# A\n\nSow peas in March.\n", headers=bearer(ada))
        listed = [client.get("/jobs", headers=bearer(token)).json()["jobs"] for token in (ada, eve)]
        assert [[job["doc_id"] for job in jobs] for jobs in listed] == [["a.md"], []]
        assert client.get(made.headers["location"], headers=bearer(ada)).status_code == 200
        assert error_of(client.get(made.headers["location"], headers=bearer(eve)))["code"] == "no-job"


def dripping(pieces: int, seconds: float) -> Any:  # noqa: ANN401 - an ASGI receive
    """A client that sends one byte after each pause."""
    left = iter(range(pieces, -1, -1))

    async def receive() -> Message:
        await asyncio.sleep(seconds)
        return {"type": "http.request", "body": b"x", "more_body": next(left) > 0}

    return receive


def test_a_body_that_drips_ends_though_no_pause_is_long() -> None:
    async def main() -> int:
        body = BoundedBody(
            dripping(10_000, 0.01),
            {"transfer-encoding": "chunked"},
            most=10**6,
            setting="x",
            slow_seconds=0.2,
            bytes_per_second=1_000,
        )
        count = 0
        with pytest.raises(HttpFault) as caught:
            while True:
                await body()
                count += 1
        assert (caught.value.status_code, caught.value.code) == (408, "slow")
        assert body.unread
        return count

    assert 1 <= asyncio.run(main()) < 100


def test_a_body_that_comes_fast_enough_may_take_longer_than_a_pause() -> None:
    async def main() -> int:
        body = BoundedBody(dripping(40, 0.01), {}, most=10**6, setting="x", slow_seconds=0.2, bytes_per_second=1)
        count = 0
        while (await body())["more_body"]:
            count += 1
        return count

    assert asyncio.run(main()) == 40


def test_a_service_ends_a_request_that_drips(tmp_path: Path) -> None:
    app = make_app(plan(tmp_path / "index", tmp_path / "state", min_kb_per_second=4), slow_seconds=0.3)

    async def main() -> tuple[int, str]:
        async with begun(app):
            exchange = await call(
                app,
                "PUT",
                "/documents/a.md",
                receive=dripping(10**6, 0.02),
                headers={"transfer-encoding": "chunked"},
            )
            fine = await call(app, "GET", "/healthz", receive=sends(b""))
            assert fine.status == 200
            return exchange.status, exchange.headers["connection"]

    assert asyncio.run(main()) == (408, "close")
