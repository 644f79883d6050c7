"""The questions and quotes of a run file, checked against the documents of an index."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from urllib.parse import quote as percent_encoded
from urllib.parse import unquote, urlsplit

import msgspec

from quoth.errors import CorpusError, OffsetMismatch, QuothError, ReceiptError
from quoth.output.json_types import AnswerJson, CitationJson, QuoteJson
from quoth.output.source_slices import check_unchanged
from quoth.protocols import Reader
from quoth.types import Document, Span

_WEB = frozenset({"http", "https"})
_HINT = "Give the file that quoth batch wrote, or what quoth ask --json printed."
_BASE_HINT = "For example: --base-url https://example.org/library"


def parse_result(line: object) -> AnswerJson:
    """Return a line of a run file as a value. Raise `ReceiptError` when it is none."""
    try:
        return msgspec.convert(line, AnswerJson)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:  # a lone surrogate is in no result
        raise ReceiptError(f"this is no result: {error}", hint=_HINT) from error


def read_run(lines: Iterable[str], *, name: str) -> tuple[AnswerJson, ...]:
    """Return the questions of a run file. Raise `QuothError`, with the number of the line, for anything else."""
    return tuple(_question(line, f"{name}, line {number}") for number, line in enumerate(lines, 1) if line.strip())


def _question(line: str, name: str) -> AnswerJson:
    try:
        question = parse_result(json.loads(line))
        for quote in (*question.answer_sentences, *question.nearest):
            _ = span_of(quote), quote.lead and span_of(quote.lead)  # a place that is none is an error
    except (ValueError, RecursionError, ReceiptError) as error:
        raise QuothError(f"{name} is no result: {error}", hint=_HINT) from error
    return question


def span_of(quote: CitationJson | QuoteJson) -> Span:
    return Span(quote.start, quote.end)


def check_held(quote: CitationJson, document: Document) -> None:
    """Raise `OffsetMismatch` when a quote or its lead is not exactly what stands at its place."""
    quoted: list[CitationJson | QuoteJson] = [quote, quote.lead] if quote.lead else [quote]
    for placed in quoted:
        if placed.end > len(document.text) or document.text[placed.start : placed.end] != placed.text:
            raise OffsetMismatch(document.id, placed.start, placed.end)


def cited_documents(quotes: Iterable[CitationJson], reader: Reader) -> dict[str, Document]:
    """Return the document of each quote by its id. Every quote is sliced again and compared.

    Raise `CorpusError` when the index does not hold a document, `DocumentChanged` when its text is another than the
    cited one, and `OffsetMismatch` when a quote is not exactly what stands at its place.
    """
    documents: dict[str, Document] = {}
    for quote in quotes:
        document = documents.get(quote.doc_id) or reader.document(quote.doc_id)
        if document is None:
            hint = "Give the index that answered, with --index."
            raise CorpusError(f"the index holds no document '{quote.doc_id}'", hint=hint)
        check_unchanged(document.id, document.sha256, quote.doc_sha256)
        check_held(quote, document)
        documents[document.id] = document
    return documents


def answer_quotes(questions: Iterable[AnswerJson]) -> list[CitationJson]:
    return [quote for question in questions for quote in question.answer_sentences]


def shown_of(question: AnswerJson) -> list[CitationJson]:
    """Return the quotes that a report shows: those of the answer, or the ones that may be relevant instead."""
    return question.answer_sentences or (question.nearest if question.outcome == "may_be_relevant" else [])


def checked_base(base_url: str) -> str:
    """Return an address to put before the ids of documents, without a slash at its end. Raise `QuothError` if it
    cannot be one."""
    if re.search(r"[\s<>\"\\^`{|}?#]", base_url) or not _is_address(base_url):
        raise QuothError(f"--base-url {base_url} is no address that sources can stand below", hint=_BASE_HINT)
    return base_url.rstrip("/")


def _is_address(url: str) -> bool:
    """Return whether an address names a host, or in the scheme `file` a folder below the root."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port  # a port that is none is an error
    except ValueError:
        return False
    if parts.scheme == "file":
        return url.lower().startswith("file://") and bool(parts.path.strip("/"))
    return parts.scheme in _WEB and bool(host)


def source_iri(doc_id: str, base_url: str | None) -> str:
    """Return the address of a document: below `base_url`, or relative to wherever the export is put."""
    path = percent_encoded(doc_id, safe="/")
    return path if base_url is None else f"{checked_base(base_url)}/{path}"


def doc_id_of(iri: str, base_url: str | None) -> str | None:
    """Return the id of the document that `source_iri` gives this address; None for an address of anything else."""
    path = iri.partition("#")[0]
    if base_url is not None and path.startswith(f"{checked_base(base_url)}/"):
        path = path[len(checked_base(base_url)) + 1 :]
    is_id = re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", path) is None and path.isprintable()
    return unquote(path) if is_id else None
