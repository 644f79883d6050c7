"""Routes that read documents: listing, describing, quoting, pictures of pages, the original."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from quoth.interfaces.http import described
from quoth.interfaces.http.asking import Served, json_response
from quoth.interfaces.http.faults import HttpFault, no_document
from quoth.interfaces.spans import LONGEST_SLICE, MOST_AROUND, DocumentChanged, check_unchanged, span_json
from quoth.render import document_json, json_line

router = APIRouter(tags=["documents"])
_SAFE_KINDS = {"pdf": "application/pdf", "text": "text/plain; charset=utf-8", "markdown": "text/plain; charset=utf-8"}
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
        listed = service.catalogue()
        wanted = [one for one in listed.documents if one.id.startswith(prefix)]
        page = [one for one in wanted if one.id > after]
        shown = page[:limit]
        return {
            "documents": [document_json(one) for one in shown],
            "total": len(wanted),
            "next": shown[-1].id if len(page) > limit else None,
            "degraded": list(listed.missing),
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
        info = service.described(doc_id)
        if info is None:
            raise no_document(doc_id)
        return service.originals.read(doc_id, service.version()), info.format

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
        info = service.described(doc_id)
        if info is None:
            raise no_document(doc_id)
        with _told_when_changed():
            check_unchanged(doc_id, info.sha256, sha256)
        if info.format != "pdf" or not 1 <= number <= info.pages:
            hint = f"It has {info.pages} pages." if info.format == "pdf" else "Only those of PDF files can be seen."
            raise HttpFault(404, "no-page", f"'{doc_id}' has no page {number} to be seen", hint=hint)
        return service.version()

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
        if service.described(doc_id) is None:
            raise no_document(doc_id)
        profile = service.profile()
        with _told_when_changed():
            found = service.quoth.read(
                lambda reader: span_json(reader, doc_id, start, end, around=around, profile=profile, cited=sha256)
            )
        return json_line(found)

    return Response(await service.run(request, work), media_type="application/json")


@router.get(
    "/documents/{doc_id:path}",
    summary="Describe a document",
    responses={200: {"model": described.DocumentHere, "description": "What is known of it."}},
)
async def document(request: Request, doc_id: str, service: Served) -> Response:
    def work() -> dict[str, Any]:
        info = service.described(doc_id)
        if info is None:
            raise no_document(doc_id)
        here = service.originals.is_here(doc_id, service.version())
        return document_json(info) | {"has_original": here}

    return json_response(await service.run(request, work))


@contextmanager
def _told_when_changed() -> Iterator[None]:
    try:
        yield
    except DocumentChanged as error:
        raise HttpFault(409, error.code, str(error), hint=error.hint) from error
