"""`quoth mcp`."""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from typing import Annotated

import typer

from quoth.errors import MissingExtra
from quoth.interfaces.cli.options import DEFAULT_INDEX, ConfigOption, IndexOption, SetOption, open_quoth, overrides


def command(
    index: IndexOption = DEFAULT_INDEX,
    http: Annotated[
        bool, typer.Option("--http", help="Serve over HTTP at `/mcp`, not over standard input and output.")
    ] = False,
    host: Annotated[str, typer.Option("--host", help="With --http: the address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="With --http: the port; 0 takes a free one.")
    ] = 8765,
    no_auth: Annotated[
        bool, typer.Option("--no-auth", help="With --http: no key is needed; only on a loopback address.")
    ] = False,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allowed-host", metavar="NAME", help="With --http: a name that clients call this machine by; repeatable."
        ),
    ] = None,
    config: ConfigOption = None,
    assignments: SetOption = None,
) -> None:
    """Serve the index to agents over the Model Context Protocol: tools to ask, retrieve, read and verify.

    Examples: `quoth mcp --index guides/.quoth` and `quoth mcp --http --port 8765`
    """
    if not http and (no_auth or allowed_host):
        raise typer.BadParameter("--no-auth and --allowed-host go with --http")
    if find_spec("mcp") is None or find_spec("uvicorn") is None:
        raise MissingExtra("the MCP server", "mcp")
    from quoth.interfaces.mcp.transports import serve_http, serve_stdio

    service = overrides(config, assignments).over({}, profile="none").service
    quoth = open_quoth(index, config=config, assignments=assignments)
    talk = partial(typer.echo, err=True)
    if http:
        serve_http(quoth, service, host=host, port=port, no_auth=no_auth, names=allowed_host or (), say=talk)
    else:
        serve_stdio(quoth, service, say=talk)
