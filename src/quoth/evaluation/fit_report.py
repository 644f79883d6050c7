"""What a fit of the evidence model is reported as: a section of the settings, JSON, and why it is not kept."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from quoth.evaluation.calibrate import section_yaml
from quoth.evaluation.fit_evidence import SECTION, EvidenceFit, weights_json
from quoth.evaluation.fit_quality import FOLDS

_REMARK = "Written by quoth fit; refused where `made_for` does not hold. Remove the section to undo it."


def _values(fitted: EvidenceFit) -> dict[str, Any]:
    return {
        "sentence": weights_json(fitted.sentence),
        "answer": weights_json(fitted.answer),
        "questions": fitted.questions,
        "made_for": dict(fitted.made_for),
    }


def fit_section(fitted: EvidenceFit) -> str:
    """Return the section of the settings file as YAML."""
    return section_yaml(SECTION, _values(fitted), remark=_REMARK)


def shortfall(fitted: EvidenceFit) -> tuple[str, str]:
    """Return why the fit is not kept, and a hint what to do."""
    figures = [
        f"the log loss of {name} is {model.fitted.log_loss:.3f} ± {model.margin:.3f} (in force "
        f"{model.in_force.log_loss:.3f}, without any feature {model.constant:.3f})"
        for name, model in fitted.models.items()
    ]
    before, after = fitted.well
    figures.append(f"{after:.3f} of the questions are decided well (in force {before:.3f})")
    return (
        f"on held-out questions fitted weights are not clearly better: {', '.join(figures)}",
        "The weights in force stay. Label more questions of the kind you expect, above all unanswerable ones.",
    )


def fit_json(fitted: EvidenceFit, *, written: str | None) -> dict[str, Any]:
    """Return the whole fit as JSON; `written` is the settings file, None if nothing was written."""
    why, todo = (None, None) if fitted.better else shortfall(fitted)
    return {
        "better": fitted.better,
        **_values(fitted),
        "in_force": {
            "sentence": weights_json(fitted.in_force.sentence),
            "answer": weights_json(fitted.in_force.answer),
        },
        "answerable": fitted.answerable,
        "folds": FOLDS,
        "grouped_by": fitted.grouped_by,
        "held_out": {
            **{name: asdict(model) for name, model in fitted.models.items()},
            "decided_well": dict(zip(("in_force", "fitted"), fitted.well, strict=True)),
        },
        "message": why,
        "hint": todo,
        "written": written,
    }
