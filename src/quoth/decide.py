"""The decision: an ordered list of checks. The first objection wins and names itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from quoth.corpus.authority import is_superseded
from quoth.protocols import Reader
from quoth.settings import DecisionSettings, SelectionSettings
from quoth.text.asked_units import asked_units, speaks_in
from quoth.text.entities import is_numbered, mentions, word_occurs
from quoth.text.fold import fold
from quoth.text.quantities import quantities, same_quantity
from quoth.types import (
    NO_FILTERS,
    Analysis,
    Document,
    Entity,
    EntityKind,
    Objection,
    Quantity,
    Ranked,
    Reason,
    Selection,
)

ONE_PAGE = 2_000
"""Characters. A shorter document leaves its setting unsaid, so the corpus around it is asked instead."""


@dataclass(frozen=True, slots=True)
class Case:
    """What a check may look at."""

    analysis: Analysis
    ranked: tuple[Ranked, ...]
    selection: Selection
    confidence: float
    documents: tuple[Document, ...]
    """The documents that are quoted, or those that come nearest when nothing is."""
    reader: Reader


Check = Callable[[Case], Objection | None]


def checks(selection: SelectionSettings, decision: DecisionSettings) -> tuple[tuple[str, Check], ...]:
    """The policy, in order."""
    return (
        (Reason.NO_RESULTS, no_results),
        (Reason.UNKNOWN_ENTITY, unknown_entity),
        (Reason.UNGROUNDED_NUMBER, ungrounded_number),
        (Reason.INSUFFICIENT_SUPPORT, insufficient_support(selection.min_support)),
        (Reason.LOW_CONFIDENCE, low_confidence(decision.abstain_score_thresh)),
        (Reason.SUPERSEDED_ONLY, superseded_only),
    )


def no_results(case: Case) -> Objection | None:
    if case.ranked:
        return None
    if case.analysis.question.filters != NO_FILTERS:
        return Objection(Reason.NO_RESULTS, "No sentence of the corpus passes the filters of the question.")
    return Objection(Reason.NO_RESULTS, "Nothing in the corpus comes near this question.")


def unknown_entity(case: Case) -> Objection | None:
    """A name, year, date, place, code or quoted name that the question presumes and its sources never mention."""
    for group in unknown_entities(case):
        if any(_in_corpus(entity, case.reader) for entity in group):
            where = "the documents that come nearest never mention"
        elif case.reader.missing:
            where = "the parts of the corpus that could be asked never mention"
        else:
            where = "the corpus never mentions"
        detail = f"The question presumes the {group[0].kind} '{group[0].text}', which {where}."
        return Objection(Reason.UNKNOWN_ENTITY, detail)
    return None


def unknown_entities(case: Case) -> Iterator[tuple[Entity, ...]]:
    """The entities of the question, each with its other names, that the sources never mention."""
    # What the quoted sentences say themselves is quick to see; whole documents are folded only for the rest.
    quoted = " ".join(evidence.sentence.text for evidence in case.selection.evidence)
    unseen = [group for group in case.analysis.entities if not any(mentions(quoted, entity) for entity in group)]
    sources = [_Source.of(document) for document in case.documents] if unseen else []
    for group in unseen:
        if not any(_known(entity, source, case.reader) for entity in group for source in sources):
            yield group


@dataclass(frozen=True, slots=True)
class _Source:
    """A document's text with what is known about it, and the same folded."""

    text: str
    folded: str

    @classmethod
    def of(cls, document: Document) -> _Source:
        about = (document.id, document.metadata.title or "", document.metadata.effective_date or "", document.text)
        text = " ".join(about)
        return cls(text, fold(text))


def _known(entity: Entity, source: _Source, reader: Reader) -> bool:
    if mentions(source.text, entity, folded=source.folded):
        return True
    if not _in_corpus(entity, reader):
        return False
    if len(source.text) < ONE_PAGE:
        return True
    # A term that the corpus uses, made of words that this document uses too, is a way of speaking and not a stranger.
    if entity.kind not in {EntityKind.NAME, EntityKind.QUOTED} or len(entity.words) == 1 or is_numbered(entity):
        return False
    return all(word_occurs(source.folded, word, entity.kind) for word in entity.words)


