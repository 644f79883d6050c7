"""The query log in a database: what a file would keep, and never in the way of a question."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from quoth.errors import NoIndex
from quoth.stores.postgres import migrate
from quoth.stores.postgres.postgres_query_log import PostgresQueryLog
from quoth.stores.query_log import REST_SECONDS, QueryLog
from quoth.types import FoundBy, Status
from retrievals import retrieval

SOURCES = ((FoundBy.BOTH, 0.9), (FoundBy.VECTOR, 0.65), (FoundBy.FULL_TEXT, 0.4))


@pytest.fixture
def log(database_url: str, schema: str) -> Iterator[PostgresQueryLog]:
    migrate(database_url, schema)
    one = PostgresQueryLog(database_url, schema=schema)
    yield one
    one.close()


def test_it_keeps_what_a_file_keeps(log: PostgresQueryLog, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = QueryLog(tmp_path_factory.mktemp("log") / "queries.db")
    for one in (log, file):
        one.record(retrieval(*SOURCES), time="2026-01-31T08:00:00Z", milliseconds=12.5)
        one.record(retrieval(status=Status.NO_RESULTS, degraded=("dense",)), time="2026-02-01", milliseconds=1.0)
    try:
        assert log.entries(None, None) == file.entries(None, None)
        assert [one.quality.status for one in log.entries("2026-01-31T12:00:00Z", None)] == [Status.NO_RESULTS]
        assert len(log.entries(None, 1)) == 1
    finally:
        file.close()


def test_any_question_can_be_kept(log: PostgresQueryLog) -> None:
    for text in ("How \ud800 deep?", "NUL \0 inside", "'; DROP TABLE query_log; --", "\N{EAR OF RICE}"):
        log.record(retrieval(question=text), time="2026-01-31", milliseconds=1.0)

    assert len(log.entries(None, None)) == 4


def test_a_database_that_fails_is_said_once_and_left_alone(
    database_url: str, schema: str, caplog: pytest.LogCaptureFixture
) -> None:
    now = [0.0]
    log = PostgresQueryLog(database_url, schema=schema, clock=lambda: now[0])
    try:
        with caplog.at_level(logging.WARNING):
            for _ in range(3):
                log.record(retrieval(), time="2026-01-31", milliseconds=1.0)
        assert len([one for one in caplog.records if "cannot be written" in one.message]) == 1

        migrate(database_url, schema)
        now[0] = REST_SECONDS
        log.record(retrieval(), time="2026-01-31", milliseconds=1.0)
        assert len(log.entries(None, None)) == 1
    finally:
        log.close()


def test_reading_where_there_is_none_says_so(database_url: str, schema: str) -> None:
    log = PostgresQueryLog(database_url, schema=schema)
    try:
        with pytest.raises(NoIndex):
            log.entries(None, None)
    finally:
        log.close()
