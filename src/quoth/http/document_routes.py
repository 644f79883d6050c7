"""Routes that read documents (listing, text, slices, pages, original files) and write them: uploads, removals, jobs."""

from __future__ import annotations

import asyncio
import hashlib
import os
import sqlite3
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from quoth.documents.files import root_name
from quoth.domain.manifest import check_fields
from quoth.errors import NoIndex, SettingsError
from quoth.http import logs
from quoth.http.answer_routes import Served, in_pool
from quoth.http.guard.api_keys import ApiKey
from quoth.http.http_faults import HttpFault, busy, gone, json_response, no_document
from quoth.http.job_runner import JobRunner
from quoth.http.jobs import JobKind
from quoth.http.request_bodies import UploadQuery
from quoth.http.response_types import DocumentHereJson, DocumentsJson, ErrorJson, JobJson, JobListJson, gives
from quoth.http.service import Service
from quoth.http.upload_folder import checked_id, in_the_way
from quoth.output.document_json_types import QuotedSpanJson
from quoth.output.render import document_json
from quoth.output.source_slices import LONGEST_SLICE, MOST_AROUND, check_unchanged, span_json
from quoth.types import DocumentInfo

router = APIRouter(tags=["documents"])
_MEDIA_TYPES = {"pdf": "application/pdf", "text": "text/plain; charset=utf-8", "markdown": "text/plain; charset=utf-8"}
_FILES = ("application/octet-stream", "application/pdf", "text/plain")
_BYTES = {"schema": {"type": "string", "format": "binary"}}
_CHANGED: dict[int | str, dict[str, Any]] = {
    409: gives(ErrorJson, "The document has changed since: it is not the one of `sha256`.")
}
_MOST_JOBS = 1_000
_ACCEPTED: dict[int | str, dict[str, Any]] = {
    202: gives(JobJson, "It will be done; `Location` says where to ask how far it is."),
    409: gives(ErrorJson, "The document came from elsewhere, or another is in its place."),
    415: gives(ErrorJson, "Files of this kind cannot be read."),
    507: gives(ErrorJson, "There is no room left."),
}
Cited = Annotated[
    str | None,
    Query(
        pattern="^[0-9A-Fa-f]{8,64}$",
        description="`doc_sha256` of the citation, or its first 8 digits or more. Without it the offsets are taken to "
        "be those of the document as it is now.",
        examples=["9f86d081884c7d65"],
    ),
]


@router.get("/documents", summary="List documents", responses={200: gives(DocumentsJson, "In the order of their ids.")})
@in_pool
def listing(
    request: Request,
    service: Served,
    prefix: Annotated[str, Query(description="Only ids that begin so.", max_length=1_000)] = "",
    after: Annotated[str, Query(description="Only ids behind this one: `next` of the page before.")] = "",
    limit: Annotated[int, Query(ge=1, le=1_000, description="How many on a page.")] = 100,
) -> Response:
    listing = service.catalog.listing()
    page = listing.page(prefix=prefix, after=after, limit=limit)
    return json_response(DocumentsJson(page.documents, page.total, page.next, degraded=list(listing.missing)))


@router.get(
    "/documents/{doc_id:path}/text",
    summary="Read a document's text",
    responses={200: {"description": "The text.", "content": {"text/plain": {"schema": {"type": "string"}}}}},
)
@in_pool
def text(request: Request, doc_id: str, service: Served) -> Response:
    """The canonical text that all offsets count in, as UTF-8."""
    document = service.quoth.document(doc_id)
    if document is None:
        raise no_document(doc_id)
    return Response(document.text.encode(), media_type="text/plain; charset=utf-8")


@router.get(
    "/documents/{doc_id:path}/original",
    summary="Download the original file",
    response_class=Response,
    responses={
        200: {"description": "The file.", "content": dict.fromkeys(_FILES, _BYTES)},
        409: gives(ErrorJson, "The file was changed after its ingest."),
    },
)
@in_pool
def original(request: Request, doc_id: str, service: Served) -> Response:
    """The bytes that were ingested, as an attachment."""
    info = service.described(doc_id)
    name = quote(doc_id.rpartition("/")[2], safe="")
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{name}"}
    media_type = _MEDIA_TYPES.get(info.format, "application/octet-stream")
    return Response(service.originals.read(info), media_type=media_type, headers=headers)


