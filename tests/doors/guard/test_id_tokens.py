"""Tokens of an identity provider: only what it has signed, for us, and for now, opens anything."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization

from quoth.errors import SettingsError
from quoth.http.guard.api_keys import KeyScope
from quoth.http.guard.askers import Asker
from quoth.http.guard.id_tokens import IdTokens
from quoth.http.http_faults import HttpFault
from quoth.overrides import with_value
from quoth.settings import OidcSettings, Settings

from .identity_provider import AUDIENCE, Provider, providing

READ, BOTH = frozenset({KeyScope.READ}), frozenset(KeyScope)


@pytest.fixture
def provider() -> Iterator[Provider]:
    with providing() as one:
        one.new_key("first")
        yield one


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def settings(provider: Provider, **others: Any) -> OidcSettings:  # noqa: ANN401 - as the settings take them
    return OidcSettings(issuer=provider.issuer, audience=AUDIENCE, **others)


def used(
    given: OidcSettings, work: Callable[[IdTokens], Awaitable[None]], clock: Callable[[], float] | None = None
) -> None:
    async def main() -> None:
        tokens = IdTokens(given, clock=clock or Clock())
        try:
            await work(tokens)
        finally:
            tokens.close()

    asyncio.run(main())


def named(given: OidcSettings, token: str) -> Asker:
    found: list[Asker] = []

    async def work(tokens: IdTokens) -> None:
        found.append(await tokens.asker(token))

    used(given, work)
    return found[0]


def refusal(given: OidcSettings, token: str) -> HttpFault:
    with pytest.raises(HttpFault) as caught:
        named(given, token)
    return caught.value


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "EdDSA"])
def test_a_token_that_the_provider_has_signed_opens(provider: Provider, algorithm: str) -> None:
    provider.new_key("other", algorithm)
    asker = named(settings(provider), provider.token("other", groups=["Board", "legal"], name="Ada"))

    assert asker == Asker("oidc:ada", "Ada", READ, frozenset({"board", "legal"}), per_minute=None)


@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ({"exp": 1}, "expired"),
        ({"exp": None}, "missing"),
        ({"aud": "elsewhere"}, "another service"),
        ({"aud": None}, "missing"),
        ({"iss": "http://127.0.0.1/evil"}, "another provider"),
        ({"iss": None}, "missing"),
        ({"sub": None}, "missing"),
        ({"sub": ""}, "nobody"),
        ({"nbf": 2**40}, "not hold yet"),
        ({"iat": 2**40}, "not hold yet"),
    ],
)
def test_a_token_that_is_not_for_us_and_now_is_refused(provider: Provider, claims: dict[str, Any], why: str) -> None:
    fault = refusal(settings(provider), provider.token("first", **claims))

    assert (fault.status_code, fault.code) == (401, "key")
    assert why in fault.detail
    assert (fault.headers or {})["WWW-Authenticate"] == 'Bearer error="invalid_token"'


def test_clocks_may_differ_a_little(provider: Provider) -> None:
    late = provider.token("first", exp=provider.claims()["iat"] - 10)

    assert named(settings(provider), late).id == "oidc:ada"
    assert "expired" in refusal(settings(provider, skew_seconds=0.0), late).detail


def encoded(**content: Any) -> str:  # noqa: ANN401 - any JSON
    return base64.urlsafe_b64encode(json.dumps(content).encode()).rstrip(b"=").decode()


def test_nobody_signs_but_the_provider(provider: Provider) -> None:
    public = provider.public_key("first").public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    body = encoded(**provider.claims())
    none = f"{encoded(alg='none', typ='JWT', kid='first')}.{body}."
    # The public key as the secret of a hash: the old mistake of letting a token choose how it is checked.
    hashed = f"{encoded(alg='HS256', kid='first')}.{body}"
    signed = jwt.get_algorithm_by_name("HS256").sign(hashed.encode(), public)
    confused = f"{hashed}.{base64.urlsafe_b64encode(signed).rstrip(b'=').decode()}"
    own = Provider(1)
    own.new_key("first")
    own.issuer = provider.issuer
    held = provider.token("first")
    head, claims, signature = held.split(".")
    changed = f"{head}.{encoded(**provider.claims(groups=['board']))}.{signature}"
    provider.new_key("rsa", "RS256")
    crossed = f"{encoded(alg='RS256', kid='first')}.{claims}.{provider.token('rsa').split('.')[2]}"
    critical = provider.signed("first", provider.claims(), crit=["unknown"])
    torn = ("a.b.c", f"{held}x", f"{head}.{claims}.")
    for token in (none, confused, own.token("first"), changed, crossed, critical, *torn):
        fault = refusal(settings(provider), token)
        assert (fault.status_code, fault.code) == (401, "key"), token


def test_weak_keys_and_keys_of_another_use_open_nothing(provider: Provider) -> None:
    provider.new_key("weak", "RS256", bits=1_024)
    secret = base64.urlsafe_b64encode(b"s" * 32).rstrip(b"=").decode()
    provider.extra = [{"kty": "oct", "kid": "hash", "k": secret}, {"kty": "RSA", "kid": "broken"}, {"kid": 3}]
    with pytest.warns(jwt.warnings.InsecureKeyLengthWarning):
        weak = provider.token("weak")
    assert refusal(settings(provider), weak).code == "key"
    hashed = jwt.encode(provider.claims(), b"s" * 32, algorithm="HS256", headers={"kid": "hash"})
    assert refusal(settings(provider), hashed).code == "key"
    assert named(settings(provider), provider.token("first")).id == "oidc:ada"


def test_claims_become_labels_and_scopes_as_the_settings_say(provider: Provider) -> None:
    roles = provider.token("first", realm={"roles": ["cn=board", "cn=hr", "*", 7]}, scope="openid quoth:write")
    mapped = settings(provider, labels_claim="realm.roles", labels={"cn=board": "board", "cn=none": "legal"})
    plain = settings(provider, labels_claim="realm.roles")
    owner = settings(provider, labels_claim="realm.roles", labels={"cn=hr": "*"})

    assert (named(mapped, roles).labels, named(mapped, roles).scopes) == (frozenset({"board"}), BOTH)
    assert named(plain, roles).labels == frozenset({"cn=board", "cn=hr"})  # a group called * is no operator
    assert named(owner, roles).labels is None
    assert named(settings(provider, labels_claim="missing.path"), roles).labels == frozenset()
    assert named(settings(provider), provider.token("first", groups="one group")).labels == frozenset({"one group"})
    strict = settings(provider, read_scope="quoth:read")
    assert refusal(strict, provider.token("first")).code == "scope"
    assert named(strict, provider.token("first", scope=["quoth:read"])).scopes == READ


def test_a_new_key_is_fetched_when_it_is_first_used_and_a_withdrawn_one_counts_no_more(provider: Provider) -> None:
    clock = Clock()

    async def work(tokens: IdTokens) -> None:
        old = provider.token("first")
        assert (await tokens.asker(old)).id == "oidc:ada"
        assert provider.asked == 1
        provider.new_key("second")
        provider.withdraw("first")
        clock.now += 11
        assert (await tokens.asker(provider.token("second"))).id == "oidc:ada"
        assert provider.asked == 2
        with pytest.raises(HttpFault, match="does not know the key"):
            await tokens.asker(old)

    used(settings(provider), work, clock)


def test_invented_keys_do_not_make_us_ask_the_provider_for_each(provider: Provider) -> None:
    clock = Clock()
    provider.new_key("invented")
    tokens_sent = [provider.token("invented", sub=str(number)) for number in range(20)]
    provider.withdraw("invented")

    async def work(tokens: IdTokens) -> None:
        for _ in range(2):
            outcomes = await asyncio.gather(*map(tokens.asker, tokens_sent), return_exceptions=True)
            assert {type(outcome) for outcome in outcomes} == {HttpFault}
            clock.now += 11

    used(settings(provider), work, clock)
    assert provider.asked == 2


def test_a_provider_that_is_down_stops_nobody_whose_key_is_known() -> None:
    clock = Clock()
    with providing() as provider:
        provider.new_key("first")
        port = int(provider.issuer.split(":")[2].partition("/")[0])

    async def work(tokens: IdTokens) -> None:
        with pytest.raises(HttpFault) as caught:
            await tokens.asker(provider.token("first"))
        assert (caught.value.status_code, caught.value.code) == (503, "provider")
        assert int((caught.value.headers or {})["Retry-After"]) >= 1
        with providing(port, provider):
            clock.now += 11
            assert (await tokens.asker(provider.token("first"))).id == "oidc:ada"
        clock.now += 3_600
        assert (await tokens.asker(provider.token("first"))).id == "oidc:ada"
        provider.new_key("second")
        with pytest.raises(HttpFault) as caught:
            await tokens.asker(provider.token("second"))
        assert caught.value.status_code == 503
        clock.now += 90_000  # nobody can say any more whether the key was withdrawn
        with pytest.raises(HttpFault) as caught:
            await tokens.asker(provider.token("first"))
        assert caught.value.status_code == 503

    used(settings(provider), work, clock)


def test_a_provider_that_calls_itself_otherwise_is_not_believed(provider: Provider) -> None:
    provider.called = "https://other.example"

    assert refusal(settings(provider), provider.token("first")).code == "provider"


@pytest.mark.parametrize(
    "given",
    [
        OidcSettings(issuer="http://id.example", audience="quoth"),
        OidcSettings(issuer="id.example", audience="quoth"),
        OidcSettings(issuer="https://id.example"),
        OidcSettings(issuer="https://", audience="quoth"),
    ],
)
def test_settings_that_could_not_be_safe_are_refused(given: OidcSettings) -> None:
    with pytest.raises(SettingsError, match="oidc"):
        IdTokens(given)


def test_labels_of_groups_are_settings() -> None:
    changed = with_value(Settings(), "oidc.labels", {"cn=board": "board"}, source="a test")

    assert changed.oidc.labels == {"cn=board": "board"}


@pytest.mark.parametrize("odd", [{"kty": "RSA", "alg": {}}, {"kty": "EC", "crv": []}, {"kty": "EC", "crv": "P-256"}])
def test_a_key_that_makes_no_sense_is_passed_over(provider: Provider, odd: dict[str, Any]) -> None:
    provider.extra = [odd]

    assert named(settings(provider), provider.token("first")).id == "oidc:ada"
