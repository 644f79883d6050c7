"""Work in threads of its own, so that one thing that hangs does not stop the others."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

_Result = TypeVar("_Result")


def in_thread(work: Callable[[], _Result], *, name: str) -> asyncio.Future[_Result]:
    """Begin work in a new thread, which does not keep the process from ending."""
    future: Future[_Result] = Future()
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # for whoever waits
            future.set_exception(error)

    wrapped = asyncio.wrap_future(future)
    wrapped.add_done_callback(lambda done: done.cancelled() or done.exception())  # where nobody waits any more
    threading.Thread(target=run, name=name, daemon=True).start()
    return wrapped


class Look(Generic[_Result]):
    """A look at something that may hang, by any number of callers: one thread looks for all of them."""

    def __init__(
        self, look: Callable[[], _Result], *, name: str, fresh_seconds: float, patience_seconds: float
    ) -> None:
        """What was seen is kept for `fresh_seconds`; nobody waits for longer than `patience_seconds` after the look
        has begun."""
        self._look = look
        self._name = name
        self._fresh_seconds = fresh_seconds
        self._patience_seconds = patience_seconds
        self._began = 0.0
        self._looking: asyncio.Future[_Result] | None = None

    async def __call__(self) -> _Result | None:
        """What there is to see; None where that takes too long."""
        now = time.monotonic()
        kept = self._looking
        if kept is None or (kept.done() and (_failed(kept) or now >= self._began + self._fresh_seconds)):
            self._began = now
            kept = self._looking = in_thread(self._look, name=self._name)
        await asyncio.wait({kept}, timeout=max(0.0, self._began + self._patience_seconds - now))
        return kept.result() if kept.done() else None

    async def end(self) -> None:
        """Wait for a look that is under way, but not for one that hangs."""
        if self._looking is not None:
            await asyncio.wait({self._looking}, timeout=self._patience_seconds)


def _failed(done: asyncio.Future[_Result]) -> bool:
    return done.cancelled() or done.exception() is not None
