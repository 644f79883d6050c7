"""Confidence: the probability that the quoted sentences answer the question, from a few readable features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from quoth.answer.doubts import Doubts
from quoth.language.entities import mentions
from quoth.language.quantities import quantities_in, same_quantity
from quoth.search.logistic import ANSWER_SIGNS, Logistic, logistic
from quoth.search.unused_words import names_of_unused_words
from quoth.types import Analysis, Confidence, EncodedQuestion, Outlook, Ranked

_BEST = 3
"""How many sentences count: an answer rarely needs more, and lower ranks are only similar to the question."""


def confidence_of(
    ranked: Sequence[Ranked],
    *,
    analysis: Analysis,
    encoded: EncodedQuestion,
    doubts: Doubts,
    model: Logistic | None,
    more: Mapping[str, float] = MappingProxyType({}),
) -> Confidence:
    """Return the confidence from ranked sentences in any order; without a model or support, the best fused score.

    The best fused score has no `terms`: it says nothing of the doubts. `more` are features beside those of every
    language.
    """
    if model is None or any(candidate.support is None or candidate.support.log_odds is None for candidate in ranked):
        best = max((candidate.fused for candidate in ranked), default=0.0)
        return Confidence(best, {"fused": best}, {})
    if not ranked:
        return Confidence(0.0, {}, {})
    features = answer_features(ranked, analysis, encoded) | doubts.features | dict(more)
    terms = {"intercept": model.intercept, **model.terms(features)}
    return Confidence(round(logistic(sum(terms.values())), 6), features, terms)


def outlook_of(confidence: Confidence, *, threshold: float) -> Outlook:
    """Return whether the evidence may be relevant: half as likely as an answer must be, were every doubt mistaken.

    A doubt is about what the evidence does not state; what it is about is left to the other features.
    """
    about = [term for name, term in confidence.terms.items() if ANSWER_SIGNS.get(name, 1) > 0]
    likely = logistic(sum(about)) if about else confidence.value
    return Outlook.MAY_BE_RELEVANT if 2 * likely >= threshold else Outlook.NOTHING


def answer_features(ranked: Sequence[Ranked], analysis: Analysis, encoded: EncodedQuestion) -> dict[str, float]:
    """Return the features of the confidence; docs/evidence.md explains each."""
    best = sorted(ranked, key=lambda item: (-item.relevance, item.sentence.doc_id, item.sentence.quote.span))[:_BEST]
    first, *others = (item.support.log_odds for item in best if item.support and item.support.log_odds is not None)
    return {
        "support": first,
        "gap": first - others[0] if others else 0.0,
        "agreement": sum(others) / len(others) if others else first,
        "coverage": _coverage(best, encoded),
        "missing": float(min(2, _missing(best, analysis))),
    }


def _coverage(best: Sequence[Ranked], encoded: EncodedQuestion) -> float:
    """Return how well the best sentences together match the tokens of the question, 0 to 1; rare words weigh more."""
    # A sentence found for a sub-question was compared with the tokens of that sub-question only.
    size = len(encoded.weights)
    rows = [item.support.matches for item in best if item.support and len(item.support.matches) == size]
    return round(float(np.max(np.array(rows), axis=0) @ encoded.weights), 6) if rows else 0.0


def _missing(best: Sequence[Ranked], analysis: Analysis) -> int:
    """Count the names, dates and quantities of the question that the best sentences do not mention."""
    text = "\n".join("\n".join((item.sentence.search_text, *item.sentence.section)) for item in best)
    stated = quantities_in(text, analysis.languages) if analysis.quantities else ()
    words = names_of_unused_words(analysis)
    names = [group for group in analysis.entities if group not in words]
    return sum(
        not any(mentions(text, entity, languages=analysis.languages) for entity in group) for group in names
    ) + sum(not any(same_quantity(presumed, quantity) for quantity in stated) for presumed in analysis.quantities)
