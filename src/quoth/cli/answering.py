"""`quoth ask`, `retrieve`, `batch` and `demo`."""

from __future__ import annotations

import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterable, Iterator
from importlib.resources import files
from itertools import count
from pathlib import Path
from typing import Annotated

import typer

from quoth.cli import options
from quoth.cli.filter_options import with_filter_options
from quoth.cli.user_language import counted, speak
from quoth.errors import CorpusError, QuestionError
from quoth.library import Quoth, ingest_paths
from quoth.machine import available_cores
from quoth.output.render import json_line, outcome_json, retrieval_json, retrieval_trace_json, trace_json
from quoth.overrides import NO_OVERRIDES
from quoth.search.question_files import UnreadableLine, read_questions
from quoth.settings import Settings
from quoth.types import NO_FILTERS, Filters, Outcome, Question
from quoth.wiring import open_store

DEMO_QUESTIONS = (
    "What soil pH is best for canola?",
    "How deep should soybeans be planted?",
    "What did Halvorsen AgriTech's 2023 canola trials show?",
)


@with_filter_options
def ask(
    question: Annotated[
        str | None,
        typer.Argument(help="The question, or - to read it from standard input; without one, a conversation."),
    ] = None,
    index: options.Index = options.DEFAULT_INDEX,
    as_json: options.AsJson = False,
    filters: Filters = NO_FILTERS,
    seen_as: options.SeenAs = None,
    answer: options.Preset = None,
    why: Annotated[bool, typer.Option("--why", help="Show every stage with its scores.")] = False,
    offsets: Annotated[
        bool, typer.Option("--offsets", help="Show the file and the exact place of each quote, and its tags.")
    ] = False,
    see_also: Annotated[
        bool, typer.Option("--see-also", help="Show what else is near the question, below the answer.")
    ] = False,
    lang: options.Lang = None,
    timings: Annotated[bool, typer.Option("--timings", help="Say on stderr how long it took.")] = False,
    receipt: Annotated[
        Path | None, typer.Option("--receipt", help="Write a receipt, with which anybody can check the quotes.")
    ] = None,
    sign_with: options.SignWith = None,
    config: options.Config = None,
    assignments: options.Assignments = None,
) -> None:
    """Answer a question with verbatim, cited sentences, or say why not.

    Without a question, on a terminal, it is a conversation: `and for wheat?` leans on the last question, and `:help`
    lists the commands.

    Example: `quoth ask "What soil pH is best for canola?" --why`
    """
    speak(lang)
    at_terminal = all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))
    if question is None and (as_json or not at_terminal):
        raise typer.BadParameter("give a question, or - to read it from standard input", param_hint="QUESTION")
    if (question is None and receipt) or (sign_with and not receipt):
        raise typer.BadParameter("--receipt goes with a question, and --sign-with with --receipt")
    started = time.perf_counter()
    given = options.with_preset(assignments, answer)
    quoth = options.open_quoth(index, config=config, assignments=given, seen_as=seen_as)
    if question is None:
        from quoth.cli.conversation import converse

        converse(quoth, filters, why=why)
        return
    text = sys.stdin.read().strip() if question == "-" else question
    opened = time.perf_counter()
    asked = quoth.explain(text, filters=filters)
    answered = time.perf_counter()
    if receipt is not None:
        from quoth.cli.receipts import write_receipt

        write_receipt(quoth, outcome_json(asked.outcome), receipt, sign_with)
    if as_json:
        trace = {"trace": trace_json(asked)} if why else {}
        typer.echo(json_line(outcome_json(asked.outcome) | trace))
    else:
        from quoth.cli.terminal import print_outcome, print_trace

        print_outcome(asked.outcome, offsets=offsets or why, see_also=see_also)
        if why:
            print_trace(asked)
    if timings:
        typer.echo(f"opened in {opened - started:.3f} s, answered in {answered - opened:.3f} s", err=True)


def batch(
    questions: options.Questions,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where to write; standard output if absent.")
    ] = None,
    index: options.Index = options.DEFAULT_INDEX,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Questions answered at the same time; as many as cores if absent.")
    ] = None,
    answer: options.Preset = None,
    config: options.Config = None,
    assignments: options.Assignments = None,
    quiet: options.Quiet = False,
) -> None:
    """Answer many questions; one JSON object a line, in the order of the questions, written as they are answered.

    A JSONL line is `{"id", "question", "doc_scope": [...]?, "filters": {...}?}`. A line that cannot be read is named,
    the others are answered, and the exit code is 1.

    Example: `quoth batch questions.jsonl -o run.jsonl`
    """
    workers = workers or available_cores()
    # Each worker embeds its own question; one thread per worker uses the cores best, unless the user decides.
    threads = ["embedding.threads=1"] if workers > 1 else []
    quoth = options.open_quoth(index, config=config, assignments=[*threads, *options.with_preset(assignments, answer)])
    quoth.prepare()  # errors in the settings or the model appear before anything is written
    total = options.line_count(questions)
    problems: list[tuple[int, str]] = []
    positions: deque[int] = deque()  # line numbers of the questions being answered
    with (
        options.interruptible("the answers written so far are complete lines"),
        options.lines_of(questions) as lines,
        options.open_output(output, questions=questions) as out,
        options.progress_bars(quiet=quiet) as progress,
    ):
        done = count(1)

        def write(question: Question, outcome: Outcome | QuestionError) -> None:
            position = positions.popleft()
            if isinstance(outcome, QuestionError):
                problems.append((position, f"question {question.id}: {outcome}"))
            else:
                out.write(json_line(outcome_json(outcome)) + "\n")
                out.flush()
            if progress:
                progress("answering", next(done), total)

        quoth.answer_each(_readable(lines, problems, positions), write, workers=workers)
    options.exit_after(problem for _, problem in sorted(problems))


