"""One shard of an index: made from the one before and the parts of its documents, as any index is written.

A new version of a shard gets a folder of its own, and readers of the one before are not disturbed. What was finished is
remembered under `work/`, so that an ingest that is run again does not make it twice.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from quoth.cluster import parts
from quoth.cluster.parts import WORK, Embedded, Part
from quoth.corpus.documents import split_document
from quoth.errors import IndexDamaged, ModelError, QuothError
from quoth.ingest import Replaced, replaced
from quoth.profile import Profile
from quoth.protocols import Progress
from quoth.stores.embedded import EmbeddedStore, generations
from quoth.stores.embedded.faults import writing
from quoth.stores.embedded.rows import embedding_key
from quoth.stores.places import Changed, File, Place, file_of, put_again
from quoth.stores.sharded import build, listing
from quoth.stores.sharded.fetched import lacking
from quoth.stores.sharded.manifest import PUBLISH, ShardEntry, replaced_of
from quoth.types import IndexInfo, ModelIdentity, QuestionTokens, SplitDocument, Vectors


@dataclass(frozen=True, slots=True)
class Put:
    """A document to be written, and where each run of it is: a part, by its place in the plan, and a piece of that."""

    doc_id: str
    fingerprint: str
    runs: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """What becomes of one shard. `before` is what it was; `put` is in the order of the parts."""

    number: int
    before: ShardEntry | None
    parts: tuple[Part, ...]
    put: tuple[Put, ...]
    remove: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Whole:
    """What is the same for every shard of an ingest."""

    place: Place
    key: str
    shards: int
    model: ModelIdentity
    profile: Profile
    faiss_threshold: int


@dataclass(frozen=True, slots=True)
class Made:
    """A shard that was written, what it says about itself, and which of its documents are said to be replaced."""

    entry: ShardEntry
    info: IndexInfo
    replaced: Mapping[str, tuple[Replaced, ...]]


def made_or_failed(whole: Whole, plan: Plan) -> Made | QuothError:
    """`made`, for a task of the cluster: an error on purpose comes back as a value."""
    try:
        return made(whole, plan)
    except QuothError as error:
        return error


def made(whole: Whole, plan: Plan) -> Made:
    """Write a shard, or find that an earlier run has."""
    place = whole.place
    record = f"{WORK}/{whole.key}/made/{_digest(whole, plan)}.json"
    if (earlier := _recorded(place, record)) is not None:
        return earlier
    folder = f"shard-{plan.number:03d}-{os.urandom(4).hex()}"
    with _scratch(whole) as home:
        told = _write(whole, plan, home / folder)
        entry, info, known = build.described(home, folder)
        build.check_assignment(known, folder, number=plan.number, shards=whole.shards)
        _bring(place, entry, home)
    put_again(place, entry.listing, listing.written(known), over=None)
    if told:
        content = json.dumps(_told_json(told)).encode()
        put_again(place, replaced_of(folder), content, over=None)
        entry = replace(entry, files={**entry.files, replaced_of(folder): _file(content)})
    one = Made(entry, info, told)
    try:
        put_again(place, record, json.dumps({**asdict(one), "replaced": _told_json(told)}).encode(), over=None)
    except Changed:  # the same task was begun twice, and the other was quicker
        return _recorded(place, record) or one
    return one


def read_replaced(place: Place, entry: ShardEntry) -> dict[str, tuple[Replaced, ...]]:
    """Which documents of a shard are said to be replaced; `IndexDamaged` where that is not what was written."""
    name = replaced_of(entry.folder)
    if name not in entry.files:
        return {}
    found = place.get(name)
    if found is None or _file(found[0]) != entry.files[name]:
        raise IndexDamaged(f"{place.uri}/{name} is missing or is not what was written", hint=PUBLISH)
    return _told(json.loads(found[0]))


def _recorded(place: Place, record: str) -> Made | None:
    """What an earlier run, or another attempt, says to have made."""
    if (found := place.get(record)) is None:
        return None
    with parts.kept_work(place, record):
        one = _parsed(json.loads(found[0]))
    if lacking(place, one.entry) is not None:  # somebody removed it since
        place.remove([record])
        return None
    return one


def _file(content: bytes) -> File:
    return File(len(content), hashlib.sha256(content).hexdigest())


def _write(whole: Whole, plan: Plan, folder: Path) -> dict[str, tuple[Replaced, ...]]:
    """Bring the index in `folder` up to date; nothing stays in it but its newest generation."""
    if plan.before is not None:
        _restore(whole.place, plan.before, folder)
    kept = _Kept(whole, plan)
    with closing(EmbeddedStore(folder, faiss_threshold=whole.faiss_threshold)) as store:
        info = store.write(
            kept.documents(),
            remove=plan.remove,
            embedder=ReadyEmbedder(whole.model, kept.runs()),
            profile=(whole.profile.name, whole.profile.source),
            progress=None,
        )
        with store.read() as reader:
            told = replaced(reader)
    with writing(folder):
        generations.clean(folder, keep={info.generation})
    return told


class ReadyEmbedder:
    """Gives vectors that were made before. `runs` hold them in the order in which they will be asked for.

    Not every vector is asked for: of a text that comes again, and of one that the index holds, none is.
    """

    has_tokens = False

    def __init__(self, identity: ModelIdentity, runs: Iterator[Embedded]) -> None:
        self.identity = identity
        self._rows = (
            (key, vector, one)
            for run in runs
            for key, vector, one in zip(run.keys, run.vectors, run.tokens, strict=True)
        )

    def embed_tokens(self, texts: Sequence[str], *, progress: Progress | None = None) -> tuple[Vectors, list[bytes]]:
        vectors = np.empty((len(texts), self.identity.dimension), dtype=np.float32)
        tokens = []
        for row, text in enumerate(texts):
            wanted = embedding_key(self.identity, text)
            found = next(((vector, one) for key, vector, one in self._rows if key == wanted), None)
            if found is None:
                raise ModelError(
                    "a sentence was embedded with other words than it has now",
                    hint="Install the same version of Quoth on every node, then run the same command again.",
                )
            vectors[row] = found[0]
            tokens.append(found[1])
        return vectors, tokens

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        return self.embed_tokens(texts, progress=progress)[0]

    def embed_question(self, text: str) -> tuple[Vectors, QuestionTokens | None]:
        raise ModelError("no question is embedded while a shard is written", hint="Please report this.")


class _Kept:
    """The documents of a plan and their vectors, read from the parts. Few parts are in memory at a time."""

    def __init__(self, whole: Whole, plan: Plan) -> None:
        self._whole = whole
        self._plan = plan
        self._read: tuple[int, tuple[Embedded, ...]] | None = None

    def documents(self) -> Iterator[SplitDocument]:
        for put in self._plan.put:
            found = parts.unpacked(self._run(put.runs[0]).document)
            yield split_document(
                found.source, fields=found.fields, profile=self._whole.profile, fingerprint=found.fingerprint
            )

    def runs(self) -> Iterator[Embedded]:
        for put in self._plan.put:
            for run in put.runs:
                yield self._run(run)

    def _run(self, where: tuple[int, int]) -> Embedded:
        part, piece = where
        if self._read is None or self._read[0] != part:
            self._read = part, parts.read(self._whole.place, self._plan.parts[part], self._whole.model)
        return self._read[1][piece]


@contextmanager
def _scratch(whole: Whole) -> Iterator[Path]:
    """Where a shard is built: beside the others, so that it need only be renamed, or on this node to be sent."""
    beside = whole.place.folder
    if beside is None:
        with tempfile.TemporaryDirectory(prefix="quoth-shard-") as temporary:
            yield Path(temporary)
        return
    home = beside / WORK / whole.key / "building" / os.urandom(4).hex()
    with writing(beside):
        home.mkdir(parents=True)
    try:
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _restore(place: Place, entry: ShardEntry, folder: Path) -> None:
    """A copy of the shard as it was, compared on its way."""
    for name, expected in entry.inside.items():
        target = folder / PurePosixPath(name).relative_to(entry.folder)
        with writing(folder):
            try:
                place.download(name, target)
                found = file_of(target)
            except FileNotFoundError:
                found = None
        if found != expected:
            raise IndexDamaged(f"{place.uri}/{name} is missing or is not what was written", hint=PUBLISH)


def _bring(place: Place, entry: ShardEntry, home: Path) -> None:
    """Put a shard that was built in `home` in its place."""
    if place.folder is not None:
        with writing(place.folder):
            for path in (home / entry.folder).rglob("*"):  # locks, and what SQLite keeps beside its file
                if path.is_file() and path.relative_to(home).as_posix() not in entry.files:
                    path.unlink()
            (home / entry.folder).rename(place.folder / entry.folder)
        return
    for name in entry.inside:
        place.upload(home / name, name)


def _digest(whole: Whole, plan: Plan) -> str:
    before = plan.before and [plan.before.folder, plan.before.digest]
    put = [[one.doc_id, one.fingerprint] for one in plan.put]
    content = [plan.number, before, sorted(put), sorted(plan.remove), whole.profile.name, whole.profile.source]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:32]


def _parsed(listed: dict[str, Any]) -> Made:
    entry, info = listed["entry"], listed["info"]
    files = {name: File(**one) for name, one in entry["files"].items()}
    return Made(
        ShardEntry(**{**entry, "files": files}),
        IndexInfo(**{**info, "model": ModelIdentity(**info["model"])}),
        _told(listed["replaced"]),
    )


def _told_json(told: Mapping[str, Sequence[Replaced]]) -> dict[str, list[dict[str, Any]]]:
    return {doc_id: [asdict(one) for one in some] for doc_id, some in told.items()}


def _told(listed: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, tuple[Replaced, ...]]:
    return {doc_id: tuple(Replaced(**one) for one in some) for doc_id, some in listed.items()}
