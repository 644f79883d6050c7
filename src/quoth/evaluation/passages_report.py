"""The part of the report on passages: recall, statuses, and the signs of quality, together and one by one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from quoth.evaluation.passages import Trial, recall_json, statuses_json
from quoth.quality import Grade, Measure, Quality, summary_of

MEASURES = {
    Measure.TOP1: ("relevance of the first passage", "above 0.75; below 0.5 is red"),
    Measure.RELEVANT: ("passages above 0.6", "3 or more; 0 or 1 is red"),
    Measure.FULL_TEXT_ONLY: ("found by full text alone, of the first 5", "1 or 2; 0 or 5 is red"),
    Measure.VECTOR_ONLY: ("found by vector alone, of the first 5", "2 or 3; 0 or 5 is red"),
}
"""What each measure is, and what is aimed at."""


def passages_html(trials: Sequence[Trial]) -> str:
    """A section of the report; empty when nothing was retrieved."""
    if not trials:
        return ""
    return f"<h2>Passages</h2>{_together(trials)}<details><summary>Each question</summary>{_each(trials)}</details>"


def _together(trials: Sequence[Trial]) -> str:
    summary = summary_of([one.quality for one in trials])
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
            (title, f"{one.mean:.2f}", f"{one.median:.2f}", f"{one.on_target:.0%}", f"{one.red:.0%}", target)
            for key, one in summary.measures.items()
            for title, target in [MEASURES[key]]
        ),
    )
    sources = _table(
        ("found by", "passages", "mean relevance"),
        (
            (source.replace("_", " "), f"{one.count:,}", "–" if one.mean is None else f"{one.mean:.2f}")
            for source, one in summary.sources.items()
        ),
    )
    return f'<div class="groups">{recall}{statuses}{quality}{sources}</div>'


def _each(trials: Sequence[Trial]) -> str:
    return _table(
        ("id", "question", "status", "top 1", "above 0.6", "text only", "vector only", "rank of gold", "red flags"),
        (
            (
                one.item.question.id,
                one.item.question.text,
                one.status.value,
                *(_sign(one.quality, measure) for measure in Measure),
                ", ".join("–" if rank is None else str(rank) for rank in one.ranks),
                ", ".join(one.quality.flags),
            )
            for one in trials
        ),
    )


def _sign(quality: Quality, measure: Measure) -> str:
    value = quality.value(measure)
    shown = f"{value:.2f}" if measure is Measure.TOP1 else f"{value:.0f}"
    return f"{shown} (red)" if quality.grade(measure) is Grade.RED else shown


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col">{escape(one)}</th>' for one in headings)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<div><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
