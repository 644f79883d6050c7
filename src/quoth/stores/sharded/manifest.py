"""`cluster.json`: which embedded indexes are the shards of one index, and what they hold together.

It is written last, aside, and renamed into its place: an index without it is not finished, and a reader sees one
version of it whole. A shard is an index that any command can open, so it can be changed alone; then it is not what is
written here any more, and the index as a whole is refused until it is published anew.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from quoth.errors import IndexDamaged, IndexMismatch, NoIndex
from quoth.stores.embedded.faults import reading, writing
from quoth.types import IndexInfo, ModelIdentity

NAME = "cluster.json"
FORMAT = 1
"""Of this file, and of the rule by which documents are assigned to shards."""

PUBLISH = "Publish the index anew from its shards, or ingest again."


@dataclass(frozen=True, slots=True)
class ShardEntry:
    """A shard as it was when the index was published. Its `evidence` sentences have `terms` terms together."""

    folder: str
    generation: int
    digest: str
    documents: int
    sentences: int
    evidence: int
    terms: int


@dataclass(frozen=True, slots=True)
class Cluster:
    """`info` is that of the one index of the same documents, but for its generation, which counts publications."""

    info: IndexInfo
    shards: tuple[ShardEntry, ...]

    @property
    def evidence(self) -> int:
        return sum(shard.evidence for shard in self.shards)

    @property
    def terms(self) -> int:
        return sum(shard.terms for shard in self.shards)


def write(place: Path, cluster: Cluster) -> None:
    """Publish: from here on, readers see these shards."""
    content = {"format": FORMAT, "index": asdict(cluster.info), "shards": [asdict(shard) for shard in cluster.shards]}
    content["sha256"] = checksum(content)
    aside = place / f".{NAME}.{os.getpid()}"
    with writing(place):
        try:
            with aside.open("w", encoding="utf-8") as file:
                json.dump(content, file, indent=1)
                file.flush()
                os.fsync(file.fileno())
            aside.replace(place / NAME)
        finally:
            aside.unlink(missing_ok=True)
        folder = os.open(place, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def read(place: Path) -> Cluster:
    """What is published at `place`: `NoIndex` where nothing is, `IndexDamaged` where it contradicts itself."""
    with reading(place):
        try:
            content = (place / NAME).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            raise NoIndex(str(place)) from None
    try:
        listed = json.loads(content)
        form = listed["format"]
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged(place, "cannot be read") from error
    if form != FORMAT:
        raise IndexMismatch(
            f"{place / NAME} has format {form}; this version of Quoth reads {FORMAT}",
            hint="Use the version of Quoth that made it, or ingest again.",
        )
    if listed.get("sha256") != checksum(listed):  # a wrong number of terms would change every score, and nobody know
        raise _damaged(place, "is not what was written")
    try:
        cluster = _parsed(listed)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _damaged(place, "does not describe an index") from error
    if fault := _contradiction(cluster):
        raise _damaged(place, fault)
    return cluster


def checksum(content: Mapping[str, object]) -> str:
    """Of everything in the file but this."""
    rest = {name: value for name, value in content.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def check(place: Path, cluster: Cluster, found: Sequence[IndexInfo]) -> None:
    """Compare the shards as they are with what was published; `IndexMismatch` where one is another."""
    for entry, info in zip(cluster.shards, found, strict=True):
        if info.model != cluster.info.model:
            raise _mismatch(place, entry, f"was made with {info.model.name}, not {cluster.info.model.name}")
        if (info.profile_name, info.profile_source) != (cluster.info.profile_name, cluster.info.profile_source):
            raise _mismatch(place, entry, f"has another profile ({info.profile_name}) than the whole")
        if (info.generation, info.digest) != (entry.generation, entry.digest):
            raise _mismatch(place, entry, "was changed after the index was published")


def _parsed(listed: dict[str, Any]) -> Cluster:
    index = dict(listed["index"])
    info = IndexInfo(**{**index, "model": ModelIdentity(**index["model"])})
    return Cluster(info, tuple(ShardEntry(**entry) for entry in listed["shards"]))


def _contradiction(cluster: Cluster) -> str | None:
    """What in it cannot be, as the end of a sentence."""
    folders = [shard.folder for shard in cluster.shards]
    numbers = [cluster.info.generation, cluster.info.documents, cluster.info.sentences]
    numbers += [
        number
        for one in cluster.shards
        for number in (one.generation, one.documents, one.sentences, one.evidence, one.terms)
    ]
    if not cluster.shards:
        return "names no shard"
    if not all(isinstance(one, int) and not isinstance(one, bool) and one >= 0 for one in numbers):
        return "gives a number that cannot be"
    if not all(isinstance(one, str) and one not in ("", "..") and Path(one).name == one for one in folders):
        return "names a shard that is not a folder beside it"
    if len(set(folders)) != len(folders):
        return "names a shard twice"
    sums = (sum(one.documents for one in cluster.shards), sum(one.sentences for one in cluster.shards))
    if sums != (cluster.info.documents, cluster.info.sentences):
        return "says that its shards hold other numbers of documents or sentences than the whole"
    return None


def _damaged(place: Path, why: str) -> IndexDamaged:
    return IndexDamaged(f"{place / NAME} {why}", hint=PUBLISH)


def _mismatch(place: Path, entry: ShardEntry, why: str) -> IndexMismatch:
    return IndexMismatch(f"the shard {entry.folder} of the index at {place} {why}", hint=PUBLISH)
