"""Apply a calibration: its threshold, its map from scores to probabilities, and the circumstances it was made for.

Fitted weights of the evidence model have circumstances as well.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

from quoth.errors import CalibrationError
from quoth.settings import CalibrationSettings, EvidenceSettings, Settings
from quoth.types import Filters, ModelIdentity

_EDGE = 1e-4
"""Scores nearer to 0 or 1 are moved here, since their log odds would be unbounded."""

_WITHOUT_EFFECT = frozenset(
    "evidence calibration embedding ingest store context cache log access receipts retrieval.max_question_characters "
    "rerank.model rerank.download".split()
)
"""Sections and keys that change no confidence; every other counts. Models and kind of store are compared by name."""


def log_odds(confidence: float) -> float:
    """Return ln(p / (1 - p)) of a confidence, kept away from 0 and 1."""
    inside = min(max(confidence, _EDGE), 1 - _EDGE)
    return math.log(inside / (1 - inside))


def calibrated(confidence: float, calibration: CalibrationSettings) -> float:
    """Return the probability for a raw confidence; the same value when no calibration is in force."""
    if calibration.threshold is None:
        return confidence
    odds = calibration.slope * log_odds(confidence) + calibration.intercept
    return 1 / (1 + math.exp(-odds)) if odds >= 0 else math.exp(odds) / (1 + math.exp(odds))


def settings_in_force(
    settings: Settings,
    filters: Filters,
    *,
    degraded: Sequence[str],
    missing_shards: Sequence[str],
    language: str | None = None,
) -> Settings:
    """Return the settings, without their calibration when only a part of the search or of the index was used.

    `language` is the one that the evidence was judged in, where it is not English: a calibration is for one language.

    A calibration was made with the whole search of the whole index, and says nothing about a part of either. Nor does
    it about the parts beside the text, which no labelled question was asked of.
    """
    same = settings.calibration.threshold is None or settings.calibration.language == language
    if same and "dense" not in degraded and not missing_shards and not filters.regions:
        return settings
    return replace(settings, calibration=CalibrationSettings())


def threshold_in_force(calibration: CalibrationSettings, *, plain: float) -> float:
    """Return the confidence that an answer needs: the calibrated threshold, or else the `plain` one."""
    return plain if calibration.threshold is None else calibrated(calibration.threshold, calibration)


def circumstances(
    settings: Settings, *, confidence: str, model: ModelIdentity, store: str, profile: tuple[str, str]
) -> dict[str, str]:
    """Return what a calibration depends on, by name.

    `profile` is the profile's name and YAML; `confidence` names how the confidence is computed. The documents are left
    out: an index that grows keeps its calibration, as long as questions and documents stay of the same kind.
    """
    from quoth.language.boundaries import SPLITTER_VERSION  # only a calibrated engine needs it

    name, source = profile
    return {
        "confidence": confidence,
        "model": _named(model),
        "splitter": str(SPLITTER_VERSION),
        "store": store,
        "profile": f"{name}, {hashlib.sha256(source.encode()).hexdigest()[:12]}",
        **{
            f"{section}.{name}": value if isinstance(value, str) else json.dumps(value, sort_keys=True)
            for section, values in asdict(settings).items()
            for name, value in values.items()
            if section not in _WITHOUT_EFFECT and f"{section}.{name}" not in _WITHOUT_EFFECT
        },
    }


def fit_circumstances(
    *, reranker: str, reader: str | None, mode: str, model: ModelIdentity, store: str
) -> dict[str, str]:
    """Return what fitted weights depend on, by name: whatever changes the scale of a feature, or takes it away.

    `reader` is the revision of the cross-encoder, None when there is none; `mode` is that of the search.
    """
    read_by = {} if reader is None else {"reader": reader}
    return {"reranker": reranker, **read_by, "mode": mode, "model": _named(model), "store": store}


def _named(model: ModelIdentity) -> str:
    return f"{model.name}, {model.revision}, {model.precision}, {model.dimension}"


def check_calibration(calibration: CalibrationSettings, now: Mapping[str, str]) -> None:
    """Raise `CalibrationError`, naming the differences, unless the calibration was made for what is `now` in force."""
    if calibration.threshold is not None and calibration.made_for != now:
        raise CalibrationError(
            f"the calibration in the settings was made for something else: {_differences(calibration.made_for, now)}",
            hint="Calibrate again (quoth calibrate QUESTIONS), remove the section 'calibration' from the settings "
            "file, or leave it aside with --set calibration.threshold=null.",
        )


def check_fit(evidence: EvidenceSettings, now: Mapping[str, str]) -> None:
    """Raise `CalibrationError`, naming the differences, unless the weights were fitted for what is `now` in force."""
    if evidence.sentence and evidence.made_for != now:
        raise CalibrationError(
            f"the weights in the settings were fitted for something else: {_differences(evidence.made_for, now)}",
            hint="Fit again (quoth fit QUESTIONS), remove the section 'evidence' from the settings file, "
            "or leave it aside with --set evidence.sentence={}.",
        )


def _differences(made_for: Mapping[str, str], now: Mapping[str, str]) -> str:
    return "; ".join(
        f"{name} ({made_for.get(name, 'nothing')} then, {now.get(name, 'nothing')} now)"
        for name in dict.fromkeys((*now, *made_for))
        if made_for.get(name) != now.get(name)
    )
