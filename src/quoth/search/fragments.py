"""A follow-up that is no sentence: `And for canola?` puts another thing in the place of one of the same kind."""

from __future__ import annotations

import re

from quoth.domain.profile import Profile
from quoth.language.entities import entities
from quoth.language.noun_phrases import DETERMINERS, PREPOSITIONS, NounPhrase, noun_phrases, tokens
from quoth.language.opposites import are_opposites
from quoth.language.quantities import quantities
from quoth.language.words import fold
from quoth.search.question_analysis import document_types_of
from quoth.search.rewording import (
    FollowUp,
    article_of,
    is_question,
    replaced,
    text_at,
    topics_of,
    widened,
    without_article,
)
from quoth.search.sub_questions import value_spans
from quoth.types import NO_FILTERS, EntityKind, Span

_LONGEST = 8
"""Words of a fragment."""
_OF_WHAT = re.compile(r"(?:what|which)\b", re.IGNORECASE)
_IN_FRAGMENTS = DETERMINERS | PREPOSITIONS | frozenset("according and or only just same least most more less".split())


def fragment(asked: FollowUp, last: str, profile: Profile) -> str | None:
    """`And for canola?` puts another thing in the place of one of the same kind, or adds to the last question."""
    words = tokens(asked.text)
    content = [token for token in words if token.is_content]
    if (
        not content
        or len(words) > _LONGEST
        or "," in asked.text
        or not all(token.is_content or token.word in _IN_FRAGMENTS for token in words)
    ):
        return None
    lead, thing = _lead(asked.text)
    if not (lead or asked.continues or asked.marked):
        return None
    if (meant := _same_kind(lead, thing, last, profile)) is not None:
        return meant
    if not is_question(last) or not (asked.continues or (lead and asked.marked)):
        return None  # a few words may be a search of their own
    if lead:
        return f"{last} {asked.text[0].lower()}{asked.text[1:]}"
    return _other_thing(thing, last)


def _lead(text: str) -> tuple[str, str]:
    """Split off the preposition of a fragment."""
    match = re.match(r"(?:according\s+to|\w+)\s+", text, re.IGNORECASE)
    if match and (fold(match[0]).strip() in PREPOSITIONS or fold(match[0]).startswith("according")):
        return fold(match[0]).strip(), text[match.end() :]
    return "", text


def _same_kind(lead: str, thing: str, last: str, profile: Profile) -> str | None:
    """Return the last question with `thing` for a thing of the same kind; None when it names none."""
    for facet in profile.facets:
        theirs = value_spans(facet)(last) if facet.presumed else ()
        own = value_spans(facet)(thing) if theirs else ()
        if own and own[-1][1] == len(thing) and len({value for _, _, value in theirs}) == 1:
            return replaced(last, widened(Span(*theirs[0][:2]), last), thing)
    for kinds in ({EntityKind.DATE}, {EntityKind.YEAR}, {EntityKind.CODE}, {EntityKind.QUOTED}):
        if span := _entity_like(thing, last, kinds):
            return replaced(last, span, without_article(thing))
    if span := _quantity_like(thing, last):
        return replaced(last, span, thing)
    if span := _type_like(thing, last, profile) or (_object_of(lead, thing, last, profile) if lead else None):
        return replaced(last, span, thing)
    if not lead and (span := _entity_like(thing, last, {EntityKind.NAME}) or _opposite(thing, last)):
        return replaced(last, span, without_article(thing))
    return None


def _entity_like(thing: str, last: str, kinds: set[EntityKind]) -> Span | None:
    """Return where `last` names an entity of these kinds, if `thing` is nothing but one; `Lot 112` is like `Lot 47`."""
    # The first word of a text may be capitalised for its place only; behind another word it is a name.
    own = [entity for entity in entities(f"and {without_article(thing)}") if entity.kind in kinds]
    if len(own) != 1 or fold(own[0].text) != fold(without_article(thing)):
        return None
    numbered = own[0].words[-1][0].isdigit() and own[0].kind is EntityKind.NAME
    for entity in entities(last):
        like = entity.words[:-1] == own[0].words[:-1] and entity.words[-1][0].isdigit() if numbered else True
        if entity.kind in kinds and like:
            start = last.find(entity.text)
            return Span(start, start + len(entity.text))
    return None


def _quantity_like(thing: str, last: str) -> Span | None:
    own = quantities(thing)
    theirs = [quantity for quantity in quantities(last) if own and quantity.dimension == own[0].dimension]
    whole = len(own) == 1 and thing[own[0].span.start : own[0].span.end] == thing
    return theirs[0].span if whole and len(theirs) == 1 else None


def _type_like(thing: str, last: str, profile: Profile) -> Span | None:
    """Return the phrase that names a document type, where `thing` in its place names another."""
    named = document_types_of(last, NO_FILTERS, profile)
    for phrase in noun_phrases(last) if named else ():
        other = document_types_of(replaced(last, phrase.span, thing), NO_FILTERS, profile)
        if other and not named.keys() & other.keys():
            return phrase.span
    return None


def _object_of(lead: str, thing: str, last: str, profile: Profile) -> Span | None:
    """Return the phrase behind the last use of a preposition, unless it is of another kind: no crop for six months."""
    for phrase in reversed(noun_phrases(last)):
        if phrase.head.endswith("ing") and last[phrase.span.end :].strip():
            continue  # `for getting a permit`
        if re.search(rf"(?<!\w){re.escape(lead)}\s+$", fold(last[: phrase.span.start])):
            there = text_at(last, phrase.span)
            alike = bool(quantities(thing)) == bool(quantities(there)) and not any(topics_of(there, profile))
            return phrase.span if alike else None
    return None


def _opposite(thing: str, last: str) -> Span | None:
    own = tokens(without_article(thing))
    found = (token.span for token in tokens(last) if len(own) == 1 and are_opposites(own[0].word, token.word))
    return next(found, None)


def _other_thing(thing: str, last: str) -> str:
    """Return the last question about another thing, for what it asks of or else for what looks most like it."""
    phrases = noun_phrases(last)
    subject = next((phrase for phrase in phrases if phrase.subject), None)
    wanted = next((phrase for phrase in phrases if phrase.asked), None)
    own = next(iter(noun_phrases(f"about {thing}")), None)
    form = (article_of(thing), own is not None and own.is_plural)
    if wanted and (not subject or (_OF_WHAT.match(last) and form == ("", False) != _form(last, subject))):
        return replaced(last, wanted.bare, without_article(thing))
    if not phrases or wanted or re.match(r"\w+\s+there\b", last):
        return f"{last}, {thing}"
    phrases = tuple(phrase for phrase in phrases if not fold(last[: phrase.span.start]).endswith(" of ")) or phrases
    alike = [phrase for phrase in phrases if _form(last, phrase) == form]
    target = alike[0] if len(alike) == 1 else subject or phrases[0]
    return replaced(last, target.span, thing)


def _form(text: str, phrase: NounPhrase) -> tuple[str, bool]:
    """Return the determiner of a phrase and whether it is plural: phrases of one form can stand for each other."""
    return article_of(text_at(text, phrase.span)), phrase.is_plural
