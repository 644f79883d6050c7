"""The application: routes, errors, the page, and the gate around all of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from quoth import __version__
from quoth.errors import QuothError
from quoth.interfaces.http import asking, documents, logs, marking, operating
from quoth.interfaces.http.described import ERRORS
from quoth.interfaces.http.faults import HttpFault, as_fault, error_json
from quoth.interfaces.http.gate import PAGE_POLICY, Gate
from quoth.interfaces.http.openapi import describe
from quoth.interfaces.http.service import Plan, Service

_CODES = {404: "not-found", 405: "method"}


def make_app(plan: Plan) -> ASGIApp:
    """The application for a plan, as a server runs it."""
    service = Service(plan)

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
    app.openapi = lambda: describe(app)  # type: ignore[method-assign]
    for one in (operating, asking, marking, documents):
        app.include_router(one.router)
    _add_page(app)
    app.add_exception_handler(QuothError, _ours)
    app.add_exception_handler(HTTPException, _theirs)
    app.add_exception_handler(RequestValidationError, _invalid)
    guarded: ASGIApp = Gate(app, service)
    if origins := plan.settings.cors.split():
        exposed = [
            "X-Request-Id",
            "Retry-After",
            "RateLimit-Limit",
            "RateLimit-Remaining",
            "RateLimit-Reset",
            "Location",
        ]
        guarded = CORSMiddleware(
            guarded,
            allow_origins=origins,
            allow_methods=["GET", "POST", "PUT", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "X-Api-Key", "X-Request-Id"],
            expose_headers=exposed,
        )
    return guarded


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
        logs.log("fault", code=error.code, message=str(error), hint=error.hint)
    return _said(fault)


async def _theirs(request: Request, error: Exception) -> Response:
    if isinstance(error, HttpFault):
        return _said(error)
    assert isinstance(error, HTTPException)  # noqa: S101
    hint = "See /openapi.json for what there is."
    return _said(
        HttpFault(
            error.status_code,
            _CODES.get(error.status_code, "request"),
            str(error.detail).lower(),
            hint=hint,
            headers=error.headers,
        )
    )


async def _invalid(request: Request, error: Exception) -> Response:
    """Says where the request is wrong; what it held is not repeated, since it may not even be text."""
    assert isinstance(error, RequestValidationError)  # noqa: S101
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"] if part != "body")
    said = f"{where}: {first['msg']}" if where else str(first["msg"])
    return _said(HttpFault(422, "body", said[:500], hint="See /openapi.json for what is expected."))


def _said(fault: HttpFault) -> Response:
    return asking.json_response(error_json(fault.code, str(fault.detail), fault.hint), fault.status_code, fault.headers)
