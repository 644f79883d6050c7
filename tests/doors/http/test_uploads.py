"""Uploads over HTTP: what is taken, what is refused and how, and that nothing is lost or left behind."""

from __future__ import annotations

import asyncio
import hashlib
import http.client
import json
import resource
import shutil
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from documents.formats.docx_files import p, run, word
from documents.formats.pdf_files import Sheet, lines, pdf
from quoth.http.app import make_app
from quoth.http.guard.api_keys import KeyFile, KeyScope
from quoth.http.job_file import JobFile
from quoth.http.jobs import JobTable
from quoth.library import ingest_paths
from quoth.stores.embedded.generations import writer_lock

from ..command_line import PATIENCE
from ..small_corpus import SmallCorpus
from .uploading import Uploads, address, plan, program, serving

MEGABYTE = 2**20


@pytest.fixture(scope="module", params=["folder", "database"])
def uploads(
    request: pytest.FixtureRequest, small: SmallCorpus, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Uploads]:
    """A service over a copy of the small corpus; each test has documents of its own."""
    place = tmp_path_factory.mktemp("uploads")
    if request.param == "folder":
        shutil.copytree(small.index, place / "index")
        with serving(plan(place / "index", place / "state", service__max_upload_mb="1")) as found:
            yield found
        return
    url = request.getfixturevalue("database_url")
    from stores.postgres_server import drop_schema, new_schema

    schema = new_schema()
    made = plan(url, place / "state", service__max_upload_mb="1", store__schema=schema)
    ingest_paths([small.folder], url, profile=str(small.profile), overrides=made.overrides)
    with serving(made) as found:
        yield found
    drop_schema(url, schema)


def audited(uploads: Uploads) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (uploads.state / "audit.jsonl").read_bytes().splitlines()]


def error(response: Any) -> tuple[int, str]:  # noqa: ANN401
    return response.status_code, response.json()["error"]["code"]


def _pdf(*sentences: str) -> bytes:
    return pdf([Sheet(lines(sentence, size=12)) for sentence in sentences])


_RTF = rb"{\rtf1\ansi Buckwheat ripens in eleven weeks.\par}"
FILES: dict[str, bytes] = {
    "buckwheat.md": b"# Buckwheat\n\nBuckwheat ripens in eleven weeks.\n",
    "buckwheat.markdown": b"Buckwheat ripens in eleven weeks.\n",
    "buckwheat.txt": b"Buckwheat ripens in eleven weeks.\r\n",
    "latin.text": "Buckwheat ripens in elf Wochen für Müller.\n".encode("cp1252"),
    "buckwheat.pdf": _pdf("Buckwheat ripens in eleven weeks."),
    "buckwheat.docx": word(p(run("Buckwheat ripens in eleven weeks."))),
    "buckwheat.docm": word(p(run("Buckwheat ripens in eleven weeks."))),
    "buckwheat.html": b"<html><body><p>Buckwheat ripens in eleven weeks.</p></body></html>",
    "buckwheat.htm": b"<!doctype html><p>Buckwheat ripens in eleven weeks.</p>",
    "a pdf by content.txt": _pdf("Buckwheat ripens in eleven weeks."),
}


def test_files_of_every_kind_can_be_quoted_once_their_job_is_done(uploads: Uploads) -> None:
    """Sent together, so that few processes are started to read them."""
    accepted = {name: uploads.put(f"kinds/{name}", content) for name, content in FILES.items()}
    jobs = {name: uploads.ended(reply) for name, reply in accepted.items()}

    for name, content in FILES.items():
        job, doc_id = jobs[name], f"kinds/{name}"
        assert (job["state"], job["error"], job["kind"], job["doc_id"]) == ("done", None, "put", doc_id)
        assert "Buckwheat ripens" in uploads.get(doc_id, "/text").text, name
        assert uploads.get(doc_id).json()["has_original"] is True, name
        assert uploads.get(doc_id, "/original").content == content, name
    removed = [uploads.client.delete(address(f"kinds/{name}")) for name in FILES]
    assert [uploads.ended(reply)["state"] for reply in removed] == ["done"] * len(FILES)
    assert [name for name in FILES if (uploads.files / "kinds" / name).exists()] == []


