"""`quoth batch`."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from itertools import count
from pathlib import Path
from typing import Annotated, TextIO

import typer

from quoth.errors import QuestionError, QuothError
from quoth.interfaces.cli.options import DEFAULT_INDEX, ConfigOption, IndexOption, SetOption, open_quoth
from quoth.interfaces.cli.progress import progress_bars
from quoth.machine import available_cores
from quoth.questions import UnreadableLine, read_questions
from quoth.render import json_line, outcome_json
from quoth.types import Outcome, Question


def command(
    questions: Annotated[str, typer.Argument(help="Text (one question a line) or JSONL; - for standard input.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where to write; standard output if absent.")
    ] = None,
    index: IndexOption = DEFAULT_INDEX,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Questions answered at the same time; as many as cores if absent.")
    ] = None,
    config: ConfigOption = None,
    assignments: SetOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Answer many questions; one JSON object a line, in the order of the questions, written as they are answered.

    A JSONL line is `{"id", "question", "doc_scope": [...]?, "filters": {...}?}`. A line that cannot be read is named,
    the others are answered, and the exit code is 1.

    Example: `quoth batch questions.jsonl -o run.jsonl`
    """
    # Each worker embeds its own question: one thread each uses the cores better than all threads for each.
    threads = [] if any(one.startswith("embedding.threads") for one in assignments or ()) else ["embedding.threads=1"]
    workers = workers or available_cores()
    quoth = open_quoth(index, config=config, assignments=[*(threads if workers > 1 else []), *(assignments or ())])
    quoth.prepare()  # what is wrong with the settings or the model is said before anything is written
    total = _line_count(questions)
    problems: list[str] = []
    try:
        with (
            _lines(questions) as lines,
            _open_output(output, questions=questions) as out,
            progress_bars(quiet=quiet) as progress,
        ):
            done = count(1)

            def write(question: Question, outcome: Outcome | QuestionError) -> None:
                if isinstance(outcome, QuestionError):
                    problems.append(f"question {question.id}: {outcome}")
                else:
                    out.write(json_line(outcome_json(outcome)) + "\n")
                    out.flush()
                if progress:
                    progress("answering", next(done), total)

            quoth.answer_each(_readable(lines, problems), write, workers=workers)
    except KeyboardInterrupt:
        typer.echo("interrupted: the answers written so far are complete lines", err=True)
        raise typer.Exit(130) from None
    for problem in problems:
        typer.secho(problem, err=True, fg="yellow")
    if problems:
        raise typer.Exit(1)


def _readable(lines: Iterable[str], problems: list[str]) -> Iterator[Question]:
    for one in read_questions(lines):
        if isinstance(one, UnreadableLine):
            problems.append(f"line {one.number}: {one.why}")
        else:
            yield one


def _lines(source: str) -> TextIO:
    """Lines as UTF-8; a byte that is not is kept as a lone surrogate, so that only its own line suffers."""
    if source == "-":
        return io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8", errors="surrogateescape", newline="\n")
    try:
        return Path(source).open(encoding="utf-8", errors="surrogateescape", newline="\n")
    except OSError as error:
        raise QuothError(f"cannot read {source}: {error.strerror}", hint="Give a file with questions.") from error


def _line_count(source: str) -> int:
    """How many questions a file holds, for the progress bar; 0 for a pipe, which cannot be read twice."""
    if not Path(source).is_file():
        return 0
    with _lines(source) as lines:
        return sum(1 for line in lines if line.strip())


def _open_output(path: Path | None, *, questions: str) -> nullcontext[TextIO] | TextIO:
    if path is None:
        return nullcontext(sys.stdout)
    if path.exists() and Path(questions).exists() and path.samefile(questions):
        raise QuothError(f"{path} holds the questions", hint="Choose another file with -o.")
    try:
        return path.open("w", encoding="utf-8", newline="\n")
    except OSError as error:
        raise QuothError(f"cannot write {path}: {error.strerror}", hint="Choose another file with -o.") from error
