"""A cache in the memory of this process."""

from __future__ import annotations

import heapq
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class _Entry:
    value: bytes
    expires: float
    number: int
    """Counts the writes, so that the end of an entry that was replaced is not taken for that of its successor."""
    size: int


class MemoryCache:
    """Implements `Cache`. Keys and values together take at most `max_bytes`; the least recently used goes first."""

    def __init__(self, max_bytes: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._max_bytes = max_bytes
        self._clock = clock
        self._lock = threading.Lock()
        self._entries: OrderedDict[str, _Entry] = OrderedDict()  # the least recently used first
        self._ends: list[tuple[float, int, str]] = []  # a heap: the next one to expire first
        self._size = 0
        self._writes = 0

    @property
    def size(self) -> int:
        """The bytes that are held now, expired entries not counted."""
        with self._lock:
            self._drop_expired()
            return self._size

    def get(self, key: str) -> bytes | None:
        with self._lock:
            self._drop_expired()
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._entries.move_to_end(key)
            return entry.value

    def put(self, key: str, value: bytes, *, seconds: float) -> None:
        """Keep `value`; one that is larger than the whole cache, or for no time, only removes what was there."""
        size = len(key.encode("utf-8", "surrogatepass")) + len(value)
        with self._lock:
            self._drop_expired()
            self._drop(key)
            if size > self._max_bytes or not seconds > 0:
                return
            while self._size + size > self._max_bytes:
                self._drop(next(iter(self._entries)))
            self._writes += 1
            entry = _Entry(value, self._clock() + seconds, self._writes, size)
            self._entries[key] = entry
            self._size += size
            self._note_end(key, entry)

    def _drop(self, key: str) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._size -= entry.size

    def _drop_expired(self) -> None:
        now = self._clock()
        while self._ends and self._ends[0][0] <= now:
            _, number, key = heapq.heappop(self._ends)
            entry = self._entries.get(key)
            if entry is not None and entry.number == number:
                self._drop(key)

    def _note_end(self, key: str, entry: _Entry) -> None:
        heapq.heappush(self._ends, (entry.expires, entry.number, key))
        if len(self._ends) > 2 * len(self._entries) + 64:  # most are ends of entries that are long gone
            self._ends = [(one.expires, one.number, name) for name, one in self._entries.items()]
            heapq.heapify(self._ends)
