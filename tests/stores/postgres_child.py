"""Writes that are meant to die, each in a process of its own: `python -m stores.postgres_child COMMAND URL SCHEMA`."""

from __future__ import annotations

import sys

from quoth.stores.postgres import PostgresStore
from quoth.stores.postgres import postgres_publish as publish

from .child import DyingEmbedder, die
from .fakes import PROFILE, HashEmbedder, numbered


def write(url: str, schema: str, embedder: HashEmbedder, *, sentences: int) -> None:
    store = PostgresStore(url, schema=schema, vectors="vector", ef_search=100)
    put = (numbered(f"doc{number}.md", sentences) for number in range(3))
    store.write(put, remove=["old.md"], embedder=embedder, profile=PROFILE, progress=None)


def die_while_embedding(url: str, schema: str, limit: str) -> None:
    write(url, schema, DyingEmbedder(int(limit)), sentences=2000)


def die_while_publishing(url: str, schema: str, step: str) -> None:
    """Die where the transaction that publishes comes to `step`."""

    def instead(*_: object, **__: object) -> None:
        die()

    setattr(publish, step, instead)
    write(url, schema, HashEmbedder(), sentences=20)


if __name__ == "__main__":
    name, *arguments = sys.argv[1:]
    {"die_while_embedding": die_while_embedding, "die_while_publishing": die_while_publishing}[name](*arguments)
