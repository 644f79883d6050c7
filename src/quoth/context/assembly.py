"""Assembly: found passages to a context, the best first and nothing beyond the budget.

What was found comes first, then what makes it whole, then the sections that it refers to and the terms that it uses:
no passage is left out for what is added. References and definitions are followed one step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from quoth.context.admission import Admission
from quoth.context.defined import Definitions
from quoth.context.draft import Draft
from quoth.context.pieces import Piece
from quoth.context.reading import seen_in
from quoth.context.referred import References
from quoth.context.sources import About, Sources
from quoth.context.thoughts import beginning, ending
from quoth.protocols import Reader, TokenCounter
from quoth.settings import ContextSettings
from quoth.types import Context, FoundPassage, Span


def assemble(
    found: Sequence[FoundPassage],
    *,
    reader: Reader,
    counter: TokenCounter,
    settings: ContextSettings,
    about: About,
) -> Context:
    """A context of `found` (best first) within `settings.token_budget` tokens; each block is an exact slice.

    The design skips a passage that does not fit; here it is cut to whole sentences around its best one instead, as an
    agent loses more by what it never sees. The context is empty only where not one sentence of what was found fits.
    `OffsetMismatch` stops it.
    """
    sources = Sources(reader, about, [one.document for one in found])
    draft = Draft(sources, counter, settings.token_budget)
    admission = Admission(found, draft)
    skipped = admission.admit()
    if settings.neighbours:
        _make_whole(draft)
    seen = seen_in([one for one in found if draft.holds(one.document.id, one.passage.span)], draft)
    referred, defined = References(seen, draft), Definitions(seen, draft)
    for best in (True, False):  # what the best sentences speak of tells more than the rest
        if settings.references:
            referred.follow(best=best)
        if settings.definitions:
            defined.follow(best=best)
        if best:  # the far ends of a passage tell less than what explains its best sentence
            admission.fill()
    return draft.context(skipped)


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
