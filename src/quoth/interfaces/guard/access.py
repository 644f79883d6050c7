"""Who may listen where: a service without keys stays on this machine."""

from __future__ import annotations

import ipaddress
from pathlib import Path

from quoth.errors import SettingsError
from quoth.interfaces.guard.keys import KeyFile
from quoth.settings import ServiceSettings


def keys_path(settings: ServiceSettings) -> Path:
    """Where the keys are: in the state of the service, unless they have a place of their own."""
    return Path(settings.keys or Path(settings.state, "keys.json")).expanduser()


def rates_path(settings: ServiceSettings) -> Path:
    """Where the limits of the keys are counted, for all processes that have the same state."""
    return Path(settings.state, "rates.db").expanduser()


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def check_access(keys: Path, *, host: str, auth: bool) -> None:
    """`SettingsError` where everybody could get in, or nobody."""
    if not auth:
        if not is_loopback(host):
            raise SettingsError(
                f"without keys the service would answer anyone who can reach {host}",
                hint="Leave out --no-auth and make a key (quoth keys add NAME), or leave out --host.",
            )
        return
    if not any(key.revoked is None for key in KeyFile(keys).all()):
        raise SettingsError(
            f"there is no key in {keys}, so that nobody could ask",
            hint="Make one: quoth keys add NAME. On this machine alone: --no-auth.",
        )
