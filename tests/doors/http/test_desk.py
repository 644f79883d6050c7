"""Who is served and who waits: the queue, the time limits, clients that are gone, and that no place is ever lost."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from random import Random
from typing import Any

import pytest

from quoth.http.blocking_work import BoundedPool
from quoth.http.http_faults import CLIENT_GONE, HttpFault

from ..command_line import PATIENCE

Body = Callable[[BoundedPool], Coroutine[Any, Any, None]]


def at_a_desk(body: Body, *, threads: int = 1, queue: int = 2, seconds: float = 60) -> list[tuple[int, int]]:
    """Run `body` with a desk, which must be empty and whole in the end; gives what it told of itself."""
    told: list[tuple[int, int]] = []

    async def main() -> None:
        desk = BoundedPool(
            threads=threads,
            queue=queue,
            seconds=seconds,
            changed=lambda waiting, running: told.append((waiting, running)),
            look_seconds=0.01,
        )
        try:
            async with asyncio.timeout(PATIENCE):
                await body(desk)
                await settled(desk)
                desk._seconds = PATIENCE
                await all_places(desk, threads)
        finally:
            desk.close()

    asyncio.run(main())
    assert not told or told[-1] == (0, 0)
    return told


async def settled(desk: BoundedPool) -> None:
    while desk.running or desk.waiting:
        await asyncio.sleep(0.001)


async def all_places(desk: BoundedPool, threads: int) -> None:
    """As many can be served at once as there are threads, no more and no fewer."""
    together = threading.Barrier(threads)
    await asyncio.gather(*(desk.run(lambda: together.wait(PATIENCE)) for _ in range(threads)))


class Blocked:
    """Work that goes on until it is released."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.release = threading.Event()

    def __call__(self) -> str:
        self.begun.set()
        assert self.release.wait(PATIENCE)
        return "done"

    async def has_begun(self) -> None:
        while not self.begun.is_set():
            await asyncio.sleep(0.001)


async def waiting(desk: BoundedPool, count: int) -> None:
    while desk.waiting != count:
        await asyncio.sleep(0.001)


def always(value: bool) -> Callable[[], Awaitable[bool]]:
    async def answer() -> bool:
        return value

    return answer


