"""The report: one HTML file that needs nothing else, with plots and a table of every question.

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

from quoth.evaluation.evaluate import Evaluation, Figure, Measured
from quoth.evaluation.overlap import character_scores, first_ranks
from quoth.evaluation.passages import Trial
from quoth.evaluation.passages_report import passages_html
from quoth.evaluation.plots import histogram_plot, recall_plot, reliability_plot, risk_coverage_plot
from quoth.evaluation.questions import Gold
from quoth.evaluation.run import Judged, Quoted
from quoth.evaluation.saved import origins
from quoth.evaluation.stages import STAGES

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
_HEADINGS = (
    ("Id", ""),
    ("Question", "question"),
    ("Outcome", "outcome"),
    ("Confidence", "number"),
    ("First gold", "number"),
    ("F1", "number"),
    ("Quotes", "quotes"),
    ("Gold", "gold"),
    ("Reason", ""),
    ("Found at rank", ""),
)


def report_html(evaluation: Evaluation, *, title: str, trials: Sequence[Trial]) -> str:
    """The whole page, with a section on passages where `trials` were made; the same values give the same bytes."""
    style, script = (files("quoth.evaluation").joinpath(f"report.{kind}").read_text("utf-8") for kind in ("css", "js"))
    page = Template(files("quoth.evaluation").joinpath("report.html").read_text("utf-8"))
    judged = evaluation.judged
    seen = {outcome_of(one) for one in judged}
    reasons = sorted({one.reason for one in judged if one.reason})
    return page.substitute(
        title=escape(title),
        style=style,
        style_hash=_hash(style),
        script=script,
        script_hash=_hash(script),
        lead=_lead(evaluation),
        made_by=_made_by(evaluation),
        notes=_list(evaluation.notes, name="notes"),
        plots="\n".join(_plots(evaluation)),
        measures=_measures(evaluation.measures),
        passages=passages_html(trials),
        absent=_list(unmeasured(evaluation), name="soft"),
        outcomes=_options((key, words) for key, words in OUTCOMES.items() if key in seen),
        reasons=_options((reason, reason) for reason in reasons),
        count=len(judged),
        headings="".join(_heading(words, name) for words, name in _HEADINGS),
        rows="\n".join(map(_row, judged)),
    )


def outcome_of(one: Judged) -> str:
    """What came of a question, as a key of `OUTCOMES`."""
    if one.fault is not None:
        return "fault"
    if one.abstained:
        return "missed" if one.labelled.answerable else "declined"
    if not one.labelled.answerable:
        return "false"
    return "right" if one.right else "wrong"


def shown(figure: Figure) -> tuple[str, str]:
    """The value and its interval for people; a dash where it is undefined."""
    if figure.value is None:
        return "–", ""
    ends = "" if figure.low is None or figure.high is None else f"{figure.low:.3f} to {figure.high:.3f}"
    return f"{figure.value:.3f}", ends


def unmeasured(evaluation: Evaluation) -> list[str]:
    """A line for each reason why something could not be measured."""
    reasons = dict.fromkeys(why for _, why in evaluation.absent)
    keys = {why: [key for key, other in evaluation.absent if other == why] for why in reasons}
    return [f"not measured: {', '.join(named)} ({why})" for why, named in keys.items()]


def _hash(text: str) -> str:
    """As a content security policy names an inline script or style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _lead(evaluation: Evaluation) -> str:
    answerable = sum(one.labelled.answerable for one in evaluation.judged)
    count = len(evaluation.judged)
    return f"{count} questions: {answerable} answerable, {count - answerable} not."


def _made_by(evaluation: Evaluation) -> str:
    lines = [f"profile {one.profile}, index {one.index[:12]}, settings {one.settings}" for one in origins(evaluation)]
    return f'<p class="soft">{escape("; ".join(lines))}</p>' if lines else ""


def _list(lines: Sequence[str], *, name: str) -> str:
    return f'<ul class="{name}">{"".join(f"<li>{escape(line)}</li>" for line in lines)}</ul>' if lines else ""


def _options(pairs: Iterable[tuple[str, str]]) -> str:
    return "".join(f'<option value="{escape(value)}">{escape(words)}</option>' for value, words in pairs)


def _plots(evaluation: Evaluation) -> Iterable[str]:
    found = {one.key: one.figure for one in evaluation.measures}
    recalls = [(stage, found[f"recall_{stage}"]) for stage in STAGES if f"recall_{stage}" in found]
    given = [one for one in evaluation.judged if not one.abstained]
    wrong = sum(not one.right for one in given)
    operating = (len(given) / len(evaluation.judged), wrong / len(given)) if given else None
    yield _figure(risk_coverage_plot(evaluation.curve, operating), "Risk against coverage. The dot: as decided.")
    yield _figure(reliability_plot(evaluation.reliability), "Reliability. On the dashed line confidence is true.")
    right = [one.confidence for one in evaluation.judged if one.right]
    others = [one.confidence for one in evaluation.judged if not one.right]
    yield _figure(histogram_plot(right, others), "Confidence of right (above) and wrong (below).")
    if recalls:
        yield _figure(recall_plot(recalls), "Recall of gold by stage.")


