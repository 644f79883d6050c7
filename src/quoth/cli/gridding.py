"""`quoth grid` and `compare-documents`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from quoth.cli import options
from quoth.errors import QuestionError, QuothError
from quoth.grid.compare_versions import change_json, compare_versions, version_named
from quoth.grid.grid_cells import check_question, plan_grid
from quoth.grid.run_grid import make_grid
from quoth.grid.write_grid import format_of
from quoth.library import Quoth
from quoth.machine import available_cores
from quoth.output.render import json_line
from quoth.search.question_files import UnreadableLine, read_questions
from quoth.types import Question

Workers = Annotated[
    int | None, typer.Option(min=1, help="Questions answered at the same time; as many as cores if absent.")
]


def grid(
    questions: options.Questions,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where to write: a name in .html, .csv, .xlsx or .jsonl.")
    ],
    docs: Annotated[
        list[str] | None,
        typer.Option(
            "--docs",
            metavar="ID",
            help="Ask this document, or those that a glob such as `papers/*.pdf` names; repeatable. All if absent.",
            autocompletion=options.complete_doc_id,
        ),
    ] = None,
    document_type: Annotated[
        list[str] | None, typer.Option("--type", metavar="TYPE", help="Ask only documents of this type; repeatable.")
    ] = None,
    index: options.Index = options.DEFAULT_INDEX,
    workers: Workers = None,
    answer: options.Preset = None,
    config: options.Config = None,
    assignments: options.Assignments = None,
    quiet: options.Quiet = False,
) -> None:
    """Ask each question of each document: a table with a row for each document and a column for each question.

    A cell is the best quote with its place, or `not stated` with the nearest miss. After Ctrl-C or a crash, the same
    command goes on where it was; the finished cells are in a file beside the output, named like it with `.part`.

    Example: `quoth grid questions.txt --docs 'papers/*.pdf' -o grid.html`
    """
    format_of(output)
    options.check_output(output, questions=questions)
    quoth = _open(index, config, assignments, answer)
    asked, problems = _questions(quoth, questions)
    plan = plan_grid(quoth, asked, docs=docs or (), document_types=document_type or ())
    with (
        options.interruptible("the finished cells are kept; run the same command to go on"),
        options.progress_bars(quiet=quiet) as progress,
    ):
        made = make_grid(quoth, plan, output, workers=workers or available_cores(), tell=_tell, progress=progress)
    counts = Counter(line["cell"] for line in made.lines)
    if not quiet:
        told = ", ".join(f"{count:,} {kind}" for kind, count in sorted(counts.items(), reverse=True))
        typer.echo(f"{output}: {len(plan.documents):,} documents x {len(plan.questions):,} questions, {told}", err=True)
    options.exit_after(problems)


def _open(index: str, config: Path | None, assignments: Sequence[str] | None, answer: str | None) -> Quoth:
    # Each worker embeds its own question: one thread for each uses the cores best, unless the user decides.
    given = ["embedding.threads=1", *options.with_preset(assignments, answer)]
    quoth = options.open_quoth(index, config=config, assignments=given)
    quoth.prepare()
    return quoth


def _questions(quoth: Quoth, source: str) -> tuple[list[Question], list[str]]:
    """Return the questions of a file that can be asked, and a message for each that cannot."""
    asked, problems = [], []
    with options.lines_of(source) as lines:
        for question in read_questions(lines):
            if isinstance(question, UnreadableLine):
                problems.append(f"line {question.number}: {question.why}")
                continue
            try:
                check_question(quoth, question)
                asked.append(question)
            except QuestionError as error:
                problems.append(f"question {question.id}: {error}")
    if not asked and problems:
        raise QuothError(f"{source} holds no question that can be asked", hint=problems[0])
    return asked, problems


def _tell(message: str) -> None:
    typer.echo(message, err=True)


def compare_documents(
    a: Annotated[str, typer.Argument(help="One version: its id, or a glob.", autocompletion=options.complete_doc_id)],
    b: Annotated[str, typer.Argument(help="The other version.", autocompletion=options.complete_doc_id)],
    questions: options.Questions,
    index: options.Index = options.DEFAULT_INDEX,
    as_json: options.AsJson = False,
    workers: Workers = None,
    answer: options.Preset = None,
    config: options.Config = None,
    assignments: options.Assignments = None,
    quiet: options.Quiet = False,
) -> None:
    """Ask two versions of a document the same questions, and show what is the same, what changed, and what one lacks.

    A change is shown word by word: `[-what A said-]` and `{+what B says+}`.

    Example: `quoth compare-documents lease-2023.pdf lease-2024.pdf questions.txt`
    """
    quoth = _open(index, config, assignments, answer)
    first, second = (version_named(quoth, pattern).id for pattern in (a, b))
    asked, problems = _questions(quoth, questions)
    with options.interruptible("nothing is written"), options.progress_bars(quiet=quiet) as progress:
        changes = list(
            compare_versions(quoth, first, second, asked, workers=workers or available_cores(), progress=progress)
        )
    if as_json:
        for change in changes:
            typer.echo(json_line(change_json(first, second, change)))
    else:
        from quoth.cli.version_changes import print_changes

        print_changes(first, second, changes)
    options.exit_after(problems)
