"""What is known of a shard's documents, beside the shard: who compares files with it need not open the shard."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict

from quoth.errors import IndexDamaged
from quoth.stores.places import Place
from quoth.stores.sharded.manifest import PUBLISH, ShardEntry
from quoth.types import Known


def written(known: Mapping[str, Known]) -> bytes:
    """A line of JSON for each document, in the order of their ids."""
    lines = (json.dumps({"id": doc_id, **asdict(known[doc_id])}, ensure_ascii=False) for doc_id in sorted(known))
    return "".join(line + "\n" for line in lines).encode()


def read_all(place: Place, shards: Iterable[ShardEntry]) -> dict[str, Known]:
    """Of all these shards together."""
    return {doc_id: known for entry in shards for doc_id, known in read(place, entry).items()}


def read(place: Place, entry: ShardEntry) -> dict[str, Known]:
    """What was written for a shard; `IndexDamaged` where it is missing or was changed."""
    found = place.get(entry.listing)
    said = entry.files.get(entry.listing)
    if found is None or said is None or hashlib.sha256(found[0]).hexdigest() != said.sha256:
        raise IndexDamaged(f"{place.uri}/{entry.listing} is missing or is not what was written", hint=PUBLISH)
    known = {}
    for line in found[0].splitlines():
        fields = json.loads(line)
        doc_id = fields.pop("id")
        known[doc_id] = Known(**fields)
    return known
