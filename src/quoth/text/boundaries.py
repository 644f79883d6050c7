"""Where a sentence ends inside a run of prose.

A regular expression finds every place where a sentence could end; then the rules below are asked in turn, and the first
that knows decides. They go from the certain (a lower-case word goes on) to the doubtful, and only abbreviations that
could stand last are put to nupunkt. Not cutting is the safe mistake: two sentences quoted together are still true, half
a sentence may not be.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from quoth.text.abbreviations import (
    BEFORE_A_NUMBER,
    COMPANY_FORMS,
    MAY_BE_LAST,
    MONTHS,
    NEVER_LAST,
    SPEECH_VERBS,
    TIME_NAMES,
)
from quoth.text.places import LINE_PLACE, PLACE, Place, behind_breaks, stands_alone
from quoth.text.runs import Runs
from quoth.text.spans import trim
from quoth.text.words import FUNCTION_WORDS
from quoth.types import Span

if TYPE_CHECKING:
    from nupunkt import PunktSentenceTokenizer

_GOES_ON = re.compile(r"[,;:.!?…)\]}»”%‰/|&+=≤≥×±]|<(?![A-Za-z])")
_NEXT_TWO_WORDS = re.compile(r"([^\W\d_]+)\s+([^\W\d_]+)")
_WITH_DIGIT = re.compile(r"[^\s\d]{0,12}\d")
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
_AFTER_NUMBER = re.compile(r"[\d°º]\s*$")
_DOTTED = re.compile(r"(?:[^\W\d_]{1,3}\.)+[^\W\d_]{1,3}")
_LABEL = re.compile(r"[IVXLCDM]+\b|[A-Z]\b|[ivxl]+\b")
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
_CLOSES = {")": "(", "]": "["}
_SHORTENED_TOO = re.compile(r"([A-Z][a-z]{1,6})\.")
_CONTEXT = 160  # code points that nupunkt is shown on either side of a doubtful period


def cuts(text: str, start: int, end: int) -> list[int]:
    """Return, in order, the offsets strictly inside `[start, end)` at which a new sentence begins."""
    found: list[int] = []
    opened = start
    runs: Runs | None = None
    for match in PLACE.finditer(text, start, end):
        if not _ends(Place(text, opened, match, end)):
            continue
        runs = runs or Runs(text, start, end)
        at = match.end() if match["gap"] is None else match.start("gap")
        if not runs.around(at):
            found.append(at)
            opened = behind_breaks(text, at, end)
    if _may_hold_lines(text, start, end):
        return _with_line_cuts(text, start, end, sentence_cuts=found, runs=runs or Runs(text, start, end))
    return found


def last_sentence(text: str, block: Span) -> Span:
    """Return the last sentence of a block, the one that introduces a list behind it."""
    return trim(text, [block.start, *cuts(text, block.start, block.end)][-1], block.end) or block


def _may_hold_lines(text: str, start: int, end: int) -> bool:
    return any(text.find(mark, start, end) >= 0 for mark in ("\n", "\r", "<"))


def _with_line_cuts(text: str, start: int, end: int, *, sentence_cuts: list[int], runs: Runs) -> list[int]:
    """Return `sentence_cuts` and those at line breaks, in order."""
    found = [start]
    waiting = deque(sentence_cuts)
    for match in LINE_PLACE.finditer(text, start, end):
        at = match.start(match.lastgroup or 0)
        while waiting and waiting[0] <= at:
            found.append(waiting.popleft())
        if at > found[-1] and not runs.around(at) and (match["hard"] is None or stands_alone(text, found[-1], match)):
            found.append(at)
    return [*found[1:], *waiting]


def _wide_mark(place: Place) -> bool | None:
    """`。` ends a sentence without a space, unless a bracket closes with it: `「乾く。」と言った`."""
    if place.mark is not None:
        return None
    closed = place.match["wide"].strip("。！？｡؟।॥۔։።")
    if closed and not place.text[place.match.end() - 1].isspace():
        return False
    return _GOES_ON.match(place.text, place.match.end(), place.end) is None


def _visibly_goes_on(place: Place) -> bool | None:
    """A comma, a closing bracket, a volume or a lower-case word continues the sentence; `pH` may open one."""
    if not place.first or _GOES_ON.match(place.text, place.match.end(), place.end):
        return False
    if place.mark == "." and place.word[:1].isupper() and _VOLUME.match(place.text, place.next_at, place.end):
        return False
    if _CITATION.match(place.text, place.match.end(), place.end) or (place.first in "-–—" and _known(place.key)):
        return False
    if place.first.islower() and not place.clause and not _MIXED_CASE.match(place.text, place.next_at, place.end):
        return False
    return None


def _ellipsis(place: Place) -> bool | None:
    return place.starts if place.mark in {"…", "..", "...", "....", "…."} or len(place.mark or "") > 4 else None


def _question_or_exclamation(place: Place) -> bool | None:
    """They end a sentence, unless a name or a report goes on: `Yahoo! Inc.`, `"Why?" John asked.`"""
    if place.mark == ".":
        return None
    if place.next in COMPANY_FORMS:
        return False
    words = _NEXT_TWO_WORDS.match(place.text, place.next_at, place.end)
    return not (place.close and words and words[2].lower() in SPEECH_VERBS)


def _no_space(place: Place) -> bool | None:
    """`soil.The crop`: only a plain word before and a function word after make it sure."""
    if place.match["gap"] is not None:
        return None
    return place.word.isalpha() and place.starts and len(place.next) > 1


def _enumerator(place: Place) -> bool | None:
    """A number opens the sentence, or a point of a list that runs on in the line (`as follows: 1. Plant`)."""
    period = place.match.start()
    if len(place.word) > 9 or (place.word.islower() and len(place.word) > 5):
        return None
    if _ENUMERATOR.fullmatch(place.text, place.opened, place.match.end("close")):
        return False
    listed = _INLINE_NUMBER.search(place.text, max(place.opened, period - 24), period)
    return False if listed and not _known((listed["word"] or "").lower()) else None


def _note_mark(place: Place) -> bool | None:
    """`yield.12 The` has a note mark; `Fig.12 The` has not."""
    if place.match["note"] is None:
        return None
    return place.first.isupper() and place.word.isalpha() and not _known(place.key)


def _before_a_number(place: Place) -> bool | None:
    """`in 2010. 15 farms` is an end; `No. 5`, `(approx.) 5`, `Jan. 5` and `2. 5` are not."""
    if not place.first.isdigit():
        return None
    if _known(place.key):
        return _closes_a_sentence(place)
    if place.close or not place.word or place.word[-1] in ")]%":
        return True
    if place.word[-1].isdigit():
        return len(place.word) >= 4 and place.word.isdigit()
    return place.key.isalpha() and _word_before_a_number(place)


def _word_before_a_number(place: Place) -> bool:
    """`rose. 15 farms` is an end. `Handb. 60 of` may be none: a short word or a name can be an unknown abbreviation."""
    if _CLAUSE_NUMBER.match(place.text, place.next_at, place.end):
        return True
    if len(place.key) == 1 or _NO_VOWEL.fullmatch(place.word):
        return False
    short, laid_out = len(place.key) <= 3, _LAID_OUT.match(place.match["gap"]) is not None
    counts = _COUNTS.match(place.text, place.next_at, place.end) is not None
    if not laid_out and (place.word.istitle() or (place.word.isupper() and counts)):
        return len(place.key) > _LONGEST_SHORTENED
    if short and counts and place.key not in FUNCTION_WORDS:
        return False
    return not short or _nupunkt_cuts(place)


def _never_last(place: Place) -> bool | None:
    return False if place.key in NEVER_LAST else None


def _closed_abbreviation(place: Place) -> bool | None:
    """`(ext.) Office`: the period is the abbreviation's, unless the bracket holds a whole sentence."""
    bracket = place.close[:1] in _CLOSES and place.first.isalpha() and _known(place.key)
    return False if bracket and not _closes_a_sentence(place) else None


