"""`quoth calibrate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quoth.errors import CalibrationError
from quoth.evaluation.trials import Grouping
from quoth.interfaces.cli.options import (
    CONFIG_NAME,
    DEFAULT_INDEX,
    ConfigOption,
    IndexOption,
    JsonOption,
    SetOption,
    overrides,
)
from quoth.interfaces.cli.progress import progress_bars
from quoth.interfaces.python import Quoth
from quoth.render import json_line
from quoth.wiring import open_store


def command(
    questions: Annotated[Path, typer.Argument(help="Labelled questions, JSONL.")],
    risk: Annotated[
        float, typer.Option(min=0.001, max=0.5, help="The share of wrong answers among those given that is accepted.")
    ] = 0.05,
    confidence: Annotated[float, typer.Option(min=0.5, max=0.9999, help="How sure the promise must be.")] = 0.95,
    group_by: Annotated[
        Grouping,
        typer.Option(help="What was drawn at random: single questions (none), or groups by `text` or by `document`."),
    ] = Grouping.NONE,
    index: IndexOption = DEFAULT_INDEX,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the result and write nothing.")] = False,
    as_json: JsonOption = False,
    config: ConfigOption = None,
    assignments: SetOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Find the threshold that keeps wrong answers at or below a risk, from your own labelled questions.

    A line is `{"id", "question", "answerable", "gold": [{"doc_id", "start", "end", "text"}]}`. The threshold and a map
    from scores to probabilities go into the settings file, together with the model, the profile and the settings that
    they hold for. The promise assumes that future questions are like the labelled ones. When no threshold can be
    certified, nothing is written and the exit code is 1.

    Example: `quoth calibrate questions.jsonl --risk 0.05 --confidence 0.95`
    """
    from quoth.evaluation.calibration import SECTION, calibrate, calibration_json, calibration_section, shortfall
    from quoth.evaluation.questions import read_labelled
    from quoth.evaluation.run import judge_each
    from quoth.evaluation.settings_file import put_section
    from quoth.evaluation.trials import crowding, groups_by, trials_of, without_calibration, without_threshold

    labelled = read_labelled(questions)
    warning = crowding(labelled) if group_by is Grouping.NONE else None
    given = overrides(config, assignments)
    store = open_store(index, given.over({}, profile="none").store)
    made_for = Quoth(store, without_calibration(given)).circumstances()
    quoth = Quoth(store, without_threshold(given, made_for))
    with progress_bars(quiet=quiet) as progress:
        judged = judge_each(quoth, labelled, progress=progress)
    groups = groups_by(labelled, group_by)
    result = calibrate(trials_of(judged), risk=risk, confidence=confidence, groups=groups, made_for=made_for)
    certified = result.certification.best is not None
    target = (config or CONFIG_NAME) if certified and not dry_run else None
    if target:
        put_section(target, SECTION, calibration_section(result))
    if as_json:
        typer.echo(json_line(calibration_json(result, written=str(target) if target else None, warning=warning)))
    else:
        from quoth.interfaces.cli.calibration_table import print_calibration

        print_calibration(result, written=target)
    if warning:
        typer.secho(f"warning: {warning}", err=True, fg="yellow")
    if not certified:
        why, todo = shortfall(result)
        raise CalibrationError(why, hint=todo)
