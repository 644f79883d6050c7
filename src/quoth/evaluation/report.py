"""The report: a single HTML file that loads nothing else, with plots and a table of every question.

The template `report.html` escapes all that it is given but our own drawings and marks, and the page's policy forbids
every script but its own.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files
from itertools import groupby
from typing import Any

from markupsafe import Markup, escape

from quoth.evaluation.evaluate import Estimate, Evaluation
from quoth.evaluation.judgements import STAGES, Judgement, QuotedSentence
from quoth.evaluation.labelled_questions import Gold, character_scores, first_ranks
from quoth.evaluation.plots import histogram_plot, recall_plot, reliability_plot, risk_coverage_plot
from quoth.evaluation.retrieval_trials import RetrievalTrial, quality_rows, recall_rows, statuses_json
from quoth.evaluation.saved_runs import origins
from quoth.passages.quality import Grade, Quality, QualityMeasure, summary_of

OUTCOMES = {
    "right": "right answer",
    "wrong": "wrong answer",
    "false": "answered, unanswerable",
    "missed": "declined, answerable",
    "declined": "rightly declined",
    "fault": "no result",
}
GROUPS = {
    "exactness": "Exactness",
    "recall": "Recall of gold by stage (answerable questions)",
    "retrievers": "Retrievers and boosts (answerable questions)",
    "quotes": "Quotes, given or withheld (answerable questions)",
    "decision": "Decisions",
    "answers": "Answers given",
    "confidence": "Confidence (all questions)",
}


def report_html(evaluation: Evaluation, *, title: str, trials: Sequence[RetrievalTrial]) -> str:
    """Return the page, with a section on passages if there are `trials`; the same values give the same bytes."""
    from jinja2 import Environment, StrictUndefined  # only a report needs it

    page, style, script = (
        files("quoth.evaluation").joinpath(f"report.{kind}").read_text("utf-8") for kind in ("html", "css", "js")
    )
    judged = evaluation.judged
    seen = {outcome_of(judgement) for judgement in judged}
    template = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return template.from_string(page).render(
        title=title,
        style=Markup(style),  # noqa: S704 - our own file
        style_hash=inline_hash(style),
        script=Markup(script),  # noqa: S704 - our own file
        script_hash=inline_hash(script),
        judged=judged,
        answerable=sum(judgement.labelled.answerable for judgement in judged),
        origins=origins(evaluation),
        notes=evaluation.notes,
        plots=list(_plots(evaluation)),
        measures=[(GROUPS[group], list(of)) for group, of in groupby(evaluation.measures, key=lambda one: one.group)],
        figures=shown,
        absent=unmeasured(evaluation),
        tables=list(_summary_tables(trials)) if trials else [],
        trials=_trials(trials),
        outcomes={key: words for key, words in OUTCOMES.items() if key in seen},
        reasons=sorted({judgement.reason for judgement in judged if judgement.reason}),
        rows=map(_row, judged),
    )


def outcome_of(judgement: Judgement) -> str:
    """Classify a judgement as a key of `OUTCOMES`."""
    if judgement.fault is not None:
        return "fault"
    if judgement.abstained:
        return "missed" if judgement.labelled.answerable else "declined"
    if not judgement.labelled.answerable:
        return "false"
    return "right" if judgement.right else "wrong"


def shown(figure: Estimate) -> tuple[str, str]:
    """Format the value and its interval; a dash where it is undefined."""
    if figure.value is None:
        return "–", ""
    ends = "" if figure.low is None or figure.high is None else f"{figure.low:.3f} to {figure.high:.3f}"
    return f"{figure.value:.3f}", ends


def unmeasured(evaluation: Evaluation) -> list[str]:
    """Return a line for each reason why metrics are missing."""
    keys: dict[str, list[str]] = {}
    for key, why in evaluation.absent:
        keys.setdefault(why, []).append(key)
    return [f"not measured: {', '.join(named)} ({why})" for why, named in keys.items()]


def inline_hash(text: str) -> str:
    """Return the hash by which a content security policy allows an inline script or style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _plots(evaluation: Evaluation) -> Iterator[tuple[Markup, str]]:
    """Yield drawings as SVG, each with its caption."""
    found = {metric.key: metric.figure for metric in evaluation.measures}
    recalls = [(stage, found[f"recall_{stage}"]) for stage in STAGES if f"recall_{stage}" in found]
    given = [judgement for judgement in evaluation.judged if not judgement.abstained]
    wrong = sum(not judgement.right for judgement in given)
    operating = (len(given) / len(evaluation.judged), wrong / len(given)) if given else None
    right = [judgement.confidence for judgement in evaluation.judged if judgement.right]
    others = [judgement.confidence for judgement in evaluation.judged if not judgement.right]
    drawings = {
        "Risk against coverage. The dot: as decided.": risk_coverage_plot(evaluation.curve, operating),
        "Reliability. On the dashed line confidence is true.": reliability_plot(evaluation.reliability),
        "Confidence of right (above) and wrong (below).": histogram_plot(right, others),
    }
    if recalls:
        drawings["Recall of gold by stage."] = recall_plot(recalls)
    for caption, drawing in drawings.items():
        yield Markup(drawing), caption  # noqa: S704 - drawn from figures alone


