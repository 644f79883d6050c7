"""`quoth cluster`: what runs on several machines."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from quoth.cli import options
from quoth.cli.indexing import ReportPage, check_page, print_report, refusals_on, write_report
from quoth.cluster.batch_output import AnswerFile, BatchPlan, Placement, StandardOutput
from quoth.output.render import json_line
from quoth.search.question_files import read_questions

app = typer.Typer(help="Ingest and answer on a cluster of machines, with Ray.", no_args_is_help=True)


@app.command("batch")
def batch(
    questions: options.Questions,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Where to write, behind the answers that it holds; standard output if absent."
        ),
    ] = None,
    index: options.Index = options.DEFAULT_INDEX,
    address: options.RayAddress = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Tasks at the same time; what the cluster can take if absent.")
    ] = None,
    config: options.Config = None,
    assignments: options.Assignments = None,
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
    quiet: options.Quiet = False,
) -> None:
    """Answer many questions on a Ray cluster; the same lines in the same order as `quoth batch` writes.

    After a kill, or for more questions at the end of the file, the same command goes on behind the answers that the
    output holds. They must be of the same questions, index and settings; from standard input, give all questions again.

    Example: `quoth cluster batch questions.jsonl -o run.jsonl --index s3://bucket/index --address 10.0.0.5:6379`
    """
    from quoth.cluster.batch_driver import answer_all  # slow to import

    plan = BatchPlan(index, options.overrides(config, assignments), address, workers, placement, retries)
    if output is not None:
        options.check_output(output, questions=questions)
    resume = "; the same command goes on behind them" if output is not None else ""
    with (
        options.interruptible(f"the answers written so far are complete lines{resume}"),
        options.lines_of(questions) as lines,
        AnswerFile(output) if output is not None else nullcontext(StandardOutput()) as out,
        options.progress_bars(quiet=quiet) as progress,
    ):
        report = answer_all(read_questions(lines), out, plan, total=options.line_count(questions), progress=progress)
    if report.kept and not quiet:
        added = f", {report.answered:,} were added" if report.answered else ": all questions are answered"
        typer.echo(f"{output} held {report.kept:,} answers{added}", err=True)
    options.exit_after(report.problems)


@app.command("status")
def status(
    index: Annotated[str, typer.Argument(metavar="URI", help="Where the shards are: a folder, or s3://bucket/prefix.")],
    check: Annotated[bool, typer.Option("--check", help="Read every file and compare it with its hash.")] = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """What an index of shards holds, shard by shard; exit 1 when --check finds a file that is not what was written.

    Example: `quoth cluster status s3://bucket/guides --check`
    """
    from quoth.cluster import shard_status

    values = shard_status.status(index)
    faults: list[str] = []
    if check:
        with options.progress_bars(quiet=quiet) as progress:
            faults = list(shard_status.faults(index, progress=progress))
    if as_json:
        typer.echo(json_line({**values, **({"faults": faults} if check else {})}))
    else:
        options.print_values({key: value for key, value in values.items() if key not in {"shards", "settings"}})
        for shard in values["shards"]:
            typer.echo(
                f"shard {shard['shard']:<5} {shard['documents']:,} documents, {shard['sentences']:,} sentences, "
                f"{shard['bytes']:,} bytes in {shard['folder']}"
            )
        if check and not faults:
            typer.echo("every file is what was written")
    options.exit_after(faults)


@app.command("ingest")
def ingest(
    paths: Annotated[
        list[Path], typer.Argument(help="Folders or files, at a path under which every node of the cluster finds them.")
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output",
            metavar="URI",
            help="Where the shards go: a folder that every node sees, or `s3://bucket/prefix`.",
        ),
    ],
    shards: Annotated[
        int | None,
        typer.Option(
            min=1, max=1_000, help="How many shards a new index gets; 4 if absent. One that exists keeps its number."
        ),
    ] = None,
    address: options.RayAddress = None,
    profile: options.ProfileName = None,
    prune: options.Prune = False,
    page: ReportPage = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes that embed; if absent, one for each CPU of the cluster.")
    ] = None,
    gpus_per_worker: Annotated[
        float, typer.Option(min=0, max=64, help="GPUs for each of them, such as 1 or 0.5; 0 embeds on the CPU.")
    ] = 0,
    language: options.Language = None,
    config: options.Config = None,
    assignments: options.Assignments = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no summary.")] = False,
) -> None:
    """Read documents into an index of several shards. Run it again after changes, or after a crash: only what is
    missing is done.

    Every command opens the index with `--index URI`, and each shard alone as well.

    Example: `quoth cluster ingest guides/ --shards 8 --output s3://bucket/guides --address 10.0.0.5:6379`
    """
    from quoth.cluster import ingest_driver

    check_page(page)
    given = options.overrides(config, options.with_language(assignments, language))
    plan = ingest_driver.ClusterIngest(
        paths=tuple(paths),
        output=output,
        shards=shards,
        profile=profile,
        prune=prune,
        overrides=given,
        address=address,
        workers=workers,
        gpus_per_worker=gpus_per_worker,
    )
    with (
        options.interruptible(
            "the index serves what it held before, and what was embedded is kept; run the same command to go on"
        ),
        options.progress_bars(quiet=quiet) as progress,
    ):
        with refusals_on(page):
            report = ingest_driver.ingest(plan, progress=progress)
        write_report(page, report, output, given, progress=progress)
    print_report(report, output, quiet=quiet)
