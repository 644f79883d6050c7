"""Routes that read documents (listing, text, slices, pages, original files) and write them: uploads, removals, jobs."""

from __future__ import annotations

import asyncio
import hashlib
import os
import sqlite3
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from quoth.documents.containers import MAIL
from quoth.documents.split_document import labels_to_state
from quoth.domain.manifest import ACCESS, check_fields
from quoth.errors import JobsUnavailable, NoIndex, SettingsError
from quoth.http import logs
from quoth.http.answer_routes import Served, in_pool
from quoth.http.guard.askers import Asker
from quoth.http.http_faults import HttpFault, busy, gone, json_response, no_document
from quoth.http.job_runner import JobRunner
from quoth.http.jobs import JobKind, OverQuota, UploadQuota
from quoth.http.request_bodies import UploadQuery
from quoth.http.response_types import DocumentHereJson, DocumentsJson, ErrorJson, JobJson, JobListJson, gives
from quoth.http.service import Service, asker_of
from quoth.http.upload_folder import checked_id, in_the_way
from quoth.output.document_json_types import QuotedSpanJson
from quoth.output.render import document_json
from quoth.output.source_slices import LONGEST_SLICE, MOST_AROUND, check_unchanged, span_json
from quoth.types import DocumentInfo, labels_of

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
    listing = service.listing(request)
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
    document = service.seen(request).document(doc_id)
    if document is None:
        raise no_document(doc_id)
    _note_whole(request, doc_id, sha256=document.sha256)
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
    info = service.described(request, doc_id)
    if not _sees_inside(request, service, info):
        hint = "Its text is at /documents/{id}/text."
        raise HttpFault(404, "no-original", f"the file of '{doc_id}' cannot be given", hint=hint)
    name = quote(doc_id.rpartition("/")[2], safe="")
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{name}"}
    media_type = _MEDIA_TYPES.get(info.format, "application/octet-stream")
    data = service.originals.read(info)
    _note_whole(request, doc_id, sha256=info.sha256)
    return Response(data, media_type=media_type, headers=headers)


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
        info = service.described(request, doc_id)
        check_unchanged(doc_id, info.sha256, sha256)
        if info.format != "pdf" or not 1 <= number <= info.pages:
            hint = f"It has {info.pages} pages." if info.format == "pdf" else "Only those of PDF files can be seen."
            raise HttpFault(404, "no-page", f"'{doc_id}' has no page {number} to be seen", hint=hint)
        return info

    info = await service.run(request, work)
    picture = await service.originals.drawn(info, number=number, width=width)
    _note_whole(request, doc_id, sha256=info.sha256, page=number)
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
    service.described(request, doc_id)
    profile = service.profile()
    content = service.seen(request).read(
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
    info = service.described(request, doc_id)
    has_original = service.originals.is_here(info) and _sees_inside(request, service, info)
    return json_response(document_json(info) | {"has_original": has_original})


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
    given = metadata.model_dump(exclude={"tag", "access"}) | {"tags": _tags(metadata.tag or []) or None}
    fields = {name: value for name, value in given.items() if value is not None and value != ""}  # blank in a form
    declared = request.headers.get("content-length", "")
    size = int(declared) if declared.isascii() and declared.isdigit() else 0
    # Not `service.run`: to find out whether the client is gone, it would swallow the beginning of the file.
    with _storage_faults():
        await service.pool.run(lambda: _check_upload(request, service, uploads, doc_id, fields, metadata.access, size))
    job_id = uploads.jobs.new_id()
    try:
        with _storage_faults():
            sha256, size = await _receive(request, uploads.files.incoming(job_id))
            return await asyncio.to_thread(
                _accept,
                request,
                service,
                uploads,
                job_id,
                "put",
                doc_id,
                sha256=sha256,
                size=size,
                fields=fields,
                labels=metadata.access,
            )
    except BaseException:
        with suppress(JobsUnavailable):  # a round of tidying removes it later
            await asyncio.to_thread(uploads.files.settle, job_id)
        raise


@router.delete("/documents/{doc_id:path}", status_code=202, summary="Remove a document", responses=_ACCEPTED)
async def remove(request: Request, doc_id: str, service: Served) -> Response:
    """From the index, and its file where it was uploaded. A file that was ingested from a folder stays there, and the
    next ingest of that folder brings the document back; `notes` of the job say so."""
    uploads = _uploads(service)
    job_id = uploads.jobs.new_id()
    with _storage_faults():
        await service.run(request, lambda: _check_will_exist(request, service, uploads, doc_id))
        return await asyncio.to_thread(
            _accept, request, service, uploads, job_id, "delete", doc_id, sha256=None, size=0, fields={}
        )


@router.get("/jobs", summary="List jobs", responses={200: gives(JobListJson, "The newest first.")})
async def jobs(request: Request, service: Served, limit: Annotated[int, Query(ge=1, le=1_000)] = 50) -> Response:
    """Those that you have started."""
    asker = asker_of(request)
    unowned = [None] if asker.labels is None else []
    owners = [asker.id, *unowned] if asker.id else None
    recent = await asyncio.to_thread(_uploads(service).jobs.recent, limit, owners=owners)
    return json_response({"jobs": [job.json() for job in recent]})


@router.get("/jobs/{job_id}", summary="Ask how far a job is", responses={200: gives(JobJson, "What has become of it.")})
async def job(request: Request, job_id: str, service: Served) -> Response:
    stored = await asyncio.to_thread(_uploads(service).jobs.get, job_id)
    if stored is None or not asker_of(request).owns(stored.owner):
        raise HttpFault(404, "no-job", "there is no such job", hint="GET /jobs lists the last ones.")
    return json_response(stored.json())


def _uploads(service: Service) -> JobRunner:
    """Return the upload part of the service; raise `HttpFault` if it takes no documents."""
    if service.uploads is None:
        hint = "Write with quoth ingest, or serve with service.uploads=true."
        if service.cluster is not None:
            hint = "Write with quoth cluster ingest: the service takes up what it publishes."
        raise HttpFault(403, "read-only", "this service takes no documents", hint=hint)
    if service.uploads.is_moving:
        raise busy(5)
    return service.uploads


def _check_will_exist(request: Request, service: Service, uploads: JobRunner, doc_id: str) -> None:
    """Raise `HttpFault` unless the asker has a document of this id once the jobs accepted so far are done."""
    last = uploads.jobs.last_unfinished(doc_id)
    if last is not None and last.kind == "delete":
        raise no_document(doc_id)
    if last is None or not asker_of(request).owns(last.owner):
        try:
            service.described(request, doc_id)
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


def _check_upload(
    request: Request,
    service: Service,
    uploads: JobRunner,
    doc_id: str,
    fields: dict[str, Any],
    labels: list[str] | None,
    size: int,
) -> None:
    """Raise `HttpFault` if an upload can be refused before its body is read, and add its labels to the fields.

    `labels` are those that the client gives, and `size` is as it declares it.
    """
    asker = asker_of(request)
    fields |= _access_field(asker, _labels_before(asker, service, uploads, doc_id), labels)
    if uploads.jobs.waiting() >= _MOST_JOBS:
        raise busy(30)
    for name, value in fields.items():
        if isinstance(value, str):
            _check_characters(name, value)
    try:
        check_fields(fields, source="the query", facets=[facet.name for facet in service.profile().facets])
    except SettingsError as error:
        raise HttpFault(422, "metadata", str(error), hint=error.hint) from error
    with _quota_faults():
        quota = _quota(service)
        uploads.jobs.check_quota(doc_id, owner=asker.id or None, size=size, quota=quota)
    stored = service.originals.stored(doc_id)
    if stored is not None and not _is_seen(request, service, doc_id):
        raise in_the_way(doc_id)  # to let it in would destroy what the asker may not even see
    if stored is not None and not uploads.files.owns(doc_id, stored):
        hint = "Choose another id, or change the file where it is and run quoth ingest."
        raise HttpFault(409, "document-elsewhere", f"'{doc_id}' was ingested from another folder", hint=hint)
    if not uploads.files.fits(doc_id):
        raise in_the_way(doc_id)


def _note_whole(request: Request, doc_id: str, **more: object) -> None:
    """Tell the gate that the response gives all of a document, or a page of it."""
    request.scope["state"]["reads"] = [{"doc_id": doc_id, **more}]


def _labels_before(asker: Asker, service: Service, uploads: JobRunner, doc_id: str) -> tuple[str, ...]:
    """Return the labels of the document that an upload replaces; it may itself be an upload that waits to be done.

    Raise `HttpFault` if the asker will not see that one: to let theirs in would destroy it.
    """
    last = uploads.jobs.last_unfinished(doc_id)
    if last is None or last.kind != "put":
        return service.originals.labels_of(doc_id)
    waiting = uploads.files.waiting(last.id)
    labels = labels_to_state(waiting[0], doc_id=doc_id, fields=waiting[1]) if waiting else ()
    if labels and asker.labels is not None and asker.labels.isdisjoint(labels) and not asker.owns(last.owner):
        raise in_the_way(doc_id)
    return labels


def _access_field(asker: Asker, before: tuple[str, ...], given: list[str] | None) -> dict[str, Any]:
    """Return the field of the labels of a document, which had those `before`; raise `HttpFault` if it may not be."""
    if given is None:
        return {"access": list(before)} if before else {}
    labels = labels_of(given)
    if asker.labels is not None and not asker.labels.issuperset(labels):
        hint = "Ask the operator for a key with these labels: quoth keys change ID --access LABEL."
        raise HttpFault(403, "label", "you may only give labels that you hold", hint=hint)
    return {"access": list(labels)} if labels else {}


def _sees_inside(request: Request, service: Service, info: DocumentInfo) -> bool:
    """Return whether the asker may see all that the file of a document holds: a message holds its attachments."""
    inside = service.originals.inside(info.id) if info.format in MAIL else frozenset()
    return not inside or len(service.seen(request).read(lambda reader: reader.documents(inside))) == len(inside)


def _is_seen(request: Request, service: Service, doc_id: str) -> bool:
    return bool(service.seen(request).read(lambda reader: reader.documents([doc_id])))


def _quota(service: Service) -> UploadQuota:
    given = service.settings
    return UploadQuota(
        documents=given.quota_documents,
        bytes=given.quota_mb * 2**20,
        documents_each=given.key_quota_documents,
        bytes_each=given.key_quota_mb * 2**20,
    )


@contextmanager
def _quota_faults() -> Iterator[None]:
    try:
        yield
    except OverQuota as over:
        limits = [f"{over.documents:,} documents"] * bool(over.documents)
        limits += [f"{over.bytes // 2**20:,} MB"] * bool(over.bytes)
        whose, prefix = ("you have", "key_") if over.own else ("the service has", "")
        message = f"{whose} uploaded as much as there is room for: {' or '.join(limits)}"
        hint = f"Remove documents, or ask the operator to raise service.{prefix}quota_mb or {prefix}quota_documents."
        raise HttpFault(413, "quota", message, hint=hint) from over


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


async def _receive(request: Request, path: Path) -> tuple[str, int]:
    """Write the body to a file as it comes, in chunks; return its SHA-256 and its size in bytes."""
    digest = hashlib.sha256()
    with path.open("wb") as file:
        async for chunk in request.stream():
            digest.update(chunk)
            await asyncio.to_thread(file.write, chunk)
        file.flush()
        await asyncio.to_thread(os.fsync, file.fileno())
        size = file.tell()
        if not size:
            raise HttpFault(422, "empty", "the file is empty", hint="Send its bytes as the body.")
    return digest.hexdigest(), size


def _accept(
    request: Request,
    service: Service,
    uploads: JobRunner,
    job_id: str,
    kind: JobKind,
    doc_id: str,
    *,
    sha256: str | None,
    size: int,
    fields: dict[str, Any],
    labels: list[str] | None = None,
) -> Response:
    """Add the job, after its line in the audit log, so that no write is without one."""
    asker, quota = asker_of(request), _quota(service)
    if kind == "put":
        with _quota_faults():
            uploads.jobs.check_quota(doc_id, owner=asker.id or None, size=size, quota=quota)
        uploads.files.keep(job_id, doc_id, sha256 or "")
        # The document may have got other labels while the body came.
        before = _labels_before(asker, service, uploads, doc_id)
        fields = {name: value for name, value in fields.items() if name != ACCESS}
        fields |= _access_field(asker, before, labels)
        uploads.files.describe(job_id, fields)
    uploads.audit.record(
        request_id=logs.REQUEST_ID.get(),
        action=kind,
        outcome="accepted",
        doc_id=doc_id,
        sha256=sha256,
        metadata=fields,
        job=job_id,
        key=asker.id or None,
        key_name=asker.name or None,
        client=request.client.host if request.client else None,
    )
    with _quota_faults():  # another upload may have taken the room since
        job = uploads.jobs.add(job_id, kind, doc_id, owner=asker.id or None, size=size, quota=quota)
    uploads.wake()
    return json_response(job.json(), 202, {"Location": f"/jobs/{job_id}"})
