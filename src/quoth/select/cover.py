"""Coverage: which sentences are evidence for which part of a question, and what is asked when a part has none."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from quoth.text.entities import mentions
from quoth.text.fold import fold
from quoth.text.measures import could_state
from quoth.types import Analysis, Cover, Part, Ranked, Sentence, Tags


def evidence_of(
    part: Part, ranked: Sequence[Ranked], *, rivals: Sequence[Sequence[Ranked]], supports: Callable[[Ranked], bool]
) -> tuple[Ranked, ...]:
    """The sentences found for a part that support it, best first; `rivals` is what was found for each other part.

    Where a number is asked for, they could state it. For a clause whose own words no sentence mentions, those will do
    that answer it better than they answer the others.
    """
    question = part.analysis.search_text
    near = [one for one in ranked if supports(one) and could_state(one.sentence.text, question)]
    mentioning = tuple(one for one in near if speaks_of(one.sentence, part))
    if mentioning or not part.clause:
        return mentioning
    elsewhere: dict[str, float] = {}
    for one in (one for rival in rivals for one in rival):
        elsewhere[one.sentence.id] = max(one.relevance, elsewhere.get(one.sentence.id, 0.0))
    return tuple(one for one in near if one.relevance > elsewhere.get(one.sentence.id, 0.0))


def speaks_of(sentence: Sentence, part: Part) -> bool:
    """Whether a sentence, its lead or its headings mention what only this part names, or at least half of it."""
    about = surroundings(sentence)
    folded = fold(about)
    mentioned = sum(
        any(mentions(about, one, folded=folded) for one in group) or _tagged(sentence.tags, group[0].text)
        for group in part.distinguishing
    )
    return 0 < len(part.distinguishing) <= 2 * mentioned


def surroundings(sentence: Sentence) -> str:
    """A sentence with its lead, its headings and the words of its document's id."""
    return "\n".join([sentence.search_text, *sentence.section, re.sub(r"[_/.\-]+", " ", sentence.doc_id)])


def _tagged(tags: Tags, value: str) -> bool:
    return any(value in values for values in tags.values())


def best_for(cover: Cover, whole: Sequence[Ranked]) -> list[str]:
    """The ids of a part's evidence, best first: by what a sentence says to the part and to the whole question."""
    to_all = {one.sentence.id: one.order for one in whole}
    found = {one.sentence.id: one.order + to_all.get(one.sentence.id, 0.0) for one in cover.evidence}
    return sorted(found, key=lambda one: -found[one])


def without_unsupported(analysis: Analysis, covers: Sequence[Cover]) -> Analysis:
    """What is left to be answered: the question without the things that only unsupported parts name.

    The question itself when every part is supported, and when none is.
    """
    kept = [cover.part.analysis for cover in covers if cover.objection is None]
    dropped = [cover.part.analysis for cover in covers if cover.objection is not None]
    if not kept or not dropped:
        return analysis
    entities = {group[0].words for one in dropped for group in one.entities} - {
        group[0].words for one in kept for group in one.entities
    }
    quantities = {(q.low, q.high, q.dimension) for one in dropped for q in one.quantities} - {
        (q.low, q.high, q.dimension) for one in kept for q in one.quantities
    }
    return replace(
        analysis,
        entities=tuple(group for group in analysis.entities if group[0].words not in entities),
        quantities=tuple(q for q in analysis.quantities if (q.low, q.high, q.dimension) not in quantities),
        tags=_kept_tags(analysis.tags, kept=[one.tags for one in kept], dropped=[one.tags for one in dropped]),
    )


def _kept_tags(tags: Tags, *, kept: Sequence[Tags], dropped: Sequence[Tags]) -> Tags:
    left = {
        facet: tuple(
            value
            for value in values
            if any(value in one.get(facet, ()) for one in kept)
            or not any(value in one.get(facet, ()) for one in dropped)
        )
        for facet, values in tags.items()
    }
    return {facet: values for facet, values in left.items() if values}


def unsupported_parts(covers: Sequence[Cover], quoted: Collection[str]) -> tuple[str, ...]:
    """The names of the parts for which none of the quoted sentences (by id) is evidence."""
    return tuple(
        cover.part.text
        for cover in covers
        if cover.objection is not None or not any(one.sentence.id in quoted for one in cover.evidence)
    )
