"""What shards said that stays true for a generation, so that it need not be asked again."""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

_SLOT = 200
"""Bytes that an entry takes beside what it holds."""


class Kept:
    """Values by key, in so many bytes; what was not asked for the longest goes first. Threads may share it."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._lock = threading.Lock()
        self._values: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._bytes = 0

    def get(self, key: Hashable) -> Any:  # noqa: ANN401 - whoever put it there knows
        """None where nothing is kept."""
        with self._lock:
            found = self._values.get(key)
            if found is None:
                return None
            self._values.move_to_end(key)
            return found[0]

    def put(self, key: Hashable, value: object, *, size: int) -> None:
        """Keep a value of about so many bytes; one that would take a quarter of the room or more is not kept."""
        weight = size + _SLOT
        if 4 * weight >= self._most:
            return
        with self._lock:
            if (before := self._values.pop(key, None)) is not None:
                self._bytes -= before[1]
            self._values[key] = value, weight
            self._bytes += weight
            while self._bytes > self._most:
                self._bytes -= self._values.popitem(last=False)[1][1]


def text_size(*texts: str) -> int:
    return sum(map(sys.getsizeof, texts))
