"""Values to database rows and back. What is the same in every store is taken from the embedded one."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np

from quoth.stores.embedded import rows as shared
from quoth.stores.embedded.rows import Row, embedding_key
from quoth.stores.postgres.lexemes import Indexed, indexed
from quoth.stores.postgres.texts import comparable, original, storable
from quoth.types import (
    Document,
    DocumentInfo,
    Metadata,
    ModelIdentity,
    Passage,
    Sentence,
    SplitDocument,
    Supersession,
    Tags,
    Vectors,
)

DOCUMENT_COLUMNS = (
    "name, fingerprint, sha256, source_sha256, encoding, format, extractor, root, characters, sentences, evidence, "
    "tokens, pages, title, document_type, is_binding, effective_date, superseded_by, language, tags, text"
)
SENTENCE_COLUMNS = (
    "ordinal, start, stop, kind, section, lead_start, lead_stop, lead_text, page, ocr, tags, labels, text, key, terms, "
    "length, norm"
)
PASSAGE_COLUMNS = "ordinal, first, last, start, stop, section, page, tokens"
PAGE_COLUMNS = "number, width, height, spans, boxes"

_ABOUT = "d.title, d.document_type, d.is_binding, d.effective_date, d.superseded_by, d.language, d.tags"
WHOLE = f"d.name, d.text, d.sha256, d.source_sha256, d.encoding, d.format, d.extractor, {_ABOUT}"
LISTED = (
    "d.name, d.sha256, d.source_sha256, d.encoding, d.format, d.extractor, d.characters, d.sentences, d.pages, "
    f"{_ABOUT}"
)
QUOTED = (
    "d.name, s.start, s.stop, s.text, s.kind, s.section::text, s.lead_start, s.lead_stop, s.lead_text, s.page, s.ocr, "
    "s.tags::text"
)
"""Of sentences `s` and their documents `d`."""
PASSAGES = "p.ordinal, p.first, p.last, p.start, p.stop, p.section::text, p.page, p.tokens"
PAGES = "p.number, p.width, p.height, p.spans::text, p.boxes"

_SEPARATOR = "\x1f"
_HEADER = 4  # bytes before the numbers of a vector: its dimension, and two that mean nothing


def document_row(split: SplitDocument, terms: list[Indexed | None]) -> Row:
    """Values for `DOCUMENT_COLUMNS`; `terms` are those of each sentence that can be evidence."""
    document = split.document
    about = document.metadata
    evidence = [one for one in terms if one is not None]
    return (
        storable(document.id),
        split.fingerprint,
        document.sha256,
        document.source_sha256,
        document.encoding,
        document.format,
        storable(document.extractor),
        storable(split.root),
        len(document.text),
        len(split.sentences),
        len(evidence),
        sum(one.length for one in evidence),
        len(split.pages),
        _optional(about.title),
        _optional(about.document_type),
        about.is_binding,
        _optional(about.effective_date),
        _json([[storable(one.by), _optional(one.section)] for one in about.superseded_by]),
        _optional(about.language),
        _json({facet: list(values) for facet, values in about.tags.items()}),
        storable(document.text),
    )


def terms_of(split: SplitDocument) -> list[Indexed | None]:
    """The terms of each sentence; None for one that is no evidence."""
    return [indexed(one.search_text) if one.kind.evidence else None for one in split.sentences]


def sentence_row(ordinal: int, sentence: Sentence, *, terms: Indexed | None, model: ModelIdentity) -> Row:
    """Values for `SENTENCE_COLUMNS`."""
    number, start, stop, kind, section, lead_start, lead_stop, lead, page, ocr, tags, text = shared.sentence_row(
        ordinal, sentence
    )
    key = None if terms is None else embedding_key(model, sentence.search_text)
    found = (None, None, None) if terms is None else (terms.terms, terms.length, terms.norm)
    labels = sorted({label(facet, value) for facet, values in sentence.tags.items() for value in values})
    lead = _optional(lead)
    text = storable(text)
    return number, start, stop, kind, section, lead_start, lead_stop, lead, page, ocr, tags, labels, text, key, *found


passage_row = shared.passage_row
page_row = shared.page_row
page = shared.page


_LONGEST_LABEL = 500
"""Characters. A GIN index takes no key of more than some 2,700 bytes."""


def label(facet: str, value: str) -> str:
    """A tag as one text, for filters: it is compared and never shown, so a long one is known by its hash."""
    written = f"{comparable(facet)}{_SEPARATOR}{comparable(value)}"
    if len(written) <= _LONGEST_LABEL:
        return written
    return hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()


def sentence(row: Row) -> Sentence:
    """A sentence from a row of `QUOTED`."""
    name, start, stop, text, kind, section, lead_start, lead_stop, lead, page, ocr, tags = row
    return shared.sentence(
        (
            original(name),
            start,
            stop,
            original(text),
            kind,
            section,
            lead_start,
            lead_stop,
            None if lead is None else original(lead),
            page,
            ocr,
            tags,
        )
    )


def passage(doc_id: str, row: Row) -> Passage:
    """A passage from a row of `PASSAGES`."""
    return shared.passage(doc_id, row)


def document(row: Row) -> Document:
    """A document from a row of `WHOLE`."""
    name, text, sha256, source_sha256, encoding, form, extractor, *about = row
    return Document(
        id=original(name),
        text=original(text),
        sha256=sha256,
        source_sha256=source_sha256,
        encoding=encoding,
        format=form,
        extractor=original(extractor),
        metadata=_metadata(about),
    )


def listed(row: Row) -> DocumentInfo:
    """A listing from a row of `LISTED`."""
    name, sha256, source_sha256, encoding, form, extractor, characters, sentences, pages, *about = row
    return DocumentInfo(
        id=original(name),
        sha256=sha256,
        source_sha256=source_sha256,
        encoding=encoding,
        format=form,
        extractor=original(extractor),
        characters=characters,
        sentences=sentences,
        pages=pages,
        metadata=_metadata(about),
    )


def vectors(sent: list[bytes], *, kind: str, dimension: int) -> Vectors:
    """Unit vectors from what the server sends of them (`vector_send` or `halfvec_send`)."""
    width = 2 if kind == "halfvec" else 4
    numbers = b"".join(one[_HEADER:] for one in sent)
    stored = np.frombuffer(numbers, dtype=f">f{width}").reshape(-1, dimension)
    # A half vector is kept as it was rounded, and a whole one as the unit vector that this stands for.
    return shared.unpack(stored.astype(np.float16)) if kind == "halfvec" else stored.astype(np.float32)


def vectors_to_keep(made: Vectors, *, kind: str) -> Vectors:
    """Vectors as they are stored: rounded to sixteen bits as in every store, so that the cosines agree."""
    rounded = made.astype(np.float16)
    return rounded.astype(np.float32) if kind == "halfvec" else shared.unpack(rounded)


def literal(vector: Vectors) -> str:
    """A vector as text, exactly."""
    return "[" + ",".join(map(repr, vector.astype(np.float32).astype(np.float64).tolist())) + "]"


def packed(vector: Vectors) -> bytes:
    """A vector as `vector_recv` reads it."""
    return len(vector).to_bytes(2, "big") + b"\0\0" + vector.astype(">f4").tobytes()


_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def _optional(text: str | None) -> str | None:
    return None if text is None else storable(text)


def _read(stored: str | None) -> str | None:
    return None if stored is None else original(stored)


def _metadata(row: list[Any]) -> Metadata:
    title, document_type, is_binding, effective_date, superseded_by, language, tags = row
    found: Tags = {facet: tuple(values) for facet, values in tags.items()}
    return Metadata(
        title=_read(title),
        document_type=_read(document_type),
        is_binding=is_binding,
        effective_date=_read(effective_date),
        superseded_by=tuple(Supersession(original(by), _read(section)) for by, section in superseded_by),
        language=_read(language),
        tags=found,
    )
