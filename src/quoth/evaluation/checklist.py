"""The go-live checklist of `quoth check`: does each part of retrieval work on this corpus and these questions?"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from quoth.errors import QuestionError
from quoth.evaluation.labelled_questions import Gold, LabelledQuestion, touches
from quoth.evaluation.retrieval_trials import RetrievalTrial, p95_seconds, try_each
from quoth.language.words import FUNCTION_WORDS, fold
from quoth.library import Quoth
from quoth.protocols import Progress, Reader
from quoth.types import NO_FILTERS, Query

LEAST_QUESTIONS = 10
VARIANTS: Mapping[str, Mapping[str, object]] = {
    "vector": {"retrieval.mode": "dense", "rerank.kind": "none", "cache.result_seconds": 0},
    "full text": {"retrieval.mode": "lexical", "rerank.kind": "none", "cache.result_seconds": 0},
    "hybrid": {"retrieval.mode": "hybrid", "rerank.kind": "none", "cache.result_seconds": 0},
    "all": {"cache.result_seconds": 0},
}
"""The settings of each variant: vector search alone, full text alone, both, and all as configured; never cached."""
FOUND_SHARE = 0.7
"""The share of answerable questions that vector search alone must find within eight passages."""
TERMS_SHARE = 0.9
"""The share of answers that full-text search must find by their rarest words."""
SECONDS, SECONDS_WITH_LLM = 4.0, 5.0
_RAREST = 3
_WITHIN = 10


@dataclass(frozen=True, slots=True)
class ChecklistItem:
    """A line of the checklist: the target, the measured figure, and whether it passed."""

    name: str
    wanted: str
    measured: str
    passed: bool


def check(
    open_variant: Callable[[Mapping[str, object]], Quoth],
    items: Sequence[LabelledQuestion],
    *,
    progress: Progress | None,
) -> tuple[ChecklistItem, ...]:
    """Run every check, in order. `open_variant` opens the index with settings that override the user's own."""
    answerable = [item for item in items if item.answerable]
    if len(answerable) < LEAST_QUESTIONS:
        raise QuestionError(
            f"{len(answerable)} questions with an answer are too few to check with",
            hint=f"Give at least {LEAST_QUESTIONS}, each with the place of its answer; see docs/evaluation.md.",
        )
    opened = {name: open_variant(values) for name, values in VARIANTS.items()}
    trials = {name: try_each(quoth, items, progress=progress) for name, quoth in opened.items()}
    settings = opened["all"].settings()
    budget, most = settings.context.token_budget, max(trial.tokens for trial in trials["all"])
    limit, seconds = SECONDS_WITH_LLM if settings.rerank.kind == "llm" else SECONDS, p95_seconds(trials["all"])
    latency = f"95% of retrievals below {limit:g} s"
    return (
        _vector(trials["vector"]),
        _terminology(opened["full text"], answerable),
        _hybrid(trials),
        _reranking(trials, settings.rerank.kind),
        ChecklistItem("the context fits its budget", f"at most {budget:,} tokens", f"at most {most:,}", most <= budget),
        ChecklistItem("end-to-end latency", latency, f"{seconds:.3f} s", seconds < limit),
    )


def _found(trials: Sequence[RetrievalTrial], *, at: int) -> float:
    return fmean(trial.recall(at) for trial in trials if trial.item.answerable)


def _ranked(trials: Sequence[RetrievalTrial]) -> float:
    return fmean(trial.reciprocal_rank for trial in trials if trial.item.answerable)


def _vector(trials: Sequence[RetrievalTrial]) -> ChecklistItem:
    found = _found(trials, at=8)
    return ChecklistItem(
        "vector search finds relevant passages",
        f"{FOUND_SHARE:.0%} within 8 passages",
        f"{found:.1%}",
        found >= FOUND_SHARE,
    )


def _terminology(quoth: Quoth, answerable: Sequence[LabelledQuestion]) -> ChecklistItem:
    """Search for the rarest words of each answer: full text must find a technical term by its name."""
    with quoth.reading() as reader:
        found = fmean(any(_finds(gold, reader) for gold in item.gold) for item in answerable)
    return ChecklistItem(
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
    query = Query(vector=None, terms=tuple((word,) for word in rarest), candidates=_WITHIN, filters=NO_FILTERS)
    found = [candidate.sentence for candidate in reader.search(query).items]
    return any(touches((sentence.doc_id, sentence.quote.span), gold) for sentence in found)


def _hybrid(trials: Mapping[str, Sequence[RetrievalTrial]]) -> ChecklistItem:
    names = ("vector", "full text", "hybrid")
    found = {name: _found(trials[name], at=8) for name in names}
    ranked = {name: _ranked(trials[name]) for name in names}
    return ChecklistItem(
        "hybrid beats either alone",
        "as many found within 8 passages and as high a mean reciprocal rank as either, but for chance",
        ", ".join(f"{name} {found[name]:.1%} / {ranked[name]:.3f}" for name in names),
        all(
            _no_worse(trials["hybrid"], trials[alone], of)
            for alone in ("vector", "full text")
            for of in (lambda trial: trial.recall(8), lambda trial: trial.reciprocal_rank)
        ),
    )


def _reranking(trials: Mapping[str, Sequence[RetrievalTrial]], kind: str) -> ChecklistItem:
    before, after = _ranked(trials["hybrid"]), _ranked(trials["all"])
    return ChecklistItem(
        "reranking lifts the right passages",
        "a higher mean reciprocal rank than before it, but for chance",
        f"{before:.3f} -> {after:.3f}" if kind != "none" else "there is no reranker",
        kind != "none" and _no_worse(trials["all"], trials["hybrid"], lambda trial: trial.reciprocal_rank),
    )


def _no_worse(
    trials: Sequence[RetrievalTrial], others: Sequence[RetrievalTrial], of: Callable[[RetrievalTrial], float]
) -> bool:
    """Return whether the mean difference over the same questions is at most one standard error below 0."""
    differences = [of(trial) - of(other) for trial, other in zip(trials, others, strict=True) if trial.item.answerable]
    error = stdev(differences) / math.sqrt(len(differences))
    return fmean(differences) + error >= 0
