"""Find a pattern in the texts of an index, wherever it stands: in headings, tables, bibliographies and footers too."""

from __future__ import annotations

import time
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from quoth.domain.document_filters import document_passes, has_tags
from quoth.domain.publications import within_publications
from quoth.errors import CorpusError, QuestionError
from quoth.protocols import Reader
from quoth.search.patterns import EncodedText, Pattern
from quoth.types import DocumentInfo, Filters, Match, Quote, Sentence, Span

_BATCH = 8_000_000
"""Code points of the documents that are read at a time, unless a single one has more."""
_LONGEST_CONTEXT = 400
_AROUND = 160
"""Code points on each side of a match, where the whole sentence would be longer than a context may be."""


@dataclass(frozen=True, slots=True)
class DocumentMatches:
    """A document that holds a pattern `count` times. `matches` finds their places while it is read."""

    info: DocumentInfo
    count: int
    matches: Iterator[Match]


def find_matches(
    pattern: Pattern, filters: Filters, *, reader: Reader, seconds: float | None = None
) -> Iterator[DocumentMatches]:
    """Yield every document that holds the pattern, ordered by id.

    With a filter by tags or regions, only matches in sentences that pass it count. Raise `CorpusError` when a document
    that the filters name does not exist, and `QuestionError` after `seconds`.
    """
    started = time.monotonic()
    for batch in _batches(_searched(filters, reader)):
        for doc_id, data in reader.texts(batch.keys()):
            if seconds is not None and time.monotonic() - started > seconds:
                raise QuestionError(f"it took longer than {seconds:g} s", hint="Search in fewer documents.")
            text = EncodedText(data)
            starts, ends = array("q"), array("q")  # a pattern may match millions of times
            for start, end in pattern.spans(text):
                starts.append(start)
                ends.append(end)
            if starts:
                spans = zip(starts, ends, strict=True)
                found = _matches(spans, text.text, filters, reader=reader, info=batch[doc_id])
                if filters.tags or filters.regions:
                    passing = list(found)
                    if passing:
                        yield DocumentMatches(batch[doc_id], len(passing), iter(passing))
                else:
                    yield DocumentMatches(batch[doc_id], len(starts), found)


def _searched(filters: Filters, reader: Reader) -> list[DocumentInfo]:
    """Return the documents that pass the filters, ordered by id."""
    if filters.doc_ids and not reader.missing:
        known = {info.id for info in reader.documents(filters.doc_ids)}
        for doc_id in filters.doc_ids:
            if doc_id not in known:
                raise CorpusError(f"the index holds no document '{doc_id}'", hint="quoth docs lists the ids.")
    filters = within_publications(filters, reader)
    return [info for info in reader.documents(filters.doc_ids or None) if document_passes(info, filters)]


def _batches(documents: Sequence[DocumentInfo]) -> Iterator[dict[str, DocumentInfo]]:
    """Yield documents by id, in order, as many at a time as may be read together."""
    batch: dict[str, DocumentInfo] = {}
    characters = 0
    for info in documents:
        if batch and characters + info.characters > _BATCH:
            yield batch
            batch, characters = {}, 0
        batch[info.id] = info
        characters += info.characters
    if batch:
        yield batch


def _matches(
    spans: Iterable[tuple[int, int]], text: str, filters: Filters, *, reader: Reader, info: DocumentInfo
) -> Iterator[Match]:
    """Yield a match for each span whose first sentence passes the filters by tags and regions."""
    places = _Places(reader, info)
    for start, end in spans:
        first, last = places.sentences_at(start, end)
        sentence = places.sentences[first] if first <= last else None
        if (filters.tags or filters.regions) and not (sentence and _passes(sentence, filters)):
            continue
        whole = Span(sentence.quote.span.start, places.sentences[last].quote.span.end) if sentence else None
        around = sentence or (places.sentences[first - 1] if first else None)
        context = _context(text, start, end, whole)
        yield Match(
            quote=Quote(Span(start, end), text[start:end]),
            context=Quote(context, text[context.start : context.end]),
            sentence=whole,
            kind=sentence.kind if sentence else None,
            section=around.section if around else (),
            page=places.page(start, first, inside=sentence is not None),
        )


def _passes(sentence: Sentence, filters: Filters) -> bool:
    return has_tags(sentence, filters) and (not filters.regions or sentence.kind in filters.regions)


class _Places:
    """The sentences and pages of a document, by offset."""

    def __init__(self, reader: Reader, info: DocumentInfo) -> None:
        self.sentences = sorted(reader.sentences(info.id), key=lambda sentence: sentence.quote.span)
        self._starts = [sentence.quote.span.start for sentence in self.sentences]
        self._reader = reader
        self._info = info
        self._runs: dict[int, tuple[Span, ...]] = {}

    def sentences_at(self, start: int, end: int) -> tuple[int, int]:
        """Return the positions of the first and the last sentence that the slice touches.

        Where it touches none, the first is that of the next sentence, and the last comes before it.
        """
        first = bisect_right(self._starts, start)
        if first and self.sentences[first - 1].quote.span.end > start:
            first -= 1
        return first, bisect_left(self._starts, end) - 1

    def page(self, start: int, first: int, *, inside: bool) -> int | None:
        """Return the page of an offset. `first` is the position of the sentence around it, or of the next one."""
        if not self._info.pages:
            return None
        at = self.sentences[first].page if inside else self.sentences[first - 1].page if first else None
        behind = self.sentences[first + 1].page if first + 1 < len(self.sentences) else None
        if inside and at == behind:
            return at
        # A sentence may go on over the page. What is never quoted comes in the text behind the paragraph that it
        # interrupts, so that it may be on the page before.
        for number in range(max(1, (at or 1) - (not inside)), self._info.pages + 1):
            runs = self._runs_on(number)
            if any(run.start <= start < run.end for run in runs):
                return number
            if runs and min(runs).start > start:
                break
        return at

    def _runs_on(self, number: int) -> tuple[Span, ...]:
        """Return the runs of text on a page. A page has the place of every character and is read once."""
        if number not in self._runs:
            page = self._reader.page(self._info.id, number)
            self._runs[number] = page.spans if page else ()
        return self._runs[number]


def _context(text: str, start: int, end: int, sentence: Span | None) -> Span:
    """Return the sentence, or the line of what is in none; of a long one, whole words close to the match."""
    low, high = max(0, start - _AROUND), min(len(text), end + _AROUND)
    if sentence and len(sentence) <= _LONGEST_CONTEXT:
        low, high = min(start, sentence.start), max(end, sentence.end)
    elif sentence:
        low, high = max(low, min(start, sentence.start)), min(high, max(end, sentence.end))
        low = low if low == sentence.start else _next_word(text, low, start)
        high = high if high == sentence.end else _last_word(text, end, high)
    else:
        low = max(low, text.rfind("\n", low, start) + 1)
        newline = text.find("\n", end, high)
        high = high if newline < 0 else newline
    while low < start and text[low].isspace():
        low += 1
    while high > end and text[high - 1].isspace():
        high -= 1
    return Span(low, high)


def _next_word(text: str, low: int, start: int) -> int:
    """Return where the first whole word begins between `low` and `start`; `low` if there is none."""
    return next((at for at in range(low + 1, start) if text[at - 1].isspace()), low)


def _last_word(text: str, end: int, high: int) -> int:
    """Return where the last whole word ends between `end` and `high`; `high` if there is none."""
    return next((at for at in range(high - 1, end, -1) if text[at].isspace()), high)
