"""The weights of the evidence model, from the package."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from quoth.errors import ModelError
from quoth.providers.token_codec import MODELS
from quoth.select.evidence import EvidenceModel, Logistic
from quoth.select.relevance import Scale


@lru_cache(maxsize=2)
def load_evidence_model(path: Path = MODELS / "evidence.json") -> EvidenceModel:
    """Read the fitted weights; their revision names the content of the file."""
    try:
        content = path.read_bytes()
        raw = json.loads(content)
        return EvidenceModel(
            sentence=_logistic(raw["sentence"]),
            answer=_logistic(raw["answer"]),
            revision=hashlib.sha256(content).hexdigest()[:12],
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{path} cannot be read: {error!r}", hint="Install quoth again.") from error


@lru_cache(maxsize=8)
def load_scales(store: str, path: Path = MODELS / "relevance.json") -> dict[str, Scale]:
    """How scores over a kind of store become relevances, by who scored; a store not measured is like the embedded."""
    try:
        known = json.loads(path.read_bytes())
        of_store = known.get(store) or known["embedded"]
        return {name: Scale(float(raw["slope"]), float(raw["intercept"])) for name, raw in of_store.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(f"{path} cannot be read: {error!r}", hint="Install quoth again.") from error


def _logistic(raw: dict[str, Any]) -> Logistic:
    return Logistic(float(raw["intercept"]), {str(name): float(value) for name, value in raw["weights"].items()})
