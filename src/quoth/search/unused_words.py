"""Words of a question that the corpus never uses: they say more than their capital letters do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from quoth.domain.publications import within_publications
from quoth.language.rarity import is_english, rarity
from quoth.language.stems import UNSPACED, gram_length, word_language, word_languages
from quoth.language.terms import words
from quoth.language.words import fold, regular_bases, relatives, singular
from quoth.protocols import Reader
from quoth.types import NO_FILTERS, Analysis, Entity, EntityKind, Query


def with_unused_words(analysis: Analysis, reader: Reader) -> Analysis:
    """Return the analysis with the words that no sentence within the filters uses, in any form, or by a synonym.

    Words of what the question presumes otherwise (codes, dates, quoted names, values of facets) are left to that. There
    are none in a language that no document is in: its words are missing because they are foreign.
    """
    language = word_language(analysis.language)
    if language not in word_languages(reader.info) or not (language or is_english(analysis.search_text)):
        return analysis
    others = [group for group in analysis.entities if not _is_written_name(group[0])]
    unused = [word for word in _unused(analysis, reader) if not any(_has(group[0], _forms(word)) for group in others)]
    return replace(analysis, unused=tuple(unused))


def names_of_unused_words(analysis: Analysis) -> tuple[tuple[Entity, ...], ...]:
    """Return the names that hold an unused word: they count as words, so that their capital letters do not matter."""
    forms = {form for word in analysis.unused for form in _forms(word)}
    return tuple(group for group in analysis.entities if _is_written_name(group[0]) and _has(group[0], forms))


def _unused(analysis: Analysis, reader: Reader) -> Iterator[str]:
    groups = [group for group in analysis.terms if rarity(group[0], analysis.language) > 0]
    if not word_language(analysis.language):
        groups = [_alike(group) for group in groups]
    counts = reader.frequencies([word for group in groups for word in group])
    filters = analysis.question.filters
    limits = None if filters == NO_FILTERS else within_publications(filters, reader)
    used: dict[str, bool] = {}
    for group in groups:
        used[group[0]] = any(counts[word] for word in group)
        if used[group[0]] and limits is not None:
            used[group[0]] = bool(reader.search(Query(None, (group,), 1, limits)).items)
    yield from (word for word in used if not used[word] and not UNSPACED.match(word))
    yield from _unused_runs(analysis.search_text, used)


def _unused_runs(text: str, used: Mapping[str, bool]) -> Iterator[str]:
    """Yield what stands between words in a run of letters without spaces and is in no n-gram that is used.

    An n-gram over the border of two words may well be new. So the letters at both ends of unused n-grams belong to the
    words beside them, and only what is between these is a word, of two letters of Chinese or four of Thai at least.
    """
    for run in UNSPACED.finditer(text):
        size = gram_length(run[0])
        places = [at for at in range(len(run[0]) - size + 1) if used.get(run[0][at : at + size]) is False]
        for first, last in _stretches(places):
            # Where a function word was cut out, no other word stands beside this one.
            start = first + (size - 1) * (run[0][first - 1 : first - 1 + size] in used if first else 0)
            end = last + (1 if run[0][last + 1 : last + 1 + size] in used else size)
            if end - start >= 2 * (size - 1):
                yield run[0][start:end]


def _stretches(places: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield first and last of each stretch of consecutive numbers."""
    for index, place in enumerate(places):
        if index == 0 or places[index - 1] != place - 1:
            first = place
        if index == len(places) - 1 or places[index + 1] != place + 1:
            yield first, place


def _alike(group: tuple[str, ...]) -> tuple[str, ...]:
    """Return a word and its synonyms with what it may be a form of, and its relatives: rentals are about rent."""
    word = fold(group[0])
    return *group, *regular_bases(word), *relatives(word)


def _is_written_name(entity: Entity) -> bool:
    """Return whether only its capital letters make it a name."""
    return entity.kind is EntityKind.NAME and entity.text[0].isupper()


def _has(entity: Entity, forms: set[str]) -> bool:
    return any(singular(word) in forms for word in entity.words)


def _forms(word: str) -> set[str]:
    return {singular(form) for written in words(word) for form in written.forms}
