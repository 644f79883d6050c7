"""A calibration as a whole: the certified threshold, the map to probabilities, and what both were made for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quoth.errors import CalibrationError
from quoth.evaluation.calibrate import Certification, Trial, certify, fewest
from quoth.evaluation.probability import ProbabilityMap, fit_map
from quoth.evaluation.settings_file import section_yaml

SECTION = "calibration"
_REMARK = "Written by quoth calibrate; refused where `made_for` does not hold. Remove the section to undo it."
_DECIMALS = 6


@dataclass(frozen=True, slots=True)
class Calibration:
    """What labelled questions showed. Without a certified threshold nothing of it may come into force."""

    questions: int
    groups: int
    certification: Certification
    map: ProbabilityMap
    made_for: Mapping[str, str]


def calibrate(
    trials: Sequence[Trial],
    *,
    risk: float,
    confidence: float,
    groups: Sequence[str] | None,
    made_for: Mapping[str, str],
) -> Calibration:
    """Certify a threshold and fit the map; `CalibrationError` when there are too few questions to show anything.

    `groups` names the group of each trial; None means that the questions were drawn one by one.
    """
    names = groups or [str(place) for place in range(len(trials))]
    answered = len({name for name, one in zip(names, trials, strict=True) if one.answered})
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
    fitted = fit_map(trials)
    rounded = ProbabilityMap(round(fitted.slope, _DECIMALS), round(fitted.intercept, _DECIMALS))
    return Calibration(len(trials), len(set(names)), certification, rounded, made_for)


def _doubled(risk: float) -> float:
    return min(0.5, 2 * risk) if risk < 0.5 else (1 + risk) / 2


def shortfall(calibration: Calibration) -> tuple[str, str]:
    """Why no threshold is certified, and what to do about it."""
    promise = calibration.certification
    near = promise.nearest
    why = (
        f"no threshold keeps the share of wrong answers at or below {promise.risk:g} with confidence "
        f"{promise.confidence:g}; the nearest is {near.threshold:.2f}, with {near.answered} answered, {near.wrong} "
        f"wrong, which shows a share of at most {near.bound:.3f}"
    )
    needed = fewest(promise.risk, promise.confidence, wrong=near.wrong)
    todo = f"Accept more with --risk {_above(near.bound):g}"
    if near.tally.groups is not None:
        todo += ", or label questions of more groups"
    elif near.wrong < promise.risk * needed and near.answered < needed:
        todo += f", or label more questions: with {near.wrong} wrong, {needed} answered ones are needed"
    return why, todo + "."


def _above(bound: float) -> float:
    """The bound rounded up to a whole percentage."""
    return min(0.99, (int(bound * 100) + 1) / 100)


def calibration_section(calibration: Calibration) -> str:
    """The section of the settings file, as YAML; only for a calibration with a certified threshold."""
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
        "slope": calibration.map.slope,
        "intercept": calibration.map.intercept,
        "questions": calibration.questions,
        "answered": best.answered if best else 0,
        "wrong": best.wrong if best else 0,
        "made_for": dict(calibration.made_for),
    }


def calibration_json(calibration: Calibration, *, written: str | None, warning: str | None) -> dict[str, Any]:
    """Everything about it; `written` is the file that it went to, None for none."""
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