def _row(judgement: Judgement) -> dict[str, Any]:
    """Return what the table shows of a question, by the names in the template."""
    item, places = judgement.labelled, [quote.place for quote in judgement.quotes]
    ranks = first_ranks(places, item.gold)
    return {
        "judgement": judgement,
        "outcome": outcome_of(judgement),
        "words": OUTCOMES[outcome_of(judgement)],
        "first": min((rank for rank in ranks if rank is not None), default=None),
        "f1": character_scores(places, item)[2],
        "quotes": [(_marked(quote, item.gold), quote) for quote in judgement.quotes],
        "why": f"{judgement.reason}: {judgement.detail}" if judgement.reason else judgement.fault or "",
        "found_at": _found_at(judgement),
    }


def _marked(quote: QuotedSentence, gold: Sequence[Gold]) -> Markup:
    """Return the quote as HTML with its gold characters in `<mark>`."""
    golden = [span for passage_gold in gold if passage_gold.doc_id == quote.doc_id for span in passage_gold.spans]
    kinds = [
        any(span.start <= offset < span.end for span in golden)
        for offset in range(quote.start, quote.start + len(quote.text))
    ]
    pieces = []
    for is_gold, run in groupby(zip(kinds, quote.text, strict=True), key=lambda pair: pair[0]):
        text = escape("".join(character for _, character in run))
        pieces.append(Markup("<mark>{}</mark>").format(text) if is_gold else text)
    return Markup("").join(pieces)


def _found_at(judgement: Judgement) -> str:
    """Return the best rank of any gold in each stage, as text."""
    if judgement.stages is None or not judgement.labelled.answerable:
        return ""
    best = {
        stage: min((rank for rank in ranks if rank is not None), default=None)
        for stage, ranks in judgement.stages.ranks.items()
    }
    return ", ".join(f"{stage} {rank or '–'}" for stage, rank in best.items())


def _summary_tables(trials: Sequence[RetrievalTrial]) -> Iterator[tuple[Sequence[str], Iterable[Sequence[str]]]]:
    """Yield the headings and the rows of each table on all trials together."""
    summary = summary_of([trial.quality for trial in trials])
    yield ("recall of gold (answerable questions)", "value"), recall_rows(trials)
    statuses = ((kind, *map(str, counts.values())) for kind, counts in statuses_json(trials).items())
    yield ("questions", "success", "low confidence", "no results"), statuses
    yield ("sign", "mean", "median", "on target", "red", "target"), quality_rows(summary)
    sources = (
        (source.replace("_", " "), f"{figures.count:,}", "–" if figures.mean is None else f"{figures.mean:.2f}")
        for source, figures in summary.sources.items()
    )
    yield ("found by", "passages", "mean relevance"), sources


def _trials(trials: Sequence[RetrievalTrial]) -> tuple[Sequence[str], Iterable[Sequence[str]]]:
    """Return the headings and the rows of the table of every trial."""
    headings = "id|question|status|top 1|above 0.6|text only|vector only|rank of gold|red flags".split("|")
    rows = (
        (
            trial.item.question.id,
            trial.item.question.text,
            trial.status.value,
            *(_sign(trial.quality, measure) for measure in QualityMeasure),
            ", ".join("–" if rank is None else str(rank) for rank in trial.ranks),
            ", ".join(trial.quality.flags),
        )
        for trial in trials
    )
    return headings, rows


def _sign(quality: Quality, measure: QualityMeasure) -> str:
    value = quality.value(measure)
    shown = f"{value:.2f}" if measure is QualityMeasure.TOP1 else f"{value:.0f}"
    return f"{shown} (red)" if quality.grade(measure) is Grade.RED else shown
