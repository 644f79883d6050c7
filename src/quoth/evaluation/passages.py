"""Passages measured on questions with gold: what is found, what stands in the context, and what the status says."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np

from quoth.errors import QuestionError
from quoth.evaluation.overlap import Place, first_ranks, recall
from quoth.evaluation.questions import Labelled
from quoth.interfaces.python import Quoth
from quoth.protocols import Progress
from quoth.quality import Quality, Tally, quality_of, summary_json, summary_of
from quoth.types import Retrieved, Source, Status

AT = (1, 5, 8)
"""Ranks up to which recall is counted."""
_STAGES = ("analyse", "search", "passages", "rerank", "choose", "context")


@dataclass(frozen=True, slots=True)
class Trial:
    """One question with gold. `ranks` are those of the first passage that touches each gold, before any is chosen;
    `in_context` those of the blocks that do. `seconds` are by stage."""

    item: Labelled
    ranks: tuple[int | None, ...]
    in_context: tuple[int | None, ...]
    status: Status
    best: float
    tokens: int
    quality: Quality
    seconds: Mapping[str, float]

    def recall(self, at: int) -> float:
        return recall(self.ranks, self.item, at=at)

    @property
    def context_recall(self) -> float:
        return recall(self.in_context, self.item)

    @property
    def reciprocal_rank(self) -> float:
        """1 over the rank of the first passage that holds gold; 0 when none does."""
        return max((1 / rank for rank in self.ranks if rank is not None), default=0.0)


def try_each(quoth: Quoth, items: Sequence[Labelled], *, progress: Progress | None) -> tuple[Trial, ...]:
    """Retrieve for every question in turn."""
    quoth.prepare()
    trials = []
    for number, item in enumerate(items, 1):
        trials.append(_try(quoth, item))
        if progress is not None:
            progress("retrieving", number, len(items))
    return tuple(trials)


def _try(quoth: Quoth, item: Labelled) -> Trial:
    marks = [("", time.perf_counter())]
    try:
        retrieved = quoth.explain_retrieval(
            item.question, done=lambda stage: marks.append((stage, time.perf_counter()))
        )
    except QuestionError:  # one that cannot be asked finds nothing; it must not take the others with it
        return _nothing(item)
    seconds = {stage: at - before for (stage, at), (_, before) in zip(marks[1:], marks, strict=False)}
    retrieval = retrieved.retrieval
    return Trial(
        item=item,
        ranks=first_ranks(_judged(retrieved), item.gold),
        in_context=first_ranks([(one.document.id, one.span) for one in retrieval.context.blocks], item.gold),
        status=retrieval.status,
        best=retrieval.best,
        tokens=retrieval.context.tokens,
        quality=quality_of(retrieval),
        seconds=seconds,
    )


def _nothing(item: Labelled) -> Trial:
    nowhere = (None,) * len(item.gold)
    tallies = {source: Tally(0, 0.0) for source in Source}
    quality = Quality(Status.NO_RESULTS, 0.0, 0, 0, 0, tallies, ())
    return Trial(item, nowhere, nowhere, Status.NO_RESULTS, 0.0, 0, quality, {})


def _judged(retrieved: Retrieved) -> list[Place]:
    return [(one.passage.doc_id, one.passage.span) for one in retrieved.trace.passages]


def recall_json(trials: Sequence[Trial]) -> dict[str, float | None]:
    """Means over the answerable questions; None when there are none."""
    answerable = [one for one in trials if one.item.answerable]
    figures = {f"recall_at_{at}": _mean([one.recall(at) for one in answerable]) for at in AT}
    return figures | {
        "recall_in_context": _mean([one.context_recall for one in answerable]),
        "reciprocal_rank": _mean([one.reciprocal_rank for one in answerable]),
    }


def statuses_json(trials: Sequence[Trial]) -> dict[str, dict[str, int]]:
    """How many questions had each status, those with an answer and those without."""
    kinds = {"answerable": True, "unanswerable": False}
    counted = {
        name: Counter(one.status for one in trials if one.item.answerable is answerable)
        for name, answerable in kinds.items()
    }
    return {name: {status.value: found[status] for status in Status} for name, found in counted.items()}


def times_json(trials: Sequence[Trial]) -> dict[str, dict[str, float]]:
    """The median and the 95th percentile of each stage and of the whole, in milliseconds."""
    columns = {stage: [one.seconds.get(stage, 0.0) for one in trials] for stage in _STAGES}
    columns["total"] = [sum(one.seconds.values()) for one in trials]
    return {
        stage: {"p50": round(1000 * float(np.median(values)), 2), "p95": round(1000 * _p95(values), 2)}
        for stage, values in columns.items()
        if values
    }


def passages_json(trials: Sequence[Trial]) -> dict[str, Any]:
    """Everything that a set of questions says about retrieval, without the times: they are never twice the same."""
    return {
        "questions": len(trials),
        "answerable": sum(one.item.answerable for one in trials),
        **recall_json(trials),
        "statuses": statuses_json(trials),
        "most_tokens": max((one.tokens for one in trials), default=0),
        "quality": summary_json(summary_of([one.quality for one in trials])),
    }


def p95_seconds(trials: Sequence[Trial]) -> float:
    """Of the whole retrieval, without opening the index."""
    return _p95([sum(one.seconds.values()) for one in trials])


def _p95(values: Sequence[float]) -> float:
    return float(np.quantile(np.array(values), 0.95)) if values else 0.0


def _mean(values: Sequence[float]) -> float | None:
    return round(fmean(values), 4) if values else None
