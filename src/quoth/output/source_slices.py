"""A slice of a document with what stands around it, where it is printed and what its document is worth."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from quoth.documents.printed_boxes import printed
from quoth.domain.authority import authority_of, supersessions
from quoth.domain.profile import Profile
from quoth.errors import CorpusError, QuestionError
from quoth.language.graphemes import parts_grapheme
from quoth.output.document_json_types import BoxJson, PrintedPageJson, QuotedSpanJson
from quoth.output.json_types import to_json
from quoth.output.render import superseded_by
from quoth.protocols import Reader
from quoth.types import Document, Page, Sentence, Span

MOST_AROUND = 20_000
"""Code points of context that may be asked for on each side."""
LONGEST_SLICE = 100_000
"""Code points of a slice that one call gives."""


class DocumentChanged(QuestionError):
    """The offsets were taken from another text of the same document: they would point at other words."""

    code = "document-changed"
    hint = "Ask the question again: its answer cites the document as it is now."

    def __init__(self, doc_id: str) -> None:
        super().__init__(f"'{doc_id[:200]}' has changed since it was cited")


def check_unchanged(doc_id: str, sha256: str, cited: str | None) -> None:
    """Raise `DocumentChanged` unless `cited`, the first digits of a `doc_sha256`, fits the document; None fits any."""
    if cited is not None and not sha256.startswith(cited.lower()):
        raise DocumentChanged(doc_id)


def span_json(
    reader: Reader, doc_id: str, start: int, end: int, *, around: int, profile: Profile, cited: str | None
) -> dict[str, Any]:
    """Return the slice `[start, end)` of a document, with up to `around` code points on each side.

    `cited` is the `doc_sha256` that the offsets belong to, or its first digits; None accepts any. Raise `CorpusError`
    for an unknown document, `QuestionError` for offsets outside it, and `DocumentChanged` when its text is another.
    """
    document = reader.document(doc_id)
    if document is None:
        raise CorpusError(f"the index holds no document '{doc_id}'", hint="Take the id from a list of the documents.")
    check_unchanged(document.id, document.sha256, cited)
    span = _checked(document, start, end, around)
    near = _sentences_near(reader, document, span, around)
    at = next((sentence for sentence in reversed(near) if sentence.quote.span.start <= span.start), None)
    section = at.section if at else ()
    first, last = _context(document.text, span, around, [_line_or_start(document.text, sentence) for sentence in near])
    known = at.page if at and at.page else 1
    # What is never quoted, such as a footer, comes in the text behind the paragraph that it interrupts.
    inside = at is not None and span.start < at.quote.span.end
    holding = tuple(pages_holding(reader, document.id, span, first=known if inside else max(1, known - 1)))
    about = document.metadata
    return to_json(
        QuotedSpanJson.of(
            span,
            about,
            doc_id=document.id,
            before=document.text[first:start],
            quote=document.quote(span),
            after=document.text[end:last],
            truncated_before=first > 0,
            truncated_after=last < len(document.text),
            section=list(section),
            page=holding[0].number if holding else at.page if at else None,
            doc_sha256=document.sha256,
            authority=authority_of(about, profile),
            authority_guessed=about.type_guessed,
            superseded_by=superseded_by(supersessions(about, section)),
            # The text of a slide has no places on it, so there is nothing to draw.
            pages=[_printed_page(page, span) for page in holding if page.boxes.any()],
            offset_unit="codepoint",
        )
    )


def _checked(document: Document, start: int, end: int, around: int) -> Span:
    if not 0 <= around <= MOST_AROUND:
        raise QuestionError(
            f"{around} characters of context cannot be given", hint=f"Ask for 0 to {MOST_AROUND:,} on each side."
        )
    if end - start > LONGEST_SLICE:
        raise QuestionError(
            f"{end - start:,} characters are more than one call gives",
            hint=f"Read the document in slices of at most {LONGEST_SLICE:,}, or its whole text.",
        )
    length = len(document.text)
    if not 0 <= start < end <= length:
        raise QuestionError(
            f"{start} to {end} is no slice of {document.id}, which has {length:,} characters",
            hint="Take start and end from a citation; they count code points, and start is less than end.",
        )
    return Span(start, end)


def _sentences_near(reader: Reader, document: Document, span: Span, around: int) -> list[Sentence]:
    """Return the sentences that begin within `around` of the span, and the last one before them."""
    return list(reader.sentences(document.id, Span(max(0, span.start - around), span.end + around)))


def _line_or_start(text: str, sentence: Sentence) -> int:
    """Return where a sentence begins, including a mark before it on its line: `# ` of a heading, `- ` of an item."""
    start = sentence.quote.span.start
    line = text.rfind("\n", 0, start) + 1
    return start if any(map(str.isalnum, text[line:start])) else line


def _context(text: str, span: Span, around: int, sentences: list[int]) -> tuple[int, int]:
    """Return where the text before begins and the text after ends: as far out as allowed, at a whole sentence."""
    lowest, highest = span.start - around, span.end + around
    before, after = range(lowest, span.start), range(highest, span.end, -1)
    return (
        0 if lowest <= 0 else _outermost(text, before, sentences, otherwise=span.start),
        len(text) if highest >= len(text) else _outermost(text, after, sentences, otherwise=span.end),
    )


def _outermost(text: str, places: range, sentences: list[int], *, otherwise: int) -> int:
    """Return the first of `places`, which run from the outside in, that a reader would cut at.

    That is the beginning of a sentence, but a line where the sentence would cost half of the context; then a word; then
    whatever does not take a character apart.
    """
    outer = places[: (len(places) + 1) // 2]
    starts = {place for place in sentences if place in places}
    found = chain(
        (place for place in outer if place in starts),
        (place for place in places if text[place - 1] == "\n"),
        (place for place in places if place in starts),
        (place for place in outer if _begins_word(text, place)),
        (place for place in places if not parts_grapheme(text, place)),
    )
    return next(found, otherwise)


def _begins_word(text: str, place: int) -> bool:
    return text[place - 1].isspace() and not text[place].isspace() and not parts_grapheme(text, place)


def pages_holding(reader: Reader, doc_id: str, span: Span, *, first: int) -> Iterator[Page]:
    """Yield the pages that the span is printed on, in order; none of them is before the page `first`."""
    count = next((info.pages for info in reader.documents([doc_id])), 0)
    for number in range(first, count + 1):
        page = reader.page(doc_id, number)
        if page is None or not page.spans:
            continue
        if min(page.spans).start >= span.end:
            return
        if any(run.overlaps(span) for run in page.spans):
            yield page


def _printed_page(page: Page, span: Span) -> PrintedPageJson:
    return PrintedPageJson(
        number=page.number,
        width=round(page.width, 1),
        height=round(page.height, 1),
        boxes=[BoxJson(*box) for _, box in printed([page], span)],
    )
