"""Sentences for people that can be said in other languages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self


class Remark(str):
    """A sentence for people. It is its English text, and keeps what `output/messages.py` needs for another language.

    `template` is the English text with named fields, as `str.format` takes them, `values` what stands in these. A value
    is a text, a number, another remark, or a tuple of those, which becomes `a, b, c`.
    """

    __slots__ = ("template", "values")
    template: str
    values: Mapping[str, object]

    def __new__(cls, template: str, /, **values: object) -> Self:
        text = super().__new__(cls, template.format_map({name: _shown(value) for name, value in values.items()}))
        text.template, text.values = template, values
        return text

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, object]]:
        return (self.template,), dict(self.values)


def _shown(value: object) -> object:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else value


def term(name: str) -> Remark:
    """Return a name that languages may have a word for, such as `binding`."""
    return Remark(name.replace("{", "{{").replace("}", "}}"))


def all_of(items: Sequence[str]) -> str:
    """Return a list for people, of one item at least: `a, b and c`."""
    *most, last = items
    return Remark("{items} and {last}", items=tuple(most), last=last) if most else last


def any_of(items: Sequence[str]) -> str:
    """Return a list for people, of one item at least: `a, b or c`."""
    *most, last = items
    return Remark("{items} or {last}", items=tuple(most), last=last) if most else last
