"""`quoth serve --cluster`: the service on Ray Serve, for as long as the command runs."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import FrameType
from typing import Annotated

import typer

from quoth.errors import MissingExtra, SettingsError
from quoth.interfaces.guard.access import check_access
from quoth.settings import Overrides

AddressOption = Annotated[
    str | None,
    typer.Option(
        "--address",
        metavar="HOST:PORT",
        envvar="RAY_ADDRESS",
        help="The Ray cluster to work on; without it, Ray is started on this machine.",
    ),
]


_EVERY_NODES = {"0.0.0.0", "::", "127.0.0.1", "::1", "localhost"}  # noqa: S104 - nothing is bound
"""What any machine may call itself."""


@dataclass(frozen=True, slots=True)
class AskedOfRay:
    """The options that only make sense with a cluster."""

    cluster: str | None
    address: str | None
    replicas: int
    max_replicas: int | None
    shard_seconds: float | None


def check_options(context: typer.Context, asked: AskedOfRay) -> None:
    """`SettingsError` for options that make no sense together."""
    named = {name for name in context.params if str(context.get_parameter_source(name)).endswith("COMMANDLINE")}
    if asked.cluster is None:
        for name in ("address", "replicas", "max_replicas", "shard_seconds"):
            if name in named:
                raise SettingsError(
                    f"--{name.replace('_', '-')} is for an index that is served on Ray",
                    hint="Give --cluster URI too, or leave it out.",
                )
        return
    for name, instead in (
        ("index", "--cluster names the index."),
        ("workers", "Use --replicas, which is for each node of the cluster."),
        ("profile", "The profile is that of the index."),
    ):
        if name in named:
            raise SettingsError(f"--{name} cannot be given with --cluster", hint=instead)


def serve_cluster(asked: AskedOfRay, overrides: Overrides, *, host: str, port: int, auth: bool) -> None:
    """Until told to stop. What is wrong with the index or the settings is said before anything listens."""
    if asked.shard_seconds is not None:
        overrides = replace(overrides, flags={**overrides.flags, "service.shard_seconds": str(asked.shard_seconds)})
    try:
        from quoth.cluster.deployed import check_running, checked, deployed
        from quoth.cluster.nodes import connected
        from quoth.cluster.serving import has_memory, nodes_for_replicas, serving_plan
    except ImportError as error:
        raise MissingExtra("quoth serve", "serve") from error
    assert asked.cluster is not None  # noqa: S101 - for the type alone
    serving = serving_plan(
        asked.cluster,
        overrides,
        replicas=asked.replicas,
        max_replicas=asked.max_replicas,
        auth=auth,
        spread=False,
        sized=False,
    )
    check_access(serving.plan.keys, host=host, auth=auth)
    cluster = checked(serving.plan)
    if asked.address is None:
        port = _free_port(host, port)
    with connected(asked.address), _stopping():
        if asked.address is not None:
            port = check_running(host, port) or _free_port(host, port)
        nodes = nodes_for_replicas()
        serving = replace(serving, spread=1 < asked.replicas <= nodes, sized=has_memory(serving))
        if asked.replicas > nodes:
            typer.echo(
                f"note: {asked.replicas} replicas on {nodes} nodes: some are on the same node, and go with it.",
                err=True,
            )
        everywhere = asked.address is not None and host in _EVERY_NODES  # else it is the address of one of them
        with deployed(serving, cluster, host=host, port=port, everywhere=everywhere):
            shown = f"[{host}]" if ":" in host else host
            shards = f"{len(cluster.shards)} shards" if len(cluster.shards) > 1 else "1 shard"
            typer.echo(
                f"Serving {serving.plan.index} ({shards}) on http://{shown}:{port} (stop with Ctrl-C).", err=True
            )
            threading.Event().wait()


def _free_port(host: str, port: int) -> int:
    """A port that can be listened on; Serve itself would try for long, and say little."""
    from quoth.interfaces.http.worker import listen

    with listen(host, port) as listening:
        return listening.port


@contextmanager
def _stopping() -> Iterator[None]:
    """A signal ends the wait, and what was begun is taken away; Ray has its own idea of both, until here."""
    before = {one: signal.signal(one, _stop) for one in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for one, handler in before.items():
            if signal.getsignal(one) is _stop:  # else we are on our way out, and nothing may cut it off
                signal.signal(one, handler)


def _stop(number: int, frame: FrameType | None) -> None:
    for one in (signal.SIGTERM, signal.SIGINT):  # what comes now must not be cut off by another
        signal.signal(one, signal.SIG_IGN)
    raise SystemExit(0)
