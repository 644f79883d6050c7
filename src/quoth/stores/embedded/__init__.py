"""The embedded store: one directory, SQLite for the truth, tantivy and exact vectors (or FAISS) derived from it."""

from quoth.stores.embedded.embedded_store import EmbeddedStore

__all__ = ["EmbeddedStore"]
