"""Rules for sentence ends in languages other than English, tried in order like those of `boundaries`.

They go by the lists of a language, and by signs that languages share: an ordinal, a word without a vowel, a blank
between the parts of an abbreviation. Not cutting is the safe mistake here too.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache

from quoth.language.conventions import Conventions
from quoth.language.sentence_ends import SentenceEnd
from quoth.language.spans import Runs
from quoth.language.words import fold

DOTTED = re.compile(r"(?:[^\W\d_]{1,3}\.)+[^\W\d_]{1,3}")
LABEL = re.compile(r"[IVXLCDM]+\b|[A-Z]\b|[ivxl]+\b")
WITH_DIGIT = re.compile(r"[^\s\d]{0,12}\d")
AFTER_NUMBER = re.compile(r"[\d°º]\s*$")
CLOSES = {")": "(", "]": "["}
_NUMERAL = re.compile(r"[IVXLCDM]+")
_DAY_OR_MONTH = re.compile(r"\d{1,2}\.")
_LONGEST_ORDINAL = 3
"""Digits; a number of four is a year."""
_VOWEL = re.compile(r"[aeiouyаеиоуыэюяіїєαειηουω]")
_LONGEST_WITHOUT_VOWEL = 5
_UNIT_LETTERS = frozenset("mglthмлтчμγ")


def abbreviates(key: str, language: Conventions) -> bool:
    """Return whether a word, in small letters and without its last period, is an abbreviation."""
    return key in language.abbreviations or DOTTED.fullmatch(key) is not None


def closes_a_sentence(candidate: SentenceEnd) -> bool:
    """Return whether a bracket closes here that the sentence began with."""
    opens = CLOSES.get(candidate.close[:1])
    return opens is not None and candidate.text[candidate.opened : candidate.match.start()].lstrip().rfind(opens) == 0


def is_section_number(candidate: SentenceEnd) -> bool:
    """Return whether all of the sentence so far is the number of a section: `Madde 5.`, `Artikel 3.`"""
    head = candidate.text[candidate.opened : candidate.match.start()].strip(" *_>\r\n").lower()
    return _section_number(candidate.language.sections).fullmatch(head) is not None


@cache
def _section_number(words: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"(?:{'|'.join(map(re.escape, words))})\.?\s*\d{{1,4}}(?:\.\d{{1,3}})*")


def _before_a_number(candidate: SentenceEnd) -> bool | None:
    """`im Jahr 2010. 15 Bauern` is an end; `Nr. 5`, `3. 5. 2021` and a short word before a number are not."""
    if not candidate.first.isdigit():
        return None
    word = candidate.word
    if abbreviates(candidate.key, candidate.language):
        return closes_a_sentence(candidate)
    if candidate.close or not word or word[-1] in ")]%":
        return True
    if word[-1].isdigit():
        dated = candidate.language.ordinals and candidate.ahead(_DAY_OR_MONTH) is not None
        return len(word) > _LONGEST_ORDINAL and word.isdigit() and not dated
    shortest = 5 if word.istitle() else 4
    return _is_word(word) and len(word) >= shortest and not _shortened(word)


def _ordinal(candidate: SentenceEnd) -> bool | None:
    """`3. Oktober` and, where a period makes an ordinal, `II. Weltkrieg` go on; before `Der` they end a sentence."""
    key, language = candidate.key, candidate.language
    if key.isdigit() and len(key) <= 2 and candidate.next in language.month_names:
        return False
    numeral = len(key) <= _LONGEST_ORDINAL if key.isdigit() else _NUMERAL.fullmatch(candidate.word) is not None
    return candidate.starts if language.ordinals and numeral and not candidate.close else None


def _abbreviation(candidate: SentenceEnd) -> bool | None:
    """`z. B. Hafer` goes on whatever follows, `Nr. A` to its number; before `Die`, `usw.` ends a sentence."""
    key, language = candidate.key, candidate.language
    if key in language.never_last:
        return False
    if key in language.before_a_number and not candidate.starts:
        follows = candidate.ahead(LABEL) or candidate.ahead(WITH_DIGIT)
        if follows or candidate.text[candidate.match.end()] == "(":
            return False
    return candidate.starts if key in language.abbreviations else None


def _short(candidate: SentenceEnd) -> bool | None:
    """`A. S. Puschkin` and `Yrd. Doç.` go on; `5 m. Karl`, `760 nm. Karl` and `BMW. Karl` do not."""
    key, word = candidate.key, candidate.word
    before = candidate.match.start() - len(word)
    measured = AFTER_NUMBER.search(candidate.text, candidate.opened, before) is not None
    if len(key) == 1 and key.isalpha() and not candidate.language.solid:
        return (candidate.starts and len(candidate.next) > 1) or (measured and word in _UNIT_LETTERS)
    if DOTTED.fullmatch(key):
        return candidate.starts
    return candidate.starts or measured if _shortened(word) and not word.isupper() else None


OTHER_RULES: tuple[Callable[[SentenceEnd], bool | None], ...] = (_before_a_number, _ordinal, _abbreviation, _short)


def _is_word(text: str) -> bool:
    """Return whether a text is letters, with the marks above and below them that some scripts write."""
    return all(letter.isalpha() or unicodedata.category(letter)[0] == "M" for letter in text)


def _shortened(word: str) -> bool:
    """Return whether a short word of an alphabet with vowels has none: `Hz`, `Mrd`, `гр`."""
    short = 0 < len(word) <= _LONGEST_WITHOUT_VOWEL and word.isalpha() and word.lower() != word.upper()
    return short and not _VOWEL.search(fold(word))


_BLANK = re.compile(
    r"(?<=[\u0e01-\u0e2e\u0e30-\u0e39\u0e40-\u0e45\u0e47-\u0e4e\u0e81-\u0ecd”’)\]%])"
    r"(?P<gap>\s+)(?=[\u0e01-\u0e2e\u0e40-\u0e44\u0e81-\u0eae\u0ec0-\u0ec4“‘(\[])"
)
"""A blank between two letters of a script that has no others: never beside a digit, or a sign that repeats a word."""
_LEAST, _ENOUGH, _MUCH = 40, 120, 300
"""Code points after which a blank ends a sentence: before a word that opens one, before most words, before any."""
_TAIL = 30


def space_cuts(
    text: str, start: int, end: int, *, sentence_cuts: list[int], runs: Runs, language: Conventions
) -> list[int]:
    """Return `sentence_cuts` and those at blanks, in order, for a language that ends sentences by a blank."""
    offsets: list[int] = []
    opened = start
    for stop in (*sentence_cuts, end):
        for blank in _BLANK.finditer(text, opened, stop):
            at = blank.start("gap")
            if runs.around(at) or stop - blank.end() < _TAIL:
                continue
            if text.startswith(language.starters_in_order, blank.end()):
                enough = _LEAST
            else:
                enough = _MUCH if text.startswith(language.continuing, blank.end()) else _ENOUGH
            if at - opened >= enough:
                offsets.append(at)
                opened = blank.end()
        if stop < end:
            offsets.append(stop)
        opened = stop
    return offsets
