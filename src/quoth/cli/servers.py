"""`quoth serve` and `quoth mcp`."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from quoth.cli import options
from quoth.errors import KeyFault, MissingExtra, NoIndex, QuothError, SettingsError
from quoth.http.corpora import Corpus, corpora_in
from quoth.http.guard.api_keys import check_access
from quoth.library import Quoth
from quoth.machine import available_cores
from quoth.overrides import Overrides
from quoth.wiring import open_store

if TYPE_CHECKING:
    from quoth.http.corpora_app import CorporaOptions
    from quoth.http.service import ServeOptions

_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_ANY_NODE = {"0.0.0.0", "::", "127.0.0.1", "::1", "localhost"}  # noqa: S104 - nothing is bound
"""Addresses that mean each machine itself."""


def serve(
    context: typer.Context,
    index: options.Index = options.DEFAULT_INDEX,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port to listen on; 0 is any free.")] = 8080,
    workers: Annotated[int, typer.Option(min=1, max=256, help="Processes that answer.")] = 1,
    cluster: Annotated[
        str | None, typer.Option(metavar="URI", help="Serve an index of shards on Ray: a folder, or `s3://…`.")
    ] = None,
    address: options.RayAddress = None,
    replicas: Annotated[int, typer.Option(min=1, help="Of each shard, on different nodes.")] = 1,
    max_replicas: Annotated[int | None, typer.Option(min=1, help="Up to which Ray may add some under load.")] = None,
    shard_seconds: Annotated[
        float | None,
        typer.Option(
            min=0.05, help="How long a shard may take for a call, all tries together; after that it is left out."
        ),
    ] = None,
    watch: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Ingest this folder, and again whenever it changes.")
    ] = None,
    no_auth: Annotated[bool, typer.Option("--no-auth", help="Ask for no key; only on this machine.")] = False,
    profile: Annotated[
        str | None, typer.Option(envvar="QUOTH_PROFILE", help="For an index that is not there yet.")
    ] = None,
    config: options.Config = None,
    assignments: options.Assignments = None,
) -> None:
    """Serve answers over HTTP, with a web page for people.

    Example: `quoth serve --no-auth --watch guides/`, then open http://127.0.0.1:8080
    """
    given = options.overrides(config, assignments)
    _check_options(context, cluster)
    if shard_seconds is not None:
        given = replace(given, flags={**given.flags, "service.shard_seconds": str(shard_seconds)})
    if cluster is not None:
        if corpora_in(given):
            raise SettingsError(
                "--cluster serves one index, and quoth.yaml names several corpora",
                hint="Give --config a file without 'corpora'.",
            )
        replication = (replicas, max_replicas)
        _serve_on_ray(cluster, given, address, replication, host=host, port=port, auth=not no_auth)
        return
    given = _with_threads(given, workers)
    corpora = corpora_in(given)
    _check_corpora_options(context, corpora)
    for number in _SIGNALS:  # the server re-raises it at the end: a stop is no failure
        signal.signal(number, _stop)
    counts = tempfile.mkdtemp(prefix="quoth-metrics-")
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = counts  # read when the library is imported, below
    try:
        try:
            from quoth.http import logs
            from quoth.http.app import run, serve
            from quoth.http.corpora_app import CorporaOptions, make_corpora_app
            from quoth.http.listening import listen
            from quoth.http.service import ServeOptions, check_state
            from quoth.http.watched_folder import watching
        except ImportError as error:
            raise MissingExtra("quoth serve", "serve") from error
        if corpora:
            several = CorporaOptions(overrides=given, corpora=corpora, profile=profile, auth=not no_auth)
            _check_corpora(several, host=host)
            with listen(host, port) as (sockets, taken):
                typer.echo(f"Serving {len(corpora)} corpora on {_url(host, taken)} (stop with Ctrl-C).", err=True)
                logs.set_up()
                make, grace_seconds = partial(make_corpora_app, several), several.settings.service.grace_seconds
                run(make, sockets, workers=workers, grace_seconds=grace_seconds)
            return
        plan = ServeOptions(index=index, overrides=given, profile=profile, auth=not no_auth)
        check_access(plan.overrides.without_profile(), host=host, auth=plan.auth)
        _check_index(plan, watch)
        check_state(plan)
        with listen(host, port) as (sockets, taken):
            typer.echo(
                f"Serving {options.location_of(index, given)} on {_url(host, taken)} (stop with Ctrl-C).", err=True
            )
            logs.set_up()
            with nullcontext() if watch is None else watching(watch, plan):
                serve(plan, sockets, workers=workers)
    finally:
        shutil.rmtree(counts, ignore_errors=True)


def _url(host: str, port: int) -> str:
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def _stop(number: int, frame: FrameType | None) -> None:
    for signal_number in _SIGNALS:  # another signal must not interrupt the end
        signal.signal(signal_number, signal.SIG_IGN)
    raise SystemExit(0)


def _with_threads(given: Overrides, workers: int) -> Overrides:
    """Give each process its share of the cores, unless the user sets the threads; else each would use all cores."""
    if workers == 1:
        return given
    key, share = "embedding.threads", str(max(1, available_cores() // workers))
    named = key in given.flags or key in given.environment or "threads" in (given.file.get("embedding") or {})
    return given if named else replace(given, flags={**given.flags, key: share})


def _check_options(context: typer.Context, cluster: str | None) -> None:
    """Raise `SettingsError` for options that make no sense together."""
    given = {name for name in context.params if str(context.get_parameter_source(name)).endswith("COMMANDLINE")}
    if cluster is None:
        for name in ("address", "replicas", "max_replicas", "shard_seconds"):
            if name in given:
                raise SettingsError(
                    f"--{name.replace('_', '-')} is for an index that is served on Ray",
                    hint="Give --cluster URI too, or leave it out.",
                )
        return
    for name, instead in (
        ("index", "--cluster names the index."),
        ("workers", "Use --replicas, which is for each node of the cluster."),
        ("profile", "The profile is that of the index."),
        ("watch", "Run quoth cluster ingest when documents change."),
    ):
        if name in given:
            raise SettingsError(f"--{name} cannot be given with --cluster", hint=instead)


def _check_corpora_options(context: typer.Context, corpora: Mapping[str, Corpus]) -> None:
    """Raise `SettingsError` for options of a service with a single index."""
    for name, hint in (
        ("index", "Give --config a file without 'corpora', or name the index there."),
        ("watch", "Serve that corpus by itself, or run quoth ingest when its documents change."),
    ):
        if corpora and str(context.get_parameter_source(name)).endswith("COMMANDLINE"):
            raise SettingsError(f"--{name} cannot be given with the corpora of quoth.yaml", hint=hint)


def _check_corpora(several: CorporaOptions, *, host: str) -> None:
    """Say on standard error which corpora cannot be served yet; raise if none of them can be asked by anybody."""
    from quoth.http.service import check_state

    faults: list[QuothError] = []
    for corpus in several.corpora.values():
        plan = several.plan(corpus)
        try:
            check_access(plan.overrides.without_profile(), host=host, auth=plan.auth)
        except (SettingsError, KeyFault) as error:
            faults.append(error)
            typer.echo(f"note: corpus '{corpus.name}': {error}; quoth keys add NAME --corpus {corpus.name}", err=True)
        try:
            check_state(plan)
            _check_index(plan, None)
        except QuothError as error:
            typer.echo(f"note: corpus '{corpus.name}' cannot be opened: {error}", err=True)
    if len(faults) == len(several.corpora):
        raise faults[0]


def _serve_on_ray(
    uri: str,
    overrides: Overrides,
    address: str | None,
    replication: tuple[int, int | None],
    *,
    host: str,
    port: int,
    auth: bool,
) -> None:
    """Serve until a signal stops it. Report errors in the index or the settings before anything listens."""
    try:
        from quoth.cluster.ray_session import connected
        from quoth.cluster.serving import check_running, checked, deployed, has_memory, nodes_for_replicas, serving_plan
    except ImportError as error:
        raise MissingExtra("quoth serve", "serve") from error
    replicas, most = replication
    serving = serving_plan(uri, overrides, replicas=replicas, max_replicas=most, auth=auth)
    check_access(overrides.without_profile(), host=host, auth=auth)
    cluster = checked(serving.plan)
    if address is None:
        port = _free_port(host, port)
    with connected(address), _stopping():
        if address is not None:
            port = check_running(host, port) or _free_port(host, port)
        nodes = nodes_for_replicas()
        serving = replace(serving, spread=1 < replicas <= nodes, sized=has_memory(serving))
        if replicas > nodes:
            note = f"note: {replicas} replicas on {nodes} nodes: some are on the same node, and go with it."
            typer.echo(note, err=True)
        everywhere = address is not None and host in _ANY_NODE  # else it is the address of one of them
        with deployed(serving, cluster, host=host, port=port, everywhere=everywhere):
            count = len(cluster.shards)
            shards = f"{count} shards" if count > 1 else "1 shard"
            url = _url(host, port)
            typer.echo(f"Serving {serving.plan.index} ({shards}) on {url} (stop with Ctrl-C).", err=True)
            threading.Event().wait()


def _free_port(host: str, port: int) -> int:
    """Return a port that can be listened on; Serve itself would try for long, and say little."""
    from quoth.http.listening import listen

    with listen(host, port) as (_, free):
        return free


@contextmanager
def _stopping() -> Iterator[None]:
    """Let a signal end the wait and undo what was begun; Ray has its own handlers, until here."""
    before = {number: signal.signal(number, _stop) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            if signal.getsignal(number) is _stop:  # else the process is ending, and nothing may interrupt that
                signal.signal(number, handler)


def _check_index(plan: ServeOptions, watch: Path | None) -> None:
    """Raise errors of the index, the settings or the watched folder now, not in every request."""
    if watch is not None and not watch.is_dir():
        raise SettingsError(f"--watch {watch} is no folder", hint="Give a folder with documents.")
    if watch is not None and find_spec("watchfiles") is None:
        raise MissingExtra("watching a folder", "watch")
    store = open_store(plan.index, plan.overrides.without_profile().store)
    try:
        Quoth(store, plan.overrides).settings()
    except NoIndex as error:
        if not plan.settings.uploads and watch is None:
            raise
        maker = "the folder that is watched" if watch else "the first document that is uploaded"
        typer.echo(f"note: {error}; {maker} makes one.", err=True)
    finally:
        store.close()


def serve_mcp(
    index: options.Index = options.DEFAULT_INDEX,
    http: Annotated[
        bool, typer.Option("--http", help="Serve over HTTP at `/mcp`, not over standard input and output.")
    ] = False,
    host: Annotated[str, typer.Option(help="With --http: the address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="With --http: the port; 0 takes a free one.")] = 8765,
    no_auth: Annotated[
        bool, typer.Option("--no-auth", help="With --http: no key is needed; only on a loopback address.")
    ] = False,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="With --http: a name that clients call this machine by; repeatable."),
    ] = None,
    config: options.Config = None,
    assignments: options.Assignments = None,
) -> None:
    """Serve the index to agents over the Model Context Protocol: tools to ask, retrieve, read and verify.

    Examples: `quoth mcp --index guides/.quoth` and `quoth mcp --http --port 8765`
    """
    if not http and (no_auth or allowed_host):
        raise typer.BadParameter("--no-auth and --allowed-host go with --http")
    if find_spec("mcp") is None or find_spec("uvicorn") is None:
        raise MissingExtra("the MCP server", "mcp")
    from quoth.mcp.transports import serve_http, serve_stdio

    settings = options.overrides(config, assignments).without_profile()
    quoth = options.open_quoth(index, config=config, assignments=assignments)
    talk = partial(typer.echo, err=True)
    if http:
        serve_http(quoth, settings, host=host, port=port, no_auth=no_auth, names=allowed_host or (), say=talk)
    else:
        serve_stdio(quoth, settings.service, say=talk)
