"""Routes for grids: each question asked of each document, as a job."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import FileResponse, Response

from quoth.grid.grid_cells import GridPlan, plan_grid
from quoth.http.answer_routes import Served, as_question, note_question, plain
from quoth.http.grid_jobs import FILES, MOST_WAITING
from quoth.http.http_faults import HttpFault, busy, json_response
from quoth.http.read_log import quotes_in
from quoth.http.request_bodies import GridBody
from quoth.http.response_types import ErrorJson, GridJobJson, GridListJson, gives
from quoth.http.service import Service, asker_of
from quoth.types import Access

router = APIRouter(tags=["questions"])
_MEDIA_TYPES = {
    "grid.html": "text/html; charset=utf-8",
    "grid.csv": "text/csv; charset=utf-8",
    "grid.xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "grid.jsonl": "application/jsonl",
}


@router.post(
    "/grids",
    status_code=202,
    summary="Ask each question of each document",
    responses={
        202: gives(GridJobJson, "It will be made; `Location` says where to ask how far it is."),
        507: gives(ErrorJson, "There is no room left."),
    },
)
async def make(request: Request, body: GridBody, service: Served) -> Response:
    """A table with a row for each document and a column for each question. A cell is the best quote with its place, or
    says that the document does not state it."""
    content: dict[str, Any] = {
        "questions": [plain(question) for question in body.questions],
        "docs": body.docs or [],
        "document_types": [body.document_type] if isinstance(body.document_type, str) else body.document_type or [],
    }
    asker = asker_of(request)
    questions = [as_question(each, default_id=str(at)) for at, each in enumerate(content["questions"], 1)]
    for question in questions:
        note_question(request, service, question)

    def plan() -> tuple[GridPlan, Access]:
        access, types = service.accesses.of(asker), content["document_types"]
        return plan_grid(service.quoth.seen_by(access), questions, docs=content["docs"], document_types=types), access

    planned, access = await service.run(request, plan)
    _check_size(service, planned)
    try:
        job = await asyncio.to_thread(service.grids.add, content, planned, asker=asker.id, access=access)
    except OSError as error:
        hint = "Ask the operator of the service to make room in the folder of its state."
        raise HttpFault(507, "no-room", f"the grid cannot be kept: {error.strerror}", hint=hint) from error
    return json_response(job, 202, {"Location": f"/grids/{job.id}"})


def _check_size(service: Service, plan: GridPlan) -> None:
    cells, most = len(plan.documents) * len(plan.questions), service.settings.max_cells
    if cells > most:
        hint = "Ask fewer questions or documents at once, or raise service.max_cells."
        raise HttpFault(413, "too-large", f"{cells:,} cells are more than {most:,}", hint=hint)
    if sum(job.finished is None for job in service.grids.recent()) >= MOST_WAITING:
        raise busy(30)


@router.get("/grids", summary="List grids", responses={200: gives(GridListJson, "The newest first.")})
async def listing(request: Request, service: Served, limit: Annotated[int, Query(ge=1, le=1_000)] = 50) -> Response:
    """Those that you have asked for."""
    asker = asker_of(request)

    def own() -> list[GridJobJson]:
        return [job for job in service.grids.recent() if service.grids.belongs_to(asker, job.id)]

    return json_response(GridListJson((await asyncio.to_thread(own))[:limit]))


@router.get("/grids/{grid_id}", summary="Ask how far a grid is", responses={200: gives(GridJobJson, "How far it is.")})
async def state(request: Request, grid_id: str, service: Served) -> Response:
    return json_response(await _found(request, service, grid_id))


@router.get(
    "/grids/{grid_id}/{name}",
    summary="Download a grid",
    response_class=Response,
    responses={
        200: {
            "description": "`grid.html`, `grid.csv`, `grid.xlsx` or `grid.jsonl`, as `quoth grid` writes it.",
            "content": {kind.partition(";")[0]: {"schema": {"type": "string"}} for kind in _MEDIA_TYPES.values()},
        },
        409: gives(ErrorJson, "It is not finished."),
    },
)
async def file(request: Request, grid_id: str, name: str, service: Served) -> Response:
    job = await _found(request, service, grid_id)
    if name not in FILES:
        raise HttpFault(404, "not-found", f"a grid has no '{name[:100]}'", hint=f"Ask for {', '.join(FILES)}.")
    if job.state != "done":
        raise HttpFault(
            409, "not-finished", "the grid is not finished", hint=f"GET /grids/{job.id} says how far it is."
        )
    if service.reads is not None:
        request.scope["state"]["reads"] = await asyncio.to_thread(_quoted, service.grids.file(grid_id, "grid.jsonl"))
    return FileResponse(service.grids.file(grid_id, name), media_type=_MEDIA_TYPES[name], filename=name)


@router.delete("/grids/{grid_id}", summary="Remove a grid", responses={200: gives(GridJobJson, "As it was.")})
async def remove(request: Request, grid_id: str, service: Served) -> Response:
    """With its files. A grid that is being made is stopped."""
    job = await _found(request, service, grid_id)
    await asyncio.to_thread(service.grids.remove, grid_id)
    return json_response(job)


def _quoted(grid: Path) -> list[dict[str, Any]]:
    """Return what a grid quotes; every file of it shows the same."""
    with grid.open("rb") as lines:
        return [quote for line in lines for quote in quotes_in(json.loads(line))]


async def _found(request: Request, service: Service, grid_id: str) -> GridJobJson:
    """Return a grid of the asker; raise `HttpFault` for any other, as if it did not exist."""
    job = await asyncio.to_thread(service.grids.get, grid_id)
    if job is None or not await asyncio.to_thread(service.grids.belongs_to, asker_of(request), grid_id):
        raise HttpFault(404, "no-grid", "there is no such grid", hint="GET /grids lists the last ones.")
    return job
