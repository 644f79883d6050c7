"""The small models in the package: the token codec, the evidence model and the relevance scales.

The codec stores token vectors for late interaction, reduced to few dimensions of four bits each. The codes are linear:
a stored number stands for `low + step * code`. So a question's vectors are converted once, to `slopes` and `offsets`,
and then compared with the codes as they are.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quoth.errors import ModelError
from quoth.search.logistic import EvidenceModel, Logistic, Scale
from quoth.types import Vectors

LEVELS = 16
_FEW_ROWS = 8
MODELS = Path(str(files("quoth.models"))) / "shipped"


@dataclass(frozen=True, slots=True, eq=False)
class TokenCodec:
    """How token vectors of one model are stored. `made_for` is the sha256 of the model's weights."""

    projection: Vectors
    low: Vectors
    step: Vectors
    made_for: str
    revision: str
    by_length: bool = False
    """Whether the length of a token's vector is its weight in the text, as it is where these vectors are summed up."""

    def encode(self, vectors: Vectors) -> NDArray[np.uint8]:
        """Return a row of packed codes for each token: two dimensions a byte, the first half in the low bits."""
        codes = np.rint((self._reduced(vectors) - self.low) / self.step).clip(0, LEVELS - 1).astype(np.uint8)
        half = codes.shape[1] // 2
        packed: NDArray[np.uint8] = codes[:, :half] | codes[:, half:] << 4
        return packed

    def question(self, vectors: Vectors) -> tuple[Vectors, Vectors]:
        """Return (slopes, offsets): the similarity of a token to a stored one is `offset + slope @ codes`."""
        reduced = self._reduced(vectors)
        return reduced * self.step, np.einsum("ij,j->i", reduced, self.low)

    def _reduced(self, vectors: Vectors) -> Vectors:
        # In double precision: the last bits must not depend on the other rows.
        reduced: Vectors = _product(vectors.astype(np.float64), self.projection.astype(np.float64)).astype(np.float32)
        lengths = np.linalg.norm(reduced, axis=1, keepdims=True)
        unit: Vectors = reduced / np.maximum(lengths, np.float32(1e-9))
        return unit


def _product(rows: NDArray[np.float64], matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return `rows @ matrix`, computed on this thread alone."""
    # For a large product, the linear algebra library wakes threads that spin until the next one. They took half as
    # much time again as the model, from the model. A product of a few rows is too small to be shared out.
    whole = len(rows) - len(rows) % _FEW_ROWS
    stacked = rows[:whole].reshape(-1, _FEW_ROWS, rows.shape[1]) @ matrix
    return np.concatenate([stacked.reshape(whole, matrix.shape[1]), rows[whole:] @ matrix])


def codec_for(weights_sha256: str) -> TokenCodec | None:
    """Return the codec that was made for a model's weights; None if there is none."""
    codecs = (shipped_codec(name) for name in ("token_projection", "token_projection_multilingual"))
    return next((codec for codec in codecs if codec and codec.made_for == weights_sha256), None)


@lru_cache(maxsize=2)
def shipped_codec(name: str = "token_projection") -> TokenCodec | None:
    """Return a codec in the package, or None if there is none. Its revision is a digest of its content."""
    path = MODELS / f"{name}.npz"
    try:
        content = path.read_bytes()
        with np.load(path) as stored:
            arrays = {name: stored[name] for name in ("projection", "low", "step")}
            made_for, by_length = str(stored["made_for"]), "by_length" in stored
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError) as error:
        raise ModelError(f"{path} cannot be read: {error}", hint="Install quoth again.") from error
    revision = hashlib.sha256(content).hexdigest()[:12]
    return TokenCodec(**arrays, made_for=made_for, revision=revision, by_length=by_length)


@lru_cache(maxsize=8)
def load_evidence_model(kind: str, path: Path = MODELS / "evidence.json") -> EvidenceModel:
    """Read the weights fitted for a kind of reranker, `late` or `reader`; their revision is a digest of the file."""
    try:
        content = path.read_bytes()
        raw = json.loads(content)[kind]
        return EvidenceModel(
            sentence=_logistic(raw["sentence"]),
            answer=_logistic(raw["answer"]),
            revision=hashlib.sha256(content).hexdigest()[:12],
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{path} cannot be read: {error!r}", hint="Install quoth again.") from error


def load_language_fit(kind: str) -> EvidenceModel:
    """Read the weights for languages other than English: `multilingual`, `multilingual_across` or `words`."""
    return load_evidence_model(kind, MODELS / "evidence_languages.json")


@lru_cache(maxsize=8)
def load_scales(store: str, path: Path = MODELS / "relevance.json") -> dict[str, Scale]:
    """Return how scores become relevances, by scorer. A store without scales of its own uses the embedded store's."""
    try:
        stores = json.loads(path.read_bytes())
        scales = stores.get(store) or stores["embedded"]
        return {name: Scale(float(raw["slope"]), float(raw["intercept"])) for name, raw in scales.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(f"{path} cannot be read: {error!r}", hint="Install quoth again.") from error


def _logistic(raw: dict[str, Any]) -> Logistic:
    return Logistic(float(raw["intercept"]), {str(name): float(value) for name, value in raw["weights"].items()})
