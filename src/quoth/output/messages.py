"""What Quoth says to people, in their language. English is the language of the code; the others are in catalogues.

`quoth/messages/LANGUAGE.json` says how a language writes numbers, and holds its text for each message, under the
English one; a message with a number has a text for one and one for other numbers. The page reads the same files.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from string import Formatter
from typing import Any

import msgspec

from quoth.types import Remark

ENGLISH = "en"
_CATALOGUES = files("quoth").joinpath("messages")


class Forms(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The texts of a message with a number."""

    one: str
    other: str


class Writing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a language writes numbers. `one` are those that take the form for one; `{}` stands for the number."""

    name: str
    one: tuple[int, ...]
    decimal: str
    group: str
    percent: str


class Catalogue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    language: Writing
    messages: dict[str, str | Forms]


@cache
def languages() -> tuple[str, ...]:
    """Return the codes of the languages, in alphabetical order."""
    names = (file.name for file in _CATALOGUES.iterdir())
    return tuple(sorted(name.removesuffix(".json") for name in names if name.endswith(".json")))


@cache
def catalogue(language: str) -> Catalogue:
    return msgspec.json.decode(_CATALOGUES.joinpath(f"{language}.json").read_bytes(), type=Catalogue)


def spoken(wanted: str) -> str | None:
    """Return the language of a tag or a locale, `de-AT` or `de_AT.UTF-8`; None for one without a catalogue."""
    code = wanted.strip().replace("_", "-").partition("-")[0].partition(".")[0].lower()
    return code if code in languages() else None


class Messages(Formatter):
    """Says messages and remarks in one language. What it has no text for stays English."""

    def __init__(self, language: str) -> None:
        self.language = language
        self._writing = catalogue(language).language
        self._texts = catalogue(language).messages

    def __call__(self, template: str, /, **values: object) -> str:
        """Return a message, with values in its fields."""
        return self.vformat(self._text(template), (), values)

    def counted(self, number: int, one: str, other: str, /, **values: object) -> str:
        """Return the message for `number`, which its field `{count}` shows."""
        forms = self._texts.get(other, Forms(one, other))
        text = forms if isinstance(forms, str) else forms.one if number in self._writing.one else forms.other
        return self.vformat(text, (), {"count": number, **values})

    def said(self, text: str) -> str:
        """Return a remark in this language; a plain text as it is."""
        if not isinstance(text, Remark) or self.language == ENGLISH:
            return str(text)
        return self.vformat(self._text(text.template), (), text.values)

    def _text(self, template: str) -> str:
        text = self._texts.get(template, template)
        return text if isinstance(text, str) else text.other

    def vformat(self, format_string: str, args: Any, kwargs: Mapping[str, object]) -> str:  # noqa: ANN401 - as inherited
        return super().vformat(format_string, args, {name: self._value(value) for name, value in kwargs.items()})

    def _value(self, value: object) -> object:
        match value:
            case tuple():
                return ", ".join(str(self._value(item)) for item in value)
            case str():
                return self.said(value)
        return value

    def format_field(self, value: Any, format_spec: str) -> str:  # noqa: ANN401 - as inherited
        """Write numbers as the language does; English specifications of the format hold for all."""
        if not isinstance(value, int | float):
            return str(super().format_field(value, format_spec))
        spec = "," if isinstance(value, int) and not format_spec else format_spec
        number = format(value, spec).translate({ord(","): self._writing.group, ord("."): self._writing.decimal})
        return self._writing.percent.format(number[:-1]) if number.endswith("%") else number
