"""Outcomes: the answer or the abstention that a decision leads to, with every quote verified against its document."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from quoth.answer.decision import Case, Objections, first_objection
from quoth.answer.highlights import highlighted
from quoth.answer.near_misses import missing, why_not
from quoth.answer.sub_answers import unsupported_parts
from quoth.answer.verification import verify_quote
from quoth.domain.authority import authority_of
from quoth.domain.profile import Profile
from quoth.errors import OffsetMismatch
from quoth.language.display import Vocabulary, displayed_lead, displayed_sentence
from quoth.protocols import Reader
from quoth.search.engine import Engine
from quoth.search.fusion import SearchResult
from quoth.search.language_pairs import READER, LanguagePair, language_notes
from quoth.search.missing_shards import PartialResult, missing_shards_note
from quoth.settings import Settings
from quoth.types import (
    Abstention,
    Analysis,
    Answer,
    Citation,
    Conflict,
    Document,
    Evidence,
    Objection,
    Outcome,
    Outlook,
    Question,
    QuoteRole,
    Ranked,
    RunNotes,
    Sentence,
    SubAnswer,
)

_RETRIEVERS = {"hybrid": "hybrid_bm25_dense", "lexical": "bm25", "dense": "dense"}
_SPREADSHEETS = frozenset({"xlsx", "csv"})
_CELLS = re.compile(r"[A-Z]{1,3}\d+(?::[A-Z]{1,3}\d+)?")
_LONGEST_CELLS = 40
_PLAIN_SHEET = re.compile(r"[^\W\d]\w*")
_NEAREST = 3
"""How many sentences an abstention shows as the nearest evidence."""


def conclude(
    case: Case,
    objections: Objections,
    *,
    outlook: Outlook,
    question: Question,
    analysis: Analysis,
    found: SearchResult,
    sub_answers: Sequence[SubAnswer],
    conflicts: Sequence[Conflict],
    engine: Engine,
    in_force: Settings,
) -> Outcome:
    """Return the answer to `case`, what can be answered, or an abstention that explains the whole `analysis`.

    `question` is as asked; `analysis` is of what it was understood as. `outlook` is that of the evidence, if there is
    any.
    """
    objection = first_objection(objections, abstain=in_force.decision.abstain)
    notes = _run_notes(case, objection, found=found, engine=engine, in_force=in_force)
    understood = None if analysis.question.text == question.text else analysis.question.text
    if objection is None:
        citations = highlighted(
            _cite_from(case, case.selection.evidence, engine.profile),
            _asked_of(case.selection.evidence, sub_answers, whole=found.encoded.text),
            encoder=engine.sentence_reader,
            reader=case.sources.reader,
        )
        quoted = {place.id for citation in citations for place in (citation.sentence, *citation.also)}
        quoted_conflicts = tuple(
            conflict for conflict in conflicts if quoted.issuperset(side.sentence.id for side in conflict.statements)
        )
        unsupported = unsupported_parts(sub_answers, quoted)
        near = _cite_from(case, case.selection.see_also, engine.profile)
        return Answer(question, citations, near, unsupported, quoted_conflicts, case.confidence, notes, understood)
    unsupported = tuple(sub_answer.sub_question.text for sub_answer in sub_answers if sub_answer.objection is not None)
    citations = _cite_from(case, nearest_evidence(case.ranked), engine.profile)
    nearest = tuple(
        replace(cited, why=why_not(cited, case, analysis=analysis, objection=objection, profile=engine.profile))
        for cited in citations
    )
    absent = missing(case, analysis, unsupported)
    left = outlook if nearest else Outlook.NOTHING
    return Abstention(question, objection, left, absent, unsupported, nearest, case.confidence, notes, understood)


def _asked_of(evidence: Iterable[Evidence], sub_answers: Sequence[SubAnswer], *, whole: str) -> dict[str, str]:
    """Return by sentence id what the sentence answers: the first sub-question that it is evidence for, else all."""
    asked = {item.sentence.id: whole for item in evidence}
    for answer in reversed(sub_answers):
        asked |= {item.sentence.id: answer.sub_question.analysis.search_text for item in answer.evidence}
    return asked


def nearest_evidence(ranked: Sequence[Ranked]) -> tuple[Evidence, ...]:
    """Return the sentences that an abstention shows, best first."""
    return tuple(Evidence(item.sentence, item.relevance, None, QuoteRole.CONTEXT, ()) for item in ranked[:_NEAREST])


def documents_of(evidence: Iterable[Evidence], reader: Reader) -> tuple[Document, ...]:
    """Return the documents of the evidence, each once, without documents that the index lacks."""
    ids = dict.fromkeys(place.doc_id for item in evidence for place in (item.sentence, *item.also))
    return tuple(document for doc_id in ids if (document := reader.document(doc_id)) is not None)


def _cite_from(case: Case, evidence: Sequence[Evidence], profile: Profile) -> tuple[Citation, ...]:
    """Cite the evidence; read documents that the case has not loaded."""
    documents = {document.id: document for document in case.sources.documents}
    absent = [
        item for item in evidence if not documents.keys() >= {each.doc_id for each in (item.sentence, *item.also)}
    ]
    documents |= {document.id: document for document in documents_of(absent, case.sources.reader)}
    return cite(evidence, documents, profile)


def cite(evidence: Iterable[Evidence], documents: Mapping[str, Document], profile: Profile) -> tuple[Citation, ...]:
    """Return a verified citation for each sentence. Raise `OffsetMismatch` when one does not match its document."""
    citations = []
    vocabularies = {doc_id: Vocabulary(document.text) for doc_id, document in documents.items()}
    for item in evidence:
        sentence = item.sentence
        document = documents.get(sentence.doc_id)
        if document is None:
            raise OffsetMismatch(sentence.doc_id, sentence.quote.span.start, sentence.quote.span.end)
        for quote in filter(None, (sentence.quote, sentence.lead)):
            verify_quote(document, quote)
        for place in item.also:
            if place.doc_id not in documents:
                raise OffsetMismatch(place.doc_id, place.quote.span.start, place.quote.span.end)
            verify_quote(documents[place.doc_id], place.quote)
        about = document.metadata
        authority = authority_of(about, profile)
        citations.append(
            Citation(
                sentence,
                item.score,
                document.sha256,
                about,
                authority,
                item.companion_of,
                why=None,
                cells=_cells(document, sentence),
                display=displayed_sentence(sentence, vocabularies[document.id]),
                lead_display=displayed_lead(sentence, vocabularies[document.id]),
                role=item.role,
                also=item.also,
                highlights=(),
            )
        )
    return tuple(citations)


def _cells(document: Document, sentence: Sentence) -> str | None:
    """Return the cells of a spreadsheet that hold a sentence: its extractor writes them above each row."""
    if document.format not in _SPREADSHEETS:
        return None
    line = max(0, document.text.rfind("\n", 0, sentence.quote.span.start))
    above = document.text[max(0, line - _LONGEST_CELLS) : line].rstrip().rpartition("\n")[2]
    if not _CELLS.fullmatch(above):
        return None
    if document.format != "xlsx" or not sentence.section:
        return above
    sheet = sentence.section[0]
    # As a spreadsheet writes a reference: a name that is not one plain word stands in quotes.
    named = sheet if _PLAIN_SHEET.fullmatch(sheet) else "'" + sheet.replace("'", "''") + "'"
    return f"{named}!{above}"


def _run_notes(
    case: Case, objection: Objection | None, *, found: SearchResult, engine: Engine, in_force: Settings
) -> RunNotes:
    reader = case.sources.reader
    result = PartialResult.ANSWER if objection is None else PartialResult.ABSTENTION
    # The evidence reranker was asked for, and this embedding model cannot give it the tokens that it needs.
    pair, language = engine.pair, case.analysis.language
    no_evidence = (
        in_force.rerank.kind == "late"
        and pair is LanguagePair.ENGLISH
        and engine.embedder is not None
        and engine.reranker is None
    )
    fitted = in_force.calibration.threshold is not None or language == engine.fitted_language
    unread = pair is not LanguagePair.ENGLISH and not (fitted and pair is LanguagePair.SAME)
    about = language_notes(case.analysis, found.ranked, reader) if unread else ()
    without = [name for name, is_so in (("evidence", no_evidence), (READER, unread)) if is_so]
    return RunNotes(
        retriever=_RETRIEVERS[engine.search_mode(found.encoded)],
        k_initial=len(found.candidates.items),
        rerank_topk=in_force.rerank.topk,
        decision=("answered",) if objection is None else ("abstained", objection.reason),
        max_retrieval=found.fused[0].fused if found.fused else 0.0,
        support_count=len(case.selection.supporting),
        redundancy_before=case.selection.redundancy_before,
        redundancy_after=case.selection.redundancy_after,
        degraded=(*found.degraded, *reader.missing, *without),
        warnings=(*found.notes, *about, *missing_shards_note(reader, case.analysis.question.filters, result)),
        profile=engine.profile.name,
        calibrated=in_force.calibration.threshold is not None,
        index=reader.info.digest,
        settings=(engine if in_force is engine.settings else engine.with_settings(in_force)).settings_digest,
    )
