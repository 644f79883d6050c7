"""Tell the words that name the case of a rule from the words that occur in every rule.

Headings are part of the case: they name what the sentence itself omits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from quoth.language.quantities import UNITS, normalise_numbers
from quoth.language.words import FUNCTION_WORDS, fold, singular, word_list

ATTRIBUTES = {
    word: attribute
    for attribute, words in {
        "height": "high height tall higher taller tallest highest",
        "width": "wide width wider",
        "depth": "deep depth deeper shallow",
        "length": "long length longer",
        "distance": "distance setback spacing apart away closer nearer",
        "thickness": "thick thickness thicker",
        "diameter": "diameter caliper",
    }.items()
    for word in words.split()
}
"""The attribute that each word stands for, of those a length can measure."""

# Function words that distinguish cases: `before harvest`, `after harvest`.
_TELLING = frozenset("before after above below without during between outside inside near".split())
_THINGS = frozenset({"building"})  # not a form of the generic verb `build`
_IRREGULAR = dict(
    form.split(":")
    for form in (
        "kept:keep built:build held:hold left:leave given:give taken:take paid:pay sold:sell written:write"
        " chosen:choose worn:wear sown:sow grown:grow driven:drive brought:bring sent:send feet:foot mice:mouse"
        " geese:goose people:person children:child"
    ).split()
)
_ENDINGS = ("ation", "able", "ment", "ing", "ion", "ed", "al", "ate", "e")
_PERSONS = frozenset("person people anyone everyone individual you your we us our one party".split())


@dataclass(frozen=True, slots=True)
class Wording:
    """The distinct content words of a text, in order, and its lists of alternatives (`fence, wall or hedge`)."""

    words: tuple[str, ...]
    lists: tuple[tuple[frozenset[str], ...], ...]
    first: frozenset[str]
    """The content words of the first phrase that has any."""
    head: str | None
    """The last content word of that phrase."""
    definite: bool
    """Whether that phrase names a particular thing: `the rear fence`, `your shed`."""
    of_this_text: bool
    """Whether that phrase refers to the text itself: `this agreement`."""


_TOKEN = re.compile(r"[^\W\d_][\w']*(?:[-&][^\W_][\w']*)*|\d[\d.,:]*\d|\d|[,/;]")
_JOINERS = frozenset({",", "/", "or", "and", "nor", "and/or"})
_DETERMINERS = frozenset("a an any all each every no some such".split())
_SELF = frozenset({"this", "these"})
_DEFINITE = frozenset("the this that these those your his her their".split())


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Strip the endings of number, tense and derivation from a folded word; the result is only compared with others."""
    word = _IRREGULAR.get(word, word)
    word = _IRREGULAR.get(singular(word), singular(word))
    if word.endswith("ied") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith("ly") and len(word) > 6:
        word = word.removesuffix("ly")
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= (4 if ending in {"al", "ion", "ate"} else 3):
            bare = word.removesuffix(ending)
            if ending in {"ing", "ed"} and len(bare) > 3 and bare[-1] == bare[-2] and bare[-1] not in "ls":
                bare = bare[:-1]  # `planned`, `running`
            return bare.removesuffix("e")
    return word


_GENERIC_STEMS = frozenset(stem(word) for word in word_list("generic_in_rules"))
_UNIT_STEMS = frozenset(stem(name) for name in UNITS if len(name) > 2)


def is_content(word: str) -> bool:
    """Return whether a folded word names what a rule is about; `must` and `height` do not."""
    if word in _TELLING or singular(word) in _THINGS:
        return True
    if word in FUNCTION_WORDS or singular(word) in ATTRIBUTES:
        return False
    return stem(word) not in _GENERIC_STEMS


def is_unit(word: str) -> bool:
    return stem(word) in _UNIT_STEMS


def is_person(words: Iterable[str]) -> bool:
    """Return whether all words stand for an unspecified person: `anyone`, `you`."""
    return all(word in _PERSONS for word in words)


def content(text: str) -> tuple[str, ...]:
    """Return the distinct stems of the content words of a normalised text, in order."""
    return wording(text).words


