"""Values to database rows and back."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from quoth.stores.embedded import boxes
from quoth.types import (
    Document,
    DocumentInfo,
    Metadata,
    ModelIdentity,
    Page,
    Passage,
    Quote,
    RegionKind,
    Sentence,
    Span,
    SplitDocument,
    Supersession,
    Tags,
    Vectors,
)

Row: TypeAlias = tuple[Any, ...]

DOCUMENT_COLUMNS = (
    "id, fingerprint, sha256, source_sha256, encoding, format, extractor, root, characters, sentences, pages, "
    "document_type, is_binding, metadata, text"
)
SENTENCE_COLUMNS = "ordinal, start, stop, kind, section, lead_start, lead_stop, lead_text, page, ocr, tags, text"
PASSAGE_COLUMNS = "ordinal, first, last, start, stop, section, page, tokens"
PAGE_COLUMNS = "number, width, height, spans, boxes"

WHOLE = "id, text, sha256, source_sha256, encoding, format, extractor, metadata"
LISTED = "id, sha256, source_sha256, encoding, format, extractor, characters, sentences, pages, metadata"
QUOTED = (
    "d.id, s.start, s.stop, s.text, s.kind, s.section, s.lead_start, s.lead_stop, s.lead_text, s.page, s.ocr, s.tags"
)


def document_row(split: SplitDocument) -> Row:
    """Values for `DOCUMENT_COLUMNS`."""
    document = split.document
    metadata = document.metadata
    return (
        document.id,
        split.fingerprint,
        document.sha256,
        document.source_sha256,
        document.encoding,
        document.format,
        document.extractor,
        split.root,
        len(document.text),
        len(split.sentences),
        len(split.pages),
        metadata.document_type,
        metadata.is_binding,
        _metadata_json(metadata),
        document.text,
    )


def sentence_row(ordinal: int, sentence: Sentence) -> Row:
    """Values for `SENTENCE_COLUMNS`."""
    span, lead = sentence.quote.span, sentence.lead
    return (
        ordinal,
        span.start,
        span.end,
        sentence.kind.value,
        _json(sentence.section),
        lead.span.start if lead else None,
        lead.span.end if lead else None,
        lead.text if lead else None,
        sentence.page,
        sentence.ocr,
        _json({facet: list(values) for facet, values in sentence.tags.items()}),
        sentence.text,
    )


def sentence(row: Row) -> Sentence:
    """A sentence from a row of `QUOTED`."""
    doc_id, start, stop, text, kind, section, lead_start, lead_stop, lead_text, page, ocr, tags = row
    return Sentence(
        doc_id=doc_id,
        quote=Quote(Span(start, stop), text),
        kind=RegionKind(kind),
        section=_section(section),
        lead=None if lead_text is None else Quote(Span(lead_start, lead_stop), lead_text),
        page=page,
        ocr=ocr,
        tags=dict(_tags(tags)),
    )


def passage_row(ordinal: int, passage: Passage) -> Row:
    """Values for `PASSAGE_COLUMNS`."""
    span = passage.span
    section = _json(passage.section)
    return ordinal, passage.first, passage.last, span.start, span.end, section, passage.page, passage.tokens


def passage(doc_id: str, row: Row) -> Passage:
    """A passage from a row of `PASSAGE_COLUMNS`."""
    _, first, last, start, stop, section, page, tokens = row
    return Passage(doc_id, Span(start, stop), first, last, _section(section), page, tokens)


def page_row(page: Page) -> Row:
    """Values for `PAGE_COLUMNS`."""
    spans = _json([[span.start, span.end] for span in page.spans])
    return page.number, page.width, page.height, spans, boxes.pack(page.boxes)


def page(row: Row) -> Page:
    """A page from a row of `PAGE_COLUMNS`."""
    number, width, height, spans, packed = row
    runs = tuple(Span(start, stop) for start, stop in json.loads(spans))
    return Page(number, width, height, runs, boxes.unpack(packed, count=sum(map(len, runs))))


def search_texts(rows: Iterable[Row]) -> Iterator[str]:
    """The search text of each (text, lead_start, lead_stop, lead_text); the rule itself lives in `Sentence`."""
    for text, lead_start, lead_stop, lead_text in rows:
        lead = None if lead_text is None else Quote(Span(lead_start, lead_stop), lead_text)
        bare = Sentence("", Quote(Span(0, 1), text), RegionKind.PARAGRAPH, (), lead, None, None, {})
        yield bare.search_text


def document(row: sqlite3.Row | Row) -> Document:
    """A document from a row of `WHOLE`."""
    doc_id, text, sha256, source_sha256, encoding, form, extractor, metadata = row
    return Document(doc_id, text, sha256, source_sha256, encoding, form, extractor, _metadata(metadata))


def listed(row: Row) -> DocumentInfo:
    """A listing from a row of `LISTED`."""
    doc_id, sha256, source_sha256, encoding, form, extractor, characters, sentences, pages, metadata = row
    return DocumentInfo(
        id=doc_id,
        sha256=sha256,
        source_sha256=source_sha256,
        encoding=encoding,
        format=form,
        extractor=extractor,
        characters=characters,
        sentences=sentences,
        pages=pages,
        metadata=_metadata(metadata),
    )


def embedding_key(model: ModelIdentity, text: str) -> bytes:
    """Sixteen bytes that stand for `text` as this model sees it."""
    named = f"{model.name}\0{model.revision}\0{model.precision}\0{model.dimension}\0{text}"
    return hashlib.sha256(named.encode("utf-8", "surrogatepass")).digest()[:16]


def unpack(stored: np.ndarray[Any, np.dtype[np.float16]]) -> Vectors:
    """Stored rows as unit vectors: rounding to float16 moves the length a little."""
    vectors = stored.astype(np.float32)
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    lengths[lengths == 0] = 1
    vectors /= lengths[:, None]
    return vectors


_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


# Neighbouring sentences share their section and often their tags: parsing them again and again would take most of the
# time of a search.
@lru_cache(maxsize=4096)
def _section(stored: str) -> tuple[str, ...]:
    return tuple(json.loads(stored))


@lru_cache(maxsize=4096)
def _tags(stored: str) -> Tags:
    return _tuples(json.loads(stored))


def _tuples(tags: Mapping[str, list[str]]) -> Tags:
    return {facet: tuple(values) for facet, values in tags.items()}


def _metadata_json(metadata: Metadata) -> str:
    return _json(
        {
            "title": metadata.title,
            "document_type": metadata.document_type,
            "is_binding": metadata.is_binding,
            "effective_date": metadata.effective_date,
            "superseded_by": [[other.by, other.section] for other in metadata.superseded_by],
            "language": metadata.language,
            "tags": {facet: list(values) for facet, values in metadata.tags.items()},
        }
    )


def _metadata(stored: str) -> Metadata:
    fields = json.loads(stored)
    return Metadata(
        title=fields["title"],
        document_type=fields["document_type"],
        is_binding=fields["is_binding"],
        effective_date=fields["effective_date"],
        superseded_by=tuple(Supersession(by, section) for by, section in fields["superseded_by"]),
        language=fields["language"],
        tags=_tuples(fields["tags"]),
    )