def _readable(lines: Iterable[str], problems: list[tuple[int, str]], positions: deque[int]) -> Iterator[Question]:
    for position, question in enumerate(read_questions(lines)):
        if isinstance(question, UnreadableLine):
            problems.append((position, f"line {question.number}: {question.why}"))
        else:
            positions.append(position)
            yield question


@with_filter_options
def retrieve(
    question: Annotated[str, typer.Argument(help="The question, or - to read it from standard input.")],
    index: options.Index = options.DEFAULT_INDEX,
    as_json: options.AsJson = False,
    context: Annotated[bool, typer.Option("--context", help="Print only the context, as an agent reads it.")] = False,
    filters: Filters = NO_FILTERS,
    seen_as: options.SeenAs = None,
    all_types: Annotated[
        bool, typer.Option("--all-types", help="Search every document type, whatever the question names.")
    ] = False,
    most: Annotated[int | None, typer.Option("--max", min=1, max=100, help="At most so many passages.")] = None,
    why: Annotated[bool, typer.Option("--why", help="Show every passage that was judged, with its scores.")] = False,
    timings: Annotated[bool, typer.Option("--timings", help="Say on stderr how long each stage took.")] = False,
    config: options.Config = None,
    assignments: options.Assignments = None,
) -> None:
    """Find the passages that an agent, or a person, should read, with what they are worth and where they stand.

    Example: `quoth retrieve "How high may a fence be?" --as-of 2021-06-01 --context`
    """
    if as_json and context:
        raise typer.BadParameter("choose one of --json and --context; the JSON holds the context")
    given = [*(assignments or ()), *(["retrieval.detect_types=false"] if all_types else [])]
    started = time.perf_counter()
    quoth = options.open_quoth(index, config=config, assignments=given, seen_as=seen_as)
    text = sys.stdin.read().strip() if question == "-" else question
    marks = [("open", time.perf_counter())]
    retrieved = quoth.explain_retrieval(
        text,
        filters=filters,
        most=most,
        done=lambda stage: marks.append((stage, time.perf_counter())),
    )
    if as_json:
        trace = {"trace": retrieval_trace_json(retrieved)} if why else {}
        typer.echo(json_line(retrieval_json(retrieved.retrieval) | trace))
    elif context:
        typer.echo(retrieved.retrieval.context.text, nl=False)
        for note in filter(None, (retrieved.retrieval.message, retrieved.retrieval.warning)):
            typer.echo(f"note: {note}", err=True)
    else:
        from quoth.cli.passage_lines import print_retrieval, print_retrieval_trace

        print_retrieval(retrieved.retrieval, quoth.shown)
        if why:
            print_retrieval_trace(retrieved)
    if timings:
        times = [started, *(at for _, at in marks)]
        took = (f"{stage} {1000 * (end - start):.1f} ms" for (stage, end), start in zip(marks, times, strict=False))
        typer.echo(", ".join(took), err=True)


def demo(index: Annotated[Path | None, typer.Option(help="Keep the demo's index in this folder.")] = None) -> None:
    """Read the sample guides that come with Quoth and answer three questions, one of which they cannot answer.

    Example: `quoth demo`
    """
    from quoth.cli.terminal import OUT, print_outcome

    speak(None)
    with tempfile.TemporaryDirectory() as scratch:
        place = index or Path(scratch) / "index"
        with options.progress_bars() as progress:
            report = ingest_paths(
                [_sample_guides()], place, profile="agriculture", overrides=NO_OVERRIDES, progress=progress
            )
        documents = counted(report.info.documents, "{count} document", "{count} documents")
        OUT.print(f"{documents}, {counted(report.info.sentences, '{count} sentence', '{count} sentences')}")
        quoth = Quoth(open_store(place, Settings().store), NO_OVERRIDES)
        for question in DEMO_QUESTIONS:
            OUT.rule()
            OUT.print(f"[bold cyan]{question}[/bold cyan]\n")
            print_outcome(quoth.ask(question))


def _sample_guides() -> Path:
    """Return the sample corpus inside the installed package, or beside the source tree."""
    package = Path(str(files("quoth")))
    for folder in (package, package.parent.parent):
        if (guides := folder / "examples" / "agriculture").is_dir():
            return guides
    raise CorpusError(
        "the sample corpus 'agriculture' is not installed", hint="Reinstall quoth, or clone its repository."
    )
