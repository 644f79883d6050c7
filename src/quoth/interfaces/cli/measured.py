"""Evaluations and comparisons for people at a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rich.markup import escape
from rich.table import Table

from quoth.evaluation.compare import SIGNIFICANT, Comparison, Difference
from quoth.evaluation.evaluate import Evaluation
from quoth.evaluation.passages import Trial, recall_json, statuses_json
from quoth.evaluation.report import GROUPS, shown, unmeasured
from quoth.interfaces.cli.quality import print_summary
from quoth.interfaces.cli.terminal import OUT, one_line
from quoth.quality import summary_of

WIDE = 104
"""Columns that the whole table of a comparison takes."""


def print_evaluation(evaluation: Evaluation) -> None:
    """Every measure with its interval, then what could not be measured and what else a reader must know."""
    answerable = sum(one.labelled.answerable for one in evaluation.judged)
    count = len(evaluation.judged)
    OUT.print(f"[bold]{count} questions[/bold]: {answerable} answerable, {count - answerable} not")
    table = _table("", "value", "95% interval", "counted")
    for group, members in groupby(evaluation.measures, key=lambda one: one.group):
        _section(table, GROUPS[group])
        for one in members:
            value, ends = shown(one.figure)
            table.add_row(f"  {one.title}", value, ends, f"{one.counted:,}")
    OUT.print(table)
    _remarks(unmeasured(evaluation))
    _remarks(evaluation.notes)


def print_passages(trials: Sequence[Trial]) -> None:
    """What retrieval came to on the same questions; nothing when it was not asked for."""
    if not trials:
        return
    table = _table("Passages", "value")
    for name, value in recall_json(trials).items():
        table.add_row(f"  {name.replace('_', ' ')}", "–" if value is None else f"{value:.3f}")
    OUT.print(table)
    for kind, counts in statuses_json(trials).items():
        OUT.print(f"  {kind}: " + ", ".join(f"{status} {count}" for status, count in counts.items()))
    print_summary(summary_of([one.quality for one in trials]))


def print_comparison(comparison: Comparison, *, names: tuple[str, str]) -> None:
    """Every measure of both runs with its paired difference; a star where chance would hardly do."""
    for letter, name in zip("AB", names, strict=True):
        OUT.print(f"{letter}  {escape(one_line(name))}")
    OUT.print(f"[bold]{comparison.questions} questions[/bold]; * means that p is below {SIGNIFICANT}")
    columns = ("A", "B", "B - A", "95% interval", "p", "A:B", "sign p")
    wide = OUT.width >= WIDE
    table = _table("", *(columns if wide else columns[:-2]))
    for group, members in groupby(comparison.differences, key=lambda one: one.group):
        _section(table, GROUPS[group])
        for one in members:
            cells = _cells(one)
            table.add_row(f"  {one.title}", *(cells if wide else cells[:-2]))
    OUT.print(table)
    if wide:
        OUT.print("A:B counts the questions on which each alone does better; sign p is exact (McNemar's where binary).")
    else:
        OUT.print("A wider terminal, or --json, shows the sign test of each measure as well.")
    for letter, ids in (("A", comparison.only_first), ("B", comparison.only_second)):
        if ids:
            OUT.print(f"only in {letter}, so wrong in the other: {escape(one_line(', '.join(ids)))}")
    if comparison.not_compared:
        OUT.print(f"only one run has: {', '.join(comparison.not_compared)}")


def _cells(one: Difference) -> list[str]:
    value, ends = shown(one.difference)
    sign = f"+{value}" if (one.difference.value or 0) > 0 else value
    split = [f"{one.sign.first}:{one.sign.second}", f"{one.sign.p:.3f}"] if one.sign else ["", ""]
    p = "" if one.p is None else f"{one.p:.3f}"
    return [_number(one.first), _number(one.second), sign, ends, p + ("*" if one.verdict else " "), *split]


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _table(first: str, *others: str) -> Table:
    table = Table(box=None, pad_edge=False, show_header=True)
    table.add_column(first, no_wrap=True)
    for name in others:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _section(table: Table, title: str) -> None:
    # Shortened to its first part: the columns of a terminal are few.
    table.add_row(f"[bold]{title.partition(' (')[0]}[/bold]")


def _remarks(lines: Sequence[str]) -> None:
    for line in lines:
        OUT.print(f"[dim]note: {escape(one_line(line))}[/dim]")
