"""Decide whether to answer: run an ordered list of checks, of which the first objection wins."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from quoth.answer.doubts import Doubts, Sources, in_corpus
from quoth.domain.authority import is_superseded
from quoth.language.quantities import quantities
from quoth.types import (
    NO_FILTERS,
    Analysis,
    Confidence,
    Document,
    Objection,
    QuoteRole,
    Ranked,
    Reason,
    Remark,
    Selection,
    all_of,
)

SURE = 0.8
"""The confidence from which a doubt no longer matters: in answers as sure as that, the doubt was mostly mistaken."""


@dataclass(frozen=True, slots=True)
class Case:
    """The input of a check."""

    analysis: Analysis
    """The question without what only its unsupported sub-questions name."""
    ranked: tuple[Ranked, ...]
    selection: Selection
    confidence: float
    min_support: int
    threshold: float
    """The least confidence of an answer."""
    sources: Sources
    doubts: Doubts
    sure: bool
    """Whether the confidence outweighs every doubt. A calibration must not change that: it counted the answers."""

    @property
    def doubtful(self) -> bool:
        """Whether one doubt is enough to abstain; it is also the best reason for an abstention."""
        return not self.sure or self.confidence < self.threshold


def is_sure(confidence: Confidence) -> bool:
    """Return whether a confidence, as it is before calibration, outweighs every doubt; only a probability can."""
    return bool(confidence.terms) and confidence.value >= SURE


Objections = tuple[tuple[str, Objection | None], ...]
"""The name of each check with its objection, or None if it has none."""


def no_results(case: Case) -> Objection | None:
    if case.ranked:
        return None
    filtered = case.analysis.question.filters != NO_FILTERS
    passes = Remark("No sentence of the corpus passes the filters of the question.")
    near = Remark("Nothing in the corpus comes near this question.")
    return Objection(Reason.NO_RESULTS, passes if filtered else near)


def unknown_entity(case: Case) -> Objection | None:
    """Object to names, years, dates and codes that the sources never mention, and to strange words that are never used.

    Another word objects by its part in the confidence alone: it is only named where that is too low.
    """
    doubts, reader = case.doubts, case.sources.reader
    for group in doubts.unknown if case.doubtful else ():
        nearest = any(in_corpus(entity, reader) for entity in group)
        near = Remark("the documents that come nearest")
        return _not_mentioned([group[0].text], near if nearest else _searched(case))
    likely = case.confidence >= case.threshold
    unused = () if likely and not case.doubtful else doubts.presumed if likely else doubts.telling
    return _not_mentioned(unused, _searched(case)) if unused else None


def _searched(case: Case) -> str:
    if case.sources.reader.missing:
        return Remark("the parts of the corpus that could be asked")
    if case.analysis.question.filters == NO_FILTERS:
        return Remark("the corpus")
    return Remark("what the filters leave of the corpus")


def _not_mentioned(texts: Sequence[str], where: str) -> Objection:
    named = all_of([Remark("'{text}'", text=text) for text in texts])
    one = Remark("{named} is not mentioned in {where}.", named=named, where=where)
    several = Remark("{named} are not mentioned in {where}.", named=named, where=where)
    return Objection(Reason.UNKNOWN_ENTITY, one if len(texts) == 1 else several)


def ungrounded_number(case: Case) -> Objection | None:
    """Object to a quote that cuts a number, a presumed number no source states, or a unit no evidence uses."""
    for document in case.sources.documents:
        for sentence in case.sources.quoted:
            span = sentence.quote.span
            if sentence.doc_id == document.id and (cut := _cut_quantity(document, span.start, span.end)):
                detail = Remark("The quote would cut '{cut}' in {doc_id}.", cut=cut, doc_id=document.id)
                return Objection(Reason.UNGROUNDED_NUMBER, detail)
    for text in case.doubts.unstated:
        detail = Remark("The question presumes '{text}', which no source states.", text=text)
        return Objection(Reason.UNGROUNDED_NUMBER, detail)
    for unit in case.doubts.unspoken_units:
        detail = Remark("The question asks for {unit}, and no evidence speaks of any.", unit=unit)
        return Objection(Reason.UNGROUNDED_NUMBER, detail)
    return None


def _cut_quantity(document: Document, start: int, end: int) -> str | None:
    """Return the quantity that `start` or `end` splits, or None: `5 cm` is an exact slice of `2.5 cm`, but wrong."""
    margin = 24
    text = document.text
    for edge in (start, end):
        low = max(0, edge - margin)
        around = text[low : edge + margin]
        for quantity in quantities(around, document.metadata.language):
            span = quantity.span
            if low + span.start < edge < low + span.end and not around[edge - low - 1 : edge + 1].isspace():
                return around[span.start : span.end]
    return None


def insufficient_support(case: Case) -> Objection | None:
    supporting, quotes = len(case.selection.supporting), len(case.selection.evidence)
    if supporting and quotes >= case.min_support:
        return None
    if not supporting:
        detail = Remark("No sentence that was found supports an answer by itself.")
        return Objection(Reason.INSUFFICIENT_SUPPORT, detail)
    detail = Remark(
        "Only {quotes} of the {needed} sentences that an answer needs were found.",
        quotes=quotes,
        needed=case.min_support,
    )
    return Objection(Reason.INSUFFICIENT_SUPPORT, detail)


def low_confidence(case: Case) -> Objection | None:
    for asked, stated in case.doubts.opposed if case.doubtful else ():
        detail = Remark("The question says '{asked}' where the evidence says '{stated}'.", asked=asked, stated=stated)
        return Objection(Reason.LOW_CONFIDENCE, detail)
    if case.confidence >= case.threshold:
        return None
    detail = Remark(
        "The confidence is {confidence:.2f}; {threshold:.2f} is needed.",
        confidence=case.confidence,
        threshold=case.threshold,
    )
    return Objection(Reason.LOW_CONFIDENCE, detail)


def superseded_only(case: Case) -> Objection | None:
    metadata = {document.id: document.metadata for document in case.sources.documents}
    sentences = [item.sentence for item in case.selection.evidence if item.role is QuoteRole.ANSWER]
    if sentences and all(is_superseded(metadata[sentence.doc_id], sentence.section) for sentence in sentences):
        detail = Remark("Every sentence found has been replaced by a later document.")
        return Objection(Reason.SUPERSEDED_ONLY, detail)
    return None


CHECKS: Mapping[Reason, Callable[[Case], Objection | None]] = {
    Reason.NO_RESULTS: no_results,
    Reason.UNKNOWN_ENTITY: unknown_entity,
    Reason.UNGROUNDED_NUMBER: ungrounded_number,
    Reason.INSUFFICIENT_SUPPORT: insufficient_support,
    Reason.LOW_CONFIDENCE: low_confidence,
    Reason.SUPERSEDED_ONLY: superseded_only,
}


def decide(case: Case) -> Objections:
    """Run every check, so that a trace shows them all; `first_objection` is the decision."""
    return tuple((reason, check(case)) for reason, check in CHECKS.items())


def first_objection(objections: Objections, *, abstain: bool) -> Objection | None:
    """Return the objection that decides, or None to answer; without `abstain`, only an empty search counts."""
    raised = (objection for _, objection in objections if objection is not None)
    return next((objection for objection in raised if abstain or objection.reason is Reason.NO_RESULTS), None)
