"""Connections that give up a server which says nothing more: one that is stopped, or was cut off while it worked.

Such a server closes nothing, and its machine goes on confirming what arrives, so neither `statement_timeout`, which the
server itself keeps, nor the limits of TCP ever end the wait.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

import psycopg
from psycopg.abc import PQGen

Result = TypeVar("Result")


class SilentServer(psycopg.OperationalError):
    """The server has not answered in time. The connection is closed, so every later use of it fails at once."""


class PatientConnection(psycopg.Connection[tuple[Any, ...]]):
    """Waits `patience` seconds for each sign of the server; then `alive`, if there is one, says whether to go on."""

    patience = 30.0
    alive: Callable[[], bool] | None = None

    def wait(self, gen: PQGen[Result], interval: float = 0.1, timeout: float | None = None) -> Result:
        limit = {} if timeout is None else {"timeout": timeout}  # which older versions of psycopg do not know
        return super().wait(self._watched(gen), interval, **limit)

    def _watched(self, gen: PQGen[Result]) -> PQGen[Result]:
        """Pass everything between `gen` and the loop that waits, which sends `NONE` each time nothing has come."""
        heard = time.monotonic()
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if ready:
                    heard = time.monotonic()
                elif time.monotonic() - heard >= self.patience:
                    self._give_up_unless_alive()
                    heard = time.monotonic()
                wanted = gen.send(ready)
        except StopIteration as finished:
            result: Result = finished.value
            return result

    def _give_up_unless_alive(self) -> None:
        if self.alive is not None and self.alive():
            return
        self.pgconn.finish()  # a rollback would wait as well
        raise SilentServer(f"the server has said nothing for {self.patience:g} seconds")
