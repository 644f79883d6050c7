"""Calls to shards through Serve's handles, each with a time limit. Ray is imported by whoever makes a handle."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from quoth.errors import IndexFault, PartLost
from quoth.stores.sharded.host import version_of
from quoth.stores.sharded.manifest import ShardEntry

OPEN_SECONDS = 600.0
"""In which a shard must be opened, be it copied from object storage first."""
_ATTEMPTS = 2
"""In the time of one call: a replica that died need not cost the answer where there is another. One that takes too long
is not asked again: whoever is slow under load would get more of it."""
_PAUSE_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Said:
    """What a shard says to a call: a value that it gives, why it refuses, or that it does not know the entry."""

    kind: Literal["given", "refused", "unknown"]
    value: Any


class HandleTransport:
    """See `remote_shard.Transport`. `shards` are handles, one for each that there were when the service began."""

    def __init__(self, shards: Sequence[Any], *, seconds: float) -> None:
        self._shards = shards
        self._seconds = seconds

    def __call__(self, place: int, entry: ShardEntry, method: str, args: tuple[Any, ...]) -> Any:  # noqa: ANN401
        handle = self._shards[place % len(self._shards)]
        seconds = OPEN_SECONDS if method == "info" else self._seconds
        end = time.monotonic() + seconds
        # The rest of an entry is told once, to a replica that has not opened it.
        said = self._sent(place, seconds, end, handle.ask, version_of(entry), method, args)
        if said.kind == "unknown":
            said = self._sent(place, seconds, end, handle.ask_of, entry, method, args)
        if said.kind == "refused":
            raise IndexFault(str(said.value))
        return said.value

    @staticmethod
    def _sent(place: int, seconds: float, end: float, method: Any, *args: object) -> Said:  # noqa: ANN401 - of a handle
        from grpc import RpcError  # type: ignore[import-untyped]
        from ray.exceptions import RayError
        from ray.serve.exceptions import RayServeException

        why = f"it did not answer within {seconds:g} s"
        for _ in range(_ATTEMPTS):
            left = end - time.monotonic()
            if left <= 0:
                break
            response = method.remote(*args)
            try:
                said: Said = response.result(timeout_s=left)
                return said
            except TimeoutError as error:
                response.cancel()
                raise PartLost(f"shard {place + 1}", f"it did not answer within {seconds:g} s") from error
            except (RayError, RayServeException, RpcError) as error:
                why = _short(error)
                time.sleep(min(_PAUSE_SECONDS, seconds))  # for Serve to notice who is gone
        raise PartLost(f"shard {place + 1}", why)


def _short(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[-1][:200]}" if lines else type(error).__name__
