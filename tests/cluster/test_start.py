"""A cluster is started again when one of Ray's own processes was late, and an error of Ray says what to do.

A stand-in for Ray: its real processes cannot be made late by a known time.
"""

from __future__ import annotations

import pytest

from quoth.cluster.ray_session import _start
from quoth.errors import ClusterFault

LATE = "The current node timed out during startup."


class RayThatFails:
    """Raises the errors in turn, and starts when there are none left."""

    def __init__(self, *errors: Exception) -> None:
        self._errors = list(errors)
        self.calls: list[str] = []

    def init(self, **_options: object) -> None:
        self.calls.append("init")
        if self._errors:
            raise self._errors.pop(0)

    def shutdown(self) -> None:
        self.calls.append("shutdown")


def test_a_late_start_is_tried_again() -> None:
    ray = RayThatFails(Exception(LATE), Exception(LATE))

    _start(ray)

    assert ray.calls == ["init", "shutdown", "init", "shutdown", "init"]


@pytest.mark.parametrize(
    ("errors", "tries"), [([Exception(LATE)] * 3, 3), ([RuntimeError("No room left in /dev/shm")], 1)]
)
def test_what_does_not_help_is_named(errors: list[Exception], tries: int) -> None:
    ray = RayThatFails(*errors)

    with pytest.raises(ClusterFault, match=str(errors[0])) as raised:
        _start(ray)

    assert ray.calls == ["init", "shutdown"] * tries
    assert "--address" in raised.value.hint
