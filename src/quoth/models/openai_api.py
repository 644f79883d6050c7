"""A thin client for any endpoint that speaks OpenAI's protocol: one JSON object out, one back, within hard limits.

Each request runs in a thread of its own, which is left behind when the time is over: the time limits of a blocking
client restart with each byte that a slow server sends.
"""

from __future__ import annotations

import json
import math
import os
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NoReturn

from quoth.errors import MissingExtra, ProviderFault, SettingsError

if TYPE_CHECKING:
    import ssl

    import httpx

RETRIED = frozenset({408, 409, 425, 429})
"""Statuses below 500 that are worth another attempt; every one from 500 on is, too."""

_FIRST_WAIT = 0.5
_LONGEST_WAIT = 8.0
_LONGEST_ASKED_WAIT = 60.0
"""Seconds; a longer `Retry-After` is cut to this."""

_ERROR_BYTES = 10_000
"""Bytes read of the body of a refusal."""

_SHOWN = 200
"""Characters of a service's explanation in our message."""


@dataclass(frozen=True, slots=True)
class ApiService:
    """A service to call, and how its errors name the settings: `section` as in `llm.base_url`."""

    what: str
    base_url: str
    section: str
    model_setting: str
    key_variable: str


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """The limits of a call. `seconds` is for each request, `whole` for all of them and the waits between."""

    seconds: float
    whole: float | None
    retries: int
    reply_bytes: int


class RefusedRequest(ProviderFault):
    """The service answered with an error status; `body` is the beginning of its reply."""

    def __init__(self, message: str, *, hint: str, status: int, body: str, attempts: int) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.body = body
        self.attempts = attempts


@dataclass(frozen=True, slots=True)
class _HttpReply:
    status: int
    headers: Mapping[str, str]
    content: bytes


@dataclass(frozen=True, slots=True)
class _Failed:
    """A failed attempt. `wait` is in seconds before the next one; None if another is no use."""

    fault: ProviderFault
    wait: float | None


class OpenAiApi:
    """Posts JSON to one service. Threads may share it; connections are kept open between calls."""

    def __init__(self, service: ApiService, *, key: str | None, sleep: Callable[[float], None] = time.sleep) -> None:
        if find_spec("httpx") is None:
            raise MissingExtra(service.what, "http")
        import httpx

        self._service = service
        self._base = _checked_url(service)
        key = _checked_key(key, service)
        self._redact = _redactor(key)
        self._sleep = sleep
        headers = {"Accept": "application/json", "Accept-Encoding": "identity", "Content-Type": "application/json"}
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"
        self._headers = httpx.Headers(headers)  # which do not show the key
        self._process = os.getpid()
        self._client = self._new_client()

    def _new_client(self) -> httpx.Client:
        import httpx

        try:
            client = httpx.Client(headers=self._headers, verify=_certificates())
        except (ValueError, ImportError, OSError, httpx.InvalidURL):
            raise SettingsError(
                "a proxy or a file of certificates that the environment names cannot be used",
                hint="Correct HTTP_PROXY, HTTPS_PROXY and ALL_PROXY (or name the host in NO_PROXY), and SSL_CERT_FILE.",
            ) from None
        weakref.finalize(self, _close, client, os.getpid())
        return client

    def post(self, path: str, body: Mapping[str, Any], *, limits: RequestLimits) -> tuple[dict[str, Any], int]:
        """Return the JSON object of the reply, and the number of attempts; raise `ProviderFault` otherwise."""
        # A lone surrogate cannot be encoded; every other character can.
        content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        deadline = math.inf if limits.whole is None else time.monotonic() + limits.whole
        attempt = 1
        while True:
            seconds = min(limits.seconds, deadline - time.monotonic())
            result = self._attempt(path, content, limits, seconds=seconds, attempt=attempt)
            if isinstance(result, _HttpReply):
                return self._object(result), attempt
            # Waiting past the deadline would only delay the same fault.
            if result.wait is None or attempt > limits.retries or time.monotonic() + result.wait >= deadline:
                raise result.fault
            self._sleep(result.wait)
            attempt += 1

    def _attempt(
        self, path: str, content: bytes, limits: RequestLimits, *, seconds: float, attempt: int
    ) -> _HttpReply | _Failed:
        """Return a successful reply, or why there is none."""
        import httpx

        what, check = f"{self._service.what} at {self._base}", f"Check {self._service.section}.base_url"
        backoff = min(_LONGEST_WAIT, _FIRST_WAIT * 2.0 ** (attempt - 1))
        tried = "" if attempt == 1 else f" ({attempt} attempts)"
        try:
            reply = self._fetched(path, content, seconds=seconds, most=limits.reply_bytes)
        except (TimeoutError, httpx.TimeoutException):
            message = f"{what} did not finish within {limits.seconds:.3g} s{tried}"
            return _Failed(ProviderFault(message, hint=f"{check}, or raise {self._service.section}.seconds."), backoff)
        except (httpx.HTTPError, OSError, UnicodeError) as error:  # UnicodeError: an impossible host name
            why = _cleaned(self._redact(str(error))) or type(error).__name__
            message = f"{what} cannot be reached: {why}{tried}"
            return _Failed(ProviderFault(message, hint=f"{check}, and that the server is running."), backoff)
        if len(reply.content) > limits.reply_bytes:
            message = f"{what} sent more than {limits.reply_bytes} bytes"
            return _Failed(ProviderFault(message, hint=f"{check}; it must be the API itself."), wait=None)
        if 200 <= reply.status < 300:
            return reply
        refusal = self._refusal(reply, attempt, what=what, tried=tried)
        if reply.status not in RETRIED and reply.status < 500:
            return _Failed(refusal, wait=None)
        asked = retry_after(reply.headers.get("retry-after"), now=time.time())
        return _Failed(refusal, wait=backoff if asked is None else min(asked, _LONGEST_ASKED_WAIT))

    def _fetched(self, path: str, content: bytes, *, seconds: float, most: int) -> _HttpReply:
        """Return the reply to a request; raise `TimeoutError` if both take longer than `seconds`."""
        if seconds <= 0:
            raise TimeoutError
        if self._process != os.getpid():  # after a fork: the connections are the parent's
            self._client, self._process = self._new_client(), os.getpid()
        client, url, fetched = self._client, self._base + path, Future[_HttpReply]()

        def fetch() -> None:
            try:
                fetched.set_result(_fetch(client, url, content, seconds=seconds, most=most))
            except BaseException as error:  # raised in the caller's thread
                fetched.set_exception(error)

        threading.Thread(target=fetch, name="quoth-http", daemon=True).start()
        return fetched.result(seconds)

    def _refusal(self, reply: _HttpReply, attempt: int, *, what: str, tried: str) -> RefusedRequest:
        service, status = self._service, reply.status
        body = self._redact(reply.content[:_ERROR_BYTES].decode("utf-8", "replace"))
        if status in {401, 403}:
            # Some services repeat the key, or a part of it, in their explanation.
            shown, hint = "", f"Set {service.key_variable} to a key that may use it."
            if "Authorization" not in self._headers:
                hint = f"No key was sent: set {service.key_variable}."
        elif 300 <= status < 400:
            shown = ": a redirect, which is not followed"
            hint = f"Check {service.section}.base_url; give the address that it leads to."
        else:
            shown = f": {_cleaned(self._redact(_explanation(body)))}" if body else ""
            hint = f"Check {service.section}.base_url and {service.model_setting}."
            if status == 429:
                hint = f"Wait, or check the quota of the key in {service.key_variable}."
            elif status >= 500:
                hint = f"Try again later, or check {service.section}.base_url."
        message = f"{what} answered with status {status}{shown}{tried}"
        return RefusedRequest(message, hint=hint, status=status, body=body, attempts=attempt)

    def _object(self, reply: _HttpReply) -> dict[str, Any]:
        encoding = reply.headers.get("content-encoding", "identity").lower()
        try:
            # We asked for no compression, and expanding a reply could take any amount of memory.
            found = json.loads(reply.content, parse_constant=refuse_constant) if encoding == "identity" else None
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise ProviderFault(
                f"{self._service.what} at {self._base} did not answer with a JSON object",
                hint=f"Check {self._service.section}.base_url; most end in /v1.",
            )
        return found


