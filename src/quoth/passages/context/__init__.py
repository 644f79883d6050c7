"""The context for an agent: completed passages in reading order, within a token budget, each with its source.

What was found comes first, then what makes it whole, then the sections that it refers to and the terms that it uses:
no passage is left out for what is added. References and definitions are followed one step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from quoth.answer.source_texts import SourceTexts
from quoth.domain.profile import Profile
from quoth.passages.context.context_draft import ContextDraft, sentences_in
from quoth.passages.context.excerpts import beginning, ending
from quoth.passages.context.explanations import DefinedTerms, ReferredSections
from quoth.passages.context.passage_admission import PassageAdmission
from quoth.protocols import Reader, TokenCounter
from quoth.settings import ContextSettings
from quoth.types import Context, FoundPassage


def assemble(
    found: Sequence[FoundPassage], *, reader: Reader, counter: TokenCounter, settings: ContextSettings, profile: Profile
) -> Context:
    """Return a context of `found` (best first) within `settings.token_budget` tokens; each block is an exact slice.

    A passage that does not fit is cut to whole sentences around its best one: an agent loses more by what it never
    sees. The context is empty only where not one sentence of what was found fits.
    """
    sources = SourceTexts(reader, profile, [passage.document for passage in found])
    draft = ContextDraft(sources, counter, settings.token_budget)
    admission = PassageAdmission(found, draft)
    skipped = admission.admit()
    if settings.neighbours:
        _make_whole(draft)
    held = [each for each in found if draft.holds(each.document.id, each.passage.span)]
    seen = sentences_in(held, draft)
    firsts = {passage.sentences[0].sentence.id for passage in held if passage.sentences}
    best = [sentence for sentence in seen if sentence.id in firsts]
    others = [sentence for sentence in seen if sentence.id not in firsts]
    referred, defined = ReferredSections(draft), DefinedTerms(seen, best, draft)
    for sentences in (best, others):  # what the best sentences speak of tells more than the rest
        if settings.references:
            referred.follow(sentences, whole=sentences is others)
        if settings.definitions:
            defined.follow(best=sentences is best)
        if sentences is best:  # the far ends of a passage tell less than what explains its best sentence
            admission.fill()
    return draft.context(skipped)


def _make_whole(draft: ContextDraft) -> None:
    """Extend each excerpt, the best first, to where its first thought begins and its last one ends."""
    for excerpt in sorted(draft.excerpts, key=lambda excerpt: excerpt.rank):
        source = draft.sources.source(excerpt.doc_id)
        positions = source.positions(excerpt.span)
        if positions:
            first, last = beginning(source, positions[0]), ending(source, positions[-1], lists=True)
            for reach in (source.span(first, positions[0]), source.span(positions[-1], last)):
                if not excerpt.span.holds(reach):
                    draft.add(replace(excerpt, span=reach, passages=()))