@pytest.mark.skipif(shutil.which("soffice") is None, reason="LibreOffice is not installed")
def test_a_file_that_another_program_reads_is_taken_too(uploads: Uploads) -> None:
    assert uploads.put_done("kinds/old.rtf", _RTF)["state"] == "done"
    assert "Buckwheat ripens" in uploads.get("kinds/old.rtf", "/text").text


def test_an_upload_is_answered_from_as_soon_as_its_job_is_done(uploads: Uploads) -> None:
    assert uploads.answer("How long does quinoa need to ripen?") == []
    accepted = uploads.put("quinoa.md", b"Quinoa needs ninety days to ripen.\n")

    assert accepted.headers["location"] == f"/jobs/{accepted.json()['id']}"
    assert accepted.json()["state"] == "queued"
    uploads.ended(accepted)
    assert uploads.answer("How long does quinoa need to ripen?") == ["Quinoa needs ninety days to ripen."]
    uploads.put_done("quinoa.md", b"Quinoa needs a hundred days to ripen.\n")
    assert uploads.answer("How long does quinoa need to ripen?") == ["Quinoa needs a hundred days to ripen."]
    uploads.delete_done("quinoa.md")
    assert uploads.answer("How long does quinoa need to ripen?") == []


def test_a_file_that_cannot_be_read_fails_its_job_and_leaves_nothing(uploads: Uploads) -> None:
    whys = {
        b"\x00\x01\x02 binary": "NUL",
        b"---\ntitle: [\n---\n\ntext\n": "not valid YAML",
        b"%PDF-1.7\nno more than that": "",
        b"PK\x03\x04 no archive\x00": "NUL",
    }
    for content, why in whys.items():
        job = uploads.put_done("deep/down/bad.md", content, title="Bad")

        assert (job["state"], job["error"]["code"]) == ("failed", "unreadable-file"), content
        assert why in job["error"]["message"]
        assert job["error"]["hint"]
        assert uploads.get("deep/down/bad.md").status_code == 404
        assert not (uploads.files / "deep").exists()
        assert uploads.leftovers() == []


def test_a_file_that_cannot_be_read_leaves_the_old_one_with_its_metadata(uploads: Uploads) -> None:
    old = b"Teff is sown in July.\n"
    uploads.put_done("teff.txt", old, title="Teff", document_type="guide", tag="crop:wheat")
    before = uploads.get("teff.txt").json()
    job = uploads.put_done("teff.txt", b"\x00\x00", title="Damaged", tag="crop:canola")

    assert job["state"] == "failed"
    assert uploads.get("teff.txt").json() == before
    assert (before["title"], before["document_type"]) == ("Teff", "guide")
    assert uploads.get("teff.txt", "/original").content == old
    assert uploads.put_done("teff.txt", old + b"It is small.\n", title="Teff again")["state"] == "done"
    assert uploads.get("teff.txt").json()["title"] == "Teff again"


def test_what_the_query_says_of_a_document_is_kept(uploads: Uploads) -> None:
    said = {
        "title": "Spelt: the 'old' grain – ß",
        "document_type": "guide",
        "is_binding": "true",
        "effective_date": "2022-04-01",
        "superseded_by": "canola.md",
        "language": "en",
        "tag": ["crop:wheat", "crop: durum "],
    }
    assert uploads.put_done("spelt.md", "Spelt has a tough hull.\n", **said)["state"] == "done"

    found = uploads.get("spelt.md").json()
    assert {name: found[name] for name in ("title", "document_type", "is_binding", "effective_date", "language")} == {
        "title": said["title"],
        "document_type": "guide",
        "is_binding": True,
        "effective_date": "2022-04-01",
        "language": "en",
    }
    assert "canola.md" in json.dumps(found["superseded_by"])
    asked = {"question": "What has a tough hull?", "filters": {"tags": {"crop": "durum"}}}
    reply = uploads.client.post("/answer", json=asked).json()
    assert reply["reason"]["code"] == "superseded_only"
    assert [one["text"] for one in reply["nearest"]] == ["Spelt has a tough hull."]
    uploads.put_done("spelt.md", "Spelt has a tough hull.\n")  # nothing is said now, so nothing is kept
    assert uploads.get("spelt.md").json()["title"] is None


