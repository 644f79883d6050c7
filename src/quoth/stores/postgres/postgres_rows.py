"""Values to PostgreSQL rows and back, on top of the rows that every store has in common."""

from __future__ import annotations

import hashlib

import numpy as np

from quoth.stores import database_rows as shared
from quoth.stores.database_rows import Row, embedding_key, to_json
from quoth.stores.postgres.lexemes import SentenceTerms, sentence_terms
from quoth.types import (
    Document,
    DocumentInfo,
    Metadata,
    ModelIdentity,
    Sentence,
    SplitDocument,
    Supersession,
    Vectors,
)

# A noncharacter, which no real text holds; where one does all the same, it is doubled.
_ESCAPE = "\ufdd0"
_NUL = _ESCAPE + "0"


def storable(text: str) -> str:
    """Return `text` without NUL; `original` undoes it."""
    if _ESCAPE in text:
        text = text.replace(_ESCAPE, _ESCAPE * 2)
    return text.replace("\0", _NUL)


def original(stored: str) -> str:
    """Return the text that `storable` was given."""
    if _ESCAPE not in stored:
        return stored
    return _ESCAPE.join(part.replace(_NUL, "\0") for part in stored.split(_ESCAPE * 2))


def comparable(text: str) -> str:
    """Return `text` to compare with: a lone surrogate, which no stored text has, becomes `?`."""
    return storable(text.encode("utf-8", "replace").decode("utf-8"))


DOCUMENT_COLUMNS = (
    "name, fingerprint, sha256, source_sha256, encoding, format, extractor, root, characters, sentences, evidence, "
    "tokens, pages, title, document_type, is_binding, effective_date, superseded_by, language, tags, text"
)
SENTENCE_COLUMNS = (
    "ordinal, start, stop, kind, section, lead_start, lead_stop, lead_text, page, ocr, tags, labels, text, key, terms, "
    "length, norm"
)

_ABOUT = "d.title, d.document_type, d.is_binding, d.effective_date, d.superseded_by, d.language, d.tags"
WHOLE = f"d.name, d.text, d.sha256, d.source_sha256, d.encoding, d.format, d.extractor, {_ABOUT}"
_LISTED = "name, sha256, source_sha256, encoding, format, extractor, characters, sentences, pages"
LISTED = f"{shared.qualified('d', _LISTED)}, {_ABOUT}"
QUOTED = (
    "d.name, s.start, s.stop, s.text, s.kind, s.section::text, s.lead_start, s.lead_stop, s.lead_text, s.page, s.ocr, "
    "s.tags::text"
)
"""Columns of the sentences `s` and their documents `d`."""
PASSAGES = "s.ordinal, s.first, s.last, s.start, s.stop, s.section::text, s.page, s.tokens"
PAGES = "s.number, s.width, s.height, s.spans::text, s.boxes"

_SEPARATOR = "\x1f"
_HEADER = 4  # bytes before the numbers of a vector: its dimension, and two that mean nothing


def document_row(split: SplitDocument, terms: list[SentenceTerms | None]) -> Row:
    """Return the values for `DOCUMENT_COLUMNS`. `terms` has an entry for each sentence, None if it is no evidence."""
    document = split.document
    about = document.metadata
    evidence = [found for found in terms if found is not None]
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
        sum(found.length for found in evidence),
        len(split.pages),
        _optional(about.title),
        _optional(about.document_type),
        about.is_binding,
        _optional(about.effective_date),
        to_json([[storable(successor.by), _optional(successor.section)] for successor in about.superseded_by]),
        _optional(about.language),
        to_json(about.tags),
        storable(document.text),
    )


def terms_of(split: SplitDocument) -> list[SentenceTerms | None]:
    """Return the terms of each sentence; None if it is not evidence."""
    return [sentence_terms(sentence.search_text) if sentence.kind.evidence else None for sentence in split.sentences]


