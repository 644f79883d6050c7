"""The report: a single HTML file that loads nothing else, with plots and a table of every question.

All that comes from questions, documents and runs is escaped, and the page's policy forbids every script but its own.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from itertools import groupby
from string import Template

from quoth.evaluation.evaluate import Estimate, Evaluation, MetricValue
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
    style, script = (files("quoth.evaluation").joinpath(f"report.{kind}").read_text("utf-8") for kind in ("css", "js"))
    page = Template(files("quoth.evaluation").joinpath("report.html").read_text("utf-8"))
    judged = evaluation.judged
    answerable = sum(judgement.labelled.answerable for judgement in judged)
    seen = {outcome_of(judgement) for judgement in judged}
    reasons = sorted({judgement.reason for judgement in judged if judgement.reason})
    return page.substitute(
        title=escape(title),
        style=style,
        style_hash=_hash(style),
        script=script,
        script_hash=_hash(script),
        lead=f"{len(judged)} questions: {answerable} answerable, {len(judged) - answerable} not.",
        made_by=_made_by(evaluation),
        notes=_list(evaluation.notes, name="notes"),
        plots="\n".join(_plots(evaluation)),
        measures=_measures(evaluation.measures),
        passages=_passages(trials),
        absent=_list(unmeasured(evaluation), name="soft"),
        outcomes=_options((key, words) for key, words in OUTCOMES.items() if key in seen),
        reasons=_options((reason, reason) for reason in reasons),
        count=len(judged),
        rows="\n".join(map(_row, judged)),
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


def _hash(text: str) -> str:
    """Return the hash by which a content security policy allows an inline script or style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _made_by(evaluation: Evaluation) -> str:
    lines = [
        f"profile {origin.profile}, index {origin.index[:12]}, settings {origin.settings}"
        for origin in origins(evaluation)
    ]
    return f'<p class="soft">{escape("; ".join(lines))}</p>' if lines else ""


def _list(lines: Sequence[str], *, name: str) -> str:
    return f'<ul class="{name}">{"".join(f"<li>{escape(line)}</li>" for line in lines)}</ul>' if lines else ""


def _options(pairs: Iterable[tuple[str, str]]) -> str:
    return "".join(f'<option value="{escape(value)}">{escape(words)}</option>' for value, words in pairs)


def _plots(evaluation: Evaluation) -> Iterable[str]:
    found = {metric.key: metric.figure for metric in evaluation.measures}
    recalls = [(stage, found[f"recall_{stage}"]) for stage in STAGES if f"recall_{stage}" in found]
    given = [judgement for judgement in evaluation.judged if not judgement.abstained]
    wrong = sum(not judgement.right for judgement in given)
    operating = (len(given) / len(evaluation.judged), wrong / len(given)) if given else None
    yield _figure(risk_coverage_plot(evaluation.curve, operating), "Risk against coverage. The dot: as decided.")
    yield _figure(reliability_plot(evaluation.reliability), "Reliability. On the dashed line confidence is true.")
    right = [judgement.confidence for judgement in evaluation.judged if judgement.right]
    others = [judgement.confidence for judgement in evaluation.judged if not judgement.right]
    yield _figure(histogram_plot(right, others), "Confidence of right (above) and wrong (below).")
    if recalls:
        yield _figure(recall_plot(recalls), "Recall of gold by stage.")


def _figure(drawing: str, caption: str) -> str:
    return f"<figure>{drawing}<figcaption>{escape(caption)}</figcaption></figure>"


def _measures(measures: Sequence[MetricValue]) -> str:
    tables = []
    for group, members in groupby(measures, key=lambda metric: metric.group):
        rows = "".join(_measure_row(metric) for metric in members)
        head = '<th scope="col">measure</th>' + "".join(
            f'<th scope="col" class="number">{words}</th>' for words in ("value", "95% interval", "counted")
        )
        tables.append(
            f"<div><h3>{escape(GROUPS[group])}</h3><table><thead><tr>{head}</tr></thead>"
            f"<tbody>{rows}</tbody></table></div>"
        )
    return f'<div class="groups">{"".join(tables)}</div>'


def _measure_row(metric_value: MetricValue) -> str:
    value, ends = shown(metric_value.figure)
    hint = f" ({metric_value.better} is better)" if metric_value.better else ""
    cells = "".join(f'<td class="number">{cell}</td>' for cell in (value, ends, f"{metric_value.counted:,}"))
    return (
        f'<tr><th scope="row" title="{escape(metric_value.key + hint)}">{escape(metric_value.title)}</th>{cells}</tr>'
    )


