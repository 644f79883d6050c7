"""Options that several commands share, and what is made of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from quoth.errors import QuothError, SettingsError
from quoth.interfaces.python import Quoth
from quoth.settings import Overrides, environment_settings, read_settings_file
from quoth.wiring import open_store

DEFAULT_INDEX = ".quoth"
CONFIG_NAME = Path("quoth.yaml")


def complete_doc_id(context: typer.Context, incomplete: str) -> list[str]:
    """Document ids for the shell's completion; nothing when there is no index to read."""
    index = context.params.get("index") or os.environ.get("QUOTH_INDEX") or os.environ.get("QUOTH_STORE")
    try:
        settings = overrides(None, None).over({}, profile="none").store
        with closing(open_store(index or DEFAULT_INDEX, settings)) as store, store.read() as reader:
            return [info.id for info in reader.documents() if info.id.startswith(incomplete)]
    except QuothError:
        return []


IndexOption = Annotated[
    str,
    typer.Option(
        "--index",
        "--store",
        metavar="PLACE",
        envvar=["QUOTH_INDEX", "QUOTH_STORE"],
        help="Folder of the index, or the address of a database: `postgresql://user@host/name`.",
    ),
]
ConfigOption = Annotated[
    Path | None, typer.Option("--config", help="Settings file; `quoth.yaml` in this folder when there is one.")
]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting, e.g. `selection.max_sentences=3`.")
]
DocOption = Annotated[
    list[str] | None,
    typer.Option(
        "--doc", metavar="ID", help="Search only in this document; repeatable.", autocompletion=complete_doc_id
    ),
]
TagOption = Annotated[
    list[str] | None, typer.Option("--tag", metavar="FACET=VALUE", help="Search only under this tag; repeatable.")
]
TypeOption = Annotated[
    list[str] | None, typer.Option("--type", metavar="TYPE", help="Search only in this document type; repeatable.")
]
AsOfOption = Annotated[str | None, typer.Option("--as-of", metavar="DAY", help="Answer as of this day (YYYY-MM-DD).")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def place_name(index: str, given: Overrides) -> str:
    """Where an index is, as people may see it: without a password."""
    return open_store(index, given.over({}, profile="none").store).place


def overrides(config: Path | None, assignments: Sequence[str] | None) -> Overrides:
    """The user's settings: file, then environment, then `--set`."""
    path = config or (CONFIG_NAME if CONFIG_NAME.is_file() else None)
    return Overrides(
        file=read_settings_file(path) if path else {},
        environment=environment_settings(os.environ),
        flags=dict(pair(one, option="--set") for one in assignments or ()),
    )


def pair(text: str, *, option: str) -> tuple[str, str]:
    """`key=value` as a pair."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        example = {"--set": "selection.max_sentences=3", "--tag": "crop=canola"}[option]
        raise SettingsError(f"{option} {text} is not KEY=VALUE", hint=f"For example: {option} {example}")
    return key.strip(), value.strip()


def tag_filters(texts: Sequence[str] | None) -> dict[str, tuple[str, ...]]:
    """`crop=canola` options as facets with their values."""
    found: dict[str, tuple[str, ...]] = {}
    for text in texts or ():
        facet, value = pair(text, option="--tag")
        found[facet] = (*found.get(facet, ()), value)
    return found


def open_quoth(index: str, *, config: Path | None = None, assignments: Sequence[str] | None = None) -> Quoth:
    """The index, opened for questions; `NoIndex` when there is none."""
    given = overrides(config, assignments)
    opened = Quoth(open_store(index, given.over({}, profile="none").store), given)
    _ = opened.info
    return opened
