"""Who sent a request: the holder of a key, of a token of an identity provider, or a user whom a trusted proxy names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quoth.http.guard.api_keys import ApiKey, KeyScope
from quoth.http.http_faults import HttpFault
from quoth.library import Quoth
from quoth.types import EVERYTHING, Access


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks, what they may do, and which documents they may see.

    `id` is that of a key, or the user with a word before it (`oidc:…`, `proxy:…`); "" where nobody is asked who they
    are. `labels` None sees every document. A `per_minute` of None means the service's limit.
    """

    id: str
    name: str
    scopes: frozenset[KeyScope]
    labels: frozenset[str] | None
    per_minute: int | None

    def access_to(self, index: Quoth) -> Access:
        """Return the documents of an index that this asker may see; `access.default` decides on unlabelled ones."""
        if self == NOBODY:
            return NOTHING
        return EVERYTHING if self.labels is None else index.holder_of(self.labels)

    def owns(self, owner: str | None) -> bool:
        """Return whether it may have what `owner` started.

        A job without an owner was started without keys or by an earlier version, and may concern any document.
        """
        if self.id and owner:
            return owner == self.id
        return self.labels is None


NOTHING = Access(frozenset(), unlabelled=False)
ANYBODY = Asker("", "", frozenset(KeyScope), None, per_minute=0)
"""The asker of a service without keys: the person at its machine, who sees every document."""
NOBODY = Asker("", "", frozenset(), frozenset(), per_minute=None)
"""The asker on paths that need no key, such as `/healthz`; they see no document."""


def asker_with(key: ApiKey) -> Asker:
    return Asker(key.id, key.name, key.scopes, key.labels, key.per_minute)


def asker_in(scope: Mapping[str, Any]) -> Asker:
    """Return who sent the request of an ASGI scope that a gate has let through."""
    asker: Asker = scope.get("state", {}).get("asker") or NOBODY
    return asker


def includes(wide: Access, narrow: Access) -> bool:
    """Return whether `wide` sees every document that `narrow` sees."""
    if wide.labels is None:
        return True
    return narrow.labels is not None and narrow.labels <= wide.labels and wide.unlabelled >= narrow.unlabelled


def check_scope(asker: Asker, scope: KeyScope) -> None:
    """Raise `HttpFault` if the asker lacks a scope."""
    if scope not in asker.scopes:
        hint = f"Use a key with the scope '{scope}': quoth keys add NAME --scope {scope}."
        may = " and ".join(sorted(asker.scopes)) or "do nothing here"
        raise HttpFault(403, "scope", f"this key may only {may}", hint=hint)
