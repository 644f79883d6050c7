"""Measure `retrieve` on questions with gold: which passages are found, what is in the context, and the status.

The go-live checklist of `quoth check` tells whether each part of retrieval works on this corpus and these questions.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

import numpy as np

from quoth.errors import QuestionError
from quoth.evaluation.labelled_questions import Gold, LabelledQuestion, first_ranks, recall, reporting, touches
from quoth.language.words import FUNCTION_WORDS, fold
from quoth.library import Quoth
from quoth.passages import quality as measured
from quoth.passages.quality import Quality, QualityMeasure, QualitySummary
from quoth.protocols import Progress, Reader
from quoth.types import NO_FILTERS, FoundBy, Query, Status

AT = (1, 5, 8)
"""Ranks at which recall is measured."""
LEAST_QUESTIONS = 10
# A fit or a calibration of the user belongs to the settings as configured.
_PLAIN: Mapping[str, object] = {
    "rerank.kind": "none",
    "evidence.sentence": "{}",
    "calibration.threshold": "null",
    "cache.result_seconds": 0,
}
VARIANTS: Mapping[str, Mapping[str, object]] = {
    "vector": {"retrieval.mode": "dense", **_PLAIN},
    "full text": {"retrieval.mode": "lexical", **_PLAIN},
    "hybrid": {"retrieval.mode": "hybrid", **_PLAIN},
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
class RetrievalTrial:
    """A retrieval for one labelled question.

    `ranks` holds for each gold the rank of the first passage that touches it, before selection; `in_context` the same
    for the blocks of the context. `seconds` are by stage.
    """

    item: LabelledQuestion
    ranks: tuple[int | None, ...]
    in_context: tuple[int | None, ...]
    status: Status
    tokens: int
    quality: Quality
    seconds: Mapping[str, float]

    def recall(self, at: int) -> float:
        return recall(self.ranks, self.item, at=at)

    @property
    def reciprocal_rank(self) -> float:
        """Return 1 over the rank of the first passage that touches gold; 0 when none does."""
        return max((1 / rank for rank in self.ranks if rank is not None), default=0.0)


def try_each(
    quoth: Quoth, items: Sequence[LabelledQuestion], *, progress: Progress | None
) -> tuple[RetrievalTrial, ...]:
    """Retrieve for every question in turn."""
    quoth.prepare()
    return tuple(_try(quoth, item) for item in reporting(items, "retrieving", progress))


def _try(quoth: Quoth, item: LabelledQuestion) -> RetrievalTrial:
    marks = [("", time.perf_counter())]
    try:
        retrieved = quoth.explain_retrieval(
            item.question, done=lambda stage: marks.append((stage, time.perf_counter()))
        )
    except QuestionError:  # a question that cannot be asked finds nothing; the others go on
        return _nothing(item)
    seconds = {stage: at - before for (stage, at), (_, before) in zip(marks[1:], marks, strict=False)}
    retrieval = retrieved.retrieval
    return RetrievalTrial(
        item=item,
        ranks=first_ranks(
            [(found.passage.doc_id, found.passage.span) for found in retrieved.trace.passages], item.gold
        ),
        in_context=first_ranks([(block.document.id, block.span) for block in retrieval.context.blocks], item.gold),
        status=retrieval.status,
        tokens=retrieval.context.tokens,
        quality=measured.quality_of(retrieval),
        seconds=seconds,
    )


def _nothing(item: LabelledQuestion) -> RetrievalTrial:
    nowhere = (None,) * len(item.gold)
    tallies = {source: measured.SourceRelevance(0, 0.0) for source in FoundBy}
    quality = Quality(Status.NO_RESULTS, 0.0, 0, 0, 0, tallies, ())
    return RetrievalTrial(item, nowhere, nowhere, Status.NO_RESULTS, 0, quality, {})


def recall_json(trials: Sequence[RetrievalTrial]) -> dict[str, float | None]:
    """Return means over the answerable questions; None when there are none."""
    answerable = [trial for trial in trials if trial.item.answerable]
    figures = {f"recall_at_{at}": _mean([trial.recall(at) for trial in answerable]) for at in AT}
    return figures | {
        "recall_in_context": _mean([recall(trial.in_context, trial.item) for trial in answerable]),
        "reciprocal_rank": _mean([trial.reciprocal_rank for trial in answerable]),
    }


def statuses_json(trials: Sequence[RetrievalTrial]) -> dict[str, dict[str, int]]:
    """Count the statuses, for answerable and unanswerable questions apart."""
    kinds = {"answerable": True, "unanswerable": False}
    counted = {
        name: Counter(trial.status for trial in trials if trial.item.answerable is answerable)
        for name, answerable in kinds.items()
    }
    return {name: {status.value: found[status] for status in Status} for name, found in counted.items()}


def passages_json(trials: Sequence[RetrievalTrial]) -> dict[str, Any]:
    """Return all figures about retrieval except the times, which differ from run to run."""
    return {
        "questions": len(trials),
        "answerable": sum(trial.item.answerable for trial in trials),
        **recall_json(trials),
        "statuses": statuses_json(trials),
        "most_tokens": max((trial.tokens for trial in trials), default=0),
        "quality": measured.summary_json(measured.summary_of([trial.quality for trial in trials])),
    }


def _mean(values: Sequence[float]) -> float | None:
    return round(fmean(values), 4) if values else None


MEASURES = {
    QualityMeasure.TOP1: ("relevance of the first passage", "above 0.75; below 0.5 is red"),
    QualityMeasure.RELEVANT: ("passages above 0.6", "3 or more; 0 or 1 is red"),
    QualityMeasure.FULL_TEXT_ONLY: ("found by full text alone, of the first 5", "1 or 2; 0 or 5 is red"),
    QualityMeasure.VECTOR_ONLY: ("found by vector alone, of the first 5", "2 or 3; 0 or 5 is red"),
}
"""A title and the target of each measure."""


def recall_rows(trials: Sequence[RetrievalTrial]) -> Iterator[tuple[str, str]]:
    """Yield the name and the figure of each kind of recall, for people."""
    for name, value in recall_json(trials).items():
        yield name.replace("_", " "), "–" if value is None else f"{value:.3f}"


def quality_rows(summary: QualitySummary) -> Iterator[tuple[str, ...]]:
    """Yield the title of each measure, its mean and median, the shares on target and red, and its target."""
    for measure, found in summary.measures.items():
        title, target = MEASURES[measure]
        yield title, f"{found.mean:.2f}", f"{found.median:.2f}", f"{found.on_target:.0%}", f"{found.red:.0%}", target


# The checklist


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
    limit = SECONDS_WITH_LLM if settings.rerank.kind == "llm" else SECONDS
    seconds = float(np.quantile([sum(trial.seconds.values()) for trial in trials["all"]], 0.95))
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
