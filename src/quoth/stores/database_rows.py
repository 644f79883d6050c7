"""Values to database rows and back."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from quoth.types import (
    Document,
    DocumentInfo,
    Metadata,
    ModelIdentity,
    Page,
    Passage,
    Quote,
    Reading,
    Refusals,
    Refused,
    RegionKind,
    Sentence,
    Span,
    SplitDocument,
    Supersession,
    Tags,
    Vectors,
)


@dataclass(frozen=True, slots=True)
class RowLimits:
    """The filters of a question: document rows, and tag ids for each facet. None and empty mean no limit."""

    documents: Collection[int] | None
    tags: Sequence[Collection[int]]

    @property
    def anywhere(self) -> bool:
        return self.documents is None and not self.tags


Row: TypeAlias = tuple[Any, ...]

DOCUMENT_COLUMNS = (
    "id, fingerprint, sha256, source_sha256, encoding, format, extractor, root, characters, sentences, pages, "
    "document_type, is_binding, metadata, reading, access, stated_access"
)
SENTENCE_COLUMNS = "ordinal, start, stop, kind, section, lead_start, lead_stop, lead_text, page, ocr, tags, text"
PASSAGE_COLUMNS = "ordinal, first, last, start, stop, section, page, tokens"
PAGE_COLUMNS = "number, width, height, spans, boxes"

WHOLE = "id, sha256, source_sha256, encoding, format, extractor, metadata"
LISTED = (
    "id, sha256, source_sha256, encoding, format, extractor, characters, sentences, pages, metadata, reading, access"
)
QUOTED = (
    "d.id, s.start, s.stop, s.text, s.kind, s.section, s.lead_start, s.lead_stop, s.lead_text, s.page, s.ocr, s.tags"
)


def qualified(table: str, columns: str) -> str:
    """Return `columns` with the name of their table before each."""
    return ", ".join(f"{table}.{column}" for column in columns.split(", "))


def picked(columns: str, values: Mapping[str, Any]) -> Row:
    """Return the values of these columns."""
    return tuple(values[column] for column in columns.split(", "))


def document_values(split: SplitDocument) -> dict[str, Any]:
    """Return the values of a document and of its metadata by column; `metadata` holds the latter together."""
    document = split.document
    successors = [astuple(successor) for successor in document.metadata.superseded_by]
    metadata = asdict(document.metadata) | {"superseded_by": successors}
    counts = {"characters": len(document.text), "sentences": len(split.sentences), "pages": len(split.pages)}
    found = {"root": split.root, "fingerprint": split.fingerprint}
    reading = {"reading": None if split.reading is None else to_json(asdict(split.reading))}
    return asdict(document) | metadata | counts | found | {"metadata": metadata} | reading


def document_row(split: SplitDocument) -> Row:
    """Return the values for `DOCUMENT_COLUMNS`."""
    values = document_values(split)
    labels = to_json(split.access)
    return picked(
        DOCUMENT_COLUMNS,
        values | {"metadata": to_json(values["metadata"]), "access": labels, "stated_access": labels},
    )


def sentence_row(ordinal: int, sentence: Sentence) -> Row:
    """Return the values for `SENTENCE_COLUMNS`."""
    span, lead = sentence.quote.span, sentence.lead
    return (
        ordinal,
        span.start,
        span.end,
        sentence.kind.value,
        to_json(sentence.section),
        lead.span.start if lead else None,
        lead.span.end if lead else None,
        lead.text if lead else None,
        sentence.page,
        sentence.ocr,
        to_json(sentence.tags),
        sentence.text,
    )


def sentence(row: Row) -> Sentence:
    """Return the sentence in a row of `QUOTED`."""
    doc_id, start, stop, text, kind, section, lead_start, lead_stop, lead_text, page, ocr, tags = row
    return Sentence(
        doc_id=doc_id,
        quote=Quote(Span(start, stop), text),
        kind=_kind(kind),
        section=_section(section),
        lead=None if lead_text is None else Quote(Span(lead_start, lead_stop), lead_text),
        page=page,
        ocr=ocr,
        tags=dict(_tags(tags)),
    )


def near_sentences(sentences: Iterable[Sentence], near: Span | None) -> Iterator[Sentence]:
    """Yield of all sentences of a document those that `Reader.sentences` gives for `near`."""
    if near is None:
        yield from sentences
        return
    before: Sentence | None = None
    for sentence in sentences:
        if sentence.quote.span.start > near.end:
            break
        if sentence.quote.span.start > near.start:
            if before is not None:
                yield before
            before = None
            yield sentence
        else:
            before = sentence
    if before is not None:
        yield before


def passage_row(ordinal: int, passage: Passage) -> Row:
    """Return the values for `PASSAGE_COLUMNS`."""
    span, section = passage.span, to_json(passage.section)
    return ordinal, passage.first, passage.last, span.start, span.end, section, passage.page, passage.tokens


def passage(doc_id: str, row: Row) -> Passage:
    """Return the passage in a row of `PASSAGE_COLUMNS`."""
    _, first, last, start, stop, section, page, tokens = row
    return Passage(doc_id, Span(start, stop), first, last, _section(section), page, tokens)


def page_row(page: Page) -> Row:
    """Return the values for `PAGE_COLUMNS`."""
    spans = to_json([[span.start, span.end] for span in page.spans])
    return page.number, page.width, page.height, spans, pack_boxes(page.boxes)


def page(row: Row) -> Page:
    """Return the page in a row of `PAGE_COLUMNS`."""
    number, width, height, spans, packed = row
    runs = tuple(Span(start, stop) for start, stop in json.loads(spans))
    return Page(number, width, height, runs, unpack_boxes(packed, count=sum(map(len, runs))))


def search_text(text: str, lead: str | None) -> str:
    """Return the search text of a sentence by the rule of `Sentence`."""
    lead_quote = None if lead is None else Quote(Span(0, 1), lead)
    return Sentence("", Quote(Span(0, 1), text), RegionKind.PARAGRAPH, (), lead_quote, None, None, {}).search_text


def document(row: Row, text: str) -> Document:
    """Return the document with this text in a row of `WHOLE`."""
    fields = (row[0], text, *row[1:-1], _metadata(row[-1]))
    return Document(*fields)


def listed(row: Row) -> DocumentInfo:
    """Return the document info in a row of `LISTED`."""
    *fields, metadata, stored, access = row
    values = (*fields, _metadata(metadata), reading(stored), stored_labels(access))
    return DocumentInfo(*values)


def stored_labels(column: str) -> tuple[str, ...]:
    """Return the labels in a column of JSON."""
    return _labels(column)


def reading(stored: str | None) -> Reading | None:
    """Return the reading of a document from its column; None if none was recorded."""
    return None if stored is None else _reading(stored)


def refusal_rows(refusals: Refusals) -> list[Row]:
    """Return root, path, reason and hint of each refused file. A name that is not Unicode is written with escapes."""
    written = ((root, one.path, one.why, one.hint) for root, one in refusals.found)
    return [tuple(text.encode("utf-8", "backslashreplace").decode() for text in row) for row in written]


def refused_files(found: Iterable[Row], documents: Collection[str]) -> tuple[tuple[str, Refused], ...]:
    """Return what `Store.refused_files` does, from rows of `refusal_rows` and the ids of all documents."""
    by_path = {path: (root, Refused(path, why, hint, kept=path in documents)) for root, path, why, hint in found}
    return tuple(by_path[path] for path in sorted(by_path))


def evidence_key(model: ModelIdentity, sentence: Sentence) -> bytes | None:
    """Return the key of the sentence's vector; None if it is not evidence and has no vector."""
    return embedding_key(model, sentence.search_text) if sentence.kind.evidence else None


