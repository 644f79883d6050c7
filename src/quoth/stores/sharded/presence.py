"""Which shards answer: one that did not is left out until it answers again."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from quoth.stores.sharded.shard import shard_name
from quoth.types import ShardState

_FIRST_SECONDS, _LONGEST_SECONDS = 0.5, 10.0
"""How long it is left alone before it is asked again: longer each time, so that questions rarely wait for it."""
_QUIET_SECONDS = 5.0
"""After which a shard that nobody asked is asked whether it is there."""
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Record:
    calls: int = 0
    faults: int = 0
    answered: float | None = None
    lost_at: float | None = None
    returned: float = 0.0
    losses: int = 0
    """Since it last answered for a while."""
    why: str = ""


@dataclass(slots=True)
class Presence:
    """Of the shards of one generation, by their place. Threads may share it."""

    shards: int
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _records: dict[int, _Record] = field(init=False)

    def __post_init__(self) -> None:
        self._records = {place: _Record() for place in range(self.shards)}

    def missing(self) -> Mapping[int, str]:
        """The places of those that do not answer, and why."""
        with self._lock:
            return {place: one.why for place, one in self._records.items() if one.lost_at is not None}

    def answered(self, place: int) -> None:
        """To a question. One that is left out stays so: the question was under way when it was lost."""
        with self._lock:
            one = self._records[place]
            one.calls += 1
            one.answered = time.monotonic()
            if one.lost_at is None and one.answered - one.returned > _LONGEST_SECONDS:
                one.losses = 0

    def lost(self, place: int, why: str) -> None:
        with self._lock:
            one = self._records[place]
            first = one.lost_at is None
            one.calls += 1
            one.faults += 1
            one.lost_at, one.why = time.monotonic(), why
            one.losses += first
        if first:
            _log.warning("%s does not answer, and is left out: %s", shard_name(place, self.shards), why)

    def back(self, place: int) -> None:
        """It answered (see `answered`) when it was asked whether it is there."""
        with self._lock:
            one = self._records[place]
            returned = one.lost_at is not None
            one.answered = time.monotonic()
            one.lost_at, one.why = None, ""
            if returned:
                one.returned = one.answered
        if returned:
            _log.warning("%s answers again", shard_name(place, self.shards))

    def due(self) -> list[int]:
        """Those that should be asked now whether they are there."""
        now = time.monotonic()
        with self._lock:
            return [place for place, one in self._records.items() if self._is_due(one, now)]

    def states(self) -> tuple[ShardState, ...]:
        now = time.monotonic()
        with self._lock:
            return tuple(
                ShardState(
                    shard_name(place, self.shards),
                    one.lost_at is None,
                    one.calls,
                    one.faults,
                    None if one.answered is None else now - one.answered,
                    one.why,
                )
                for place, one in self._records.items()
            )

    @staticmethod
    def _is_due(one: _Record, now: float) -> bool:
        if one.lost_at is None:
            return one.answered is not None and now - one.answered > _QUIET_SECONDS
        patience: float = _FIRST_SECONDS * 2 ** min(10, one.losses - 1)
        return now - one.lost_at > min(_LONGEST_SECONDS, patience)
