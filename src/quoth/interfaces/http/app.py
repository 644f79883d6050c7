"""The application: routes, errors, the page, and the gate around all of it."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import FileResponse, Response
from starlette.routing import Match, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from quoth import __version__
from quoth.errors import QuothError
from quoth.interfaces.http import asking, documents, logs, marking, operating, uploading
from quoth.interfaces.http.described import ERRORS
from quoth.interfaces.http.faults import GONE, HttpFault, as_fault, error_json, unforeseen
from quoth.interfaces.http.gate import PAGE_POLICY, SLOW_SECONDS, Gate
from quoth.interfaces.http.openapi import describe
from quoth.interfaces.http.service import Plan, Service
from quoth.protocols import RemoteShards

_CODES = {404: "not-found", 405: "method"}


def make_app(plan: Plan, *, cluster: RemoteShards | None = None, slow_seconds: float = SLOW_SECONDS) -> ASGIApp:
    """The application for a plan, as a server runs it; `slow_seconds` is how long a client may pause while it sends.

    `cluster` is the index where its shards are elsewhere.
    """
    service = Service(plan, cluster)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await service.begin()
        try:
            yield
        finally:
            await service.end()

    app = FastAPI(
        title="Quoth",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,  # it would load scripts from elsewhere; docs/http.md is the reference
        redoc_url=None,
        redirect_slashes=False,
        responses=ERRORS,
        strict_content_type=True,
    )
    app.state.service = service
    app.openapi = lambda: describe(app, keys=plan.auth)  # type: ignore[method-assign]
    for one in (operating, asking, marking, documents, uploading):
        app.include_router(one.router)
    _add_page(app)
    app.state.routes = _routes(app)
    app.add_exception_handler(QuothError, _ours)
    app.add_exception_handler(HTTPException, _theirs)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(ClientDisconnect, _gone)
    app.add_exception_handler(Exception, _unforeseen)
    return Gate(app, service, slow_seconds=slow_seconds)


def _add_page(app: FastAPI) -> None:
    web = Path(str(files("quoth.interfaces").joinpath("web")))
    headers = {"Content-Security-Policy": PAGE_POLICY, "Cache-Control": "no-cache"}

    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        return FileResponse(web / "index.html", headers=headers)

    @app.get("/favicon.ico", include_in_schema=False)
    async def icon() -> Response:
        return FileResponse(web / "icon.svg", headers=headers, media_type="image/svg+xml")

    app.mount("/web", _Files(directory=web))


class _Files(StaticFiles):
    """Kept by browsers, but asked for anew each time: after an update nobody sees half of the old page."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:  # noqa: ANN401 - as its parent takes them
        response = super().file_response(*args, **kwargs)
        response.headers["Cache-Control"] = "no-cache"
        response.headers["Content-Security-Policy"] = PAGE_POLICY
        return response


async def _ours(request: Request, error: Exception) -> Response:
    assert isinstance(error, QuothError)  # noqa: S101 - for the type alone
    fault = as_fault(error)
    if fault.status_code >= 500:
        logs.log("fault", level=logging.ERROR, code=error.code, message=str(error), hint=error.hint)
    return _said(request, fault)


async def _theirs(request: Request, error: Exception) -> Response:
    if isinstance(error, HttpFault):
        return _said(request, error)
    assert isinstance(error, HTTPException)  # noqa: S101
    hint = "See /openapi.json for what there is."
    headers = dict(error.headers or {})
    if error.status_code == 405:
        headers["Allow"] = ", ".join(sorted(_methods(request)))
    return _said(
        request,
        HttpFault(
            error.status_code,
            _CODES.get(error.status_code, "request"),
            str(error.detail).lower(),
            hint=hint,
            headers=headers,
        ),
    )


def _routes(app: FastAPI) -> list[Route]:
    every = chain(app.routes, *(one.router.routes for one in (operating, asking, marking, documents, uploading)))
    return [route for route in every if isinstance(route, Route)]


def _methods(request: Request) -> set[str]:
    """Those that a path can be asked with: the framework names those of the first route alone."""
    fitting = [one for one in request.app.state.routes if one.matches(request.scope)[0] is not Match.NONE]
    found = {method for one in fitting for method in one.methods or ()} or {"GET"}  # a file of the page is no route
    return found | {"HEAD"} if "GET" in found else found


async def _invalid(request: Request, error: Exception) -> Response:
    """Says where the request is wrong; what it held is not repeated, since it may not even be text."""
    assert isinstance(error, RequestValidationError)  # noqa: S101
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"] if part != "body")
    said = f"{where}: {first['msg']}" if where else str(first["msg"])
    return _said(request, HttpFault(422, "body", said[:500], hint="See /openapi.json for what is expected."))


async def _gone(request: Request, error: Exception) -> Response:
    return Response(status_code=GONE)  # nobody reads it; the log does not call it a failure


async def _unforeseen(request: Request, error: Exception) -> Response:
    """The framework raises it again behind this, and the gate logs it."""
    return _said(request, unforeseen(logs.REQUEST_ID.get()))


def _said(request: Request, fault: HttpFault) -> Response:
    request.scope["state"]["fault"] = fault.code  # the gate counts it
    return asking.json_response(error_json(fault.code, str(fault.detail), fault.hint), fault.status_code, fault.headers)
