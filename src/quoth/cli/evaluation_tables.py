"""Evaluations, comparisons, calibrations, fits and `quoth status --quality` for people at a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

import typer
from rich.markup import escape
from rich.table import Table

from quoth.cli import options
from quoth.cli.terminal import OUT, plain, print_table
from quoth.errors import QuestionError, SettingsError
from quoth.evaluation.calibrate import Calibration
from quoth.evaluation.certification import ThresholdTest
from quoth.evaluation.compare import SIGNIFICANT, Comparison, Difference
from quoth.evaluation.evaluate import Evaluation
from quoth.evaluation.fit_evidence import EvidenceFit
from quoth.evaluation.fit_quality import FOLDS, HeldOut
from quoth.evaluation.labelled_questions import reporting
from quoth.evaluation.report import GROUPS, shown, unmeasured
from quoth.evaluation.retrieval_trials import RetrievalTrial, quality_rows, recall_rows, statuses_json
from quoth.language.display import one_line
from quoth.library import Quoth
from quoth.output.render import json_line
from quoth.passages import quality as measured
from quoth.passages.quality import Grade, Quality, QualityMeasure, QualitySummary
from quoth.search.logistic import INTERCEPT, Logistic
from quoth.search.question_files import UnreadableLine, read_questions
from quoth.wiring import open_query_log

WIDE = 104
"""The columns of a terminal that the full table of a comparison needs."""


def print_evaluation(evaluation: Evaluation) -> None:
    """Print every metric with its interval, then the missing metrics and the notes."""
    answerable = sum(judgement.labelled.answerable for judgement in evaluation.judged)
    count = len(evaluation.judged)
    OUT.print(f"[bold]{count} questions[/bold]: {answerable} answerable, {count - answerable} not")
    table = _table("", "value", "95% interval", "counted")
    for group, members in groupby(evaluation.measures, key=lambda metric: metric.group):
        _section(table, GROUPS[group])
        for metric in members:
            value, ends = shown(metric.figure)
            table.add_row(f"  {metric.title}", value, ends, f"{metric.counted:,}")
    OUT.print(table)
    _remarks(unmeasured(evaluation))
    _remarks(evaluation.notes)


def print_passages(trials: Sequence[RetrievalTrial]) -> None:
    """Print recall, statuses and quality of the retrievals; nothing without trials."""
    if not trials:
        return
    table = _table("Passages", "value")
    for name, value in recall_rows(trials):
        table.add_row(f"  {name}", value)
    OUT.print(table)
    for kind, counts in statuses_json(trials).items():
        OUT.print(f"  {kind}: " + ", ".join(f"{status} {count}" for status, count in counts.items()))
    print_summary(measured.summary_of([trial.quality for trial in trials]))


def print_comparison(comparison: Comparison, *, names: tuple[str, str]) -> None:
    """Print every metric of both runs with its paired difference; a star marks a significant one."""
    for letter, name in zip("AB", names, strict=True):
        OUT.print(f"{letter}  {plain(name)}")
    OUT.print(f"[bold]{comparison.questions} questions[/bold]; * means that p is below {SIGNIFICANT}")
    columns = ("A", "B", "B - A", "95% interval", "p", "A:B", "sign p")
    wide = OUT.width >= WIDE
    table = _table("", *(columns if wide else columns[:-2]))
    for group, members in groupby(comparison.differences, key=lambda difference: difference.group):
        _section(table, GROUPS[group])
        for metric in members:
            cells = _cells(metric)
            table.add_row(f"  {metric.title}", *(cells if wide else cells[:-2]))
    OUT.print(table)
    if wide:
        OUT.print("A:B counts the questions on which each alone does better; sign p is exact (McNemar's where binary).")
    else:
        OUT.print("A wider terminal, or --json, shows the sign test of each measure as well.")
    for letter, ids in (("A", comparison.only_first), ("B", comparison.only_second)):
        if ids:
            OUT.print(f"only in {letter}, so wrong in the other: {plain(', '.join(ids))}")
    if comparison.not_compared:
        OUT.print(f"only one run has: {', '.join(comparison.not_compared)}")


def _cells(difference: Difference) -> list[str]:
    value, ends = shown(difference.difference)
    signed = f"+{value}" if (difference.difference.value or 0) > 0 else value
    p = ("" if difference.p is None else f"{difference.p:.3f}") + ("*" if difference.verdict else " ")
    test = difference.sign_test
    split = [f"{test.first}:{test.second}", f"{test.p:.3f}"] if test else ["", ""]
    return [_number(difference.first), _number(difference.second), signed, ends, p, *split]


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _table(first: str, *others: str) -> Table:
    table = Table(box=None, pad_edge=False, show_header=True)
    table.add_column(first, no_wrap=True)
    for name in others:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _section(table: Table, title: str) -> None:
    # Only the text before the bracket: a terminal has few columns.
    table.add_row(f"[bold]{title.partition(' (')[0]}[/bold]")


def _remarks(lines: Sequence[str]) -> None:
    for line in lines:
        OUT.print(f"[dim]note: {plain(line)}[/dim]")


_COLOURS = {Grade.TARGET: "green", Grade.OK: "default", Grade.RED: "red"}


def report(quoth: Quoth, questions: Path | None, since: str | None, *, as_json: bool, quiet: bool) -> None:
    """Print the quality measures of each question, and a summary."""
    found, faults = (_logged(quoth, since), []) if questions is None else _retrieved(quoth, questions, quiet=quiet)
    summary = measured.summary_of([quality for _, quality in found])
    if as_json:
        each = [{"question": question} | measured.quality_json(quality) for question, quality in found]
        typer.echo(json_line({"summary": measured.summary_json(summary), "questions": each}))
    else:
        _print_each(found)
        print_summary(summary)
    options.exit_after(faults)


def _logged(quoth: Quoth, since: str | None) -> list[tuple[str, Quality]]:
    log = open_query_log(quoth.settings())
    if log is None:
        raise SettingsError(
            "there is no query log to read: the setting log.queries is not set",
            hint="Set it, e.g. QUOTH_LOG_QUERIES=queries.db, and retrieve; or give a file with --questions.",
        )
    return [(entry.question, entry.quality) for entry in log.entries(since, None)]


def _retrieved(quoth: Quoth, path: Path, *, quiet: bool) -> tuple[list[tuple[str, Quality]], list[str]]:
    """Return each question with its quality, and a message for each that cannot be read or asked."""
    try:
        lines = path.read_bytes().decode("utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise QuestionError(f"cannot read {path}: {error}", hint="Give a UTF-8 file of questions.") from error
    asked = list(read_questions(lines))
    if not asked:
        raise QuestionError(f"{path} holds no question", hint="Give one a line, or JSONL.")
    found, faults = [], []
    with options.progress_bars(quiet=quiet) as progress:
        for question in reporting(asked, "retrieving", progress):
            if isinstance(question, UnreadableLine):
                faults.append(f"line {question.number}: {question.why}")
                continue
            try:
                found.append((question.text, measured.quality_of(quoth.retrieve(question))))
            except QuestionError as error:
                faults.append(f"question {question.id}: {error}")
    return found, faults


def _print_each(found: list[tuple[str, Quality]]) -> None:
    rows = []
    for question, quality in found:
        cells = [
            f"[{_COLOURS[quality.grade(each)]}]{quality.value(each):.{2 if each is QualityMeasure.TOP1 else 0}f}[/]"
            for each in QualityMeasure
        ]
        rows.append((*cells, quality.status.value, escape(one_line(question)[:70])))
    print_table(("top 1", "above 0.6", "text only", "vector only", "status", "question"), rows)


def print_summary(summary: QualitySummary) -> None:
    OUT.print(f"\n[bold]{summary.queries} retrievals[/bold]")
    print_table(("measure", "mean", "median", "on target", "red", "target"), quality_rows(summary))
    for source, tally in summary.sources.items():
        mean = "-" if tally.mean is None else f"{tally.mean:.2f}"
        OUT.print(f"found by {source.replace('_', ' '):<10} {tally.count:>6} passages, mean relevance {mean}")
    OUT.print(", ".join(f"{status} {count}" for status, count in summary.statuses.items()))
    if summary.degraded:
        OUT.print(f"{summary.degraded} lacked a part")


_EVERY = 5
"""Print every fifth threshold, and the certified one."""


def print_calibration(calibration: Calibration, *, written: Path | None) -> None:
    """Print the thresholds with their counts, and the promise of the certified one."""
    print_table(("threshold", "answered", "wrong", "at most wrong", ""), map(_step, _shown(calibration)))
    promise, best = calibration.certification, calibration.certification.best
    if best is None:
        return
    OUT.print(
        f"\nFrom {best.threshold:.2f} on, {best.answered} of {calibration.questions} questions are answered, "
        f"{best.wrong} of them wrongly."
    )
    OUT.print(
        f"With confidence {promise.confidence:g}, at most {promise.risk:.1%} of the answers to questions like these "
        "are wrong."
    )
    OUT.print(f"Written to {escape(str(written))}." if written else "Nothing was written.")


def _shown(calibration: Calibration) -> Iterator[ThresholdTest]:
    """Yield every fifth threshold, starting at the first that answers anything, and the certified one."""
    for number, step in enumerate(calibration.certification.steps, 1):
        if step == calibration.certification.best or (step.answered and number % _EVERY == 0):
            yield step


def _step(step: ThresholdTest) -> tuple[str, ...]:
    bound = step.bound
    share = f"{bound:.1%}" if bound < 1 else "-"
    result = "certified" if step.certified else "not certified" if step.tested else "not tested"
    return f"{step.threshold:.2f}", str(step.answered), str(step.wrong), share, result


WEIGHTS_IN_WORDS = {
    INTERCEPT: "log odds to begin with",
    "late": "words of like meaning",
    "lexical": "the same words",
    "cosine": "the meaning as a whole",
    "reader": "the reader's judgement",
    "support": "the best sentence",
    "gap": "its lead over the next",
    "agreement": "the next two",
    "coverage": "words of the question found",
    "missing": "names and numbers not found",
    "unknown": "names that no source mentions",
    "unstated": "amounts that no source states",
    "unspoken": "units that no evidence uses",
    "unused": "words that the corpus never uses",
    "opposed": "words whose opposite the evidence has",
    "absent": "share of words that the corpus never uses",
    "apart": "share of words that the best documents never use",
}
_SAME = 0.1
"""A weight that changes by less than this share of itself counts the same."""


def print_fit(fitted: EvidenceFit, *, written: Path | None) -> None:
    """Print how well both models predict held-out questions, and what became of each weight."""
    unanswerable = fitted.questions - fitted.answerable
    OUT.print(f"[bold]{fitted.questions} questions[/bold]: {fitted.answerable} answerable, {unanswerable} not")
    OUT.print(f"Held out in {FOLDS} folds by {fitted.grouped_by}:\n")
    table = _table("", "in force", "fitted", "")
    for name, held_out in fitted.models.items():
        _add_held_out(table, f"Probabilities of {name}", held_out)
    _section(table, "Decisions")
    table.add_row("  decided well (higher is better)", *(f"{share:.3f}" for share in fitted.well))
    OUT.print(table)
    weights = _table("Weights", "in force", "fitted")
    weights.add_column()
    if fitted.sentences:
        _add_weights(weights, "Of a sentence", fitted.in_force.sentence, fitted.sentence)
    _add_weights(weights, "Of an answer", fitted.in_force.answer, fitted.answer)
    OUT.print()
    OUT.print(weights)
    if not fitted.sentences:
        OUT.print("\nThe weights of a sentence stay: with fitted ones the check fails.")
    if fitted.better:
        OUT.print(f"\nWritten to {escape(str(written))}." if written else "\nNothing was written.")


def _add_held_out(table: Table, title: str, held_out: HeldOut) -> None:
    _section(table, title)
    before, after = held_out.in_force, held_out.fitted
    losses = f"{before.log_loss:.3f}", f"{after.log_loss:.3f}", f"± {held_out.margin:.3f}"
    table.add_row("  log loss (lower is better)", *losses)
    table.add_row("  AUROC (higher is better)", _number(before.auroc), _number(after.auroc))
    errors = before.calibration_error, after.calibration_error
    table.add_row("  calibration error (lower is better)", *(f"{error:.3f}" for error in errors))


def _add_weights(table: Table, title: str, before: Logistic, after: Logistic) -> None:
    _section(table, title)
    table.add_row(f"  {INTERCEPT}", f"{before.intercept:.2f}", f"{after.intercept:.2f}", WEIGHTS_IN_WORDS[INTERCEPT])
    for name in dict.fromkeys((*before.weights, *after.weights)):
        old, new = before.weights.get(name, 0.0), after.weights.get(name, 0.0)
        table.add_row(f"  {name}", f"{old:.2f}", f"{new:.2f}", f"{WEIGHTS_IN_WORDS[name]}: {_change(old, new)}")


def _change(old: float, new: float) -> str:
    if not old or not new:
        return "counts now" if new else "no longer counts"
    if abs(new - old) < _SAME * abs(old):
        return "counts the same"
    return "counts more" if abs(new) > abs(old) else "counts less"
