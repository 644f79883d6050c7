"""How a language writes sentences, numbers and dates: data from `languages/*.yaml`, one file for each language."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files

import msgspec

from quoth.language.words import (
    BEFORE_A_NUMBER,
    MAY_BE_LAST,
    MONTHS,
    NEVER_LAST,
    SENTENCE_STARTERS,
)
from quoth.types import primary_language


class _Data(msgspec.Struct, forbid_unknown_fields=True):
    """A file of a language. `_` stands for a blank inside a name.

    The first three lists hold abbreviations without their final period, as `word_lists.yaml` does for English;
    `starters` are function words that open a sentence. `months` are twelve lists of names. `sections` are words that a
    section's number follows, `between` those between the ends of a range, `continuing` those that a sentence goes on
    with behind a blank, `units` the names of units of `quantities`.
    """

    names: str = ""
    never_last: str = ""
    before_a_number: str = ""
    may_be_last: str = ""
    starters: str = ""
    months: tuple[str, ...] = ()
    sections: str = ""
    between: str = ""
    continuing: str = ""
    units: dict[str, str] = {}
    quotes: str = "“” «» 「」 『』 （）"
    terminators: str = ""
    decimal: str = "."
    ordinals: bool = False
    capital_nouns: bool = False
    long_endings: bool = False
    solid: bool = False
    spaced_sentences: bool = False


@dataclass(frozen=True)  # without slots, for what is worked out when it is first asked for
class Conventions:
    """The conventions of one language. `code` is None for a language without a file.

    `ordinals`: a period makes a number an ordinal (`3. Oktober`). `capital_nouns`: a capital is no sign of a name.
    `long_endings`: words take several endings, one behind the other.
    `solid`: no blanks between words. `spaced_sentences`: a blank, and no mark, ends a sentence. `terminators` are marks
    that end one beside those that every language shares.
    """

    code: str | None
    never_last: frozenset[str]
    before_a_number: frozenset[str]
    may_be_last: frozenset[str]
    starters: frozenset[str]
    months: tuple[tuple[str, ...], ...]
    sections: tuple[str, ...]
    between: tuple[str, ...]
    continuing: tuple[str, ...]
    units: Mapping[str, str]
    """The names of units, each with the name that `quantities` knows."""
    quotes: tuple[str, ...]
    terminators: str
    decimal: str
    ordinals: bool
    capital_nouns: bool
    long_endings: bool
    solid: bool
    spaced_sentences: bool

    @property
    def english(self) -> bool:
        return self.code == "en"

    @cached_property
    def starters_in_order(self) -> tuple[str, ...]:
        return tuple(sorted(self.starters))

    @cached_property
    def month_names(self) -> frozenset[str]:
        return frozenset(name for names in self.months for name in names)

    @cached_property
    def abbreviations(self) -> frozenset[str]:
        return self.never_last | self.before_a_number | self.may_be_last


ENGLISH = Conventions(
    code="en",
    never_last=NEVER_LAST,
    before_a_number=BEFORE_A_NUMBER,
    may_be_last=MAY_BE_LAST,
    starters=SENTENCE_STARTERS,
    months=tuple((name,) for name in sorted(MONTHS)),
    sections=(),
    between=("to", "and"),
    continuing=(),
    units={},
    quotes=("“”", "«»", "「」", "『』", "（）"),
    terminators="",
    decimal=".",
    ordinals=False,
    capital_nouns=False,
    long_endings=False,
    solid=False,
    spaced_sentences=False,
)
"""What a document in English follows, and one whose language is unknown."""


def conventions(tag: str | None) -> Conventions:
    """Return the conventions of a language by its tag; of English where the language is unknown."""
    code = primary_language(tag)
    return ENGLISH if code is None or code == "en" else _conventions(code)


@cache
def _conventions(code: str) -> Conventions:
    every, own = _read("any"), _read(code) or _Data()
    assert every is not None  # noqa: S101 - a file of the package

    def words(name: str) -> frozenset[str]:
        return frozenset(f"{getattr(every, name)} {getattr(own, name)}".split())

    return Conventions(
        code=code,
        never_last=words("never_last") - words("may_be_last"),
        before_a_number=words("before_a_number"),
        may_be_last=words("may_be_last"),
        starters=words("starters"),
        months=tuple(_names(month) for month in own.months),
        sections=_names(own.sections),
        between=_names(own.between),
        continuing=_names(own.continuing),
        units={name: unit for unit, names in own.units.items() for name in _names(names)},
        quotes=_names(own.quotes),
        terminators=own.terminators,
        decimal=own.decimal,
        ordinals=own.ordinals,
        capital_nouns=own.capital_nouns,
        long_endings=own.long_endings,
        solid=own.solid,
        spaced_sentences=own.spaced_sentences,
    )


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.replace("_", " ") for name in text.split())


def _read(code: str) -> _Data | None:
    file = files("quoth.language").joinpath("languages", f"{code}.yaml")
    return msgspec.yaml.decode(file.read_bytes(), type=_Data) if file.is_file() else None


@cache
def codes() -> tuple[str, ...]:
    """Return the codes of the languages that have a file of their own, sorted."""
    entries = files("quoth.language").joinpath("languages").iterdir()
    found = (re.fullmatch(r"([a-z]{2,3})\.yaml", entry.name) for entry in entries)
    return tuple(sorted(match[1] for match in found if match and match[1] != "any"))
