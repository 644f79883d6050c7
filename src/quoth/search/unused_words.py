"""Words of a question that the corpus never uses: they say more than their capital letters do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from quoth.domain.publications import within_publications
from quoth.language.rarity import is_english, rarity
from quoth.language.terms import words
from quoth.language.words import fold, regular_bases, relatives, singular
from quoth.protocols import Reader
from quoth.types import NO_FILTERS, Analysis, Entity, EntityKind, Query


def with_unused_words(analysis: Analysis, reader: Reader) -> Analysis:
    """Return the analysis with the words that no sentence within the filters uses, in any form, or by a synonym.

    Words of what the question presumes otherwise (codes, dates, quoted names, values of facets) are left to that.
    """
    if not is_english(analysis.search_text):
        return analysis  # only the forms of English words are known
    others = [group for group in analysis.entities if not _is_written_name(group[0])]
    unused = [word for word in _unused(analysis, reader) if not any(_has(group[0], _forms(word)) for group in others)]
    return replace(analysis, unused=tuple(unused))


def names_of_unused_words(analysis: Analysis) -> tuple[tuple[Entity, ...], ...]:
    """Return the names that hold an unused word: they count as words, so that their capital letters do not matter."""
    forms = {form for word in analysis.unused for form in _forms(word)}
    return tuple(group for group in analysis.entities if _is_written_name(group[0]) and _has(group[0], forms))


def _unused(analysis: Analysis, reader: Reader) -> Iterator[str]:
    groups = [_alike(group) for group in analysis.terms if rarity(group[0]) > 0]
    counts = reader.frequencies([word for group in groups for word in group])
    filters = analysis.question.filters
    limits = None if filters == NO_FILTERS else within_publications(filters, reader)
    for group in groups:
        used = any(counts[word] for word in group)
        if used and limits is not None:
            used = bool(reader.search(Query(None, (group,), 1, limits)).items)
        if not used:
            yield group[0]


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
