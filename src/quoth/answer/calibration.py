"""A calibration at work: its threshold, its map from scores to probabilities, and what it was made for."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace

from quoth.errors import CalibrationError
from quoth.settings import CalibrationSettings, DecisionSettings, Settings
from quoth.types import ModelIdentity

_EDGE = 1e-4
"""A score nearer than this to 0 or 1 counts as this near, since its log odds would be without bounds."""

_WITHOUT_EFFECT = frozenset({"calibration", "embedding", "ingest", "store", "context", "cache", "log"})
"""Sections that change no confidence. The model stands for `embedding`, the kind of store for `store`."""
_LIMITS = frozenset({"retrieval.max_question_characters"})
"""Keys that change none either."""


def log_odds(confidence: float) -> float:
    """ln(p / (1 - p)) of a confidence, away from the two ends."""
    inside = min(max(confidence, _EDGE), 1 - _EDGE)
    return math.log(inside / (1 - inside))


def calibrated(confidence: float, calibration: CalibrationSettings) -> float:
    """The probability that stands for a raw confidence; the same value when no calibration is in force."""
    if calibration.threshold is None:
        return confidence
    odds = calibration.slope * log_odds(confidence) + calibration.intercept
    return 1 / (1 + math.exp(-odds)) if odds >= 0 else math.exp(odds) / (1 + math.exp(odds))


def decision_in_force(settings: Settings) -> DecisionSettings:
    """The settings of the decision, with the calibrated threshold in place of the plain one."""
    if settings.calibration.threshold is None:
        return settings.decision
    threshold = calibrated(settings.calibration.threshold, settings.calibration)
    return replace(settings.decision, abstain_score_thresh=threshold)


def circumstances(
    settings: Settings, *, confidence: str, model: ModelIdentity, store: str, profile: tuple[str, str]
) -> dict[str, str]:
    """What a calibration depends on, each part by its name. `profile` is its name and YAML; `confidence` names how the
    confidence comes about.

    The documents are no part of it: an index that grows keeps its calibration, for as long as the questions and the
    documents stay of the same kind.
    """
    from quoth.text.sentences import SPLITTER_VERSION  # only a calibrated engine needs it

    name, source = profile
    return {
        "confidence": confidence,
        "model": f"{model.name}, {model.revision}, {model.precision}, {model.dimension}",
        "splitter": str(SPLITTER_VERSION),
        "store": store,
        "profile": f"{name}, {hashlib.sha256(source.encode()).hexdigest()[:12]}",
        **dict(_influences(settings)),
    }


def _influences(settings: Settings) -> Iterator[tuple[str, str]]:
    """Every setting that can change a confidence or what is answered; a section not known here counts as one."""
    for section, values in asdict(settings).items():
        if section in _WITHOUT_EFFECT:
            continue
        for name, value in values.items():
            if f"{section}.{name}" not in _LIMITS:
                yield f"{section}.{name}", value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def check_calibration(calibration: CalibrationSettings, now: Mapping[str, str]) -> None:
    """Refuse a calibration that was made for something else than what is `now` in force; name what differs."""
    if calibration.threshold is None or calibration.made_for == now:
        return
    made_for = calibration.made_for
    names = [*now, *(name for name in made_for if name not in now)]
    differing = [
        f"{name} ({made_for.get(name, 'nothing')} then, {now.get(name, 'nothing')} now)"
        for name in names
        if made_for.get(name) != now.get(name)
    ]
    raise CalibrationError(
        f"the calibration in the settings was made for something else: {'; '.join(differing)}",
        hint="Calibrate again (quoth calibrate QUESTIONS), remove the section 'calibration' from the settings file, "
        "or leave it aside with --set calibration.threshold=null.",
    )