def test_work_gives_its_result_or_its_error() -> None:
    async def body(desk: BoundedPool) -> None:
        assert await desk.run(lambda: 7) == 7
        with pytest.raises(ZeroDivisionError):
            await desk.run(lambda: 1 // 0)
        with pytest.raises(TimeoutError, match="its own"):
            await desk.run(_own_timeout)

    at_a_desk(body)


def _own_timeout() -> None:
    raise TimeoutError("its own")


def test_who_finds_the_queue_full_is_sent_away_at_once() -> None:
    async def body(desk: BoundedPool) -> None:
        work = Blocked()
        under_way = [asyncio.create_task(desk.run(work)) for _ in range(3)]
        await work.has_begun()
        await waiting(desk, 2)
        for _ in range(100):
            with pytest.raises(HttpFault) as refused:
                await desk.run(lambda: None)
            assert (refused.value.status_code, refused.value.code) == (503, "busy")
            assert refused.value.headers is not None
            assert 1 <= int(refused.value.headers["Retry-After"]) <= 30
        patient = asyncio.create_task(desk.run(lambda: "patient", patient=True))  # whoever bounds it elsewhere may wait
        await waiting(desk, 3)
        work.release.set()
        assert await asyncio.gather(*under_way) == 3 * ["done"]
        assert await patient == "patient"

    told = at_a_desk(body)
    assert max(told) == (3, 1)


def test_without_a_queue_whoever_finds_a_thread_is_served() -> None:
    async def body(desk: BoundedPool) -> None:
        assert [await desk.run(lambda: 1) for _ in range(50)] == 50 * [1]
        work = Blocked()
        first = asyncio.create_task(desk.run(work))
        await work.has_begun()
        with pytest.raises(HttpFault):
            await desk.run(lambda: None)
        work.release.set()
        await first

    at_a_desk(body, queue=0)


def test_those_who_wait_are_served_in_the_order_they_came() -> None:
    order: list[int] = []

    async def body(desk: BoundedPool) -> None:
        work = Blocked()
        first = asyncio.create_task(desk.run(work))
        await work.has_begun()
        rest = []
        for number in range(20):
            rest.append(asyncio.create_task(desk.run(lambda number=number: order.append(number))))  # type: ignore[misc]
            await waiting(desk, number + 1)
        await asyncio.sleep(0.05)  # some looks at whether they are still there, which must not cost anyone the place
        work.release.set()
        await asyncio.gather(first, *rest)

    at_a_desk(body, queue=50)
    assert order == list(range(20))


def test_work_that_takes_too_long_is_given_up_but_keeps_its_place() -> None:
    async def body(desk: BoundedPool) -> None:
        work = Blocked()
        with pytest.raises(HttpFault) as late:
            await desk.run(work)
        assert (late.value.status_code, late.value.code) == (504, "timeout")
        assert desk.running == 1  # a thread cannot be stopped
        with pytest.raises(HttpFault) as waited:
            await desk.run(lambda: None)
        assert waited.value.status_code == 504
        assert desk.waiting == 0
        work.release.set()
        await settled(desk)
        desk._seconds = PATIENCE
        assert await desk.run(lambda: "again") == "again"

    at_a_desk(body, seconds=0.1)


def test_patient_work_has_its_time_from_when_it_begins() -> None:
    async def body(desk: BoundedPool) -> None:
        work = Blocked()
        with pytest.raises(HttpFault):
            await desk.run(work)
        patient = asyncio.create_task(desk.run(lambda: "served", patient=True))
        await waiting(desk, 1)
        with pytest.raises(HttpFault):
            await desk.run(lambda: None)  # it came later, and has waited for its whole time
        desk._seconds = PATIENCE  # which is read when work begins
        work.release.set()
        assert await patient == "served"
        desk._seconds = 0.1
        slow = Blocked()
        with pytest.raises(HttpFault) as late:
            await desk.run(slow, patient=True)
        assert late.value.status_code == 504
        slow.release.set()

    at_a_desk(body, seconds=0.1)


def test_a_client_that_is_gone_leaves_the_queue_before_its_turn() -> None:
    async def body(desk: BoundedPool) -> None:
        work = Blocked()
        first = asyncio.create_task(desk.run(work))
        await work.has_begun()
        done: list[str] = []
        gone = asyncio.create_task(desk.run(lambda: done.append("for nobody"), is_gone=always(True)))
        stays = asyncio.create_task(desk.run(lambda: "served", is_gone=always(False)))
        with pytest.raises(HttpFault) as left:
            await gone
        assert left.value.status_code == CLIENT_GONE
        assert desk.waiting == 1  # while the thread is still taken
        another = asyncio.create_task(desk.run(lambda: "in its place"))
        await waiting(desk, 2)
        work.release.set()
        assert list(await asyncio.gather(first, stays, another)) == ["done", "served", "in its place"]
        assert not done

    at_a_desk(body)


def test_a_client_that_is_gone_when_its_turn_comes_is_not_served() -> None:
    async def body(desk: BoundedPool) -> None:
        for _ in range(20):
            with pytest.raises(HttpFault) as left:
                await desk.run(lambda: None, is_gone=always(True))
            assert left.value.status_code == CLIENT_GONE

    at_a_desk(body)


def test_a_request_that_is_cancelled_gives_its_place_back() -> None:
    async def body(desk: BoundedPool) -> None:
        work = Blocked()
        first = asyncio.create_task(desk.run(work))
        await work.has_begun()
        waits = asyncio.create_task(desk.run(lambda: None))
        await waiting(desk, 1)
        waits.cancel()
        first.cancel()
        ends = await asyncio.gather(first, waits, return_exceptions=True)
        assert [type(end) for end in ends] == [asyncio.CancelledError, asyncio.CancelledError]
        assert (desk.waiting, desk.running) == (0, 1)
        work.release.set()

    at_a_desk(body)


@pytest.mark.parametrize("seed", range(3))
def test_no_place_is_lost_whatever_happens_to_those_who_come(seed: int) -> None:
    chance = Random(seed)  # noqa: S311 - no secret
    ended: dict[str, int] = {}

    async def client(desk: BoundedPool) -> None:
        async def is_gone() -> bool:
            await asyncio.sleep(0)
            return chance.random() < 0.1

        pause, fails = chance.choice([0, 0, 0.001, 0.03]), chance.random() < 0.1

        def work() -> None:
            threading.Event().wait(pause)
            if fails:
                raise ValueError("as it may")

        run = asyncio.create_task(desk.run(work, is_gone=is_gone, patient=chance.random() < 0.1))
        if chance.random() < 0.2:
            await asyncio.sleep(chance.random() * 0.01)
            run.cancel()
        try:
            await run
            end = "served"
        except asyncio.CancelledError:
            end = "cancelled"
        except ValueError:
            end = "failed"
        except HttpFault as fault:
            end = fault.code
        ended[end] = ended.get(end, 0) + 1

    async def body(desk: BoundedPool) -> None:
        for _ in range(40):
            await asyncio.gather(*(client(desk) for _ in range(50)))

    at_a_desk(body, threads=3, queue=25, seconds=0.02)
    assert sum(ended.values()) == 2_000
    assert set(ended) == {"served", "cancelled", "failed", "gone", "busy", "timeout"}


def test_a_desk_that_is_closed_leaves_nobody_waiting_for_ever() -> None:
    async def main() -> None:
        desk = BoundedPool(threads=1, queue=5, seconds=60, changed=lambda waiting, running: None)
        work = Blocked()
        first = asyncio.create_task(desk.run(work))
        await work.has_begun()
        desk.close()
        work.release.set()
        assert await first == "done"
        with pytest.raises(RuntimeError):
            await desk.run(lambda: None)
        assert desk.waiting == 0

    asyncio.run(main())