@router.get(
    "/documents/{doc_id:path}/pages/{number:int}",
    summary="See a page of a PDF",
    responses={200: {"description": "A picture.", "content": {"image/png": {}}}, **_CHANGED},
)
async def page(
    request: Request,
    doc_id: str,
    number: int,
    service: Served,
    width: Annotated[int, Query(ge=200, le=2_400, description="In pixels.")] = 1_000,
    sha256: Cited = None,
) -> Response:
    def work() -> DocumentInfo:
        info = service.described(doc_id)
        check_unchanged(doc_id, info.sha256, sha256)
        if info.format != "pdf" or not 1 <= number <= info.pages:
            hint = f"It has {info.pages} pages." if info.format == "pdf" else "Only those of PDF files can be seen."
            raise HttpFault(404, "no-page", f"'{doc_id}' has no page {number} to be seen", hint=hint)
        return info

    picture = await service.originals.drawn(await service.run(request, work), number=number, width=width)
    return Response(picture, media_type="image/png")


@router.get(
    "/documents/{doc_id:path}/span",
    summary="Quote a slice with its surroundings",
    description=(
        f"At most {LONGEST_SLICE:,} code points. With `sha256` a document that was replaced since it was cited is "
        "told, rather than other words given."
    ),
    responses={200: gives(QuotedSpanJson, "The slice, and where it is printed."), **_CHANGED},
)
@in_pool
def span(
    request: Request,
    doc_id: str,
    service: Served,
    start: Annotated[int, Query(ge=0, le=10**9, description="The first code point.")],
    end: Annotated[int, Query(ge=1, le=10**9, description="Behind the last code point.")],
    around: Annotated[int, Query(ge=0, le=MOST_AROUND, description="Code points on each side.")] = 800,
    sha256: Cited = None,
) -> Response:
    service.described(doc_id)
    profile = service.profile()
    content = service.quoth.read(
        lambda reader: span_json(reader, doc_id, start, end, around=around, profile=profile, cited=sha256)
    )
    return json_response(content)


@router.get(
    "/documents/{doc_id:path}",
    summary="Describe a document",
    responses={200: gives(DocumentHereJson, "What is known of it.")},
)
@in_pool
def document(request: Request, doc_id: str, service: Served) -> Response:
    info = service.described(doc_id)
    return json_response(document_json(info) | {"has_original": service.originals.is_here(info)})


@router.put(
    "/documents/{doc_id:path}",
    status_code=202,
    summary="Upload a document",
    responses=_ACCEPTED,
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        }
    },
)
async def upload(request: Request, doc_id: str, service: Served, metadata: Annotated[UploadQuery, Query()]) -> Response:
    """The body is the file as it is. What the query says of it is kept beside it; its own front matter wins."""
    uploads = _uploads(service)
    checked_id(doc_id)
    given = metadata.model_dump(exclude={"tag"}) | {"tags": _tags(metadata.tag or []) or None}
    fields = {name: value for name, value in given.items() if value is not None and value != ""}  # blank in a form
    # Not `service.run`: to find out whether the client is gone, it would swallow the beginning of the file.
    with _storage_faults():
        await service.pool.run(lambda: _check_upload(service, uploads, doc_id, fields))
    job_id = uploads.jobs.new_id()
    try:
        with _storage_faults():
            sha256 = await _receive(request, uploads.folder.incoming(job_id))
            return await asyncio.to_thread(
                _accept, request, uploads, job_id, "put", doc_id, sha256=sha256, fields=fields
            )
    except BaseException:
        uploads.folder.settle(job_id)
        raise


@router.delete("/documents/{doc_id:path}", status_code=202, summary="Remove a document", responses=_ACCEPTED)
async def remove(request: Request, doc_id: str, service: Served) -> Response:
    """From the index, and its file where it was uploaded. A file that was ingested from a folder stays there, and the
    next ingest of that folder brings the document back; `notes` of the job say so."""
    uploads = _uploads(service)
    job_id = uploads.jobs.new_id()
    with _storage_faults():
        await service.run(request, lambda: _check_will_exist(service, uploads, doc_id))
        return await asyncio.to_thread(_accept, request, uploads, job_id, "delete", doc_id, sha256=None, fields={})


@router.get("/jobs", summary="List jobs", responses={200: gives(JobListJson, "The newest first.")})
async def jobs(service: Served, limit: Annotated[int, Query(ge=1, le=1_000)] = 50) -> Response:
    recent = await asyncio.to_thread(_uploads(service).jobs.recent, limit)
    return json_response({"jobs": [job.json() for job in recent]})


@router.get("/jobs/{job_id}", summary="Ask how far a job is", responses={200: gives(JobJson, "What has become of it.")})
async def job(job_id: str, service: Served) -> Response:
    stored = await asyncio.to_thread(_uploads(service).jobs.get, job_id)
    if stored is None:
        raise HttpFault(404, "no-job", "there is no such job", hint="GET /jobs lists the last ones.")
    return json_response(stored.json())


