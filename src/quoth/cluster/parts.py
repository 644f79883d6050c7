"""Parts: documents with their vectors, as an ingest keeps them until all of their shard are there.

    OUTPUT/work/<key>/shard-003/<name>.parquet   runs of sentences of some documents, with their vectors
                                <name>.json      which these are; written afterwards, so that a part without it is none

`key` stands for what vectors depend on besides the text. A name depends on what is in the part alone, so a task that
is done again writes the same. A part holds whatever is needed to make its documents again without their files.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quoth.corpus.documents import Source
from quoth.corpus.load import SourceFile, root_name
from quoth.corpus.reading import Read
from quoth.corpus.tally import Taken
from quoth.corpus.wire import pack, unpack
from quoth.errors import IndexDamaged, MissingExtra
from quoth.stores.embedded.rows import embedding_key
from quoth.stores.places import Changed, File, Place
from quoth.types import ModelIdentity, Vectors

WORK = "work"
MOST_SENTENCES = 2_048
"""Of one part: it is embedded at once, and lost at once when its process dies."""
_FORMAT = 1
_KEY = 16
"""Bytes that stand for a text; see `embedding_key`."""
_READERS = 16


@dataclass(frozen=True, slots=True)
class Piece:
    """Which run of a document's evidence sentences: `number` (from 0) of `of`."""

    taken: Taken
    fingerprint: str
    number: int
    of: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """A run that is to be embedded. The first one carries the document itself, see `packed`."""

    piece: Piece
    document: bytes
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lot:
    """Runs of one shard that go into one part."""

    shard: int
    chunks: tuple[Chunk, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """A part that was written. `name` is below the place, without its ending; `sentences` are those embedded."""

    name: str
    shard: int
    pieces: tuple[Piece, ...]
    file: File
    sentences: int


@dataclass(frozen=True, slots=True, eq=False)
class Embedded:
    """A run as a part gives it back: `keys` stand for its texts, one vector and one value of `tokens` for each."""

    document: bytes
    keys: tuple[bytes, ...]
    vectors: NDArray[np.float16]
    tokens: tuple[bytes, ...]


def work_key(model: ModelIdentity, shards: int) -> str:
    content = json.dumps([_FORMAT, MOST_SENTENCES, asdict(model), shards])
    return hashlib.sha256(content.encode()).hexdigest()[:12]


def name_of(key: str, lot: Lot) -> str:
    content = [[one.piece.taken.doc_id, one.piece.fingerprint, one.piece.number, one.piece.of] for one in lot.chunks]
    digest = hashlib.sha256(json.dumps(content).encode()).hexdigest()[:32]
    return f"{WORK}/{key}/shard-{lot.shard:03d}/{digest}"


def write(
    place: Place, name: str, lot: Lot, *, vectors: Vectors, tokens: Sequence[bytes], model: ModelIdentity
) -> Part:
    """Keep a lot, whose texts have these vectors and tokens, one behind the other."""
    arrow, parquet = _arrow()
    rows = []
    start = 0
    halves = vectors.astype(np.float16)
    for chunk in lot.chunks:
        end = start + len(chunk.texts)
        rows.append(
            {
                "document": chunk.document,
                "keys": b"".join(embedding_key(model, text) for text in chunk.texts),
                "vectors": halves[start:end].tobytes(),
                "tokens": list(tokens[start:end]),
            }
        )
        start = end
    buffer = io.BytesIO()
    parquet.write_table(arrow.Table.from_pylist(rows, schema=_schema(arrow)), buffer, compression="zstd")
    content = buffer.getvalue()
    part = Part(
        name,
        lot.shard,
        tuple(chunk.piece for chunk in lot.chunks),
        File(len(content), hashlib.sha256(content).hexdigest()),
        sentences=start,
    )
    _put(place, f"{name}.parquet", content)
    _put(place, f"{name}.json", json.dumps(asdict(part)).encode())
    return part


def find(place: Place, name: str) -> Part | None:
    """The part of that name; None where it was not finished."""
    found = place.get(f"{name}.json")
    if found is None:
        return None
    with kept_work(place, f"{name}.json"):
        return _parsed(found[0])


def find_all(place: Place, key: str) -> Iterator[Part]:
    """Every part that was finished."""
    under = f"{WORK}/{key}"
    names = sorted(one.removesuffix(".json") for one in place.names(under) if _is_listing(one))
    with ThreadPoolExecutor(_READERS) as pool:  # each is a question to the storage
        for part in pool.map(lambda name: find(place, name), names):
            if part is not None:
                yield part


def read(place: Place, part: Part, model: ModelIdentity) -> tuple[Embedded, ...]:
    """What was kept, in the order of the part's pieces; `IndexDamaged` where that is not what was written."""
    arrow, parquet = _arrow()
    found = place.get(f"{part.name}.parquet")
    if found is None or hashlib.sha256(found[0]).hexdigest() != part.file.sha256:
        raise _damaged(place, f"{part.name}.parquet")
    table = parquet.read_table(arrow.BufferReader(found[0]))
    return tuple(
        Embedded(
            row["document"],
            tuple(row["keys"][start : start + _KEY] for start in range(0, len(row["keys"]), _KEY)),
            np.frombuffer(row["vectors"], dtype=np.float16).reshape(-1, model.dimension),
            tuple(row["tokens"]),
        )
        for row in table.to_pylist()
    )


@contextmanager
def kept_work(place: Place, name: str) -> Iterator[None]:
    """What was kept under this name is made sense of; `IndexDamaged` where there is none in it."""
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _damaged(place, name) from error


def packed(found: Read) -> bytes:
    """A document as it was read: a line of JSON, and then its extract."""
    source = found.source
    header = {
        "id": source.file.doc_id,
        "root": root_name(source.file.root),
        "format": source.file.format,
        "sha256": source.sha256,
        "encoding": source.encoding,
        "extractor": source.extractor,
        "fields": found.fields,
        "fingerprint": found.fingerprint,
    }
    return json.dumps(header, default=_dated).encode() + b"\n" + pack(source.extract)


def unpacked(data: bytes) -> Read:
    """What `packed` made bytes of. The file itself may be gone, or on another machine."""
    line, _, extract = data.partition(b"\n")
    header = json.loads(line, object_hook=_undated)
    root = Path(header["root"])
    file = SourceFile(header["id"], root / header["id"], root, header["format"])
    source = Source(file, header["sha256"], header["encoding"], header["extractor"], unpack(extract))
    return Read(source, header["fields"], header["fingerprint"])


def _dated(value: object) -> dict[str, str]:
    """YAML knows days and times, JSON does not."""
    if isinstance(value, date):
        return {"$datetime" if isinstance(value, datetime) else "$date": value.isoformat()}
    raise TypeError(f"{type(value).__name__} is no field of a document")


def _undated(value: dict[str, Any]) -> object:
    if set(value) == {"$datetime"}:
        return datetime.fromisoformat(value["$datetime"])
    return date.fromisoformat(value["$date"]) if set(value) == {"$date"} else value


def _damaged(place: Place, name: str) -> IndexDamaged:
    return IndexDamaged(
        f"{place.uri}/{name} is missing or is not what was written",
        hint=f"Remove {place.uri}/{WORK} and run the same command again.",
    )


def _put(place: Place, name: str, content: bytes) -> None:
    """Write it whether or not an earlier attempt did."""
    try:
        place.put(name, content, over=None)
    except Changed:
        found = place.get(name)
        if found is None or found[0] != content:
            place.put(name, content, over=found[1] if found else None)


def _parsed(content: bytes) -> Part:
    listed = json.loads(content)
    pieces = tuple(_piece(one) for one in listed["pieces"])
    return Part(**{**listed, "pieces": pieces, "file": File(**listed["file"])})


def _piece(listed: Mapping[str, Any]) -> Piece:
    taken = Taken(**{**listed["taken"], "notes": tuple(listed["taken"]["notes"])})
    return Piece(**{**listed, "taken": taken})


def _is_listing(name: str) -> bool:
    inside = name.split("/")
    return len(inside) == 4 and inside[2].startswith("shard-") and name.endswith(".json") and inside[3][0] != "."


def _schema(arrow: Any) -> Any:  # noqa: ANN401 - a module, and a type of its own
    large = arrow.large_binary()
    return arrow.schema([("document", large), ("keys", large), ("vectors", large), ("tokens", arrow.list_(large))])


def _arrow() -> tuple[Any, Any]:
    try:
        import pyarrow  # type: ignore[import-untyped]
        import pyarrow.parquet  # type: ignore[import-untyped]
    except ImportError as error:
        raise MissingExtra("a cluster", "ray") from error
    return pyarrow, pyarrow.parquet
