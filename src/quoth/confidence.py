"""Confidence: the probability that the quoted sentences answer the question, from a few numbers that can be read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from quoth.select.evidence import Logistic, logistic
from quoth.text.entities import mentions
from quoth.text.quantities import quantities, same_quantity
from quoth.types import Analysis, Confidence, Probe, Ranked

_BEST = 3
"""So many sentences are looked at together: an answer seldom needs more, and what is further down resembles."""


def confidence_of(ranked: Sequence[Ranked], *, analysis: Analysis, probe: Probe, model: Logistic | None) -> Confidence:
    """From sentences with their support, in any order. Without a model: the best fused score there is."""
    if model is None or any(one.support is None or one.support.log_odds is None for one in ranked):
        best = max((one.fused for one in ranked), default=0.0)
        return Confidence(best, {"fused": best}, {})
    if not ranked:
        return Confidence(0.0, {}, {})
    parts = answer_parts(ranked, analysis, probe)
    terms = {"intercept": model.intercept, **model.terms(parts)}
    return Confidence(round(logistic(sum(terms.values())), 6), parts, terms)


def answer_parts(ranked: Sequence[Ranked], analysis: Analysis, probe: Probe) -> dict[str, float]:
    """What the confidence is made from; see docs/evidence.md for what each part means."""
    best = sorted(ranked, key=lambda one: (-one.relevance, one.sentence.doc_id, one.sentence.quote.span))[:_BEST]
    odds = [one.support.log_odds for one in best if one.support and one.support.log_odds is not None]
    return {
        "support": odds[0],
        "gap": odds[0] - odds[1] if len(odds) > 1 else 0.0,
        "agreement": sum(odds[1:]) / len(odds[1:]) if len(odds) > 1 else odds[0],
        "coverage": _coverage(best, probe),
        "missing": float(min(2, _missing(best, analysis))),
    }


def _coverage(best: Sequence[Ranked], probe: Probe) -> float:
    """How well the best sentences together match what was asked, word by word, the rare words above all."""
    # A sentence found for a part of the question was compared with the words of that part alone.
    rows = [one.support.matches for one in best if one.support and len(one.support.matches) == len(probe.weights)]
    if not rows:
        return 0.0
    return round(float(np.max(np.array(rows), axis=0) @ probe.weights), 6)


def _missing(best: Sequence[Ranked], analysis: Analysis) -> int:
    """How many of the names, dates and quantities of the question the best sentences do not mention."""
    text = "\n".join("\n".join((one.sentence.search_text, *one.sentence.section)) for one in best)
    stated = quantities(text) if analysis.quantities else ()
    return sum(not any(mentions(text, entity) for entity in group) for group in analysis.entities) + sum(
        not any(same_quantity(presumed, one) for one in stated) for presumed in analysis.quantities
    )
