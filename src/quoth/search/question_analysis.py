"""Question analysis: what is asked for, in words to search by and in things the question takes for granted."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

from quoth.corpus.tags import matcher
from quoth.errors import QuestionError
from quoth.profile import Facet, Profile, TagValue
from quoth.settings import RetrievalSettings
from quoth.text.entities import entities
from quoth.text.fold import fold, singular
from quoth.text.quantities import quantities
from quoth.text.words import CONDITIONALS, CONTRACTIONS, FUNCTION_WORDS, POLAR_OPENERS
from quoth.types import Analysis, Entity, EntityKind, Filters, Quantity, Question, QuestionKind, Tags

LEXICAL_WEIGHTS = {
    QuestionKind.GENERAL: 0.30,
    QuestionKind.TERMINOLOGY: 0.50,
    QuestionKind.MEANING: 0.20,
    QuestionKind.LOCATION: 0.60,
}
"""Weight of the lexical score by kind of question; the dense score has the rest."""

_MAX_TERMS = 64
_MEANING = re.compile(
    r"\bwhat (?:does|do|is meant by) .*\bmean|\bmeaning of\b|\bdefin(?:e|ed|ition of)\b|\bwhat is meant by\b"
)
_LOCATION = re.compile(
    r"\bwhere (?:is|are|does|do) .*\b(?:mention|say|state|address|cover|discuss|describe)"
    r"|\bwhich (?:section|document|article|page|paragraph|clause)\b"
)
# `lower than the guidelines say`: what is compared with something stands elsewhere as well.
_COMPARED = re.compile(r"\b(?:than|versus|vs|compare[ds]?)\b")
_SEARCH_WORD = re.compile(r"[^\W_](?:[\w'’./%°&+-]*[\w%])?")
_CONTRACTION = re.compile(
    # A part of a word (`n't`, `'re`) needs the rest of it in front; `'dry'` only begins like `'d`.
    "|".join(
        (r"(?<=\w)" if plain.startswith(" ") else r"\b") + re.escape(one) + r"\b" for one, plain in CONTRACTIONS.items()
    ),
    re.IGNORECASE,
)


def analyse(question: Question, *, profile: Profile, settings: RetrievalSettings) -> Analysis:
    """What the question asks for; `QuestionError` for one that cannot be asked."""
    text = _checked(question.text, settings.max_question_characters)
    search_text = normalise(text)
    presumed = _presumed_entities(text, profile)
    exact = any(one.kind in {EntityKind.QUOTED, EntityKind.CODE} for one, *_ in presumed)
    kind = question_kind(search_text, exact=exact)
    lexical, semantic = _weights(kind, settings)
    types = _document_types(search_text, question.filters, profile) if settings.detect_types else {}
    return Analysis(
        question=question,
        search_text=search_text,
        kind=kind,
        terms=_terms(search_text, profile),
        tags=_tags(search_text, profile),
        entities=presumed,
        quantities=_presumed_quantities(text),
        document_types=tuple(types),
        types_asked=any(types.values()),
        alpha_lexical=lexical,
        alpha_semantic=semantic,
    )


def _weights(kind: QuestionKind, settings: RetrievalSettings) -> tuple[float, float]:
    """The lexical and the semantic weight: as set, else by the kind; one of them alone gives the other the rest."""
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
    """The question for search: compatibility forms, white space and contractions made plain, case kept."""
    plain = unicodedata.normalize("NFKC", text).replace("’", "'").replace("‘", "'")
    plain = _CONTRACTION.sub(_written_out, plain) if "'" in plain else plain
    return re.sub(r"[\s?!.]+$", "", " ".join(plain.split()))


def _written_out(contraction: re.Match[str]) -> str:
    plain = CONTRACTIONS[contraction[0].lower()]
    return plain[0].upper() + plain[1:] if contraction[0][0].isupper() else plain


def question_kind(search_text: str, *, exact: bool) -> QuestionKind:
    """`exact` tells that the question holds a quoted phrase or a code."""
    folded = fold(search_text)
    if _MEANING.search(folded):
        return QuestionKind.MEANING
    if _LOCATION.search(folded):
        return QuestionKind.LOCATION
    return QuestionKind.TERMINOLOGY if exact else QuestionKind.GENERAL


def _terms(search_text: str, profile: Profile) -> tuple[tuple[str, ...], ...]:
    """The content words, each with its synonyms; all words when there is no content word."""
    words = list(dict.fromkeys(match[0] for match in _SEARCH_WORD.finditer(search_text)))
    content = [word for word in words if fold(word) not in FUNCTION_WORDS] or words
    synonyms = synonyms_of(profile.facets, profile.synonyms)
    return tuple((word, *synonyms.get(singular(fold(word)), ())) for word in content[:_MAX_TERMS])


@lru_cache(maxsize=8)
def synonyms_of(facets: tuple[Facet, ...], groups: tuple[tuple[str, ...], ...]) -> dict[str, tuple[str, ...]]:
    """For each single word of a group of synonyms, the others."""
    of_tags = ((value.name, *value.synonyms) for facet in facets for value in facet.values)
    return {
        singular(fold(word)): tuple(other for other in group if other != word)
        for group in (*of_tags, *groups)
        for word in group
        if " " not in word
    }


def _presumed_entities(text: str, profile: Profile) -> tuple[tuple[Entity, ...], ...]:
    """Names, years, codes and the like, and the values of presumed facets, each with its other names."""
    synonyms = synonyms_of(profile.facets, profile.synonyms)
    found = {
        fold(one.text): (one, *(named(other) for other in synonyms.get(singular(fold(one.text)), ())))
        for one in entities(text)
    }
    for facet in profile.facets:
        for value in mentioned_values(facet, text) if facet.presumed else ():
            words = (value.name, *value.synonyms, *value.keywords)
            found.setdefault(fold(value.name), tuple(map(named, words)))
    return tuple(found.values())


def named(text: str) -> Entity:
    return Entity(text, EntityKind.NAME, tuple(singular(word) for word in fold(text).split()))


def mentioned_values(facet: Facet, text: str) -> list[TagValue]:
    """The facet's values that the text mentions, those without a tag of their own included."""
    everything = (*facet.values, *(TagValue(name, (), ()) for name in facet.others))
    found = matcher(replace(facet, values=everything))(text)
    return [value for value in everything if value.name in found]


