"""Tag sentences with the values of each facet, found in the sentence, its headings and its document."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

from quoth.domain.profile import Facet, Profile, TagValue
from quoth.language.inflection import inflected
from quoth.language.words import fold
from quoth.types import Tags

Tagger = Callable[[str, tuple[str, ...]], Tags]
"""Returns the tags of a sentence of one document, given its text and its headings."""


@lru_cache(maxsize=64)
def matcher(facet: Facet, language: str | None = None) -> Callable[[str], tuple[str, ...]]:
    """Return a function that lists the facet's values in a text, in order of their first mention.

    Only whole words and their plurals match: `rice` does not match `price`, nor `rot` `rotation`. `language` is that of
    the text: its words in the profile match in all their forms, and no others, which may mean something else there; the
    profile's own words match in a language without words. In a text of which it is None, all words match.
    """
    own = language is None or language not in facet.languages
    value_of = {
        form: value.name
        for value in facet.values
        for word in ((value.name, *value.synonyms, *value.keywords) if own else ())
        for form in _forms(_spaced(fold(word)))
    }
    if not facet.values:
        return lambda _text: ()
    longest_first = sorted(value_of, key=lambda word: (-len(word), word))
    plain = rf"({'|'.join(map(re.escape, longest_first))})(?:e?s)?" if value_of else "(?!)()"
    elsewhere = {value.name: _inflected(value, language) for value in facet.values}
    named = [name for name, forms in elsewhere.items() if forms]
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join((plain, *(f'({elsewhere[name]})' for name in named)))})(?!\w)")

    def match(text: str) -> tuple[str, ...]:
        found = pattern.finditer(_spaced(fold(text)))
        # The first group is a word of the profile's own language, each other one a value.
        return _unique(value_of[each[1]] if each[1] else named[(each.lastindex or 0) - 2] for each in found)

    return match


def _inflected(value: TagValue, language: str | None) -> str:
    """Return a pattern for the words of a value in `language`, None for every other one; longer words first."""
    words = [
        (_spaced(fold(word)), elsewhere.language)
        for elsewhere in value.elsewhere
        if language in {None, elsewhere.language}
        for word in (*elsewhere.synonyms, *elsewhere.keywords)
    ]
    return "|".join(inflected(word, spoken) for word, spoken in sorted(words, key=lambda word: (-len(word[0]), word)))


def _forms(word: str) -> tuple[str, ...]:
    """Return the word, and its plural where that changes the ending: `berry`, `berries`."""
    return (word, word[:-1] + "ies") if re.search(r"[^aeiou]y$", word) else (word,)


def _spaced(folded: str) -> str:
    """Return the text with single spaces instead of hyphens and line breaks, so that `no-till` equals `no till`."""
    return " ".join(re.split(r"[\s-]+", folded))


def document_tagger(profile: Profile, *, doc_id: str, declared: Tags, language: str | None = None) -> Tagger:
    """Return the tagger of a document; `language` is None if it is unknown.

    Values come from nearest to farthest, so that the nearest is the main value. The sentence itself is nearest, then
    its headings from the innermost out, then the `declared` tags, then `doc_id`.
    """
    facets = [(facet, matcher(facet, language)) for facet in profile.facets]
    words_of_id = re.sub(r"[_/.\-]+", " ", doc_id)  # a name of a file may be in any language
    of_document = {
        facet.name: (*declared.get(facet.name, ()), *matcher(facet)(words_of_id)) for facet in profile.facets
    }

    @lru_cache(maxsize=1_024)
    def of_section(section: tuple[str, ...], index: int) -> tuple[str, ...]:
        return _unique(value for heading in reversed(section) for value in facets[index][1](heading))

    def tag(text: str, section: tuple[str, ...]) -> Tags:
        return {
            facet.name: _unique((*match(text), *of_section(section, index), *of_document[facet.name]))
            or (facet.default,)
            for index, (facet, match) in enumerate(facets)
        }

    return tag


def _unique(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))
