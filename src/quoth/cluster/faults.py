"""What goes wrong on a cluster, as errors with a next step."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NoReturn

from quoth.errors import ClusterFault, QuothError

AGAIN = "Run the same command again: what was embedded is kept. The logs of Ray say more."


@dataclass(frozen=True, slots=True)
class Failed:
    """An error that a process of the cluster met, fit to be sent: which one it is, its sentence and its hint."""

    kind: type[QuothError]
    message: str
    hint: str


def failed(error: QuothError) -> Failed:
    return Failed(type(error), str(error), error.hint)


def raise_again(one: Failed) -> NoReturn:
    """The error as it was met, here."""
    error = one.kind.__new__(one.kind)  # errors take what they please, and have their sentence from it
    QuothError.__init__(error, one.message, hint=one.hint)
    raise error


@contextmanager
def on_the_cluster() -> Iterator[None]:
    """Whatever Ray gives up over becomes a `ClusterFault` with its last line."""
    from ray.data.exceptions import ExecutionTimeoutError, SystemException
    from ray.exceptions import RayError

    try:
        yield
    except (RayError, ExecutionTimeoutError, SystemException) as error:
        raise ClusterFault(f"the cluster could not finish: {_last_line(error)}", hint=AGAIN) from error


def _last_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1][:300] if lines else type(error).__name__
