"""Embedded batches: documents with their vectors, which an ingest keeps until a shard has all of its documents.

    OUTPUT/work/<key>/shard-003/<name>.parquet   runs of sentences of some documents, with their vectors
                                <name>.json      lists these runs; written last, and a batch without it does not count

`key` is a digest of what vectors depend on besides the text. A name depends only on the content of its batch, so a task
that is repeated writes the same file. A batch holds all that is needed to write its documents without their files.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import date, datetime
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from quoth.cluster.ray_session import AGAIN
from quoth.documents.files import SourceFile, root_name
from quoth.documents.ingest_report import ChangedFile
from quoth.documents.split_document import ExtractedFile
from quoth.documents.worker.process import pack, unpack
from quoth.domain.profile import Profile
from quoth.errors import ClusterFault, IndexDamaged
from quoth.settings import Settings
from quoth.stores.database_rows import embedding_key
from quoth.stores.locations import FileDigest, Location, put_idempotent
from quoth.types import ModelIdentity, Vectors

WORK = "work"
MOST_SENTENCES = 2_048
"""The most sentences of a batch. It is embedded as a whole, and lost as a whole when its process dies."""
_FORMAT = 1
_KEY_BYTES = 16
"""Length of an `embedding_key`."""
_READERS = 16
_LISTING = re.compile(r"[^/]+/[^/]+/shard-\d+/[0-9a-f]+\.json")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class IngestTarget:
    """What every process of an ingest gets. `key` is explained above; `shards` is their number."""

    location: Location
    key: str
    shards: int
    model: ModelIdentity
    profile: Profile
    settings: Settings


class SentenceRun(msgspec.Struct, frozen=True, rename={"file": "taken", "total": "of"}):
    """Names a run of a document's evidence sentences: `number`, from 0, of `total` runs."""

    file: ChangedFile
    fingerprint: str
    number: int
    total: int


@dataclass(frozen=True, slots=True)
class PendingRun:
    """A run to embed. The first run of a document carries the document itself; see `pack_document`."""

    run: SentenceRun
    document: bytes
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PendingBatch:
    """Runs of one shard to embed together."""

    shard: int
    runs: tuple[PendingRun, ...]


class EmbeddedBatch(msgspec.Struct, frozen=True, rename={"runs": "pieces"}):
    """A batch that was written. `name` is a path in the location, without suffix; `sentences` counts vectors."""

    name: str
    shard: int
    runs: tuple[SentenceRun, ...]
    file: FileDigest
    sentences: int


RunPlace: TypeAlias = tuple[EmbeddedBatch, int]
"""A batch, and the index of a run in it."""


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddedRun:
    """A run that was read back: an embedding key, a vector and the encoded tokens of each text."""

    document: bytes
    keys: tuple[bytes, ...]
    vectors: NDArray[np.float16]
    tokens: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class DocumentRuns:
    """A document to write, and where each of its runs is."""

    doc_id: str
    fingerprint: str
    runs: tuple[RunPlace, ...]


class EmbeddedRuns:
    """Which runs of which documents are embedded, and in which batches."""

    def __init__(self) -> None:
        self._places: dict[str, dict[str, dict[int, RunPlace]]] = defaultdict(lambda: defaultdict(dict))
        """By document, fingerprint and number of the run."""

    def add(self, batch: EmbeddedBatch) -> None:
        for index, run in enumerate(batch.runs):
            self._places[run.file.doc_id][run.fingerprint][run.number] = batch, index

    def missing(self, doc_id: str) -> dict[str, frozenset[int]]:
        """Return the runs of a document that are not embedded yet, by fingerprint of what has been embedded of it."""
        return {
            fingerprint: frozenset(range(_any_run(places).total)) - places.keys()
            for fingerprint, places in self._places.get(doc_id, {}).items()
        }

    def file(self, doc_id: str, fingerprint: str) -> ChangedFile:
        """Return the file of a document; raise `ClusterFault` unless all of its runs are embedded."""
        if self.missing(doc_id).get(fingerprint) != frozenset():
            raise ClusterFault(f"a part of the document {doc_id} was lost on the cluster", hint=AGAIN)
        return _any_run(self._places[doc_id][fingerprint]).file

    def documents(self, wanted: Mapping[str, str]) -> tuple[DocumentRuns, ...]:
        """Return the runs of some documents (fingerprints by id), in the order of the batches."""
        found = []
        for doc_id, fingerprint in wanted.items():
            places = self._places[doc_id][fingerprint]
            found.append(DocumentRuns(doc_id, fingerprint, tuple(places[number] for number in sorted(places))))
        return tuple(sorted(found, key=lambda document: (document.runs[0][0].name, document.runs[0][1])))


def _any_run(places: Mapping[int, RunPlace]) -> SentenceRun:
    batch, index = next(iter(places.values()))
    return batch.runs[index]


def work_key(model: ModelIdentity, shards: int) -> str:
    content = json.dumps([_FORMAT, MOST_SENTENCES, asdict(model), shards])
    return hashlib.sha256(content.encode()).hexdigest()[:12]


def name_of(key: str, batch: PendingBatch) -> str:
    runs = [pending.run for pending in batch.runs]
    content = [[run.file.doc_id, run.fingerprint, run.number, run.total] for run in runs]
    digest = hashlib.sha256(json.dumps(content).encode()).hexdigest()[:32]
    return f"{WORK}/{key}/shard-{batch.shard:03d}/{digest}"


