"""Override the default settings with checked values from a profile, a file, the environment and flags."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import yaml

from quoth.errors import SettingsError
from quoth.settings import Settings, setting_keys

NOT_SETTINGS = frozenset({"QUOTH_INDEX", "QUOTH_STORE", "QUOTH_CACHE_DIR", "QUOTH_PROFILE", "QUOTH_LANG"})
"""Variables that begin with `QUOTH_` but are no settings."""
CORPORA = "corpora"
"""The section of `quoth.yaml` that names several indexes for one service; it holds no settings of its own."""
_REMOVED = {"cache.redis_url": "Delete it: each process caches in its own memory; see cache.memory_mb."}
"""Hints for keys that only earlier versions had."""
_TYPE_NAMES = {float: "a number", int: "a whole number", bool: "true or false", str: "text"}
MOST_YAML_VALUES = 1_000_000
"""How many values a YAML text may hold once aliases are expanded: ten lines can expand to a billion."""


class _BoundedLoader(yaml.SafeLoader):
    """Refuse values that contain themselves or too many others, before any value is built."""

    def __init__(self, source: str | bytes) -> None:
        super().__init__(source)
        self._sizes: dict[yaml.Node, int] = {}

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:  # noqa: ANN401 - a node or an index
        alias = self.check_event(yaml.AliasEvent)
        node = super().compose_node(parent, index)
        if node is None:
            return None
        if alias and node not in self._sizes:
            raise yaml.YAMLError("a value holds itself")
        if not alias:
            inner = node.value if isinstance(node, yaml.SequenceNode) else ()
            inner = [item for pair in node.value for item in pair] if isinstance(node, yaml.MappingNode) else inner
            self._sizes[node] = 1 + sum(self._sizes[item] for item in inner)
        if self._sizes[node] > MOST_YAML_VALUES:
            raise yaml.YAMLError(f"it stands for more than {MOST_YAML_VALUES:,} values")
        return node


def parse_yaml(source: str | bytes, *, what: str, hint: str) -> Any:  # noqa: ANN401 - YAML holds anything
    """Return the content of a YAML text; `what` names it in errors."""
    try:
        return yaml.load(source, Loader=_BoundedLoader)  # noqa: S506 - a subclass of SafeLoader
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        # An impossible date (2022-13-01) raises ValueError; a thousand nested brackets raise RecursionError.
        raise SettingsError(f"{what} is not valid YAML: {error}", hint=hint) from error


def read_settings_file(path: Path) -> Mapping[str, Any]:
    """Return the content of a `quoth.yaml`."""
    try:
        source = path.read_bytes()
    except OSError as error:
        hint = "Check the path given to --config."
        raise SettingsError(f"cannot read {path}: {error.strerror}", hint=hint) from error
    content = parse_yaml(source, what=str(path), hint="Correct the file; see docs/settings.md.") or {}
    if not isinstance(content, dict):
        raise SettingsError(f"{path} must hold a mapping", hint="For example: selection: {max_sentences: 4}")
    return content


def environment_settings(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the values of `QUOTH_SECTION_KEY` variables by dotted key.

    Raise `SettingsError` for an unknown variable, which is most likely a typo.
    """
    names = {_variable(key): key for key in setting_keys()}
    mappings = {name: key for name, key in names.items() if key in _mapping_keys()}
    found: dict[str, str] = {}
    for variable, value in environ.items():
        if not variable.startswith("QUOTH_") or variable in NOT_SETTINGS:
            continue
        inside = next((name for name in mappings if variable.startswith(name + "_")), None)
        if variable in names:
            found[names[variable]] = value
        elif inside:
            found[f"{mappings[inside]}.{variable.removeprefix(inside + '_').lower()}"] = value
        else:
            raise _unknown(f"unknown variable {variable}", variable, names)
    return found


def _variable(key: str) -> str:
    return "QUOTH_" + key.upper().replace(".", "_")


@cache
def _mapping_keys() -> frozenset[str]:
    """Return the keys whose value is a mapping. Users can set a single entry, as in `retrieval.tag_boost.crop`."""
    return frozenset(key for key, default in setting_keys().items() if isinstance(default, Mapping))


def with_values(settings: Settings, values: Mapping[str, Any], *, source: str) -> Settings:
    """Return settings overridden by nested values, as in YAML; `source` names their origin in errors."""
    known = {section.name for section in fields(Settings)}
    for name, content in ((str(key), content) for key, content in values.items()):
        if name not in known:
            raise SettingsError(f"{source}: unknown section '{name}'", hint=_did_you_mean(name, known))
        if not isinstance(content, Mapping):
            raise SettingsError(f"{source}: '{name}' must be a mapping", hint=f"For example: {name}: {{key: value}}")
        for key, value in content.items():
            settings = with_value(settings, f"{name}.{key}", value, source=source)
    return settings


