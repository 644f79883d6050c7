"""A cluster is started again when one of Ray's own processes was late, and an error of Ray says what to do.

A stand-in for Ray: its real processes cannot be made late by a known time.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from quoth.cluster.ray_session import _start
from quoth.errors import ClusterFault

LATE = "The current node timed out during startup."


class RayThatFails:
    """Raises the errors in turn, and starts when there are none left."""

    def __init__(self, *errors: Exception, session: Path = Path("/nowhere")) -> None:
        self._errors = list(errors)
        self._session = session
        self.calls: list[str] = []

    def init(self, **_options: object) -> SimpleNamespace:
        self.calls.append("init")
        if self._errors:
            raise self._errors.pop(0)
        return SimpleNamespace(address_info={"session_dir": str(self._session)})

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


def test_the_folders_of_sessions_that_were_killed_are_removed(tmp_path: Path) -> None:
    own, killed, alive, of_others = (tmp_path / f"session_{name}" for name in ("own", "killed", "alive", "of_others"))
    too_late = tmp_path / f"session_2026_{os.getpid()}"
    for folder in (own, killed, alive, of_others, too_late):
        (folder / "logs").mkdir(parents=True)
    (tmp_path / "session_latest").symlink_to(own)
    (killed / "quoth.lock").touch()
    with (alive / "quoth.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)

        _start(RayThatFails(session=own))

    assert {path.name for path in tmp_path.iterdir()} == {own.name, alive.name, of_others.name, "session_latest"}
    with (own / "quoth.lock").open() as mark, pytest.raises(BlockingIOError):
        fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
