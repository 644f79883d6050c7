"""Which pages of other sites may ask: none, unless the operator lists their origins."""

from __future__ import annotations

from starlette.datastructures import Headers, MutableHeaders

_PREFLIGHT = {
    "access-control-allow-methods": "GET, POST, PUT, DELETE",
    "access-control-allow-headers": "Authorization, Content-Type, X-Api-Key, X-Request-Id",
    "access-control-max-age": "600",
}
_EXPOSED = "X-Request-Id, Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Location"


class Cors:
    """Answers browsers' questions about other sites, and marks responses that a listed origin may read."""

    def __init__(self, origins: str) -> None:
        """`origins` with blanks between them; `*` is every site."""
        self._origins = frozenset(origins.split())

    def allows(self, origin: str) -> bool:
        return origin in self._origins or "*" in self._origins

    def preflight(self, method: str, headers: Headers) -> dict[str, str] | None:
        """The headers of the answer where a browser asks whether a listed site may send something; else None."""
        asked = method == "OPTIONS" and "access-control-request-method" in headers
        return dict(_PREFLIGHT) if asked and self.allows(headers.get("origin", "")) else None

    def mark(self, asked: Headers, given: MutableHeaders) -> None:
        """Say in a response who may read it."""
        if not self._origins:
            return
        given.add_vary_header("Origin")
        origin = asked.get("origin")
        if origin is not None and self.allows(origin):
            given["access-control-allow-origin"] = origin
            given["access-control-expose-headers"] = _EXPOSED