def test_a_field_that_was_left_blank_was_not_given(uploads: Uploads) -> None:
    assert uploads.put_done("blank.md", "Blank.\n", title="", effective_date="", language="")["state"] == "done"
    assert uploads.get("blank.md").json()["title"] is None


def test_a_successor_that_is_not_there_is_noted(uploads: Uploads) -> None:
    job = uploads.put_done("older.md", "An older rule about spelt.\n", superseded_by="newer.md")

    assert job["notes"] == ["it is superseded by 'newer.md', which the index does not hold"]


@pytest.mark.parametrize(
    "query",
    [
        {"effective_date": "yesterday"},
        {"effective_date": "2022-13-01"},
        {"is_binding": "perhaps"},
        {"tag": "crop"},
        {"tag": ":canola"},
        {"tag": "crop:"},
        {"tag": "weather:wet"},
        {"tag": "crop:a\x00b"},
        {"title": "x" * 501},
        {"title": "a\x00b"},
        {"title": "two\nlines"},
    ],
)
def test_wrong_metadata_is_refused_before_the_file_is_taken(uploads: Uploads, query: dict[str, str]) -> None:
    before = len(uploads.client.get("/jobs", params={"limit": 1_000}).json()["jobs"])
    response = uploads.put("wrong.md", b"text", **query)

    assert response.status_code == 422
    assert response.json()["error"]["hint"]
    assert len(uploads.client.get("/jobs", params={"limit": 1_000}).json()["jobs"]) == before
    assert uploads.leftovers() == []


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/documents/%2e%2e/a.md", 422),
        ("/documents/%2e%2e%2fa.md", 422),
        ("/documents/..%2f..%2fetc%2fpasswd.md", 422),
        ("/documents/%2Fetc%2Fpasswd.md", 422),
        ("/documents/..%5ca.md", 422),
        ("/documents/%2ehidden.md", 422),
        ("/documents/%2eincoming/a.md", 422),
        ("/documents/a%00.md", 422),
        ("/documents/a%0a.md", 404),
        ("/documents/%e2%80%aegpj.md", 422),
        ("/documents/%ff.md", 422),
        ("/documents/%ed%a0%80.md", 422),
        ("/documents/" + "x" * 300 + ".md", 422),
        ("/documents/a.exe", 415),
        ("/documents/a", 415),
        ("/documents/corpus.yaml", 422),
        ("/documents/a.md.meta.yaml", 422),
    ],
)
def test_ids_that_could_lead_elsewhere_are_refused(uploads: Uploads, path: str, status: int) -> None:
    before = sorted(uploads.files.rglob("*"))
    response = uploads.client.put(path, content=b"text")

    assert response.status_code == status, response.text
    assert set(response.json()["error"]) == {"code", "message", "hint"}
    assert sorted(uploads.files.rglob("*")) == before


def test_an_empty_file_is_refused(uploads: Uploads) -> None:
    assert error(uploads.put("empty.md", b"")) == (422, "empty")
    assert uploads.leftovers() == []


def test_a_file_that_says_that_it_is_too_large_is_refused_at_once(uploads: Uploads) -> None:
    assert error(uploads.put("large.md", b"x" * (MEGABYTE + 1))) == (413, "too-large")
    assert uploads.leftovers() == []


