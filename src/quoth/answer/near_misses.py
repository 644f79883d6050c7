"""Explain near misses: what the question asks for without evidence, and what the nearest sentences lack.

Explanations are not quotes, so they claim little: what a sentence lacks, and what it mentions of the same kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from quoth.answer.decision import Case
from quoth.answer.doubts import doubts_of
from quoth.answer.sub_answers import surroundings
from quoth.domain.authority import supersessions
from quoth.domain.profile import Facet, Profile
from quoth.language.asked_quantities import asked_dimensions
from quoth.language.entities import entities, mentions, word_occurs
from quoth.language.quantities import quantities, quantities_in, same_quantity
from quoth.language.rarity import TELLING, rarity
from quoth.language.stems import UNSPACED, index_stems, word_language
from quoth.language.words import fold
from quoth.protocols import Reader
from quoth.search.question_analysis import mentioned_values
from quoth.types import (
    Analysis,
    Citation,
    Entity,
    EntityKind,
    Objection,
    Reason,
    Remark,
    Sentence,
    all_of,
    any_of,
)

_MOST_WORDS = 3
_UNLIKELY = 0.1
"""The probability of an answer below which a sentence is said to be an unlikely one."""
_NOT_SURE = Remark("It may be about the question, but it is not sure to answer it.")
_NO = Remark("It is unlikely to answer it.")
_SAME_FOR_ALL = re.compile(r"\AIt (?:does not mention|has been replaced by) ")
_BETWEEN = re.compile(r", | or | and ")


def missing(case: Case, analysis: Analysis, sub_questions: Sequence[str]) -> tuple[str, ...]:
    """Return the names, the telling words that the corpus lacks, the numbers and `sub_questions` without evidence."""
    doubts = case.doubts if analysis == case.analysis else doubts_of(analysis, case.sources)
    texts = (*(group[0].text for group in doubts.unknown), *doubts.telling, *doubts.unstated, *sub_questions)
    return tuple({fold(text): text for text in texts}.values())


def why_not(citation: Citation, case: Case, *, analysis: Analysis, objection: Objection, profile: Profile) -> str:
    """Return what a citation lacks. Whether it answers is for people to see: only a probability speaks against it."""
    sentence = citation.sentence
    if objection.reason is Reason.SUPERSEDED_ONLY and (later := supersessions(citation.metadata, sentence.section)):
        return Remark("It has been replaced by {later}.", later=all_of([supersession.by for supersession in later]))
    about = surroundings(sentence)
    if names := [
        group
        for group in analysis.entities
        if not any(mentions(about, entity, languages=analysis.languages) for entity in group)
    ]:
        named = any_of([group[0].text for group in names])
        by_name = _other_name(names, citation, analysis, profile)
        return by_name or Remark("It does not mention {named}.", named=named)
    stated = quantities_in(sentence.text, analysis.languages)
    if unstated := [amount for amount in analysis.quantities if not any(same_quantity(amount, q) for q in stated)]:
        wanted = [analysis.question.text[amount.span.start : amount.span.end] for amount in unstated]
        other = _only_quantity(sentence.text, {unstated[0].dimension}) if len(unstated) == 1 else None
        instead = Remark("It states {other}, not {wanted}.", other=other, wanted=wanted[0])
        return instead if other else Remark("It does not state {wanted}.", wanted=any_of(wanted))
    if words := _words_not_in(about, case.sources.reader, analysis):
        named = any_of([Remark("{word!r}", word=word) for word in words])
        return Remark("It does not mention {named}.", named=named)
    supporting = {candidate.sentence.id for candidate in case.selection.supporting}
    if objection.reason is Reason.INSUFFICIENT_SUPPORT and sentence.id in supporting:
        return Remark("It supports an answer, but not enough other sentences do.")
    return _NO if is_unlikely(citation) else _NOT_SURE


def is_unlikely(near: Citation) -> bool:
    """Return whether the model is sure enough that a near miss is no answer."""
    return near.score < _UNLIKELY


def says_more(why: str, told: str) -> bool:
    """Return whether what a near miss lacks says more than what people were `told` above it; both are in English."""
    named = _SAME_FOR_ALL.sub("", why.removesuffix("."))
    return why not in {_NOT_SURE, _NO} and not all(name.strip("'") in told for name in _BETWEEN.split(named))


def _other_name(
    names: Sequence[tuple[Entity, ...]], citation: Citation, analysis: Analysis, profile: Profile
) -> str | None:
    """Say what the sentence mentions instead of the only name it lacks; None when that is uncertain."""
    if len(names) > 1:
        return None
    wanted, sentence = names[0][0], citation.sentence
    for facet in profile.facets:
        if facet.presumed and mentioned_values(facet, wanted.text, analysis.language):
            amount = _only_quantity(sentence.text, asked_dimensions(analysis.search_text))
            written = citation.metadata.language_code or analysis.language
            here = [value.name_in(analysis.language) for value in mentioned_values(facet, sentence.text, written)]
            return _other_value(wanted, sentence, facet, here=here, amount=amount, language=analysis.language)
    others = [entity.text for entity in entities(sentence.text) if _same_kind(entity, wanted)]
    return _mentions_instead(all_of(others), wanted) if others else None


def _mentions_instead(other: str, wanted: Entity) -> Remark:
    return Remark("It mentions {other}, not {wanted}.", other=other, wanted=wanted.text)


def _other_value(
    wanted: Entity, sentence: Sentence, facet: Facet, *, here: Sequence[str], amount: str | None, language: str
) -> str | None:
    """Say which value of the facet the sentence or its document is about instead; None unless there is exactly one.

    `here` are the values that the sentence mentions.
    """
    if len(here) == 1:
        if not amount:
            return _mentions_instead(here[0], wanted)
        return Remark(
            "It states {amount} for {other}, nothing for {wanted}.",
            amount=amount,
            other=here[0],
            wanted=wanted.text,
        )
    names = {value.name: value.name_in(language) for value in facet.values}
    about = [names.get(value, value) for value in sentence.tags.get(facet.name, ()) if value != facet.default]
    if amount and not here and len(about) == 1:
        return Remark(
            "It states {amount} in a text on {other}, nothing for {wanted}.",
            amount=amount,
            other=about[0],
            wanted=wanted.text,
        )
    return None


def _same_kind(entity: Entity, wanted: Entity) -> bool:
    """Return whether both are years, dates, or numbered names with the same head (`Lot 47`, `Lot 305`)."""
    if entity.kind is not wanted.kind or entity.words == wanted.words:
        return False
    if wanted.kind in {EntityKind.YEAR, EntityKind.DATE}:
        return True
    numbered = wanted.words[-1].isdigit() and entity.words[-1].isdigit()
    return wanted.kind is EntityKind.NAME and numbered and entity.words[:-1] == wanted.words[:-1]


def _only_quantity(text: str, dimensions: Iterable[str]) -> str | None:
    """Return the only quantity of these dimensions in a text, as written there; None unless there is exactly one."""
    matching = [quantity for quantity in quantities(text) if quantity.dimension in set(dimensions)]
    if len(matching) != 1:
        return None
    # Contracts write `seven (7) feet`, of which the quantity is `7) feet`.
    return " ".join(text[matching[0].span.start : matching[0].span.end].replace(")", "").split()).rstrip(".")


def _words_not_in(about: str, reader: Reader, analysis: Analysis) -> list[str]:
    """Return the telling words of the question that, like all their synonyms, are absent from a text; rarest first."""
    telling = [group for group in analysis.terms if rarity(group[0], analysis.language) >= TELLING]
    if language := word_language(analysis.language):
        # N-grams are no words to name.
        held = set(index_stems(about, language))
        absent = [
            group
            for group in telling
            if not UNSPACED.match(group[0]) and not any(held.issuperset(index_stems(term, language)) for term in group)
        ]
    else:
        folded = fold(about)
        absent = [
            group
            for group in telling
            if not any(all(word_occurs(folded, word, EntityKind.NAME) for word in fold(term).split()) for term in group)
        ]
    frequencies = reader.frequencies([group[0] for group in absent])
    return [group[0] for group in sorted(absent, key=lambda group: frequencies[group[0]])][:_MOST_WORDS]
