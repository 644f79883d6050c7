"""Several corpora in one service: an application for each under `/c/{corpus}`, and the routes that they share."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from fastapi import APIRouter
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.datastructures import MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quoth import __version__
from quoth.errors import QuothError
from quoth.http import logs, operator_routes, telemetry
from quoth.http.app import Application, api, application
from quoth.http.blocking_work import BoundedPool
from quoth.http.corpora import Corpus
from quoth.http.guard.access import AccessControl, ClosedAccess
from quoth.http.guard.askers import ANYBODY
from quoth.http.guard.request_bounds import SLOW_SECONDS
from quoth.http.http_faults import HttpFault, json_response
from quoth.http.read_log import ReadLog
from quoth.http.request_gate import RequestGate
from quoth.http.response_types import ReadinessJson
from quoth.http.service import ServeOptions, Service, SharedWork, shared_work
from quoth.overrides import Overrides
from quoth.settings import ServiceSettings, Settings

PREFIX = "/c/"
_OPEN = frozenset({"/healthz", "/health", "/readyz", "/openapi.json"})
"""Paths of the service itself that need no key, and name no corpus."""
_NOT_READY = {"store": False, "index": False, "model": False}
_CANNOT_OPEN = (QuothError, OSError, sqlite3.Error)
_PARAMETER = {
    "name": "corpus",
    "in": "path",
    "required": True,
    "description": "The name of a corpus that the key opens.",
    "schema": {"type": "string"},
}


@dataclass(frozen=True, slots=True)
class CorporaOptions:
    """The options of `quoth serve` for several corpora. `overrides` are those of the service itself."""

    overrides: Overrides
    corpora: Mapping[str, Corpus]
    profile: str | None
    auth: bool

    @property
    def settings(self) -> Settings:
        return self.overrides.without_profile()

    def plan(self, corpus: Corpus) -> ServeOptions:
        """Return what a service of this corpus alone would be given."""
        return ServeOptions(corpus.index, corpus.overrides, corpus.profile or self.profile, self.auth)


@dataclass(frozen=True, slots=True)
class _Entrance:
    """What a gate knows where no index is behind it."""

    access: AccessControl | None
    settings: ServiceSettings
    traces: telemetry.Traces
    pool: BoundedPool
    reads: ReadLog | None = None
    question_paths: frozenset[str] = frozenset()


class _OpenCorpus:
    """One corpus: its service behind its gate. If it could not be opened, it answers its keys with a 503."""

    def __init__(self, name: str, plan: ServeOptions, shared: SharedWork, *, slow_seconds: float) -> None:
        self.name = name
        self.service: Service | None = None
        self._plan = plan
        self._gated = partial(RequestGate, slow_seconds=slow_seconds, open_paths=frozenset())
        access = AccessControl(plan.overrides.without_profile(), discreet=True) if plan.auth else None
        self._closed = _Entrance(access, plan.settings, shared.traces, shared.pool)
        self._gate = self._gated(_unavailable, self._closed)
        with _logged_as(name):
            try:
                service = Service(plan, shared=shared)
            except _CANNOT_OPEN as error:
                _log_closed(error)
                return
            app = api(plan.settings, auth=plan.auth, prefix=f"{PREFIX}{name}")
            app.state.service = self.service = service
            self._gate = self._gated(app, service)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with _logged_as(self.name):
            await self._gate(scope, receive, send)

    async def live(self, began: asyncio.Event, ended: asyncio.Event) -> None:
        """Run the service until `ended`. `began` is set when it takes requests, or is known not to."""
        try:
            if self.service is not None:
                with _logged_as(self.name):
                    await self._run(self.service, began, ended)
        finally:
            began.set()
            if self._closed.access is not None:
                self._closed.access.close()

    async def _run(self, service: Service, began: asyncio.Event, ended: asyncio.Event) -> None:
        try:
            async with service.running():
                began.set()
                await ended.wait()
        except _CANNOT_OPEN as error:
            if began.is_set():
                raise  # it could not end well, which is for the log of the server
            self.service, self._gate = None, self._gated(_unavailable, self._closed)
            _log_closed(error)
            began.set()
            await ended.wait()

    async def checks(self) -> Mapping[str, bool]:
        return (await self.service.readiness() if self.service is not None else None) or _NOT_READY

    async def values(self) -> Mapping[str, float]:
        """Return its metrics for operators, who see all of it."""
        counted = await self.service.index_values(ANYBODY) if self.service is not None else {}
        return {**counted, "ready": float(all((await self.checks()).values()))}


class CorporaApp:
    """The ASGI application of a service with several corpora.

    Whoever has no key of a corpus is answered by `_nowhere`, or in its very words: as if there were no such corpus.
    """

    def __init__(self, options: CorporaOptions, *, slow_seconds: float = SLOW_SECONDS) -> None:
        settings = options.settings
        self._shared = shared_work(settings.service)
        self._corpora = {
            name: _OpenCorpus(name, options.plan(corpus), self._shared, slow_seconds=slow_seconds)
            for name, corpus in options.corpora.items()
        }
        self._accesses = [kind(settings) for kind in (AccessControl, ClosedAccess)] if options.auth else [None, None]
        operators, nobody = (
            _Entrance(access, settings.service, self._shared.traces, self._shared.pool) for access in self._accesses
        )
        self._app = _root(self._corpora, settings.service, auth=options.auth)
        self._root = RequestGate(self._app, operators, slow_seconds=slow_seconds, open_paths=_OPEN)
        self._nowhere = RequestGate(_not_found, nobody, slow_seconds=slow_seconds, open_paths=frozenset())
        self._app.router.lifespan_context = lambda _: self._running()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(PREFIX):
            await self._root(scope, receive, send)
            return
        name, _, rest = scope["path"].removeprefix(PREFIX).partition("/")
        corpus = self._corpora.get(name)
        if corpus is None:
            await self._nowhere(scope, receive, send)
            return
        # The raw path is left out: it still has the prefix.
        inner = {**{key: value for key, value in scope.items() if key != "raw_path"}, "path": f"/{rest}"}
        await corpus(inner, receive, partial(_send_located, send, f"{PREFIX}{name}"))

    @asynccontextmanager
    async def _running(self) -> AsyncIterator[None]:
        ended = asyncio.Event()
        lives = []
        for corpus in self._corpora.values():
            began = asyncio.Event()
            lives.append(asyncio.create_task(corpus.live(began, ended)))
            await began.wait()
        try:
            yield
        finally:
            ended.set()
            failed = [one for one in await asyncio.gather(*lives, return_exceptions=True) if one is not None]
            for access in self._accesses:
                if access is not None:
                    access.close()
            self._shared.close()
            for error in failed:
                raise error


def make_corpora_app(options: CorporaOptions) -> ASGIApp:
    """Return the application that a server runs for several corpora."""
    return CorporaApp(options)


async def _send_located(send: Send, prefix: str, message: Message) -> None:
    """Send a message of a corpus on; what it says to be at `/jobs/…` is below its prefix."""
    if message["type"] == "http.response.start":
        headers = MutableHeaders(scope=message)
        if headers.get("location", "").startswith("/"):
            headers["location"] = f"{prefix}{headers['location']}"
    await send(message)


def _root(corpora: Mapping[str, _OpenCorpus], settings: ServiceSettings, *, auth: bool) -> Application:
    """Return the routes of the service itself."""
    described = api(settings, auth=auth, prefix=f"{PREFIX}{{corpus}}")
    routes = APIRouter(tags=["operation"])

    @routes.get("/healthz", summary="Is it alive?", responses=operator_routes.HEALTHY)
    @routes.get("/health", summary="Is it alive?", responses=operator_routes.HEALTHY)
    async def health() -> Response:
        return await operator_routes.health()

    @routes.get("/readyz", summary="Can it answer?", responses=operator_routes.READY)
    async def ready() -> Response:
        """Whether every corpus has a store that can be reached, an index, and its model."""
        checked = await asyncio.gather(*(corpus.checks() for corpus in corpora.values()))
        checks = {name: all(one[name] for one in checked) for name in _NOT_READY}
        is_ready = all(checks.values())
        message = "" if is_ready else "not ready"
        return json_response(ReadinessJson(is_ready, checks, [], [], message), 200 if is_ready else 503)

    @routes.get("/metrics", summary="Metrics for Prometheus", responses=operator_routes.METRICS)
    async def scrape() -> Response:
        """The metrics of the process and of every corpus, for a key of the service itself."""
        found = await asyncio.gather(*(corpus.values() for corpus in corpora.values()))
        values = dict(zip(corpora, found, strict=True))
        text = await asyncio.to_thread(telemetry.scrape, {}, version=__version__, corpora=values)
        return Response(text, headers={"Content-Type": CONTENT_TYPE_LATEST})

    app = application([routes], auth=auth, open_paths=_OPEN)
    _add_paths(app.openapi(), described.openapi())
    return app


def _add_paths(document: dict[str, Any], of_corpus: Mapping[str, Any]) -> None:
    """Add the routes of a corpus to the description of the service, each with the name of the corpus in its path."""
    for path, methods in of_corpus["paths"].items():
        for operation in methods.values():
            operation["parameters"] = [_PARAMETER, *operation.get("parameters", ())]
            operation["operationId"] = f"corpus_{operation['operationId']}"
        document["paths"][f"{PREFIX}{{corpus}}{path}"] = methods
    for kind, parts in of_corpus["components"].items():
        document["components"].setdefault(kind, {}).update(parts)


async def _unavailable(scope: Scope, receive: Receive, send: Send) -> None:
    hint = "Try again in a while, or tell the operator of the service."
    raise HttpFault(503, "index", "the index cannot be used now", hint=hint, headers={"Retry-After": "30"})


async def _not_found(scope: Scope, receive: Receive, send: Send) -> None:
    raise HttpFault(404, "not-found", "not found", hint="See /openapi.json for what there is.")


@contextmanager
def _logged_as(corpus: str) -> Iterator[None]:
    token = logs.CORPUS.set(corpus)
    try:
        yield
    finally:
        logs.CORPUS.reset(token)


def _log_closed(error: Exception) -> None:
    hint = f"{getattr(error, 'hint', '')} Then start the service again.".strip()
    logs.log("cannot open a corpus", level=logging.ERROR, message=str(error), hint=hint)
