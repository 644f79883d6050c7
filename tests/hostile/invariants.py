"""What must hold of every extract, whatever file it came from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from quoth.documents.files import SourceFile
from quoth.documents.split_document import ExtractedFile, split_document
from quoth.domain.profile import Profile
from quoth.errors import UnreadableFile
from quoth.types import Extract, Page, Region, Sentence, Span


def broken(extract: Extract, file: SourceFile, profile: Profile) -> Iterator[str]:
    """What is wrong with an extract, or with the document that is made of it; nothing when all is well."""
    text = extract.text
    if "\x00" in text:
        yield "the text holds NUL"
    if any("\ud800" <= character <= "\udfff" for character in text):
        yield "the text holds half a surrogate pair"
    if extract.regions is not None:
        yield from _gaps(text, [region.span for region in extract.regions], "region")
        yield from _leads(text, extract.regions)
    for page in extract.pages:
        yield from _page(page, text)
    for span, confidence in extract.recognised:
        if span.end > len(text) or not 0 <= confidence <= 1:
            yield f"recognised {span} with {confidence}"
    try:
        made = split_document(ExtractedFile(file, "", "", "", extract, fields={}, fingerprint=""), profile)
    except UnreadableFile:
        return  # its front matter is wrong, and named
    yield from _sentences(text, made.sentences)
    for passage in made.passages:
        if not 0 <= passage.first <= passage.last < len(made.sentences):
            yield f"passage {passage.id} has the sentences {passage.first} to {passage.last}"


def _gaps(text: str, spans: Sequence[Span], what: str) -> Iterator[str]:
    at = 0
    for span in spans:
        if span.start < at:
            yield f"{what} {span} overlaps the one before it"
        elif text[at : span.start].strip():
            yield f"no {what} holds {text[at : span.start].strip()[:60]!r}"
        at = max(at, span.end)
    if at > len(text):
        yield f"a {what} ends behind the text"
    if text[at:].strip():
        yield f"no {what} holds {text[at:].strip()[:60]!r}"


def _leads(text: str, regions: Sequence[Region]) -> Iterator[str]:
    for region in regions:
        if region.lead and (region.lead.end > len(text) or region.lead.start >= region.span.start):
            yield f"the lead {region.lead} of {region.span} does not stand before it"


def _page(page: Page, text: str) -> Iterator[str]:
    if not (np.isfinite(page.width) and np.isfinite(page.height) and np.isfinite(page.boxes).all()):
        yield f"page {page.number} has places that are no numbers"
    if sum(map(len, page.spans)) != len(page.boxes) or any(span.end > len(text) for span in page.spans):
        yield f"page {page.number} has {len(page.boxes)} boxes for other spans"
    if any(first.end > second.start for first, second in pairwise(page.spans)):
        yield f"page {page.number} has spans out of order"


def _sentences(text: str, sentences: Sequence[Sentence]) -> Iterator[str]:
    for one in sentences:
        for quote in (one.quote, one.lead):
            if quote and text[quote.span.start : quote.span.end] != quote.text:
                yield f"{one.id} is not what the text says"
    for first, second in pairwise(sentences):
        if first.quote.span.end > second.quote.span.start:
            yield f"{second.id} overlaps the sentence before it"