def _closes_a_sentence(place: Place) -> bool:
    """Whether a bracket closes here that the sentence began with."""
    opens = _CLOSES.get(place.close[:1])
    return opens is not None and place.text[place.opened : place.match.start()].lstrip().rfind(opens) == 0


def _ordinal(place: Place) -> bool | None:
    """`5. Mai`."""
    return False if place.key.isdigit() and len(place.key) <= 2 and place.next in MONTHS else None


def _reference(place: Place) -> bool | None:
    """`Fig. S1`, `Art. IV`, `Sec. (b)`, `No. E7420`."""
    if place.key not in BEFORE_A_NUMBER or place.starts:
        return None
    labelled = _LABEL.match(place.text, place.next_at, place.end) or _WITH_DIGIT.match(
        place.text, place.next_at, place.end
    )
    return False if labelled or place.text[place.match.end()] == "(" else None


def _initials(place: Place) -> bool | None:
    """`J. R. Smith` and `U.S. Department` go on; `in the U.S. The farm`, `at 6 a.m. Then` and `5 g. Seeds` do not."""
    if place.key in {"a.m", "p.m"}:
        return place.next not in TIME_NAMES
    if len(place.key) == 1 and place.key.isalpha():
        unit = place.word not in _COMPASS and _AFTER_NUMBER.search(place.text, place.opened, place.match.start() - 1)
        return bool(unit) or (place.starts and place.next not in {"i", "a"})
    return place.starts if _DOTTED.fullmatch(place.key) else None


