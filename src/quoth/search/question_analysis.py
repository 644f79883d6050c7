"""Analyse a question: its kind, the words to search for, and the entities and quantities it presumes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

from quoth.domain.profile import Facet, Profile, TagValue, TagWords
from quoth.domain.tags import matcher
from quoth.errors import QuestionError
from quoth.language.entities import entities
from quoth.language.function_words import asked_words
from quoth.language.identification import language_of
from quoth.language.inflection import inflected
from quoth.language.quantities import quantities
from quoth.language.stems import word_language
from quoth.language.words import CONDITIONALS, CONTRACTIONS, FUNCTION_WORDS, POLAR_OPENERS, fold, singular
from quoth.settings import RetrievalSettings
from quoth.types import Analysis, Entity, EntityKind, Filters, Quantity, Question, QuestionKind

LEXICAL_WEIGHTS = {
    QuestionKind.GENERAL: 0.30,
    QuestionKind.TERMINOLOGY: 0.50,
    QuestionKind.MEANING: 0.20,
    QuestionKind.LOCATION: 0.60,
}
"""Weight of the lexical score for each kind of question; the dense score gets the rest."""

_MAX_TERMS = 64
_MAX_GRAMS = 192  # a long question of n-grams has as many
_MOST_LANGUAGES = 3
"""So many languages of an index are looked at for what a question presumes."""
_MEANING = re.compile(
    r"\bwhat (?:does|do|is meant by) .*\bmean|\bmeaning of\b|\bdefin(?:e|ed|ition of)\b|\bwhat is meant by\b"
)
_LOCATION = re.compile(
    r"\bwhere (?:is|are|does|do) .*\b(?:mention|say|state|address|cover|discuss|describe)"
    r"|\bwhich (?:section|document|article|page|paragraph|clause)\b"
)
# In `lower than the guidelines say`, the guidelines are not the only documents that can answer.
_COMPARED = re.compile(r"\b(?:than|versus|vs|compare[ds]?)\b")
_SEARCH_WORD = re.compile(r"[^\W_](?:[\w'’./%°&+-]*[\w%])?")
_CONTRACTION = re.compile(
    # A suffix (`n't`, `'re`) must follow a word; `'dry'` only starts like `'d`.
    "|".join(
        (r"(?<=\w)" if plain.startswith(" ") else r"\b") + re.escape(contraction) + r"\b"
        for contraction, plain in CONTRACTIONS.items()
    ),
    re.IGNORECASE,
)


def analyse(
    question: Question,
    *,
    profile: Profile,
    settings: RetrievalSettings,
    languages: Sequence[str] = (),
    language: str | None = None,
) -> Analysis:
    """Analyse the question; raise `QuestionError` when it has no words or is too long.

    `languages` are those of the index, the most common one first. `language` is that of the question; None: it is
    recognised, and in doubt it is the most common one.
    """
    text = _checked(question.text, settings.max_question_characters)
    language = language or language_of(text, languages) or next(iter(languages), "en")
    search_text = normalise(text)
    presumed = _presumed_entities(text, profile, language)
    exact = any(entity.kind in {EntityKind.QUOTED, EntityKind.CODE} for entity, *_ in presumed)
    kind = question_kind(search_text, exact=exact)
    lexical, semantic = _weights(kind, settings)
    types = document_types_of(search_text, question.filters, profile) if settings.detect_types else {}
    return Analysis(
        question=question,
        search_text=search_text,
        kind=kind,
        terms=_terms(search_text, profile, word_language(language)),
        tags={facet.name: values for facet in profile.facets if (values := matcher(facet, language)(search_text))},
        entities=presumed,
        quantities=_presumed_quantities(text, language),
        unused=(),
        document_types=tuple(types),
        types_asked=any(types.values()),
        alpha_lexical=lexical,
        alpha_semantic=semantic,
        language=language,
        languages=tuple(dict.fromkeys((language, *languages[:_MOST_LANGUAGES]))),
    )


def _weights(kind: QuestionKind, settings: RetrievalSettings) -> tuple[float, float]:
    """Return the lexical and the semantic weight: as set, else by kind; one set alone leaves the rest to the other."""
    lexical, semantic = settings.alpha_lexical, settings.alpha_semantic
    if lexical is None:
        lexical = LEXICAL_WEIGHTS[kind] if semantic is None else 1 - semantic
    return lexical, 1 - lexical if semantic is None else semantic


def _checked(text: str, limit: int) -> str:
    if not any(character.isalnum() for character in text):
        raise QuestionError("the question has no words", hint="Ask a whole question, in words.")
    if len(text) > limit:
        raise QuestionError(
            f"the question has {len(text):,} characters, more than {limit:,}",
            hint="Ask a shorter question, or raise retrieval.max_question_characters.",
        )
    return text


def normalise(text: str) -> str:
    """Return the question for search: NFKC form, single spaces, contractions written out, no final punctuation."""
    plain = unicodedata.normalize("NFKC", text).replace("’", "'").replace("‘", "'")
    plain = _CONTRACTION.sub(_written_out, plain) if "'" in plain else plain
    return re.sub(r"[\s?!.]+$", "", " ".join(plain.split()))


def _written_out(contraction: re.Match[str]) -> str:
    plain = CONTRACTIONS[contraction[0].lower()]
    return plain[0].upper() + plain[1:] if contraction[0][0].isupper() else plain


def question_kind(search_text: str, *, exact: bool) -> QuestionKind:
    """Return the kind; `exact` is True when the question contains a quoted phrase or a code."""
    folded = fold(search_text)
    if _MEANING.search(folded):
        return QuestionKind.MEANING
    if _LOCATION.search(folded):
        return QuestionKind.LOCATION
    return QuestionKind.TERMINOLOGY if exact else QuestionKind.GENERAL


def _terms(search_text: str, profile: Profile, language: str) -> tuple[tuple[str, ...], ...]:
    """Return the content words, each followed by its synonyms; all words when none is a content word.

    `language` is empty for English.
    """
    if language:
        content = asked_words(search_text, language)[:_MAX_GRAMS]
    else:
        words = list(dict.fromkeys(match[0] for match in _SEARCH_WORD.finditer(search_text)))
        content = ([word for word in words if fold(word) not in FUNCTION_WORDS] or words)[:_MAX_TERMS]
    return tuple((word, *_synonyms(word, profile)) for word in content)


def _synonyms(word: str, profile: Profile) -> tuple[str, ...]:
    """Return the other names of what a word names, in any form that a language of the profile gives it."""
    folded = fold(word)
    known = synonyms_of(profile.facets, profile.synonyms).get(singular(folded))
    if known is not None:
        return known
    found = ((pattern.fullmatch(folded), names) for pattern, names in _names_elsewhere(profile.facets))
    return next((names for matched, names in found if matched), ())


@lru_cache(maxsize=8)
def synonyms_of(facets: tuple[Facet, ...], groups: tuple[tuple[str, ...], ...]) -> dict[str, tuple[str, ...]]:
    """Map each single word of a group of synonyms, folded and singular, to the other members."""
    of_tags = ((value.name, *value.synonyms) for facet in facets for value in facet.values)
    return {
        singular(fold(word)): tuple(other for other in group if other != word)
        for group in (*of_tags, *groups)
        for word in group
        if " " not in word
    }


@lru_cache(maxsize=8)
def _names_elsewhere(facets: tuple[Facet, ...]) -> tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]:
    """Return for each single word of a value in another language its forms, and the names of the value.

    A word of the profile's own language brings none of them: other documents than those that hold it are searched by
    meaning.
    """
    return tuple(
        (re.compile(inflected(fold(word), words.language)), (value.name, *value.synonyms, *words.synonyms))
        for facet in facets
        for value in facet.values
        for words in value.elsewhere
        for word in words.synonyms
        if " " not in word
    )


def _presumed_entities(text: str, profile: Profile, language: str) -> tuple[tuple[Entity, ...], ...]:
    """Return the entities and the values of presumed facets in the question, each followed by its synonyms."""
    synonyms = synonyms_of(profile.facets, profile.synonyms)
    presumed = {
        (name := fold(entity.text)): (entity, *map(name_entity, synonyms.get(singular(name), ())))
        for entity in entities(text, language)
    }
    for facet in profile.facets:
        for value in mentioned_values(facet, text, language) if facet.presumed else ():
            presumed[fold(value.name)] = tuple(map(name_entity, value.words(language)))
    return tuple(presumed.values())


def name_entity(text: str) -> Entity:
    return Entity(text, EntityKind.NAME, tuple(singular(word) for word in fold(text).split()))


def mentioned_values(facet: Facet, text: str, language: str | None = None) -> list[TagValue]:
    """Return the values of the facet that the text mentions, including `others`, which have no tag.

    `language` is that of the text, None if it is unknown.
    """
    everything = [*facet.values, *(TagValue(name, (), ()) for name in facet.others)]
    for spoken, others in facet.others_elsewhere:
        if language in {None, spoken}:
            everything += [TagValue(name, (), (), (TagWords(spoken, (name,), ()),)) for name in others]
    names = matcher(replace(facet, values=tuple(everything)), language)(text)
    return [value for value in everything if value.name in names]


def document_types_of(search_text: str, filters: Filters, profile: Profile) -> dict[str, bool]:
    """Return the document types that the question names, unless it is filtered: True if asked for, False for a hint."""
    if filters.document_types or filters.doc_ids:
        return {}
    folded = fold(search_text)
    return {
        name: _named_by(kind.asked_by, folded)
        for name, kind in profile.document_types.items()
        if _named_by((*kind.asked_by, *kind.hinted_by), folded)
    }


def _named_by(patterns: Iterable[re.Pattern[str]], folded: str) -> bool:
    return any(
        not _COMPARED.search(folded[: match.start()]) for pattern in patterns for match in pattern.finditer(folded)
    )


def _presumed_quantities(text: str, language: str) -> tuple[Quantity, ...]:
    """Return the quantities that the question assumes the corpus states.

    `May a fence be 12 feet high?` and `What if it rains 20 mm?` ask about a quantity; they do not presume it. A
    question about where something is stated presumes all its quantities.
    """
    folded = fold(text)
    if not folded.strip() or (language == "en" and folded.split()[0] in POLAR_OPENERS):
        return ()
    if _LOCATION.search(folded):
        return quantities(text, language)
    return tuple(
        quantity for quantity in quantities(text, language) if not _is_supposed(fold(text[: quantity.span.start]))
    )


_OF_A_CLAUSE = frozenset({"when", "whenever", "with"})


def _is_supposed(before: str) -> bool:
    """Return whether a quantity is hypothetical: after `if` anywhere before it, or `when` in its own clause."""
    clause = re.split(r"[,;:.?!]\s", before)[-1]
    return bool((CONDITIONALS - _OF_A_CLAUSE) & set(before.split()) or _OF_A_CLAUSE & set(clause.split()))
