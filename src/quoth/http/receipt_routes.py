"""Routes of receipts: answers become receipts, and receipts are compared with the documents as they are now."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from quoth import __version__
from quoth.citations.anchored_documents import IndexDocuments, anchor_quotes, anchored_json
from quoth.citations.receipts import in_index
from quoth.citations.saved_receipts import RefusedReceipt, saved, stale_receipts
from quoth.citations.signatures import signature_checked
from quoth.citations.verify_receipt import Find, Receipt, ReceiptFault, check_quote, read_receipts
from quoth.errors import IndexMismatch, OffsetMismatch, ReceiptError, ShardMissing
from quoth.http.answer_routes import Served, in_pool
from quoth.http.http_faults import HttpFault, json_response, too_slow
from quoth.http.request_bodies import ReceiptsBody
from quoth.http.response_types import (
    AnchoredReceiptsJson,
    CheckedQuoteJson,
    CheckedReceiptJson,
    CheckedReceiptsJson,
    ErrorJson,
    RefusedReceiptJson,
    StaleReceiptJson,
    StaleReceiptsJson,
    gives,
)
from quoth.http.service import Service
from quoth.library import Quoth
from quoth.output.json_types import JsonObject
from quoth.output.render import json_line
from quoth.protocols import Progress
from quoth.wiring import watched_receipts

router = APIRouter(tags=["questions"])
_JSONL = "application/jsonl"
_FILE: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": {"description": "One receipt (docs/receipts.md)."}, "example": {}},
            _JSONL: {"schema": {"type": "string", "description": "One receipt a line."}, "example": "{}\n"},
        },
    }
}


@router.post(
    "/receipts",
    summary="Make receipts of answers",
    responses={
        200: {"description": "One receipt a line.", "content": {_JSONL: {"schema": {"type": "string"}}}},
        409: gives(ErrorJson, "The documents or the settings have changed since."),
    },
)
@in_pool
def make(request: Request, body: ReceiptsBody, service: Served) -> Response:
    """Anybody can check the quotes of a receipt later, without this service. Each quote is compared with its document
    first. The day is that of the service, in UTC. What is given is a file of receipts: keep it as it is."""
    if body.is_ambiguous:
        hint = "Send one answer, or several as `results`."
        raise HttpFault(422, "ambiguous", "one answer and a list of them", hint=hint)
    day = datetime.now(UTC).date().isoformat()
    seen = service.seen(request)
    lines = [json_line(_receipt(seen, answer, day)) + "\n" for answer in body.answers()]
    return Response("".join(lines), media_type=_JSONL)


def _receipt(seen: Quoth, answer: dict[str, Any], day: str) -> Receipt:
    try:
        return seen.receipt(answer, day=day, program=f"quoth {__version__}")
    except IndexMismatch as error:
        message = "the documents or the settings have changed since this answer was given"
        raise HttpFault(409, "index-changed", message, hint="Ask the question again.") from error
    except (OffsetMismatch, ReceiptError) as error:  # of the client's own making: it sent the answer
        raise HttpFault(422, error.code, str(error), hint="Send an answer as this service gave it.") from error


@router.post(
    "/receipts/verify",
    summary="Verify receipts",
    responses={200: gives(CheckedReceiptsJson, "What holds and what does not.")},
    openapi_extra=_FILE,
)
async def verify(request: Request, service: Served) -> Response:
    """Takes a file of receipts. Compares their digests and signatures, and every quote, what stands around it and the
    hashes of its document with the index. A receipt that was changed after it was made is refused."""

    def checked(read: list[Receipt | ReceiptFault]) -> CheckedReceiptsJson:
        kept = [signature_checked(receipt, None) for receipt in read]
        return service.seen(request).read(lambda reader: _checked(kept, in_index(reader)))

    return await _of_file(request, service, checked)


def _checked(read: list[Receipt | ReceiptFault], find: Find) -> CheckedReceiptsJson:
    receipts, refused = [], []
    for number, receipt in enumerate(read, 1):
        if isinstance(receipt, ReceiptFault):
            refused.append(RefusedReceiptJson(f"receipt {number}", str(receipt)))
            continue
        checks = [check_quote(quote, find) for quote in receipt["quotes"]]
        quotes = [CheckedQuoteJson.of(check, holds=check.holds is True) for check in checks]
        holds = all(quote.holds for quote in quotes)
        receipts.append(CheckedReceiptJson(f"receipt {number}", receipt["question"]["text"], holds, quotes))
    return CheckedReceiptsJson(not refused and all(receipt.holds for receipt in receipts), receipts, refused)


@router.post(
    "/receipts/anchor",
    summary="Find the quotes of receipts again",
    responses={200: gives(AnchoredReceiptsJson, "What became of each quote.")},
    openapi_extra=_FILE,
)
async def anchor(request: Request, service: Served) -> Response:
    """Takes a file of receipts, and finds each quote in the documents as they are now: where it stands, how its words
    changed, and what replaces its document."""

    def anchored(read: list[Receipt | ReceiptFault]) -> AnchoredReceiptsJson:
        named = [saved(receipt, name=f"receipt {number}") for number, receipt in enumerate(read, 1)]
        refused = [_refused(receipt) for receipt in named if isinstance(receipt, RefusedReceipt)]
        quotes = [quote for receipt in named if not isinstance(receipt, RefusedReceipt) for quote in receipt.quotes]
        progress = _until(time.monotonic() + service.settings.seconds, service.settings.seconds)
        seen = service.seen(request)
        found = seen.read(lambda reader: anchor_quotes(quotes, IndexDocuments(reader), progress=progress))
        return AnchoredReceiptsJson(list(map(anchored_json, found)), refused)

    return await _of_file(request, service, anchored)


def _until(end: float, seconds: float) -> Progress:
    """Return a progress that ends the work at a time: nobody waits for it longer, and it would keep its thread."""

    def report(what: str, done: int, total: int) -> None:
        if time.monotonic() > end:
            raise too_slow(seconds)

    return report


async def _of_file(
    request: Request, service: Service, work: Callable[[list[Receipt | ReceiptFault]], JsonObject]
) -> Response:
    """Return what `work` makes of the receipts in the body. Raise `HttpFault` for what is no file of receipts."""
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media not in {"application/json", _JSONL, "application/x-ndjson"}:
        hint = f"Send application/json or {_JSONL}."
        raise HttpFault(415, "content-type", f"'{media[:100]}' is not taken", hint=hint)
    data = await request.body()

    def read() -> JsonObject:
        hint = "Send a file of receipts as it is."
        try:
            receipts = read_receipts(data)
        except ReceiptFault as fault:
            raise HttpFault(422, "receipt", str(fault), hint=hint) from fault
        if not data.strip():
            raise HttpFault(422, "receipt", "there is no receipt in it", hint=hint)
        return work(receipts)

    return json_response(await service.run(request, read))


def _refused(receipt: RefusedReceipt) -> RefusedReceiptJson:
    return RefusedReceiptJson(receipt.name, receipt.why)


@router.get(
    "/receipts/stale",
    summary="Which watched receipts are out of date?",
    responses={200: gives(StaleReceiptsJson, "Those that quote documents which have changed or are gone.")},
)
@in_pool
def stale(request: Request, service: Served) -> Response:
    """Compares the receipts that the operator keeps (`receipts.watch`) with the texts of the documents as they are
    now. Send a receipt to `/receipts/anchor` to see what became of its quotes. A receipt that quotes a document which
    you may not see is left out."""
    settings = service.options.overrides.without_profile()
    place = settings.receipts.watch
    watched = None if place is None else watched_receipts(place, service.options.index, settings.store)
    if watched is None or (isinstance(watched, Path) and not watched.exists()):
        hint = "Ask the operator of the service to set receipts.watch to a folder or a table of receipts."
        raise HttpFault(404, "not-watched", "no receipts are watched here", hint=hint)
    listing = service.catalog.listing()  # of all documents: one that may not be seen has not gone
    if listing.missing:  # its documents would count as gone
        raise ShardMissing(listing.missing[0], "it does not answer")
    seen = {info.id: info.sha256 for info in service.listing(request).documents}
    hidden = {info.id for info in listing.documents} - set(seen)
    found = stale_receipts(watched, seen)  # what is hidden is not in `seen`, so that it counts as gone
    shown = {name: doc_ids for name, doc_ids in found.stale.items() if hidden.isdisjoint(doc_ids)}
    total = found.total - (len(found.stale) - len(shown))
    receipts = [StaleReceiptJson(name, list(doc_ids)) for name, doc_ids in shown.items()]
    return json_response(StaleReceiptsJson(total, receipts, list(map(_refused, found.refused))))
