"""Users whom a trusted proxy names in headers of its own: believed from its address alone."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Address, IPv6Network

from quoth.errors import SettingsError
from quoth.http.guard.api_keys import ALL_LABELS, KeyScope
from quoth.http.guard.askers import Asker
from quoth.http.http_faults import HttpFault
from quoth.settings import ProxySettings
from quoth.types import labels_of

_LONGEST_USER = 255


class ProxyUsers:
    """Reads the headers of a proxy. `names` are their names, which no one else may use."""

    def __init__(self, settings: ProxySettings) -> None:
        self._networks = trusted_networks(settings)
        self._user = settings.user_header.lower().encode("latin-1")
        self._labels = settings.labels_header.lower().encode("latin-1")
        self._scopes = frozenset(KeyScope) if settings.scope == KeyScope.WRITE else frozenset({KeyScope.READ})
        self.names = frozenset({self._user, self._labels})

    def asker(self, headers: Iterable[tuple[bytes, bytes]], client: str) -> Asker | None:
        """Return the user whom a proxy names; None if `client`, an address, is no proxy, or it names nobody.

        Raise `HttpFault` for a header that comes twice: the proxy has let one of a client's own through.
        """
        if not self._is_trusted(client):
            return None
        sent = [(name, _decoded(value).strip()) for name, value in headers if name in self.names]
        values = dict(sent)
        if len(values) < len(sent):
            hint = "Let the proxy set these headers, rather than add them."
            raise HttpFault(401, "key", "who asks is said twice", hint=hint, headers={"WWW-Authenticate": "Bearer"})
        user = values.get(self._user, "")
        if not user:
            return None
        if len(user) > _LONGEST_USER or not user.isprintable():
            hint = f"A user has at most {_LONGEST_USER} printable characters."
            raise HttpFault(401, "key", "the proxy names nobody", hint=hint, headers={"WWW-Authenticate": "Bearer"})
        labels = frozenset(labels_of(values.get(self._labels, "").split(","))) - {ALL_LABELS}
        return Asker(f"proxy:{user}", user, self._scopes, labels, per_minute=None)

    def _is_trusted(self, client: str) -> bool:
        try:
            address = ipaddress.ip_address(client.partition("%")[0])
        except ValueError:
            return False  # a socket that is no network, or a test
        if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
            address = address.ipv4_mapped
        return any(address in network for network in self._networks)


def _decoded(value: bytes) -> str:
    """Return a header as text. A proxy may send Latin-1: to replace its letters could make two users one."""
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("latin-1")


def trusted_networks(settings: ProxySettings) -> tuple[IPv4Network | IPv6Network, ...]:
    """Return the networks of `proxy.addresses`; raise `SettingsError` for what is none."""
    try:
        return tuple(ipaddress.ip_network(text) for text in settings.addresses.split())
    except ValueError as error:
        hint = "Give addresses or networks with blanks between them, such as 10.0.0.7 or 10.0.1.0/24."
        raise SettingsError(f"proxy.addresses: {error}", hint=hint) from error
