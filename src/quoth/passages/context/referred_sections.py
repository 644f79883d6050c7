"""The sections that a context points to: `see Section 7.3`, `Article VI of the Declaration`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from quoth.context.draft import Draft
from quoth.context.reading import ADDED, Seen, added_piece
from quoth.context.sources import Source
from quoth.context.thoughts import ending
from quoth.profiles import parse_profile
from quoth.text.outlines import find_document, resolve
from quoth.text.references import OUTER_LABELS, Reference, references
from quoth.text.tokens import count_tokens
from quoth.types import BlockReason, DocumentInfo, RegionKind, Span

MOST_REFERENCES = 12
"""Sections that are looked up for one context."""
SECTION_TOKENS = (300, 120)
"""About how much of a section is given at most; the second where the first does not fit."""
_MOST_DOCUMENTS = 2_000
"""In an index of more, a document that is named is looked for only among those of the context."""


class References:
    """Follows the references of what was found, one step."""

    def __init__(self, seen: Sequence[Seen], draft: Draft) -> None:
        self._seen = seen
        self._draft = draft
        self._looked_up: set[tuple[str, str]] = set()

    def follow(self, *, best: bool) -> None:
        """Add what the best sentences point to, or what the others do, as long as it fits."""
        listed = [
            (seen, reference)
            for seen in self._seen
            if seen.best is best
            for reference in references(seen.sentence.text)
        ]
        # A whole article is far less to the point than a section.
        for seen, reference in sorted(listed, key=lambda one: one[1].label in OUTER_LABELS):
            document = self._document(reference, seen.document)
            key = (document.id if document else "", reference.name)
            if document is None or key in self._looked_up:
                continue
            if len(self._looked_up) == MOST_REFERENCES:
                return
            self._looked_up.add(key)
            self._add(reference, document.id, seen)

    def _document(self, reference: Reference, own: DocumentInfo) -> DocumentInfo | None:
        if reference.document is None:
            return own
        sources = self._draft.sources
        few = sources.reader.info.documents <= _MOST_DOCUMENTS
        return find_document(
            reference.document,
            own=own,
            documents=sources.every_info() if few else sources.infos,
            synonyms=_synonyms(sources.reader.info.profile_source),
        )

    def _add(self, reference: Reference, doc_id: str, seen: Seen) -> None:
        near = seen.sentence.section if seen.document.id == doc_id else ()
        source = self._draft.sources.source(doc_id)
        target = resolve(reference, source.outline, near=near)
        if target is None:
            return
        for span in _spans(source, target.places, reference.item, whole=not seen.best):
            if self._draft.holds(doc_id, span):
                return
            if not self._draft.has_room(doc_id, span):
                continue
            piece = added_piece(
                doc_id,
                span,
                target.section,
                self._draft,
                page=next((one.page for one in source.passages if one.span.start == span.start), None),
                reason=BlockReason.REFERENCE,
                because=reference.name,
                rank=ADDED + len(self._looked_up),
            )
            if self._draft.add(piece):
                return


def _spans(source: Source, places: range, item: str, *, whole: bool) -> Iterator[Span]:
    """What is pointed to: the section if it is short, else the item of it that is meant, or its first sentences.

    With `whole` the beginning of a long section will not do: it is seldom what was meant.
    """
    if not source.sentences:
        yield from () if whole else [source.passages[places[0]].span]
        return
    end = source.span(places[0], places[-1]).end
    for most in SECTION_TOKENS:
        span = _first_of(source, places, most)
        meant = _item(source, places, item) if item and span.end < end else None
        if meant is not None or span.end == end or not whole:
            yield meant or span


def _first_of(source: Source, places: range, most: int) -> Span:
    """As many whole sentences as `most` tokens hold, at least one that states something."""
    last, tokens, stated = places[0], 0, False
    for place in places:
        tokens += count_tokens(source.sentences[place].text)
        heading = source.sentences[place].kind is RegionKind.HEADING
        if stated and tokens > most:
            break
        if not heading:
            last, stated = place, True
    return source.span(places[0], last)


def _item(source: Source, places: range, item: str) -> Span | None:
    for place in places:
        if source.sentences[place].text.lower().startswith(item.lower()):
            return source.span(place, ending(source, place, lists=False))
    return None


@lru_cache(maxsize=16)
def _synonyms(profile_source: str) -> tuple[tuple[str, ...], ...]:
    return parse_profile(profile_source).synonyms