def _figure(drawing: str, caption: str) -> str:
    return f"<figure>{drawing}<figcaption>{escape(caption)}</figcaption></figure>"


def _measures(measures: Sequence[Measured]) -> str:
    tables = []
    for group, members in groupby(measures, key=lambda one: one.group):
        rows = "".join(_measure_row(one) for one in members)
        head = '<th scope="col">measure</th>' + "".join(
            f'<th scope="col" class="number">{words}</th>' for words in ("value", "95% interval", "counted")
        )
        tables.append(
            f"<div><h3>{escape(GROUPS[group])}</h3><table><thead><tr>{head}</tr></thead>"
            f"<tbody>{rows}</tbody></table></div>"
        )
    return f'<div class="groups">{"".join(tables)}</div>'


def _measure_row(one: Measured) -> str:
    value, ends = shown(one.figure)
    hint = f" ({one.better} is better)" if one.better else ""
    cells = "".join(f'<td class="number">{cell}</td>' for cell in (value, ends, f"{one.counted:,}"))
    return f'<tr><th scope="row" title="{escape(one.key + hint)}">{escape(one.title)}</th>{cells}</tr>'


def _heading(words: str, name: str) -> str:
    return f'<th scope="col" class="{name}"><button type="button">{words}</button></th>'


def _row(one: Judged) -> str:
    item = one.labelled
    ranks = first_ranks([quote.place for quote in one.quotes], item.gold)
    first = min((rank for rank in ranks if rank is not None), default=None)
    f1 = character_scores([quote.place for quote in one.quotes], item)[2]
    why = f"{one.reason}: {one.detail}" if one.reason else one.fault or ""
    withheld = '<span class="place">withheld or nearest</span>' if one.abstained and one.quotes else ""
    cells = [
        f"<td>{escape(item.question.id)}</td>",
        f'<td class="question">{escape(item.question.text)}</td>',
        f'<td class="outcome">{OUTCOMES[outcome_of(one)]}</td>',
        f'<td class="number" data-value="{one.confidence:.6f}">{one.confidence:.3f}</td>',
        f'<td class="number" data-value="{first or 999}">{first or "–"}</td>',
        f'<td class="number" data-value="{f1:.6f}">{f1:.2f}</td>',
        f'<td class="quotes">{withheld}{_ordered(_quote(quote, item.gold) for quote in one.quotes)}</td>',
        f'<td class="gold">{_ordered(map(_gold, item.gold))}</td>',
        f"<td>{escape(why)}</td>",
        f"<td>{escape(_found_at(one))}</td>",
    ]
    reason = f' data-reason="{escape(one.reason)}"' if one.reason else ""
    return f'<tr data-outcome="{outcome_of(one)}"{reason}>{"".join(cells)}</tr>'


def _ordered(entries: Iterable[str]) -> str:
    listed = "".join(f"<li>{entry}</li>" for entry in entries)
    return f"<ol>{listed}</ol>" if listed else ""


def _quote(quote: Quoted, gold: Sequence[Gold]) -> str:
    place = f"{quote.doc_id}[{quote.span.start}:{quote.span.end}] score {quote.score:.3f}"
    return f'{_marked(quote, gold)}<span class="place">{escape(place)}</span>'


def _marked(quote: Quoted, gold: Sequence[Gold]) -> str:
    """The quote with the characters that are gold marked."""
    golden = [span for one in gold if one.doc_id == quote.doc_id for span in one.spans]
    kinds = [
        any(span.start <= offset < span.end for span in golden)
        for offset in range(quote.span.start, quote.span.start + len(quote.text))
    ]
    pieces = []
    for is_gold, run in groupby(zip(kinds, quote.text, strict=True), key=lambda one: one[0]):
        text = escape("".join(character for _, character in run))
        pieces.append(f"<mark>{text}</mark>" if is_gold else text)
    return "".join(pieces)


def _gold(one: Gold) -> str:
    more = f", or {len(one.alternatives)} other places" if one.alternatives else ""
    place = f"{one.doc_id}[{one.span.start}:{one.span.end}]{more}"
    return f'{escape(one.text)}<span class="place">{escape(place)}</span>'


def _found_at(one: Judged) -> str:
    """The best rank of any gold in each stage."""
    if one.stages is None or not one.labelled.answerable:
        return ""
    best = {
        stage: min((rank for rank in ranks if rank is not None), default=None)
        for stage, ranks in one.stages.ranks.items()
    }
    return ", ".join(f"{stage} {rank or '–'}" for stage, rank in best.items())
