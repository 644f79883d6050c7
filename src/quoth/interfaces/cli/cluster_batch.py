"""`quoth cluster batch`."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from quoth.cluster.batch_plan import Batch, Placement
from quoth.interfaces.cli.options import DEFAULT_INDEX, ConfigOption, IndexOption, SetOption, overrides
from quoth.interfaces.cli.progress import progress_bars
from quoth.interfaces.cli.questions import QuestionsArgument, check_output, line_count, lines_of
from quoth.questions import read_questions


def command(
    questions: QuestionsArgument,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Where to write, behind the answers that it holds; standard output if absent."
        ),
    ] = None,
    index: IndexOption = DEFAULT_INDEX,
    address: Annotated[
        str | None,
        typer.Option(envvar="RAY_ADDRESS", metavar="HOST:PORT", help="The Ray cluster; one is started here if absent."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Tasks at the same time; what the cluster can take if absent.")
    ] = None,
    config: ConfigOption = None,
    assignments: SetOption = None,
    placement: Annotated[
        Placement,
        typer.Option(
            help="`whole`: each process opens all shards; `spread`: each shard is opened once in the cluster; "
            "`auto`: whole where that fits into the memory of each node."
        ),
    ] = Placement.AUTO,
    retries: Annotated[
        int, typer.Option(min=0, help="How often questions are asked again whose process or node died.")
    ] = 3,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Answer many questions on a Ray cluster; the same lines in the same order as `quoth batch` writes.

    After a kill, or for more questions at the end of the file, the same command goes on behind the answers that the
    output holds. They must be of the same questions, index and settings; from standard input, give all questions again.

    Example: `quoth cluster batch questions.jsonl -o run.jsonl --index s3://bucket/index --address 10.0.0.5:6379`
    """
    from quoth.cluster.batch import answer_all  # other commands shall not wait for it
    from quoth.cluster.batch_output import AnswerFile, StandardOutput

    batch = Batch(index, overrides(config, assignments), address, workers, placement, retries)
    if output is not None:
        check_output(output, questions=questions)
    try:
        with (
            lines_of(questions) as lines,
            AnswerFile(output) if output is not None else nullcontext(StandardOutput()) as out,
            progress_bars(quiet=quiet) as progress,
        ):
            report = answer_all(read_questions(lines), out, batch, total=line_count(questions), progress=progress)
    except KeyboardInterrupt:
        resume = "; the same command goes on behind them" if output is not None else ""
        typer.echo(f"interrupted: the answers written so far are complete lines{resume}", err=True)
        raise typer.Exit(130) from None
    if report.kept and not quiet:
        said = f", {report.answered:,} were added" if report.answered else ": all questions are answered"
        typer.echo(f"{output} held {report.kept:,} answers{said}", err=True)
    for problem in report.problems:
        typer.secho(problem, err=True, fg="yellow")
    if report.problems:
        raise typer.Exit(1)
