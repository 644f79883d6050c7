"""Which shard a document belongs to."""

from __future__ import annotations

import hashlib


def assign(doc_id: str, shards: int) -> int:
    """From 0: the same for an id wherever and whenever it is asked.

    Not the hash by which an embedded index deals its documents out inside: each of its parts would otherwise get
    either all documents of a shard or none.
    """
    named = doc_id.encode("utf-8", "replace")  # a lone surrogate is in no stored id, and may be asked for all the same
    return int.from_bytes(hashlib.blake2b(named, digest_size=8, person=b"quoth shard").digest(), "big") % shards
