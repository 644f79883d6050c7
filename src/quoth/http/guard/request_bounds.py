"""What each HTTP door does with every request: bounds the body in size and time, and sets headers for browsers."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Mapping

from starlette.types import Message, Receive

from quoth.http.http_faults import HttpFault

SLOW_SECONDS = 30.0
"""How long a client may pause while it sends its body."""
SECURITY_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    # A browser that opens a document directly runs nothing in it.
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
    "cache-control": "no-store",
}
REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
"""The request ids that clients may choose; any other id is replaced by a random one."""
_DIGITS = re.compile(r"[0-9]{1,15}")


class BoundedBody:
    """The `receive` of one request, which raises `HttpFault` if its body is too large or comes too slowly.

    A client may pause for `slow_seconds`. All its pauses together may take that long too, and a second more for each
    `bytes_per_second` that it has sent: a body that drips would otherwise take for ever. 0 sets no such bound.
    """

    def __init__(
        self,
        receive: Receive,
        headers: Mapping[str, str],
        *,
        most: int,
        setting: str,
        slow_seconds: float,
        bytes_per_second: int,
    ) -> None:
        """`most` is in bytes, and `setting` the name of the setting that says so."""
        self._receive = receive
        self._declared = headers.get("content-length", "0")
        self._most = most
        self._setting = setting
        self._slow_seconds = slow_seconds
        self._bytes_per_second = bytes_per_second
        self._read = 0
        self._waited = 0.0
        self._ended = False
        self.unread = "transfer-encoding" in headers or bool(self._declared.strip("0"))
        """Whether some of the body has not been read."""

    def check_declared(self) -> None:
        """Raise `HttpFault` if the client says that it will send too much."""
        declared = self._declared
        if (
            declared.isascii()
            and declared.isdigit()
            and (not _DIGITS.fullmatch(declared) or int(declared) > self._most)
        ):
            raise self._too_large()

    def is_short(self, most: int) -> bool:
        """Return whether the client says that it will send at most so many bytes."""
        return _DIGITS.fullmatch(self._declared) is not None and int(self._declared) <= most

    async def drain(self) -> None:
        """Read what is left of the body, and forget it."""
        while self.unread:
            message = await self._receive()
            if message["type"] != "http.request":
                return
            self.unread = message.get("more_body", False)

    async def __call__(self) -> Message:
        if self._ended:  # only the end of the connection can follow, and the wait for it has no limit
            return await self._receive()
        began = time.monotonic()
        try:
            message = await asyncio.wait_for(self._receive(), self._patience())
        except TimeoutError:
            hint = "Send the whole request without pausing, and not drop by drop."
            raise HttpFault(408, "slow", "the request did not come in time", hint=hint) from None
        self._waited += time.monotonic() - began
        self._read += len(message.get("body", b""))
        self._ended = not message.get("more_body", False)
        self.unread = not self._ended
        if self._read > self._most:
            raise self._too_large()
        return message

    def _patience(self) -> float:
        """Return how many seconds the next piece may take."""
        if not self._bytes_per_second:
            return self._slow_seconds
        left = self._slow_seconds + self._read / self._bytes_per_second - self._waited
        return max(0.001, min(self._slow_seconds, left))

    def _too_large(self) -> HttpFault:
        most = self._most
        shown = f"{most // 2**20} MB" if most >= 2**20 else f"{most // 2**10} KB"
        return HttpFault(
            413, "too-large", f"more than {shown} are not taken", hint=f"Send less, or raise {self._setting}."
        )
