"""Routes about documents: listing, reading, quoting, uploading, removing, and the jobs that do the latter two."""

from __future__ import annotations

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

from quoth.corpus.load import root_name
from quoth.corpus.manifest import check_fields
from quoth.errors import NoIndex, SettingsError
from quoth.interfaces.guard.keys import Key
from quoth.interfaces.http import described, logs
from quoth.interfaces.http.asking import Served, json_response
from quoth.interfaces.http.faults import HttpFault, busy, no_document
from quoth.interfaces.http.jobs import Job, Kind
from quoth.interfaces.http.library import checked_id, in_the_way
from quoth.interfaces.http.service import Service, Writing
from quoth.interfaces.spans import LONGEST_SLICE, MOST_AROUND, DocumentChanged, check_unchanged, span_json
from quoth.render import document_json, json_line

router = APIRouter(tags=["documents"])
_MOST_JOBS = 1_000
_SAFE_KINDS = {"pdf": "application/pdf", "text": "text/plain; charset=utf-8", "markdown": "text/plain; charset=utf-8"}
_ACCEPTED: dict[int | str, dict[str, Any]] = {
    202: {"model": described.Job, "description": "It will be done; `Location` says where to ask how far it is."},
    409: {"model": described.Error, "description": "The document came from elsewhere, or another is in its place."},
    415: {"model": described.Error, "description": "Files of this kind cannot be read."},
    507: {"model": described.Error, "description": "There is no room left."},
}
_CHANGED: dict[int | str, dict[str, Any]] = {
    409: {"model": described.Error, "description": "The document has changed since: it is not the one of `sha256`."}
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


@router.get(
    "/documents",
    summary="List documents",
    responses={200: {"model": described.Documents, "description": "In the order of their ids."}},
)
async def listing(
    request: Request,
    service: Served,
    prefix: Annotated[str, Query(description="Only ids that begin so.", max_length=1_000)] = "",
    after: Annotated[str, Query(description="Only ids behind this one: `next` of the page before.")] = "",
    limit: Annotated[int, Query(ge=1, le=1_000, description="How many on a page.")] = 100,
) -> Response:
    def work() -> dict[str, Any]:
        all_of_them = service.catalogue().documents
        wanted = [one for one in all_of_them if one.id.startswith(prefix)]
        page = [one for one in wanted if one.id > after]
        shown = page[:limit]
        return {
            "documents": [document_json(one) for one in shown],
            "total": len(wanted),
            "next": shown[-1].id if len(page) > limit else None,
        }

    return json_response(await service.run(request, work))


@router.get(
    "/documents/{doc_id:path}/text",
    summary="Read a document's text",
    description="The canonical text that all offsets count in, as UTF-8.",
    responses={200: {"description": "The text.", "content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def text(request: Request, doc_id: str, service: Served) -> Response:
    def work() -> bytes:
        found = service.quoth.document(doc_id)
        if found is None:
            raise no_document(doc_id)
        return found.text.encode()

    return Response(await service.run(request, work), media_type="text/plain; charset=utf-8")


@router.get(
    "/documents/{doc_id:path}/original",
    summary="Download the original file",
    description="The bytes that were ingested, as an attachment.",
    responses={
        200: {"description": "The file.", "content": {"application/octet-stream": {}}},
        409: {"model": described.Error, "description": "The file was changed after its ingest."},
    },
)
async def original(request: Request, doc_id: str, service: Served) -> Response:
    def work() -> tuple[bytes, str]:
        info = service.catalogue().get(doc_id)
        if info is None:
            raise no_document(doc_id)
        return service.originals.read(doc_id, _version(service)), info.format

    data, form = await service.run(request, work)
    name = quote(doc_id.rpartition("/")[2], safe="")
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{name}"}
    return Response(data, media_type=_SAFE_KINDS.get(form, "application/octet-stream"), headers=headers)


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
    def work() -> str:
        info = service.catalogue().get(doc_id)
        if info is None:
            raise no_document(doc_id)
        with _told_when_changed():
            check_unchanged(doc_id, info.sha256, sha256)
        if info.format != "pdf" or not 1 <= number <= info.pages:
            hint = f"It has {info.pages} pages." if info.format == "pdf" else "Only those of PDF files can be seen."
            raise HttpFault(404, "no-page", f"'{doc_id}' has no page {number} to be seen", hint=hint)
        return _version(service)

    version = await service.run(request, work)
    picture = await service.originals.drawn(doc_id, version, number=number, width=width)
    return Response(picture, media_type="image/png")


@router.get(
    "/documents/{doc_id:path}/span",
    summary="Quote a slice with its surroundings",
    description=(
        f"At most {LONGEST_SLICE:,} code points. With `sha256` a document that was replaced since it was cited is "
        "told, rather than other words given."
    ),
    responses={
        200: {"model": described.QuotedSpan, "description": "The slice, and where it is printed."},
        **_CHANGED,
    },
)
async def span(
    request: Request,
    doc_id: str,
    service: Served,
    start: Annotated[int, Query(ge=0, le=10**9, description="The first code point.")],
    end: Annotated[int, Query(ge=1, le=10**9, description="Behind the last code point.")],
    around: Annotated[int, Query(ge=0, le=MOST_AROUND, description="Code points on each side.")] = 800,
    sha256: Cited = None,
) -> Response:
    def work() -> str:
        if service.catalogue().get(doc_id) is None:
            raise no_document(doc_id)
        with service.quoth.reading() as reader, _told_when_changed():
            found = span_json(reader, doc_id, start, end, around=around, profile=service.profile(), cited=sha256)
        return json_line(found)

    return Response(await service.run(request, work), media_type="application/json")


@router.get(
    "/documents/{doc_id:path}",
    summary="Describe a document",
    responses={200: {"model": described.DocumentHere, "description": "What is known of it."}},
)
async def document(request: Request, doc_id: str, service: Served) -> Response:
    def work() -> dict[str, Any]:
        info = service.catalogue().get(doc_id)
        if info is None:
            raise no_document(doc_id)
        here = service.originals.is_here(doc_id, _version(service))
        return document_json(info) | {"has_original": here}

    return json_response(await service.run(request, work))


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
        raise HttpFault(403, "read-only", "this service takes no documents", hint=hint)
    return service.writing


@contextmanager
def _told_when_changed() -> Iterator[None]:
    try:
        yield
    except DocumentChanged as error:
        raise HttpFault(409, error.code, str(error), hint=error.hint) from error


def _version(service: Service) -> str:
    """Of what the index holds and where it came from; the digest alone does not tell of a folder that was moved."""
    info = service.quoth.info
    return f"{info.generation}/{info.digest}"


def _will_be_there(service: Service, writing: Writing, doc_id: str) -> bool:
    """Whether a document is in the index once the jobs that were accepted before are done."""
    if (last := writing.jobs.last_to_do(doc_id)) is not None:
        return last.kind is Kind.PUT
    try:
        return service.catalogue().get(doc_id) is not None
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
        root = service.originals.root_of(doc_id, _version(service))
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
        raise HttpFault(499, "gone", "the client is gone", hint="") from error
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
