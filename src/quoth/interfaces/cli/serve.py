"""`quoth serve`."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from dataclasses import replace
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from quoth.errors import MissingExtra, NoIndex
from quoth.interfaces.cli.options import DEFAULT_INDEX, ConfigOption, IndexOption, SetOption, overrides, place_name
from quoth.interfaces.cli.serve_cluster import AddressOption, AskedOfRay, check_options, serve_cluster
from quoth.interfaces.guard.access import check_access
from quoth.interfaces.python import Quoth
from quoth.machine import available_cores
from quoth.settings import Overrides
from quoth.wiring import open_store

if TYPE_CHECKING:
    from quoth.interfaces.http.service import Plan


def command(
    context: typer.Context,
    index: IndexOption = DEFAULT_INDEX,
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65_535, help="Port to listen on; 0 is any free.")] = 8080,
    workers: Annotated[int, typer.Option("--workers", min=1, max=256, help="Processes that answer.")] = 1,
    cluster: Annotated[
        str | None,
        typer.Option("--cluster", metavar="URI", help="Serve an index of shards on Ray: a folder, or `s3://…`."),
    ] = None,
    address: AddressOption = None,
    replicas: Annotated[int, typer.Option("--replicas", min=1, help="Of each shard, on different nodes.")] = 1,
    max_replicas: Annotated[
        int | None, typer.Option("--max-replicas", min=1, help="Up to which Ray may add some under load.")
    ] = None,
    shard_seconds: Annotated[
        float | None,
        typer.Option(
            "--shard-seconds",
            min=0.05,
            help="How long a shard may take for a call, all tries together; after that it is left out.",
        ),
    ] = None,
    no_auth: Annotated[bool, typer.Option("--no-auth", help="Ask for no key; only on this machine.")] = False,
    profile: Annotated[
        str | None, typer.Option("--profile", envvar="QUOTH_PROFILE", help="For an index that is not there yet.")
    ] = None,
    config: ConfigOption = None,
    assignments: SetOption = None,
) -> None:
    """Serve answers over HTTP, with a web page for people.

    Example: `quoth serve --no-auth`, then open http://127.0.0.1:8080
    """
    given = overrides(config, assignments)
    asked = AskedOfRay(cluster, address, replicas, max_replicas, shard_seconds)
    check_options(context, asked)
    if cluster is not None:
        serve_cluster(asked, given, host=host, port=port, auth=not no_auth)
        return
    given = _with_threads(given, workers)
    for one in (signal.SIGTERM, signal.SIGINT):  # the server raises it anew once all is done: a stop is no failure
        signal.signal(one, _stop)
    counts = tempfile.mkdtemp(prefix="quoth-metrics-")
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = counts  # where its library looks when it is imported, below
    try:
        try:
            from quoth.interfaces.http import logs
            from quoth.interfaces.http.service import Plan, check_state
            from quoth.interfaces.http.worker import VARIABLE, listen, serve, written
        except ImportError as error:
            raise MissingExtra("quoth serve", "serve") from error
        plan = Plan(index=index, overrides=given, profile=profile, auth=not no_auth)
        check_access(plan.keys, host=host, auth=plan.auth)
        _check_index(plan)
        check_state(plan)
        os.environ[VARIABLE] = written(plan)
        with listen(host, port) as listening:
            shown = f"[{host}]" if ":" in host else host
            address = f"http://{shown}:{listening.port}"
            typer.echo(f"Serving {place_name(index, given)} on {address} (stop with Ctrl-C).", err=True)
            logs.set_up()
            serve(plan, listening.sockets, workers=workers)
    finally:
        shutil.rmtree(counts, ignore_errors=True)


def _stop(number: int, frame: FrameType | None) -> None:
    raise SystemExit(0)


def _with_threads(given: Overrides, workers: int) -> Overrides:
    """Unless the user says otherwise, the processes share the cores, which each would take for its own."""
    if workers == 1:
        return given
    key, share = "embedding.threads", str(max(1, available_cores() // workers))
    os.environ.setdefault("OPENBLAS_NUM_THREADS", share)  # numpy's, in the processes that are yet to begin
    named = key in given.flags or key in given.environment or "threads" in (given.file.get("embedding") or {})
    return given if named else replace(given, flags={**given.flags, key: share})


def _check_index(plan: Plan) -> None:
    """What is wrong with the index or the settings is said now, and not by every request."""
    store = open_store(plan.index, plan.overrides.over({}, profile="none").store)
    try:
        Quoth(store, plan.overrides).settings()
    except NoIndex as error:
        if not plan.settings.uploads:
            raise
        typer.echo(f"note: {error}; the first document that is uploaded makes one.", err=True)
    finally:
        store.close()
