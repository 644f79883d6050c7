"""Values to PostgreSQL rows and back, on top of the rows that every store has in common.

Words are our own stems, written so that PostgreSQL's parser changes nothing. It splits `6.0-7.0` and `kg/ha` and knows
hosts, paths and numbers, but a term of ASCII letters and digits that begins with a letter is one word to it, whatever
it stands for; so that is how each stem is written.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from quoth.language.stems import word_language
from quoth.stores import database_rows as shared
from quoth.stores.database_rows import Row, to_json
from quoth.stores.query_terms import norm, stems_of, variants
from quoth.types import Document, DocumentInfo, Metadata, ModelIdentity, Sentence, SplitDocument, Supersession, Vectors

# A noncharacter, which no real text holds; where one does all the same, it is doubled.
_ESCAPE = "\ufdd0"
_NUL = _ESCAPE + "0"

_MAX_VECTOR = 1_000_000  # bytes; PostgreSQL refuses a tsvector of 2 ** 20
_UNSAFE = re.compile(r"[^a-y0-9]")


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


@dataclass(frozen=True, slots=True)
class SentenceTerms:
    """A sentence for full text: its lexemes in order, separated by spaces, and how many terms it has."""

    terms: str
    length: int
    norm: int


def lexeme(stem: str) -> str:
    """Write `stem` as one word of letters and digits: `z` and others become `z`, their code and `z`."""
    return "x" + _UNSAFE.sub(lambda found: f"z{ord(found[0]):x}z", stem)


def sentence_terms(search_text: str, language: str | None) -> SentenceTerms:
    """Return the terms of a sentence's search text, by the language of its document."""
    found = [lexeme(stem) for stem in stems_of(search_text, word_language(language))]
    return SentenceTerms(" ".join(_fitting(found)), len(found), norm(len(found)))


def term_query(term: str, languages: Sequence[str]) -> str | None:
    """A tsquery for the sentences that hold every word of `term`; None where it has no word."""
    held = ["(" + " & ".join(map(lexeme, variant)) + ")" for variant in variants(term, languages)]
    return " | ".join(held) or None


def _fitting(found: Sequence[str]) -> Iterator[str]:
    """Yield as many lexemes as a tsvector can hold; only an extremely long sentence loses some."""
    size = 0
    seen = set()
    for lexeme in found:
        size += 4  # a position, and what keeps it aligned
        if lexeme not in seen:
            seen.add(lexeme)
            size += len(lexeme) + 8
        if size > _MAX_VECTOR:
            return
        yield lexeme


DOCUMENT_COLUMNS = (
    "name, fingerprint, sha256, source_sha256, encoding, format, extractor, root, characters, sentences, evidence, "
    "tokens, pages, title, document_type, is_binding, effective_date, superseded_by, language, tags, reading, "
    "type_guessed, authors, year, doi, access, stated_access, text"
)
SENTENCE_COLUMNS = (
    "ordinal, start, stop, kind, section, lead_start, lead_stop, lead_text, page, ocr, tags, labels, text, key, terms, "
    "length, norm"
)

_ABOUT = (
    "d.title, d.document_type, d.is_binding, d.effective_date, d.superseded_by, d.language, d.tags, d.type_guessed, "
    "d.authors, d.year, d.doi"
)
WHOLE = f"d.name, d.text, d.sha256, d.source_sha256, d.encoding, d.format, d.extractor, {_ABOUT}"
_LISTED = "name, sha256, source_sha256, encoding, format, extractor, characters, sentences, pages"
LISTED = f"d.access, d.reading::text, {shared.qualified('d', _LISTED)}, {_ABOUT}"
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
    evidence = [own for own in terms if own is not None]
    found = shared.document_values(split)
    values = dict(zip(found, _texts_mapped(storable, found.values()), strict=True))
    successors = [_texts_mapped(storable, successor) for successor in found["superseded_by"]]
    values |= {"name": values["id"], "superseded_by": to_json(successors), "tags": to_json(values["tags"])}
    values["authors"] = to_json(_texts_mapped(storable, found["authors"]))
    values |= {"evidence": len(evidence), "tokens": sum(own.length for own in evidence)}
    values["access"] = values["stated_access"] = [storable(own) for own in split.access]
    return shared.picked(DOCUMENT_COLUMNS, values)


def terms_of(split: SplitDocument) -> list[SentenceTerms | None]:
    """Return the terms of each sentence; None if it is not evidence."""
    language = split.document.metadata.language
    return [
        sentence_terms(sentence.search_text, language) if sentence.kind.evidence else None
        for sentence in split.sentences
    ]


def sentence_row(ordinal: int, sentence: Sentence, *, terms: SentenceTerms | None, model: ModelIdentity) -> Row:
    """Return the values for `SENTENCE_COLUMNS`."""
    columns = shared.SENTENCE_COLUMNS.split(", ")
    values = dict(zip(columns, shared.sentence_row(ordinal, sentence), strict=True))
    values["text"], values["lead_text"] = _texts_mapped(storable, (values["text"], values["lead_text"]))
    values["labels"] = sorted({label(facet, value) for facet, held in sentence.tags.items() for value in held})
    values["key"] = shared.evidence_key(model, sentence)
    values |= {"terms": None, "length": None, "norm": None} if terms is None else asdict(terms)
    return shared.picked(SENTENCE_COLUMNS, values)


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
    return Document(*_fields(row))


def listed(row: Row) -> DocumentInfo:
    """Return the document info in a row of `LISTED`."""
    access, reading, *fields = row
    values = (*_fields(fields), shared.reading(restored(reading)), tuple(map(original, access)))
    return DocumentInfo(*values)


def _fields(row: Iterable[object]) -> Row:
    """Return the columns before `_ABOUT`, and the metadata in these."""
    (
        *source,
        title,
        document_type,
        is_binding,
        effective_date,
        superseded_by,
        language,
        tags,
        guessed,
        names,
        year,
        doi,
    ) = _texts_mapped(original, row)
    successors = tuple(Supersession(*_texts_mapped(original, successor)) for successor in superseded_by)
    about = (title, document_type, is_binding, effective_date, successors, language, shared.tag_tuples(tags))
    return (*source, Metadata(*about, guessed, tuple(_texts_mapped(original, names)), year, doi))


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


def _texts_mapped(change: Callable[[str], str], row: Iterable[object]) -> Row:
    return tuple(change(value) if isinstance(value, str) else value for value in row)