def retry_after(value: str | None, *, now: float) -> float | None:
    """Return the seconds to wait from a `Retry-After` header in either form; None if it is missing or unusable.

    `now` is in seconds since the epoch.
    """
    if value is None:
        return None
    try:
        seconds = float(value) if value[:1].isdigit() else parsedate_to_datetime(value).timestamp() - now
    except (ValueError, OverflowError):
        return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _checked_url(service: ApiService) -> str:
    import httpx

    try:
        url = httpx.URL(service.base_url.strip())
    except httpx.InvalidURL:
        url = httpx.URL("")
    if url.scheme not in {"http", "https"} or not url.host or url.userinfo or url.query or url.fragment:
        raise SettingsError(
            f"{service.section}.base_url is not an address of an API",
            hint="Give http:// or https://, a host and a path, such as https://api.openai.com/v1; no user, no query.",
        )
    return str(url).rstrip("/")


def _checked_key(key: str | None, service: ApiService) -> str | None:
    key = (key or "").strip()
    if not (key.isascii() and key.isprintable()):
        # Raised here, without the key: the error of the HTTP layer would show it.
        raise SettingsError(
            f"the key in {service.key_variable} holds characters that no key has",
            hint=f"Set {service.key_variable} to the key alone, on one line.",
        )
    return key or None


@cache
def _certificates() -> ssl.SSLContext:
    """Return httpx's default trust store. Cached, because reading it takes longer than many requests."""
    import httpx

    return httpx.create_ssl_context()


def _redactor(key: str | None) -> Callable[[str], str]:
    """Return a function that removes the key from a text. The closure keeps it out of tracebacks that show `vars`."""
    return (lambda text: text.replace(key, "***")) if key else (lambda text: text)


def _cleaned(text: str) -> str:
    """Return one short line that is safe to show on a terminal."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= _SHOWN else line[:_SHOWN] + "…"


def _explanation(text: str) -> str:
    """Return the message of a JSON error (`{"error": {"message": …}}` or similar), else the whole text."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    while isinstance(found, dict):
        found = found.get("error", found.get("message", found.get("detail")))
    return found if isinstance(found, str) else text


def refuse_constant(name: str) -> NoReturn:
    """Raise `ValueError`, as `parse_constant` of `json.loads`: NaN and Infinity are no JSON."""
    raise ValueError(f"{name} is not JSON")


def _fetch(client: httpx.Client, url: str, content: bytes, *, seconds: float, most: int) -> _HttpReply:
    """Return a reply without the rest of a content that is longer than `most` bytes."""
    deadline = time.monotonic() + seconds
    received = bytearray()
    with client.stream("POST", url, content=content, follow_redirects=False, timeout=seconds) as response:
        for block in response.iter_raw():
            received += block
            if len(received) > most:
                break
            if time.monotonic() > deadline:
                raise TimeoutError
        return _HttpReply(response.status_code, dict(response.headers), bytes(received))


def _close(client: httpx.Client, process: int) -> None:
    """Close the connections of this process; in a forked child they are the parent's."""
    if process == os.getpid():
        client.close()