def embedding_key(model: ModelIdentity, text: str) -> bytes:
    """Return sixteen bytes that identify the vector of `text` under this model."""
    named = f"{model.name}\0{model.revision}\0{model.precision}\0{model.dimension}\0{text}"
    return hashlib.sha256(named.encode("utf-8", "surrogatepass")).digest()[:16]


def unit_vectors(stored: np.ndarray[Any, np.dtype[np.float16]]) -> Vectors:
    """Return stored rows as unit vectors: rounding to float16 changes their length a little."""
    vectors = stored.astype(np.float32)
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    lengths[lengths == 0] = 1
    vectors /= lengths[:, None]
    return vectors


to_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


# Neighbouring sentences share their section and often their tags: parsing them again and again would take most of the
# time of a search.
_kind = lru_cache(maxsize=None)(RegionKind)
_reading = msgspec.json.Decoder(Reading).decode  # made on import: two threads that are the first would crash
_section = lru_cache(maxsize=4096)(msgspec.json.Decoder(tuple[str, ...]).decode)
_labels = lru_cache(maxsize=4096)(msgspec.json.Decoder(tuple[str, ...]).decode)
_tags = lru_cache(maxsize=4096)(msgspec.json.Decoder(dict[str, tuple[str, ...]]).decode)


def tag_tuples(tags: Mapping[str, list[str]]) -> Tags:
    return {facet: tuple(values) for facet, values in tags.items()}


def _metadata(stored: str) -> Metadata:
    fields = json.loads(stored)
    successors = tuple(Supersession(*successor) for successor in fields["superseded_by"])
    fields.setdefault("type_guessed", False)  # an index of an earlier version holds no guesses
    # Nor does one of an earlier version tell who wrote a document.
    fields = {"authors": (), "year": None, "doi": None} | fields
    lists = {"superseded_by": successors, "authors": tuple(fields["authors"])}
    return Metadata(**{**fields, **lists, "tags": tag_tuples(fields["tags"])})


_UNIT = 10  # steps to a point: a coordinate comes back within 0.05 of what was stored
_NARROW, _WIDE = np.dtype("<i2"), np.dtype("<i4")


def pack_boxes(boxes: NDArray[np.float32]) -> bytes:
    """Pack rows of left, top, right and bottom; the first byte says how wide the numbers are."""
    steps = np.rint(boxes.reshape(-1, 4).astype(np.float64) * _UNIT).astype(np.int64)
    # The size of a character and the way from one to the next repeat along a line; the coordinates do not.
    steps[:, 2:] -= steps[:, :2]
    steps = np.diff(steps, axis=0, prepend=0)
    limits = np.iinfo(_NARROW)
    narrow = steps.size == 0 or (steps.min() >= limits.min and steps.max() <= limits.max)
    columns = np.ascontiguousarray(steps.T.astype(_NARROW if narrow else _WIDE))
    return bytes([columns.itemsize]) + zlib.compress(columns.tobytes(), 6)


def unpack_boxes(packed: bytes, *, count: int) -> NDArray[np.float32]:
    """Return the `count` rows that were packed, to the nearest tenth of a point."""
    width = _NARROW if packed[0] == _NARROW.itemsize else _WIDE
    columns = np.frombuffer(zlib.decompress(packed[1:]), dtype=width).reshape(4, count)
    steps = np.cumsum(columns, axis=1, dtype=np.int64)
    steps[2:] += steps[:2]
    return np.ascontiguousarray((steps.T / _UNIT).astype(np.float32))
