"""The application (routes, errors, web page, OpenAPI, the gate around them) and the processes that serve it."""

from __future__ import annotations

import logging
import socket
import sqlite3
from collections.abc import Callable, Sequence
from functools import partial
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import Match, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Lifespan
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess

from quoth import __version__
from quoth.errors import QuothError, SettingsError
from quoth.http import (
    answer_routes,
    document_routes,
    find_routes,
    grid_routes,
    logs,
    mark_routes,
    operator_routes,
    receipt_routes,
)
from quoth.http.guard.request_bounds import SLOW_SECONDS
from quoth.http.http_faults import CLIENT_GONE, HttpFault, as_fault, invalid_body, unforeseen
from quoth.http.listening import server_config
from quoth.http.request_bodies import BatchBody
from quoth.http.request_gate import OPEN, PAGE_POLICY, RequestGate
from quoth.http.response_types import ERRORS, response_schemas
from quoth.http.service import ServeOptions, Service
from quoth.http.web_page import COOKIE, REMEMBERED, language_for, page_in
from quoth.output.messages import spoken
from quoth.protocols import RemoteShards
from quoth.settings import ServiceSettings

# Browsers revalidate the page each time, so that nobody sees half of the old one after an update.
_PAGE_HEADERS = {"Content-Security-Policy": PAGE_POLICY, "Cache-Control": "no-cache"}

_TAGS = [
    {"name": "questions", "description": "Answers, passages, and whether citations hold."},
    {"name": "documents", "description": "What is searched: reading it, quoting it, changing it."},
    {"name": "operation", "description": "For operators and for the page."},
]
_DESCRIPTION = """\
Answers in the very words of your documents, cited by exact offsets, or an honest abstention.

Offsets are half-open and count Unicode code points of a document's canonical text. Every error has one shape:
`{"error": {"code", "message", "hint"}}`. A key is sent as `Authorization: Bearer KEY`, or as `X-Api-Key: KEY`. Where a
key has a limit, `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset` (in seconds) say how much of it is left.
"""


_SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "A key that `quoth keys add NAME` made."},
    "key": {"type": "apiKey", "in": "header", "name": "X-Api-Key", "description": "The same, in a header of its own."},
}


_TEXT, _SECONDS = {"type": "string"}, {"type": "integer", "minimum": 1}
_HEADERS = {
    name: {"description": description, "required": True, "schema": schema}
    for name, description, schema in (
        ("X-Request-Id", "Of this request, in the log of the service too; as it was sent, or made anew.", _TEXT),
        ("Location", "Where to ask how far the job is.", _TEXT),
        ("WWW-Authenticate", "How to send a key.", _TEXT),
        ("Allow", "The methods that there are.", _TEXT),
        ("Retry-After", "When to come again, in seconds.", _SECONDS),
    )
}
_HEADERS_OF = {"202": "Location", "401": "WWW-Authenticate", "405": "Allow", "429": "Retry-After"}
"""The header that a response with this status has besides X-Request-Id."""


def make_app(
    options: ServeOptions, *, cluster: RemoteShards | None = None, slow_seconds: float = SLOW_SECONDS
) -> ASGIApp:
    """Return the application that a server runs.

    `cluster` is the index if its shards are on other machines; `slow_seconds` is how long a client may pause while it
    sends a body.
    """
    service = Service(options, cluster)
    app = api(service.settings, auth=options.auth, lifespan=lambda _: service.running())
    app.state.service = service
    return RequestGate(app, service, slow_seconds=slow_seconds)


def api(
    settings: ServiceSettings, *, auth: bool, prefix: str = "", lifespan: Lifespan[Any] | None = None
) -> Application:
    """Return the routes of an index, which ask for `app.state.service`.

    With a `prefix` it is one corpus of several: it has no page, no metrics of the process, and no path without a key.
    """
    routers = [
        operator_routes.router,
        *([] if prefix else [operator_routes.metrics_router]),
        operator_routes.facets_router,
        answer_routes.router,
        *([answer_routes.webhook_router(settings.webhook)] if settings.webhook else []),
        find_routes.router,
        mark_routes.router,
        receipt_routes.router,
        document_routes.router,
        grid_routes.router,
    ]
    open_paths = frozenset[str]() if prefix else OPEN
    app = application(routers, auth=auth, open_paths=open_paths, page=not prefix, lifespan=lifespan)
    if prefix:
        app.servers = [{"url": prefix}]
    return app


def application(
    routers: Sequence[APIRouter],
    *,
    auth: bool,
    open_paths: frozenset[str],
    page: bool = False,
    lifespan: Lifespan[Any] | None = None,
) -> Application:
    """Return an application of these routes, with our errors and our description."""
    app = Application(
        title="Quoth",
        version=__version__,
        description=_DESCRIPTION,
        license_info={"name": "MIT", "identifier": "MIT"},
        openapi_tags=_TAGS,
        lifespan=lifespan,
        docs_url=None,  # it would load scripts from elsewhere; docs/http.md is the reference
        redoc_url=None,
        redirect_slashes=False,
        responses=ERRORS,
        strict_content_type=True,
    )
    app.state.auth, app.state.open_paths = auth, open_paths
    for router in routers:
        app.include_router(router)
    if page:
        _add_page(app)
    routes = chain(app.routes, *(router.routes for router in routers))
    app.state.routes = [route for route in routes if isinstance(route, Route)]
    for kind in (QuothError, HTTPException, RequestValidationError, ClientDisconnect, Exception):
        app.add_exception_handler(kind, _error_response)
    return app


