"""`cluster.json`: which embedded indexes are the shards of one index, and what they hold together.

It is written last, and all at once: an index without it is not finished, and a reader sees one version of it whole.
A shard is an index that any command can open, so it can be changed alone; then it is not what is written here any more,
and the index as a whole is refused until it is published again.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from quoth.errors import IndexBusy, IndexDamaged, IndexMismatch, NoIndex
from quoth.language.stems import word_language_in
from quoth.stores.disk_faults import writing
from quoth.stores.embedded import EmbeddedStore
from quoth.stores.embedded.visible_documents import NO_CHANGES, LabelChanges
from quoth.stores.locations import FileDigest, Location, VersionConflict, digest_file, open_location, put_idempotent
from quoth.stores.query_terms import stems_of
from quoth.stores.sharded.shard_protocol import assign
from quoth.stores.write_template import content_digest, counted_languages
from quoth.types import IndexInfo, ModelIdentity, StoredDocument

NAME = "cluster.json"
FORMAT = 2
"""The version of this file, and of the rule that assigns documents to shards."""
FORMAT_WITH_LABELS = 3
"""The version of a file that sets labels: whoever does not know them must not read it without."""
_LOCK = "publish.lock"

PUBLISH = "Remove cluster.json there and ingest again, or choose another --output."
"""The hint when a sharded index contradicts itself: an ingest trusts the manifest, so it must be removed."""


@dataclass(frozen=True, slots=True)
class ShardEntry:
    """A shard as it was when the index was published. Its `evidence` sentences have `terms` terms together.

    `files` holds, by path below the location, the files of the shard's folder and two files beside it: the list of its
    documents and the list of replaced documents. `labels` were set after the shard was written.
    """

    folder: str
    generation: int
    digest: str
    documents: int
    sentences: int
    evidence: int
    terms: int
    files: Mapping[str, FileDigest]
    labels: LabelChanges = NO_CHANGES

    @property
    def listing(self) -> str:
        """The name of the file that lists its documents."""
        return listing_of(self.folder)

    @property
    def size(self) -> int:
        """The bytes of its files."""
        return sum(file.size for file in self.files.values())

    @property
    def inside(self) -> dict[str, FileDigest]:
        """The files of its folder."""
        return {name: file for name, file in self.files.items() if PurePosixPath(name).parts[0] == self.folder}


def listing_of(folder: str) -> str:
    return f"{folder}.documents.jsonl"


def replaced_of(folder: str) -> str:
    """Return the name of the file that lists replaced documents; it exists only if there are any."""
    return f"{folder}.replaced.json"


@dataclass(frozen=True, slots=True)
class ClusterManifest:
    """A published sharded index. `info` equals the info of one index of the same documents, but counts publications.

    `settings` are the settings that the documents were read and embedded with, as JSON, for people.
    """

    info: IndexInfo
    shards: tuple[ShardEntry, ...]
    settings: Mapping[str, Any]

    @property
    def size(self) -> int:
        """The bytes of all shards."""
        return sum(shard.size for shard in self.shards)

    @property
    def evidence(self) -> int:
        return sum(shard.evidence for shard in self.shards)

    @property
    def terms(self) -> int:
        return sum(shard.terms for shard in self.shards)


def write(location: Location, cluster: ClusterManifest, *, over: str | None) -> None:
    """Publish: from here on, readers see these shards. `over` is the version that this one replaces."""
    content = {
        "format": FORMAT_WITH_LABELS if any(shard.labels.labels for shard in cluster.shards) else FORMAT,
        "index": asdict(cluster.info),
        "settings": dict(cluster.settings),
        "shards": [_written(shard) for shard in cluster.shards],
    }
    content["sha256"] = checksum(content)
    try:
        put_idempotent(location, NAME, json.dumps(content, indent=1).encode(), over=over)
    except VersionConflict as error:
        raise IndexBusy(
            f"another process has published the index at {location.uri} meanwhile", hint="Run the same command again."
        ) from error


@contextmanager
def publishing(location: Location) -> Iterator[None]:
    """Let one process at a time replace the manifest of a folder; object storage compares and replaces by itself."""
    if location.folder is None:
        yield
        return
    with writing(location.folder):
        descriptor = os.open(location.folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _written(shard: ShardEntry) -> dict[str, Any]:
    fields = asdict(shard)
    if not shard.labels.labels:
        del fields["labels"]  # as earlier versions write it
    return fields


def read(location: Path | Location) -> ClusterManifest:
    """Return the published manifest; `NoIndex` if there is none, `IndexDamaged` if it contradicts itself."""
    return versioned(open_location(location) if isinstance(location, Path) else location)[0]


def versioned(location: Location) -> tuple[ClusterManifest, str]:
    """Return the published manifest, and the version of its file."""
    found = location.get(NAME)
    if found is None:
        raise NoIndex(location.uri)
    content, version = found
    return parsed(content, location.uri), version


def parsed(content: bytes, location: str) -> ClusterManifest:
    """Parse the content of the file that was found at `location`."""
    try:
        listed = json.loads(content)
        form = listed["format"]
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged(location, "cannot be read") from error
    if form not in (FORMAT, FORMAT_WITH_LABELS):
        raise IndexMismatch(
            f"{location}/{NAME} has format {form}; this version of Quoth reads {FORMAT_WITH_LABELS}",
            hint="Use the version of Quoth that made it, or ingest again.",
        )
    if listed.get("sha256") != checksum(listed):  # a wrong number of terms would change every score, and nobody know
        raise _damaged(location, "is not what was written")
    try:
        cluster = _parsed(listed)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _damaged(location, "does not describe an index") from error
    if fault := next(_contradictions(cluster), None):
        raise _damaged(location, fault)
    return cluster


def checksum(content: Mapping[str, object]) -> str:
    """Return the checksum of everything else in the file."""
    rest = {name: value for name, value in content.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def check(location: str, cluster: ClusterManifest, found: Sequence[IndexInfo]) -> None:
    """Compare the shards as they are with what was published; `IndexMismatch` where one is another."""
    for entry, info in zip(cluster.shards, found, strict=True):
        if info.model != cluster.info.model:
            raise _mismatch(location, entry, f"was made with {info.model.name}, not {cluster.info.model.name}")
        if (info.profile_name, info.profile_source) != (cluster.info.profile_name, cluster.info.profile_source):
            raise _mismatch(location, entry, f"has another profile ({info.profile_name}) than the whole")
        if (info.generation, info.digest) != (entry.generation, entry.digest):
            raise _mismatch(location, entry, "was changed after the index was published")


def _parsed(listed: dict[str, Any]) -> ClusterManifest:
    index = listed["index"]
    languages = tuple((code, count) for code, count in index.get("language_counts", ()))
    info = IndexInfo(**{**index, "model": ModelIdentity(**index["model"]), "language_counts": languages})
    shards = []
    for shard in listed["shards"]:
        files = {name: FileDigest(**fields) for name, fields in shard["files"].items()}
        labels = msgspec.convert(shard.get("labels", {}), LabelChanges)
        shards.append(ShardEntry(**{**shard, "files": files, "labels": labels}))
    return ClusterManifest(info, tuple(shards), dict(listed["settings"]))


def _contradictions(cluster: ClusterManifest) -> Iterator[str]:
    """Yield what is impossible in it, as ends of sentences; each is checked only if the ones before are possible."""
    shards, info = cluster.shards, cluster.info
    folders = [shard.folder for shard in shards]
    numbers = [info.generation, info.documents, info.sentences]
    for shard in shards:
        numbers += [shard.generation, shard.documents, shard.sentences, shard.evidence, shard.terms]
    if not shards:
        yield "names no shard"
    if not all(type(number) is int and number >= 0 for number in numbers):
        yield "gives a number that cannot be"
    if not all(isinstance(name, str) and name not in ("", "..") and Path(name).name == name for name in folders):
        yield "names a shard that is not a folder beside it"
    if len(set(folders)) != len(folders):
        yield "names a shard twice"
    if not all(_belongs(name, shard) for shard in shards for name in shard.files):
        yield "names a file that is in no folder of its shard"
    sums = (sum(shard.documents for shard in shards), sum(shard.sentences for shard in shards))
    if sums != (info.documents, info.sentences):
        yield "says that its shards hold other numbers of documents or sentences than the whole"


def _belongs(name: str, shard: ShardEntry) -> bool:
    parts = PurePosixPath(name).parts
    beside = name in (shard.listing, replaced_of(shard.folder))
    return beside or (parts[:1] == (shard.folder,) and ".." not in parts)


def _damaged(location: str, why: str) -> IndexDamaged:
    return IndexDamaged(f"{location}/{NAME} {why}", hint=PUBLISH)


def _mismatch(location: str, entry: ShardEntry, why: str) -> IndexMismatch:
    return IndexMismatch(f"the shard {entry.folder} of the index at {location} {why}", hint=PUBLISH)


def listing_bytes(documents: Mapping[str, StoredDocument]) -> bytes:
    """Return a line of JSON for each document, in the order of their ids."""
    listed = ({"id": doc_id, **asdict(document)} for doc_id, document in sorted(documents.items()))
    return "".join(json.dumps(fields, ensure_ascii=False) + "\n" for fields in listed).encode()


def read_listings(location: Location, shards: Iterable[ShardEntry]) -> dict[str, StoredDocument]:
    """Return the documents of all these shards by id."""
    return {doc_id: document for entry in shards for doc_id, document in read_listing(location, entry).items()}


def read_listing(location: Location, entry: ShardEntry) -> dict[str, StoredDocument]:
    """Return the documents of a shard by id, with the labels in force; `IndexDamaged` if the file was changed."""
    found = location.get(entry.listing)
    expected = entry.files.get(entry.listing)
    if found is None or expected is None or hashlib.sha256(found[0]).hexdigest() != expected.sha256:
        raise IndexDamaged(f"{location.uri}/{entry.listing} is missing or is not what was written", hint=PUBLISH)
    listed = map(json.loads, found[0].splitlines())
    documents = {fields.pop("id"): msgspec.convert(fields, StoredDocument) for fields in listed}
    own = entry.labels.labels
    return documents | {doc_id: replace(documents[doc_id], access=own[doc_id]) for doc_id in own if doc_id in documents}


def describe_shard(location: Path, folder: str) -> tuple[ShardEntry, IndexInfo, Mapping[str, StoredDocument]]:
    """Return an embedded index in a folder of `location` as a shard, its own description, and its documents by id."""
    store = EmbeddedStore(location / folder)
    try:
        with store.read_part() as reader:
            info, evidence = reader.info, reader.lexical.sentences
            terms = sum(
                len(stems_of(sentence.search_text, word_language_in(info, document.metadata.language)))
                for document in reader.documents()
                for sentence in reader.sentences(document.id)
                if sentence.kind.evidence
            )
            documents = store.stored_documents()
    finally:
        store.close()
    listed = listing_bytes(documents)
    files = dict(sorted(_files(location, folder)))
    files[listing_of(folder)] = FileDigest(len(listed), hashlib.sha256(listed).hexdigest())
    counts = (info.documents, info.sentences, evidence, terms)
    return ShardEntry(folder, info.generation, info.digest, *counts, files), info, documents


def check_assignment(documents: Iterable[str], folder: str, *, number: int, shards: int) -> None:
    """Raise `IndexMismatch` if a document is not in the shard that it is assigned to."""
    for doc_id in documents:
        if (right := assign(doc_id, shards)) != number:
            raise IndexMismatch(
                f"the document {doc_id} is in {folder}, and belongs in shard {right + 1} of {shards}",
                hint="Make the shards anew with the number that they are to have.",
            )


def combine_shards(
    entries: Sequence[ShardEntry],
    infos: Sequence[IndexInfo],
    documents: Sequence[Mapping[str, StoredDocument]],
    *,
    generation: int,
    settings: Mapping[str, Any],
) -> ClusterManifest:
    """Combine shards into one index, described as one index of all the documents would be."""
    first = infos[0]
    profile = (first.profile_name, first.profile_source)
    fingerprints = [(doc_id, document.fingerprint) for shard in documents for doc_id, document in shard.items()]
    languages: Counter[str | None] = Counter()
    for shard_info in infos:
        languages.update(dict(shard_info.language_counts))
    info = replace(
        first,
        generation=generation,
        digest=content_digest(first.format, first.model, profile=profile, documents=fingerprints),
        documents=sum(info.documents for info in infos),
        sentences=sum(info.sentences for info in infos),
        language_counts=counted_languages(languages),
    )
    return ClusterManifest(info, tuple(entries), settings)


def _files(location: Path, folder: str) -> Iterator[tuple[str, FileDigest]]:
    """Yield the files of a shard: its database and its newest generation, which never change again."""
    for path in (location / folder).rglob("*"):
        if path.is_file() and not path.name.endswith(("-wal", "-shm", ".lock")):
            yield path.relative_to(location).as_posix(), digest_file(path)
