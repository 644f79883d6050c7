"""`quoth keys`: who may use the service."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quoth.cli import options
from quoth.http.corpora import corpus_named
from quoth.http.guard.api_keys import ALL_LABELS, MOST_PER_MINUTE, ApiKey, KeyFile, KeyScope, keys_path
from quoth.output.render import json_line

StateOption = Annotated[
    Path | None, typer.Option("--state", metavar="DIR", help="Folder of the service; else the setting `service.state`.")
]

CorpusOption = Annotated[
    str | None,
    typer.Option("--corpus", metavar="NAME", help="A corpus of the settings file: its keys, not those of the service."),
]

AccessOption = Annotated[
    list[str] | None,
    typer.Option(
        "--access",
        metavar="LABEL",
        help="Documents with this label may be seen, besides those without any; repeatable. `*` is every document.",
    ),
]

app = typer.Typer(help="Add, list, change and revoke the keys of the service.", no_args_is_help=True)


@app.command("add")
def add(
    name: Annotated[str, typer.Argument(help="Who or what gets the key, e.g. `website`.")],
    scope: Annotated[
        KeyScope, typer.Option(help="`read` asks questions; `write` also changes documents.")
    ] = KeyScope.READ,
    per_minute: Annotated[
        int | None,
        typer.Option(
            min=0, max=MOST_PER_MINUTE, help="Requests a minute; 0 for no limit. Else the setting `service.per_minute`."
        ),
    ] = None,
    access: AccessOption = None,
    state: StateOption = None,
    corpus: CorpusOption = None,
    config: options.Config = None,
    assignments: options.Assignments = None,
) -> None:
    """Make a key and print its token, which is stored nowhere. A running service accepts it at once.

    Example: `quoth keys add website --scope read --per-minute 120`
    """
    key, token = _keys(state, corpus, config, assignments).add(
        name, scopes={scope}, per_minute=per_minute, access=access or ()
    )
    typer.echo(token)
    may = ", ".join([_scope(key), _limit(key), *([f"sees {_seen(key)}"] if key.access else [])])
    typer.echo(f"key {key.id} for {key.name}: {may}. The token is shown once: keep it now.", err=True)


@app.command("list")
def list_keys(
    as_json: options.AsJson = False,
    state: StateOption = None,
    corpus: CorpusOption = None,
    config: options.Config = None,
    assignments: options.Assignments = None,
) -> None:
    """List the keys, revoked ones too, oldest first.

    Example: `quoth keys list --json`
    """
    keys = _keys(state, corpus, config, assignments).all()
    if as_json:
        for key in keys:
            shown = {name: getattr(key, name) for name in ("id", "name", "scopes", "created", "revoked", "per_minute")}
            typer.echo(json_line({**shown, "scopes": sorted(key.scopes), "access": sorted(key.access)}))
    elif keys:
        from quoth.cli.terminal import print_table

        print_table(("id", "name", "scope", "access", "a minute", "created", "revoked"), map(_row, keys), fold=True)
    else:
        typer.echo("there are no keys yet; quoth keys add NAME makes one", err=True)


@app.command("change")
def change(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="The key's id, as `quoth keys list` shows it.")],
    access: AccessOption = None,
    no_access: Annotated[
        bool, typer.Option("--no-access", help="Take all labels away: only documents without labels are seen.")
    ] = False,
    state: StateOption = None,
    corpus: CorpusOption = None,
    config: options.Config = None,
    assignments: options.Assignments = None,
) -> None:
    """Replace the labels of a key. A running service goes by them from the next request on.

    Example: `quoth keys change 3f9a12c4 --access board --access legal`
    """
    if bool(access) == no_access:
        raise typer.BadParameter("give --access LABEL, once or more, or --no-access")
    key = _keys(state, corpus, config, assignments).change(key_id, access=access or ())
    typer.echo(f"key {key.id} for {key.name} from now on sees {_seen(key)}", err=True)


@app.command("revoke")
def revoke(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="The key's id, as `quoth keys list` shows it.")],
    state: StateOption = None,
    corpus: CorpusOption = None,
    config: options.Config = None,
    assignments: options.Assignments = None,
) -> None:
    """Revoke a key. A running service refuses it at once; it stays in the list with the date.

    Example: `quoth keys revoke 3f9a12c4`
    """
    keys = _keys(state, corpus, config, assignments)
    before = next((key.revoked for key in keys.all() if key.id == key_id), None)
    key = keys.revoke(key_id)
    how = f"was revoked already, on {before}" if before else "is revoked: it opens nothing from now on"
    typer.echo(f"key {key.id} for {key.name} {how}", err=True)


def _keys(state: Path | None, corpus: str | None, config: Path | None, assignments: list[str] | None) -> KeyFile:
    given = options.overrides(config, assignments)
    if corpus is None:
        return KeyFile(state / "keys.json" if state else keys_path(given.without_profile().service))
    if state is not None:
        raise typer.BadParameter("give --state or --corpus, not both")
    return KeyFile(corpus_named(corpus, given).keys)


def _scope(key: ApiKey) -> str:
    """Return the widest scope; writing includes reading."""
    return (KeyScope.WRITE if KeyScope.WRITE in key.scopes else KeyScope.READ).value


def _seen(key: ApiKey) -> str:
    if ALL_LABELS in key.access:
        return "every document"
    labelled = f" and those labelled {', '.join(map(repr, sorted(key.access)))}" if key.access else ""
    return f"documents without labels{labelled}"


def _limit(key: ApiKey) -> str:
    words = {None: "as many requests as the service allows", 0: "no limit"}
    return words.get(key.per_minute, f"{key.per_minute} requests a minute")


def _row(key: ApiKey) -> tuple[str, ...]:
    from quoth.cli.terminal import plain

    limit = {None: "", 0: "no limit"}.get(key.per_minute, str(key.per_minute))
    labels = plain(", ".join(sorted(key.access)))
    return key.id, plain(key.name), _scope(key), labels, limit, key.created, key.revoked or ""
