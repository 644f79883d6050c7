"""Load profiles: the ones that ship by name, any other by its file."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from quoth.errors import SettingsError
from quoth.profile import Authority, DocumentType, Facet, Profile, TagValue

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
    try:
        content = yaml.safe_load(source)
    except (yaml.YAMLError, ValueError) as error:
        raise SettingsError(f"the profile is not valid YAML: {error}", hint=_HINT) from error
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
    return Profile(
        name=content["name"],
        description=content.get("description", ""),
        facets=tuple(_facet(name, facet) for name, facet in (content.get("tags") or {}).items()),
        document_types={
            name: DocumentType(name, str(one["authority"]), float(one.get("factor", 1.0)))
            for name, one in types.items()
        },
        authority=Authority(**{key: float(value) for key, value in authority.items()}) if authority else None,
        synonyms=tuple(_group(group) for group in content.get("synonyms") or ()),
        settings=content.get("settings") or {},
        source=source,
    )


def _group(words: object) -> tuple[str, ...]:
    if not isinstance(words, list):
        raise TypeError(f"synonyms are groups of words, not {words!r}")
    return tuple(map(str, words))


def _facet(name: str, content: Mapping[str, Any]) -> Facet:
    values = tuple(
        TagValue(value, tuple(map(str, words.get("synonyms") or ())), tuple(map(str, words.get("keywords") or ())))
        for value, words in content["values"].items()
    )
    others = tuple(map(str, content.get("others") or ()))
    return Facet(name, str(content["default"]), values, bool(content.get("presumed", False)), others)