def _tags(search_text: str, profile: Profile) -> Tags:
    found = {facet.name: matcher(facet)(search_text) for facet in profile.facets}
    return {facet: values for facet, values in found.items() if values}


def _document_types(search_text: str, filters: Filters, profile: Profile) -> dict[str, bool]:
    """The document types that the question names, each with whether it is asked for; what the asker chose wins."""
    if filters.document_types or filters.doc_ids:
        return {}
    folded = fold(search_text)
    return {
        name: _named_by(kind.asked_by, folded)
        for name, kind in profile.document_types.items()
        if _named_by((*kind.asked_by, *kind.hinted_by), folded)
    }


def _named_by(patterns: Iterable[re.Pattern[str]], folded: str) -> bool:
    return any(not _COMPARED.search(folded[: match.start()]) for one in patterns for match in one.finditer(folded))


def _presumed_quantities(text: str) -> tuple[Quantity, ...]:
    """Quantities that the question takes as a fact of the corpus.

    `May a fence be 12 feet high?` and `What if it rains 20 mm?` ask about a quantity; they do not presume it. A
    question for the place where something is said presumes all of it.
    """
    words = fold(text).split()
    if not words or words[0] in POLAR_OPENERS:
        return ()
    if _LOCATION.search(fold(text)):
        return quantities(text)
    return tuple(one for one in quantities(text) if not _is_supposed(text[: one.span.start]))


def _is_supposed(before: str) -> bool:
    """Whether the words before a quantity make it a case: an `if` for all that follows, a `when` for its clause."""
    clause = re.split(r"[,;:.?!]\s", fold(before))
    return bool(CONDITIONALS & set(fold(before).split()) - _OF_A_CLAUSE or _OF_A_CLAUSE & set(clause[-1].split()))


_OF_A_CLAUSE = frozenset({"when", "whenever", "with"})
