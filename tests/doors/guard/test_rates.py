"""Rate limits: what is granted, what the numbers promise, sharing, and files that cannot be used."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quoth.http.guard.access import Allowance, Rates, burst

from .processes import granted, side_by_side, stopped_clock, take_a_thousand


@dataclass
class Clock:
    """A clock that moves only when it is told to."""

    now: float = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def rates(tmp_path: Path, clock: Clock) -> Iterator[Rates]:
    with closing(Rates(tmp_path / "state" / "rates.db", clock=clock)) as opened:
        yield opened


def test_a_burst_is_granted_and_then_the_rate(rates: Rates, clock: Clock) -> None:
    at_once = [rates.take("web", 60) for _ in range(11)]

    assert burst(60) == 10
    assert [one.granted for one in at_once] == [True] * 10 + [False]
    assert [one.remaining for one in at_once] == [9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0]
    assert at_once[0] == Allowance(granted=True, limit=60, remaining=9, reset_seconds=1, retry_after=0)
    assert at_once[10] == Allowance(granted=False, limit=60, remaining=0, reset_seconds=10, retry_after=1)

    clock.now += at_once[10].retry_after
    assert [rates.take("web", 60).granted for _ in range(2)] == [True, False]

    clock.now += rates.take("web", 60).reset_seconds
    assert rates.take("web", 60).remaining == 9


@pytest.mark.parametrize(
    ("per_minute", "expected"), [(1, 1), (3, 3), (5, 5), (6, 5), (30, 5), (60, 10), (600, 100), (10**6, 166_666)]
)
def test_the_burst_is_ten_seconds_worth_within_bounds(per_minute: int, expected: int) -> None:
    assert burst(per_minute) == expected


def test_everyone_has_a_limit_of_their_own(rates: Rates) -> None:
    assert [rates.take("one", 1).granted for _ in range(2)] == [True, False]
    assert rates.take("two", 1).granted


@pytest.mark.parametrize("per_minute", [0, -1])
def test_a_limit_is_at_least_one(rates: Rates, per_minute: int) -> None:
    with pytest.raises(ValueError, match="1 or more"):
        rates.take("web", per_minute)


def test_a_clock_that_was_set_back_locks_nobody_out(rates: Rates, clock: Clock) -> None:
    assert granted(rates.take("web", 60).granted for _ in range(20)) == 10
    clock.now -= 86_400

    refused = rates.take("web", 60)
    assert (refused.granted, refused.retry_after) == (False, 1)
    clock.now += 1
    assert rates.take("web", 60).granted


def test_a_new_limit_acts_at_once(rates: Rates, clock: Clock) -> None:
    assert granted(rates.take("web", 1).granted for _ in range(5)) == 1

    assert rates.take("web", 600).retry_after == 1
    clock.now += 1
    assert rates.take("web", 600).granted


@given(
    per_minute=st.integers(1, 200) | st.sampled_from([7, 999_999, 10**6]),
    pauses=st.lists(st.floats(0, 20) | st.just(0.0) | st.floats(0, 0.5), min_size=1, max_size=400),
)
@settings(max_examples=60, deadline=None)
def test_no_minute_grants_more_than_the_limit_and_a_burst(per_minute: int, pauses: list[float]) -> None:
    clock, times = Clock(), list[float]()
    with closing(Rates(Path(":memory:"), clock=clock)) as rates:
        for pause in pauses:
            clock.now += pause
            answer = rates.take("web", per_minute)
            times += [clock.now] if answer.granted else []
            assert 0 <= answer.remaining < burst(per_minute)
            assert answer.granted == (answer.retry_after == 0)
            assert answer.retry_after <= max(1, answer.reset_seconds) <= 60

    most = max(sum(start <= one < start + 60 for one in times) for start in times)
    assert most <= per_minute + burst(per_minute)


@given(per_minute=st.integers(1, 10_000), spent=st.integers(1, 50))
@settings(max_examples=60, deadline=None)
def test_what_the_numbers_promise_is_kept(per_minute: int, spent: int) -> None:
    clock = Clock()
    with closing(Rates(Path(":memory:"), clock=clock)) as rates:
        answer = [rates.take("web", per_minute) for _ in range(spent)][-1]
        following = [rates.take("web", per_minute) for _ in range(answer.remaining + 1)]
        assert [one.granted for one in following] == [True] * answer.remaining + [False]

        clock.now += following[-1].retry_after
        assert rates.take("web", per_minute).granted

        clock.now += rates.take("web", per_minute).reset_seconds
        assert rates.take("web", per_minute).remaining == burst(per_minute) - 1


def test_who_asks_all_the_time_gets_the_limit(rates: Rates, clock: Clock) -> None:
    """Ten minutes of a request every tenth of a second: ten times the limit, and one burst."""
    answers = []
    for _ in range(6_000):
        answers.append(rates.take("web", 120).granted)
        clock.now += 0.1

    assert 1_200 <= granted(answers) <= 1_200 + burst(120)


def test_threads_share_a_limit(rates: Rates) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: rates.take("web", 600).granted, range(400)))

    assert granted(answers) == 100


def test_processes_share_a_limit(tmp_path: Path) -> None:
    """Three processes start at once, on a file that does not exist yet."""
    path = tmp_path / "state" / "rates.db"
    counts = side_by_side(take_a_thousand, path, ["one", "two", "three"])

    assert sum(counts) == 1_000


def test_a_limit_outlives_its_process(tmp_path: Path, clock: Clock) -> None:
    for expected in (True, False):
        with closing(Rates(tmp_path / "rates.db", clock=clock)) as rates:
            assert rates.take("web", 1).granted is expected


def test_a_closed_file_is_opened_again(rates: Rates) -> None:
    assert rates.take("web", 1).granted
    rates.close()
    rates.close()

    assert not rates.take("web", 1).granted


def test_rows_that_mean_nothing_any_more_are_dropped(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "rates.db"
    with closing(Rates(path, clock=clock)) as rates:
        for number in range(50):
            rates.take(f"old {number}", 60)
        clock.now += 120
        for _ in range(4_096):
            rates.take("new", 60)
    with closing(sqlite3.connect(path)) as file:
        assert file.execute("SELECT who FROM rates").fetchall() == [("new",)]


def test_the_limits_of_a_process_do_not_grow_without_end(tmp_path: Path, clock: Clock) -> None:
    (tmp_path / "file").write_bytes(b"")
    rates = Rates(tmp_path / "file" / "rates.db", clock=clock)
    for number in range(10_000):
        assert rates.take(f"address {number}", 60).granted
        clock.now += 1

    assert rates._own.execute("SELECT count(*) FROM rates").fetchone()[0] <= 4_096


def damaged(path: Path) -> None:
    path.write_bytes(b"This is no database. " * 1_000)


def damaged_inside(path: Path) -> None:
    with closing(Rates(path, clock=stopped_clock)) as rates:
        for number in range(2_000):
            rates.take(f"somebody with a long name {number}", 60)
    content = path.read_bytes()
    path.write_bytes(content[:100] + b"\xff" * (len(content) - 100))


def another_table(path: Path) -> None:
    with closing(sqlite3.connect(path)) as file:
        file.execute("CREATE TABLE rates (something TEXT)")


def a_folder(path: Path) -> None:
    path.mkdir()


@pytest.mark.parametrize("spoil", [damaged, damaged_inside, another_table, a_folder])
def test_an_unusable_file_leaves_limits_in_the_process(
    tmp_path: Path, spoil: Callable[[Path], None], clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    spoil(tmp_path / "rates.db")
    with caplog.at_level(logging.WARNING), closing(Rates(tmp_path / "rates.db", clock=clock)) as rates:
        assert [rates.take("web", 5).granted for _ in range(8)] == [True] * 5 + [False] * 3
    assert [one.levelname for one in caplog.records] == ["WARNING"]
    assert "each process keeps its own limits" in caplog.text


def test_a_file_that_is_locked_for_long_does_not_hold_up_the_service(
    tmp_path: Path, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "rates.db"
    with closing(Rates(path, clock=clock)) as rates, closing(sqlite3.connect(path, isolation_level=None)) as other:
        assert rates.take("web", 5).remaining == 4
        other.execute("BEGIN IMMEDIATE")
        assert rates.take("web", 5).remaining == 4, "counted in this process, which knows of no other request"
        other.execute("ROLLBACK")
        assert rates.take("web", 5).remaining == 3, "the file is left alone for a while"

        rates._next_try = 0.0
        assert rates.take("web", 5).remaining == 3, "the file is used again: one was taken before, and this one"
    assert len(caplog.records) == 1
