from __future__ import annotations

import pickle
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.models.caching import MemoryCache


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def size(key: str, value: object) -> int:
    return len(key) + len(pickle.dumps(value))


def test_what_was_put_is_given_back_until_a_later_value_replaces_it() -> None:
    cache = MemoryCache(100_000)
    values = [b"", b"\x00\xff\r\n", ("a", 1.5), "\ud800"]
    for number, value in enumerate(values):
        cache.put(f"value {number}", value, seconds=60)

    assert [cache.get(f"value {number}") for number in range(len(values))] == values
    cache.put("value 0", "other", seconds=60)
    assert cache.get("value 0") == "other"
    assert cache.get("value 9") is None


def test_gets_are_counted_by_kind_and_result() -> None:
    cache = MemoryCache(1_000)
    cache.put("vector:a", b"1", seconds=60)
    for key in ("vector:a", "vector:a", "vector:b", "found:a"):
        cache.get(key)

    assert cache.counts == {("vector", True): 2, ("vector", False): 1, ("found", False): 1}


def test_the_least_recently_used_goes_first() -> None:
    cache = MemoryCache(3 * size("k1", b"value"))
    for number in (1, 2, 3):
        cache.put(f"k{number}", b"value", seconds=60)
    assert cache.get("k1") == b"value"

    cache.put("k4", b"value", seconds=60)

    assert [cache.get(f"k{number}") for number in (1, 2, 3, 4)] == [b"value", None, b"value", b"value"]


def test_a_value_that_is_too_large_replaces_its_own_and_drives_out_no_other() -> None:
    cache = MemoryCache(60)
    cache.put("a", b"1", seconds=60)
    cache.put("b", b"2", seconds=60)
    cache.put("b", b"x" * 60, seconds=60)

    assert cache.get("a") == b"1"
    assert cache.get("b") is None
    assert cache.size == size("a", b"1")


@pytest.mark.parametrize("seconds", [0, -1.0])
def test_no_time_keeps_nothing(seconds: float) -> None:
    cache = MemoryCache(1_000)
    cache.put("key", b"old", seconds=60)
    cache.put("key", b"new", seconds=seconds)

    assert cache.get("key") is None


def test_an_entry_lives_as_long_as_it_was_last_put_for() -> None:
    clock = Clock()
    cache = MemoryCache(1_000, clock)
    cache.put("key", b"old", seconds=10)
    cache.put("key", b"new", seconds=30)
    clock.now = 29.9
    assert cache.get("key") == b"new"

    clock.now = 30.0

    assert cache.get("key") is None
    assert cache.size == 0


STEP = st.tuples(
    st.sampled_from(["get", "put", "wait"]), st.sampled_from("abcd"), st.integers(0, 12), st.integers(-1, 6)
)


@given(st.integers(0, 80), st.lists(STEP, max_size=200))
def test_it_does_what_a_list_of_entries_would(most: int, steps: list[tuple[str, str, int, int]]) -> None:
    clock = Clock()
    cache = MemoryCache(most, clock)
    model: list[tuple[str, bytes, float]] = []  # the least recently used first
    for what, key, length, seconds in steps:
        held = [entry for entry in model if entry[0] == key]
        if what == "wait":
            clock.now += seconds + 1
            continue
        model = [entry for entry in model if entry[0] != key]
        if what == "get":
            held = [entry for entry in held if entry[2] > clock.now]
            model += held
            assert cache.get(key) == (held[0][1] if held else None)
        elif size(key, bytes(length)) <= most:
            model.append((key, bytes(length), clock.now + seconds))
        if what == "put":
            cache.put(key, bytes(length), seconds=seconds)
        while sum(size(name, value) for name, value, _ in model) > most:
            del model[0]
        assert cache.size == sum(size(name, value) for name, value, _ in model) <= most


def test_threads_never_exceed_the_limit_and_get_their_own_values() -> None:
    cache = MemoryCache(2_000)
    sizes: list[int] = []
    wrong: list[object] = []

    def work(worker: int) -> None:
        for turn in range(500):
            cache.put(f"{worker}{turn % 20}", bytes([worker]) * (turn % 90), seconds=60 if turn % 3 else 0)
            value = cache.get(f"{(worker + 1) % 4}{turn % 20}")
            if value is not None and set(value) - {(worker + 1) % 4}:
                wrong.append(value)
            sizes.append(cache.size)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    assert len(sizes) == 2_000
    assert max(sizes) <= 2_000
    assert wrong == []
