"""The language that Quoth speaks with the person at this terminal."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextvars import ContextVar

from quoth.errors import SettingsError
from quoth.output.messages import ENGLISH, Messages, languages, spoken

_MESSAGES: ContextVar[Messages] = ContextVar("messages")


def language_of(environment: Mapping[str, str]) -> str:
    """Return the language of a locale; English for one without a catalogue, such as `C`."""
    named = (environment.get(name) for name in ("LC_ALL", "LC_MESSAGES", "LANG"))
    return spoken(next(filter(None, named), "")) or ENGLISH


def speak(wanted: str | None) -> None:
    """Speak this language from now on, that of the locale if None. Raise `SettingsError` when it has no catalogue."""
    language = spoken(wanted) if wanted else language_of(os.environ)
    if language is None:
        raise SettingsError(f"Quoth does not speak '{wanted}'", hint=f"Use one of {', '.join(languages())}.")
    _MESSAGES.set(Messages(language))


def _messages() -> Messages:
    return _MESSAGES.get(None) or Messages(ENGLISH)


def tr(template: str, /, **values: object) -> str:
    """Return a message in the user's language, with values in its fields."""
    return _messages()(template, **values)


def counted(number: int, one: str, other: str, /, **values: object) -> str:
    """Return the message for `number`, which its field `{count}` shows."""
    return _messages().counted(number, one, other, **values)


def said(text: str) -> str:
    """Return a remark in the user's language; a plain text as it is."""
    return _messages().said(text)
