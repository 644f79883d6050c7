"""Routes that read documents: listing, descriptions, text, slices, pictures of pages, original files."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from quoth.http.answer_routes import Served, in_pool
from quoth.http.http_faults import HttpFault, json_response, no_document
from quoth.http.response_types import DocumentHereJson, DocumentsJson, ErrorJson, gives
from quoth.output.json_types import QuotedSpanJson
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
    description="The canonical text that all offsets count in, as UTF-8.",
    responses={200: {"description": "The text.", "content": {"text/plain": {"schema": {"type": "string"}}}}},
)
@in_pool
def text(request: Request, doc_id: str, service: Served) -> Response:
    document = service.quoth.document(doc_id)
    if document is None:
        raise no_document(doc_id)
    return Response(document.text.encode(), media_type="text/plain; charset=utf-8")


@router.get(
    "/documents/{doc_id:path}/original",
    summary="Download the original file",
    description="The bytes that were ingested, as an attachment.",
    response_class=Response,
    responses={
        200: {"description": "The file.", "content": dict.fromkeys(_FILES, _BYTES)},
        409: gives(ErrorJson, "The file was changed after its ingest."),
    },
)
@in_pool
def original(request: Request, doc_id: str, service: Served) -> Response:
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
