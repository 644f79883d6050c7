"""What goes wrong on a cluster, as errors with a next step."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from quoth.errors import ClusterFault

_log = logging.getLogger(__name__)
_LONG = 60.0
"""Seconds after which a user wonders."""
AGAIN = "Run the same command again: what was embedded is kept. The logs of Ray say more."


@contextmanager
def on_the_cluster() -> Iterator[None]:
    """Whatever Ray gives up over becomes a `ClusterFault` with its last line."""
    from ray.data.exceptions import ExecutionTimeoutError, SystemException
    from ray.exceptions import RayError

    try:
        yield
    except (RayError, ExecutionTimeoutError, SystemException) as error:
        raise ClusterFault(f"the cluster could not finish: {last_line(error)}", hint=AGAIN) from error


def some_done(tasks: list[Any]) -> Sequence[Any]:
    """Those of the tasks that are done, once one is. Who waits for long is told why that may be.

    A cluster without a free CPU takes tasks and says nothing.
    """
    import ray

    done, _ = ray.wait(tasks, num_returns=1, timeout=_LONG)
    if not done:
        _warn_once()
        done, _ = ray.wait(tasks, num_returns=1)
    found: Sequence[Any] = done
    return found


@cache
def _warn_once() -> None:
    _log.warning("nothing has come back for %.0f s: the cluster may have no free CPU; see `ray status`", _LONG)


def last_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1][:300] if lines else type(error).__name__
