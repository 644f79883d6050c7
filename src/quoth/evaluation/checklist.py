"""The go-live checklist: does each part of retrieval do its work on this corpus and these questions?"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from quoth.errors import QuestionError
from quoth.evaluation.passages import Trial, p95_seconds, try_each
from quoth.evaluation.questions import Gold, Labelled
from quoth.interfaces.python import Quoth
from quoth.protocols import Progress, Reader
from quoth.text.fold import fold
from quoth.text.words import FUNCTION_WORDS
from quoth.types import Filters, Query

LEAST_QUESTIONS = 10
VARIANTS: Mapping[str, Mapping[str, object]] = {
    "vector": {"retrieval.mode": "dense", "rerank.kind": "none", "cache.result_seconds": 0},
    "full text": {"retrieval.mode": "lexical", "rerank.kind": "none", "cache.result_seconds": 0},
    "hybrid": {"retrieval.mode": "hybrid", "rerank.kind": "none", "cache.result_seconds": 0},
    "all": {"cache.result_seconds": 0},
}
"""Each part alone, both together, and everything as the settings have it; nothing may come from a cache."""
FOUND_SHARE = 0.7
"""Of the questions that can be answered, the vector search alone shall find so many within eight passages."""
TERMS_SHARE = 0.9
"""Of the answers, so many shall be found by their own rarest words."""
SECONDS, SECONDS_WITH_LLM = 4.0, 5.0
_RAREST = 3
_WITHIN = 10


@dataclass(frozen=True, slots=True)
class Point:
    """One line of the checklist: what was asked of a part, what was measured, and whether that is enough."""

    name: str
    wanted: str
    measured: str
    passed: bool


def check(
    open_variant: Callable[[Mapping[str, object]], Quoth], items: Sequence[Labelled], *, progress: Progress | None
) -> tuple[Point, ...]:
    """Every point, in order. `open_variant` opens the index with settings put over the user's own."""
    answerable = [one for one in items if one.answerable]
    if len(answerable) < LEAST_QUESTIONS:
        raise QuestionError(
            f"{len(answerable)} questions with an answer are too few to check with",
            hint=f"Give at least {LEAST_QUESTIONS}, each with the place of its answer; see docs/evaluation.md.",
        )
    opened = {name: open_variant(values) for name, values in VARIANTS.items()}
    trials = {name: try_each(quoth, items, progress=progress) for name, quoth in opened.items()}
    settings = opened["all"].settings()
    return (
        _vector(trials["vector"]),
        _terminology(opened["full text"], answerable),
        _hybrid(trials),
        _reranking(trials, settings.rerank.kind),
        _budget(trials["all"], settings.context.token_budget),
        _latency(trials["all"], SECONDS_WITH_LLM if settings.rerank.kind == "llm" else SECONDS),
    )


def _found(trials: Sequence[Trial], *, at: int) -> float:
    return fmean(one.recall(at) for one in trials if one.item.answerable)


def _ranked(trials: Sequence[Trial]) -> float:
    return fmean(one.reciprocal_rank for one in trials if one.item.answerable)


def _vector(trials: Sequence[Trial]) -> Point:
    found = _found(trials, at=8)
    return Point(
        "vector search finds relevant passages",
        f"{FOUND_SHARE:.0%} within 8 passages",
        f"{found:.1%}",
        found >= FOUND_SHARE,
    )


def _terminology(quoth: Quoth, answerable: Sequence[Labelled]) -> Point:
    """Search by the rarest words of each answer: a term of art must be found by its name."""
    with quoth.reading() as reader:
        found = fmean(any(_finds(gold, reader) for gold in item.gold) for item in answerable)
    return Point(
        "full text finds exact terminology",
        f"{TERMS_SHARE:.0%} of answers by their {_RAREST} rarest words within {_WITHIN} sentences",
        f"{found:.1%}",
        found >= TERMS_SHARE,
    )


def _finds(gold: Gold, reader: Reader) -> bool:
    words = {word for word in fold(gold.text).split() if word.isalpha() and word not in FUNCTION_WORDS}
    held = reader.frequencies(sorted(words))
    rarest = sorted((word for word in words if held[word]), key=lambda word: (held[word], word))[:_RAREST]
    if not rarest:
        return False
    only = Filters(doc_ids=(), tags={}, document_types=(), is_binding=None, as_of=None)
    query = Query(vector=None, terms=tuple((word,) for word in rarest), candidates=_WITHIN, filters=only)
    spans = [(one.sentence.doc_id, one.sentence.quote.span) for one in reader.search(query).items]
    return any(
        doc_id == gold.doc_id and span.start < one.end and one.start < span.end
        for doc_id, span in spans
        for one in gold.spans
    )


def _hybrid(trials: Mapping[str, Sequence[Trial]]) -> Point:
    names = ("vector", "full text", "hybrid")
    found = {name: _found(trials[name], at=8) for name in names}
    ranked = {name: _ranked(trials[name]) for name in names}
    return Point(
        "hybrid beats either alone",
        "as many found within 8 passages and as high a mean reciprocal rank as either, but for chance",
        ", ".join(f"{name} {found[name]:.1%} / {ranked[name]:.3f}" for name in names),
        all(
            _no_worse(trials["hybrid"], trials[alone], of)
            for alone in ("vector", "full text")
            for of in (lambda one: one.recall(8), lambda one: one.reciprocal_rank)
        ),
    )


def _reranking(trials: Mapping[str, Sequence[Trial]], kind: str) -> Point:
    before, after = _ranked(trials["hybrid"]), _ranked(trials["all"])
    return Point(
        "reranking lifts the right passages",
        "a higher mean reciprocal rank than before it, but for chance",
        f"{before:.3f} -> {after:.3f}" if kind != "none" else "there is no reranker",
        kind != "none" and _no_worse(trials["all"], trials["hybrid"], lambda one: one.reciprocal_rank),
    )


def _no_worse(one: Sequence[Trial], other: Sequence[Trial], of: Callable[[Trial], float]) -> bool:
    """Whether the mean difference over the same questions is no further below 0 than its standard error."""
    pairs = [(here, there) for here, there in zip(one, other, strict=True) if here.item.answerable]
    differences = [of(here) - of(there) for here, there in pairs]
    error = stdev(differences) / math.sqrt(len(differences))
    return fmean(differences) + error >= 0


def _budget(trials: Sequence[Trial], budget: int) -> Point:
    most = max(one.tokens for one in trials)
    return Point("the context fits its budget", f"at most {budget:,} tokens", f"at most {most:,}", most <= budget)


def _latency(trials: Sequence[Trial], limit: float) -> Point:
    seconds = p95_seconds(trials)
    return Point("end-to-end latency", f"95% of retrievals below {limit:g} s", f"{seconds:.3f} s", seconds < limit)
