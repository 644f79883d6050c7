"""What the index says about itself: the one row of `index_info`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from psycopg import sql

from quoth.errors import IndexMismatch
from quoth.stores.content import digest_of
from quoth.stores.postgres import versions
from quoth.stores.postgres.connections import Connection
from quoth.stores.postgres.texts import original, storable
from quoth.text.terms import ANALYSIS_VERSION
from quoth.types import IndexInfo, Known, ModelIdentity

Row: TypeAlias = tuple[Any, ...]

FORMAT = 3  # of the content, not of the tables: what the embedded store's format 3 holds, so that digests agree

_SELECT = sql.SQL(
    "SELECT (SELECT max(version) FROM {}), generation, digest, model_name, model_revision, model_precision, "
    "dimension, profile_name, profile_source, documents, sentences, evidence, tokens, vectors, analysis FROM {}"
)


@dataclass(frozen=True, slots=True)
class Published:
    """A published generation. `evidence` and `tokens` are the sentences that can be found and their terms."""

    info: IndexInfo
    evidence: int
    tokens: int
    vectors: str
    analysis: int

    @property
    def average(self) -> float:
        """The terms of an average sentence."""
        return self.tokens / self.evidence if self.evidence else 1.0


def select(schema: str) -> sql.Composed:
    """The row in question. Named in full: what is not in our schema must not be looked for further down the path."""
    return _SELECT.format(sql.Identifier(schema, "migrations"), sql.Identifier(schema, "index_info"))


def read(connection: Connection, place: str, *, schema: str) -> Published | None:
    """What the connection sees; None when nothing has been published."""
    return published(place, connection.execute(select(schema)).fetchone())


def published(place: str, row: Row | None) -> Published | None:
    """What a row of `select` says; None when nothing has been published."""
    if row is None or row[0] is None:
        return None
    version, generation, digest, name, revision, precision, dimension, profile, source, *counts = row
    versions.check(place, version)
    if generation == 0:
        return None
    documents, sentences, evidence, tokens, vectors, analysis = counts
    info = IndexInfo(
        format=FORMAT,
        generation=generation,
        digest=digest,
        model=ModelIdentity(name, revision, precision, dimension),
        profile_name=original(profile),
        profile_source=original(source),
        documents=documents,
        sentences=sentences,
    )
    return Published(info, evidence, tokens, vectors, analysis)


def check_analysis(place: str, published: Published) -> None:
    """Refuse to search with other words than those that the full text was made of."""
    if published.analysis != ANALYSIS_VERSION:
        raise IndexMismatch(
            f"the full text of {place} was made by analysis {published.analysis} of words; "
            f"this version of Quoth needs {ANALYSIS_VERSION}",
            hint="Ingest the same documents again: that makes the full text anew, and embeds nothing.",
        )


def read_known(connection: Connection) -> dict[str, Known]:
    """What is known of every document that the connection sees."""
    found = connection.execute("SELECT name, fingerprint, source_sha256, root FROM documents")
    return {original(name): Known(fingerprint, sha256, original(root)) for name, fingerprint, sha256, root in found}


def describe(
    connection: Connection, *, generation: int, model: ModelIdentity, profile: tuple[str, str], vectors: str
) -> Published:
    """What the content of the open transaction amounts to."""
    found = connection.execute("SELECT name, fingerprint, sentences, evidence, tokens FROM documents").fetchall()
    name, source = profile
    info = IndexInfo(
        format=FORMAT,
        generation=generation,
        digest=digest_of(FORMAT, model, profile=profile, documents=[(original(row[0]), row[1]) for row in found]),
        model=model,
        profile_name=name,
        profile_source=source,
        documents=len(found),
        sentences=sum(row[2] for row in found),
    )
    return Published(info, sum(row[3] for row in found), sum(row[4] for row in found), vectors, ANALYSIS_VERSION)


def write(connection: Connection, new: Published) -> None:
    """Name the new generation; the commit that follows publishes it."""
    info = new.info
    connection.execute(
        "UPDATE index_info SET generation = %s, digest = %s, model_name = %s, model_revision = %s, "
        "model_precision = %s, dimension = %s, profile_name = %s, profile_source = %s, documents = %s, sentences = %s, "
        "evidence = %s, tokens = %s, vectors = %s, analysis = %s",
        (
            info.generation,
            info.digest,
            info.model.name,
            info.model.revision,
            info.model.precision,
            info.model.dimension,
            storable(info.profile_name),
            storable(info.profile_source),
            info.documents,
            info.sentences,
            new.evidence,
            new.tokens,
            new.vectors,
            new.analysis,
        ),
    )
