"""Bearer tokens of an OpenID Connect provider: signed statements about who asks, checked with the provider's keys."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from importlib.util import find_spec
from typing import Any
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from quoth.errors import MissingExtra, SettingsError
from quoth.http.guard.api_keys import ALL_LABELS, KeyScope, is_loopback
from quoth.http.guard.askers import Asker
from quoth.http.http_faults import HttpFault
from quoth.settings import OidcSettings
from quoth.types import labels_of

_KINDS = {("RSA", None): "RS256", ("EC", "P-256"): "ES256", ("OKP", "Ed25519"): "EdDSA"}
"""The kinds of keys that count, and the one algorithm of each: a token never chooses how it is checked."""
_LEAST_RSA_BITS = 2_048
_FRESH_SECONDS = 600.0
"""After how long the keys are fetched again; a key that the provider has withdrawn counts no longer."""
_STALE_SECONDS = 86_400.0
"""How long the last keys count while the provider does not answer."""
_PAUSE_SECONDS = 10.0
"""Between two fetches: tokens with invented keys must not make us ask the provider for each of them."""
_FETCH_SECONDS = 5.0
_WAIT_SECONDS = 8.0
_MOST_BYTES = 2**20
_MOST_KEYS = 100
_LONGEST_SUBJECT = 255

_log = logging.getLogger(__name__)
_Keys = Mapping[str, tuple[str, Any]]
"""Algorithm and key, by key id."""


class IdTokens:
    """Checks the tokens of one provider, for one event loop. `pause_seconds` is the least time between two fetches."""

    def __init__(
        self,
        settings: OidcSettings,
        *,
        clock: Callable[[], float] = time.monotonic,
        pause_seconds: float = _PAUSE_SECONDS,
    ) -> None:
        check_oidc(settings)
        self._settings = settings
        self._clock = clock
        self._pause_seconds = pause_seconds
        self._keys: _Keys = {}
        self._fetched_at: float | None = None
        self._tried_at: float | None = None
        self._failed = False
        self._fetching: asyncio.Future[None] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="provider")

    async def asker(self, token: str) -> Asker:
        """Return who a token names; raise `HttpFault` if it does not hold here and now."""
        import jwt

        try:
            header = jwt.get_unverified_header(token)
        except jwt.PyJWTError as error:
            raise _refused("it cannot be read") from error
        key_id, algorithm = header.get("kid", ""), header.get("alg")
        if algorithm not in _KINDS.values() or not isinstance(key_id, str) or "crit" in header:
            raise _refused("it is not signed in a way that is taken here")
        made_for, key = await self._key(key_id)
        if made_for != algorithm:
            raise _refused("it is not signed in the way of its key")
        try:
            claims = jwt.decode(
                token,
                key,
                algorithms=[made_for],
                audience=self._settings.audience,
                issuer=self._settings.issuer,
                leeway=self._settings.skew_seconds,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except jwt.PyJWTError as error:
            raise _refused(_why(error)) from error
        return self._named(claims)

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _named(self, claims: Mapping[str, Any]) -> Asker:
        given, subject = self._settings, claims["sub"]
        if not isinstance(subject, str) or not 1 <= len(subject) <= _LONGEST_SUBJECT:
            raise _refused("it names nobody")
        scopes = _texts(_claim(claims, given.scope_claim), split=True)
        if given.read_scope is not None and not {given.read_scope, given.write_scope} & scopes:
            raise HttpFault(403, "scope", "this token may not read here", hint="Ask for one with the scope to read.")
        may = frozenset(KeyScope) if given.write_scope in scopes else frozenset({KeyScope.READ})
        held = _texts(_claim(claims, given.labels_claim), split=False)
        # A group that happens to be called `*` must not open everything: only the operator may grant that.
        labels = {given.labels[value] for value in held & given.labels.keys()} if given.labels else held - {ALL_LABELS}
        name = claims.get("name") or claims.get("preferred_username") or subject
        sees = None if ALL_LABELS in labels else frozenset(labels_of(labels))
        return Asker(f"oidc:{subject}", str(name)[:_LONGEST_SUBJECT], may, sees, per_minute=None)

    async def _key(self, key_id: str) -> tuple[str, Any]:
        """Return algorithm and key; raise `HttpFault` if the provider has no such key, or cannot be asked."""
        age = None if self._fetched_at is None else self._clock() - self._fetched_at
        if key_id in self._keys and age is not None and age <= _STALE_SECONDS:
            if age > _FRESH_SECONDS:
                self._fetch()  # nobody has to wait for it
            return self._keys[key_id]
        if (fetching := self._fetch()) is not None:
            await asyncio.wait({fetching}, timeout=_WAIT_SECONDS)
        known = self._keys.get(key_id)
        if known is not None and self._fetched_at is not None and self._clock() - self._fetched_at <= _STALE_SECONDS:
            return known
        if self._failed or self._fetched_at is None:
            hint, headers = "Try again in a while.", {"Retry-After": str(max(1, round(self._pause_seconds)))}
            raise HttpFault(503, "provider", "who you are cannot be checked now", hint=hint, headers=headers)
        raise _refused("the provider does not know the key that it is signed with")

    def _fetch(self) -> asyncio.Future[None] | None:
        """Fetch the keys in a thread, at most one fetch at a time; None if the last was a moment ago."""
        if self._fetching is not None and not self._fetching.done():
            return self._fetching
        if self._tried_at is not None and self._clock() - self._tried_at < self._pause_seconds:
            return None
        self._tried_at = self._clock()
        self._fetching = asyncio.ensure_future(self._take_keys())
        return self._fetching

    async def _take_keys(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            self._keys = await loop.run_in_executor(self._thread, fetch_keys, str(self._settings.issuer))
        except (OSError, ValueError, RecursionError, HTTPException) as error:
            self._failed = True
            _log.warning("the keys of %s cannot be fetched: %s", self._settings.issuer, error)
        else:
            self._failed = False
            self._fetched_at = self._clock()


def check_oidc(settings: OidcSettings) -> None:
    """Raise if tokens could not be checked with these settings."""
    if find_spec("jwt") is None or find_spec("cryptography") is None:
        raise MissingExtra("checking tokens of an identity provider", "oidc")
    if not _is_safe(str(settings.issuer)):
        hint = "Give its https address, exactly as its tokens name it."
        raise SettingsError(f"oidc.issuer: '{settings.issuer}' is no address of an identity provider", hint=hint)
    if not settings.audience:
        hint = "Give the name of this service at the provider: tokens for other services must not open it."
        raise SettingsError("oidc.audience is not set", hint=hint)


def fetch_keys(issuer: str) -> _Keys:
    """Return the provider's keys for signatures; raise `OSError` or `ValueError` if it gives none."""
    described = _fetched(issuer.rstrip("/") + "/.well-known/openid-configuration")
    if described.get("issuer") != issuer:
        raise ValueError(f"it calls itself {described.get('issuer')!r}")
    address = described.get("jwks_uri")
    if not isinstance(address, str) or not _is_safe(address):
        raise ValueError("it names no safe address of keys")
    listed = _fetched(address).get("keys")
    if not isinstance(listed, list):
        raise ValueError("it gives no list of keys")
    keys = dict(filter(None, map(_signing_key, listed[:_MOST_KEYS])))
    if not keys:
        raise ValueError("it gives no key that can be used")
    return keys


