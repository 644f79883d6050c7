"""Tags: which values of each facet a sentence is about, by whole words of it, its headings and its document."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

from quoth.profile import Facet, Profile
from quoth.text.fold import fold
from quoth.types import Tags

Tagger = Callable[[str, tuple[str, ...]], Tags]
"""Gives the tags of a sentence (its text, its headings) of one document."""


@lru_cache(maxsize=64)
def matcher(facet: Facet) -> Callable[[str], tuple[str, ...]]:
    """A function that lists the facet's values found in a text, in order of their first mention.

    Whole words only, with a plural allowed: `rice` is not in `price`, nor `rot` in `rotation`.
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
    """The word, and its plural where that changes the end: `berry`, `berries`."""
    return (word, word[:-1] + "ies") if re.search(r"[^aeiou]y$", word) else (word,)


def _spaced(folded: str) -> str:
    """One space between words: `no-till`, `no till` and a `soil` whose `moisture` is on the next line are the same."""
    return " ".join(re.split(r"[\s-]+", folded))


def document_tagger(profile: Profile, *, doc_id: str, declared: Tags) -> Tagger:
    """The tagger of one document. The nearest mention gives the main value: the sentence's own words, then its
    headings from the innermost out, then what the document declares, then its id."""
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
