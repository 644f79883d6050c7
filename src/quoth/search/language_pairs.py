"""Questions and evidence in other languages than English, of which the English reader knows nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum

from quoth.domain.publications import within_publications
from quoth.protocols import Reader
from quoth.search.fusion import ROUND
from quoth.search.logistic import EvidenceModel, logistic
from quoth.types import NO_FILTERS, Analysis, EntityKind, IndexInfo, Query, Ranked, Remark, Support

ENGLISH = "en"
READER = "reader"
"""The name in `degraded` of the part that judges English alone."""
_SPELLED_ALIKE = frozenset({EntityKind.YEAR, EntityKind.CODE})
_BEST = 3


class LanguagePair(StrEnum):
    """The languages of a question and of the evidence for it."""

    ENGLISH = "english"
    SAME = "same"
    """One language, and not English."""
    ACROSS = "across"
    """Two languages. Full text finds only what both spell alike."""


LanguageFits = Mapping[LanguagePair, EvidenceModel]
"""The weights for pairs other than English: of evidence that means the same in every language."""


def expected_pair(language: str, info: IndexInfo) -> LanguagePair:
    """Return the pair to search for: the language of the question is that of documents, or it is not."""
    if info.languages and language not in info.languages:
        return LanguagePair.ACROSS
    return LanguagePair.ENGLISH if language == ENGLISH else LanguagePair.SAME


def found_pair(language: str, ranked: Sequence[Ranked], reader: Reader) -> LanguagePair:
    """Return the pair of a question and the best sentence that was found for it; the expected one without any."""
    info = reader.info
    if not ranked or (language == ENGLISH and set(info.languages) <= {ENGLISH}):
        return expected_pair(language, info)
    if _language_of(ranked[0], reader, asked=language) != language:
        return LanguagePair.ACROSS
    return LanguagePair.ENGLISH if language == ENGLISH else LanguagePair.SAME


def _language_of(ranked: Ranked, reader: Reader, *, asked: str) -> str:
    return languages_of([ranked.sentence.doc_id], reader, asked=asked).get(ranked.sentence.doc_id, asked)


def languages_of(doc_ids: Sequence[str], reader: Reader, *, asked: str) -> dict[str, str]:
    """Return the language of each document.

    One of unknown language is taken for one in the most common language, else in that of the question.
    """
    usual = next(iter(reader.info.languages), asked)
    return {info.id: info.metadata.language_code or usual for info in reader.documents(set(doc_ids))}


def judged(ranked: Sequence[Ranked], fit: EvidenceModel) -> tuple[Ranked, ...]:
    """Return the sentences, best first, with the probability by which they answer as far as any language shows it."""
    rescored = []
    for item in ranked:
        known, matches = (item.support.features, item.support.matches) if item.support else ({}, ())
        features = {"late": 0.0, **known, "lexical": item.candidate.lexical, "cosine": max(0.0, item.candidate.dense)}
        log_odds = fit.sentence.log_odds(features)
        score = round(logistic(log_odds), ROUND)
        support = Support(score, log_odds, features, matches)
        rescored.append(replace(item, relevance=score, order=score, support=support))
    return tuple(rescored)


def in_english(ranked: Sequence[Ranked], reader: Reader) -> tuple[Ranked, ...]:
    """Return the sentences that the English reader can read, in the same order."""
    if set(reader.info.languages) <= {ENGLISH}:
        return tuple(ranked)
    languages = languages_of([item.sentence.doc_id for item in ranked], reader, asked=ENGLISH)
    return tuple(item for item in ranked if languages.get(item.sentence.doc_id) == ENGLISH)


def spelled_alike(analysis: Analysis) -> Analysis:
    """Return the analysis with only those presumptions that two languages spell alike: codes, years and numbers."""
    kept = tuple(group for group in analysis.entities if group[0].kind in _SPELLED_ALIKE)
    return replace(analysis, entities=kept, unused=())


def word_features(pair: LanguagePair, analysis: Analysis, ranked: Sequence[Ranked], reader: Reader) -> dict[str, float]:
    """Return which share of the question's words no sentence uses, and no sentence of the best sentences' documents.

    Between two languages that tells nothing, and in English the reader knows better.
    """
    groups = analysis.terms
    if pair is LanguagePair.ENGLISH:
        return {}
    if pair is LanguagePair.ACROSS or not groups or not ranked:
        return {"absent": 0.0, "apart": 0.0}
    counts = reader.frequencies([word for group in groups for word in group])
    used = [group for group in groups if any(counts[word] for word in group)]
    if analysis.question.filters != NO_FILTERS:
        limits = within_publications(analysis.question.filters, reader)
        used = [group for group in used if reader.search(Query(None, (group,), 1, limits)).items]
    documents = tuple(dict.fromkeys(item.sentence.doc_id for item in ranked[:_BEST]))
    filters = replace(NO_FILTERS, doc_ids=documents)
    near = sum(bool(reader.search(Query(None, (group,), 1, filters)).items) for group in used)
    return {
        "absent": round(1 - len(used) / len(groups), ROUND),
        "apart": round(1 - near / len(groups), ROUND),
    }


def language_notes(analysis: Analysis, ranked: Sequence[Ranked], reader: Reader) -> tuple[str, ...]:
    """Return what a person should know of an answer that the English reader did not judge."""
    asked = analysis.language
    found = _language_of(ranked[0], reader, asked=asked) if ranked else asked
    if found != asked:
        across = Remark(
            "The question is in one language ({asked}) and the evidence in another ({found}).", asked=asked, found=found
        )
        return across, _NOT_FITTED
    if asked == ENGLISH:
        return (_NOT_FITTED,)
    return Remark("The question and the evidence are not in English ({asked}).", asked=asked), _NOT_FITTED


_NOT_FITTED = Remark(
    "The reader judges English alone and was left aside: fit or calibrate the confidence with questions of your own "
    "(quoth fit, quoth calibrate)."
)
