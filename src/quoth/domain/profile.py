"""Load profiles: the ones that ship by name, any other by its file."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from quoth.errors import SettingsError
from quoth.profile import Authority, DocumentType, Facet, Profile, TagValue
from quoth.settings import parse_yaml

DEFAULT_PROFILE = "general"
_KEYS = {"name", "description", "settings", "tags", "document_types", "authority", "synonyms"}
_HINT = "See docs/profiles.md for what a profile may hold."


def profile_names() -> tuple[str, ...]:
    """The profiles that ship, in alphabetical order."""
    return tuple(
        sorted(one.name.removesuffix(".yaml") for one in files(__name__).iterdir() if one.name.endswith(".yaml"))
    )


def load_profile(name_or_path: str) -> Profile:
    """A shipped profile by its name, or one from a YAML file."""
    if name_or_path in profile_names():
        source = files(__name__).joinpath(f"{name_or_path}.yaml").read_text(encoding="utf-8")
    else:
        try:
            source = Path(name_or_path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(
                f"there is no profile '{name_or_path}'",
                hint=f"Use one of {', '.join(profile_names())}, or the path of a YAML file.",
            ) from error
    return parse_profile(source)


def parse_profile(source: str) -> Profile:
    """A profile from its YAML; `SettingsError` names what is wrong in it."""
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
        facets=tuple(_facet(_name(name), facet) for name, facet in (content.get("tags") or {}).items()),
        document_types={_name(name): _document_type(name, one) for name, one in types.items()},
        authority=Authority(**{key: _factor(value) for key, value in authority.items()}) if authority else None,
        synonyms=tuple(map(_words, content.get("synonyms") or ())),
        settings=settings,
        source=source,
    )


def _document_type(name: str, content: Mapping[str, Any]) -> DocumentType:
    _check_keys(content, {"authority", "factor", "asked_by", "hinted_by"}, place=f"document_types.{name}")
    asked, hinted = (
        tuple(_pattern(one, place=f"document_types.{name}.{key}") for one in _words(content.get(key)))
        for key in ("asked_by", "hinted_by")
    )
    return DocumentType(name, _name(content["authority"]), _factor(content.get("factor", 1.0)), asked, hinted)


def _pattern(source: str, *, place: str) -> re.Pattern[str]:
    """A pattern for whole words of a folded question."""
    try:
        return re.compile(rf"(?<!\w)(?:{source})(?!\w)")
    except re.error as error:
        raise ValueError(f"{place}: {source!r} is no pattern: {error}") from error


def _facet(name: str, content: Mapping[str, Any]) -> Facet:
    _check_keys(content, {"default", "values", "presumed", "others"}, place=f"tags.{name}")
    presumed = content.get("presumed", False)
    if not isinstance(presumed, bool):
        raise TypeError(f"tags.{name}.presumed is true or false, not {presumed!r}")
    values = tuple(_value(_name(value), words or {}) for value, words in content["values"].items())
    return Facet(name, _name(content["default"]), values, presumed, _words(content.get("others")))


def _value(name: str, content: Mapping[str, Any]) -> TagValue:
    _check_keys(content, {"synonyms", "keywords"}, place=name)
    return TagValue(name, _words(content.get("synonyms")), _words(content.get("keywords")))


def _check_keys(content: Mapping[str, Any], known: set[str], *, place: str) -> None:
    if unknown := sorted(map(str, set(content) - known)):
        raise ValueError(f"{place}: unknown keys {', '.join(unknown)}")


def _words(value: object) -> tuple[str, ...]:
    """A list of words; a lone text would be taken letter by letter."""
    if value is not None and not isinstance(value, list):
        raise TypeError(f"{value!r} is not a list of words")
    return tuple(map(_name, value or ()))


def _name(value: object) -> str:
    """A text; YAML reads an unquoted `no` or `2021` as something else."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text; put it in quotes")
    return value


def _factor(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise TypeError(f"{value!r} is not a number")
    return float(value)
