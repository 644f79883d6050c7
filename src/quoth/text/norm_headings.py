"""Headings as part of a rule's case: what they say that the sentence leaves unsaid."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from quoth.text.fold import fold
from quoth.text.norm_words import stem, wording
from quoth.text.stated import levelled

_NUMBER = re.compile(
    r"(?<!\w)(?:(?:section|sec\.?|article|rule|chapter|part|title|appendix|annex|schedule|exhibit|§+)\s*[\divxlc]+[\w.()-]*"
    r"|\d[\w.()-]*|[a-z][.)](?=\s)|[ivx]+\.)"
)
# Words that order a document rather than name a case.
_ORDERING = frozenset(
    stem(word)
    for word in """
    amendment annex appendix approval aspect basic chapter checklist code condition consideration covenant deadline
    declaration definition detail document duty extract guidance guide guideline handbook information instruction
    introduction issue key main management manual material maximum miscellaneous notes obligation other overview page
    part permission point policy practice principle procedure process prohibition purpose question recommendation
    regulation
    replacement responsibility right rights schedule scope section specific specification standard statement summary
    table title tips topic use article agreement contract exhibit employee staff review timing decision
    """.split()
)
_LIKE = 4  # letters that two words of one family share: `decide`, `decision`


@dataclass(frozen=True, slots=True)
class Headings:
    """The content words of each heading, outermost first; headings without any are left out.

    `broad` tells that the nearest of them names a class of things and no more: `Vehicles`.
    """

    levels: tuple[tuple[str, ...], ...]
    broad: bool

    @property
    def nearest(self) -> tuple[str, ...]:
        return self.levels[-1] if self.levels else ()

    @property
    def words(self) -> frozenset[str]:
        return frozenset(word for level in self.levels for word in level)


@lru_cache(maxsize=4096)
def headings_of(section: tuple[str, ...]) -> Headings:
    levels = [(heading, level) for heading in section if (level := _content(heading))]
    broad = bool(levels) and len(levels[-1][1]) == 1 and fold(levels[-1][0]).rstrip(" .:").endswith("s")
    return Headings(tuple(level for _, level in levels), broad)


def parted_by_headings(
    one: tuple[Headings, frozenset[str]], other: tuple[Headings, frozenset[str]], *, asked: frozenset[str]
) -> bool:
    """Whether the headings of two norms, given with the norms' own words, put them under different cases."""
    (mine, here), (theirs, there) = one, other
    known = here | there | asked
    return (
        _restricts(mine.nearest, known | theirs.words)
        or _restricts(theirs.nearest, known | mine.words)
        or (_names_another(mine, known) and _names_another(theirs, known) and mine.nearest != theirs.nearest)
        or any(_contrast(a, b, known) for a in mine.levels for b in theirs.levels)
    )


def _content(heading: str) -> tuple[str, ...]:
    words = wording(_NUMBER.sub(" ", levelled(heading))).words
    return tuple(word for word in words if word not in _ORDERING and not word[0].isdigit())


def _restricts(level: Sequence[str], known: frozenset[str]) -> bool:
    """Whether a heading has a restricted subject of its own, or restricts a word that is known: `existing fences`."""
    new = [not _is_like(word, known) for word in level]
    before_known = any(this and not following for this, following in pairwise(new))
    return before_known or (len(new) > 1 and all(new))


def _names_another(headings: Headings, known: frozenset[str]) -> bool:
    """Whether the nearest heading is about something that the norm does not name: `Interior`, but not `Vehicles`."""
    return bool(headings.nearest) and not headings.broad and not any(_is_like(word, known) for word in headings.nearest)


def _contrast(one: Sequence[str], other: Sequence[str], known: frozenset[str]) -> bool:
    """Whether two headings restrict a word that they share differently: `front yards`, `rear yards`."""
    mine = [word for word in one if word not in other and not _is_like(word, known)]
    theirs = [word for word in other if word not in one and not _is_like(word, known)]
    return bool(mine and theirs and set(one) & set(other))


def _is_like(word: str, known: Iterable[str]) -> bool:
    return any(word == other or (len(word) >= _LIKE and word[:_LIKE] == other[:_LIKE]) for other in known)
