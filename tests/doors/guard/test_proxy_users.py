"""Users named by a proxy: believed from its address, and from nowhere else."""

from __future__ import annotations

import pytest

from quoth.errors import SettingsError
from quoth.http.guard.api_keys import KeyScope
from quoth.http.guard.askers import Asker
from quoth.http.guard.proxy_users import ProxyUsers
from quoth.http.http_faults import HttpFault
from quoth.settings import ProxySettings

PROXY = ProxySettings(addresses="10.0.0.7 10.1.0.0/16 fd00::/8")
ADA = [(b"x-forwarded-user", b"ada"), (b"x-forwarded-groups", b"Board, legal,,*")]


@pytest.mark.parametrize("client", ["10.0.0.7", "10.1.200.3", "::ffff:10.0.0.7", "fd00::1", "fd00::1%eth0"])
def test_a_proxy_says_who_asks_and_what_they_may_see(client: str) -> None:
    asker = ProxyUsers(PROXY).asker(ADA, client)

    assert asker == Asker(
        "proxy:ada", "ada", frozenset({KeyScope.READ}), frozenset({"board", "legal"}), per_minute=None
    )


@pytest.mark.parametrize("client", ["10.0.0.8", "127.0.0.1", "::1", "::ffff:10.0.0.8", "", "testclient"])
def test_nobody_else_is_believed(client: str) -> None:
    assert ProxyUsers(PROXY).asker(ADA, client) is None


def test_a_proxy_that_names_nobody_lets_keys_count() -> None:
    assert ProxyUsers(PROXY).asker([(b"x-forwarded-groups", b"board")], "10.0.0.7") is None
    assert ProxyUsers(PROXY).asker([(b"x-forwarded-user", b" ")], "10.0.0.7") is None


@pytest.mark.parametrize("again", [(b"x-forwarded-user", b"eve"), (b"x-forwarded-groups", b"hr")])
def test_a_header_that_comes_twice_is_refused(again: tuple[bytes, bytes]) -> None:
    with pytest.raises(HttpFault, match="twice") as caught:
        ProxyUsers(PROXY).asker([*ADA, again], "10.0.0.7")
    assert caught.value.status_code == 401


def test_names_that_are_none_are_refused() -> None:
    for user in (b"a\xc2\x85b", b"x" * 256):
        with pytest.raises(HttpFault, match="nobody"):
            ProxyUsers(PROXY).asker([(b"x-forwarded-user", user)], "10.0.0.7")


def test_the_headers_and_what_users_may_do_are_settings() -> None:
    given = ProxySettings(addresses="10.0.0.7", user_header="Remote-User", labels_header="Remote-Groups", scope="write")
    asker = ProxyUsers(given).asker([(b"remote-user", "Zoë".encode()), (b"remote-groups", b"hr")], "10.0.0.7")

    assert asker == Asker("proxy:Zoë", "Zoë", frozenset(KeyScope), frozenset({"hr"}), per_minute=None)


@pytest.mark.parametrize("addresses", ["proxy.example", "10.0.0.0/33", "10.0.0.7, 10.0.0.8", "10.0.0.7/8"])
def test_addresses_that_are_none_are_refused(addresses: str) -> None:
    with pytest.raises(SettingsError, match=r"proxy\.addresses"):
        ProxyUsers(ProxySettings(addresses=addresses))


def test_names_in_latin_1_stay_apart() -> None:
    users = ("Zoë", "Zoé")
    askers = [ProxyUsers(PROXY).asker([(b"x-forwarded-user", user.encode("latin-1"))], "10.0.0.7") for user in users]

    assert [asker.id for asker in askers if asker] == [f"proxy:{user}" for user in users]
