"""`quoth eval`, `quoth calibrate`, `quoth fit` and `quoth check`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quoth.cli import options
from quoth.errors import CalibrationError, NoIndex, QuothError
from quoth.evaluation import calibrate as calibration
from quoth.evaluation.calibrate import Grouping
from quoth.evaluation.judgements import Judgement, judge_each, texts_of
from quoth.evaluation.labelled_questions import LabelledQuestion, asked_language, gold_problems, read_labelled
from quoth.library import Quoth
from quoth.output.render import json_line
from quoth.wiring import open_store

if TYPE_CHECKING:
    from quoth.evaluation.evaluate import Evaluation
    from quoth.evaluation.retrieval_trials import RetrievalTrial


def evaluate_questions(
    questions: Annotated[
        Path | None, typer.Argument(help="Questions with gold, as JSONL; saved evaluations are compared without.")
    ] = None,
    index: options.Index = options.DEFAULT_INDEX,
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
    as_json: options.AsJson = False,
    config: options.Config = None,
    assignments: options.Assignments = None,
    quiet: options.Quiet = False,
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
    from quoth.evaluation.retrieval_trials import try_each

    items = read_labelled(questions)
    for path in (report, save):
        _writable(path, sources=[questions, *([run] if run else [])])
    if run is None:
        quoth = options.open_quoth(index, config=config, assignments=assignments)
        with options.progress_bars(quiet=quiet) as progress:
            judged = judge_each(quoth, items[:limit], progress=progress)
        notes = gold_problems(items[:limit], texts_of(quoth))
    else:
        judged, notes = _judge(run, items, index=index, limit=limit)
    evaluation = evaluate(judged, notes=notes)
    trials: tuple[RetrievalTrial, ...] = ()
    if passages:
        uncached = [*(assignments or ()), "cache.result_seconds=0"]
        quoth = options.open_quoth(index, config=config, assignments=uncached)
        with options.progress_bars(quiet=quiet) as progress:
            trials = try_each(quoth, items[:limit], progress=progress)
    _deliver(evaluation, trials, title=f"Evaluation of {questions}", report=report, save=save, as_json=as_json)


def _judge(
    run: Path, items: Sequence[LabelledQuestion], *, index: str, limit: int | None
) -> tuple[tuple[Judgement, ...], tuple[str, ...]]:
    """Judge the questions by a run; without an index its citations cannot be checked."""
    from quoth.evaluation.saved_runs import is_saved, judge_run

    text_of = None
    if not is_saved(run):
        try:
            text_of = texts_of(options.open_quoth(index))
        except NoIndex:
            location = options.location_of(index, options.overrides(None, None))
            typer.echo(f"there is no index at {location}: the citations are not sliced again", err=True)
    judged, problems = judge_run(run, items, text_of=text_of)
    return judged[:limit], (*problems, *(gold_problems(items[:limit], text_of) if text_of else ()))


def _compare(paths: tuple[Path, Path], questions: Path | None, *, index: str, limit: int | None, as_json: bool) -> None:
    from quoth.evaluation.compare import compare, comparison_json
    from quoth.evaluation.saved_runs import read_saved

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
        from quoth.cli.evaluation_tables import print_comparison

        print_comparison(comparison, names=(str(paths[0]), str(paths[1])))


def _deliver(
    evaluation: Evaluation,
    trials: Sequence[RetrievalTrial],
    *,
    title: str,
    report: Path | None,
    save: Path | None,
    as_json: bool,
) -> None:
    from quoth.evaluation.retrieval_trials import passages_json
    from quoth.evaluation.saved_runs import evaluation_json

    content = json_line(evaluation_json(evaluation) | ({"passages": passages_json(trials)} if trials else {}))
    if save is not None:
        _write(save, content + "\n")
    if report is not None:
        from quoth.evaluation.report import report_html

        _write(report, report_html(evaluation, title=title, trials=trials))
    if as_json:
        typer.echo(content)
    else:
        from quoth.cli.evaluation_tables import print_evaluation, print_passages

        print_evaluation(evaluation)
        print_passages(trials)


def _writable(path: Path | None, *, sources: Sequence[Path]) -> None:
    """Raise before the long work when a file cannot be written, or would overwrite an input."""
    if path is None:
        return
    if path.exists() and any(source.exists() and path.samefile(source) for source in sources):
        raise QuothError(f"{path} is read as well", hint="Choose another file to write.")
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise QuothError(f"cannot write {path}: it is or lies in no folder to write to", hint="Choose another file.")


def _write(path: Path, text: str) -> None:
    try:
        path.write_bytes(text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise QuothError(f"cannot write {path}: {error.strerror}", hint="Choose another file.") from error


def calibrate(
    questions: Annotated[Path, typer.Argument(help="Labelled questions, JSONL.")],
    risk: Annotated[
        float, typer.Option(min=0.001, max=0.5, help="The share of wrong answers among those given that is accepted.")
    ] = 0.05,
    confidence: Annotated[float, typer.Option(min=0.5, max=0.9999, help="How sure the promise must be.")] = 0.95,
    group_by: Annotated[
        Grouping,
        typer.Option(help="What was drawn at random: single questions (none), or groups by `text` or by `document`."),
    ] = Grouping.NONE,
    index: options.Index = options.DEFAULT_INDEX,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the result and write nothing.")] = False,
    as_json: options.AsJson = False,
    config: options.Config = None,
    assignments: options.Assignments = None,
    quiet: options.Quiet = False,
) -> None:
    """Find the threshold that keeps wrong answers at or below a risk, from your own labelled questions.

    A line is `{"id", "question", "answerable", "gold": [{"doc_id", "start", "end", "text"}]}`. The threshold and a map
    from scores to probabilities go into the settings file, together with the model, the profile and the settings that
    they hold for. The promise assumes that future questions are like the labelled ones. When no threshold can be
    certified, nothing is written and the exit code is 1.

    Example: `quoth calibrate questions.jsonl --risk 0.05 --confidence 0.95`
    """
    labelled = read_labelled(questions)
    warning = calibration.crowding(labelled) if group_by is Grouping.NONE else None
    given = options.overrides(config, assignments)
    store = open_store(index, given.without_profile().store)
    plain = Quoth(store, calibration.without_calibration(given))
    made_for = plain.circumstances(asked_language(labelled, plain))
    quoth = Quoth(store, calibration.without_threshold(given, made_for))
    with options.progress_bars(quiet=quiet) as progress:
        judged = judge_each(quoth, labelled, progress=progress)
    groups = calibration.groups_by(labelled, group_by)
    trials = calibration.trials_of(judged)
    result = calibration.calibrate(trials, risk=risk, confidence=confidence, groups=groups, made_for=made_for)
    certified = result.certification.best is not None
    target = (config or options.CONFIG_NAME) if certified and not dry_run else None
    if target:
        calibration.put_section(target, calibration.SECTION, calibration.calibration_section(result))
    if as_json:
        written = str(target) if target else None
        typer.echo(json_line(calibration.calibration_json(result, written=written, warning=warning)))
    else:
        from quoth.cli.evaluation_tables import print_calibration

        print_calibration(result, written=target)
    if warning:
        typer.secho(f"warning: {warning}", err=True, fg="yellow")
    if not certified:
        why, todo = calibration.shortfall(result)
        raise CalibrationError(why, hint=todo)


def fit(
    questions: Annotated[Path, typer.Argument(help="Labelled questions, JSONL.")],
    index: options.Index = options.DEFAULT_INDEX,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the result and write nothing.")] = False,
    as_json: options.AsJson = False,
    config: options.Config = None,
    assignments: options.Assignments = None,
    quiet: options.Quiet = False,
) -> None:
    """Fit the probabilities to your own labelled questions: how much each sign of an answer counts.

    A line is as for `quoth calibrate`; at least 20 answerable and 10 unanswerable questions are needed. The weights are
    checked on questions that were held out. Where they do better, they go into the settings file, together with the
    models that they hold for; where not, nothing is written and the exit code is 1. Calibrate afterwards.

    Example: `quoth fit questions.jsonl --dry-run`
    """
    from quoth.evaluation import fit_report
    from quoth.evaluation.fit_evidence import SECTION, fit_evidence

    labelled = read_labelled(questions)
    given = options.overrides(config, assignments)
    store = open_store(index, given.without_profile().store)
    with options.progress_bars(quiet=quiet) as progress:
        fitted = fit_evidence(labelled, store=store, overrides=given, progress=progress)
    target = (config or options.CONFIG_NAME) if fitted.better and not dry_run else None
    if target:
        calibration.put_section(target, SECTION, fit_report.fit_section(fitted))
    if as_json:
        typer.echo(json_line(fit_report.fit_json(fitted, written=str(target) if target else None)))
    else:
        from quoth.cli.evaluation_tables import print_fit

        print_fit(fitted, written=target)
    if target and given.without_profile().calibration.threshold is not None:
        typer.secho("warning: the calibration in the settings no longer holds; calibrate again", err=True, fg="yellow")
    if not fitted.better:
        why, todo = fit_report.shortfall(fitted)
        raise CalibrationError(why, hint=todo)


def check(
    questions: Annotated[Path, typer.Argument(help="At least 10 questions with gold, as JSONL.")],
    index: options.Index = options.DEFAULT_INDEX,
    as_json: options.AsJson = False,
    config: options.Config = None,
    assignments: options.Assignments = None,
    quiet: options.Quiet = False,
) -> None:
    """The go-live checklist of retrieval: each part measured on this corpus and these questions, passed or failed.

    Exits with 1 when a point fails. A line of QUESTIONS is as for `quoth eval`.

    Example: `quoth check questions.jsonl --index .quoth`
    """
    from quoth.evaluation.retrieval_trials import check

    items = read_labelled(questions)

    def open_variant(values: Mapping[str, object]) -> Quoth:
        given = [*(assignments or ()), *(f"{key}={value}" for key, value in values.items())]
        return options.open_quoth(index, config=config, assignments=given)

    with options.progress_bars(quiet=quiet) as progress:
        points = check(open_variant, items, progress=progress)
    passed = all(point.passed for point in points)
    if as_json:
        typer.echo(json_line({"passed": passed, "points": [asdict(point) for point in points]}))
    else:
        from quoth.cli.terminal import print_table

        marks = {True: "[green]pass[/green]", False: "[red]FAIL[/red]"}
        rows = ((marks[point.passed], point.name, point.wanted, point.measured) for point in points)
        print_table(("", "check", "wanted", "measured"), rows)
    if not passed:
        raise typer.Exit(1)
