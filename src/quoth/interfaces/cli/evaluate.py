"""`quoth eval`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quoth.errors import NoIndex, QuothError
from quoth.interfaces.cli.options import (
    DEFAULT_INDEX,
    ConfigOption,
    IndexOption,
    JsonOption,
    SetOption,
    open_quoth,
    overrides,
    place_name,
)
from quoth.interfaces.cli.progress import progress_bars
from quoth.interfaces.python import Quoth
from quoth.render import json_line

if TYPE_CHECKING:
    from quoth.evaluation.evaluate import Evaluation
    from quoth.evaluation.passages import Trial
    from quoth.evaluation.questions import Labelled
    from quoth.evaluation.run import Judged


def command(
    questions: Annotated[
        Path | None, typer.Argument(help="Questions with gold, as JSONL; saved evaluations are compared without.")
    ] = None,
    index: IndexOption = DEFAULT_INDEX,
    run: Annotated[
        Path | None, typer.Option(help="Judge this run (of `quoth batch`, or saved by `--save`) instead of asking.")
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write a report with plots: one HTML file.")] = None,
    save: Annotated[Path | None, typer.Option(help="Write the evaluation as JSON, to be compared later.")] = None,
    compare: Annotated[
        tuple[Path, Path] | None,
        typer.Option(metavar="A B", help="Compare two saved evaluations, or two runs of QUESTIONS."),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many questions.")] = None,
    passages: Annotated[
        bool, typer.Option("--passages", help="Measure `quoth retrieve` as well: recall, statuses, signs of quality.")
    ] = False,
    as_json: JsonOption = False,
    config: ConfigOption = None,
    assignments: SetOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Measure answers on questions whose answers are known, each figure with its 95% interval.

    A line of QUESTIONS is `{"id", "question", "answerable", "gold": [{"doc_id", "start", "end", "text",
    "alternatives"?}], "gold_mode": "any" or "all", "doc_scope"?}`. A question without a result counts as wrong.

    Examples: `quoth eval questions.jsonl --report report.html` and `quoth eval --compare before.json after.json`
    """
    if compare is not None:
        if run or report or save or passages:
            raise typer.BadParameter("--compare goes with none of --run, --report, --save and --passages")
        _compare(compare, questions, index=index, limit=limit, as_json=as_json)
        return
    if questions is None:
        raise typer.BadParameter("give a file of questions, or two evaluations with --compare")
    from quoth.evaluation.evaluate import evaluate
    from quoth.evaluation.questions import read_labelled

    items = read_labelled(questions)
    for path in (report, save):
        _writable(path, sources=[questions, *([run] if run else [])])
    if run is None:
        quoth = open_quoth(index, config=config, assignments=assignments)
        judged, notes = _ask(quoth, items[:limit], quiet=quiet)
    else:
        judged, notes = _judge(run, items, index=index, limit=limit)
    evaluation = evaluate(judged, notes=notes)
    trials: tuple[Trial, ...] = ()
    if passages:
        uncached = [*(assignments or ()), "cache.result_seconds=0"]
        trials = _retrieve(open_quoth(index, config=config, assignments=uncached), items[:limit], quiet=quiet)
    _deliver(evaluation, trials, title=f"Evaluation of {questions}", report=report, save=save, as_json=as_json)


def _ask(quoth: Quoth, items: Sequence[Labelled], *, quiet: bool) -> tuple[tuple[Judged, ...], tuple[str, ...]]:
    from quoth.evaluation.questions import gold_problems
    from quoth.evaluation.run import judge_each, texts_of

    with progress_bars(quiet=quiet) as progress:
        return judge_each(quoth, items, progress=progress), gold_problems(items, texts_of(quoth))


def _retrieve(quoth: Quoth, items: Sequence[Labelled], *, quiet: bool) -> tuple[Trial, ...]:
    from quoth.evaluation.passages import try_each

    with progress_bars(quiet=quiet) as progress:
        return try_each(quoth, items, progress=progress)


def _judge(
    run: Path, items: Sequence[Labelled], *, index: str, limit: int | None
) -> tuple[tuple[Judged, ...], tuple[str, ...]]:
    """The questions judged by a run; without an index nothing says whether its citations are exact."""
    from quoth.evaluation.questions import gold_problems
    from quoth.evaluation.recorded import judge_run
    from quoth.evaluation.run import texts_of
    from quoth.evaluation.saved import is_saved

    text_of = None
    if not is_saved(run):
        try:
            text_of = texts_of(open_quoth(index))
        except NoIndex:
            typer.echo(
                f"there is no index at {place_name(index, overrides(None, None))}: the citations are not sliced again",
                err=True,
            )
    judged, problems = judge_run(run, items, text_of=text_of)
    return judged[:limit], (*problems, *(gold_problems(items[:limit], text_of) if text_of else ()))


def _compare(paths: tuple[Path, Path], questions: Path | None, *, index: str, limit: int | None, as_json: bool) -> None:
    from quoth.evaluation.compare import compare, comparison_json
    from quoth.evaluation.questions import read_labelled
    from quoth.evaluation.saved import read_saved

    if questions is None:
        first, second = (read_saved(path) for path in paths)
        first, second = first[:limit], second[:limit]
    else:
        items = read_labelled(questions)
        first, second = (_judge(path, items, index=index, limit=limit)[0] for path in paths)
    comparison = compare(first, second)
    if as_json:
        typer.echo(json_line(comparison_json(comparison)))
    else:
        from quoth.interfaces.cli.measured import print_comparison

        print_comparison(comparison, names=(str(paths[0]), str(paths[1])))


def _deliver(
    evaluation: Evaluation,
    trials: Sequence[Trial],
    *,
    title: str,
    report: Path | None,
    save: Path | None,
    as_json: bool,
) -> None:
    from quoth.evaluation.passages import passages_json
    from quoth.evaluation.saved import evaluation_json

    retrieved = {"passages": passages_json(trials)} if trials else {}
    if save is not None:
        _write(save, json_line(evaluation_json(evaluation) | retrieved) + "\n")
    if report is not None:
        from quoth.evaluation.report import report_html

        _write(report, report_html(evaluation, title=title, trials=trials))
    if as_json:
        typer.echo(json_line(evaluation_json(evaluation) | retrieved))
    else:
        from quoth.interfaces.cli.measured import print_evaluation, print_passages

        print_evaluation(evaluation)
        print_passages(trials)


def _writable(path: Path | None, *, sources: Sequence[Path]) -> None:
    """Say before the long work that a file cannot be written, or would replace what is read."""
    if path is None:
        return
    if path.exists() and any(one.exists() and path.samefile(one) for one in sources):
        raise QuothError(f"{path} is read as well", hint="Choose another file to write.")
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise QuothError(f"cannot write {path}: it is or lies in no folder to write to", hint="Choose another file.")


def _write(path: Path, text: str) -> None:
    try:
        path.write_bytes(text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise QuothError(f"cannot write {path}: {error.strerror}", hint="Choose another file.") from error
