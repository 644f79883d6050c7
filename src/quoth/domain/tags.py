"""Tag sentences with the values of each facet, found in the sentence, its headings and its document."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

from quoth.domain.profile import Facet, Profile
from quoth.language.words import fold
from quoth.types import Tags

Tagger = Callable[[str, tuple[str, ...]], Tags]
"""Returns the tags of a sentence of one document, given its text and its headings."""


@lru_cache(maxsize=64)
def matcher(facet: Facet) -> Callable[[str], tuple[str, ...]]:
    """Return a function that lists the facet's values in a text, in order of their first mention.

    Only whole words and their plurals match: `rice` does not match `price`, nor `rot` `rotation`.
    """
    value_of = {
        form: value.name
        for value in facet.values
        for word in (value.name, *value.synonyms, *value.keywords)
        for form in _forms(_spaced(fold(word)))
    }
    if not value_of:
        return lambda _text: ()
    longest_first = sorted(value_of, key=lambda word: (-len(word), word))
    pattern = re.compile(rf"(?<!\w)({'|'.join(map(re.escape, longest_first))})(?:e?s)?(?!\w)")

    def match(text: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(value_of[word] for word in pattern.findall(_spaced(fold(text)))))

    return match


def _forms(word: str) -> tuple[str, ...]:
    """Return the word, and its plural where that changes the ending: `berry`, `berries`."""
    return (word, word[:-1] + "ies") if re.search(r"[^aeiou]y$", word) else (word,)


def _spaced(folded: str) -> str:
    """Return the text with single spaces instead of hyphens and line breaks, so that `no-till` equals `no till`."""
    return " ".join(re.split(r"[\s-]+", folded))


def document_tagger(profile: Profile, *, doc_id: str, declared: Tags) -> Tagger:
    """Return the tagger of a document. Values come from nearest to farthest, so that the nearest is the main value.

    The sentence itself is nearest, then its headings from the innermost out, then the `declared` tags, then `doc_id`.
    """
    facets = [(facet, matcher(facet)) for facet in profile.facets]
    words_of_id = re.sub(r"[_/.\-]+", " ", doc_id)
    of_document = {facet.name: (*declared.get(facet.name, ()), *match(words_of_id)) for facet, match in facets}

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
