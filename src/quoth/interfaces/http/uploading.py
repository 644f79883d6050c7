"""Routes that write documents: uploading, removing, and the jobs that do it."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from quoth.corpus.load import root_name
from quoth.corpus.manifest import check_fields
from quoth.errors import NoIndex, SettingsError
from quoth.interfaces.guard.keys import Key
from quoth.interfaces.http import described, logs
from quoth.interfaces.http.asking import Served, json_response
from quoth.interfaces.http.faults import HttpFault, busy, gone, no_document
from quoth.interfaces.http.jobs import Job, Kind
from quoth.interfaces.http.library import checked_id, in_the_way
from quoth.interfaces.http.service import Service, Writing

router = APIRouter(tags=["documents"])
_MOST_JOBS = 1_000
_ACCEPTED: dict[int | str, dict[str, Any]] = {
    202: {"model": described.Job, "description": "It will be done; `Location` says where to ask how far it is."},
    409: {"model": described.Error, "description": "The document came from elsewhere, or another is in its place."},
    415: {"model": described.Error, "description": "Files of this kind cannot be read."},
    507: {"model": described.Error, "description": "There is no room left."},
}


@router.put(
    "/documents/{doc_id:path}",
    status_code=202,
    summary="Upload a document",
    description=(
        "The body is the file as it is. What the query says of it is kept beside it; its own front matter wins."
    ),
    responses=_ACCEPTED,
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        }
    },
)
async def upload(
    request: Request,
    doc_id: str,
    service: Served,
    title: Annotated[str | None, Query(max_length=500)] = None,
    document_type: Annotated[str | None, Query(max_length=100, examples=["ccr"])] = None,
    is_binding: bool | None = None,
    effective_date: Annotated[str | None, Query(max_length=10, examples=["2022-04-01"])] = None,
    superseded_by: Annotated[str | None, Query(max_length=1_000, description="The id of its successor.")] = None,
    language: Annotated[str | None, Query(max_length=35)] = None,
    tag: Annotated[
        list[str] | None, Query(description="`facet:value`; repeatable.", examples=[["crop:canola"]])
    ] = None,
) -> Response:
    writing = _writing(service)
    checked_id(doc_id)
    given = {
        "title": title,
        "document_type": document_type,
        "is_binding": is_binding,
        "effective_date": effective_date,
        "superseded_by": superseded_by,
        "language": language,
        "tags": _tags(tag or []) or None,
    }
    fields = {name: value for name, value in given.items() if value is not None and value != ""}  # a form left blank
    # Whether the client is gone is not asked here: to find out would swallow the beginning of the file.
    with _room():
        await service.desk.run(lambda: _check(service, writing, doc_id, fields))
    job_id = writing.jobs.new_id()
    try:
        with _room():
            sha256 = await _receive(service, request, writing.library.incoming(job_id))
            job = await service.run_aside(_accept, request, writing, job_id, Kind.PUT, doc_id, sha256, fields)
    except BaseException:
        writing.library.drop(job_id)
        raise
    return _accepted(writing, job)


@router.delete(
    "/documents/{doc_id:path}",
    status_code=202,
    summary="Remove a document",
    description=(
        "From the index, and its file where it was uploaded. A file that was ingested from a folder stays there, and "
        "the next ingest of that folder brings the document back; `notes` of the job say so."
    ),
    responses=_ACCEPTED,
)
async def remove(request: Request, doc_id: str, service: Served) -> Response:
    writing = _writing(service)
    job_id = writing.jobs.new_id()
    with _room():
        if not await service.run(request, lambda: _will_be_there(service, writing, doc_id)):
            raise no_document(doc_id)
        job = await service.run_aside(_accept, request, writing, job_id, Kind.DELETE, doc_id, None, {})
    return _accepted(writing, job)


@router.get(
    "/jobs",
    summary="List jobs",
    responses={200: {"model": described.JobList, "description": "The newest first."}},
)
async def jobs(service: Served, limit: Annotated[int, Query(ge=1, le=1_000)] = 50) -> Response:
    found = await service.run_aside(_writing(service).jobs.recent, limit)
    return json_response({"jobs": [one.json() for one in found]})


@router.get(
    "/jobs/{job_id}",
    summary="Ask how far a job is",
    responses={200: {"model": described.Job, "description": "What has become of it."}},
)
async def job(job_id: str, service: Served) -> Response:
    found = await service.run_aside(_writing(service).jobs.get, job_id)
    if found is None:
        raise HttpFault(404, "no-job", "there is no such job", hint="GET /jobs lists the last ones.")
    return json_response(found.json())


def _writing(service: Service) -> Writing:
    if service.writing is None:
        hint = "Write with quoth ingest, or serve with service.uploads=true."
        if service.cluster is not None:
            hint = "Write with quoth cluster ingest: the service takes up what it publishes."
        raise HttpFault(403, "read-only", "this service takes no documents", hint=hint)
    return service.writing


def _will_be_there(service: Service, writing: Writing, doc_id: str) -> bool:
    """Whether a document is in the index once the jobs that were accepted before are done."""
    if (last := writing.jobs.last_to_do(doc_id)) is not None:
        return last.kind is Kind.PUT
    try:
        return service.described(doc_id) is not None
    except NoIndex:
        return False


def _tags(given: list[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in given:
        _check_characters("tag", one)
        facet, colon, value = one.partition(":")
        if not colon or not facet.strip() or not value.strip():
            raise HttpFault(
                422, "metadata", f"the tag '{one[:100]}' is not facet:value", hint="For example crop:canola."
            )
        found.setdefault(facet.strip(), []).append(value.strip())
    return found


def _check_characters(name: str, value: str) -> None:
    if any(unicodedata.category(one) in {"Cc", "Cs"} for one in value):
        raise HttpFault(422, "metadata", f"the query: {name} holds control characters", hint="Leave them out.")


def _check(service: Service, writing: Writing, doc_id: str, fields: dict[str, Any]) -> None:
    """Everything that can be said against an upload before it is read."""
    if writing.jobs.waiting() >= _MOST_JOBS:
        raise busy(30)
    for name, value in fields.items():
        if isinstance(value, str):
            _check_characters(name, value)
    try:
        check_fields(fields, place="the query", facets=[facet.name for facet in service.profile().facets])
    except SettingsError as error:
        raise HttpFault(422, "metadata", str(error), hint=error.hint) from error
    try:
        root = service.originals.root_of(doc_id, service.version())
    except NoIndex:
        root = None
    ours = root is None or root == root_name(writing.library.folder)
    # Where the folder of the state was moved, its documents are known by their old place, where there is nothing now.
    if not ours and (Path(root or "", doc_id).exists() or not writing.library.holds(doc_id)):
        hint = "Choose another id, or change the file where it is and run quoth ingest."
        raise HttpFault(409, "document-elsewhere", f"'{doc_id}' was ingested from another folder", hint=hint)
    if not writing.library.fits(doc_id):
        raise in_the_way(doc_id)


@contextmanager
def _room() -> Iterator[None]:
    """What cannot be written down, for want of room or of rights, is not accepted."""
    try:
        yield
    except ClientDisconnect as error:
        raise gone() from error
    except (OSError, sqlite3.Error) as error:
        logs.LOG.exception("a write cannot be accepted")
        said = (isinstance(error, OSError) and error.strerror) or str(error)
        hint = "Ask the operator of the service to make room."
        raise HttpFault(507, "no-room", f"the change cannot be kept: {said}", hint=hint) from error


async def _receive(service: Service, request: Request, place: Path) -> str:
    """Write the body to a file as it comes; gives its hash. Only a piece of it is ever in memory."""
    digest = hashlib.sha256()
    with place.open("wb") as file:
        async for piece in request.stream():
            digest.update(piece)
            await service.run_aside(file.write, piece)
        file.flush()
        await service.run_aside(os.fsync, file.fileno())
        if not file.tell():
            raise HttpFault(422, "empty", "the file is empty", hint="Send its bytes as the body.")
    return digest.hexdigest()


def _accept(
    request: Request,
    writing: Writing,
    job_id: str,
    kind: Kind,
    doc_id: str,
    sha256: str | None,
    fields: dict[str, Any],
) -> Job:
    """Write down who wants what before it is done: no write is without its line."""
    key: Key | None = request.scope["state"].get("key")
    if kind is Kind.PUT:
        writing.library.describe(job_id, fields)
    writing.audit.record(
        request_id=logs.REQUEST_ID.get(),
        action=kind.value,
        outcome="accepted",
        doc_id=doc_id,
        sha256=sha256,
        metadata=fields,
        job=job_id,
        key=key.id if key else None,
        key_name=key.name if key else None,
        client=request.client.host if request.client else None,
    )
    return writing.jobs.add(job_id, kind, doc_id)


def _accepted(writing: Writing, accepted: Job) -> Response:
    writing.runner.wake()
    response = json_response(accepted.json(), 202)
    response.headers["Location"] = f"/jobs/{accepted.id}"
    return response
