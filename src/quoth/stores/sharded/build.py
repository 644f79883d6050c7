"""Make a sharded index: write its shards, each as any index is written, and publish them together."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from quoth.errors import IndexDamaged, IndexMismatch
from quoth.protocols import Embedder, Progress
from quoth.stores.content import digest_of
from quoth.stores.embedded import EmbeddedStore
from quoth.stores.embedded.reader import EmbeddedReader
from quoth.stores.places import File, file_of, open_place
from quoth.stores.sharded import listing, manifest
from quoth.stores.sharded.assign import assign
from quoth.stores.sharded.manifest import Cluster, ShardEntry
from quoth.stores.sharded.scoring import terms_of
from quoth.types import IndexInfo, Known, SplitDocument


def write_shards(
    place: Path,
    documents: Iterable[SplitDocument],
    *,
    shards: int,
    embedder: Embedder,
    profile: tuple[str, str],
    progress: Progress | None,
    smallest_shard: int = 4096,
) -> IndexInfo:
    """Put `documents` into so many shards at `place`, and publish them. All are held in memory meanwhile."""
    parts: list[list[SplitDocument]] = [[] for _ in range(shards)]
    for document in documents:
        parts[assign(document.document.id, shards)].append(document)
    for folder, part in zip(folders(shards), parts, strict=True):
        store = EmbeddedStore(place / folder, smallest_shard=smallest_shard)
        store.write(part, remove=(), embedder=embedder, profile=profile, progress=progress)
        store.close()
    return publish(place, folders(shards))


def folders(shards: int) -> tuple[str, ...]:
    """The usual names of so many shards."""
    return tuple(f"shard-{number:03d}" for number in range(shards))


def publish(place: Path, named: Sequence[str]) -> IndexInfo:
    """Make one index of the embedded indexes in these folders of `place`, in the order of their numbers.

    `IndexMismatch` where a document is not in the shard that it is assigned to, or the shards are not alike. Where
    nothing changed, nothing is published.
    """
    home = open_place(place)
    before, version = _published(place)
    entries: list[ShardEntry] = []
    infos: list[IndexInfo] = []
    held: list[Mapping[str, Known]] = []
    for number, folder in enumerate(named):
        entry, info, known = described(place, folder)
        check_assignment(known, folder, number=number, shards=len(named))
        if before is None or entry not in before.shards:
            told = home.get(entry.listing)
            home.put(entry.listing, listing.written(known), over=told[1] if told else None)
        entries.append(entry)
        infos.append(info)
        held.append(known)
    same = before is not None and [one.digest for one in before.shards] == [one.digest for one in entries]
    generation = before.info.generation if before else 0
    cluster = whole(entries, infos, held, generation=generation if same else generation + 1, settings={})
    manifest.check(home.uri, cluster, infos)
    if before is not None and before.shards == cluster.shards:
        return before.info
    manifest.write(home, cluster, over=version)
    return cluster.info


def described(place: Path, folder: str) -> tuple[ShardEntry, IndexInfo, Mapping[str, Known]]:
    """An embedded index in a folder of `place` as a shard, what it says about itself, and what it knows."""
    store = EmbeddedStore(place / folder)
    try:
        with store.read() as reader:
            info, terms, evidence = reader.info, _terms(reader), reader.lexical.sentences
            known = store.known()
    finally:
        store.close()
    listed = listing.written(known)
    files = dict(sorted(_files(place, folder)))
    files[manifest.listing_of(folder)] = File(len(listed), hashlib.sha256(listed).hexdigest())
    entry = ShardEntry(
        folder,
        info.generation,
        info.digest,
        info.documents,
        info.sentences,
        evidence=evidence,
        terms=terms,
        files=files,
    )
    return entry, info, known


def check_assignment(known: Iterable[str], folder: str, *, number: int, shards: int) -> None:
    """`IndexMismatch` where a document is in another shard than the one that it is looked for in."""
    for doc_id in known:
        if (right := assign(doc_id, shards)) != number:
            raise IndexMismatch(
                f"the document {doc_id} is in {folder}, and belongs in shard {right + 1} of {shards}",
                hint="Make the shards anew with the number that they are to have.",
            )


def whole(
    entries: Sequence[ShardEntry],
    infos: Sequence[IndexInfo],
    known: Sequence[Mapping[str, Known]],
    *,
    generation: int,
    settings: Mapping[str, Any],
) -> Cluster:
    """The index that these shards are together; it says of itself what one index of all the documents would."""
    first = infos[0]
    profile = (first.profile_name, first.profile_source)
    fingerprints = [(doc_id, one.fingerprint) for shard in known for doc_id, one in shard.items()]
    info = replace(
        first,
        generation=generation,
        digest=digest_of(first.format, first.model, profile=profile, documents=fingerprints),
        documents=sum(one.documents for one in infos),
        sentences=sum(one.sentences for one in infos),
    )
    return Cluster(info, tuple(entries), settings)


def _published(place: Path) -> tuple[Cluster | None, str | None]:
    """What is published now, and its version; None where that is nothing, or cannot be read."""
    home = open_place(place)
    found = home.get(manifest.NAME)
    if found is None:
        return None, None
    try:
        return manifest.parsed(found[0], home.uri), found[1]
    except IndexDamaged:
        return None, found[1]


def _terms(reader: EmbeddedReader) -> int:
    return sum(
        len(terms_of(sentence.search_text))
        for document in reader.documents()
        for sentence in reader.sentences(document.id)
        if sentence.kind.evidence
    )


def _files(place: Path, folder: str) -> Iterator[tuple[str, File]]:
    """What a shard is made of: its database and its newest generation, none of which is changed any more."""
    for path in (place / folder).rglob("*"):
        if path.is_file() and not path.name.endswith(("-wal", "-shm", ".lock")):
            yield path.relative_to(place).as_posix(), file_of(path)