def test_a_document_of_another_folder_is_not_overwritten(uploads: Uploads) -> None:
    assert error(uploads.put("canola.md", b"Sow canola never.\n")) == (409, "document-elsewhere")
    assert uploads.get("canola.md", "/text").status_code == 200
    assert uploads.leftovers() == []


def test_a_document_where_a_folder_is_is_refused_and_the_other_way_round(uploads: Uploads) -> None:
    assert uploads.put_done("way/in.md", "In the way.\n")["state"] == "done"

    assert error(uploads.put("way/in.md/a.md", b"text")) == (409, "document-id")
    uploads.put_done("road.md/in.md", "In the road.\n")
    assert error(uploads.put("road.md", b"text")) == (409, "document-id")
    both = [uploads.put("both.md", b"A file.\n"), uploads.put("both.md/inner.md", b"A file below.\n")]
    ended = [uploads.ended(one)["state"] for one in both if one.status_code == 202]
    assert ended[0] == "done"
    assert ended[1:] in ([], ["failed"])
    assert uploads.leftovers() == []


def test_a_link_that_leads_out_is_not_written_through(uploads: Uploads, tmp_path: Path) -> None:
    (uploads.files / "out").symlink_to(tmp_path)

    for doc_id in ("out/a.md", "out/deeper/a.md"):
        if uploads.is_shared:
            assert uploads.put_done(doc_id, b"The link leads nowhere.\n")["state"] == "done"
        else:
            assert error(uploads.put(doc_id, b"text")) == (409, "document-id")
    assert list(tmp_path.iterdir()) == []


def test_every_write_has_its_line_in_the_audit_log(uploads: Uploads) -> None:
    before = len(audited(uploads))
    reply = uploads.client.put(
        "/documents/audited.md", content=b"Audited.\n", params={"title": "A"}, headers={"X-Request-Id": "r-1"}
    )
    uploads.ended(reply)
    uploads.delete_done("audited.md")
    put, delete = [line for line in audited(uploads)[before:] if line["outcome"] == "accepted"]

    assert (put["action"], put["doc_id"], put["request_id"], put["job"]) == (
        "put",
        "audited.md",
        "r-1",
        reply.json()["id"],
    )
    assert put["metadata"] == {"title": "A"}
    assert put["sha256"] == hashlib.sha256(b"Audited.\n").hexdigest()
    assert (delete["action"], delete["doc_id"], delete["sha256"]) == ("delete", "audited.md", None)
    assert {"key", "key_name", "client", "time"} <= set(put)


def test_many_uploads_at_once_all_end_up_right(uploads: Uploads) -> None:
    def upload(number: int) -> dict[str, Any]:
        content = b"\x00" if number % 8 == 7 else f"Field {number} grows lupins.\n".encode()
        return uploads.put_done(f"many/{number}.md", content, title=f"Field {number}")

    with ThreadPoolExecutor(8) as pool:
        ended = list(pool.map(upload, range(24)))

    assert [job["state"] for job in ended] == ["failed" if number % 8 == 7 else "done" for number in range(24)]
    listed = uploads.client.get("/documents", params={"prefix": "many/"}).json()
    assert {one["doc_id"]: one["title"] for one in listed["documents"]} == {
        f"many/{number}.md": f"Field {number}" for number in range(24) if number % 8 != 7
    }
    assert all(uploads.get(f"many/{number}.md", "/original").status_code == 200 for number in range(7))
    assert uploads.leftovers() == []


def test_the_last_of_several_uploads_of_one_document_wins(uploads: Uploads) -> None:
    accepted = [uploads.put("race.md", f"Version {number} of the race.\n".encode()) for number in range(5)]
    accepted.insert(3, uploads.client.delete("/documents/race.md"))
    accepted.append(uploads.put("race.md", b"The last version.\n"))

    assert [uploads.ended(one)["state"] for one in accepted] == ["done"] * 7
    assert uploads.get("race.md", "/text").text == "The last version.\n"


