"""Where a sentence ends inside a run of prose.

A regular expression finds every position where a sentence could end. Then the rules below are tried in order, and the
first that returns True or False decides. They go from the certain (a lower-case word continues the sentence) to the
doubtful; only abbreviations that could be a last word are given to nupunkt. Not cutting is the safe mistake: two
sentences quoted together are still true, half a sentence may not be.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from quoth.language.conventions import conventions
from quoth.language.sentence_ends import LINE_END, SentenceEnd, behind_breaks, sentence_end, stands_alone
from quoth.language.sentence_rules import (
    AFTER_NUMBER,
    CLOSES,
    DOTTED,
    LABEL,
    OTHER_RULES,
    WITH_DIGIT,
    abbreviates,
    closes_a_sentence,
    is_section_number,
    space_cuts,
)
from quoth.language.spans import Runs, trim
from quoth.language.words import (
    BEFORE_A_NUMBER,
    COMPANY_FORMS,
    FUNCTION_WORDS,
    MAY_BE_LAST,
    MONTHS,
    NEVER_LAST,
    SPEECH_VERBS,
    TIME_NAMES,
)
from quoth.types import Span

if TYPE_CHECKING:
    from nupunkt import PunktSentenceTokenizer

SPLITTER_VERSION = 5
"""Changes when the same text would be split differently, so that an index knows to split it again."""

_CONTINUING = ",;:.!?…)]}»”%‰/|&+=≤≥×±"
_NEXT_TWO_WORDS = re.compile(r"([^\W\d_]+)\s+([^\W\d_]+)")
_ENUMERATOR = re.compile(
    r"""
    [*_>\s•◦▪‣●]*+
    (?: (?:section|sec|sect|article|art|clause|chapter|part|schedule|rule|step|item|appendix|annex|exhibit
         |(?:(?:additional|supplementary|supporting)\s+)?(?:table|fig|figure|file|dataset|data|box|video)
        )\.?\s+ )?
    (?: \(?(?:[A-Z]\.?)?\d{1,4}(?:\.\d{1,3})*(?:\([a-z\d]{1,4}\))* | \(?[A-Za-z] | \(?[ivxlc]{1,7} ) (?:\.|\)|\.\))[*_]*
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""`1.4.`, `(a).`, `A.`, `IV.`, `Section 4.2.`, `Table S1.`: the number of what follows, never a sentence of its own."""
_INLINE_NUMBER = re.compile(
    r"(?:(?P<word>[^\s(]*)[:;.!?](?:\s|<[bB][rR]\s?/?>)+(?:\d{1,2}|[a-zA-Z]|[ivx]{1,5})|\s{3}\d{1,3}(?:\.\d{1,3})*)$"
)
_CITATION = re.compile(r"\[[\d,;–\-\s]{1,30}\]\.|\([^()]{1,80}\)(?:\s*\[[\d,;–\-\s]+\])?\.(?:\s|$)")
"""`It fell. [3]` and `It fell. (Fig. 2).`: a reference set behind the period belongs to what it supports."""
_VOLUME = re.compile(r"(?:Vols?|Nos?|pp?|[Ee]ds?)\.\s*\d")
_CLAUSE_NUMBER = re.compile(r"\d{1,3}(?:\.\d{1,3})*\.?\s+[\"“]?[A-Z]")
_COMPASS = frozenset("NESW")
"""`1600 E. Main` is an address, not a unit."""
_MIXED_CASE = re.compile(r"[a-z]{1,3}[A-Z]|[α-ω]-")
_SHORT_NAME = re.compile(r"(?!May\b)[A-Z][a-z]{1,2}")
"""`Wm.`, `Dev.`: a capitalised word this short may be an abbreviation that is in no list."""
_NO_VOWEL = re.compile(r"[A-Z]?[b-df-hj-np-tv-xz]+")
"""`Ksh.`, `tbsps.`: shortened, whatever it means; an acronym in capitals is not."""
_LONGEST_SHORTENED = 7
_COUNTS = re.compile(r"\d[\d.,]*\s+[a-z]")
"""`15 farms`."""
_LAID_OUT = re.compile(r"[^\S\r\n]{3}")
"""Three spaces set a page number or a column apart."""
_SHORTENED_TOO = re.compile(r"([A-Z][a-z]{1,6})\.")
_CONTEXT = 160  # code points that nupunkt is shown on either side of a doubtful period


def cuts(text: str, start: int, end: int, *, language: str | None = None) -> list[int]:
    """Return, in order, the offsets strictly inside `[start, end)` at which a new sentence begins.

    `language` is a tag; without one the text is taken for English.
    """
    offsets: list[int] = []
    opened = start
    runs: Runs | None = None
    rules = conventions(language)
    quotes = None if rules.english else rules.quotes
    for match in sentence_end(rules).finditer(text, start, end):
        if not _ends(SentenceEnd(text, opened, match, end, rules)):
            continue
        runs = runs or Runs(text, start, end, quotes=quotes)
        at = match.end() if match["gap"] is None else match.start("gap")
        if not runs.around(at):
            offsets.append(at)
            opened = behind_breaks(text, at, end)
    if rules.spaced_sentences:
        runs = runs or Runs(text, start, end, quotes=quotes)
        offsets = space_cuts(text, start, end, sentence_cuts=offsets, runs=runs, language=rules)
    if any(text.find(mark, start, end) >= 0 for mark in ("\n", "\r", "<")):
        runs = runs or Runs(text, start, end, quotes=quotes)
        return _with_line_cuts(text, start, end, sentence_cuts=offsets, runs=runs)
    return offsets


def last_sentence(text: str, block: Span) -> Span:
    """Return the last sentence of a block, the one that introduces a list behind it."""
    return trim(text, [block.start, *cuts(text, block.start, block.end)][-1], block.end) or block


def _with_line_cuts(text: str, start: int, end: int, *, sentence_cuts: list[int], runs: Runs) -> list[int]:
    """Return `sentence_cuts` and those at line breaks, in order."""
    offsets = [start]
    waiting = deque(sentence_cuts)
    for match in LINE_END.finditer(text, start, end):
        at = match.start(match.lastgroup or 0)
        while waiting and waiting[0] <= at:
            offsets.append(waiting.popleft())
        last = offsets[-1]
        if at > last and not runs.around(at) and (match["hard"] is None or stands_alone(text, last, match)):
            offsets.append(at)
    return [*offsets[1:], *waiting]


def _wide_mark(candidate: SentenceEnd) -> bool | None:
    """`。` ends a sentence without a space, unless a bracket closes with it: `「乾く。」と言った`."""
    if candidate.mark is not None:
        return None
    closed = candidate.match["wide"].strip(f"。！？｡؟।॥۔։።{candidate.language.terminators}")
    if closed and not candidate.text[candidate.match.end() - 1].isspace():
        return False
    return candidate.behind_gap(_goes_on(candidate.language.quotes)) is None


@cache
def _goes_on(quotes: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern for what only continues a sentence; a mark that opens a quotation in a language does not."""
    marks = _CONTINUING.translate({ord(pair[0]): None for pair in quotes})
    return re.compile(rf"[{re.escape(marks)}]|<(?![A-Za-z])")


def _visibly_goes_on(candidate: SentenceEnd) -> bool | None:
    """A comma, a closing bracket, a volume or a lower-case word continues the sentence; `pH` may open one."""
    goes_on = (
        not candidate.first
        or candidate.behind_gap(_goes_on(candidate.language.quotes))
        or (candidate.mark == "." and candidate.word[:1].isupper() and candidate.ahead(_VOLUME))
        or candidate.behind_gap(_CITATION)
        or (candidate.first in "-–—" and _known(candidate))
        or (candidate.first.islower() and not candidate.clause and not candidate.ahead(_MIXED_CASE))
    )
    return False if goes_on else None


def _no_period(candidate: SentenceEnd) -> bool | None:
    """`?` and `!` end a sentence, unless a name or a report goes on: `Yahoo! Inc.`, `"Why?" John asked.`"""
    if candidate.mark in {"…", "..", "...", "....", "…."} or len(candidate.mark or "") > 4:
        return candidate.starts
    if candidate.mark == ".":
        return None
    words = candidate.ahead(_NEXT_TWO_WORDS)
    reported = candidate.close and words and words[2].lower() in SPEECH_VERBS
    return candidate.next not in COMPANY_FORMS and not reported


def _no_space(candidate: SentenceEnd) -> bool | None:
    """`soil.The crop` is an end only between a plain word and a function word."""
    if candidate.match["gap"] is not None:
        return None
    return candidate.word.isalpha() and candidate.starts and len(candidate.next) > 1


def _enumerator(candidate: SentenceEnd) -> bool | None:
    """A number opens the sentence, or a point of a list that runs on in the line (`as follows: 1. Plant`)."""
    period = candidate.match.start()
    if len(candidate.word) > 9 or (candidate.word.islower() and len(candidate.word) > 5):
        return None
    if _ENUMERATOR.fullmatch(candidate.text, candidate.opened, candidate.match.end("close")):
        return False
    if candidate.language.sections and is_section_number(candidate):
        return False
    listed = _INLINE_NUMBER.search(candidate.text, max(candidate.opened, period - 24), period)
    return False if listed and not abbreviates((listed["word"] or "").lower(), candidate.language) else None


def _note_mark(candidate: SentenceEnd) -> bool | None:
    """`yield.12 The` has a note mark; `Fig.12 The` has none."""
    if candidate.match["note"] is None:
        return None
    return candidate.first.isupper() and candidate.word.isalpha() and not _known(candidate)


def _before_a_number(candidate: SentenceEnd) -> bool | None:
    """`in 2010. 15 farms` is an end; `No. 5`, `(approx.) 5`, `Jan. 5` and `2. 5` are not."""
    if not candidate.first.isdigit():
        return None
    if _known(candidate):
        return closes_a_sentence(candidate)
    if candidate.close or not candidate.word or candidate.word[-1] in ")]%":
        return True
    if candidate.word[-1].isdigit():
        return len(candidate.word) >= 4 and candidate.word.isdigit()
    return candidate.key.isalpha() and _word_before_a_number(candidate)


def _word_before_a_number(candidate: SentenceEnd) -> bool:
    """`rose. 15 farms` is an end. `Handb. 60 of` may be none: a short word or a name can be an unknown abbreviation."""
    if candidate.ahead(_CLAUSE_NUMBER):
        return True
    if len(candidate.key) == 1 or _NO_VOWEL.fullmatch(candidate.word):
        return False
    short, laid_out = len(candidate.key) <= 3, _LAID_OUT.match(candidate.match["gap"]) is not None
    counts = candidate.ahead(_COUNTS) is not None
    if not laid_out and (candidate.word.istitle() or (candidate.word.isupper() and counts)):
        return len(candidate.key) > _LONGEST_SHORTENED
    if short and counts and candidate.key not in FUNCTION_WORDS:
        return False
    return not short or _nupunkt_cuts(candidate)


def _goes_on_to_its_word(candidate: SentenceEnd) -> bool | None:
    """An abbreviation goes on to what it qualifies: `e.g. oats`, `Fig. S1`, `Sec. (b)`, `(ext.) Office`, `5. Mai`."""
    key = candidate.key
    if key in NEVER_LAST or (key.isdigit() and len(key) <= 2 and candidate.next in MONTHS):
        return False
    bracket = candidate.close[:1] in CLOSES and candidate.first.isalpha() and _known(candidate)
    if bracket and not closes_a_sentence(candidate):
        return False
    labels = key in BEFORE_A_NUMBER and not candidate.starts
    numbered = labels and (candidate.ahead(LABEL) or candidate.ahead(WITH_DIGIT))
    return False if numbered or (labels and candidate.text[candidate.match.end()] == "(") else None


def _initials(candidate: SentenceEnd) -> bool | None:
    """`J. R. Smith` and `U.S. Department` go on; `in the U.S. The farm`, `at 6 a.m. Then` and `5 g. Seeds` do not."""
    if candidate.key in {"a.m", "p.m"}:
        return candidate.next not in TIME_NAMES
    if len(candidate.key) == 1 and candidate.key.isalpha():
        measured = AFTER_NUMBER.search(candidate.text, candidate.opened, candidate.match.start() - 1)
        unit = candidate.word not in _COMPASS and measured is not None
        return unit or (candidate.starts and candidate.next not in {"i", "a"})
    return candidate.starts if DOTTED.fullmatch(candidate.key) else None


def _function_word_follows(candidate: SentenceEnd) -> bool | None:
    if candidate.starts or candidate.key == "etc":
        return True
    return False if candidate.key in COMPANY_FORMS or candidate.key == "al" else None


def _abbreviation(candidate: SentenceEnd) -> bool | None:
    """A remaining abbreviation stands before a capitalised word that could be a name: ask nupunkt."""
    if candidate.word.isupper() and not candidate.next.isupper():
        return None
    if candidate.key in MONTHS and candidate.key in MAY_BE_LAST:  # `Jan.`; a month written out carries no period
        return False
    if candidate.key not in MAY_BE_LAST and not _SHORT_NAME.fullmatch(candidate.word):
        return None
    following = candidate.ahead(_SHORTENED_TOO) if candidate.word.istitle() else None
    if following and abbreviates(following[1].lower(), candidate.language):  # `Agric. Handb.`
        return False
    return _nupunkt_cuts(candidate)


_SHARED: tuple[Callable[[SentenceEnd], bool | None], ...] = (
    _wide_mark,
    _visibly_goes_on,
    _no_period,
    _no_space,
    _enumerator,
    _note_mark,
)
_ENGLISH = (
    *_SHARED,
    _before_a_number,
    _goes_on_to_its_word,
    _initials,
    _function_word_follows,
    _abbreviation,
)
_OTHERS = (*_SHARED, *OTHER_RULES)


def _ends(candidate: SentenceEnd) -> bool:
    """Return whether a sentence ends here. The first rule that decides wins; a period that no rule knows is an end."""
    rules = _ENGLISH if candidate.language.english else _OTHERS
    return next((verdict for rule in rules if (verdict := rule(candidate)) is not None), True)


def _known(candidate: SentenceEnd) -> bool:
    return abbreviates(candidate.key, candidate.language)


@cache
def _nupunkt() -> PunktSentenceTokenizer:
    from nupunkt import load_default_model  # reading an index never splits, and should not pay for it

    return load_default_model()


def _nupunkt_cuts(candidate: SentenceEnd) -> bool:
    """Ask nupunkt whether a sentence begins behind the gap, shown only the words around it."""
    at = candidate.match.end()
    shown = max(0, at - _CONTEXT)
    excerpt = candidate.text[shown : min(candidate.end, at + _CONTEXT)]
    return any(begin == at - shown for begin, _ in _nupunkt().spans(excerpt))
