"""Names, years, dates and codes in a question that is not in English, and the forms in which a text mentions them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from quoth.language.conventions import Conventions, conventions
from quoth.language.figures import english_figures
from quoth.language.words import fold
from quoth.types import Entity, EntityKind

MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
"""What a month is called in the words of an entity, whatever the language."""
_YEAR = re.compile(r"(?<![0-9A-Za-z.,/$€£-])(?:1[5-9]|20)\d\d(?![0-9A-Za-z%/]|[.,-]\d)")
_QUOTED = re.compile(r"[\"“”„«»「『《](?P<inside>[^\"“”„«»「」『』《》]{2,80})[\"“”»«」』》]")
_CODE = re.compile(
    r"(?<![0-9A-Za-z-])(?!\d+[a-z]+(?![0-9A-Za-z-]))(?=[0-9A-Za-z-]*\d)(?=[0-9A-Za-z-]*[A-Za-z])"
    r"[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*(?![0-9A-Za-z-])"
)
"""Letters and digits in one word, but no number with an ending: `70ern`, `70lerde`."""
_IDEOGRAPHIC_DATE = re.compile(
    r"(?:(?P<year>\d{4})\s?[年년]\s?)?(?P<month>\d{1,2})\s?[月월]\s?(?P<day>\d{1,2})\s?[日일号號]"
)
_WORD = re.compile(r"(?<!\w)[^\W\d_][\w&]*(?:['’.&-][^\W\d_]+)*")
_LATIN_WORD = re.compile(
    r"(?<![A-Za-z\u00c0-\u024f0-9])[A-Z\u00c0-\u00de][A-Za-z\u00c0-\u024f&]*(?:['’.&-][A-Za-z\u00c0-\u024f]+)*"
)
_SUFFIX = re.compile(r"['’]\w+$")
_SUFFIXES = re.compile(r"['’][^\W\d_]+")
_START = re.compile(r"(?:^|[.?!:;…¿¡]\s*|[\"“„«(]\s*)$")
_SHORTEST_STEM = 4
_JOINERS = frozenset("of de del della di da do dos la le van von der den zu bin ibn al el".split())


def names_and_dates(question: str, rules: Conventions) -> Iterator[tuple[tuple[int, int], Entity]]:
    """Yield the dates, years, quoted names, codes and names of a question, each with its start and end."""
    figures = english_figures(question, rules)
    for pattern in (_IDEOGRAPHIC_DATE, *_date_patterns(rules.code or "")):
        for match in pattern.finditer(figures.lower() if len(figures.lower()) == len(figures) else figures):
            groups = match.groupdict()
            month = _month(groups["month"], rules)
            words = (MONTHS[month], str(int(groups["day"])), *([groups["year"]] if groups["year"] else []))
            yield match.span(), Entity(question[slice(*match.span())], EntityKind.DATE, words)
    for match in _YEAR.finditer(figures):
        yield match.span(), Entity(question[slice(*match.span())], EntityKind.YEAR, (match[0],))
    for match in _QUOTED.finditer(question):
        words = tuple(word for word in re.findall(r"[\w.-]*\w", fold(match["inside"])) if word not in rules.starters)
        if words and not rules.solid:
            yield match.span(), Entity(match["inside"], EntityKind.QUOTED, words)
    for match in _CODE.finditer(question):
        yield match.span(), Entity(match[0], EntityKind.CODE, (fold(match[0]),))
    yield from _names(question, rules)


def _month(text: str, rules: Conventions) -> int:
    if text.isdigit():
        return min(max(int(text), 1), 12) - 1
    return next(at for at, names in enumerate(rules.months) if text in names)


@cache
def _date_patterns(code: str) -> tuple[re.Pattern[str], ...]:
    """Return patterns for `3. Oktober 1990`, `3 de octubre de 1990` and `Ekim 3, 1990`, in small letters."""
    names = sorted(conventions(code).month_names, key=len, reverse=True)
    if not names:
        return ()
    month = rf"(?P<month>{'|'.join(map(re.escape, names))})"
    day, year = r"(?P<day>\d{1,2})(?:\.|er|º)?", r"(?:,?\s+(?:del?\s|năm\s)?(?P<year>\d{4}))?"
    first = rf"(?<!\w){day}\s+(?:de\s+)?{month}\.?(?!\w){year}"
    return re.compile(first), re.compile(rf"(?<!\w){month}\.?\s+{day}(?!\w){year}")


def _names(question: str, rules: Conventions) -> Iterator[tuple[tuple[int, int], Entity]]:
    """Yield runs of capitalised words. Of a script without capitals, only words in Latin letters can be such.

    Where nouns are capitalised, a name must have two words or be in capitals.
    """
    cased = bool(rules.starters) and not rules.solid
    if cased and question.isupper():
        return
    capitalised = list((_WORD if cased else _LATIN_WORD).finditer(question))
    for run in _runs(question, capitalised, rules):
        if _START.search(question[: run[0].start()]) and cased and not _in_capitals(run[0][0]):
            run = run[1:]  # noqa: PLW2901 - the first word of a sentence is capitalised anyway
        if not run or (rules.capital_nouns and len(run) == 1 and not _in_capitals(run[0][0])):
            continue
        text = question[run[0].start() : run[-1].end()]
        bare = _SUFFIX.sub("", text)
        if rules.capital_nouns and len(run) > 1:  # `Doctor Who-Serie`: the last noun says what it is
            bare = bare.rpartition("-")[0] if "-" in run[-1][0] else bare
        parts = re.findall(r"\w+", fold(_SUFFIXES.sub("", bare)))
        words = tuple(part for part in parts if part not in _JOINERS) or tuple(parts)
        yield (run[0].start(), run[-1].end()), Entity(bare, EntityKind.NAME, words)


def _runs(question: str, words: list[re.Match[str]], rules: Conventions) -> list[list[re.Match[str]]]:
    runs: list[list[re.Match[str]]] = []
    for match in words:
        if not match[0][0].isupper() or (match[0].lower() in rules.starters and not _in_capitals(match[0])):
            continue
        last = runs[-1][-1] if runs else None
        joiners = {""} if rules.capital_nouns else {"", *_JOINERS}
        joined = last is not None and question[last.end() : match.start()].strip(" -").lower() in joiners
        if joined and last is not None and not _SUFFIX.search(last[0]):
            runs[-1].append(match)
        else:
            runs.append([match])
    return runs


def _in_capitals(word: str) -> bool:
    return any(sum(map(str.isupper, part)) >= 2 for part in word.split("-"))


def inflected(word: str, languages: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern for a folded word of a name in any form: languages inflect names by their last letters."""
    return _inflected(word, any(conventions(code).long_endings for code in languages))


