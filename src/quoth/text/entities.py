"""Names, years, dates, codes and quoted names: the particular things that a question presumes to exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from quoth.text.fold import fold, singular
from quoth.text.quantities import quantities
from quoth.text.units import UNITS
from quoth.text.words import FUNCTION_WORDS
from quoth.types import Entity, EntityKind, Span

_MONTHS = ("january february march april may june july august september october november december").split()
_MONTH = "|".join([*_MONTHS, *(month[:3] for month in _MONTHS), "sept"])
_DATE = re.compile(
    rf"\b(?:(?P<month>{_MONTH})\.?\s(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:,?\s(?P<year>\d{{4}}))?"
    rf"|(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?\s(?:of\s)?(?P<month2>{_MONTH})\.?(?:,?\s(?P<year2>\d{{4}}))?)\b",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?<![\w.,/$€£-])(?:1[5-9]|20)\d\d(?![\w%/]|[.,-]\d)")
_QUOTED = re.compile(r"[\"“„«](?P<inside>[^\"“”„«»]{2,80})[\"”«»]")
# Letters and digits in one word (`V6`, `MON-810`), or numbers joined by hyphens (`11-52-0`); not `20th`, not `1990s`.
_CODE = re.compile(
    r"(?<![\w-])(?!\d+(?:st|nd|rd|th|s)\b)(?=[\w-]*\d)(?:(?=[\w-]*[A-Za-z])[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*|\d+(?:-\d+){2,})(?![\w-])"
)
_WORD = re.compile(r"(?<!\w)[^\W\d_][\w&]*(?:['’.&][^\W\d_]+)*['’]?")
_SENTENCE_START = re.compile(r"(?:^|[.?!:;]\s+|[\"“(]\s*)$")
_JOINERS = frozenset({"of", "de", "la", "von", "van"})
_NEAR = 160
"""How far apart, in characters, the words of one mention may stand."""


def entities(question: str) -> tuple[Entity, ...]:
    """The particular things a question presumes, in order, each text once."""
    taken: list[Span] = [one.span for one in quantities(question)]
    found: list[tuple[int, Entity]] = []
    for read in (_dates, _years, _quoted, _codes, _names):
        for span, entity in read(question):
            if all(span.end <= other.start or other.end <= span.start for other in taken):
                taken.append(span)
                found.append((span.start, entity))
    ordered = sorted(found, key=lambda one: one[0])
    return tuple({fold(entity.text): entity for _, entity in reversed(ordered)}.values())[::-1]


def _dates(question: str) -> Iterator[tuple[Span, Entity]]:
    for match in _DATE.finditer(question):
        month, day = match["month"] or match["month2"], match["day"] or match["day2"]
        year = match["year"] or match["year2"]
        words = (fold(month)[:3], str(int(day)), *([year] if year else []))
        yield Span(match.start(), match.end()), Entity(match[0], EntityKind.DATE, words)


def _years(question: str) -> Iterator[tuple[Span, Entity]]:
    for match in _YEAR.finditer(question):
        yield Span(match.start(), match.end()), Entity(match[0], EntityKind.YEAR, (match[0],))


def _quoted(question: str) -> Iterator[tuple[Span, Entity]]:
    for match in _QUOTED.finditer(question):
        words = tuple(word for word in re.findall(r"[\w.-]*\w", fold(match["inside"])) if word not in FUNCTION_WORDS)
        if words:
            yield Span(match.start(), match.end()), Entity(match["inside"], EntityKind.QUOTED, words)


def _codes(question: str) -> Iterator[tuple[Span, Entity]]:
    for match in _CODE.finditer(question):
        yield Span(match.start(), match.end()), Entity(match[0], EntityKind.CODE, (fold(match[0]),))


def _names(question: str) -> Iterator[tuple[Span, Entity]]:
    """Runs of capitalised words. Where most words are capitalised, as in a title, capitals tell nothing."""
    words = list(_WORD.finditer(question))
    content = [word for word in words if fold(word[0]) not in FUNCTION_WORDS]
    if len(content) >= 5 and all(word[0][0].isupper() for word in content):
        return
    for _, run in groupby(_runs(question, words), key=lambda one: one[0]):
        yield from _name([match for _, match in run], question)


def _runs(question: str, words: list[re.Match[str]]) -> Iterator[tuple[int, re.Match[str]]]:
    """Each capitalised word with the number of the name it belongs to."""
    number, previous = 0, None
    for match in words:
        if not match[0][0].isupper() or fold(match[0]) in FUNCTION_WORDS or fold(match[0]) in UNITS:
            continue
        # A possessive ends a name: `Disclosing Party's Confidential Information` holds two.
        joined = previous and not previous[0].endswith(("'s", "’s", "'", "’"))
        if not (joined and previous and question[previous.end() : match.start()].strip(" -") in {"", *_JOINERS}):
            number += 1
        yield number, match
        previous = match


def _name(run: list[re.Match[str]], question: str) -> Iterator[tuple[Span, Entity]]:
    first = run[0]
    if _SENTENCE_START.search(question[: first.start()]) and not _surely_a_name(first[0]):
        # The first word of a sentence is capitalised anyway; only the words after it make a name.
        run = run[1:]
    if not run:
        return
    span = Span(run[0].start(), run[-1].end())
    words = tuple(singular(fold(match[0])) for match in run)
    yield span, Entity(question[span.start : span.end], EntityKind.NAME, words)


def _surely_a_name(word: str) -> bool:
    return word.endswith(("'s", "’s")) or any(letter.isupper() for letter in word[1:])


def mentions(folded: str, entity: Entity) -> bool:
    """Whether a folded text mentions the entity: all its words, in any form, close together; or its initials."""
    if entity.kind is EntityKind.CODE:
        return _code_pattern(entity.words[0]).search(folded) is not None
    patterns = [_word_pattern(word, entity.kind) for word in entity.words]
    rarest = max(range(len(patterns)), key=lambda index: len(entity.words[index]))
    for match in patterns[rarest].finditer(folded):
        nearby = folded[max(0, match.start() - _NEAR) : match.end() + _NEAR]
        if all(pattern.search(nearby) for pattern in patterns):
            return True
    return entity.kind is EntityKind.NAME and _short_or_long_form(folded, entity.words)


def word_occurs(folded: str, word: str, kind: EntityKind) -> bool:
    """Whether a folded text holds one word of an entity, in any form."""
    return _word_pattern(word, kind).search(folded) is not None


def _word_pattern(word: str, kind: EntityKind) -> re.Pattern[str]:
    if kind is EntityKind.NAME:
        return re.compile(rf"\b{re.escape(_stem(word))}")
    if kind is EntityKind.YEAR:
        return re.compile(rf"\b(?:{word}|{word[:3]}0s)\b")
    if kind is EntityKind.DATE and not word.isdigit():
        return re.compile(rf"\b{word}")
    return re.compile(rf"\b0?{re.escape(singular(word))}")


def _stem(word: str) -> str:
    """The part of a name that its other forms share: `Germany` and `German`, `Disclosing` and `Discloser`."""
    for ending in ("ing", "ed"):
        if len(word) > len(ending) + 4 and word.endswith(ending):
            return word.removesuffix(ending)
    return word[:-2] if len(word) >= 7 else word[:-1] if len(word) >= 5 else word


def _code_pattern(code: str) -> re.Pattern[str]:
    """`v6` is also written `V-6` and `V 6`."""
    loose = r"[-\s]?".join(map(re.escape, re.findall(r"[^\W\d_]+|\d+", code)))
    return re.compile(rf"(?<![^\W_]){loose}(?![^\W_])")


def _short_or_long_form(folded: str, words: tuple[str, ...]) -> bool:
    """`USDA` for a name written out, and the other way round (`U.S.` for `United States`)."""
    if len(words) == 1 and 2 <= len(words[0].replace(".", "")) <= 6:
        letters = words[0].replace(".", "")
        dotted = r"\.\s?".join(letters) + r"\b"
        written_out = r"\b" + r"\w*(?:\s(?:of|the|for|and))*[\s-]".join(letters) + r"\w+"
        return re.search(rf"\b{dotted}|{written_out}", folded) is not None
    if len(words) > 1:
        initials = r"\.?\s?".join(word[0] for word in words)
        return re.search(rf"\b{initials}\b", folded) is not None
    return False
