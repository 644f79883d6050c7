"""What an index holds, as one digest: the same for the same content, whatever store keeps it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict

from quoth.types import ModelIdentity


def digest_of(
    form: int, model: ModelIdentity, *, profile: tuple[str, str], documents: Iterable[tuple[str, str]]
) -> str:
    """Of the format, the model, the profile (name and YAML), and each document's id and fingerprint in any order."""
    name, source = profile
    content = json.dumps([form, asdict(model), name, source, sorted(documents)], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()
