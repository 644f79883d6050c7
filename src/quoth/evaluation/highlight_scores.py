"""How well the highlights of an answer agree with gold that is a short span: token F1, as for SQuAD."""

from __future__ import annotations

import re
from collections import Counter

from quoth.evaluation.judgements import Judgement, QuotedSentence
from quoth.evaluation.labelled_questions import LabelledQuestion
from quoth.types import Span

_SHORT = 0.5
"""Gold counts as a short span up to this share of the sentence that holds it."""
_ARTICLES = frozenset({"a", "an", "the"})
_TOKEN = re.compile(r"[^\W_]+")


def highlight_f1(judgement: Judgement) -> float | None:
    """Return the token F1 of the highlights in the best quote that holds short gold; None when no quote does.

    No highlights count as 0. With gold of mode `any` the best gold counts, with `all` all that the quote holds.
    """
    found = _with_short_gold(judgement)
    if found is None:
        return None
    quote, golden = found
    marked = _sliced(quote, quote.highlights or ())
    return max(token_f1(marked, _sliced(quote, spans)) for spans in golden)


def is_highlighted(judgement: Judgement) -> bool | None:
    """Return whether the best quote that holds short gold has highlights; None when no quote does."""
    found = _with_short_gold(judgement)
    return None if found is None else bool(found[0].highlights)


def token_f1(text: str, gold: str) -> float:
    """Return the F1 of the words that two texts share, without case, punctuation and articles."""
    words, golden = (
        Counter(word for word in _TOKEN.findall(given.casefold()) if word not in _ARTICLES) for given in (text, gold)
    )
    return 2 * (words & golden).total() / ((words.total() + golden.total()) or 1)


def _with_short_gold(judgement: Judgement) -> tuple[QuotedSentence, list[tuple[Span, ...]]] | None:
    for quote in judgement.quotes:
        if golden := _short_gold(quote, judgement.labelled):
            return quote, golden
    return None


def _short_gold(quote: QuotedSentence, item: LabelledQuestion) -> list[tuple[Span, ...]]:
    """Return the ways in which the gold within a quote can be marked; none if it is not short."""
    place = Span(quote.start, quote.end)
    inside = [
        [span for span in gold.spans if place.holds(span) and len(span) <= _SHORT * len(place)]
        for gold in item.gold
        if gold.doc_id == quote.doc_id
    ]
    if item.gold_mode == "any":
        return [(span,) for spans in inside for span in spans]
    together = tuple(spans[0] for spans in inside if spans)
    return [together] if together else []


def _sliced(quote: QuotedSentence, spans: tuple[Span, ...]) -> str:
    return " ".join(quote.text[span.start - quote.start : span.end - quote.start] for span in spans)
