"""Describe a sharded index, and check whether its files are still what was written."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from quoth.protocols import Progress
from quoth.stores.locations import FileDigest, Location, digest_file, open_location
from quoth.stores.sharded import cluster_manifest as manifest


def status(uri: str) -> dict[str, Any]:
    """Return the content of the manifest for people and programs, without looking at the files."""
    cluster = manifest.read(open_location(uri))
    info = cluster.info
    shards = [
        {
            "shard": number,
            "folder": shard.folder,
            "documents": shard.documents,
            "sentences": shard.sentences,
            "bytes": shard.size,
            "digest": shard.digest,
        }
        for number, shard in enumerate(cluster.shards, 1)
    ]
    return {
        "index": uri,
        "generation": info.generation,
        "digest": info.digest,
        "documents": info.documents,
        "sentences": info.sentences,
        "bytes": cluster.size,
        "model": info.model.name,
        "profile": info.profile_name,
        "settings": dict(cluster.settings),
        "shards": shards,
    }


def faults(uri: str, *, progress: Progress | None) -> Iterator[str]:
    """Read every file that the manifest names; yield a message for each that is missing or changed."""
    location = open_location(uri)
    files = {name: file for shard in manifest.read(location).shards for name, file in shard.files.items()}
    with tempfile.TemporaryDirectory(prefix="quoth-check-") as scratch:
        for number, (name, expected) in enumerate(files.items(), 1):
            found = _found(location, name, Path(scratch))
            if progress is not None:
                progress("comparing", number, len(files))
            if found is None:
                yield f"{name} is missing"
            elif found != expected:
                yield f"{name} is not what was written"


def _found(location: Location, name: str, scratch: Path) -> FileDigest | None:
    if location.folder is not None:
        path = location.folder / name
        return digest_file(path) if path.is_file() else None
    copy = scratch / "copy"
    try:
        location.download(name, copy)
    except FileNotFoundError:
        return None
    return digest_file(copy)
