from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.protocols import Cache
from quoth.providers.memory_cache import MemoryCache

from .cache_contract import CacheContract


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class TestMemoryCache(CacheContract):
    @pytest.fixture
    def cache(self) -> Cache:
        return MemoryCache(self.MOST_BYTES)


def test_the_least_recently_used_goes_first() -> None:
    cache = MemoryCache(3 * len(b"k1" + b"value"))
    for number in (1, 2, 3):
        cache.put(f"k{number}", b"value", seconds=60)
    assert cache.get("k1") == b"value"

    cache.put("k4", b"value", seconds=60)

    assert [cache.get(f"k{number}") for number in (1, 2, 3, 4)] == [b"value", None, b"value", b"value"]


def test_keys_count_as_well_as_values() -> None:
    cache = MemoryCache(10)
    cache.put("ğğğ", b"1234", seconds=60)
    assert cache.size == 10

    cache.put("ğğğ", b"12345", seconds=60)

    assert cache.size == 0
    assert cache.get("ğğğ") is None


def test_one_that_is_too_large_drives_out_no_other() -> None:
    cache = MemoryCache(20)
    cache.put("a", b"1", seconds=60)
    cache.put("b", b"x" * 20, seconds=60)

    assert cache.get("a") == b"1"


def test_a_cache_without_room_keeps_nothing() -> None:
    cache = MemoryCache(0)
    cache.put("a", b"1", seconds=60)
    cache.put("", b"", seconds=60)

    assert cache.get("a") is None
    assert cache.size == 0


def test_expired_entries_give_up_their_room() -> None:
    clock = Clock()
    cache = MemoryCache(100, clock)
    cache.put("short", b"x" * 45, seconds=10)
    cache.put("long", b"x" * 46, seconds=20)
    clock.now = 9.999
    assert cache.get("short") is not None

    clock.now = 10.0

    assert cache.size == 50
    cache.put("next", b"x" * 46, seconds=5)
    assert cache.get("long") is not None
    assert cache.get("short") is None


def test_an_entry_that_was_replaced_lives_as_long_as_the_new_one() -> None:
    clock = Clock()
    cache = MemoryCache(100, clock)
    cache.put("key", b"old", seconds=10)
    cache.put("key", b"new", seconds=30)
    clock.now = 20.0
    assert cache.get("key") == b"new"

    clock.now = 30.0

    assert cache.get("key") is None


STEP = st.tuples(
    st.sampled_from(["get", "put", "wait"]),
    st.sampled_from("abcd"),
    st.integers(0, 12),
    st.integers(-1, 6),
)


@given(st.integers(0, 30), st.lists(STEP, max_size=200))
def test_it_does_what_a_list_of_entries_would(most: int, steps: list[tuple[str, str, int, int]]) -> None:
    clock = Clock()
    cache = MemoryCache(most, clock)
    model: list[tuple[str, bytes, float]] = []  # the least recently used first
    for what, key, length, seconds in steps:
        if what == "wait":
            clock.now += seconds + 1
        model = [one for one in model if one[2] > clock.now]
        if what == "get":
            held = [one for one in model if one[0] == key]
            model = [one for one in model if one[0] != key] + held
            assert cache.get(key) == (held[0][1] if held else None)
        elif what == "put":
            value = bytes(length)
            cache.put(key, value, seconds=seconds)
            model = [one for one in model if one[0] != key]
            if seconds > 0 and 1 + length <= most:
                model.append((key, value, clock.now + seconds))
                while sum(1 + len(one[1]) for one in model) > most:
                    del model[0]
        assert cache.size == sum(1 + len(one[1]) for one in model) <= most


def test_writing_over_one_key_for_ever_takes_no_more_memory() -> None:
    cache = MemoryCache(1_000)
    for number in range(20_000):
        cache.put("key", str(number).encode(), seconds=1e6)

    assert cache.get("key") == b"19999"
    assert len(cache._ends) < 100


def test_threads_never_exceed_the_limit() -> None:
    cache = MemoryCache(500)
    sizes: list[int] = []

    def work(worker: int) -> None:
        for turn in range(500):
            cache.put(f"{worker}{turn % 20}", bytes(turn % 90), seconds=60 if turn % 3 else 0)
            cache.get(f"{(worker + 1) % 4}{turn % 20}")
            sizes.append(cache.size)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for one in workers:
        one.start()
    for one in workers:
        one.join()

    assert len(sizes) == 2_000
    assert max(sizes) <= 500
