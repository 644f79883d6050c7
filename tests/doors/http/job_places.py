"""Where jobs are kept, by a text that a process can be given: a file, or `URL|SCHEMA` for a database."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from quoth.http.job_file import JobFile
from quoth.protocols import JobDatabase
from quoth.settings import StoreSettings
from quoth.wiring import job_database, open_store


@cache
def database_at(place: str) -> JobDatabase:
    """Return the jobs of a place; those who ask in one process share its connections."""
    url, bar, schema = place.rpartition("|")
    if not bar:
        return JobFile(Path(place))
    database = job_database(open_store(url, StoreSettings(schema=schema)))
    assert database is not None
    return database
