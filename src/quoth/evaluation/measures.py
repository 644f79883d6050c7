"""The metrics: what each is, which questions it counts, and its figure under any weighting of the questions.

A question without a result (a fault) counts against every metric of quality: nothing found, nothing quoted, answered
wrongly, and with the highest confidence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from quoth.evaluation.curves import (
    Flags,
    Floats,
    RiskCoverage,
    area_under_risk,
    auroc,
    calibration_error,
    coverage_at,
    ratio,
    risk_coverage,
)
from quoth.evaluation.judgements import STAGES, TOP, Judgement, tag_pairs
from quoth.evaluation.labelled_questions import character_scores, first_ranks, recall

HITS_AT = (1, 3, 6)
RISKS = (0.05, 0.10, 0.20)
RETRIEVED = 20
"""Depth at which the retrievers are compared."""


@dataclass(frozen=True, slots=True, eq=False)
class Metric:
    """A figure that describes a run.

    `better` is "higher", "lower", or "" where neither is. `each` holds the value of every question, NaN where it does
    not count; None for a figure that no single question has. `of` returns one figure for each row of weights.
    """

    key: str
    group: str
    title: str
    better: str
    counted: int
    each: Floats | None
    of: Callable[[Floats], Floats]


def measures_of(judged: Sequence[Judgement]) -> tuple[tuple[Metric, ...], dict[str, str]]:
    """Return every metric that can be computed, in a fixed order, and the reason for each that cannot."""
    absent: dict[str, str] = {}
    found = [
        *_exactness(judged, absent),
        *_stages(judged, absent),
        *_quotes(judged),
        *_decisions(judged),
        *_answers(judged, absent),
        *_confidence(judged),
    ]
    return tuple(found), absent


def _mean(key: str, group: str, title: str, *, better: str, each: Sequence[float | None]) -> Metric:
    """Build the metric that is the mean over the questions that have a value."""
    values = np.array([np.nan if value is None else value for value in each], dtype=np.float64)
    counts = np.isfinite(values).astype(np.float64)
    of = partial(_quotient, np.nan_to_num(values), counts)
    return Metric(key, group, title, better, int(counts.sum()), values, of)


def _quotient(above: Floats, below: Floats, weights: Floats) -> Floats:
    return ratio(np.einsum("rq,q->r", weights, above), np.einsum("rq,q->r", weights, below))


def _exactness(judged: Sequence[Judgement], absent: dict[str, str]) -> Iterator[Metric]:
    checked = [judgement.exactness for judgement in judged if judgement.exactness is not None]
    if len(checked) < len(judged):
        absent["citations_exact"] = "without the index nothing can be sliced again"
        return
    total = np.array([float(exactness.citations) for exactness in checked])
    exact = np.array([float(exactness.citations - exactness.inexact) for exactness in checked])
    of = partial(_quotient, exact, total)
    yield Metric("citations_exact", "exactness", "citations that are exact", "higher", int(total.sum()), None, of)


def _stages(judged: Sequence[Judgement], absent: dict[str, str]) -> Iterator[Metric]:
    known = [judgement.stages for judgement in judged if judgement.fault is None]
    if not known or None in known:
        why = "the run does not record the stages: ask live, or give a file that --save wrote"
        absent |= dict.fromkeys(("recall by stage", f"recall@{RETRIEVED}", f"precision@{TOP}", "tag_pairs_gained"), why)
        return
    present = [name for name in STAGES if all(stages is not None and name in stages.ranks for stages in known)]
    for name in STAGES:
        if name in present:
            each = [_recall(judgement, name, at=None) for judgement in judged]
            yield _mean(f"recall_{name}", "recall", f"recall of gold, {name}", better="higher", each=each)
        else:
            absent[f"recall_{name}"] = f"the search did not use the {name} way"
    for name, title in (("lexical", "lexical"), ("dense", "dense"), ("fused", "hybrid")):
        if name in present:
            each = [_recall(judgement, name, at=RETRIEVED) for judgement in judged]
            key = f"recall@{RETRIEVED}_{title}"
            yield _mean(key, "retrievers", f"recall@{RETRIEVED}, {title}", better="higher", each=each)
    with_boosts = [_precision(judgement, boosted=True) for judgement in judged]
    without = [_precision(judgement, boosted=False) for judgement in judged]
    gain = [None if a is None or b is None else a - b for a, b in zip(with_boosts, without, strict=True)]
    title = f"precision@{TOP}"
    yield _mean(f"{title}_boosted", "retrievers", f"{title} with boosts", better="higher", each=with_boosts)
    yield _mean(f"{title}_unboosted", "retrievers", f"{title} without boosts", better="higher", each=without)
    yield _mean(f"{title}_gain", "retrievers", f"{title} gained by boosts", better="higher", each=gain)


def _recall(judgement: Judgement, stage: str, *, at: int | None) -> float | None:
    if not judgement.labelled.answerable:
        return None
    return recall(judgement.stages.ranks[stage], judgement.labelled, at=at) if judgement.stages else 0.0


def _precision(judgement: Judgement, *, boosted: bool) -> float | None:
    if not judgement.labelled.answerable:
        return None
    return (judgement.stages.boosted if boosted else judgement.stages.unboosted) / TOP if judgement.stages else 0.0


def _quotes(judged: Sequence[Judgement]) -> Iterator[Metric]:
    """Yield metrics of the quotes to answerable questions, whether they were given or withheld."""
    group = "quotes"
    for at in HITS_AT:
        hits = [float(hit_within(judgement, at)) if judgement.labelled.answerable else None for judgement in judged]
        yield _mean(f"hit@{at}", group, f"hit@{at}", better="higher", each=hits)
    scores = [_characters(judgement) if judgement.labelled.answerable else None for judgement in judged]
    for place, name in enumerate(("precision", "recall", "f1")):
        each = [None if score is None else score[place] for score in scores]
        yield _mean(f"char_{name}", group, f"character {_CAPITALS.get(name, name)}", better="higher", each=each)


_CAPITALS = {"f1": "F1"}


def hit_within(judgement: Judgement, at: int) -> bool:
    """Return whether any of the first `at` quotes touches gold."""
    return any(first_ranks([quote.place for quote in judgement.quotes[:at]], judgement.labelled.gold))


def _characters(judgement: Judgement) -> tuple[float, float, float]:
    return character_scores([quote.place for quote in judgement.quotes], judgement.labelled)


def _decisions(judged: Sequence[Judgement]) -> Iterator[Metric]:
    group = "decision"
    asked = [float(judgement.answered) for judgement in judged]
    answerable = [float(judgement.answered) if judgement.labelled.answerable else None for judgement in judged]
    false = [None if judgement.labelled.answerable else float(not judgement.abstained) for judgement in judged]
    risk = [None if judgement.abstained else float(not judgement.right) for judgement in judged]
    well = [
        float(not judgement.labelled.answerable if judgement.abstained else judgement.right) for judgement in judged
    ]
    yield _mean("answer_rate", group, "answered", better="", each=asked)
    yield _mean("answer_rate_answerable", group, "answered, of the answerable", better="higher", each=answerable)
    yield _mean("false_answer_rate", group, "answered, of the unanswerable", better="lower", each=false)
    yield _mean("answer_risk", group, "wrong, of the answers", better="lower", each=risk)
    yield _mean("decided_well", group, "decided well", better="higher", each=well)


def _answers(judged: Sequence[Judgement], absent: dict[str, str]) -> Iterator[Metric]:
    """Yield metrics of the answers given; a withheld quote counts as no quote."""
    group = "answers"
    for at in HITS_AT:
        hits = [
            float(not judgement.abstained and hit_within(judgement, at)) if judgement.labelled.answerable else None
            for judgement in judged
        ]
        yield _mean(f"answered_hit@{at}", group, f"hit@{at}, answers", better="higher", each=hits)
    scores = [(0.0, 0.0, 0.0) if judgement.abstained else _characters(judgement) for judgement in judged]
    pairs = list(zip(judged, scores, strict=True))
    precision = [None if judgement.abstained else score[0] for judgement, score in pairs]
    yield _mean("answered_char_precision", group, "character precision, answers", better="higher", each=precision)
    for place, name in ((1, "recall"), (2, "f1")):
        each = [score[place] if judgement.labelled.answerable else None for judgement, score in pairs]
        title = f"character {_CAPITALS.get(name, name)}, answers"
        yield _mean(f"answered_char_{name}", group, title, better="higher", each=each)
    sentences = [float(len(judgement.quotes)) if judgement.answered else None for judgement in judged]
    yield _mean("sentences_per_answer", group, "sentences per answer", better="", each=sentences)
    for place, name in enumerate(("before", "after")):
        each = [
            judgement.redundancy[place] if judgement.answered and judgement.redundancy else None for judgement in judged
        ]
        yield _mean(f"redundancy_{name}", group, f"redundancy {name} selection", better="lower", each=each)
    yield from _tags(judged, absent)


def _tags(judged: Sequence[Judgement], absent: dict[str, str]) -> Iterator[Metric]:
    if not any(quote.tags for judgement in judged for quote in judgement.quotes):
        absent["tag_pairs"] = absent["tag_pairs_gained"] = "the quotes carry no tags"
        return
    pairs = [
        float(len(tag_pairs(quote.tags for quote in judgement.quotes))) if judgement.answered else None
        for judgement in judged
    ]
    yield _mean("tag_pairs", "answers", "tag pairs per answer", better="higher", each=pairs)
    if "tag_pairs_gained" not in absent:
        gained = [
            float(judgement.stages.pairs_gained) if judgement.answered and judgement.stages else None
            for judgement in judged
        ]
        yield _mean("tag_pairs_gained", "answers", "tag pairs gained by selection", better="higher", each=gained)


def _confidence(judged: Sequence[Judgement]) -> Iterator[Metric]:
    """Yield metrics of the confidence over all questions, answered or not."""
    group, count = "confidence", len(judged)
    confidence = np.array([judgement.confidence for judgement in judged])
    right = np.array([judgement.right for judgement in judged])
    answerable = np.array([judgement.labelled.answerable for judgement in judged])
    faults = np.array([judgement.fault is not None for judgement in judged])

    def measure(key: str, title: str, better: str, of: Callable[[Floats], Floats]) -> Metric:
        return Metric(key, group, title, better, count, None, of)

    yield measure("auroc", "AUROC, right from wrong", "higher", partial(_auroc_right, confidence, right, faults))
    # A fault is the last of the answerable or the first of the unanswerable.
    scores = np.where(faults, np.where(answerable, -np.inf, np.inf), confidence)
    yield measure(
        "auroc_answerable", "AUROC, answerable from not", "higher", lambda weights: auroc(scores, answerable, weights)
    )
    curve = partial(risk_coverage, confidence, ~right)
    yield measure("aurc", "area under risk-coverage", "lower", lambda weights: area_under_risk(curve(weights)))
    for risk in RISKS:
        key, title = f"coverage@{risk:.0%}", f"coverage at {risk:.0%} risk"
        yield measure(key, title, "higher", partial(_coverage, curve, risk))
    ece = partial(calibration_error, confidence, right, faults)
    yield measure("ece", "expected calibration error", "lower", lambda weights: ece(weights=weights))


def _coverage(curve: Callable[[Floats], RiskCoverage], risk: float, weights: Floats) -> Floats:
    return coverage_at(curve(weights), risk)


def _auroc_right(confidence: Floats, right: Flags, faults: Flags, weights: Floats) -> Floats:
    """Compute the AUROC with each fault counted as both the surest wrong and the least sure right answer.

    No result of the question could have done worse.
    """
    lost = np.flatnonzero(faults)
    scores = np.concatenate([np.where(faults, np.inf, confidence), np.full(len(lost), -np.inf)])
    positive = np.concatenate([right, np.ones(len(lost), dtype=np.bool_)])
    return auroc(scores, positive, np.concatenate([weights, weights[:, lost]], axis=1))
