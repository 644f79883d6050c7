"""The PostgreSQL store: one schema of a database, pgvector for the vectors and our own terms in a tsvector.

Importing it needs the extra `postgres`.
"""

from quoth.errors import MissingExtra

try:
    import psycopg as _psycopg
    import psycopg_pool as _psycopg_pool
except ImportError as error:
    raise MissingExtra("the PostgreSQL store", "postgres") from error

from quoth.stores.postgres.postgres_schema import migrate
from quoth.stores.postgres.postgres_store import PostgresStore

del _psycopg, _psycopg_pool

__all__ = ["PostgresStore", "migrate"]