def wording(text: str) -> Wording:
    """Split a normalised text into phrases (runs of words between function words) and join those that form lists."""
    lists: list[list[list[str]]] = [[[]]]
    joined: set[int] = set()
    stems: dict[str, None] = {}
    first: list[str] | None = None
    definite = of_this_text = closed = after_joiner = False
    for written in _TOKEN.findall(text):
        if written in _JOINERS:
            if lists[-1][-1]:
                lists[-1].append([])
            if written != ",":
                joined.add(len(lists) - 1)
            after_joiner = True
            continue
        if written in _DETERMINERS or written in _DEFINITE:
            if first is None:
                definite, of_this_text = written in _DEFINITE, written in _SELF
            if not after_joiner and any(lists[-1]):
                lists.append([[]])  # `on a lot`: another phrase
            continue
        after_joiner = False
        if written != ";" and is_content(written):
            word = stem(written.lstrip("0") if written[0].isdigit() else written)
            stems.setdefault(word)
            lists[-1][-1].append(word)
            if first is None:
                first = lists[-1][-1]
        elif written in FUNCTION_WORDS or written == ";":
            closed = closed or first is not None
            if any(lists[-1]):
                lists.append([[]])
        elif not closed:
            definite = False  # `the minimum length of a password` names no particular password
    phrases = tuple(  # commas alone do not make a list
        tuple(frozenset(words) for words in group if words)
        for index, group in enumerate(lists)
        if index in joined and sum(map(bool, group)) > 1
    )
    return Wording(
        words=tuple(stems),
        lists=phrases,
        first=frozenset(first or ()),
        head=first[-1] if first else None,
        definite=definite and bool(first),
        of_this_text=of_this_text and bool(first),
    )


_NUMBER = re.compile(
    r"(?<!\w)(?:(?:section|sec\.?|article|rule|chapter|part|title|appendix|annex|schedule|exhibit|§+)\s*[\divxlc]+[\w.()-]*"
    r"|\d[\w.()-]*|[a-z][.)](?=\s)|[ivx]+\.)"
)
# Words that structure a document and name no case.
_ORDERING = frozenset(
    stem(word)
    for word in """
    amendment annex appendix approval aspect basic chapter checklist code condition consideration covenant deadline
    declaration definition detail document duty extract guidance guide guideline handbook information instruction
    introduction issue key main management manual material maximum miscellaneous notes obligation other overview
    page part permission point policy practice principle procedure process prohibition purpose question
    recommendation regulation replacement responsibility right rights schedule scope section specific specification
    standard statement summary table title tips topic use article agreement contract exhibit employee staff review
    timing decision
    """.split()
)
_LIKE = 4  # first letters that related words share: `decide`, `decision`


@dataclass(frozen=True, slots=True)
class Headings:
    """The content words of each heading, outermost first; headings without content words are omitted.

    `broad` is True when the nearest heading only names a class of things: `Vehicles`.
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
    levels: list[tuple[str, ...]] = []
    broad = False
    for heading in section:
        words = content(_NUMBER.sub(" ", normalise_numbers(heading)))
        if level := tuple(word for word in words if word not in _ORDERING and not word[0].isdigit()):
            levels.append(level)
            broad = len(level) == 1 and fold(heading).rstrip(" .:").endswith("s")
    return Headings(tuple(levels), broad)


def separated_by_headings(headings: Headings, other: Headings, known: frozenset[str]) -> bool:
    """Return whether headings put two norms under different cases; `known` are their words and the question's."""
    apart = headings.nearest != other.nearest
    return (
        _restricts(headings.nearest, known | other.words)
        or _restricts(other.nearest, known | headings.words)
        or (apart and _names_another(headings, known) and _names_another(other, known))
        or any(_contrast(a, b, known) for a in headings.levels for b in other.levels)
    )


def _restricts(level: Sequence[str], known: frozenset[str]) -> bool:
    """Return whether a heading restricts a known word (`existing fences`), or has several words and none is known."""
    new = [not _is_like(word, known) for word in level]
    before_known = any(this and not following for this, following in pairwise(new))
    return before_known or (len(new) > 1 and all(new))


def _names_another(headings: Headings, known: frozenset[str]) -> bool:
    """Return whether the nearest heading names another thing than the norm: `Interior`, not the broad `Vehicles`."""
    return bool(headings.nearest) and not headings.broad and not any(_is_like(word, known) for word in headings.nearest)


def _contrast(heading: Sequence[str], other: Sequence[str], known: frozenset[str]) -> bool:
    """Return whether two headings restrict a shared word differently: `front yards`, `rear yards`."""
    own = [word for word in heading if word not in other and not _is_like(word, known)]
    others = [word for word in other if word not in heading and not _is_like(word, known)]
    return bool(own and others and set(heading) & set(other))


def _is_like(word: str, known: Iterable[str]) -> bool:
    return any(word == other or (len(word) >= _LIKE and word[:_LIKE] == other[:_LIKE]) for other in known)
