"""Complete the chosen sentences: with what each needs to be understood, and with context where they are too few."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Protocol

from quoth.answer.companions import companions_of
from quoth.answer.whole_clauses import Parts
from quoth.protocols import Neighbours
from quoth.types import Evidence, QuoteRole, Ranked, Sentence

_NEIGHBOUR = 0.1
"""The relevance for which a sentence in the section of the answer counts as context: it has the same subject."""


class Clauses(Protocol):
    """Finds what completes a sentence in its document."""

    def neighbours(self, sentences: Sequence[Sentence]) -> Sequence[Neighbours]:
        """Return the sentences before and after each sentence, as `Reader.neighbours` does."""

    def parts(self, sentence: Sentence) -> Parts: ...

    def background(self, sentence: Sentence) -> Iterable[Sentence]:
        """Yield the sentences around a sentence, the nearest in subject first."""


def complete(
    chosen: Sequence[Ranked],
    clauses: Clauses,
    *,
    also: Mapping[str, tuple[Sentence, ...]],
    relevance: Mapping[str, float],
    answers: Collection[str],
    sure: int,
    limit: int,
) -> tuple[Evidence, ...]:
    """Return the chosen sentences, each followed by what completes it, at most `limit` in all.

    A sentence that does not fit together with its companions and its list is dropped. The first `sure` sentences always
    stay, with their exceptions and their lists even beyond `limit`, since they would mislead without them. Sentences
    that share a lead stand together. `also` are the other places of a sentence by its id, `answers` the ids of the
    sentences that support the answer by themselves. A sentence without a `relevance` gets that of the one it completes.
    """
    # Read all neighbours in one call: a remote index would pay a round trip for each sentence.
    sentences = [candidate.sentence for candidate in chosen]
    beside = dict(zip((sentence.id for sentence in sentences), clauses.neighbours(sentences), strict=True))

    def neighbours_of(sentence: Sentence) -> Neighbours:
        return beside[sentence.id] if sentence.id in beside else clauses.neighbours([sentence])[0]

    evidence: dict[str, Evidence] = {}
    for rank, candidate in enumerate(chosen):
        head = candidate.sentence
        exceptions, referents = companions_of(head, neighbours_of)
        parts = clauses.parts(head)
        needed = [head, *exceptions, *parts.items]
        related = [*parts.related, *(each for place in also.get(head.id, ()) for each in clauses.parts(place).related)]
        room = limit - len(evidence) - max(0, min(sure, len(chosen)) - rank - 1)
        if rank >= sure:
            needed += referents
        group = [*needed, *related, *([] if rank >= sure else referents)]
        added = [each for each in group[: max(room, len(needed))] if each.id not in evidence]
        if rank < sure or len(added) <= limit - len(evidence):
            unit = _unit_of(head, evidence.values()) or head.id
            for sentence in added:
                evidence[sentence.id] = Evidence(
                    sentence,
                    relevance.get(sentence.id, candidate.relevance),
                    None if sentence.id == unit else unit,
                    QuoteRole.ANSWER if sentence.id in answers else QuoteRole.CONTEXT,
                    also.get(sentence.id, ()),
                )
    return tuple(evidence.values())


def _unit_of(sentence: Sentence, evidence: Iterable[Evidence]) -> str | None:
    """Return the id of the first quote with the lead of a sentence, or whose lead it is; None where there is none."""
    for quoted in evidence:
        other = quoted.sentence
        shared = other.lead is not None and sentence.lead is not None and other.lead.span == sentence.lead.span
        leads = sentence.lead is not None and sentence.lead.span.overlaps(other.quote.span)
        if other.doc_id == sentence.doc_id and (shared or leads):
            return quoted.companion_of or other.id
    return None


def complementary(
    evidence: Sequence[Evidence],
    ranked: Sequence[Ranked],
    *,
    akin: Callable[[Sentence, Sentence], bool],
    clauses: Clauses,
    wanted: int,
) -> tuple[Evidence, ...]:
    """Return up to `wanted` sentences of context for an answer, best first; none when there is no answer.

    They come from `ranked` and from around the best quote. Those that are `akin` to it come before all others.
    """
    if not evidence or wanted <= 0:
        return ()
    best = evidence[0]
    unit = best.companion_of or best.sentence.id
    found = {
        item.sentence.id: Evidence(item.sentence, item.relevance, None, QuoteRole.CONTEXT, also=()) for item in ranked
    }
    worth = {item.sentence.id: item.relevance for item in ranked}
    for sentence in clauses.background(best.sentence):
        found.setdefault(sentence.id, Evidence(sentence, best.score, unit, QuoteRole.CONTEXT, also=()))
        worth.setdefault(sentence.id, _NEIGHBOUR if sentence.section == best.sentence.section else 0.0)
    quoted = {item.sentence.id for item in evidence}
    others = [item for key, item in found.items() if key not in quoted]
    alike = [item for item in others if akin(item.sentence, best.sentence)]
    by_worth = sorted(alike, key=lambda item: -worth[item.sentence.id])
    # A sentence with other tags that was found is still nearer to the question than no answer.
    return (*by_worth, *(item for item in others if item.companion_of is None and item not in alike))[:wanted]