@cache
def _inflected(word: str, long_endings: bool) -> re.Pattern[str]:
    if word.isdigit():
        return re.compile(rf"(?<!\d){word}(?!\d)")
    if len(word) <= _SHORTEST_STEM - 1:
        return re.compile(rf"(?<!\w){re.escape(word)}\w{{0,3}}(?!\w)")
    dropped = 2 * len(word) // 5 if long_endings else 2 if len(word) >= _SHORTEST_STEM + 2 else 1
    return re.compile(rf"(?<!\w){re.escape(word[: max(_SHORTEST_STEM - 1, len(word) - dropped)])}")


@cache
def dated(month: str, day: str, languages: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern for a day in a folded text: by the name of its month in these languages, or in figures."""
    number = MONTHS.index(month)
    named = sorted({fold(name) for code in languages for name in _month_names(code, number)}, key=len, reverse=True)
    names = "|".join(map(re.escape, named)) or "(?!)"
    figures = (
        rf"0?{day}[./]\s?0?{number + 1}[./]|{number + 1}\s?[月월]\s?{day}\s?[日일号]|-{number + 1:02}-{int(day):02}\b"
    )
    return re.compile(
        rf"(?<!\d)0?{day}(?:\.|er|º)?\s+(?:de\s+)?(?:{names})|(?:{names})\.?\s+0?{day}(?!\d)|(?<!\d)(?:{figures})"
    )


def _month_names(code: str, number: int) -> tuple[str, ...]:
    months = conventions(code).months
    return months[number] if len(months) == len(MONTHS) else ()
