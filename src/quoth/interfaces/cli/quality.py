"""`quoth status --quality`: how good retrievals look, of a log or of a file of questions."""

from __future__ import annotations

from pathlib import Path

import typer
from rich.markup import escape
from rich.table import Table

from quoth.errors import QuestionError, SettingsError
from quoth.evaluation.passages_report import MEASURES
from quoth.interfaces.cli.progress import progress_bars
from quoth.interfaces.cli.terminal import OUT, one_line
from quoth.interfaces.python import Quoth
from quoth.quality import Grade, Measure, Quality, QualitySummary, quality_json, quality_of, summary_json, summary_of
from quoth.questions import UnreadableLine, read_questions
from quoth.render import json_line
from quoth.wiring import open_query_log

_COLOURS = {Grade.TARGET: "green", Grade.OK: "default", Grade.RED: "red"}


def report(quoth: Quoth, questions: Path | None, since: str | None, *, as_json: bool, quiet: bool) -> None:
    """Print each question's signs, and all of them together."""
    found, faults = (_logged(quoth, since), []) if questions is None else _retrieved(quoth, questions, quiet=quiet)
    summary = summary_of([one for _, one in found])
    if as_json:
        each = [{"question": question} | quality_json(one) for question, one in found]
        typer.echo(json_line({"summary": summary_json(summary), "questions": each}))
    else:
        _print_each(found)
        print_summary(summary)
    for fault in faults:
        typer.secho(fault, err=True, fg="yellow")
    if faults:
        raise typer.Exit(1)


def _logged(quoth: Quoth, since: str | None) -> list[tuple[str, Quality]]:
    log = open_query_log(quoth.settings())
    if log is None:
        raise SettingsError(
            "there is no query log to read: the setting log.queries is not set",
            hint="Set it, e.g. QUOTH_LOG_QUERIES=queries.db, and retrieve; or give a file with --questions.",
        )
    return [(entry.question, entry.quality) for entry in log.entries(since, None)]


def _retrieved(quoth: Quoth, path: Path, *, quiet: bool) -> tuple[list[tuple[str, Quality]], list[str]]:
    """Each question with its signs, and what is wrong with those that cannot be read or asked."""
    try:
        lines = path.read_bytes().decode("utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise QuestionError(f"cannot read {path}: {error}", hint="Give a UTF-8 file of questions.") from error
    asked = list(read_questions(lines))
    if not asked:
        raise QuestionError(f"{path} holds no question", hint="Give one a line, or JSONL.")
    found, faults = [], []
    with progress_bars(quiet=quiet) as progress:
        for number, question in enumerate(asked, 1):
            if isinstance(question, UnreadableLine):
                faults.append(f"line {question.number}: {question.why}")
                continue
            try:
                found.append((question.text, quality_of(quoth.retrieve(question))))
            except QuestionError as error:
                faults.append(f"question {question.id}: {error}")
            if progress is not None:
                progress("retrieving", number, len(asked))
    return found, faults


def _print_each(found: list[tuple[str, Quality]]) -> None:
    table = Table("top 1", "above 0.6", "text only", "vector only", "status", "question", box=None, pad_edge=False)
    for question, quality in found:
        cells = [
            f"[{_COLOURS[quality.grade(measure)]}]{quality.value(measure):.{2 if measure is Measure.TOP1 else 0}f}[/]"
            for measure in Measure
        ]
        table.add_row(*cells, quality.status.value, escape(one_line(question)[:70]))
    OUT.print(table)


def print_summary(summary: QualitySummary) -> None:
    OUT.print(f"\n[bold]{summary.queries} retrievals[/bold]")
    table = Table("measure", "mean", "median", "on target", "red", "target", box=None, pad_edge=False)
    for measure, one in summary.measures.items():
        title, target = MEASURES[measure]
        table.add_row(title, f"{one.mean:.2f}", f"{one.median:.2f}", f"{one.on_target:.0%}", f"{one.red:.0%}", target)
    OUT.print(table)
    for source, tally in summary.sources.items():
        mean = "-" if tally.mean is None else f"{tally.mean:.2f}"
        OUT.print(f"found by {source.replace('_', ' '):<10} {tally.count:>6} passages, mean relevance {mean}")
    OUT.print(", ".join(f"{status} {count}" for status, count in summary.statuses.items()))
    if summary.degraded:
        OUT.print(f"{summary.degraded} lacked a part")