def with_strings(settings: Settings, values: Mapping[str, str], *, source: str) -> Settings:
    """Return settings overridden by `key=value` texts, read as YAML scalars (`0.4`, `true`, `{crop: 0.1}`)."""
    for key, text in values.items():
        value = parse_yaml(text, what=f"{source}: {key}={text}", hint="Quote the value.")
        settings = with_value(settings, key, value, source=source)
    return settings


def with_value(settings: Settings, key: str, value: object, *, source: str) -> Settings:
    """Return settings with one dotted key changed. Raise `SettingsError` for a wrong key, type or range."""
    section_name, _, name = key.partition(".")
    whole, _, entry = key.rpartition(".")
    if whole in _mapping_keys():
        held = getattr(getattr(settings, section_name), whole.removeprefix(f"{section_name}."))
        return with_value(settings, whole, {**held, entry: value}, source=source)
    if key not in setting_keys():
        raise _unknown(f"{source}: unknown setting '{key}'", key, setting_keys())
    section: Any = getattr(settings, section_name)
    checked = _checked(value, get_type_hints(type(section))[name], label=f"{source}: {key}")
    declared = next(setting for setting in fields(section) if setting.name == name)
    _check_range(checked, declared.metadata, label=f"{source}: {key}")
    return replace(settings, **{section_name: replace(section, **{name: checked})})


def _checked(value: object, wanted: Any, *, label: str) -> object:  # noqa: ANN401 - a type hint is any object
    """Return `value`, an int as a float where a float is wanted. Raise `SettingsError` for another type."""
    if get_origin(wanted) in {Union, UnionType}:
        if value is None:
            return None
        wanted = next(choice for choice in get_args(wanted) if choice is not type(None))
    if get_origin(wanted) is not None:
        if not isinstance(value, Mapping):
            raise SettingsError(f"{label} must be a mapping, not {value!r}", hint="For example: {crop: 0.08}")
        return {str(key): _checked(item, get_args(wanted)[1], label=f"{label}.{key}") for key, item in value.items()}
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
        raise SettingsError(f"{label} must be {_TYPE_NAMES[wanted]}, not {value!r}", hint="See docs/settings.md.")
    return value


def _check_range(value: object, limits: Mapping[str, Any], *, label: str) -> None:
    if "choices" in limits and value not in limits["choices"]:
        raise SettingsError(f"{label} is {value!r}", hint=f"Choose one of: {', '.join(limits['choices'])}.")
    if "low" in limits and isinstance(value, int | float) and not limits["low"] <= value <= limits["high"]:
        raise SettingsError(f"{label} is {value}", hint=f"It must lie between {limits['low']} and {limits['high']}.")


def _unknown(message: str, name: str, known: Collection[str]) -> SettingsError:
    """Return the error for an unknown key or variable; a key that an earlier version had gets its own hint."""
    removed = _REMOVED | {_variable(key): hint for key, hint in _REMOVED.items()}
    if name in removed:
        return SettingsError(message.replace("unknown", "removed", 1), hint=removed[name])
    return SettingsError(message, hint=_did_you_mean(name, known))


def _did_you_mean(name: str, known: Collection[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f"Did you mean '{close[0]}'?" if close else "See docs/settings.md for every key."


@dataclass(frozen=True, slots=True)
class Overrides:
    """The values that a user sets, which win over those of the profile.

    Flags win over the environment, and the environment wins over the file.
    """

    file: Mapping[str, Any]
    environment: Mapping[str, str]
    flags: Mapping[str, str]

    def without_profile(self) -> Settings:
        """Return the settings without a profile: the store and the service need theirs before the profile is read."""
        return self.over({}, profile="none")

    def over(self, profile_settings: Mapping[str, Any], *, profile: str) -> Settings:
        """Return the settings in force under a profile; `profile` names it in errors."""
        settings = with_values(Settings(), profile_settings, source=f"profile '{profile}'")
        in_file = {name: content for name, content in self.file.items() if name != CORPORA}
        settings = with_values(settings, in_file, source="quoth.yaml")
        settings = with_strings(settings, self.environment, source="environment")
        return with_strings(settings, self.flags, source="--set")


NO_OVERRIDES = Overrides(file={}, environment={}, flags={})
