"""Five-fold measures by domain: the probabilities fitted on four domains, and how they hold on the fifth.

`fit.py` writes them to DIR/folds.json. The documents were held out from training, but the reader has seen others of the
same sets; only the weights of the probabilities have seen nothing of the domain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from asked import Asked

from quoth.evaluation.measures import auroc, calibration_error, coverage_at, risk_coverage

DOMAINS = {
    "encyclopedia": ("disflqa_squad2", "quotesum_dev", "selqa", "squad2_rhine", "xquad_en"),
    "medicine": ("covidqa", "medquad", "pubmedqa_pqal"),
    "contracts": ("cuad_other",),
    "finance and papers": ("qasper_paragraphs", "tatqa"),
    "talks and stories": ("doqa", "fairytaleqa"),
}
RISK = 0.2
ANSWERED_AT = 0.5

Judge = Callable[[Asked], tuple[float, bool]]
"""Return the confidence of an answer and whether its best sentence is right."""


def by_domain(asked: Sequence[Asked], fit_judge: Callable[[Sequence[Asked]], Judge]) -> dict[str, dict[str, Any]]:
    """Return the measures of each domain under the weights that the other domains give, for questions of people."""
    table = {}
    for domain, sets in DOMAINS.items():
        judge = fit_judge([one for one in asked if one.item.set not in sets])
        table[domain] = measured([one for one in asked if one.item.set in sets and one.of_people], judge)
    return table


def measured(asked: Sequence[Asked], judge: Judge) -> dict[str, Any]:
    judged = [judge(one) for one in asked]
    confidence = np.array([value for value, _ in judged])
    right = np.array([is_right for _, is_right in judged])
    answerable = np.array([bool(one.item.gold) for one in asked])
    answered = confidence >= ANSWERED_AT
    ones, no_faults = np.ones((1, len(asked))), np.zeros(len(asked), dtype=np.bool_)
    figures = {
        "hit@1": right[answerable].mean(),
        "AUROC": auroc(confidence, right, ones)[0],
        "coverage at 20% risk": coverage_at(risk_coverage(confidence, ~right, ones), RISK)[0],
        "answered, of the answerable": answered[answerable].mean(),
        "answered, of the unanswerable": answered[~answerable].mean() if not answerable.all() else np.nan,
        "calibration error": calibration_error(confidence, right, no_faults, ones)[0],
    }
    return {"questions": len(asked), **{name: round(float(value), 3) for name, value in figures.items()}}
