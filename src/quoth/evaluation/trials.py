"""Labelled questions as trials: each asked once, with every check in force but the threshold."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum

from quoth.errors import CalibrationError
from quoth.evaluation.calibrate import Trial
from quoth.evaluation.questions import Labelled
from quoth.evaluation.run import Judged
from quoth.settings import Overrides

_CROWDED = 0.5
"""With fewer different texts, or documents, than this share of the questions, the promise needs a warning."""


def without_calibration(overrides: Overrides) -> Overrides:
    """The same settings with no earlier calibration in force."""
    return replace(overrides, flags={**overrides.flags, "calibration.threshold": "null"})


def without_threshold(overrides: Overrides, made_for: Mapping[str, str]) -> Overrides:
    """The same settings with a calibration in force that lets every confidence pass and leaves it as it is.

    All else is as it will be with the real one: parts of a question are still judged by the plain threshold.
    """
    free = {"threshold": "0", "slope": "1", "intercept": "0", "made_for": json.dumps(dict(made_for))}
    return replace(overrides, flags={**overrides.flags, **{f"calibration.{key}": one for key, one in free.items()}})


def trials_of(judged: Sequence[Judged]) -> tuple[Trial, ...]:
    """What became of each question; `CalibrationError` when one could not be asked, since nobody knows its outcome."""
    faults = [one for one in judged if one.fault is not None]
    if faults:
        first = faults[0]
        raise CalibrationError(
            f"{len(faults)} of {len(judged)} questions could not be asked; question {first.labelled.question.id}: "
            f"{first.fault}",
            hint="Correct these questions or take them out, then calibrate again.",
        )
    return tuple(Trial(one.confidence, one.answered, not one.right) for one in judged)


class Grouping(StrEnum):
    """What makes questions hang together: nothing, the same words, or the same document."""

    NONE = "none"
    TEXT = "text"
    DOCUMENT = "document"


def groups_by(items: Sequence[Labelled], grouping: Grouping) -> list[str] | None:
    """The group of each question; None when each stands alone."""
    match grouping:
        case Grouping.NONE:
            return None
        case Grouping.TEXT:
            return [" ".join(item.question.text.casefold().split()) for item in items]
        case Grouping.DOCUMENT:
            return ["\n".join(_documents(item)) or f"? {item.question.id}" for item in items]


def _documents(item: Labelled) -> list[str]:
    """The documents that a question is confined to, else those that answer it."""
    return sorted(item.question.filters.doc_ids or {one.doc_id for one in item.gold})


def crowding(items: Sequence[Labelled]) -> str | None:
    """A warning when many questions share their words or the document they are confined to."""
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