def test_a_document_that_is_on_its_way_can_be_removed(uploads: Uploads) -> None:
    put = uploads.put("brief.md", b"Brief.\n")
    delete = uploads.client.delete("/documents/brief.md")
    twice = uploads.client.delete("/documents/brief.md")

    assert (uploads.ended(put)["state"], uploads.ended(delete)["state"]) == ("done", "done")
    assert twice.status_code == 404
    assert uploads.get("brief.md").status_code == 404
    assert not (uploads.files / "brief.md").exists()


def test_removing_what_is_not_there_is_refused(uploads: Uploads) -> None:
    assert error(uploads.client.delete("/documents/never.md")) == (404, "no-document")


def test_jobs_are_listed_and_an_unknown_one_is_told(uploads: Uploads) -> None:
    job = uploads.put_done("listed.md", "Listed.\n")

    assert uploads.client.get("/jobs", params={"limit": 1}).json() == {"jobs": [job]}
    assert error(uploads.client.get("/jobs/nothing")) == (404, "no-job")


def test_an_upload_is_refused_when_its_audit_line_cannot_be_written(small: SmallCorpus, tmp_path: Path) -> None:
    shutil.copytree(small.index, tmp_path / "index")
    (tmp_path / "state" / "audit.jsonl").mkdir(parents=True)
    with serving(plan(tmp_path / "index", tmp_path / "state")) as uploads:
        assert error(uploads.put("a.md", b"text")) == (507, "no-room")
        assert error(uploads.client.delete("/documents/canola.md")) == (507, "no-room")
        assert uploads.client.get("/jobs").json() == {"jobs": []}
        assert uploads.leftovers() == []


def test_a_service_that_takes_no_documents_says_so(small: SmallCorpus, tmp_path: Path) -> None:
    with serving(plan(small.index, tmp_path / "state", service__uploads="false")) as uploads:
        assert error(uploads.put("a.md", b"text")) == (403, "read-only")
        assert error(uploads.client.delete("/documents/canola.md")) == (403, "read-only")
        assert error(uploads.client.get("/jobs")) == (403, "read-only")
        assert uploads.get("canola.md", "/original").status_code == 200
        assert not (tmp_path / "state" / "files").exists()


def test_the_first_upload_makes_the_index(small: SmallCorpus, tmp_path: Path) -> None:
    with serving(plan(tmp_path / "index", tmp_path / "state", profile=str(small.profile))) as uploads:
        assert uploads.client.post("/answer", json={"question": "When?"}).status_code == 503
        assert error(uploads.client.delete("/documents/a.md")) == (404, "no-document")
        assert error(uploads.put("a.md", b"text", tag="weather:wet")) == (422, "metadata")
        bad = uploads.put_done("bad.md", b"\x00")
        assert (bad["state"], bad["error"]["code"]) == ("failed", "corpus")
        assert "bad.md" in bad["error"]["message"]
        both = [uploads.put("bad.md", b"\x00"), uploads.put("a.md", b"Sow oats in March.\n", tag="crop:wheat")]
        assert [uploads.ended(one)["state"] for one in both] == ["failed", "done"]
        assert uploads.answer("When to sow oats?") == ["Sow oats in March."]
        assert uploads.client.get("/facets").json()["profile"] == "fields"
        assert uploads.leftovers() == []


def test_a_state_folder_that_was_moved_goes_on_taking_its_documents(small: SmallCorpus, tmp_path: Path) -> None:
    shutil.copytree(small.index, tmp_path / "index")
    with serving(plan(tmp_path / "index", tmp_path / "state")) as uploads:
        assert uploads.put_done("vetch.md", "Vetch climbs.\n")["state"] == "done"
    (tmp_path / "state").rename(tmp_path / "moved")
    with serving(plan(tmp_path / "index", tmp_path / "moved")) as uploads:
        assert uploads.put_done("vetch.md", "Vetch climbs high.\n")["state"] == "done"
        assert uploads.get("vetch.md", "/original").content == b"Vetch climbs high.\n"
        assert error(uploads.put("canola.md", b"text")) == (409, "document-elsewhere")


