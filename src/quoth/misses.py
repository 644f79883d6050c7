"""Near misses: what a question asks for that no evidence was found of, and why the nearest sentences are no answer.

What is said here is composed, so it says little: what a sentence does not mention, and what of the same kind it does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from quoth.corpus.authority import supersessions
from quoth.decide import Case, unknown_entities, unstated_quantities
from quoth.profile import Facet, Profile
from quoth.retrieve.question import mentioned_values
from quoth.select.cover import surroundings
from quoth.text.entities import entities, mentions, word_occurs
from quoth.text.fold import fold
from quoth.text.measures import asked_dimensions
from quoth.text.quantities import quantities, same_quantity
from quoth.types import Citation, Entity, EntityKind, Objection, Quantity, Reason, Sentence

_MOST_WORDS = 3


def missing(case: Case, parts: Sequence[str]) -> tuple[str, ...]:
    """What the question asks for without evidence, each once: names and dates, numbers and `parts`; else words."""
    names = [group[0].text for group in unknown_entities(case)]
    found = list({fold(text): text for text in (*names, *unstated_quantities(case), *parts)}.values())
    return tuple(found) or tuple(_unknown_words(case))


def _unknown_words(case: Case) -> list[str]:
    """The content words of the question that no sentence of the corpus holds, nor any synonym of theirs."""
    known = case.reader.frequencies([word for group in case.analysis.terms for word in group])
    return [group[0] for group in case.analysis.terms if not any(known[word] for word in group)]


def explain(
    citations: Iterable[Citation], case: Case, *, objection: Objection, profile: Profile
) -> tuple[Citation, ...]:
    """The nearest evidence, each sentence with why it is no answer."""
    return tuple(replace(one, why=_why_not(one, case, objection=objection, profile=profile)) for one in citations)


def _why_not(citation: Citation, case: Case, *, objection: Objection, profile: Profile) -> str:
    sentence = citation.sentence
    if objection.reason is Reason.SUPERSEDED_ONLY and (later := supersessions(citation.metadata, sentence.section)):
        return f"It has been replaced by {_listed([one.by for one in later], 'and')}."
    about = surroundings(sentence)
    names = [group for group in case.analysis.entities if not any(mentions(about, one) for one in group)]
    if names:
        return _other_name(names, sentence, case, profile) or f"It does not mention {_listed(_texts(names), 'or')}."
    if unstated := [one for one in case.analysis.quantities if not _states(sentence.text, one)]:
        return _other_quantity(unstated, sentence, case)
    if words := _words_not_in(about, case):
        return f"It does not mention {_listed([repr(word) for word in words], 'or')}."
    if objection.reason is Reason.INSUFFICIENT_SUPPORT and sentence.id in _supporting(case):
        return "It supports an answer, but not enough other sentences do."
    return "It is not near enough to the question."


def _supporting(case: Case) -> set[str]:
    return {one.sentence.id for one in case.selection.supporting}


def _other_name(names: Sequence[tuple[Entity, ...]], sentence: Sentence, case: Case, profile: Profile) -> str | None:
    """What the sentence mentions in place of the one name it lacks; None when that cannot be told for sure."""
    if len(names) > 1:
        return None
    wanted = names[0][0]
    for facet in profile.facets:
        if facet.presumed and mentioned_values(facet, wanted.text):
            amount = _only_quantity(sentence.text, asked_dimensions(case.analysis.search_text))
            return _other_value(wanted, sentence, facet, amount=amount)
    others = [one.text for one in entities(sentence.text) if _same_kind(one, wanted)]
    return f"It mentions {_listed(others, 'and')}, not {wanted.text}." if others else None


def _other_value(wanted: Entity, sentence: Sentence, facet: Facet, *, amount: str | None) -> str | None:
    """The only value of the facet that the sentence names, or that its headings and document are about."""
    named = [value.name for value in mentioned_values(facet, sentence.text)]
    if len(named) == 1:
        stated = f"It states {amount} for {named[0]}, nothing for {wanted.text}."
        return stated if amount else f"It mentions {named[0]}, not {wanted.text}."
    about = [value for value in sentence.tags.get(facet.name, ()) if value != facet.default]
    if amount and not named and len(about) == 1:
        return f"It states {amount} in a text on {about[0]}, nothing for {wanted.text}."
    return None


def _same_kind(one: Entity, wanted: Entity) -> bool:
    """Two years, two dates, or two numbered names with the same head (`Lot 47`, `Lot 305`)."""
    if one.kind is not wanted.kind or one.words == wanted.words:
        return False
    if wanted.kind in {EntityKind.YEAR, EntityKind.DATE}:
        return True
    numbered = wanted.words[-1].isdigit() and one.words[-1].isdigit()
    return wanted.kind is EntityKind.NAME and numbered and one.words[:-1] == wanted.words[:-1]


def _other_quantity(unstated: Sequence[Quantity], sentence: Sentence, case: Case) -> str:
    wanted = [case.analysis.question.text[one.span.start : one.span.end] for one in unstated]
    stated = _only_quantity(sentence.text, {unstated[0].dimension}) if len(unstated) == 1 else None
    if stated:
        return f"It states {stated}, not {wanted[0]}."
    return f"It does not state {_listed(wanted, 'or')}."


def _states(text: str, wanted: Quantity) -> bool:
    return any(same_quantity(wanted, one) for one in quantities(text))


def _only_quantity(text: str, dimensions: Iterable[str]) -> str | None:
    """The only quantity of these dimensions in a text, as written there; None when there are several."""
    found = [one for one in quantities(text) if one.dimension in set(dimensions)]
    if len(found) != 1:
        return None
    # Contracts write `seven (7) feet`, of which the quantity is `7) feet`.
    return " ".join(text[found[0].span.start : found[0].span.end].replace(")", "").split()).rstrip(".")


def _words_not_in(about: str, case: Case) -> list[str]:
    """The rarest content words of the question that a text does not hold, nor any synonym of theirs."""
    folded = fold(about)
    absent = [
        group
        for group in case.analysis.terms
        if not any(all(word_occurs(folded, part, EntityKind.NAME) for part in fold(word).split()) for word in group)
    ]
    held = case.reader.frequencies([group[0] for group in absent])
    return [group[0] for group in sorted(absent, key=lambda group: held[group[0]])][:_MOST_WORDS]


def _texts(groups: Iterable[tuple[Entity, ...]]) -> list[str]:
    return [group[0].text for group in groups]


def _listed(texts: Sequence[str], joint: str) -> str:
    return f" {joint} ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)
