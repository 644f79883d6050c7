"""Profiles: the knowledge about a domain, in YAML files of the package (`profiles/`) or of the user."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from quoth.errors import SettingsError
from quoth.language.words import Compounds
from quoth.overrides import parse_yaml


@dataclass(frozen=True, slots=True)
class TagWords:
    """The words for a value in another language, found in all forms. The first of `synonyms` is its name there."""

    language: str
    synonyms: tuple[str, ...]
    keywords: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TagValue:
    """A value of a facet. `synonyms` are searched for as well; `keywords` only tag sentences.

    `elsewhere` are its words in other languages.
    """

    name: str
    synonyms: tuple[str, ...]
    keywords: tuple[str, ...]
    elsewhere: tuple[TagWords, ...] = ()

    def name_in(self, language: str) -> str:
        """Return what people call it in a language."""
        names = (words.synonyms[0] for words in self.elsewhere if words.language == language and words.synonyms)
        return next(names, self.name)

    def words(self, language: str | None = None) -> tuple[str, ...]:
        """Return its words in every language, its name in this one first, without those that take any ending."""
        others = (word for words in self.elsewhere for word in (*words.synonyms, *words.keywords))
        known = (self.name, *self.synonyms, *self.keywords, *(word for word in others if not word.endswith("*")))
        return tuple(dict.fromkeys((self.name_in(language), *known))) if language else known


@dataclass(frozen=True, slots=True)
class Facet:
    """A kind of tag, such as `crop`. `default` is the value of a sentence without a match.

    A question that names a value of a `presumed` facet takes for granted that the corpus covers it. `others` are names
    of the same kind without a tag. A list of values before a `combined_by` word names a single thing. `names` are its
    own name in other languages, by language.
    """

    name: str
    default: str
    values: tuple[TagValue, ...]
    presumed: bool
    others: tuple[str, ...]
    combined_by: tuple[re.Pattern[str], ...]
    others_elsewhere: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """`others` in other languages, by language."""
    names: tuple[tuple[str, str], ...] = ()

    @property
    def languages(self) -> frozenset[str]:
        """The other languages that it has words in."""
        return frozenset(words.language for value in self.values for words in value.elsewhere)


def names_in(facets: Sequence[Facet], language: str) -> dict[str, str]:
    """Return what people call the facets and their values in a language, by their names; only those with a word."""
    names = {facet.name: name for facet in facets for spoken, name in facet.names if spoken == language}
    values = {value.name: value.name_in(language) for facet in facets for value in facet.values}
    return names | {name: called for name, called in values.items() if called != name}


@dataclass(frozen=True, slots=True)
class DocumentType:
    """A type of document with its `authority` (`binding`, ...); `factor` multiplies the order score of its documents.

    A question that matches an `asked_by` pattern asks for this type; a `hinted_by` pattern only hints at it. A document
    whose title matches a `titled_by` pattern is of this type, if nothing else says of which it is.
    """

    name: str
    authority: str
    factor: float
    asked_by: tuple[re.Pattern[str], ...]
    hinted_by: tuple[re.Pattern[str], ...]
    titled_by: tuple[re.Pattern[str], ...]


@dataclass(frozen=True, slots=True)
class Authority:
    """Factors on the order score of sentences from binding and superseded documents; 1.0 changes nothing."""

    binding_factor: float
    superseded_factor: float
    cap: float


@dataclass(frozen=True, slots=True)
class Profile:
    name: str
    description: str
    facets: tuple[Facet, ...]
    document_types: Mapping[str, DocumentType]
    authority: Authority | None
    synonyms: tuple[tuple[str, ...], ...]
    """Groups of words with the same meaning, besides the synonyms of tags."""
    compounds: Compounds
    """Words that documents also write as a single word: `set back`, `setback`."""
    settings: Mapping[str, Any]
    source: str
    """The YAML of the profile. An index stores it, so that later questions use the same profile."""


DEFAULT_PROFILE = "general"
_KEYS = {"name", "description", "settings", "tags", "document_types", "authority", "synonyms", "compounds", "languages"}
_SHIPPED = files("quoth.domain").joinpath("profiles")
_HINT = "See docs/profiles.md for what a profile may hold."


def profile_names() -> tuple[str, ...]:
    """Return the names of the profiles that ship, in alphabetical order."""
    names = (file.name for file in _SHIPPED.iterdir())
    return tuple(sorted(name.removesuffix(".yaml") for name in names if name.endswith(".yaml")))


def load_profile(name_or_path: str) -> Profile:
    """Return a shipped profile by name, or the profile in a YAML file. Raise `SettingsError` when there is none."""
    if name_or_path in profile_names():
        source = _SHIPPED.joinpath(f"{name_or_path}.yaml").read_text(encoding="utf-8")
    else:
        try:
            source = Path(name_or_path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(
                f"there is no profile '{name_or_path}'",
                hint=f"Use one of {', '.join(profile_names())}, or the path of a YAML file.",
            ) from error
    return parse_profile(source)


@lru_cache(maxsize=8)
def parse_profile(source: str) -> Profile:
    """Return the profile in a YAML text. Raise `SettingsError` when it is malformed."""
    content = parse_yaml(source, what="the profile", hint=_HINT)
    if not isinstance(content, dict) or not isinstance(content.get("name"), str):
        raise SettingsError("a profile must be a mapping with a 'name'", hint=_HINT)
    if unknown := sorted(map(str, set(content) - _KEYS)):
        raise SettingsError(f"profile '{content['name']}': unknown keys {', '.join(unknown)}", hint=_HINT)
    try:
        return _profile(content, source)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise SettingsError(f"profile '{content['name']}' is malformed: {error!r}", hint=_HINT) from error


def _profile(content: Mapping[str, Any], source: str) -> Profile:
    types = content.get("document_types") or {}
    authority = content.get("authority")
    settings = content.get("settings") or {}
    if not isinstance(settings, dict):
        raise TypeError(f"settings are a mapping, not {settings!r}")
    return Profile(
        name=content["name"],
        description=content.get("description", ""),
        facets=_facets(content),
        document_types={_name(name): _document_type(name, content) for name, content in types.items()},
        authority=Authority(**{key: _factor(value) for key, value in authority.items()}) if authority else None,
        synonyms=tuple(map(_words, content.get("synonyms") or ())),
        compounds=tuple(_compound(words, joined) for words, joined in (content.get("compounds") or {}).items()),
        settings=settings,
        source=source,
    )


def _document_type(name: str, content: Mapping[str, Any]) -> DocumentType:
    key_path, keys = f"document_types.{name}", ("asked_by", "hinted_by", "titled_by")
    _check_keys(content, {"authority", "factor", *keys}, key_path=key_path)
    patterns = (_patterns(content, key, key_path=key_path) for key in keys)
    return DocumentType(name, _name(content["authority"]), _factor(content.get("factor", 1.0)), *patterns)


def _patterns(content: Mapping[str, Any], key: str, *, key_path: str) -> tuple[re.Pattern[str], ...]:
    """Return patterns that match whole words of a folded text."""
    patterns = []
    for source in _words(content.get(key)):
        try:
            patterns.append(re.compile(rf"(?<!\w)(?:{source})(?!\w)"))
        except (re.error, OverflowError, RecursionError) as error:
            raise ValueError(f"{key_path}.{key}: {source!r} is no pattern: {error}") from error
    return tuple(patterns)


def _compound(words: object, joined: object) -> tuple[str, str]:
    if len(_name(joined)) > len(_name(words)):
        raise ValueError(f"compounds: {joined!r} is longer than {words!r}")
    return _name(words), _name(joined)


def _facets(content: Mapping[str, Any]) -> tuple[Facet, ...]:
    """Return the facets, with their words in other languages."""
    facets = {_name(name): _facet(_name(name), facet) for name, facet in (content.get("tags") or {}).items()}
    for language, tags in (content.get("languages") or {}).items():
        _check_keys(tags, set(facets), key_path=f"languages.{language}")
        for name, words in tags.items():
            facets[name] = _with_words(facets[name], _name(language), words, key_path=f"languages.{language}.{name}")
    return tuple(facets.values())


def _with_words(facet: Facet, language: str, content: Mapping[str, Any], *, key_path: str) -> Facet:
    _check_keys(content, {"name", "others", "values"}, key_path=key_path)
    given = content.get("values") or {}
    _check_keys(given, {value.name for value in facet.values}, key_path=f"{key_path}.values")
    for name, words in given.items():
        _check_keys(words, {"synonyms", "keywords"}, key_path=f"{key_path}.values.{name}")
    words_of = {
        name: TagWords(language, _words(words.get("synonyms")), _words(words.get("keywords")))
        for name, words in given.items()
    }
    return replace(
        facet,
        values=tuple(
            replace(value, elsewhere=(*value.elsewhere, words_of[value.name])) if value.name in words_of else value
            for value in facet.values
        ),
        others_elsewhere=(*facet.others_elsewhere, (language, _words(content.get("others")))),
        names=(*facet.names, *([(language, _name(content["name"]))] if "name" in content else [])),
    )


def _facet(name: str, content: Mapping[str, Any]) -> Facet:
    _check_keys(content, {"default", "values", "presumed", "others", "combined_by"}, key_path=f"tags.{name}")
    presumed = content.get("presumed", False)
    if not isinstance(presumed, bool):
        raise TypeError(f"tags.{name}.presumed is true or false, not {presumed!r}")
    values = tuple(_value(_name(value), words or {}) for value, words in content["values"].items())
    combined_by = _patterns(content, "combined_by", key_path=f"tags.{name}")
    return Facet(name, _name(content["default"]), values, presumed, _words(content.get("others")), combined_by)


def _value(name: str, content: Mapping[str, Any]) -> TagValue:
    _check_keys(content, {"synonyms", "keywords"}, key_path=name)
    return TagValue(name, _words(content.get("synonyms")), _words(content.get("keywords")))


def _check_keys(content: Mapping[str, Any], known: set[str], *, key_path: str) -> None:
    if unknown := sorted(map(str, set(content) - known)):
        raise ValueError(f"{key_path}: unknown keys {', '.join(unknown)}")


def _words(value: object) -> tuple[str, ...]:
    """Return a list of words. Raise TypeError for a single text, which would be split into letters."""
    if value is not None and not isinstance(value, list):
        raise TypeError(f"{value!r} is not a list of words")
    return tuple(map(_name, value or ()))


def _name(value: object) -> str:
    """Return a text. Raise TypeError for other values: YAML reads an unquoted `no` or `2021` as one."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text; put it in quotes")
    return value


def _factor(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise TypeError(f"{value!r} is not a number")
    return float(value)