def _signing_key(given: object) -> tuple[str, tuple[str, Any]] | None:
    """Return id, algorithm and key; None for a key of another use, or one that is too weak."""
    import jwt

    if not isinstance(given, dict) or given.get("use", "sig") != "sig" or not isinstance(given.get("kid", ""), str):
        return None
    try:
        algorithm = _KINDS.get((str(given.get("kty")), given.get("crv")))
        if algorithm is None or given.get("alg", algorithm) not in {algorithm, given.get("crv")}:
            return None
        key = jwt.PyJWK(given, algorithm=algorithm).key
    except (jwt.PyJWTError, ValueError, TypeError):
        return None
    if algorithm == "RS256" and key.key_size < _LEAST_RSA_BITS:
        return None
    return given.get("kid", ""), (algorithm, key)


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:  # noqa: ANN401 - as its parent takes them
        """Follow nothing: the address of the keys is part of what we trust."""


def _fetched(address: str) -> dict[str, Any]:
    """Return the JSON object at an address."""
    direct = [ProxyHandler({})] if is_loopback(urlsplit(address).hostname or "") else []
    opener = build_opener(_NoRedirects, *direct)
    wanted = Request(address, headers={"Accept": "application/json"})  # noqa: S310 - checked by `_is_safe`
    try:
        with opener.open(wanted, timeout=_FETCH_SECONDS) as response:
            content = response.read(_MOST_BYTES + 1)
    except URLError as error:
        raise OSError(str(error)) from error
    if len(content) > _MOST_BYTES:
        raise ValueError(f"{address} is too large")
    found = json.loads(content)
    if not isinstance(found, dict):
        raise ValueError(f"{address} is no JSON object")
    return found


def _is_safe(address: str) -> bool:
    """Return whether an address is encrypted or on this machine, so that its content cannot be changed in transit."""
    try:
        parts = urlsplit(address)
        host = parts.hostname or ""
    except ValueError:
        return False
    return bool(host) and (parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host)))


def _claim(claims: Mapping[str, Any], name: str) -> object:
    """Return a claim by its name, or by a path of names with dots between them."""
    if name in claims:
        return claims[name]
    found: Any = claims
    for part in name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def _texts(value: object, *, split: bool) -> set[str]:
    """Return the texts of a claim; with `split`, one text holds several between blanks."""
    if isinstance(value, str):
        return set(value.split()) if split else {value} - {""}
    return {text for text in value if isinstance(text, str) and text} if isinstance(value, list) else set()


def _why(error: Exception) -> str:
    words = {
        "ExpiredSignatureError": "it has expired",
        "ImmatureSignatureError": "it does not hold yet",
        "InvalidAudienceError": "it is for another service",
        "InvalidIssuerError": "it is of another provider",
        "MissingRequiredClaimError": "something is missing in it",
    }
    return words.get(type(error).__name__, "its signature does not hold")


def _refused(why: str) -> HttpFault:
    headers = {"WWW-Authenticate": 'Bearer error="invalid_token"'}
    return HttpFault(401, "key", f"this token does not open the service: {why}", hint="Sign in again.", headers=headers)
