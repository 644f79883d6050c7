"""`quoth batch`."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from itertools import count
from pathlib import Path
from typing import Annotated, TextIO

import typer

from quoth.errors import QuestionError, QuothError
from quoth.interfaces.cli.options import DEFAULT_INDEX, ConfigOption, IndexOption, SetOption, open_quoth
from quoth.interfaces.cli.progress import progress_bars
from quoth.interfaces.cli.questions import QuestionsArgument, check_output, line_count, lines_of
from quoth.machine import available_cores
from quoth.questions import UnreadableLine, read_questions
from quoth.render import json_line, outcome_json
from quoth.types import Outcome, Question


def command(
    questions: QuestionsArgument,
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
    total = line_count(questions)
    problems: list[tuple[int, str]] = []
    places: deque[int] = deque()  # among the lines, of the questions that are under way
    try:
        with (
            lines_of(questions) as lines,
            _open_output(output, questions=questions) as out,
            progress_bars(quiet=quiet) as progress,
        ):
            done = count(1)

            def write(question: Question, outcome: Outcome | QuestionError) -> None:
                place = places.popleft()
                if isinstance(outcome, QuestionError):
                    problems.append((place, f"question {question.id}: {outcome}"))
                else:
                    out.write(json_line(outcome_json(outcome)) + "\n")
                    out.flush()
                if progress:
                    progress("answering", next(done), total)

            quoth.answer_each(_readable(lines, problems, places), write, workers=workers)
    except KeyboardInterrupt:
        typer.echo("interrupted: the answers written so far are complete lines", err=True)
        raise typer.Exit(130) from None
    for _, problem in sorted(problems):
        typer.secho(problem, err=True, fg="yellow")
    if problems:
        raise typer.Exit(1)


def _readable(lines: Iterable[str], problems: list[tuple[int, str]], places: deque[int]) -> Iterator[Question]:
    for place, one in enumerate(read_questions(lines)):
        if isinstance(one, UnreadableLine):
            problems.append((place, f"line {one.number}: {one.why}"))
        else:
            places.append(place)
            yield one


def _open_output(path: Path | None, *, questions: str) -> nullcontext[TextIO] | TextIO:
    if path is None:
        return nullcontext(sys.stdout)
    check_output(path, questions=questions)
    try:
        return path.open("w", encoding="utf-8", newline="\n")
    except OSError as error:
        raise QuothError(f"cannot write {path}: {error.strerror}", hint="Choose another file with -o.") from error
