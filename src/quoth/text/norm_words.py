"""The words of a rule: which of them name its case, and which belong to the language of every rule."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from quoth.text.fold import singular
from quoth.text.units import UNITS
from quoth.text.words import FUNCTION_WORDS

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
"""What a length measures, by the words that say so."""

# They tell a case from another although they carry no content elsewhere.
_TELLING = frozenset("before after above below without during between outside inside near".split())
_THINGS = frozenset({"building"})  # no form of a verb of every rule
_IRREGULAR = {
    "kept": "keep",
    "built": "build",
    "held": "hold",
    "left": "leave",
    "given": "give",
    "taken": "take",
    "paid": "pay",
    "sold": "sell",
    "written": "write",
    "chosen": "choose",
    "worn": "wear",
    "sown": "sow",
    "grown": "grow",
    "driven": "drive",
    "brought": "bring",
    "sent": "send",
    "feet": "foot",
    "mice": "mouse",
    "geese": "goose",
    "people": "person",
    "children": "child",
}
_ENDINGS = ("ation", "able", "ment", "ing", "ion", "ed", "al", "ate", "e")
_GENERIC = """
    allow allowed acceptable accordance accord addition additional advise agree amount applies apply appropriate
    authorise authorize authorised authorized ban banned bar barred base build case charge comply compliance constitute
    construct contain cost current dimension disallowed either ensure entitled equal erect establish exact
    exceed extend fall fee follow following forbid forbidden further general give greater greatest have
    illegal include including install keep large larger later least less let level limit limitation limited locate lower
    lowest make mandatory max maximum may measure meet min minimum more must necessary need norm normal number
    obligatory own particular period permit permitted place possible preferred prescribe price prohibit prohibited
    proper propose provide provision put quantity range rate reach recommend recommended refer regulation relevant
    remain require required requirement respective restrict restriction rule section set shall short shorter should
    size small smaller specified specify stand standard stay strictly subject suggest sum suitable take temperature
    term time total
    typical typically unlawful up usual value weight worth welcome will within subsection paragraph article clause
    chapter expressly hereby maximal minimal optimum optimal ideal best anywhere everywhere
"""
_PERSONS = frozenset("person people anyone everyone individual you your we us our one party".split())


@dataclass(frozen=True, slots=True)
class Wording:
    """The content words of a text, in order and each once, and its lists of alternatives (`fence, wall or hedge`)."""

    words: tuple[str, ...]
    lists: tuple[tuple[frozenset[str], ...], ...]
    first: frozenset[str]
    """The words of the first phrase that has any."""
    head: str | None
    """The last word of the first phrase."""
    definite: bool
    """Whether that phrase names a particular thing: `the rear fence`, `your shed`."""
    of_this_text: bool
    """Whether it names what only this text is about: `this agreement`."""


_TOKEN = re.compile(r"[^\W\d_][\w']*(?:[-&][^\W_][\w']*)*|\d[\d.,:]*\d|\d|[,/;]")
_JOINERS = frozenset({",", "/", "or", "and", "nor", "and/or"})
_COMMA, _STOP = frozenset(","), frozenset(";")
_DETERMINERS = frozenset("a an any all each every no some such".split())
_SELF = frozenset({"this", "these"})
_DEFINITE = frozenset("the this that these those your his her their".split())


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """A folded word without the endings of number, tense and derivation; crude, and the same on both sides."""
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


_GENERIC_STEMS = frozenset(stem(word) for word in _GENERIC.split())
_UNIT_STEMS = frozenset(stem(name) for name in UNITS if len(name) > 2)


def is_content(word: str) -> bool:
    """Whether a folded word tells what a rule is about, rather than that it is a rule or what it measures."""
    if word in _TELLING or singular(word) in _THINGS:
        return True
    if word in FUNCTION_WORDS or singular(word) in ATTRIBUTES:
        return False
    return stem(word) not in _GENERIC_STEMS


def is_unit(word: str) -> bool:
    return stem(word) in _UNIT_STEMS


def is_person(words: Iterable[str]) -> bool:
    """Whether the words name no more than somebody."""
    return all(word in _PERSONS for word in words)


def content(text: str) -> tuple[str, ...]:
    """The stems of the content words of a levelled text, in order, each once."""
    return wording(text).words


def wording(level: str) -> Wording:
    """Read a levelled text as phrases: runs of words between function words, some of them joined to lists."""
    lists: list[list[list[str]]] = [[[]]]
    joined: set[int] = set()
    found: dict[str, None] = {}
    first: list[str] | None = None
    definite = of_this_text = closed = after_joiner = False
    for token in _TOKEN.findall(level):
        if token in _JOINERS:
            if lists[-1][-1]:
                lists[-1].append([])
            if token not in _COMMA:
                joined.add(len(lists) - 1)
            after_joiner = True
            continue
        if token in _DETERMINERS or token in _DEFINITE:
            if first is None:
                definite, of_this_text = token in _DEFINITE, token in _SELF
            if not after_joiner and any(lists[-1]):
                lists.append([[]])  # `on a lot`: another phrase
            continue
        after_joiner = False
        if token not in _STOP and is_content(token):
            word = stem(token.lstrip("0") if token[0].isdigit() else token)
            found.setdefault(word)
            lists[-1][-1].append(word)
            if first is None:
                first = lists[-1][-1]
        elif token in FUNCTION_WORDS or token in _STOP:
            closed = closed or first is not None
            if any(lists[-1]):
                lists.append([[]])
        elif not closed:
            definite = False  # `the minimum length of a password` names no particular password
    phrases = tuple(  # a comma alone makes no list
        tuple(frozenset(chunk) for chunk in group if chunk)
        for at, group in enumerate(lists)
        if at in joined and sum(map(bool, group)) > 1
    )
    head = first[-1] if first else None
    return Wording(
        tuple(found),
        phrases,
        frozenset(first or ()),
        head,
        definite=definite and bool(first),
        of_this_text=of_this_text and bool(first),
    )
