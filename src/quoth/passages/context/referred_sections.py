"""The sections that a context points to: `see Section 7.3`, `Article VI of the Declaration`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile

from quoth.language.references import OUTER_LABELS, Reference, references
from quoth.language.resolve_reference import find_document, resolve
from quoth.language.words import count_tokens
from quoth.passages.context.context_draft import ContextDraft
from quoth.passages.context.context_sources import SourceText
from quoth.passages.context.excerpts import ending
from quoth.types import BlockReason, DocumentInfo, RegionKind, Sentence, Span

MOST_REFERENCES = 12
"""Sections that are looked up for one context."""
SECTION_TOKENS = (300, 120)
"""About how much of a section is given at most; the second where the first does not fit."""
_MOST_DOCUMENTS = 2_000
"""In a larger index, a document that a reference names is only looked for among the documents read so far."""


class ReferredSections:
    """Follows the references of the found sentences, but not the references of what they lead to."""

    def __init__(self, draft: ContextDraft) -> None:
        self._draft = draft
        self._looked_up: set[tuple[str, str]] = set()

    def follow(self, sentences: Sequence[Sentence], *, whole: bool) -> None:
        """Add the sections that fit, which the sentences refer to; with `whole`, no beginnings of longer sections."""
        listed = [(sentence, reference) for sentence in sentences for reference in references(sentence.text)]
        # A whole article is far less to the point than a section.
        for sentence, reference in sorted(listed, key=lambda item: item[1].label in OUTER_LABELS):
            document = self._document(reference, self._draft.sources.info(sentence.doc_id))
            key = (document.id if document else "", reference.name)
            if document is None or key in self._looked_up:
                continue
            if len(self._looked_up) == MOST_REFERENCES:
                return
            self._looked_up.add(key)
            near = sentence.section if sentence.doc_id == document.id else ()
            self._add(reference, document.id, near, whole=whole)

    def _document(self, reference: Reference, own: DocumentInfo) -> DocumentInfo | None:
        if reference.document is None:
            return own
        sources = self._draft.sources
        few = sources.reader.info.documents <= _MOST_DOCUMENTS
        documents = sources.every_info if few else tuple(sources.infos.values())
        return find_document(reference.document, own=own, documents=documents, synonyms=sources.profile.synonyms)

    def _add(self, reference: Reference, doc_id: str, near: tuple[str, ...], *, whole: bool) -> None:
        source = self._draft.sources.source(doc_id)
        target = resolve(reference, source.outline, near=near)
        if target is None:
            return
        spans = _spans(source, target.positions, reference.item, whole=whole)
        self._draft.explain(
            doc_id,
            takewhile(lambda span: not self._draft.holds(doc_id, span), spans),
            target.section,
            page=None if source.sentences else source.passages[target.positions[0]].page,
            reason=BlockReason.REFERENCE,
            because=reference.name,
            rank=len(self._looked_up),
        )


def _spans(source: SourceText, positions: range, item: str, *, whole: bool) -> Iterator[Span]:
    """Yield the spans to try: the section if it is short, else the item that the reference names, or the beginning.

    With `whole`, the beginning of a long section is left out: it is seldom what the reference means.
    """
    if not source.sentences:
        yield from () if whole else [source.passages[positions[0]].span]
        return
    end = source.span(positions[0], positions[-1]).end
    for most in SECTION_TOKENS:
        span = _first_of(source, positions, most)
        meant = _item(source, positions, item) if item and span.end < end else None
        if meant is not None or span.end == end or not whole:
            yield meant or span


def _first_of(source: SourceText, positions: range, most: int) -> Span:
    """Return the span of the first sentences that fit into `most` tokens; at least one is no heading."""
    last, tokens, stated = positions[0], 0, False
    for position in positions:
        tokens += count_tokens(source.sentences[position].text)
        heading = source.sentences[position].kind is RegionKind.HEADING
        if stated and tokens > most:
            break
        if not heading:
            last, stated = position, True
    return source.span(positions[0], last)


def _item(source: SourceText, positions: range, item: str) -> Span | None:
    for position in positions:
        if source.sentences[position].text.lower().startswith(item.lower()):
            return source.span(position, ending(source, position, lists=False))
    return None
