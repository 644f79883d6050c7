"""Calibrate: certify a threshold, fit a map from confidences to probabilities, and put both into the settings file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from quoth.answer.calibration import log_odds
from quoth.errors import CalibrationError, SettingsError
from quoth.evaluation.certification import CalibrationTrial, Certification, certify, fewest
from quoth.evaluation.fitting import newton
from quoth.evaluation.judgements import Judgement
from quoth.evaluation.labelled_questions import LabelledQuestion, same_words
from quoth.machine import replaced_file, usual_mode
from quoth.overrides import Overrides, parse_yaml, read_settings_file

SECTION = "calibration"
_REMARK = "Written by quoth calibrate; refused where `made_for` does not hold. Remove the section to undo it."
_DECIMALS = 6
_INDENT = "  "


@dataclass(frozen=True, slots=True)
class Calibration:
    """The result of a calibration. Without a certified threshold it must not be put into the settings."""

    questions: int
    groups: int
    certification: Certification
    slope: float
    intercept: float
    """`slope` and `intercept` map confidences to probabilities: see `fit_map`."""
    made_for: Mapping[str, str]


def calibrate(
    trials: Sequence[CalibrationTrial],
    *,
    risk: float,
    confidence: float,
    groups: Sequence[str] | None,
    made_for: Mapping[str, str],
) -> Calibration:
    """Certify a threshold and fit the map; `CalibrationError` when there are too few questions to show anything.

    `groups` names the group of each trial; None means that the questions were drawn one by one.
    """
    names = groups or [str(number) for number in range(len(trials))]
    answered = len({name for name, trial in zip(names, trials, strict=True) if trial.answered})
    needed = fewest(risk, confidence)
    if answered < needed:
        what = "questions" if groups is None else "groups of questions"
        raise CalibrationError(
            f"{len(set(names))} {what}, {answered} of them answered, are too few: a risk of {risk:g} with confidence "
            f"{confidence:g} takes at least {needed} answered ones, all of them right",
            hint=f"Label more questions of the kind you expect, or ask for less: --risk {_doubled(risk):g} takes "
            f"{fewest(_doubled(risk), confidence)}.",
        )
    certification = certify(trials, risk=risk, confidence=confidence, groups=groups)
    slope, intercept = (round(number, _DECIMALS) for number in fit_map(trials))
    return Calibration(len(trials), len(set(names)), certification, slope, intercept, made_for)


def _doubled(risk: float) -> float:
    return min(0.5, 2 * risk) if risk < 0.5 else (1 + risk) / 2


def shortfall(calibration: Calibration) -> tuple[str, str]:
    """Return why no threshold is certified, and a hint what to do."""
    promise = calibration.certification
    near = promise.nearest
    why = (
        f"no threshold keeps the share of wrong answers at or below {promise.risk:g} with confidence "
        f"{promise.confidence:g}; the nearest is {near.threshold:.2f}, with {near.answered} answered, {near.wrong} "
        f"wrong, which shows a share of at most {near.bound:.3f}"
    )
    needed = fewest(promise.risk, promise.confidence, wrong=near.wrong)
    whole_percentage = min(0.99, (int(near.bound * 100) + 1) / 100)
    todo = f"Accept more with --risk {whole_percentage:g}"
    if near.counts.groups is not None:
        todo += ", or label questions of more groups"
    elif near.wrong < promise.risk * needed and near.answered < needed:
        todo += f", or label more questions: with {near.wrong} wrong, {needed} answered ones are needed"
    return why, todo + "."


def calibration_section(calibration: Calibration) -> str:
    """Return the section of the settings file as YAML; `ValueError` without a certified threshold."""
    values = _values(calibration)
    if values["threshold"] is None:
        raise ValueError("a calibration without a certified threshold has no section")
    return section_yaml(SECTION, values, remark=_REMARK)


def _values(calibration: Calibration) -> dict[str, Any]:
    best = calibration.certification.best
    return {
        "threshold": best.threshold if best else None,
        "risk": calibration.certification.risk,
        "confidence": calibration.certification.confidence,
        "slope": calibration.slope,
        "intercept": calibration.intercept,
        "questions": calibration.questions,
        "answered": best.answered if best else 0,
        "wrong": best.wrong if best else 0,
        "made_for": dict(calibration.made_for),
    }


def calibration_json(calibration: Calibration, *, written: str | None, warning: str | None) -> dict[str, Any]:
    """Return the whole calibration as JSON; `written` is the settings file, None if nothing was written."""
    best = calibration.certification.best
    why, todo = (None, None) if best else shortfall(calibration)
    return {
        "certified": best is not None,
        **_values(calibration),
        "groups": calibration.groups,
        "bound": round(best.bound, _DECIMALS) if best else None,
        "message": why,
        "hint": todo,
        "warning": warning,
        "written": written,
        "thresholds": [
            {
                "threshold": step.threshold,
                "answered": step.answered,
                "wrong": step.wrong,
                "bound": round(step.bound, _DECIMALS),
                "level": round(step.level, _DECIMALS),
                "tested": step.tested,
                "certified": step.certified,
            }
            for step in calibration.certification.steps
        ],
    }


FLATTEST = 0.01
"""The least slope: a map always rises, so that it keeps the order of the confidences."""


def fit_map(trials: Sequence[CalibrationTrial]) -> tuple[float, float]:
    """Return the slope and the intercept of: probability = logistic(slope * log odds of the confidence + intercept).

    They are fitted by maximum likelihood to all trials, including those that a check refused. The slope is above 0.
    Right and wrong count as a little less than 1 and a little more than 0, as Platt proposed, so that a few questions
    without an error do not make every answer certain.
    """
    odds = np.array([log_odds(trial.confidence) for trial in trials])
    wrong = np.array([trial.wrong for trial in trials])
    bad, good = int(wrong.sum()), int((~wrong).sum())
    targets = np.where(wrong, 1 / (bad + 2), (good + 1) / (good + 2))
    level = np.ones_like(odds)
    alike = partial(newton, targets=targets, shares=level)
    slope, intercept = alike(np.stack([odds, level], axis=1), ridge=np.zeros(2), towards=np.zeros(2))
    if slope < FLATTEST:
        slope, offset = FLATTEST, FLATTEST * odds
        (intercept,) = alike(level[:, None], ridge=np.zeros(1), towards=np.zeros(1), offset=offset)
    return float(slope), float(intercept)


_CROWDED = 0.5
"""Below this share of distinct texts or documents per question, a warning is given."""


def without_calibration(overrides: Overrides) -> Overrides:
    """Return the settings without an earlier calibration."""
    return replace(overrides, flags={**overrides.flags, "calibration.threshold": "null"})


def without_threshold(overrides: Overrides, made_for: Mapping[str, str]) -> Overrides:
    """Return the settings with a calibration that accepts and keeps every confidence.

    Everything else behaves as with a real calibration: sub-questions still use the plain threshold.
    """
    free = {"threshold": "0", "slope": "1", "intercept": "0", "made_for": json.dumps(dict(made_for))}
    return replace(overrides, flags={**overrides.flags, **{f"calibration.{key}": value for key, value in free.items()}})


def trials_of(judged: Sequence[Judgement]) -> tuple[CalibrationTrial, ...]:
    """Turn judgements into trials; `CalibrationError` when a question has no result, since its outcome is unknown."""
    if faults := [judgement for judgement in judged if judgement.fault is not None]:
        first = faults[0]
        raise CalibrationError(
            f"{len(faults)} of {len(judged)} questions could not be asked; question {first.labelled.question.id}: "
            f"{first.fault}",
            hint="Correct these questions or take them out, then calibrate again.",
        )
    return tuple(
        CalibrationTrial(judgement.confidence, judgement.answered, not judgement.right) for judgement in judged
    )


class Grouping(StrEnum):
    """By what questions are grouped: not at all, by the same text, or by the same document."""

    NONE = "none"
    TEXT = "text"
    DOCUMENT = "document"


def groups_by(items: Sequence[LabelledQuestion], grouping: Grouping) -> list[str] | None:
    """Return the group of each question; None when each stands alone."""
    if grouping is Grouping.NONE:
        return None
    if grouping is Grouping.TEXT:
        return [same_words(item) for item in items]
    # The documents that a question is restricted to, else those that answer it.
    documents = [sorted(item.question.filters.doc_ids or {gold.doc_id for gold in item.gold}) for item in items]
    return ["\n".join(ids) or f"? {item.question.id}" for ids, item in zip(documents, items, strict=True)]


def crowding(items: Sequence[LabelledQuestion]) -> str | None:
    """Return a warning when many questions share their text or the document they are restricted to; else None."""
    counts = {"different texts": len(set(groups_by(items, Grouping.TEXT) or ()))}
    if all(item.question.filters.doc_ids for item in items):
        counts["documents"] = len(set(groups_by(items, Grouping.DOCUMENT) or ()))
    few = [f"{count} {what}" for what, count in counts.items() if count < _CROWDED * len(items)]
    if not few:
        return None
    return (
        f"the {len(items)} questions have only {' and '.join(few)}; unless they were drawn one by one, what shares one "
        "stands or falls together, and the promise holds less surely: see --group-by"
    )


# The settings file


def section_yaml(name: str, values: Mapping[str, Any], *, remark: str) -> str:
    """Return a section as YAML with a comment inside it, so that both are removed together."""
    body = yaml.safe_dump(dict(values), sort_keys=False, allow_unicode=True, default_flow_style=False, width=1_000)
    lines = [f"{name}:", *(f"{_INDENT}{line}" for line in [f"# {remark}", *body.splitlines()])]
    return "\n".join(lines) + "\n"


def put_section(path: Path, name: str, section: str) -> None:
    """Replace the section of that name, or append it; the file is replaced atomically.

    Raise `SettingsError` when the file cannot be read, is invalid, or is written so that no section can be replaced.
    """
    before = _read(path)
    expected = {**(read_settings_file(path) if before else {}), **yaml.safe_load(section)}
    after = _with_section(before, name, section)
    try:
        same = parse_yaml(after, what=str(path), hint="") == expected
    except SettingsError:
        same = False
    if not same:
        raise SettingsError(
            f"{path} has a form in which the section '{name}' cannot be exchanged",
            hint=f"Put it there by hand:\n{section}",
        )
    _replace_file(path, after)


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise SettingsError(
            f"cannot read {path}: {why}", hint="Give another settings file with --config, or look with --dry-run."
        ) from error


def _with_section(text: str, name: str, section: str) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    section = section.replace("\n", newline)
    lines = text.splitlines(keepends=True)
    place = _section_lines(text, name)
    if place is None:
        gap = newline if text and not text.endswith(("\n", "\r")) else ""
        blank = newline if text.strip("\ufeff \r\n") else ""
        return text + gap + blank + section
    first, behind = place
    return "".join(lines[:first]) + section + "".join(lines[behind:])


def _section_lines(text: str, name: str) -> tuple[int, int] | None:
    """Return the half-open range of lines of a section; None when there is none."""
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if not isinstance(root, yaml.MappingNode):
        return None
    for key, value in root.value:
        if key.value == name:
            last = value.end_mark.line + (value.end_mark.column > 0)
            lines = text.splitlines()
            # YAML counts blank lines and comments after a section as part of it; they belong to what follows.
            while last > key.start_mark.line + 1 and (not lines[last - 1].strip() or lines[last - 1].startswith("#")):
                last -= 1
            return key.start_mark.line, last
    return None


def _replace_file(path: Path, text: str) -> None:
    """Replace the file atomically; a link keeps its target, and the file keeps its permissions."""
    target = path.resolve()
    try:
        with replaced_file(target) as file:
            file.write(text.encode("utf-8"))
            os.fchmod(file.fileno(), target.stat().st_mode if target.exists() else usual_mode())
    except OSError as error:
        raise SettingsError(
            f"cannot write {path}: {error.strerror}", hint="Check its folder's rights, or give another --config."
        ) from error
