"""Assembly: found passages to a context, the best first and nothing beyond the budget.

What was found comes first, then what makes it whole, then the sections that it refers to and the terms that it uses:
what is added never takes the place of what was found. References and definitions are followed one step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from quoth.context.defined import Definitions
from quoth.context.draft import Draft
from quoth.context.pieces import Piece
from quoth.context.reading import seen_in
from quoth.context.referred import References
from quoth.context.sources import About, Source, Sources
from quoth.context.thoughts import beginning, ending
from quoth.protocols import Reader, TokenCounter
from quoth.settings import ContextSettings
from quoth.types import BlockReason, Context, FoundPassage, Quote, RegionKind, Span
from quoth.verify import verify_quote


def assemble(
    found: Sequence[FoundPassage],
    *,
    reader: Reader,
    counter: TokenCounter,
    settings: ContextSettings,
    about: About,
) -> Context:
    """A context of `found` (best first) within `settings.token_budget` tokens; each block is an exact slice.

    It is empty only where not one sentence of what was found fits. `OffsetMismatch` stops it.
    """
    sources = Sources(reader, about, [one.document for one in found])
    draft = Draft(sources, counter, settings.token_budget)
    skipped = _admit(found, draft)
    if settings.neighbours:
        _make_whole(draft)
    seen = seen_in([one for one in found if draft.holds(one.document.id, one.passage.span)], draft)
    referred, defined = References(seen, draft), Definitions(seen, draft)
    for best in (True, False):  # what the best sentences speak of tells more than the rest
        if settings.references:
            referred.follow(best=best)
        if settings.definitions:
            defined.follow(best=best)
    return draft.context(skipped)


def _admit(found: Sequence[FoundPassage], draft: Draft) -> list[str]:
    """Take in what fits; return the ids of what does not. Of the best, what fits of it is taken."""
    skipped: list[str] = []
    given: dict[str, FoundPassage] = {}
    for rank, one in enumerate(found):
        source = draft.sources.source(one.document.id)
        verify_quote(source.document, Quote(one.passage.span, one.content))
        text = " ".join(one.content.split())
        if text in given and _says_the_same(given[text], one):
            continue
        piece = _piece(one, rank, source)
        if draft.add(piece) or (not draft.pieces and _add_part(one, piece, source, draft)):
            given.setdefault(text, one)
        else:
            skipped.append(one.passage.id)
    return skipped


def _says_the_same(given: FoundPassage, one: FoundPassage) -> bool:
    """Whether a passage of another document adds nothing; what is in force adds to what is replaced."""
    return given.document.id != one.document.id and not (given.superseded_by and not one.superseded_by)


def _piece(one: FoundPassage, rank: int, source: Source) -> Piece:
    return Piece(
        doc_id=one.document.id,
        span=_without_last_headings(one.passage.span, source),
        section=one.passage.section,
        page=one.passage.page,
        authority=one.authority,
        superseded_by=one.superseded_by,
        passages=(one.passage.id,),
        reason=BlockReason.RELEVANT if one.successor_of is None else BlockReason.SUCCESSOR,
        because="",
        rank=rank,
    )


def _without_last_headings(span: Span, source: Source) -> Span:
    """What a heading names stands behind it; one that ends a passage names nothing in it."""
    places = source.places(span)
    stated = [place for place in places if source.sentences[place].kind is not RegionKind.HEADING]
    return Span(span.start, source.sentences[stated[-1]].quote.span.end) if stated else span


def _add_part(one: FoundPassage, piece: Piece, source: Source, draft: Draft) -> bool:
    """Take as many whole sentences around the best one as fit; around another where even that one does not."""
    for span in _sentences(one, source):
        if draft.add(replace(piece, span=span)):
            _grow(source, source.places(piece.span), draft)
            return True
    return False


def _sentences(one: FoundPassage, source: Source) -> Iterator[Span]:
    """The sentences of a passage: those that the search found, best first, then the others, the shortest first."""
    yield from (ranked.sentence.quote.span for ranked in one.sentences)
    others = [source.sentences[place] for place in source.places(one.passage.span)]
    yield from sorted((other.quote.span for other in others if other.kind.evidence), key=lambda span: (len(span), span))


def _grow(source: Source, limits: range, draft: Draft) -> None:
    """Let the only piece reach further, by a sentence on either side in turn."""
    sides = [-1, 1] if limits else []
    while sides:
        (piece,) = draft.pieces
        places = source.places(piece.span)
        place = places[0] - 1 if sides[0] < 0 else places[-1] + 1
        reach = source.span(min(place, places[0]), max(place, places[-1])) if place in limits else None
        if reach is None or not draft.change((replace(piece, span=reach),)):
            sides = sides[1:]
        else:
            sides = [*sides[1:], sides[0]]


def _make_whole(draft: Draft) -> None:
    """Let each piece, the best first, reach as far as its first and its last thought."""
    for piece in sorted(draft.pieces, key=lambda piece: piece.rank):
        source = draft.sources.source(piece.doc_id)
        places = source.places(piece.span)
        if places:
            first, last = beginning(source, places[0]), ending(source, places[-1], lists=True)
            for reach in (source.span(first, places[0]), source.span(places[-1], last)):
                _reach(piece, reach, draft)


def _reach(piece: Piece, reach: Span, draft: Draft) -> None:
    if reach.start < piece.span.start or piece.span.end < reach.end:
        draft.add(replace(piece, span=reach, passages=()))