def _in_corpus(entity: Entity, reader: Reader) -> bool:
    term = " ".join(entity.words) if entity.kind is not EntityKind.DATE else entity.text
    return reader.frequencies([term])[term] > 0


def ungrounded_number(case: Case) -> Objection | None:
    """A number cut from its place, one that the question presumes and no source states, or a unit out of place."""
    for document in case.documents:
        for evidence in case.selection.evidence:
            span = evidence.sentence.quote.span
            if evidence.sentence.doc_id == document.id and (cut := _cut_quantity(document.text, span.start, span.end)):
                return Objection(Reason.UNGROUNDED_NUMBER, f"The quote would cut '{cut}' in {document.id}.")
    for text in unstated_quantities(case):
        return Objection(Reason.UNGROUNDED_NUMBER, f"The question presumes '{text}', which no source states.")
    for unit in unspoken_units(case):
        return Objection(Reason.UNGROUNDED_NUMBER, f"The question asks for {unit}, and no evidence speaks of any.")
    return None


def unspoken_units(case: Case) -> Iterator[str]:
    """The units that the question names for its answer and that measure nothing in the evidence."""
    evidence = "\n".join(
        "\n".join((one.sentence.search_text, *one.sentence.section)) for one in case.selection.evidence
    )
    for unit, dimension in asked_units(case.analysis.question.text) if evidence else ():
        if not speaks_in(evidence, dimension):
            yield unit


def unstated_quantities(case: Case) -> Iterator[str]:
    """The quantities, as written in the question, that it presumes and no source states."""
    presumed = case.analysis.quantities
    stated = list(_stated_quantities(case)) if presumed else []
    for quantity in presumed:
        if not any(same_quantity(quantity, one) for one in stated):
            yield case.analysis.question.text[quantity.span.start : quantity.span.end]


def _stated_quantities(case: Case) -> Iterator[Quantity]:
    """Those of the evidence and of short documents; far away in a long one a number is about something else."""
    for one in case.selection.evidence:
        yield from quantities("\n".join((one.sentence.search_text, *one.sentence.section)))
    for document in case.documents:
        if not case.selection.evidence or len(document.text) < ONE_PAGE:
            yield from quantities(document.text)


def _cut_quantity(text: str, start: int, end: int) -> str | None:
    """A quantity that one of the ends falls inside: `5 cm` is an exact slice of `2.5 cm`, and false."""
    margin = 24
    for edge in (start, end):
        low = max(0, edge - margin)
        around = text[low : edge + margin]
        for one in quantities(around):
            if low + one.span.start < edge < low + one.span.end and not around[edge - low - 1 : edge + 1].isspace():
                return around[one.span.start : one.span.end]
    return None


def insufficient_support(minimum: int) -> Check:
    def check(case: Case) -> Objection | None:
        count = len(case.selection.supporting)
        if count >= minimum:
            return None
        return Objection(Reason.INSUFFICIENT_SUPPORT, f"Only {count} of {minimum} sentences needed support an answer.")

    return check


def low_confidence(threshold: float) -> Check:
    def check(case: Case) -> Objection | None:
        if case.confidence >= threshold:
            return None
        return Objection(Reason.LOW_CONFIDENCE, f"The confidence is {case.confidence:.2f}; {threshold:.2f} is needed.")

    return check


def superseded_only(case: Case) -> Objection | None:
    metadata = {document.id: document.metadata for document in case.documents}
    sentences = [evidence.sentence for evidence in case.selection.evidence]
    if sentences and all(is_superseded(metadata[one.doc_id], one.section) for one in sentences):
        return Objection(Reason.SUPERSEDED_ONLY, "Every sentence found has been replaced by a later document.")
    return None


def decide(case: Case, policy: Sequence[tuple[str, Check]]) -> tuple[tuple[str, Objection | None], ...]:
    """What each check says; the first objection is the decision. All are asked, so that a trace shows them all."""
    return tuple((name, check(case)) for name, check in policy)
