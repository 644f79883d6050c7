"""Decide whether to answer: run an ordered list of checks, of which the first objection wins."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from quoth.domain.authority import is_superseded
from quoth.language.asked_quantities import asked_units, speaks_in
from quoth.language.entities import is_numbered, mentions, word_occurs
from quoth.language.quantities import quantities, same_quantity
from quoth.language.words import fold
from quoth.protocols import Reader
from quoth.types import NO_FILTERS, Analysis, Document, Entity, EntityKind, Objection, Ranked, Reason, Selection

ONE_PAGE = 2_000
"""Characters. A shorter document may never name its subject, so an entity only has to occur in the corpus."""


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
    documents: tuple[Document, ...]
    """The quoted documents; the nearest documents when nothing is quoted."""
    reader: Reader

    @property
    def evidence_texts(self) -> list[str]:
        """Each quoted sentence with its lead and its headings."""
        quoted = (evidence.sentence for evidence in self.selection.evidence)
        return ["\n".join((sentence.search_text, *sentence.section)) for sentence in quoted]


Objections = tuple[tuple[str, Objection | None], ...]
"""The name of each check with its objection, or None if it has none."""


def no_results(case: Case) -> Objection | None:
    if case.ranked:
        return None
    filtered = case.analysis.question.filters != NO_FILTERS
    passes = "No sentence of the corpus passes the filters of the question."
    return Objection(Reason.NO_RESULTS, passes if filtered else "Nothing in the corpus comes near this question.")


def unknown_entity(case: Case) -> Objection | None:
    """Object when the question presumes a name, year, date, code or quoted name that its sources never mention."""
    for group in unknown_entities(case, case.analysis):
        if any(_in_corpus(entity, case.reader) for entity in group):
            where = "the documents that come nearest never mention"
        elif case.reader.missing:
            where = "the parts of the corpus that could be asked never mention"
        else:
            where = "the corpus never mentions"
        detail = f"The question presumes the {group[0].kind} '{group[0].text}', which {where}."
        return Objection(Reason.UNKNOWN_ENTITY, detail)
    return None


def unknown_entities(case: Case, analysis: Analysis) -> Iterator[tuple[Entity, ...]]:
    """Yield the entities, each with its synonyms, that the sources of the case never mention."""
    # Search the quoted sentences first: folding whole documents is slow.
    quoted = " ".join(evidence.sentence.text for evidence in case.selection.evidence)
    unseen = [group for group in analysis.entities if not any(mentions(quoted, entity) for entity in group)]
    abouts = ((document, document.metadata) for document in case.documents) if unseen else ()
    texts = [" ".join((doc.id, about.title or "", about.effective_date or "", doc.text)) for doc, about in abouts]
    sources = [(text, fold(text)) for text in texts]
    for group in unseen:
        if not any(_is_known(entity, *source, case.reader) for entity in group for source in sources):
            yield group


def _is_known(entity: Entity, text: str, folded: str, reader: Reader) -> bool:
    if mentions(text, entity, folded=folded):
        return True
    if not _in_corpus(entity, reader):
        return False
    if len(text) < ONE_PAGE:
        return True
    # If the corpus uses a term and this document uses all its words, the term is just a different wording.
    if entity.kind not in {EntityKind.NAME, EntityKind.QUOTED} or len(entity.words) == 1 or is_numbered(entity):
        return False
    return all(word_occurs(folded, word, entity.kind) for word in entity.words)


def _in_corpus(entity: Entity, reader: Reader) -> bool:
    term = " ".join(entity.words) if entity.kind is not EntityKind.DATE else entity.text
    return reader.frequencies([term])[term] > 0


def ungrounded_number(case: Case) -> Objection | None:
    """Object to a quote that cuts a number, a presumed number no source states, or a unit no evidence uses."""
    for document in case.documents:
        for evidence in case.selection.evidence:
            span = evidence.sentence.quote.span
            if evidence.sentence.doc_id == document.id and (cut := _cut_quantity(document.text, span.start, span.end)):
                return Objection(Reason.UNGROUNDED_NUMBER, f"The quote would cut '{cut}' in {document.id}.")
    for text in unstated_quantities(case, case.analysis):
        return Objection(Reason.UNGROUNDED_NUMBER, f"The question presumes '{text}', which no source states.")
    quoted = "\n".join(case.evidence_texts)
    for unit, dimension in asked_units(case.analysis.question.text) if quoted else ():
        if not speaks_in(quoted, dimension):
            return Objection(Reason.UNGROUNDED_NUMBER, f"The question asks for {unit}, and no evidence speaks of any.")
    return None


def unstated_quantities(case: Case, analysis: Analysis) -> Iterator[str]:
    """Yield the quantities, as written in the question, that it presumes and no source of the case states.

    A long document beside the evidence is no source: a number far from the evidence is about something else.
    """
    short = (document.text for document in case.documents if len(document.text) < ONE_PAGE or not case.evidence_texts)
    texts = (*case.evidence_texts, *short) if analysis.quantities else ()
    stated = [quantity for text in texts for quantity in quantities(text)]
    for presumed in analysis.quantities:
        if not any(same_quantity(presumed, quantity) for quantity in stated):
            yield analysis.question.text[presumed.span.start : presumed.span.end]


def _cut_quantity(text: str, start: int, end: int) -> str | None:
    """Return the quantity that `start` or `end` splits, or None: `5 cm` is an exact slice of `2.5 cm`, but wrong."""
    margin = 24
    for edge in (start, end):
        low = max(0, edge - margin)
        around = text[low : edge + margin]
        for quantity in quantities(around):
            span = quantity.span
            if low + span.start < edge < low + span.end and not around[edge - low - 1 : edge + 1].isspace():
                return around[span.start : span.end]
    return None


def insufficient_support(case: Case) -> Objection | None:
    count, needed = len(case.selection.supporting), case.min_support
    if count >= needed:
        return None
    return Objection(Reason.INSUFFICIENT_SUPPORT, f"Only {count} of {needed} sentences needed support an answer.")


def low_confidence(case: Case) -> Objection | None:
    if case.confidence >= case.threshold:
        return None
    detail = f"The confidence is {case.confidence:.2f}; {case.threshold:.2f} is needed."
    return Objection(Reason.LOW_CONFIDENCE, detail)


def superseded_only(case: Case) -> Objection | None:
    metadata = {document.id: document.metadata for document in case.documents}
    sentences = [evidence.sentence for evidence in case.selection.evidence]
    if sentences and all(is_superseded(metadata[sentence.doc_id], sentence.section) for sentence in sentences):
        return Objection(Reason.SUPERSEDED_ONLY, "Every sentence found has been replaced by a later document.")
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