def _uploads(service: Service) -> JobRunner:
    """Return the upload part of the service; raise `HttpFault` if it takes no documents."""
    if service.uploads is None:
        hint = "Write with quoth ingest, or serve with service.uploads=true."
        if service.cluster is not None:
            hint = "Write with quoth cluster ingest: the service takes up what it publishes."
        raise HttpFault(403, "read-only", "this service takes no documents", hint=hint)
    return service.uploads


def _check_will_exist(service: Service, uploads: JobRunner, doc_id: str) -> None:
    """Raise `HttpFault` unless a document is in the index once the jobs accepted so far are done."""
    last = uploads.jobs.last_unfinished(doc_id)
    if last is not None and last.kind == "delete":
        raise no_document(doc_id)
    if last is None:
        try:
            service.described(doc_id)
        except NoIndex as error:
            raise no_document(doc_id) from error


def _tags(given: list[str]) -> dict[str, list[str]]:
    tags: dict[str, list[str]] = {}
    for tag in given:
        _check_characters("tag", tag)
        facet, colon, value = tag.partition(":")
        if not colon or not facet.strip() or not value.strip():
            message = f"the tag '{tag[:100]}' is not facet:value"
            raise HttpFault(422, "metadata", message, hint="For example crop:canola.")
        tags.setdefault(facet.strip(), []).append(value.strip())
    return tags


def _check_characters(name: str, value: str) -> None:
    if any(unicodedata.category(character) in {"Cc", "Cs"} for character in value):
        raise HttpFault(422, "metadata", f"the query: {name} holds control characters", hint="Leave them out.")


def _check_upload(service: Service, uploads: JobRunner, doc_id: str, fields: dict[str, Any]) -> None:
    """Raise `HttpFault` if an upload can be refused before its body is read."""
    if uploads.jobs.waiting() >= _MOST_JOBS:
        raise busy(30)
    for name, value in fields.items():
        if isinstance(value, str):
            _check_characters(name, value)
    try:
        check_fields(fields, source="the query", facets=[facet.name for facet in service.profile().facets])
    except SettingsError as error:
        raise HttpFault(422, "metadata", str(error), hint=error.hint) from error
    root = service.originals.root_of(doc_id)
    is_ours = root is None or root == root_name(uploads.folder.path)
    # If the state folder was moved, the index still names the old folder, where the file is no more.
    if not is_ours and (Path(root or "", doc_id).exists() or not uploads.folder.holds(doc_id)):
        hint = "Choose another id, or change the file where it is and run quoth ingest."
        raise HttpFault(409, "document-elsewhere", f"'{doc_id}' was ingested from another folder", hint=hint)
    if not uploads.folder.fits(doc_id):
        raise in_the_way(doc_id)


@contextmanager
def _storage_faults() -> Iterator[None]:
    """Turn errors of the disk or the job table into a response with status 507."""
    try:
        yield
    except ClientDisconnect as error:
        raise gone() from error
    except (OSError, sqlite3.Error) as error:
        logs.LOG.exception("a write cannot be accepted")
        why = (isinstance(error, OSError) and error.strerror) or str(error)
        hint = "Ask the operator of the service to make room."
        raise HttpFault(507, "no-room", f"the change cannot be kept: {why}", hint=hint) from error


async def _receive(request: Request, path: Path) -> str:
    """Write the body to a file as it comes, in chunks; return its SHA-256."""
    digest = hashlib.sha256()
    with path.open("wb") as file:
        async for chunk in request.stream():
            digest.update(chunk)
            await asyncio.to_thread(file.write, chunk)
        file.flush()
        await asyncio.to_thread(os.fsync, file.fileno())
        if not file.tell():
            raise HttpFault(422, "empty", "the file is empty", hint="Send its bytes as the body.")
    return digest.hexdigest()


def _accept(
    request: Request,
    uploads: JobRunner,
    job_id: str,
    kind: JobKind,
    doc_id: str,
    *,
    sha256: str | None,
    fields: dict[str, Any],
) -> Response:
    """Add the job, after its line in the audit log, so that no write is without one."""
    key: ApiKey | None = request.scope["state"].get("key")
    if kind == "put":
        uploads.folder.describe(job_id, fields)
    uploads.audit.record(
        request_id=logs.REQUEST_ID.get(),
        action=kind,
        outcome="accepted",
        doc_id=doc_id,
        sha256=sha256,
        metadata=fields,
        job=job_id,
        key=key.id if key else None,
        key_name=key.name if key else None,
        client=request.client.host if request.client else None,
    )
    job = uploads.jobs.add(job_id, kind, doc_id)
    uploads.wake()
    return json_response(job.json(), 202, {"Location": f"/jobs/{job_id}"})
