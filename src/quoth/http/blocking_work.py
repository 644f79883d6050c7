"""Threads for work that blocks: a pool with a bounded queue and a time limit, and probes of what may hang."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import Generic, TypeVar

from quoth.http.http_faults import busy, gone, too_slow

_Result = TypeVar("_Result")
_LONGEST_RETRY = 30
LOOK_SECONDS = 1.0
"""How often to check whether the client of a waiting request is still connected."""

IsGone = Callable[[], Awaitable[bool]]


class BoundedPool:
    """Runs blocking work in threads. A thread cannot be stopped: work that takes too long keeps it until it ends."""

    def __init__(
        self,
        *,
        threads: int,
        queue: int,
        seconds: float,
        changed: Callable[[int, int], None] | None = None,
        look_seconds: float = LOOK_SECONDS,
    ) -> None:
        """`changed` is called with the numbers of waiting and running requests whenever they change."""
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="answering")
        self._free = asyncio.Semaphore(threads)
        self._threads = threads
        self._queue = queue
        self._seconds = seconds
        self._mean_seconds = 0.05
        self._changed = changed
        self._look_seconds = look_seconds
        self.waiting = 0
        self.running = 0

    async def run(
        self, work: Callable[[], _Result], *, is_gone: IsGone | None = None, patient: bool = False
    ) -> _Result:
        """Return the result of `work`, run in a thread; raise `HttpFault` if it is refused or takes too long.

        `patient` work waits for a thread however long the queue is; its caller must bound how much of it there is.
        """
        if not patient:
            self.check_room()
        until = time.monotonic() + self._seconds
        await self._wait_for_thread(math.inf if patient else until, is_gone)
        try:
            if is_gone is not None and await is_gone():
                raise gone()
            future = self._pool.submit(copy_context().run, self._timed, work)
        except BaseException:
            self._free.release()
            raise
        self._count(running=1)
        loop = asyncio.get_running_loop()
        future.add_done_callback(lambda done: self._work_ended(loop, done))
        left = self._seconds if patient else until - time.monotonic()
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), max(left, 0.001))
        except TimeoutError:
            if future.done() and not future.cancelled():
                return future.result()  # it ended just in time, or the work itself raised TimeoutError
            raise too_slow(self._seconds) from None

    def check_room(self) -> None:
        """Raise `HttpFault` if the queue is full."""
        if self._free.locked() and self.waiting >= self._queue:
            raise busy(self.retry_seconds())

    def retry_seconds(self) -> int:
        """Estimate when the queue will have been served, in seconds."""
        return max(1, min(_LONGEST_RETRY, math.ceil(self.waiting * self._mean_seconds / self._threads)))

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _wait_for_thread(self, until: float, is_gone: IsGone | None) -> None:
        """Take a free thread, in order of arrival; raise `HttpFault` after `until`, or when the client is gone."""
        if not self._free.locked():
            await self._free.acquire()  # at once
            return
        self._count(waiting=1)
        turn = asyncio.ensure_future(self._free.acquire())
        try:
            while not turn.done():
                left = until - time.monotonic()
                if left <= 0:
                    raise too_slow(self._seconds)
                await asyncio.wait({turn}, timeout=min(left, self._look_seconds))
                if not turn.done() and is_gone is not None and await is_gone():
                    raise gone()
        except BaseException:
            if not turn.cancel() and not turn.cancelled():  # a thread came free meanwhile: pass it on
                self._free.release()
            raise
        finally:
            self._count(waiting=-1)

    def _timed(self, work: Callable[[], _Result]) -> _Result:
        started = time.monotonic()
        try:
            return work()
        finally:
            self._mean_seconds += 0.1 * (time.monotonic() - started - self._mean_seconds)

    def _work_ended(self, loop: asyncio.AbstractEventLoop, done: Future[_Result]) -> None:
        """Free the thread; called in the thread that did the work, or that cancelled it."""
        if not loop.is_closed():
            loop.call_soon_threadsafe(self._leave)
        if not done.cancelled():
            done.exception()  # mark it as seen: after a timeout nobody else reads it

    def _leave(self) -> None:
        self._free.release()
        self._count(running=-1)

    def _count(self, *, waiting: int = 0, running: int = 0) -> None:
        self.waiting += waiting
        self.running += running
        if self._changed is not None:
            self._changed(self.waiting, self.running)


def in_thread(work: Callable[[], _Result], *, name: str) -> asyncio.Future[_Result]:
    """Start work in a new daemon thread, which does not keep the process from ending."""
    future: Future[_Result] = Future()
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # raised in the caller that waits
            future.set_exception(error)

    wrapped = asyncio.wrap_future(future)
    wrapped.add_done_callback(lambda done: done.cancelled() or done.exception())  # mark an error as seen
    threading.Thread(target=run, name=name, daemon=True).start()
    return wrapped


class CachedProbe(Generic[_Result]):
    """A probe that any number of callers share: at most one thread runs it at a time.

    A result is reused for `fresh_seconds`. No caller waits longer than `timeout_seconds` after the probe began.
    """

    def __init__(
        self, probe: Callable[[], _Result], *, name: str, fresh_seconds: float, timeout_seconds: float
    ) -> None:
        self._probe = probe
        self._name = name
        self._fresh_seconds = fresh_seconds
        self._timeout_seconds = timeout_seconds
        self._began = 0.0
        self._last: asyncio.Future[_Result] | None = None

    async def __call__(self) -> _Result | None:
        """Return the result of the probe; None if it takes too long."""
        now = time.monotonic()
        last = self._last
        is_stale = now >= self._began + self._fresh_seconds
        if last is None or (last.done() and (is_stale or last.cancelled() or last.exception() is not None)):
            self._began = now
            last = self._last = in_thread(self._probe, name=self._name)
        await asyncio.wait({last}, timeout=max(0.0, self._began + self._timeout_seconds - now))
        return last.result() if last.done() else None

    async def end(self) -> None:
        """Wait for a running probe, at most as long as its timeout."""
        if self._last is not None:
            await asyncio.wait({self._last}, timeout=self._timeout_seconds)
