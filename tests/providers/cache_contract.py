"""What every cache must do, whatever it is made of. A test module subclasses `CacheContract` and gives `cache`."""

from __future__ import annotations

import threading
import time

import pytest

from quoth.protocols import Cache

ANY_VALUE = (b"", b"\x00\xff\r\n", b"*3\r\n$3\r\nSET\r\n", bytes(range(256)) * 100)
ANY_KEY = ("", "How deep is canola sown?", "Eskişehir 😀\n\x00", "\ud800", "k" * 10_000)


class CacheContract:
    MOST_BYTES = 100_000
    """The fixture `cache` gives a cache that keeps a value of half this size, and none that is larger than it."""

    def test_what_was_put_is_given_back(self, cache: Cache) -> None:
        for number, value in enumerate(ANY_VALUE):
            cache.put(f"value {number}", value, seconds=60)

        assert [cache.get(f"value {number}") for number in range(len(ANY_VALUE))] == list(ANY_VALUE)

    @pytest.mark.parametrize("key", ANY_KEY, ids=ascii)
    def test_any_text_is_a_key(self, cache: Cache, key: str) -> None:
        assert cache.get(key) is None

        cache.put(key, b"kept", seconds=60)

        assert cache.get(key) == b"kept"
        assert cache.get(key + " ") is None

    def test_the_later_value_counts(self, cache: Cache) -> None:
        cache.put("key", b"first", seconds=60)
        cache.put("key", b"second", seconds=60)

        assert cache.get("key") == b"second"

    def test_an_entry_is_gone_after_its_time(self, cache: Cache) -> None:
        cache.put("short", b"value", seconds=0.02)
        cache.put("long", b"value", seconds=60)
        deadline = time.monotonic() + 20
        while cache.get("short") is not None:
            assert time.monotonic() < deadline, "it never expired"
            time.sleep(0.005)

        assert cache.get("long") == b"value"

    @pytest.mark.parametrize("seconds", [0, 0.0, -1.0, float("nan")])
    def test_no_time_keeps_nothing(self, cache: Cache, seconds: float) -> None:
        cache.put("key", b"old", seconds=60)
        cache.put("key", b"new", seconds=seconds)

        assert cache.get("key") is None

    @pytest.mark.parametrize("seconds", [0.0001, 1e9, 1e300, float("inf")])
    def test_any_time_is_taken(self, cache: Cache, seconds: float) -> None:
        cache.put("key", b"value", seconds=seconds)

        assert cache.get("key") in ({b"value", None} if seconds < 1 else {b"value"})

    def test_a_value_that_is_too_large_leaves_nothing_behind(self, cache: Cache) -> None:
        cache.put("key", b"x" * (self.MOST_BYTES // 2), seconds=60)
        assert cache.get("key") == b"x" * (self.MOST_BYTES // 2)

        cache.put("key", b"x" * (self.MOST_BYTES + 1), seconds=60)

        assert cache.get("key") is None

    def test_threads_get_their_own_values(self, cache: Cache) -> None:
        wrong: list[bytes] = []

        def work(worker: int) -> None:
            for turn in range(50):
                key, value = f"{worker} {turn}", f"value of {worker} {turn}".encode()
                cache.put(key, value, seconds=60)
                cache.put("shared", value, seconds=60)
                found = cache.get(key)
                if found != value:
                    wrong.append(found or b"")

        workers = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for one in workers:
            one.start()
        for one in workers:
            one.join()

        assert wrong == []
        assert cache.get("shared") is not None
