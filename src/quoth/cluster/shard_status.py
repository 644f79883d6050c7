"""What an index of shards says about itself, and whether its files are still what was written."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from quoth.protocols import Progress
from quoth.stores.places import File, Place, file_of, open_place
from quoth.stores.sharded import manifest


def status(uri: str) -> dict[str, Any]:
    """The manifest for people and programs; the files are not looked at."""
    cluster = manifest.read(open_place(uri))
    info = cluster.info
    shards = [
        {
            "shard": number,
            "folder": one.folder,
            "documents": one.documents,
            "sentences": one.sentences,
            "bytes": sum(file.size for file in one.files.values()),
            "digest": one.digest,
        }
        for number, one in enumerate(cluster.shards, 1)
    ]
    return {
        "index": uri,
        "generation": info.generation,
        "digest": info.digest,
        "documents": info.documents,
        "sentences": info.sentences,
        "bytes": sum(file.size for one in cluster.shards for file in one.files.values()),
        "model": info.model.name,
        "profile": info.profile_name,
        "settings": dict(cluster.settings),
        "shards": shards,
    }


def faults(uri: str, *, progress: Progress | None) -> Iterator[str]:
    """Reads every file that the manifest names, and says of each that is not as it was written what is wrong."""
    place = open_place(uri)
    files = {name: file for one in manifest.read(place).shards for name, file in one.files.items()}
    with tempfile.TemporaryDirectory(prefix="quoth-check-") as scratch:
        for number, (name, expected) in enumerate(files.items(), 1):
            found = _found(place, name, Path(scratch))
            if progress is not None:
                progress("comparing", number, len(files))
            if found is None:
                yield f"{name} is missing"
            elif found != expected:
                yield f"{name} is not what was written"


def _found(place: Place, name: str, scratch: Path) -> File | None:
    if place.folder is not None:
        path = place.folder / name
        return file_of(path) if path.is_file() else None
    copy = scratch / "copy"
    try:
        place.download(name, copy)
    except FileNotFoundError:
        return None
    return file_of(copy)
