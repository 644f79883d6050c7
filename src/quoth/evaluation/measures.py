"""The metrics: what each is, which questions it counts, and its figure under any weighting of the questions.

A question without a result (a fault) counts against every metric of quality: nothing found, nothing quoted, answered
wrongly, and with the highest confidence.

Weights have one row for each weighting and one column for each question; a row of ones gives the plain figure. A figure
is one number for each row, NaN where it is undefined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from quoth.evaluation.highlight_scores import highlight_f1, is_highlighted
from quoth.evaluation.judgements import STAGES, TOP, Judgement, QuotedSentence, is_right, tag_pairs
from quoth.evaluation.labelled_questions import character_scores, first_ranks, recall
from quoth.types import QuoteRole

Floats: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]

HITS_AT = (1, 3, 6)
RISKS = (0.05, 0.10, 0.20)
RETRIEVED = 20
"""Depth at which the retrievers are compared."""
BINS = 10
"""Bins of equal width in which confidence and the share of right answers are compared."""
_SLACK = 1e-9
"""Sums of weights are whole numbers; a risk at its limit must not be lost to rounding."""


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
        *_overlap(judged, "quotes", precise=_answerable),
        *_decisions(judged),
        *_answers(judged, absent),
        *_highlights(judged, absent),
        *_confidence(judged),
    ]
    return tuple(found), absent


_answerable: Callable[[Judgement], bool] = attrgetter("labelled.answerable")
_answered: Callable[[Judgement], bool] = attrgetter("answered")


def _mean(
    judged: Sequence[Judgement],
    group: str,
    key: str,
    title: str,
    value: Callable[[Judgement], float | None],
    *,
    counts: Callable[[Judgement], bool] = lambda _: True,
    better: str = "higher",
) -> Metric:
    """Build the metric that is the mean over the questions that count and have a value."""
    each = [value(judgement) if counts(judgement) else None for judgement in judged]
    values = np.array([np.nan if known is None else known for known in each], dtype=np.float64)
    counted = np.isfinite(values).astype(np.float64)
    of = partial(_quotient, np.nan_to_num(values), counted)
    return Metric(key, group, title, better, int(counted.sum()), values, of)


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
    mean = partial(_mean, judged, counts=_answerable)
    present = [name for name in STAGES if all(stages is not None and name in stages.ranks for stages in known)]
    for name in STAGES:
        if name in present:
            yield mean("recall", f"recall_{name}", f"recall of gold, {name}", partial(_recall, name, None))
        else:
            absent[f"recall_{name}"] = f"the search did not use the {name} way"
    for name, title in (("lexical", "lexical"), ("dense", "dense"), ("fused", "hybrid")):
        if name in present:
            key = f"recall@{RETRIEVED}"
            yield mean("retrievers", f"{key}_{title}", f"{key}, {title}", partial(_recall, name, RETRIEVED))
    for name, title in (("boosted", "with boosts"), ("unboosted", "without boosts"), ("gain", "gained by boosts")):
        key = f"precision@{TOP}"
        yield mean("retrievers", f"{key}_{name}", f"{key} {title}", partial(_precision, name))


def _recall(stage: str, at: int | None, judgement: Judgement) -> float:
    return recall(judgement.stages.ranks[stage], judgement.labelled, at=at) if judgement.stages else 0.0


def _precision(order: str, judgement: Judgement) -> float:
    if judgement.stages is None:
        return 0.0
    boosted, unboosted = judgement.stages.boosted / TOP, judgement.stages.unboosted / TOP
    return {"boosted": boosted, "unboosted": unboosted, "gain": boosted - unboosted}[order]


def _overlap(
    judged: Sequence[Judgement], group: str, *, precise: Callable[[Judgement], bool], prefix: str = "", suffix: str = ""
) -> Iterator[Metric]:
    """Yield how far quotes and gold agree over the answerable questions; `precise` selects those for the precision."""
    mean = partial(_mean, judged, group)
    for at in HITS_AT:
        yield mean(f"{prefix}hit@{at}", f"hit@{at}{suffix}", partial(_hit, at), counts=_answerable)
    for place, name in enumerate(("precision", "recall", "F1")):
        key, title = f"{prefix}char_{name.lower()}", f"character {name}{suffix}"
        yield mean(key, title, partial(_characters, place), counts=_answerable if place else precise)


def _hit(at: int, judgement: Judgement) -> bool:
    """Return whether any of the first `at` quotes touches gold."""
    return any(first_ranks([quote.place for quote in judgement.quotes[:at]], judgement.labelled.gold))


def _characters(place: int, judgement: Judgement) -> float:
    return character_scores([quote.place for quote in judgement.quotes], judgement.labelled)[place]


def _decisions(judged: Sequence[Judgement]) -> Iterator[Metric]:
    mean = partial(_mean, judged, "decision")
    yield mean("answer_rate", "answered", _answered, better="")
    yield mean("answer_rate_answerable", "answered, of the answerable", _answered, counts=_answerable)
    yield mean("false_answer_rate", "answered, of the unanswerable", _given, counts=_unanswerable, better="lower")
    yield mean("answer_risk", "wrong, of the answers", lambda answer: not answer.right, counts=_given, better="lower")
    yield mean("decided_well", "decided well", _decided_well)


def _quote_precision(shown: Sequence[Judgement], key: str, title: str) -> Metric:
    quoted = np.array([float(len(judgement.quotes)) for judgement in shown])
    touching = np.array(
        [float(sum(is_right(judgement.labelled, [one]) for one in judgement.quotes)) for judgement in shown]
    )
    of = partial(_quotient, touching, quoted)
    return Metric(key, "answers", title, "higher", int(quoted.sum()), None, of)


def _answers_itself(quote: QuotedSentence) -> bool:
    return quote.role == QuoteRole.ANSWER


def _given(judgement: Judgement) -> bool:
    """Return whether the engine did not abstain; a question without a result counts as answered wrongly."""
    return not judgement.abstained


def _unanswerable(judgement: Judgement) -> bool:
    return not judgement.labelled.answerable


def _decided_well(judgement: Judgement) -> bool:
    return _unanswerable(judgement) if judgement.abstained else judgement.right


def _answers(judged: Sequence[Judgement], absent: dict[str, str]) -> Iterator[Metric]:
    """Yield metrics of the answers given; a withheld quote counts as no quote."""
    shown = [replace(judgement, quotes=()) if judgement.abstained else judgement for judgement in judged]
    yield from _overlap(shown, "answers", precise=_given, prefix="answered_", suffix=", answers")
    yield _quote_precision(shown, "quote_precision", "quotes that touch gold")
    answering = [replace(judgement, quotes=tuple(filter(_answers_itself, judgement.quotes))) for judgement in shown]
    yield _quote_precision(answering, "answer_quote_precision", "answer quotes that touch gold")
    mean = partial(_mean, judged, "answers", counts=_answered)
    yield mean("sentences_per_answer", "sentences per answer", lambda answer: len(answer.quotes), better="")
    for place, name in enumerate(("before", "after")):
        title = f"redundancy {name} selection"
        yield mean(f"redundancy_{name}", title, partial(_redundancy, place), better="lower")
    if not any(quote.tags for judgement in judged for quote in judgement.quotes):
        absent["tag_pairs"] = absent["tag_pairs_gained"] = "the quotes carry no tags"
        return
    yield mean(
        "tag_pairs", "tag pairs per answer", lambda answer: len(tag_pairs(quote.tags for quote in answer.quotes))
    )
    if "tag_pairs_gained" not in absent:
        yield mean("tag_pairs_gained", "tag pairs gained by selection", attrgetter("stages.pairs_gained"))


def _highlights(judged: Sequence[Judgement], absent: dict[str, str]) -> Iterator[Metric]:
    """Yield metrics of the highlights, over the answers that quote a sentence with short gold in it."""
    answered = [judgement for judgement in judged if judgement.answered]
    if any(quote.highlights is None for judgement in answered for quote in judgement.quotes):
        absent["highlight_f1"] = "the run does not record highlights"
        return
    if all(highlight_f1(judgement) is None for judgement in answered):
        absent["highlight_f1"] = "no answer quotes a sentence with gold that is at most half of it"
        return
    mean = partial(_mean, judged, "answers", counts=_answered)
    yield mean("highlighted", "quotes with highlights, where gold is short", is_highlighted, better="")
    yield mean("highlight_f1", "token F1 of highlights, where gold is short", highlight_f1)


def _redundancy(place: int, judgement: Judgement) -> float | None:
    return judgement.redundancy[place] if judgement.redundancy else None


def _confidence(judged: Sequence[Judgement]) -> Iterator[Metric]:
    """Yield metrics of the confidence over all questions, answered or not."""
    confidence = np.array([judgement.confidence for judgement in judged])
    right = np.array([judgement.right for judgement in judged])
    answerable = np.array([_answerable(judgement) for judgement in judged])
    faults = np.array([judgement.fault is not None for judgement in judged])

    def measure(key: str, title: str, better: str, of: Callable[[Floats], Floats]) -> Metric:
        return Metric(key, "confidence", title, better, len(judged), None, of)

    yield measure("auroc", "AUROC, right from wrong", "higher", partial(_auroc_right, confidence, right, faults))
    # A fault is the last of the answerable or the first of the unanswerable.
    scores = np.where(faults, np.where(answerable, -np.inf, np.inf), confidence)
    yield measure("auroc_answerable", "AUROC, answerable from not", "higher", partial(auroc, scores, answerable))
    curve = partial(risk_coverage, confidence, ~right)
    yield measure("aurc", "area under risk-coverage", "lower", lambda weights: area_under_risk(curve(weights)))
    for risk in RISKS:
        at = partial(lambda risk, weights: coverage_at(curve(weights), risk), risk)
        yield measure(f"coverage@{risk:.0%}", f"coverage at {risk:.0%} risk", "higher", at)
    ece = partial(calibration_error, confidence, right, faults)
    yield measure("ece", "expected calibration error", "lower", ece)


def _auroc_right(confidence: Floats, right: Flags, faults: Flags, weights: Floats) -> Floats:
    """Compute the AUROC with each fault counted as both the surest wrong and the least sure right answer.

    No result of the question could have done worse.
    """
    lost = np.flatnonzero(faults)
    scores = np.concatenate([np.where(faults, np.inf, confidence), np.full(len(lost), -np.inf)])
    positive = np.concatenate([right, np.ones(len(lost), dtype=np.bool_)])
    return auroc(scores, positive, np.concatenate([weights, weights[:, lost]], axis=1))


# Risk against coverage, AUROC and calibration. Questions of equal confidence are handled together, so that no figure
# depends on their order.


@dataclass(frozen=True, slots=True, eq=False)
class RiskCoverage:
    """For each weighting (row) and threshold (column, strictest first) the share answered and the wrong among them.

    The risk of an empty answer set is NaN.
    """

    thresholds: Floats
    coverage: Floats
    risk: Floats


def risk_coverage(confidence: Floats, wrong: Flags, weights: Floats) -> RiskCoverage:
    """Compute the curve over every threshold that separates two questions."""
    thresholds, answered = _by_group(-confidence, weights)
    _, errors = _by_group(-confidence, weights * wrong)
    answered, errors = np.cumsum(answered, axis=1), np.cumsum(errors, axis=1)
    return RiskCoverage(-thresholds, ratio(answered, answered[:, -1:]), ratio(errors, answered))


def area_under_risk(curve: RiskCoverage) -> Floats:
    """Return the mean risk over all coverages: for each question, the risk at the threshold that just answers it."""
    steps = np.diff(curve.coverage, axis=1, prepend=0.0)
    return _or_nan(np.nansum(curve.risk * steps, axis=1), np.isfinite(curve.coverage[:, -1]))


def coverage_at(curve: RiskCoverage, risk: float) -> Floats:
    """Return the largest share answered at a threshold where at most `risk` of the answers are wrong; 0 if none is."""
    good = curve.risk <= risk + _SLACK  # NaN compares as false
    return _or_nan(np.max(np.where(good, curve.coverage, 0.0), axis=1), np.isfinite(curve.coverage[:, -1]))


def auroc(scores: Floats, positive: Flags, weights: Floats) -> Floats:
    """Return the probability that a positive scores higher than a negative; a tie counts half."""
    _, above = _by_group(scores, weights * positive)
    _, below = _by_group(scores, weights * ~positive)
    beaten = np.cumsum(below, axis=1) - below / 2
    return ratio(np.sum(above * beaten, axis=1), above.sum(axis=1) * below.sum(axis=1))


def bin_of(confidence: Floats) -> NDArray[np.intp]:
    """Return the bin of each confidence; 1.0 belongs to the last bin."""
    # Add a little before truncating: 0.3 * 10 must not fall into the bin below.
    return np.minimum((confidence * BINS + _SLACK).astype(np.intp), BINS - 1)


def calibration_error(confidence: Floats, right: Flags, faults: Flags, weights: Floats) -> Floats:
    """Return the expected calibration error: the gap between confidence and share right, averaged over the bins.

    A question without a result counts outside the bins, with the largest gap, 1.
    """
    inside = (bin_of(confidence)[:, None] == np.arange(BINS)) & ~faults[:, None]
    gaps = np.einsum("rq,qb->rb", weights, np.where(inside, (confidence - right)[:, None], 0.0))
    lost = np.einsum("rq,q->r", weights, faults.astype(np.float64))
    return ratio(np.abs(gaps).sum(axis=1) + lost, weights.sum(axis=1))


def _by_group(keys: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return the distinct keys, ascending, and the total weight of each."""
    unique, group = np.unique(keys, return_inverse=True)
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], np.arange(len(unique)))
    return unique, np.add.reduceat(weights[:, order], starts, axis=1)


def ratio(above: Floats, below: Floats) -> Floats:
    """Divide; NaN where the divisor is 0."""
    shape = np.broadcast_shapes(above.shape, below.shape)
    result = np.full(shape, np.nan)
    np.divide(above, below, out=result, where=np.broadcast_to(below > 0, shape))
    return result


def _or_nan(values: Floats, known: Flags) -> Floats:
    return np.where(known, values, np.nan)
