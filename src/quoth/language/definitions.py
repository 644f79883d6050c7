"""Defined terms: the sentences that say what a term means, and the terms that a text uses.

`"Lot" means a parcel`, `the term “Rear Yard” shall mean …`, `(the "Effective Date")`; and, under a heading such as
`Definitions`, the same without quotation marks.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import dropwhile

from quoth.language.numbering import LABEL
from quoth.language.words import FUNCTION_WORDS, MONTHS, fold, singular

_TERM = (
    r"(?:[*_]{0,3}(?:[\"“”][^\"“”\n]{1,80}[\"“”]|(?<!\w)[‘'][^'‘’\n]{1,80}[’'](?!\w))[*_]{0,3}"
    r"|\*{1,3}[^*\n]{1,80}\*{1,3}|(?<!\w)_{1,3}[^_\n]{1,80}_{1,3}(?!\w))"
)
_MARK = re.compile(r"[\"“”‘'*_]")
"""What each term of that form begins with; most sentences hold none, and need no further look."""
_VERB = (
    r"(?:(?:shall|will|must)\s+)?(?:also\s+)?(?:means?\b(?!\s+to\b)|(?:is|are|be)\s+defined\s+(?:as|to\s+mean)\b"
    r"|refers?\s+to\b|(?:has|have)\s+the\s+(?:same\s+)?meanings?\b|denotes?\b|(?:is|are)\s+used\s+to\s+mean\b)"
)
_STATES = re.compile(rf"\b(?:{_VERB}|includes?\b)")
_ASIDE = r"(?:\s?\([^()]{1,80}\))?(?:\s?,[^,.;\"“”]{1,80},)?[\s,]{0,3}"
_AND = r"[\s,]{0,3}(?:(?:and/or|and|or|&)[\s,]{1,3})?"
_STATED = re.compile(rf"(?P<terms>{_TERM}(?:{_AND}{_TERM}){{0,5}}){_ASIDE}$")
_REACH = 300
"""Characters before the verb in which its terms stand. A pattern that may reach further takes far too long on a text
made for that."""
_LEADS = (
    r"(?:(?:hereinafter|hereafter|herein|collectively|together|individually|jointly|each|such|this|these|the|an?|or"
    r"|sometimes|also|as|any|all|and|with|referred|to|called|known|defined|foregoing|respectively|in)\b[\s,]{0,3}){0,9}"
)
_ASIDES = re.compile(r"\(([^()]{1,200})\)")
_NAMING = re.compile(
    rf"\s?{_LEADS}(?P<terms>{_TERM}(?:[\s,]{{0,3}}{_LEADS}{_TERM}){{0,3}})[^\"“”]{{0,30}}", re.IGNORECASE
)
_PLAIN = re.compile(
    r"\W*(?:\(?[A-Za-z\d]{1,4}[.)]\s+|[\d.]+\s+)?(?:(?:the|a|an)\s+)?(?:(?:term|word|phrase)\s+)?"
    rf"(?P<term>[^\W\d_][^.,;:()\"“”\n]{{0,60}}?){_ASIDE}{_VERB}",
    re.IGNORECASE,
)
_GLOSSED = re.compile(
    r"\W*(?:\(?[A-Za-z\d]{1,4}[.)]\s+|[\d.]+\s+)?(?P<term>[A-Z][^.,;:()\"“”\n]{0,60}?)\W{0,3}(?::|\s[–—-])\s+\S"
)
_HEADING = re.compile(
    r"\b(?:definitions?|defined\s+terms|glossary|meanings?\s+of\s+terms|interpretation)\b", re.IGNORECASE
)
_LONGEST_TERM = 8
_SAYS_SOMETHING = re.compile(r"[:;,!?]|\b(?:is|are|was|were|has|have|shall|must|may|can|will|means?)\b", re.IGNORECASE)

_WORD = re.compile(r"[^\W\d_][\w&]*(?:[-/.][^\W\d_][\w&]*)*")
_OPENS = re.compile(r"(?:^|[.!?:;•]|\n\s*\n|^\s*\(?\w{1,3}[.)])[\s\"“”'‘’*_(\[]*$", re.MULTILINE)
_KEY_WORD = re.compile(r"\w+(?:['&/.-]\w+)*")
_LABEL_WORD = re.compile(LABEL)
_NUMBERED = re.compile(r"\s+[\dIVXLC(]")


def defined_terms(sentence: str, section: tuple[str, ...]) -> tuple[str, ...]:
    """Return the terms that a sentence defines, in order; `section` are its headings."""
    terms = list(_marked_terms(sentence)) if _MARK.search(sentence) else []
    if not terms and any(_HEADING.search(heading) for heading in section):
        plain = _PLAIN.match(sentence) or _GLOSSED.match(sentence)
        terms += [plain["term"].strip(" *_")] if plain else []
    keys = {term: term_key(term) for term in terms}
    return tuple(
        term for term, key in keys.items() if 0 < len(key) <= _LONGEST_TERM and not FUNCTION_WORDS.issuperset(key)
    )


def names_a_term(text: str, section: tuple[str, ...]) -> bool:
    """Return whether a text only names a term, under a heading such as `Definitions`: what follows it defines it."""
    glossary = any(_HEADING.search(heading) for heading in section)
    return glossary and 0 < len(term_key(text)) <= _LONGEST_TERM and not _SAYS_SOMETHING.search(text)


def _marked_terms(sentence: str) -> Iterator[str]:
    """Yield the terms in quotation marks, bold or italics that a sentence defines."""
    for verb in _STATES.finditer(sentence):
        if stated := _STATED.search(sentence[max(0, verb.start() - _REACH) : verb.start()]):
            yield from _unquoted(stated["terms"])
    for aside in _ASIDES.findall(sentence):
        if naming := _NAMING.fullmatch(aside):
            yield from _unquoted(naming["terms"])


def term_key(term: str) -> tuple[str, ...]:
    """Return the words of a term for comparison, folded and in the singular."""
    return tuple(singular(word) for word in _KEY_WORD.findall(fold(term)))


def terms_used(text: str) -> tuple[tuple[str, int], ...]:
    """Return possible defined terms in `text` with their counts, the longest phrase first, then in order of appearance.

    Capitals inside a sentence mark a term; a word that opens a sentence counts only where it has capitals elsewhere.
    """
    marked: Counter[tuple[str, ...]] = Counter()
    opening: Counter[tuple[str, ...]] = Counter()
    written: dict[tuple[str, ...], str] = {}
    for phrase, opens in _phrases(text):
        key = term_key(phrase)
        (opening if opens else marked)[key] += 1
        written.setdefault(key, phrase)
    counted = ((written[key], count + opening[key]) for key, count in marked.items())
    return tuple(sorted(counted, key=lambda term: -len(term[0].split())))


def _unquoted(terms: str) -> Iterator[str]:
    bare = (" ".join(term.strip("*_\"“”‘’' ").rstrip(",.").split()) for term in re.findall(_TERM, terms))
    yield from filter(None, bare)


def _phrases(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each run of capitalised words, and whether it is a single word that opens a sentence."""
    run: list[re.Match[str]] = []
    for word in _WORD.finditer(text):
        if not word[0][0].isupper():
            continue
        if run and not _adjoin(text, run[-1], word):
            yield from _phrase(text, run)
            if _adjoin(text, run[-1], word, between="of"):
                yield from _phrase(text, [*run, word])
            run = []
        run.append(word)
    yield from _phrase(text, run)


def _adjoin(text: str, first: re.Match[str], second: re.Match[str], *, between: str = "") -> bool:
    return text[first.end() : second.start()].split() == between.split() and first.end() < second.start()


def _phrase(text: str, run: list[re.Match[str]]) -> Iterator[tuple[str, bool]]:
    while run and _is_label(text, run[-1]):
        run = run[:-1]
    named = list(dropwhile(lambda word: fold(word[0]) in FUNCTION_WORDS, run))
    if named and len(named[0][0]) > 1 and fold(named[0][0]) not in MONTHS and not _is_label(text, named[0]):
        opens = len(named) == len(run) == 1 and _OPENS.search(text[max(0, run[0].start() - 20) : run[0].start()])
        yield text[named[0].start() : named[-1].end()], bool(opens)


def _is_label(text: str, word: re.Match[str]) -> bool:
    """Return whether a word is the label of a number: `Section` in `Section 7.3` is no term."""
    return _LABEL_WORD.fullmatch(word[0]) is not None and _NUMBERED.match(text, word.end()) is not None
