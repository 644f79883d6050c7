"""Make a sharded index: write its shards, each as any index is written, and publish them together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from quoth.errors import IndexDamaged, IndexMismatch, NoIndex
from quoth.protocols import Embedder, Progress
from quoth.stores.content import digest_of
from quoth.stores.embedded import EmbeddedStore
from quoth.stores.embedded.reader import EmbeddedReader
from quoth.stores.sharded import manifest
from quoth.stores.sharded.assign import assign
from quoth.stores.sharded.manifest import Cluster, ShardEntry
from quoth.stores.sharded.scoring import terms_of
from quoth.types import IndexInfo, SplitDocument


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
    before = _published(place)
    entries: list[ShardEntry] = []
    infos: list[IndexInfo] = []
    fingerprints: list[tuple[str, str]] = []
    for number, folder in enumerate(named):
        store = EmbeddedStore(place / folder)
        with store.read() as reader:
            entries.append(_entry(folder, reader))
            infos.append(reader.info)
            known = store.known()
        store.close()
        for doc_id in known:
            if (right := assign(doc_id, len(named))) != number:
                raise IndexMismatch(
                    f"the document {doc_id} is in {folder}, and belongs in {named[right]}",
                    hint="Make the shards anew with the number that they are to have.",
                )
        fingerprints += [(doc_id, one.fingerprint) for doc_id, one in known.items()]
    cluster = Cluster(
        _whole(infos, fingerprints, generation=before.info.generation + 1 if before else 1), tuple(entries)
    )
    manifest.check(place, cluster, infos)
    if before is not None and before.shards == cluster.shards:
        return before.info
    manifest.write(place, cluster)
    return cluster.info


def _published(place: Path) -> Cluster | None:
    """What is published now; None where that is nothing, or cannot be read."""
    try:
        return manifest.read(place)
    except (NoIndex, IndexDamaged):
        return None


def _whole(shards: Sequence[IndexInfo], fingerprints: Sequence[tuple[str, str]], *, generation: int) -> IndexInfo:
    """What one index of all the documents would say about itself."""
    first = shards[0]
    profile = (first.profile_name, first.profile_source)
    return replace(
        first,
        generation=generation,
        digest=digest_of(first.format, first.model, profile=profile, documents=fingerprints),
        documents=sum(one.documents for one in shards),
        sentences=sum(one.sentences for one in shards),
    )


def _entry(folder: str, reader: EmbeddedReader) -> ShardEntry:
    info = reader.info
    terms = 0
    for document in reader.documents():
        for sentence in reader.sentences(document.id):
            terms += len(terms_of(sentence.search_text)) if sentence.kind.evidence else 0
    return ShardEntry(
        folder, info.generation, info.digest, info.documents, info.sentences, reader.lexical.sentences, terms
    )
