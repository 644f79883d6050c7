"""The log of what was read: whole lines of who saw which quote, kept as long as the settings say."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from quoth.http.guard.api_keys import KeyScope
from quoth.http.guard.askers import Asker
from quoth.http.http_faults import HttpFault
from quoth.http.read_log import NAME, ReadLog, quotes_in
from quoth.settings import AuditSettings

from ..small_corpus import CANOLA, SmallCorpus
from .serving import bearer, error_of, new_key, opened, plan, wait_for

ADA = Asker("3f9a12c4", "ada", frozenset({KeyScope.READ}), frozenset(), per_minute=None)
READS = [{"doc_id": "a.md", "start": 0, "end": 9}]
ASKED = {"question": f"{CANOLA[:-1]}?"}


def written(folder: Path) -> list[dict[str, Any]]:
    path = folder / NAME
    return [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []


def noted(folder: Path, *, times: int = 1, **settings: Any) -> None:  # noqa: ANN401 - as the settings take them
    """Write entries and end."""
    log = ReadLog(folder, AuditSettings(reads=True, **settings))
    log.start()

    async def main() -> None:
        for number in range(times):
            await log.note(ADA, READS, request_id=str(number))

    try:
        asyncio.run(main())
    finally:
        log.close()


def test_an_entry_says_who_saw_what_and_when(tmp_path: Path) -> None:
    noted(tmp_path)
    (entry,) = written(tmp_path)

    assert abs(datetime.fromisoformat(entry.pop("time")).timestamp() - time.time()) < 3_600
    assert entry == {"asker": "3f9a12c4", "name": "ada", "request_id": "0", "reads": READS}
    assert stat.S_IMODE((tmp_path / NAME).stat().st_mode) == 0o600


def test_what_holds_no_quote_is_not_written_down(tmp_path: Path) -> None:
    log = ReadLog(tmp_path, AuditSettings(reads=True))
    asyncio.run(log.note(ADA, []))

    assert log._waiting.empty()


def test_quotes_are_found_wherever_a_response_holds_them() -> None:
    cited = {"doc_id": "a.md", "start": 0, "end": 4, "text": "Four", "doc_sha256": "ff"}
    content = {
        "answer_sentences": [cited, {**cited, "lead": {"start": 7, "end": 9, "text": "Ne"}}],
        "passages": [{"doc_id": "b.md", "start": 1, "end": 2, "content": "x"}],
        "quotes": [{"document": {"doc_id": "c.md"}, "start": 5, "end": 6, "quote": "y"}],
        "ranked": [{"id": "d:e.md:10-20", "text": "ten"}, {"id": "d.md:1-2"}],
        "failures": [{"doc_id": "forbidden.md", "start": 0, "end": 9, "why": "there is no such document"}],
    }

    assert quotes_in(content) == [
        {"doc_id": "a.md", "start": 0, "end": 4, "sha256": "ff"},
        {"doc_id": "a.md", "start": 7, "end": 9},
        {"doc_id": "b.md", "start": 1, "end": 2},
        {"doc_id": "c.md", "start": 5, "end": 6},
        {"doc_id": "d:e.md", "start": 10, "end": 20},
    ]


def test_a_line_that_was_cut_off_spoils_no_other(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(b'{"time": "2026-01-01T00:00:00.000Z", "rea')
    os.utime(tmp_path / NAME)
    noted(tmp_path)

    assert [json.loads(line)["asker"] for line in (tmp_path / NAME).read_bytes().splitlines()[1:]] == ["3f9a12c4"]


def test_files_are_limited_in_size_and_the_oldest_go_first(tmp_path: Path) -> None:
    for number in range(9):
        (tmp_path / f"reads-{number:020d}.jsonl").write_bytes(b"x" * 2**17)
    (tmp_path / NAME).write_bytes(b"x" * (2**17 - 10) + b"\n")
    noted(tmp_path, mb=1)

    old = sorted(path.name for path in tmp_path.glob("reads-*.jsonl"))
    assert len(old) == 7  # with the current one, eight of 128 KB
    assert old[0] == f"reads-{3:020d}.jsonl"
    assert [entry["asker"] for entry in written(tmp_path)] == ["3f9a12c4"]


def test_entries_go_when_they_are_old_enough(tmp_path: Path) -> None:
    ancient, recent = tmp_path / f"reads-{1:020d}.jsonl", tmp_path / f"reads-{2:020d}.jsonl"
    for path, days in ((ancient, 31), (recent, 29)):
        path.write_bytes(b"{}\n")
        os.utime(path, (time.time() - 86_400 * days,) * 2)
    (tmp_path / NAME).write_bytes(b'{"time": "2020-01-01T00:00:00.000Z"}\n')
    noted(tmp_path, days=30)

    assert not ancient.exists()
    assert recent.exists()
    assert len(written(tmp_path)) == 1  # the entries of another day are in a file of their own
    assert len(list(tmp_path.glob("reads-*.jsonl"))) == 2


def test_two_logs_of_one_folder_write_whole_lines(tmp_path: Path) -> None:
    logs = [ReadLog(tmp_path, AuditSettings(reads=True)) for _ in range(2)]
    for log in logs:
        log.start()

    async def main() -> None:
        await asyncio.gather(*(log.note(ADA, READS, request_id=str(number)) for number in range(200) for log in logs))

    asyncio.run(main())
    for log in logs:
        log.close()
    assert sorted(int(entry["request_id"]) for entry in written(tmp_path)) == sorted([*range(200), *range(200)])


def test_what_cannot_be_written_is_refused_or_goes_on_and_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / NAME).mkdir()
    with caplog.at_level(logging.ERROR):
        noted(tmp_path, times=3, when_full="continue")
    assert [record.getMessage() for record in caplog.records if "go on without it" in record.getMessage()]
    assert len(caplog.records) == 1

    with pytest.raises(HttpFault) as caught:
        noted(tmp_path, when_full="refuse")
    assert (caught.value.status_code, caught.value.code) == (503, "audit")


@contextmanager
def served(small: SmallCorpus, state: Path, **audit: str) -> Iterator[TestClient]:
    given = plan(small.index, state, auth=True)
    flags = {**given.overrides.flags, "audit.reads": "true", **{f"audit.{name}": one for name, one in audit.items()}}
    with opened(replace(given, overrides=replace(given.overrides, flags=flags))) as client:
        yield client


def test_every_way_to_read_is_written_down_before_it_is_given(small: SmallCorpus, tmp_path: Path) -> None:
    key, token = new_key(tmp_path)
    with served(small, tmp_path, when_full="refuse") as client:

        def seen(method: str, path: str, **given: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - as httpx takes them
            before = len(written(tmp_path))
            reply = client.request(method, path, headers=bearer(token), **given)
            assert reply.status_code < 300, reply.text
            entries = written(tmp_path)[before:]
            assert {entry["asker"] for entry in entries} <= {key.id}
            assert {entry["request_id"] for entry in entries} <= {reply.headers["x-request-id"]}
            return [read for entry in entries for read in entry["reads"]]

        answer = client.post("/answer", json=ASKED, headers=bearer(token)).json()
        (first, *_) = answer["answer_sentences"]
        place = {"doc_id": first["doc_id"], "start": first["start"], "end": first["end"], "sha256": first["doc_sha256"]}
        assert place in written(tmp_path)[-1]["reads"]
        assert place in seen("POST", "/answer/batch", json={"questions": [ASKED]})
        assert seen("POST", "/retrieve", json={"query": "canola"})[0]["doc_id"] == "canola.md"
        assert seen("POST", "/find", json={"pattern": "sow canola"})[0]["doc_id"] == "canola.md"
        span = seen("GET", f"/documents/canola.md/span?start={first['start']}&end={first['end']}")
        assert (span[0]["start"], span[0]["end"]) == (first["start"], first["end"])
        for view in ("text", "original"):
            assert seen("GET", f"/documents/canola.md/{view}") == [{"doc_id": "canola.md", "sha256": place["sha256"]}]
        assert {**place, "sha256": None} in [{"sha256": None, **one} for one in seen("POST", "/receipts", json=answer)]
        grid = client.post("/grids", json={"questions": [ASKED], "docs": ["canola.md"]}, headers=bearer(token))
        at = grid.headers["location"]
        wait_for(lambda: client.get(at, headers=bearer(token)).json()["state"] == "done")
        for kind in ("csv", "html", "xlsx", "jsonl"):
            assert place in seen("GET", f"{at}/grid.{kind}")
        for path in ("/documents", "/facets", "/healthz", "/documents/canola.md", "/grids", "/jobs"):
            assert seen("GET", path) == []
        assert client.get("/documents/gone.md/text", headers=bearer(token)).status_code == 404


@pytest.mark.parametrize(("when_full", "status"), [("refuse", 503), ("continue", 200)])
def test_a_full_disk_does_what_the_setting_says(
    small: SmallCorpus, tmp_path: Path, when_full: str, status: int
) -> None:
    _, token = new_key(tmp_path)
    (tmp_path / NAME).mkdir()
    with served(small, tmp_path, when_full=when_full) as client:
        for path, given in (("/answer", ASKED), ("/retrieve", {"query": "canola"})):
            reply = client.post(path, json=given, headers=bearer(token))
            assert reply.status_code == status
            if status == 503:
                assert error_of(reply)["code"] == "audit"
                assert CANOLA not in reply.text
        assert client.get("/documents/canola.md/text", headers=bearer(token)).status_code == status
        assert client.get("/documents", headers=bearer(token)).status_code == 200
