"""`cluster.json`: which embedded indexes are the shards of one index, and what they hold together.

It is written last, and all at once: an index without it is not finished, and a reader sees one version of it whole.
A shard is an index that any command can open, so it can be changed alone; then it is not what is written here any more,
and the index as a whole is refused until it is published anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from quoth.errors import IndexBusy, IndexDamaged, IndexMismatch, NoIndex
from quoth.stores.places import Changed, File, Place, open_place, put_again
from quoth.types import IndexInfo, ModelIdentity

NAME = "cluster.json"
FORMAT = 2
"""Of this file, and of the rule by which documents are assigned to shards."""

PUBLISH = "Remove cluster.json there and ingest again, or choose another --output."
"""What helps where an index of shards contradicts itself: an ingest goes by the manifest, so it has to go."""


@dataclass(frozen=True, slots=True)
class ShardEntry:
    """A shard as it was when the index was published. Its `evidence` sentences have `terms` terms together.

    `files` are those of its folder, and beside it the ones that list its documents and tell which of them are said to
    be replaced, where some are; by their paths below the place.
    """

    folder: str
    generation: int
    digest: str
    documents: int
    sentences: int
    evidence: int
    terms: int
    files: Mapping[str, File]

    @property
    def listing(self) -> str:
        """The name of the file with what is known of its documents."""
        return listing_of(self.folder)

    @property
    def inside(self) -> dict[str, File]:
        """The files of its folder."""
        return {name: one for name, one in self.files.items() if PurePosixPath(name).parts[0] == self.folder}


def listing_of(folder: str) -> str:
    return f"{folder}.documents.jsonl"


def replaced_of(folder: str) -> str:
    """The name of the file that tells which documents of a shard are said to be replaced; none where none is."""
    return f"{folder}.replaced.json"


@dataclass(frozen=True, slots=True)
class Cluster:
    """`info` is that of the one index of the same documents, but for its generation, which counts publications.

    `settings` are those that the documents were read and embedded with, as JSON, for people.
    """

    info: IndexInfo
    shards: tuple[ShardEntry, ...]
    settings: Mapping[str, Any]

    @property
    def evidence(self) -> int:
        return sum(shard.evidence for shard in self.shards)

    @property
    def terms(self) -> int:
        return sum(shard.terms for shard in self.shards)


def write(place: Place, cluster: Cluster, *, over: str | None) -> None:
    """Publish: from here on, readers see these shards. `over` is the version that this one replaces."""
    content = {
        "format": FORMAT,
        "index": asdict(cluster.info),
        "settings": dict(cluster.settings),
        "shards": [asdict(shard) for shard in cluster.shards],
    }
    content["sha256"] = checksum(content)
    try:
        put_again(place, NAME, json.dumps(content, indent=1).encode(), over=over)
    except Changed as error:
        raise IndexBusy(
            f"another process has published the index at {place.uri} meanwhile", hint="Run the same command again."
        ) from error


def read(place: Path | Place) -> Cluster:
    """What is published at `place`: `NoIndex` where nothing is, `IndexDamaged` where it contradicts itself."""
    return versioned(open_place(place) if isinstance(place, Path) else place)[0]


def versioned(place: Place) -> tuple[Cluster, str]:
    """What is published, and the version of the file that says so."""
    found = place.get(NAME)
    if found is None:
        raise NoIndex(place.uri)
    content, version = found
    return parsed(content, place.uri), version


def parsed(content: bytes, place: str) -> Cluster:
    """The meaning of the file's content; `place` is where it was found."""
    try:
        listed = json.loads(content)
        form = listed["format"]
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged(place, "cannot be read") from error
    if form != FORMAT:
        raise IndexMismatch(
            f"{place}/{NAME} has format {form}; this version of Quoth reads {FORMAT}",
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


def check(place: str, cluster: Cluster, found: Sequence[IndexInfo]) -> None:
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
    return Cluster(info, tuple(_entry(entry) for entry in listed["shards"]), dict(listed["settings"]))


def _entry(listed: dict[str, Any]) -> ShardEntry:
    files = {name: File(**one) for name, one in listed["files"].items()}
    return ShardEntry(**{**listed, "files": files})


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
    return _contradicting_content(cluster)


def _contradicting_content(cluster: Cluster) -> str | None:
    if not all(_belongs(name, one) for one in cluster.shards for name in one.files):
        return "names a file that is in no folder of its shard"
    sums = (sum(one.documents for one in cluster.shards), sum(one.sentences for one in cluster.shards))
    if sums != (cluster.info.documents, cluster.info.sentences):
        return "says that its shards hold other numbers of documents or sentences than the whole"
    return None


def _belongs(name: str, shard: ShardEntry) -> bool:
    inside = PurePosixPath(name)
    if name in (shard.listing, replaced_of(shard.folder)):
        return True
    return inside.parts[:1] == (shard.folder,) and ".." not in inside.parts


def _damaged(place: str, why: str) -> IndexDamaged:
    return IndexDamaged(f"{place}/{NAME} {why}", hint=PUBLISH)


def _mismatch(place: str, entry: ShardEntry, why: str) -> IndexMismatch:
    return IndexMismatch(f"the shard {entry.folder} of the index at {place} {why}", hint=PUBLISH)