def _company(place: Place) -> bool | None:
    return place.starts if place.key in COMPANY_FORMS or place.key == "al" else None


def _function_word_follows(place: Place) -> bool | None:
    return True if place.starts or place.key == "etc" else None


def _abbreviation(place: Place) -> bool | None:
    """What is left of the abbreviations stands before a capitalised word that could be a name."""
    if place.word.isupper() and not place.next.isupper():
        return None
    if place.key in MONTHS and place.key in MAY_BE_LAST:  # `Jan.`; a month written out carries no period
        return False
    doubtful = place.key in MAY_BE_LAST or _SHORT_NAME.fullmatch(place.word)
    if doubtful and place.word.istitle():
        following = _SHORTENED_TOO.match(place.text, place.next_at, place.end)
        if following and _known(following[1].lower()):  # `Agric. Handb.`
            return False
    return _nupunkt_cuts(place) if doubtful else None


_RULES: tuple[Callable[[Place], bool | None], ...] = (
    _wide_mark,
    _visibly_goes_on,
    _ellipsis,
    _question_or_exclamation,
    _no_space,
    _enumerator,
    _note_mark,
    _before_a_number,
    _never_last,
    _closed_abbreviation,
    _ordinal,
    _reference,
    _initials,
    _company,
    _function_word_follows,
    _abbreviation,
)


def _ends(place: Place) -> bool:
    """Whether a sentence ends here: the first rule that knows decides; a period that none knows ends one."""
    for rule in _RULES:
        verdict = rule(place)
        if verdict is not None:
            return verdict
    return True


def _known(key: str) -> bool:
    return key in MAY_BE_LAST or key in BEFORE_A_NUMBER or key in NEVER_LAST or _DOTTED.fullmatch(key) is not None


@cache
def _nupunkt() -> PunktSentenceTokenizer:
    from nupunkt import load_default_model  # reading an index never splits, and should not pay for it

    return load_default_model()


def _nupunkt_cuts(place: Place) -> bool:
    """Ask nupunkt whether a sentence begins behind the gap, shown only the words around it."""
    at = place.match.end()
    shown = max(0, at - _CONTEXT)
    excerpt = place.text[shown : min(place.end, at + _CONTEXT)]
    return any(begin == at - shown for begin, _ in _nupunkt().spans(excerpt))