def make_one_of_many(make: Callable[[], ASGIApp]) -> ASGIApp:
    """Return the application of one process among several; if it cannot be made, make all of them stop."""
    logs.set_up()
    try:
        return make()
    except (QuothError, OSError, sqlite3.Error) as error:
        logs.log("cannot start", level=logging.ERROR, message=str(error), hint=getattr(error, "hint", ""))
        raise SystemExit(STARTUP_FAILURE) from error


def serve(options: ServeOptions, sockets: list[socket.socket], *, workers: int) -> None:
    """Serve an index until a signal comes, then finish the requests under way."""
    run(partial(make_app, options), sockets, workers=workers, grace_seconds=options.settings.grace_seconds)


def run(make: Callable[[], ASGIApp], sockets: list[socket.socket], *, workers: int, grace_seconds: float) -> None:
    """Serve what `make` returns in each process until a signal comes, then finish the requests under way."""
    config = server_config(
        make if workers == 1 else partial(make_one_of_many, make),
        grace_seconds=grace_seconds,
        factory=True,
        workers=workers,
    )
    if workers == 1:
        uvicorn.Server(config).run(sockets)
        return
    processes = Multiprocess(config, sockets)
    processes.run()
    if any(process.exitcode == STARTUP_FAILURE for process in processes.processes):
        raise SettingsError("the service cannot start", hint="Its log says why, above.")


def _add_page(app: FastAPI) -> None:
    web = Path(str(files("quoth").joinpath("web")))

    @app.get("/", include_in_schema=False)
    async def page(request: Request) -> Response:
        language = language_for(request)
        headers = {**_PAGE_HEADERS, "Content-Language": language, "Vary": "Accept-Language, Cookie"}
        response = HTMLResponse(page_in(language), headers=headers)
        if spoken(request.query_params.get("lang", "")) is not None:
            response.set_cookie(COOKIE, language, max_age=REMEMBERED, samesite="lax", httponly=True)
        return response

    @app.get("/favicon.ico", include_in_schema=False)
    async def icon() -> Response:
        return FileResponse(web / "icon.svg", headers=_PAGE_HEADERS, media_type="image/svg+xml")

    app.mount("/web/messages", _PageFiles(directory=web.with_name("messages")))
    app.mount("/web", _PageFiles(directory=web))


class _PageFiles(StaticFiles):
    def file_response(self, *args: Any, **kwargs: Any) -> Response:  # noqa: ANN401 - as its parent takes them
        response = super().file_response(*args, **kwargs)
        response.headers.update(_PAGE_HEADERS)
        return response


async def _error_response(request: Request, error: Exception) -> Response:
    if isinstance(error, ClientDisconnect):
        return Response(status_code=CLIENT_GONE)  # nobody reads it, but the log does not call it a failure
    fault = _fault(request, error)
    request.scope["state"]["fault"] = fault.code  # for the metrics
    return fault.response()


def _fault(request: Request, error: Exception) -> HttpFault:
    match error:
        case HttpFault():
            return error
        case QuothError():
            fault = as_fault(error)
            if fault.status_code >= 500:
                logs.log("fault", level=logging.ERROR, code=error.code, message=str(error), hint=error.hint)
            return fault
        case HTTPException(status_code=status):
            headers = dict(error.headers or {})
            if status == 405:
                headers["Allow"] = ", ".join(sorted(_allowed_methods(request)))
            hint = "See /openapi.json for what there is."
            code = {404: "not-found", 405: "method"}.get(status, "request")
            return HttpFault(status, code, str(error.detail).lower(), hint=hint, headers=headers)
        case RequestValidationError():
            return invalid_body(error.errors(), hint="See /openapi.json for what is expected.")
    return unforeseen(logs.REQUEST_ID.get())  # the framework raises the error again afterwards, and the gate logs it


def _allowed_methods(request: Request) -> set[str]:
    """Return the methods of all routes that match the path; the framework names only those of the first."""
    matching = [route for route in request.app.state.routes if route.matches(request.scope)[0] is not Match.NONE]
    methods = {method for route in matching for method in route.methods or ()} or {"GET"}  # page files have no route
    return methods | {"HEAD"} if "GET" in methods else methods


class Application(FastAPI):
    """The routes with all of their description; `state.open_paths` need no key, and the others do if `state.auth`."""

    def openapi(self) -> dict[str, Any]:
        if not self.openapi_schema:
            _complete(super().openapi(), keys=self.state.auth, open_paths=self.state.open_paths)
        return super().openapi()


def _complete(document: dict[str, Any], *, keys: bool, open_paths: frozenset[str]) -> None:
    """Add what the framework cannot know to its description. `keys` is whether this service asks for one."""
    # A body of two kinds is read by hand, so that nobody else describes it.
    batch = BatchBody.model_json_schema(ref_template="#/components/schemas/{model}")
    components = document.setdefault("components", {"schemas": {}})  # none where no route takes anything
    components["schemas"] |= response_schemas() | batch.pop("$defs") | {"BatchBody": batch}
    components |= {"securitySchemes": _SCHEMES, "headers": _HEADERS}
    # Where the operator chose so, none is needed, and {} says that.
    document["security"] = [{name: []} for name in _SCHEMES] if keys else [{}]
    for path, methods in document["paths"].items():
        for operation in methods.values():
            if path in open_paths:
                operation["security"] = []
            if "description" in operation:  # the docstring of a route, whose lines are those of its file
                operation["description"] = " ".join(operation["description"].split())
            for status, response in operation["responses"].items():
                names = ["X-Request-Id", *([_HEADERS_OF[status]] if status in _HEADERS_OF else [])]
                response["headers"] = {name: {"$ref": f"#/components/headers/{name}"} for name in names}
