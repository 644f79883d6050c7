"""`quoth keys`: who may use the service."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quoth.cli import options
from quoth.http.guard.api_keys import MOST_PER_MINUTE, ApiKey, KeyFile, KeyScope, keys_path
from quoth.output.render import json_line

StateOption = Annotated[
    Path | None, typer.Option("--state", metavar="DIR", help="Folder of the service; else the setting `service.state`.")
]

app = typer.Typer(help="Add, list and revoke the keys of the service.", no_args_is_help=True)


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
    state: StateOption = None,
    config: options.Config = None,
    assignments: options.Assignments = None,
) -> None:
    """Make a key and print its token, which is stored nowhere. A running service accepts it at once.

    Example: `quoth keys add website --scope read --per-minute 120`
    """
    key, token = _keys(state, config, assignments).add(name, scopes={scope}, per_minute=per_minute)
    typer.echo(token)
    typer.echo(
        f"key {key.id} for {key.name}: {_scope(key)}, {_limit(key)}. The token is shown once: keep it now.", err=True
    )


@app.command("list")
def list_keys(
    as_json: options.AsJson = False,
    state: StateOption = None,
    config: options.Config = None,
    assignments: options.Assignments = None,
) -> None:
    """List the keys, revoked ones too, oldest first.

    Example: `quoth keys list --json`
    """
    keys = _keys(state, config, assignments).all()
    if as_json:
        for key in keys:
            shown = {name: getattr(key, name) for name in ("id", "name", "scopes", "created", "revoked", "per_minute")}
            typer.echo(json_line({**shown, "scopes": sorted(key.scopes)}))
    elif keys:
        from quoth.cli.terminal import print_table

        print_table(("id", "name", "scope", "a minute", "created", "revoked"), map(_row, keys), fold=True)
    else:
        typer.echo("there are no keys yet; quoth keys add NAME makes one", err=True)


@app.command("revoke")
def revoke(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="The key's id, as `quoth keys list` shows it.")],
    state: StateOption = None,
    config: options.Config = None,
    assignments: options.Assignments = None,
) -> None:
    """Revoke a key. A running service refuses it at once; it stays in the list with the date.

    Example: `quoth keys revoke 3f9a12c4`
    """
    keys = _keys(state, config, assignments)
    before = next((key.revoked for key in keys.all() if key.id == key_id), None)
    key = keys.revoke(key_id)
    how = f"was revoked already, on {before}" if before else "is revoked: it opens nothing from now on"
    typer.echo(f"key {key.id} for {key.name} {how}", err=True)


def _keys(state: Path | None, config: Path | None, assignments: list[str] | None) -> KeyFile:
    settings = options.overrides(config, assignments).without_profile()
    return KeyFile(state / "keys.json" if state else keys_path(settings.service))


def _scope(key: ApiKey) -> str:
    """Return the widest scope; writing includes reading."""
    return (KeyScope.WRITE if KeyScope.WRITE in key.scopes else KeyScope.READ).value


def _limit(key: ApiKey) -> str:
    words = {None: "as many requests as the service allows", 0: "no limit"}
    return words.get(key.per_minute, f"{key.per_minute} requests a minute")


def _row(key: ApiKey) -> tuple[str, ...]:
    from quoth.cli.terminal import plain

    limit = {None: "", 0: "no limit"}.get(key.per_minute, str(key.per_minute))
    return key.id, plain(key.name), _scope(key), limit, key.created, key.revoked or ""
