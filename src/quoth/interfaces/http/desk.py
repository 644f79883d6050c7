"""Who is served, and who waits: a few threads, a bounded queue, and a time limit for everyone."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from quoth.interfaces.http.faults import busy, gone, too_slow

_Result = TypeVar("_Result")
_LONGEST_WAIT = 30
LOOK_SECONDS = 1.0
"""How often it is looked whether a client that waits is still there."""

IsGone = Callable[[], Awaitable[bool]]


class Desk:
    """Runs blocking work in threads for one event loop.

    A request that finds the queue full is sent away at once, which costs next to nothing: a service that lets everyone
    wait answers nobody in time. One that waits holds no thread, and leaves when its time is over or its client is gone.
    A thread cannot be stopped: work that outlives its time limit keeps its place until it is done.
    """

    def __init__(
        self,
        *,
        threads: int,
        queue: int,
        seconds: float,
        changed: Callable[[int, int], None],
        look_seconds: float = LOOK_SECONDS,
    ) -> None:
        """`changed` is told how many wait and how many are served, whenever that changes."""
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="answering")
        self._free = asyncio.Semaphore(threads)
        self._threads = threads
        self._queue = queue
        self._seconds = seconds
        self._usual = 0.05
        self._changed = changed
        self._look_seconds = look_seconds
        self.waiting = 0
        self.running = 0

    async def run(
        self, work: Callable[[], _Result], *, is_gone: IsGone | None = None, patient: bool = False
    ) -> _Result:
        """The result of `work`. `patient` work waits its turn however long the queue is: its caller bounds it."""
        if not patient:
            self.check_room()
        until = time.monotonic() + self._seconds
        await self._turn(math.inf if patient else until, is_gone)
        try:
            if is_gone is not None and await is_gone():
                raise gone()
            future = self._pool.submit(copy_context().run, self._timed, work)
        except BaseException:
            self._free.release()
            raise
        self._count(running=1)
        loop = asyncio.get_running_loop()
        future.add_done_callback(lambda done: _tell(loop, self._leave, done))
        left = self._seconds if patient else until - time.monotonic()
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), max(left, 0.001))
        except TimeoutError:
            if future.done() and not future.cancelled():
                return future.result()  # just in time; or the work itself ran into a timeout, which is raised here
            raise too_slow(self._seconds) from None

    def check_room(self) -> None:
        """Send away whoever comes when the queue is full."""
        if self._free.locked() and self.waiting >= self._queue:
            raise busy(self.retry_seconds())

    def retry_seconds(self) -> int:
        """When it is worth coming again, as far as one can say."""
        return max(1, min(_LONGEST_WAIT, math.ceil(self.waiting * self._usual / self._threads)))

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _turn(self, until: float, is_gone: IsGone | None) -> None:
        """Wait for a free thread, in the order of arrival, and no longer than the client does."""
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
            if not turn.cancel() and not turn.cancelled():  # its turn came meanwhile: the next one's now
                self._free.release()
            raise
        finally:
            self._count(waiting=-1)

    def _timed(self, work: Callable[[], _Result]) -> _Result:
        started = time.monotonic()
        try:
            return work()
        finally:
            self._usual += 0.1 * (time.monotonic() - started - self._usual)

    def _leave(self) -> None:
        self._free.release()
        self._count(running=-1)

    def _count(self, *, waiting: int = 0, running: int = 0) -> None:
        self.waiting += waiting
        self.running += running
        self._changed(self.waiting, self.running)


def _tell(loop: asyncio.AbstractEventLoop, leave: Callable[[], None], done: Future[_Result]) -> None:
    """Called by the thread that did the work, or by whoever cancelled it."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(leave)
    if not done.cancelled():
        done.exception()  # it was told to whoever waited; one that came too late is told to nobody
