"""The measures: what each is, which questions it counts, and its figure under any weighting of the questions.

A question without a result (a fault) is on the losing side of every measure of quality: found nothing, quoted nothing,
answered wrongly, and with the highest confidence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from quoth.evaluation.curves import (
    Flags,
    Floats,
    area_under_risk,
    auroc,
    calibration_error,
    coverage_at,
    ratio,
    risk_coverage,
)
from quoth.evaluation.overlap import character_scores, first_ranks, recall
from quoth.evaluation.run import Judged
from quoth.evaluation.stages import STAGES, TOP, tag_pairs

HITS_AT = (1, 3, 6)
RISKS = (0.05, 0.10, 0.20)
RETRIEVED = 20
"""Depth at which the retrievers are compared."""


@dataclass(frozen=True, slots=True, eq=False)
class Measure:
    """`better` is "higher", "lower", or "" where neither is. `each` is the value of every question, NaN where it does
    not count; None for a figure that no single question has. `of` gives one figure for each row of weights."""

    key: str
    group: str
    title: str
    better: str
    counted: int
    each: Floats | None
    of: Callable[[Floats], Floats]


def measures_of(judged: Sequence[Judged]) -> tuple[tuple[Measure, ...], dict[str, str]]:
    """Every measure that can be taken, in a fixed order, and why the others cannot."""
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


def _mean(key: str, group: str, title: str, *, better: str, each: Sequence[float | None]) -> Measure:
    """The mean over the questions that have a value."""
    values = np.array([np.nan if one is None else one for one in each], dtype=np.float64)
    counts = np.isfinite(values).astype(np.float64)
    of = partial(_quotient, np.nan_to_num(values), counts)
    return Measure(key, group, title, better, int(counts.sum()), values, of)


def _quotient(above: Floats, below: Floats, weights: Floats) -> Floats:
    return ratio(np.einsum("rq,q->r", weights, above), np.einsum("rq,q->r", weights, below))


def _exactness(judged: Sequence[Judged], absent: dict[str, str]) -> Iterator[Measure]:
    if any(one.exactness is None for one in judged):
        absent["citations_exact"] = "without the index nothing can be sliced again"
        return
    checked = [one.exactness for one in judged if one.exactness is not None]
    total = np.array([float(one.citations) for one in checked])
    exact = np.array([float(one.citations - one.inexact) for one in checked])
    of = partial(_quotient, exact, total)
    yield Measure("citations_exact", "exactness", "citations that are exact", "higher", int(total.sum()), None, of)


def _stages(judged: Sequence[Judged], absent: dict[str, str]) -> Iterator[Measure]:
    known = [one.stages for one in judged if one.fault is None]
    if not known or any(one is None for one in known):
        why = "the run does not record the stages: ask live, or give a file that --save wrote"
        absent |= dict.fromkeys(("recall by stage", f"recall@{RETRIEVED}", f"precision@{TOP}", "tag_pairs_gained"), why)
        return
    present = [name for name in STAGES if all(one is not None and name in one.ranks for one in known)]
    for name in STAGES:
        if name in present:
            each = [_recall(one, name, at=None) for one in judged]
            yield _mean(f"recall_{name}", "recall", f"recall of gold, {name}", better="higher", each=each)
        else:
            absent[f"recall_{name}"] = f"the search did not use the {name} way"
    for name, title in (("lexical", "lexical"), ("dense", "dense"), ("fused", "hybrid")):
        if name in present:
            each = [_recall(one, name, at=RETRIEVED) for one in judged]
            key = f"recall@{RETRIEVED}_{title}"
            yield _mean(key, "retrievers", f"recall@{RETRIEVED}, {title}", better="higher", each=each)
    with_boosts = [_precision(one, boosted=True) for one in judged]
    without = [_precision(one, boosted=False) for one in judged]
    gain = [None if a is None or b is None else a - b for a, b in zip(with_boosts, without, strict=True)]
    title = f"precision@{TOP}"
    yield _mean(f"{title}_boosted", "retrievers", f"{title} with boosts", better="higher", each=with_boosts)
    yield _mean(f"{title}_unboosted", "retrievers", f"{title} without boosts", better="higher", each=without)
    yield _mean(f"{title}_gain", "retrievers", f"{title} gained by boosts", better="higher", each=gain)


def _recall(one: Judged, stage: str, *, at: int | None) -> float | None:
    if not one.labelled.answerable:
        return None
    return recall(one.stages.ranks[stage], one.labelled, at=at) if one.stages else 0.0


def _precision(one: Judged, *, boosted: bool) -> float | None:
    if not one.labelled.answerable:
        return None
    return (one.stages.boosted if boosted else one.stages.unboosted) / TOP if one.stages else 0.0


def _quotes(judged: Sequence[Judged]) -> Iterator[Measure]:
    """Of the answerable questions, whether the decision let the quotes out or withheld them."""
    group = "quotes"
    for at in HITS_AT:
        hits = [float(hit_within(one, at)) if one.labelled.answerable else None for one in judged]
        yield _mean(f"hit@{at}", group, f"hit@{at}", better="higher", each=hits)
    scores = [_characters(one) if one.labelled.answerable else None for one in judged]
    for place, name in enumerate(("precision", "recall", "f1")):
        each = [None if score is None else score[place] for score in scores]
        yield _mean(f"char_{name}", group, f"character {_CAPITALS.get(name, name)}", better="higher", each=each)


_CAPITALS = {"f1": "F1"}


def hit_within(one: Judged, at: int) -> bool:
    """Whether one of the first `at` quotes touches gold."""
    return any(first_ranks([quote.place for quote in one.quotes[:at]], one.labelled.gold))


def _characters(one: Judged) -> tuple[float, float, float]:
    return character_scores([quote.place for quote in one.quotes], one.labelled)


def _decisions(judged: Sequence[Judged]) -> Iterator[Measure]:
    group = "decision"
    asked = [float(one.answered) for one in judged]
    answerable = [float(one.answered) if one.labelled.answerable else None for one in judged]
    false = [None if one.labelled.answerable else float(not one.abstained) for one in judged]
    risk = [None if one.abstained else float(not one.right) for one in judged]
    well = [float(not one.labelled.answerable if one.abstained else one.right) for one in judged]
    yield _mean("answer_rate", group, "answered", better="", each=asked)
    yield _mean("answer_rate_answerable", group, "answered, of the answerable", better="higher", each=answerable)
    yield _mean("false_answer_rate", group, "answered, of the unanswerable", better="lower", each=false)
    yield _mean("answer_risk", group, "wrong, of the answers", better="lower", each=risk)
    yield _mean("decided_well", group, "decided well", better="higher", each=well)


def _answers(judged: Sequence[Judged], absent: dict[str, str]) -> Iterator[Measure]:
    """Of what was let out: to the reader, a quote that was withheld is none."""
    group = "answers"
    for at in HITS_AT:
        hits = [float(not one.abstained and hit_within(one, at)) if one.labelled.answerable else None for one in judged]
        yield _mean(f"answered_hit@{at}", group, f"hit@{at}, answers", better="higher", each=hits)
    scores = [(0.0, 0.0, 0.0) if one.abstained else _characters(one) for one in judged]
    precision = [None if one.abstained else score[0] for one, score in zip(judged, scores, strict=True)]
    yield _mean("answered_char_precision", group, "character precision, answers", better="higher", each=precision)
    for place, name in ((1, "recall"), (2, "f1")):
        each = [score[place] if one.labelled.answerable else None for one, score in zip(judged, scores, strict=True)]
        title = f"character {_CAPITALS.get(name, name)}, answers"
        yield _mean(f"answered_char_{name}", group, title, better="higher", each=each)
    sentences = [float(len(one.quotes)) if one.answered else None for one in judged]
    yield _mean("sentences_per_answer", group, "sentences per answer", better="", each=sentences)
    for place, name in enumerate(("before", "after")):
        each = [one.redundancy[place] if one.answered and one.redundancy else None for one in judged]
        yield _mean(f"redundancy_{name}", group, f"redundancy {name} selection", better="lower", each=each)
    yield from _tags(judged, absent)


def _tags(judged: Sequence[Judged], absent: dict[str, str]) -> Iterator[Measure]:
    if not any(quote.tags for one in judged for quote in one.quotes):
        absent["tag_pairs"] = absent["tag_pairs_gained"] = "the quotes carry no tags"
        return
    pairs = [float(len(tag_pairs(quote.tags for quote in one.quotes))) if one.answered else None for one in judged]
    yield _mean("tag_pairs", "answers", "tag pairs per answer", better="higher", each=pairs)
    if "tag_pairs_gained" not in absent:
        gained = [float(one.stages.pairs_gained) if one.answered and one.stages else None for one in judged]
        yield _mean("tag_pairs_gained", "answers", "tag pairs gained by selection", better="higher", each=gained)


def _confidence(judged: Sequence[Judged]) -> Iterator[Measure]:
    """Of all questions, answered or not, ordered by confidence."""
    group, count = "confidence", len(judged)
    confidence = np.array([one.confidence for one in judged])
    right = np.array([one.right for one in judged])
    answerable = np.array([one.labelled.answerable for one in judged])
    faults = np.array([one.fault is not None for one in judged])

    def measure(key: str, title: str, better: str, of: Callable[[Floats], Floats]) -> Measure:
        return Measure(key, group, title, better, count, None, of)

    yield measure("auroc", "AUROC, right from wrong", "higher", partial(_auroc_right, confidence, right, faults))
    # A fault is the last of the answerable or the first of the unanswerable.
    scores = np.where(faults, np.where(answerable, -np.inf, np.inf), confidence)
    yield measure(
        "auroc_answerable",
        "AUROC, answerable from not",
        "higher",
        lambda weights: auroc(scores, answerable, weights),
    )
    curve = partial(risk_coverage, confidence, ~right)
    yield measure("aurc", "area under risk-coverage", "lower", lambda weights: area_under_risk(curve(weights)))
    for risk in RISKS:
        of = partial(_coverage, confidence, ~right, risk)
        yield measure(f"coverage@{risk:.0%}", f"coverage at {risk:.0%} risk", "higher", of)
    ece = partial(_calibration, confidence, right, faults)
    yield measure("ece", "expected calibration error", "lower", ece)


def _auroc_right(confidence: Floats, right: Flags, faults: Flags, weights: Floats) -> Floats:
    """A fault counts twice, as the surest wrong and as the least sure right answer: whatever it would have been, no
    other way of losing it costs more."""
    lost = np.flatnonzero(faults)
    scores = np.concatenate([np.where(faults, np.inf, confidence), np.full(len(lost), -np.inf)])
    positive = np.concatenate([right, np.ones(len(lost), dtype=np.bool_)])
    return auroc(scores, positive, np.concatenate([weights, weights[:, lost]], axis=1))


def _coverage(confidence: Floats, wrong: Flags, risk: float, weights: Floats) -> Floats:
    return coverage_at(risk_coverage(confidence, wrong, weights), risk)


def _calibration(confidence: Floats, right: Flags, faults: Flags, weights: Floats) -> Floats:
    return calibration_error(confidence, right, faults, weights=weights)
