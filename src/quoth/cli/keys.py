"""`quoth keys`: who may use the service."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quoth.interfaces.cli.options import ConfigOption, JsonOption, SetOption, overrides
from quoth.interfaces.guard.access import keys_path
from quoth.interfaces.guard.keys import MOST_PER_MINUTE, Key, KeyFile, Scope
from quoth.render import json_line

StateOption = Annotated[
    Path | None, typer.Option("--state", metavar="DIR", help="Folder of the service; else the setting `service.state`.")
]

app = typer.Typer(help="Add, list and revoke the keys of the service.", no_args_is_help=True)


@app.command("add")
def add(
    name: Annotated[str, typer.Argument(help="Who or what gets the key, e.g. `website`.")],
    scope: Annotated[
        Scope, typer.Option("--scope", help="`read` asks questions; `write` also changes documents.")
    ] = Scope.READ,
    per_minute: Annotated[
        int | None,
        typer.Option(
            "--per-minute",
            min=0,
            max=MOST_PER_MINUTE,
            help="Requests a minute; 0 for no limit. Else the setting `service.per_minute`.",
        ),
    ] = None,
    state: StateOption = None,
    config: ConfigOption = None,
    assignments: SetOption = None,
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
    as_json: JsonOption = False,
    state: StateOption = None,
    config: ConfigOption = None,
    assignments: SetOption = None,
) -> None:
    """List the keys, revoked ones too, oldest first.

    Example: `quoth keys list --json`
    """
    keys = _keys(state, config, assignments).all()
    if as_json:
        for key in keys:
            typer.echo(json_line(_listed(key)))
    elif keys:
        _print(keys)
    else:
        typer.echo("there are no keys yet; quoth keys add NAME makes one", err=True)


@app.command("revoke")
def revoke(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="The key's id, as `quoth keys list` shows it.")],
    state: StateOption = None,
    config: ConfigOption = None,
    assignments: SetOption = None,
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
    settings = overrides(config, assignments).over({}, profile="none")
    return KeyFile(state / "keys.json" if state else keys_path(settings.service))


def _scope(key: Key) -> str:
    """The widest scope: whoever may write may read."""
    return (Scope.WRITE if Scope.WRITE in key.scopes else Scope.READ).value


def _limit(key: Key) -> str:
    match key.per_minute:
        case None:
            return "as many requests as the service allows"
        case 0:
            return "no limit"
        case number:
            return f"{number} requests a minute"


def _listed(key: Key) -> dict[str, object]:
    """A key for the listing: without its hash."""
    return {
        "id": key.id,
        "name": key.name,
        "scopes": sorted(key.scopes),
        "created": key.created,
        "revoked": key.revoked,
        "per_minute": key.per_minute,
    }


def _print(keys: tuple[Key, ...]) -> None:
    from rich.markup import escape
    from rich.table import Column, Table

    from quoth.interfaces.cli.terminal import OUT, one_line

    names = ("id", "name", "scope", "a minute", "created", "revoked")
    table = Table(*(Column(name, overflow="fold") for name in names), box=None, pad_edge=False)
    for key in keys:
        limit = {None: "", 0: "no limit"}.get(key.per_minute, str(key.per_minute))
        table.add_row(key.id, escape(one_line(key.name)), _scope(key), limit, key.created, key.revoked or "")
    OUT.print(table)