def _row(judgement: Judgement) -> str:
    item = judgement.labelled
    ranks = first_ranks([quote.place for quote in judgement.quotes], item.gold)
    first = min((rank for rank in ranks if rank is not None), default=None)
    f1 = character_scores([quote.place for quote in judgement.quotes], item)[2]
    why = f"{judgement.reason}: {judgement.detail}" if judgement.reason else judgement.fault or ""
    withheld = '<span class="place">withheld or nearest</span>' if judgement.abstained and judgement.quotes else ""
    cells = [
        f"<td>{escape(item.question.id)}</td>",
        f'<td class="question">{escape(item.question.text)}</td>',
        f'<td class="outcome">{OUTCOMES[outcome_of(judgement)]}</td>',
        f'<td class="number" data-value="{judgement.confidence:.6f}">{judgement.confidence:.3f}</td>',
        f'<td class="number" data-value="{first or 999}">{first or "–"}</td>',
        f'<td class="number" data-value="{f1:.6f}">{f1:.2f}</td>',
        f'<td class="quotes">{withheld}{_ordered(_quote(quote, item.gold) for quote in judgement.quotes)}</td>',
        f'<td class="gold">{_ordered(map(_gold, item.gold))}</td>',
        f"<td>{escape(why)}</td>",
        f"<td>{escape(_found_at(judgement))}</td>",
    ]
    reason = f' data-reason="{escape(judgement.reason)}"' if judgement.reason else ""
    return f'<tr data-outcome="{outcome_of(judgement)}"{reason}>{"".join(cells)}</tr>'


def _ordered(entries: Iterable[str]) -> str:
    listed = "".join(f"<li>{entry}</li>" for entry in entries)
    return f"<ol>{listed}</ol>" if listed else ""


def _quote(quote: QuotedSentence, gold: Sequence[Gold]) -> str:
    place = f"{quote.doc_id}[{quote.start}:{quote.end}] score {quote.score:.3f}"
    return f'{_marked(quote, gold)}<span class="place">{escape(place)}</span>'


def _marked(quote: QuotedSentence, gold: Sequence[Gold]) -> str:
    """Return the quote as HTML with its gold characters in `<mark>`."""
    golden = [span for passage_gold in gold if passage_gold.doc_id == quote.doc_id for span in passage_gold.spans]
    kinds = [
        any(span.start <= offset < span.end for span in golden)
        for offset in range(quote.start, quote.start + len(quote.text))
    ]
    pieces = []
    for is_gold, run in groupby(zip(kinds, quote.text, strict=True), key=lambda pair: pair[0]):
        text = escape("".join(character for _, character in run))
        pieces.append(f"<mark>{text}</mark>" if is_gold else text)
    return "".join(pieces)


def _gold(gold: Gold) -> str:
    more = f", or {len(gold.alternatives)} other places" if gold.alternatives else ""
    place = f"{gold.doc_id}[{gold.span.start}:{gold.span.end}]{more}"
    return f'{escape(gold.text)}<span class="place">{escape(place)}</span>'


def _found_at(judgement: Judgement) -> str:
    """Return the best rank of any gold in each stage, as text."""
    if judgement.stages is None or not judgement.labelled.answerable:
        return ""
    best = {
        stage: min((rank for rank in ranks if rank is not None), default=None)
        for stage, ranks in judgement.stages.ranks.items()
    }
    return ", ".join(f"{stage} {rank or '–'}" for stage, rank in best.items())


def _passages(trials: Sequence[RetrievalTrial]) -> str:
    """Return the section on passages; empty when there are no trials."""
    if not trials:
        return ""
    return f"<h2>Passages</h2>{_together(trials)}<details><summary>Each question</summary>{_trials(trials)}</details>"


def _together(trials: Sequence[RetrievalTrial]) -> str:
    summary = summary_of([trial.quality for trial in trials])
    recall = _table(("recall of gold (answerable questions)", "value"), recall_rows(trials))
    statuses = _table(
        ("questions", "success", "low confidence", "no results"),
        ((kind, *map(str, counts.values())) for kind, counts in statuses_json(trials).items()),
    )
    quality = _table(("sign", "mean", "median", "on target", "red", "target"), quality_rows(summary))
    sources = _table(
        ("found by", "passages", "mean relevance"),
        (
            (source.replace("_", " "), f"{figures.count:,}", "–" if figures.mean is None else f"{figures.mean:.2f}")
            for source, figures in summary.sources.items()
        ),
    )
    return f'<div class="groups">{recall}{statuses}{quality}{sources}</div>'


def _trials(trials: Sequence[RetrievalTrial]) -> str:
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
