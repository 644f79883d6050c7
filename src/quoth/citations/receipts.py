"""Make receipts of results: what a quote, or an abstention, rests on, so that anybody can check it later."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from quoth.citations.cited_quotes import check_held, span_of
from quoth.citations.verify_receipt import AROUND, VERSION, Find, Found, Receipt, ReceiptFault, digest_of
from quoth.documents.files import read_again, read_bytes
from quoth.documents.formats.recognition import recognise
from quoth.documents.printed_boxes import printed
from quoth.documents.worker.pool import Extraction
from quoth.errors import IndexMismatch, OffsetMismatch, ReceiptError, UnreadableFile
from quoth.output.json_types import AnswerJson, CitationJson
from quoth.output.render import rounded
from quoth.output.source_slices import pages_holding
from quoth.protocols import Reader
from quoth.settings import IngestSettings
from quoth.types import Document


def receipt_of(
    result: AnswerJson,
    *,
    reader: Reader,
    program: str,
    day: str | None,
    settings: Collection[str],
    models: Iterable[str],
    threshold: float,
) -> Receipt:
    """Return the receipt of a result, after comparing every quote with the index.

    `settings` are the digests of the settings that could have given the result; `threshold` is the least confidence of
    an answer. `day` is `YYYY-MM-DD`, None for a receipt without a day.
    Raise `IndexMismatch` when another index or other settings gave the result, `OffsetMismatch` when it was changed.
    """
    notes, info = result.run_notes, reader.info
    if notes.index != info.digest:
        message = f"question {result.question_id} was answered from the index {notes.index}, and this one is"
        hint = "Give the index that made the run with --index, or ask again."
        raise IndexMismatch(f"{message} {info.digest}", hint=hint)
    if notes.settings not in settings:
        hint = "Give what the run was made with: --config, --set and --answer."
        raise IndexMismatch(f"question {result.question_id} was answered under other settings", hint=hint)
    document = lru_cache(maxsize=8)(reader.document)
    cited = [(citation, citation.role.value) for citation in result.answer_sentences]
    cited += [(citation, "nearest") for citation in result.nearest]
    receipt: Receipt = {
        "receipt": VERSION,
        "question": {"id": result.question_id, "text": result.question, "understood": result.understood or None},
        "decision": {
            "outcome": result.outcome,
            "reason": {"code": result.reason.code.value, "detail": result.reason.detail} if result.reason else None,
            "confidence": _number(result.confidence),
            "threshold": _number(threshold),
            "calibrated": notes.calibrated,
        },
        "made": {
            "program": program,
            "day": day,
            "index": info.digest,
            "settings": notes.settings,
            "models": list(models),
        },
        "searched": {
            "documents": info.documents,
            "sentences": info.sentences,
            "filters": result.filters or {},
            **({"degraded": notes.degraded} if notes.degraded else {}),
        },
        "quotes": [
            _quote(citation, kind, document=document(citation.doc_id), reader=reader) for citation, kind in cited
        ],
    }
    try:
        return {**receipt, "digest": digest_of(receipt)}
    except ReceiptFault as fault:
        message = f"question {result.question_id} can have no receipt: {fault}"
        raise ReceiptError(message, hint="Rename the file, or ask with other characters.") from fault


def _quote(citation: CitationJson, kind: str, *, document: Document | None, reader: Reader) -> dict[str, Any]:
    lead = citation.lead
    if document is None or document.sha256 != citation.doc_sha256:
        raise OffsetMismatch(citation.doc_id, citation.start, citation.end)
    check_held(citation, document)
    span = span_of(citation)
    pages = pages_holding(reader, document.id, span, first=citation.page) if citation.page else ()
    boxes = printed(pages, span)
    return {
        "kind": kind,
        "score": _number(citation.score),
        "why": citation.why or None,
        "document": {
            "doc_id": document.id,
            "title": document.metadata.title,
            "source_sha256": document.source_sha256,
            "text_sha256": document.sha256,
            "format": document.format,
            "extractor": document.extractor,
        },
        "start": span.start,
        "end": span.end,
        "quote": citation.text,
        "before": document.text[max(0, span.start - AROUND) : span.start],
        "after": document.text[span.end : span.end + AROUND],
        "section": citation.section,
        "page": citation.page,
        "boxes": [
            {"page": page, **dict(zip(("left", "top", "right", "bottom"), map(_number, box), strict=True))}
            for page, box in boxes
        ],
        "lead": {"start": lead.start, "end": lead.end, "quote": lead.text} if lead else None,
    }


def _number(value: float) -> float:
    """Return a score or a length as receipts write it: four decimals, and none where it is whole."""
    short = rounded(value)
    return int(short) if short.is_integer() else short


def in_index(reader: Reader) -> Find:
    """Return what finds cited documents in an index."""

    def document(doc_id: str) -> tuple[str, str] | None:
        held = reader.document(doc_id)
        return (held.text, held.source_sha256) if held else None

    return _finding(document, "the index holds no such document")


def in_folder(root: Path, extraction: Extraction, *, most_mb: int) -> Find:
    """Return what finds cited documents below a folder, and extracts their text as an ingest does."""
    read = partial(read_again, root, extraction=extraction, most_mb=most_mb)
    return _finding(read, "the folder holds no such document that can be read")


def _finding(read: Callable[[str], tuple[str, str] | None], missing: str) -> Find:
    known = lru_cache(maxsize=100)(read)
    return lambda cited: Found(*held) if (held := known(cited["doc_id"])) else ReceiptFault(missing)


def read_source(path: Path, extraction: Extraction, limits: IngestSettings) -> Found:
    """Return the canonical text of a file of any format. Raise `UnreadableFile` when it cannot be read."""
    data = read_bytes(path, label=str(path), most_mb=limits.max_file_mb, workers=extraction)
    if (form := recognise(path)) is None:
        hint = "Give its canonical text with --text."
        raise UnreadableFile(str(path), "it is of no kind that can be read", hint=hint)
    extract, _ = extraction.read(data, form=form, label=str(path))
    return Found(extract.text, hashlib.sha256(data).hexdigest())
