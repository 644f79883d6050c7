"""Token vectors for late interaction: reduced to few dimensions, four bits each.

The codes are linear: a stored number stands for `low + step * code`. So a question's vectors can be turned once, by
`slopes` and `offsets`, and compared with codes as they are; whoever compares needs nothing else from here.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quoth.errors import ModelError
from quoth.types import Vectors

LEVELS = 16
MODELS = Path(str(files("quoth.providers"))) / "models"


@dataclass(frozen=True, slots=True, eq=False)
class TokenCodec:
    """How token vectors of one model are stored. `made_for` is the sha256 of the model's weights."""

    projection: Vectors
    low: Vectors
    step: Vectors
    made_for: str
    revision: str

    def encode(self, vectors: Vectors) -> NDArray[np.uint8]:
        """One row of packed codes for each token: two dimensions a byte, the first half in the low bits."""
        codes = np.rint((self._reduced(vectors) - self.low) / self.step).clip(0, LEVELS - 1).astype(np.uint8)
        half = codes.shape[1] // 2
        packed: NDArray[np.uint8] = codes[:, :half] | codes[:, half:] << 4
        return packed

    def question(self, vectors: Vectors) -> tuple[Vectors, Vectors]:
        """(slopes, offsets): the likeness of a question's token to a stored one is `offset + slope @ codes`."""
        reduced = self._reduced(vectors)
        return reduced * self.step, np.einsum("ij,j->i", reduced, self.low)

    def _reduced(self, vectors: Vectors) -> Vectors:
        # In double precision: the last bits must depend neither on the rows beside nor on the number of threads.
        exact = vectors.astype(np.float64) @ self.projection.astype(np.float64)
        reduced: Vectors = exact.astype(np.float32)
        lengths = np.linalg.norm(reduced, axis=1, keepdims=True)
        unit: Vectors = reduced / np.maximum(lengths, np.float32(1e-9))
        return unit


@lru_cache(maxsize=1)
def shipped_codec() -> TokenCodec | None:
    """The codec in the package, None before one has been made. Its revision names its content."""
    place = MODELS / "token_projection.npz"
    try:
        content = place.read_bytes()
        with np.load(place) as stored:
            parts = {name: stored[name] for name in ("projection", "low", "step")}
            made_for = str(stored["made_for"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError) as error:
        raise ModelError(f"{place} cannot be read: {error}", hint="Install quoth again.") from error
    return TokenCodec(**parts, made_for=made_for, revision=hashlib.sha256(content).hexdigest()[:12])