def sentence_row(ordinal: int, sentence: Sentence, *, terms: SentenceTerms | None, model: ModelIdentity) -> Row:
    """Return the values for `SENTENCE_COLUMNS`."""
    number, start, stop, kind, section, lead_start, lead_stop, lead, page, ocr, tags, text = shared.sentence_row(
        ordinal, sentence
    )
    key = None if terms is None else embedding_key(model, sentence.search_text)
    found = (None, None, None) if terms is None else (terms.terms, terms.length, terms.norm)
    labels = sorted({label(facet, value) for facet, values in sentence.tags.items() for value in values})
    lead = _optional(lead)
    text = storable(text)
    return number, start, stop, kind, section, lead_start, lead_stop, lead, page, ocr, tags, labels, text, key, *found


_LONGEST_LABEL = 500
"""Characters. A GIN index takes no key of more than some 2,700 bytes."""


def label(facet: str, value: str) -> str:
    """A tag as one text, for filters: it is compared and never shown, so a long one is known by its hash."""
    written = f"{comparable(facet)}{_SEPARATOR}{comparable(value)}"
    if len(written) <= _LONGEST_LABEL:
        return written
    return hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()


def sentence(row: Row) -> Sentence:
    """Return the sentence in a row of `QUOTED`."""
    name, start, stop, text, *middle, lead, page, ocr, tags = row
    return shared.sentence((original(name), start, stop, original(text), *middle, restored(lead), page, ocr, tags))


def document(row: Row) -> Document:
    """Return the document in a row of `WHOLE`."""
    name, text, *source, extractor = row[:7]
    fields: Row = (original(name), original(text), *source, original(extractor), _metadata(row[7:]))
    return Document(*fields)


def listed(row: Row) -> DocumentInfo:
    """Return the document info in a row of `LISTED`."""
    name, sha256, source_sha256, encoding, form, extractor, *counts = row[:9]
    source = (original(name), sha256, source_sha256, encoding, form, original(extractor))
    fields: Row = (*source, *counts, _metadata(row[9:]))
    return DocumentInfo(*fields)


def vectors(sent: list[bytes], *, kind: str, dimension: int) -> Vectors:
    """Return unit vectors from the output of `vector_send` or `halfvec_send`."""
    width = 2 if kind == "halfvec" else 4
    numbers = b"".join(vector[_HEADER:] for vector in sent)
    stored = np.frombuffer(numbers, dtype=f">f{width}").reshape(-1, dimension)
    # A half vector is kept as it was rounded, and a whole one as the unit vector that this stands for.
    return shared.unit_vectors(stored.astype(np.float16)) if kind == "halfvec" else stored.astype(np.float32)


def vectors_to_keep(made: Vectors, *, kind: str) -> Vectors:
    """Round vectors to sixteen bits as every store does, so that the cosines agree."""
    rounded = made.astype(np.float16)
    return rounded.astype(np.float32) if kind == "halfvec" else shared.unit_vectors(rounded)


def literal(vector: Vectors) -> str:
    """A vector as text, exactly."""
    return "[" + ",".join(map(repr, vector.astype(np.float32).astype(np.float64).tolist())) + "]"


def packed(vector: Vectors) -> bytes:
    """A vector as `vector_recv` reads it."""
    return len(vector).to_bytes(2, "big") + b"\0\0" + vector.astype(">f4").tobytes()


def restored(stored: str | None) -> str | None:
    """Return the `original` of a text that may be missing."""
    return None if stored is None else original(stored)


def _optional(text: str | None) -> str | None:
    return None if text is None else storable(text)


def _metadata(row: Row) -> Metadata:
    title, document_type, is_binding, effective_date, superseded_by, language, tags = row
    return Metadata(
        title=restored(title),
        document_type=restored(document_type),
        is_binding=is_binding,
        effective_date=restored(effective_date),
        superseded_by=tuple(Supersession(original(by), restored(section)) for by, section in superseded_by),
        language=restored(language),
        tags=shared.tag_tuples(tags),
    )