def test_who_wrote_is_in_the_audit_log_and_who_may_not_is_not(small: SmallCorpus, tmp_path: Path) -> None:
    shutil.copytree(small.index, tmp_path / "index")
    keys = KeyFile(tmp_path / "state" / "keys.json")
    reader, read_token = keys.add("reader", scopes={KeyScope.READ}, per_minute=None)
    writer, write_token = keys.add("writer", scopes={KeyScope.WRITE}, per_minute=None)
    with serving(replace(plan(tmp_path / "index", tmp_path / "state"), auth=True)) as uploads:
        uploads.client.headers["Authorization"] = f"Bearer {read_token}"
        assert uploads.put("a.md", b"text").status_code == 403
        assert uploads.client.delete("/documents/canola.md").status_code == 403
        assert uploads.leftovers() == []
        uploads.client.headers["Authorization"] = f"Bearer {write_token}"
        uploads.put_done("a.md", "Audited.\n")
        lines = [line for line in audited(uploads) if line["outcome"] == "accepted"]

    assert [(line["key"], line["key_name"]) for line in lines] == [(writer.id, "writer")]
    assert reader.id not in (tmp_path / "state" / "audit.jsonl").read_text()
    assert write_token not in (tmp_path / "state" / "audit.jsonl").read_text()


