"""Where the characters of a page stand, packed: tenths of a point, as differences, deflated."""

from __future__ import annotations

import zlib

import numpy as np
from numpy.typing import NDArray

_UNIT = 10  # steps to a point: a place comes back within 0.05 of what was stored
_NARROW, _WIDE = np.dtype("<i2"), np.dtype("<i4")


def pack(boxes: NDArray[np.float32]) -> bytes:
    """Rows of left, top, right and bottom as bytes; the first of these says how wide the numbers are."""
    steps = np.rint(boxes.reshape(-1, 4).astype(np.float64) * _UNIT).astype(np.int64)
    # The size of a character and the way from one to the next repeat along a line; the places themselves do not.
    steps[:, 2:] -= steps[:, :2]
    steps = np.diff(steps, axis=0, prepend=0)
    limits = np.iinfo(_NARROW)
    narrow = steps.size == 0 or (steps.min() >= limits.min and steps.max() <= limits.max)
    columns = np.ascontiguousarray(steps.T.astype(_NARROW if narrow else _WIDE))
    return bytes([columns.itemsize]) + zlib.compress(columns.tobytes(), 6)


def unpack(packed: bytes, *, count: int) -> NDArray[np.float32]:
    """What `pack` was given, `count` rows, to the nearest tenth of a point."""
    width = _NARROW if packed[0] == _NARROW.itemsize else _WIDE
    columns = np.frombuffer(zlib.decompress(packed[1:]), dtype=width).reshape(4, count)
    steps = np.cumsum(columns, axis=1, dtype=np.int64)
    steps[2:] += steps[:2]
    return np.ascontiguousarray((steps.T / _UNIT).astype(np.float32))