def write(
    target: IngestTarget, name: str, batch: PendingBatch, vectors: Vectors, tokens: Sequence[bytes]
) -> EmbeddedBatch:
    """Write a batch. `vectors` and `tokens` have a row for each of its texts, in order."""
    import pyarrow as arrow  # type: ignore[import-untyped]
    from pyarrow import parquet

    halves = vectors.astype(np.float16)
    ends = list(accumulate(len(pending.texts) for pending in batch.runs))
    rows = [
        {
            "document": pending.document,
            "keys": b"".join(embedding_key(target.model, text) for text in pending.texts),
            "vectors": halves[end - len(pending.texts) : end].tobytes(),
            "tokens": list(tokens[end - len(pending.texts) : end]),
        }
        for pending, end in zip(batch.runs, ends, strict=True)
    ]
    large = arrow.large_binary()
    columns = [("document", large), ("keys", large), ("vectors", large), ("tokens", arrow.list_(large))]
    buffer = io.BytesIO()
    parquet.write_table(arrow.Table.from_pylist(rows, schema=arrow.schema(columns)), buffer, compression="zstd")
    content = buffer.getvalue()
    file = FileDigest(len(content), hashlib.sha256(content).hexdigest())
    written = EmbeddedBatch(name, batch.shard, tuple(pending.run for pending in batch.runs), file, sentences=ends[-1])
    for suffix, data in (("parquet", content), ("json", json_bytes(written))):
        earlier = target.location.get(f"{name}.{suffix}")  # of an attempt that broke off
        put_idempotent(target.location, f"{name}.{suffix}", data, over=earlier[1] if earlier else None)
    return written


def find(location: Location, name: str) -> EmbeddedBatch | None:
    """Return the batch of that name; None if it was not finished."""
    return read_json(location, f"{name}.json", EmbeddedBatch)


def find_all(location: Location, key: str) -> Iterator[EmbeddedBatch]:
    """Yield every batch that was finished."""
    names = sorted(name for name in location.names(f"{WORK}/{key}") if _LISTING.fullmatch(name))
    with ThreadPoolExecutor(_READERS) as pool:  # each is a request to the storage
        yield from filter(None, pool.map(lambda name: find(location, name.removesuffix(".json")), names))


def read(location: Location, name: str, file: FileDigest, model: ModelIdentity) -> tuple[EmbeddedRun, ...]:
    """Return the runs of a batch, in its order; raise `IndexDamaged` if the file is not what was written."""
    import pyarrow as arrow
    from pyarrow import parquet

    found = location.get(f"{name}.parquet")
    if found is None or hashlib.sha256(found[0]).hexdigest() != file.sha256:
        raise _damaged(location, f"{name}.parquet")
    return tuple(
        EmbeddedRun(
            row["document"],
            tuple(row["keys"][start : start + _KEY_BYTES] for start in range(0, len(row["keys"]), _KEY_BYTES)),
            np.frombuffer(row["vectors"], dtype=np.float16).reshape(-1, model.dimension),
            tuple(row["tokens"]),
        )
        for row in parquet.read_table(arrow.BufferReader(found[0])).to_pylist()
    )


def json_bytes(value: object) -> bytes:
    return json.dumps(msgspec.to_builtins(value)).encode()


def read_json(location: Location, name: str, kind: type[_T]) -> _T | None:
    """Return the value that a file under `work/` holds; None if there is none, `IndexDamaged` if it makes no sense."""
    found = location.get(name)
    try:
        return None if found is None else msgspec.convert(json.loads(found[0]), kind)
    except ValueError as error:
        raise _damaged(location, name) from error


def pack_document(document: ExtractedFile) -> bytes:
    """Return a document as it was read: a line of JSON, then its extracted text."""
    header = {
        "id": document.file.doc_id,
        "root": root_name(document.file.root),
        "format": document.file.format,
        "sha256": document.sha256,
        "encoding": document.encoding,
        "extractor": document.extractor,
        "fields": document.fields,
        "fingerprint": document.fingerprint,
    }
    return json.dumps(header, default=_dated).encode() + b"\n" + pack(document.extract)


def unpack_document(data: bytes) -> ExtractedFile:
    """Reverse `pack_document`. The file itself may be gone, or on another machine."""
    line, _, extract = data.partition(b"\n")
    header = json.loads(line, object_hook=_undated)
    doc_id, root = header.pop("id"), Path(header.pop("root"))
    file = SourceFile(doc_id, root / doc_id, root, header.pop("format"))
    return ExtractedFile(file=file, extract=unpack(extract), **header)


def _dated(value: object) -> dict[str, str]:
    """Encode dates, which YAML front matter can hold and JSON cannot."""
    if isinstance(value, date):
        return {"$datetime" if isinstance(value, datetime) else "$date": value.isoformat()}
    raise TypeError(f"{type(value).__name__} is no field of a document")


def _undated(value: dict[str, Any]) -> object:
    if set(value) == {"$datetime"}:
        return datetime.fromisoformat(value["$datetime"])
    return date.fromisoformat(value["$date"]) if set(value) == {"$date"} else value


def _damaged(location: Location, name: str) -> IndexDamaged:
    return IndexDamaged(
        f"{location.uri}/{name} is missing or is not what was written",
        hint=f"Remove {location.uri}/{WORK} and run the same command again.",
    )