def test_only_a_piece_of_an_upload_is_ever_in_memory(small: SmallCorpus, tmp_path: Path) -> None:
    shutil.copytree(small.index, tmp_path / "index")
    made = plan(tmp_path / "index", tmp_path / "state")
    app = make_app(made)
    piece = b"x" * 65_536
    left = [24 * MEGABYTE // len(piece)]
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        left[0] -= 1
        return {"type": "http.request", "body": piece, "more_body": left[0] > 0}

    async def send(message: Any) -> None:  # noqa: ANN401 - as ASGI has it
        sent.append(message)

    async def upload() -> int:
        headers = [(b"host", b"localhost")]
        scope: dict[str, Any] = {
            "type": "http",
            "method": "PUT",
            "path": "/documents/large.md",
            "query_string": b"",
            "headers": headers,
        }
        scope |= {"asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http", "client": ("127.0.0.1", 1)}
        queue: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        begun, ended = asyncio.Event(), asyncio.Event()

        async def tell(message: Any) -> None:  # noqa: ANN401
            (begun if message["type"] == "lifespan.startup.complete" else ended).set()

        life = asyncio.ensure_future(app({"type": "lifespan", "asgi": {"version": "3.0"}}, queue.get, tell))
        await queue.put({"type": "lifespan.startup"})
        await begun.wait()
        with JobFile(made.state / "service.db").alone():  # nobody ingests it meanwhile
            tracemalloc.start()
            try:
                await app(scope, receive, send)
                peak = tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()
            (job,) = JobTable(JobFile(made.state / "service.db")).unfinished()
            assert (made.state / "files" / ".incoming" / job.id).stat().st_size == 24 * MEGABYTE
            JobTable(JobFile(made.state / "service.db")).finish(job, error=None, notes=())
        await queue.put({"type": "lifespan.shutdown"})
        await ended.wait()
        await life
        return peak

    peak = asyncio.run(upload())
    assert sent[0]["status"] == 202
    assert peak < 8 * MEGABYTE


def _request(uploads: Uploads, doc_id: str) -> tuple[http.client.HTTPConnection, str]:
    url = uploads.client.base_url
    assert url.port is not None
    return http.client.HTTPConnection(url.host, url.port, timeout=PATIENCE), f"/documents/{doc_id}"


def test_a_program_that_is_killed_goes_on_where_it_was(small: SmallCorpus, tmp_path: Path) -> None:
    """Also: chunked bodies, clients that go away, and paths as they come over a real connection."""
    index, state, log = tmp_path / "index", tmp_path / "state", tmp_path / "log"
    shutil.copytree(small.index, index)
    # Another writer is at work, so that jobs can be accepted but not done.
    with (
        writer_lock(index),
        program(index, state, "--set", "service.max_upload_mb=1", log=log) as (uploads, process),
    ):
        connection, path = _request(uploads, "chunked.md")
        pieces = (b"x" * 65_536 for _ in range(17))
        connection.request("PUT", path, body=pieces, encode_chunked=True)
        assert connection.getresponse().status == 413
        connection.close()

        connection, path = _request(uploads, "cut-off.md")
        connection.putrequest("PUT", path)
        connection.putheader("Content-Length", "1000")
        connection.endheaders(b"only the beginning")
        connection.close()

        connection, _ = _request(uploads, "")
        connection.request("PUT", "/documents/../../secret.md", body=b"text")
        assert connection.getresponse().status in {404, 405, 422}
        connection.close()

        connection, path = _request(uploads, "slow.md")
        connection.request("PUT", path, body=iter([b"Rye ripens ", b"in August.\n"]), encode_chunked=True)
        reply = connection.getresponse()
        accepted = [json.load(reply)["id"]]
        connection.close()
        accepted += [uploads.put(f"{number}.md", b"Rye is sown late.\n").json()["id"] for number in range(3)]
        states = {one: uploads.client.get(f"/jobs/{one}").json()["state"] for one in accepted}
        assert set(states.values()) <= {"queued", "running"}
        process.kill()
        process.wait(PATIENCE)
    with program(index, state, log=log) as (uploads, _):
        for one in accepted:
            job = uploads.client.get(f"/jobs/{one}")
            job.headers["location"] = f"/jobs/{one}"
            job.status_code = 202
            assert uploads.ended(job)["state"] == "done"
        listed = {one["doc_id"] for one in uploads.client.get("/documents").json()["documents"]}
        assert listed >= {"slow.md", "0.md", "1.md", "2.md", "canola.md"}
        assert not listed & {"chunked.md", "cut-off.md", "secret.md"}
        raw = "a%252Fb%20c%3F%23.md"
        assert uploads.ended(uploads.client.put(f"/documents/{raw}", content=b"Raw.\n"))["doc_id"] == "a%2Fb c?#.md"
        assert uploads.client.get(f"/documents/{raw}/text").text == "Raw.\n"
        assert uploads.answer("When does rye ripen?") == ["Rye ripens in August."]
        assert uploads.leftovers() == []
    assert "Traceback" not in log.read_text()


def test_a_full_disk_refuses_the_upload_and_nothing_stays(small: SmallCorpus, tmp_path: Path) -> None:
    index, state, log = tmp_path / "index", tmp_path / "state", tmp_path / "log"
    shutil.copytree(small.index, index)
    with program(index, state, log=log) as (uploads, process):
        # No file of the process may grow beyond this, which is what a full disk looks like from inside.
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (MEGABYTE, resource.RLIM_INFINITY))
        assert error(uploads.put("large.md", b"x" * 2 * MEGABYTE)) == (507, "no-room")
        assert uploads.leftovers() == []
        assert uploads.client.get("/jobs").json() == {"jobs": []}
        assert (
            uploads.put_done("small.md", "The small things still fit, and that is what we want.\n")["state"] == "done"
        )
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (1_024, resource.RLIM_INFINITY))
        assert error(uploads.put("other.md", b"Not even the job can be kept.\n")) == (507, "no-room")
        assert error(uploads.client.delete("/documents/small.md")) == (507, "no-room")
        assert uploads.leftovers() == []
        assert [job["doc_id"] for job in uploads.client.get("/jobs").json()["jobs"]] == ["small.md"]
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert uploads.put_done("other.md", "There is room again.\n")["state"] == "done"
        assert uploads.delete_done("small.md")["state"] == "done"
