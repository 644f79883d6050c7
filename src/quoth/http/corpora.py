"""The corpora of `quoth.yaml`: several indexes for one service, each with settings, keys and a state of its own."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quoth.errors import SettingsError
from quoth.http.guard.api_keys import keys_path
from quoth.overrides import CORPORA, Overrides

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_ENTRIES = ("index", "profile", "state", "settings")
_EXAMPLE = "For example: corpora: {north: {index: ./north}, south: {index: postgresql://quoth@db/south}}"
_OF_THE_SERVICE = {
    "service": frozenset(
        {"state", "threads", "queue", "seconds", "shard_seconds", "grace_seconds", "open_metrics", "cors", "webhook"}
        | {"traces"}
    ),
    "cache": frozenset({"vector_seconds", "result_seconds", "memory_mb"}),
}
"""Settings that hold for the whole process, or that would tell one corpus from another before a key is known."""
_OF_A_CORPUS = ("oidc.issuer", "proxy.addresses", "receipts.watch")
"""Settings that would open or show every corpus if they were set for all."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """One index of several in a service. `profile` is for an index that does not exist yet."""

    name: str
    index: str
    profile: str | None
    overrides: Overrides

    @property
    def state(self) -> Path:
        return Path(self.overrides.without_profile().service.state).expanduser()

    @property
    def keys(self) -> Path:
        return keys_path(self.overrides.without_profile().service)


def corpora_in(given: Overrides) -> Mapping[str, Corpus]:
    """Return the corpora of the settings file by name, in its order; none if it names none.

    Raise `SettingsError` for wrong ones, and for two that would share an index, a state or a file of keys.
    """
    section = given.file.get(CORPORA)
    if section is None:
        return {}
    if not isinstance(section, Mapping) or not section:
        raise SettingsError("quoth.yaml: 'corpora' must name one corpus or more", hint=_EXAMPLE)
    service = given.without_profile()
    for key in _OF_A_CORPUS:
        if getattr(getattr(service, key.partition(".")[0]), key.partition(".")[2]):
            hint = f"Set it under the `settings` of each corpus that it is for: corpora.NAME.settings.{key}."
            raise SettingsError(f"{key} is set for every corpus at once", hint=hint)
    if service.service.open_metrics:
        hint = "Leave out service.open_metrics, and give Prometheus a key: quoth keys add prometheus."
        raise SettingsError("the metrics of several corpora name them, and cannot be open", hint=hint)
    corpora = {str(name): _corpus(str(name), entry, given) for name, entry in section.items()}
    _check_apart(corpora, given)
    return corpora


def corpus_named(name: str, given: Overrides) -> Corpus:
    """Return one corpus of the settings file; raise `SettingsError` if there is none of this name."""
    corpora = corpora_in(given)
    if name not in corpora:
        there = f"There are: {', '.join(corpora)}." if corpora else "quoth.yaml has no section 'corpora'."
        raise SettingsError(f"there is no corpus '{name}'", hint=there)
    return corpora[name]


def _corpus(name: str, entry: object, given: Overrides) -> Corpus:
    where = f"quoth.yaml: corpora.{name}"
    if not _NAME.fullmatch(name):
        hint = "A name has up to 63 small letters, digits, - and _, and begins with a letter or a digit."
        raise SettingsError(f"quoth.yaml: a corpus cannot be named '{name}'", hint=hint)
    if not isinstance(entry, Mapping):
        raise SettingsError(f"{where} must be a mapping", hint=_EXAMPLE)
    if unknown := [str(key) for key in entry if key not in _ENTRIES]:
        raise SettingsError(f"{where}: unknown key '{unknown[0]}'", hint=f"There are: {', '.join(_ENTRIES)}.")
    settings = entry.get("settings") or {}
    texts = {key: entry.get(key) for key in ("index", "profile", "state")}
    for key, value in texts.items():
        if not (isinstance(value, str) and value) and not (value is None and key != "index"):
            raise SettingsError(f"{where}: '{key}' must be text", hint=_EXAMPLE)
    state = texts["state"] or str(Path(given.without_profile().service.state, CORPORA, name))
    merged = Overrides(
        file=_merged(given.file, settings, where=where),
        environment=given.environment,
        # What is set for the whole service must not give two corpora one state, or one file of keys.
        flags={**given.flags, "service.state": json.dumps(state), "service.keys": json.dumps(_own_keys(settings))},
    )
    try:
        merged.without_profile()
    except SettingsError as error:
        raise SettingsError(f"{where}: {error}", hint=error.hint) from error
    return Corpus(name, str(texts["index"]), texts["profile"], merged)


def _own_keys(settings: Mapping[str, Any]) -> object:
    return (settings.get("service") or {}).get("keys")


def _merged(file: Mapping[str, Any], settings: object, *, where: str) -> Mapping[str, Any]:
    """Return the settings of the file with those of a corpus in place of the ones for all."""
    if not isinstance(settings, Mapping) or not all(isinstance(section, Mapping) for section in settings.values()):
        raise SettingsError(f"{where}: 'settings' must hold sections", hint="For example: {service: {per_minute: 60}}")
    for section, names in _OF_THE_SERVICE.items():
        if shared := names & set(settings.get(section) or ()):
            key = f"{section}.{min(shared)}"
            hint = "Give it as `state` of the corpus." if key == "service.state" else "Set it for all."
            raise SettingsError(f"{where}: {key} is not a setting of a single corpus", hint=hint)
    merged = {name: content for name, content in file.items() if name != CORPORA}
    for name, content in settings.items():
        merged[name] = {**(merged.get(name) or {}), **content}
    return merged


def _check_apart(corpora: Mapping[str, Corpus], given: Overrides) -> None:
    """Raise `SettingsError` if two corpora would share what keeps them apart."""
    service = given.without_profile().service
    owners = {("state", str(Path(service.state).expanduser().resolve())): "the service itself"}
    owners["file of keys", str(keys_path(service).resolve())] = "the service itself"
    for corpus in corpora.values():
        for what, place in _places(corpus):
            owner = owners.setdefault((what, place), f"corpus '{corpus.name}'")
            if owner != f"corpus '{corpus.name}'":
                raise SettingsError(
                    f"corpus '{corpus.name}' has the {what} of {owner}",
                    hint="Each corpus has an index, a state and keys of its own.",
                )
    states = {corpus.name: corpus.state.resolve() for corpus in corpora.values()}
    for outer, above in states.items():
        for inner, below in states.items():
            if outer != inner and below.is_relative_to(above):
                hint = "Give each corpus a folder beside the others."
                raise SettingsError(f"the state of corpus '{inner}' lies in that of '{outer}'", hint=hint)


def _places(corpus: Corpus) -> Iterator[tuple[str, str]]:
    yield "state", str(corpus.state.resolve())
    yield "file of keys", str(corpus.keys.resolve())
    if "://" in corpus.index:
        yield "index", f"{corpus.index} {corpus.overrides.without_profile().store.schema}"
    else:
        yield "index", str(Path(corpus.index).expanduser().resolve())
