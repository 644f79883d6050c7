"""A database for the tests of this folder that ask for one; the server starts on the first use."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session")
def database_url() -> Iterator[str]:
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    from .postgres_server import running_server

    with running_server() as url:
        yield url


@pytest.fixture
def schema(database_url: str) -> Iterator[str]:
    """The name of a schema that is dropped afterwards."""
    from .postgres_server import drop_schema, new_schema

    name = new_schema()
    yield name
    drop_schema(database_url, name)
