"""Measure `retrieve` on questions with gold: which passages are found, what is in the context, and the status."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from statistics import fmean
from typing import Any

import numpy as np

from quoth.errors import QuestionError
from quoth.evaluation.labelled_questions import LabelledQuestion, first_ranks, recall
from quoth.library import Quoth
from quoth.passages.quality import Grade, Quality, QualityMeasure, SourceRelevance, quality_of, summary_json, summary_of
from quoth.protocols import Progress
from quoth.types import FoundBy, Status

AT = (1, 5, 8)
"""Ranks at which recall is measured."""
_STAGES = ("analyse", "search", "passages", "rerank", "choose", "context")


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
    trials = []
    for number, item in enumerate(items, 1):
        trials.append(_try(quoth, item))
        if progress is not None:
            progress("retrieving", number, len(items))
    return tuple(trials)


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
        quality=quality_of(retrieval),
        seconds=seconds,
    )


def _nothing(item: LabelledQuestion) -> RetrievalTrial:
    nowhere = (None,) * len(item.gold)
    tallies = {source: SourceRelevance(0, 0.0) for source in FoundBy}
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


def times_json(trials: Sequence[RetrievalTrial]) -> dict[str, dict[str, float]]:
    """Return the median and the 95th percentile of each stage and of the total, in milliseconds."""
    columns = {stage: [trial.seconds.get(stage, 0.0) for trial in trials] for stage in _STAGES}
    columns["total"] = [sum(trial.seconds.values()) for trial in trials]
    return {
        stage: {"p50": round(1000 * float(np.median(values)), 2), "p95": round(1000 * _p95(values), 2)}
        for stage, values in columns.items()
        if values
    }


def passages_json(trials: Sequence[RetrievalTrial]) -> dict[str, Any]:
    """Return all figures about retrieval except the times, which differ from run to run."""
    return {
        "questions": len(trials),
        "answerable": sum(trial.item.answerable for trial in trials),
        **recall_json(trials),
        "statuses": statuses_json(trials),
        "most_tokens": max((trial.tokens for trial in trials), default=0),
        "quality": summary_json(summary_of([trial.quality for trial in trials])),
    }


def p95_seconds(trials: Sequence[RetrievalTrial]) -> float:
    """Return the 95th percentile of the total time of a retrieval, without opening the index."""
    return _p95([sum(trial.seconds.values()) for trial in trials])


def _p95(values: Sequence[float]) -> float:
    return float(np.quantile(np.array(values), 0.95)) if values else 0.0


def _mean(values: Sequence[float]) -> float | None:
    return round(fmean(values), 4) if values else None


MEASURES = {
    QualityMeasure.TOP1: ("relevance of the first passage", "above 0.75; below 0.5 is red"),
    QualityMeasure.RELEVANT: ("passages above 0.6", "3 or more; 0 or 1 is red"),
    QualityMeasure.FULL_TEXT_ONLY: ("found by full text alone, of the first 5", "1 or 2; 0 or 5 is red"),
    QualityMeasure.VECTOR_ONLY: ("found by vector alone, of the first 5", "2 or 3; 0 or 5 is red"),
}
"""A title and the target of each measure."""


def passages_html(trials: Sequence[RetrievalTrial]) -> str:
    """Return the report's section on passages; empty when there are no trials."""
    if not trials:
        return ""
    return f"<h2>Passages</h2>{_together(trials)}<details><summary>Each question</summary>{_each(trials)}</details>"


def _together(trials: Sequence[RetrievalTrial]) -> str:
    summary = summary_of([trial.quality for trial in trials])
    recall = _table(
        ("recall of gold (answerable questions)", "value"),
        (
            (name.replace("_", " "), "–" if value is None else f"{value:.3f}")
            for name, value in recall_json(trials).items()
        ),
    )
    statuses = _table(
        ("questions", "success", "low confidence", "no results"),
        ((kind, *map(str, counts.values())) for kind, counts in statuses_json(trials).items()),
    )
    quality = _table(
        ("sign", "mean", "median", "on target", "red", "target"),
        (
            (
                title,
                f"{figures.mean:.2f}",
                f"{figures.median:.2f}",
                f"{figures.on_target:.0%}",
                f"{figures.red:.0%}",
                target,
            )
            for key, figures in summary.measures.items()
            for title, target in [MEASURES[key]]
        ),
    )
    sources = _table(
        ("found by", "passages", "mean relevance"),
        (
            (source.replace("_", " "), f"{figures.count:,}", "–" if figures.mean is None else f"{figures.mean:.2f}")
            for source, figures in summary.sources.items()
        ),
    )
    return f'<div class="groups">{recall}{statuses}{quality}{sources}</div>'


def _each(trials: Sequence[RetrievalTrial]) -> str:
    return _table(
        ("id", "question", "status", "top 1", "above 0.6", "text only", "vector only", "rank of gold", "red flags"),
        (
            (
                trial.item.question.id,
                trial.item.question.text,
                trial.status.value,
                *(_sign(trial.quality, measure) for measure in QualityMeasure),
                ", ".join("–" if rank is None else str(rank) for rank in trial.ranks),
                ", ".join(trial.quality.flags),
            )
            for trial in trials
        ),
    )


def _sign(quality: Quality, measure: QualityMeasure) -> str:
    value = quality.value(measure)
    shown = f"{value:.2f}" if measure is QualityMeasure.TOP1 else f"{value:.0f}"
    return f"{shown} (red)" if quality.grade(measure) is Grade.RED else shown


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col">{escape(heading)}</th>' for heading in headings)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<div><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
