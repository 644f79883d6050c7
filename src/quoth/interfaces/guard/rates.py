"""How often someone may ask: limits that the processes of one machine share."""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_MINUTE = 60 * 10**9  # nanoseconds: whole numbers, so that no rounding grants one request too many
_PATIENCE_SECONDS = 1.0  # for a file that another process has locked
_PAUSE_SECONDS = 30.0  # until a file that failed is tried again
_TAKES_BETWEEN_CLEANINGS = 4_096

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Allowance:
    """Whether a request may go ahead, and what is left.

    `limit` is a minute's share; 0 means that there is none, and the other numbers say nothing. `remaining` requests
    may follow at once. After `reset_seconds` without a request the burst is whole again; after `retry_after` one
    request is granted (0 when this one was).
    """

    granted: bool
    limit: int
    remaining: int
    reset_seconds: int
    retry_after: int


def burst(per_minute: int) -> int:
    """Requests that may come at once after a pause: ten seconds' worth, at least 5, at most a minute's.

    A page that opens asks for several things at once, so fewer than 5 would stop a person at a low limit. A whole
    minute's worth would let through twice the limit in one minute; this way it is a sixth more from a limit of 30 on.
    """
    return min(per_minute, max(5, per_minute // 6))


class Rates:
    """Limits in a SQLite file, one row for each `who`; threads and processes may take from it at once.

    The generic cell rate algorithm: a row holds the time at which everything taken so far would be paid off, and
    a request is granted as long as that lies no more than a burst ahead.

    A file that cannot be used does not stop the service: until it can, each process keeps limits of its own.
    """

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._clock = clock
        self._lock = threading.Lock()
        self._file: sqlite3.Connection | None = None
        self._own: dict[str, int] = {}
        self._taken = 0
        self._warned = False
        self._next_try = 0.0

    def take(self, who: str, per_minute: int) -> Allowance:
        """Count a request of `who` against the limit; 0 is no limit. Refused requests cost nothing."""
        if per_minute < 0:
            raise ValueError(f"a limit is 0 or more, not {per_minute}")
        if per_minute == 0:
            return Allowance(granted=True, limit=0, remaining=0, reset_seconds=0, retry_after=0)
        with self._lock:
            if time.monotonic() >= self._next_try:
                try:
                    return self._take_from_file(who, per_minute)
                except (sqlite3.Error, OSError) as error:
                    self._give_up(error)
                except BaseException:
                    self._close_file()  # or its open transaction would lock out the other processes
                    raise
            return self._take_from_own(who, per_minute)

    def close(self) -> None:
        with self._lock:
            self._close_file()

    def _take_from_file(self, who: str, per_minute: int) -> Allowance:
        if self._file is None:
            self._file = _opened(self._path)
        file = self._file
        file.execute("BEGIN IMMEDIATE")
        now = self._now()  # read under the file's lock, so that it never runs backwards from one process to another
        if self._taken % _TAKES_BETWEEN_CLEANINGS == 0:
            file.execute("DELETE FROM rates WHERE paid_off <= ?", (now,))  # the same as never having asked
        self._taken += 1
        row = file.execute("SELECT paid_off FROM rates WHERE who = ?", (who,)).fetchone()
        before = row[0] if row else now
        allowance, paid_off = _taken(before, now, per_minute)
        if paid_off != before:
            file.execute("INSERT OR REPLACE INTO rates (who, paid_off) VALUES (?, ?)", (who, paid_off))
        file.execute("COMMIT")
        return allowance

    def _take_from_own(self, who: str, per_minute: int) -> Allowance:
        now = self._now()
        if len(self._own) >= _TAKES_BETWEEN_CLEANINGS and who not in self._own:
            self._own = {one: paid_off for one, paid_off in self._own.items() if paid_off > now}
        allowance, self._own[who] = _taken(self._own.get(who, now), now, per_minute)
        return allowance

    def _give_up(self, error: Exception) -> None:
        """Go on without the file for a while. Later tries are silent: the log would fill up."""
        self._next_try = time.monotonic() + _PAUSE_SECONDS
        self._close_file()
        if not self._warned:
            self._warned = True
            _log.warning(
                "the file of rate limits %s cannot be used (%s): each process keeps its own limits until it can. "
                "Check its rights; if it is damaged, remove it.",
                self._path,
                error,
            )

    def _close_file(self) -> None:
        if self._file is not None:
            with suppress(sqlite3.Error):
                self._file.close()
            self._file = None

    def _now(self) -> int:
        return int(self._clock() * 10**9)


def _taken(paid_off: int, now: int, per_minute: int) -> tuple[Allowance, int]:
    """What one request gets at `now`, and the time at which all that was taken is paid off after it."""
    each = -(-_MINUTE // per_minute)  # rounded up: rather a nanosecond too slow than a request too many
    most_ahead = burst(per_minute) * each
    # Further ahead than a burst: the clock was set back, or the limit changed. Nobody waits for more than one.
    paid_off = min(max(paid_off, now), now + most_ahead)
    granted = paid_off + each <= now + most_ahead
    after = paid_off + each if granted else paid_off
    allowance = Allowance(
        granted=granted,
        limit=per_minute,
        remaining=(now + most_ahead - after) // each,
        reset_seconds=_seconds(after - now),
        retry_after=0 if granted else _seconds(paid_off + each - now - most_ahead),
    )
    return allowance, after


def _seconds(nanoseconds: int) -> int:
    """Whole seconds, rounded up: whoever waits so long has waited long enough."""
    return -(-nanoseconds // 10**9)


def _opened(path: Path) -> sqlite3.Connection:
    """The file with its table. Losing it costs nothing, so nothing is synced; a killed process does not damage it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = sqlite3.connect(path, timeout=_PATIENCE_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        _into_wal_mode(file)
        file.execute("PRAGMA synchronous = OFF")
        file.execute("CREATE TABLE IF NOT EXISTS rates (who TEXT PRIMARY KEY, paid_off INTEGER NOT NULL) WITHOUT ROWID")
    except BaseException:
        file.close()
        raise
    return file


def _into_wal_mode(file: sqlite3.Connection) -> None:
    """Processes that start together are in each other's way here, and SQLite does not wait for that lock by itself."""
    give_up = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            file.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= give_up:
                raise
            time.sleep(0.01)
