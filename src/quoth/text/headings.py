"""Headings by their words alone: `ARTICLE VII`, `Section 7.3`, `4.2.1 Materials`, `CHAPTER 4`, a line in capitals.

A heading is no evidence, so a line taken for one by mistake is lost as an answer, while one that is missed only makes
a section path shorter. Every doubtful case is therefore left to the text. The ranks are the same for every document:

    1  Exhibit, Schedule, Appendix, Annex, Attachment, Addendum, Book, Volume: they end whatever came before
    2  Part, Title, Division
    3  Article, Chapter
    4  Subpart, Subchapter
    5  a line in capitals without a number
    6  a title that stands alone in most reports (`Introduction`)
    7  Section 7, § 12, Clause 3, `4. Materials`, `IV. MATERIALS`
    8  Section 7.3, `4.2 Materials`, `A. Materials`; 9 `4.2.1 Materials`, and so on

A line in capitals ranks above the numbered ones because it mostly groups them; a caller who sees the whole document
may know better.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from quoth.text.abbreviations import COMPANY_FORMS, MONTHS
from quoth.text.heading_words import (
    ALERTS,
    CLOSING_WORDS,
    COMMANDS,
    COMPANY_WORDS,
    CONNECTIVES,
    MARKS,
    SINGLE_TITLES,
    SMALL_WORDS,
    STATING_WORDS,
)
from quoth.text.quantities import quantities

CAPITALS_RANK = 5
TITLE_RANK = 6
SECTION_RANK = 7
_LABEL_RANKS = {
    **dict.fromkeys(("exhibit", "schedule", "appendix", "annex", "attachment", "addendum", "book", "volume"), 1),
    **dict.fromkeys(("part", "title", "division"), 2),
    **dict.fromkeys(("article", "chapter"), 3),
    **dict.fromkeys(("subpart", "subchapter"), 4),
    **dict.fromkeys(("section", "sect", "sec", "clause", "§", "§§"), SECTION_RANK),
}
LABELLED = re.compile(
    r"""
    (?P<label>exhibit|schedule|appendix|annex|attachment|addendum|book|volume|part|title|division|article|chapter
      |subpart|subchapter|section|sect?\.|clause|§§?)
    \s*(?:\bno\.\s*)?
    (?P<number>(?<!\w)(?:[A-Z]?-?\d{1,4}[A-Z]?(?:[.\-]\d{1,4}[a-z]?)*(?:\([A-Za-z\d]{1,4}\))*
      |(?:\([A-Za-z\d]{1,4}\)){1,3}
      |[IVXLC]{1,7}|[A-Z](?:-\d{1,3})?(?:\.\d{1,3})*
      |one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)(?!\w))
    (?P<stop>\s*[.:)\-–—]+(?=\s|$))?
    """,
    re.VERBOSE | re.IGNORECASE,
)
_NUMBERED = re.compile(
    r"""
    (?: (?P<level>(?:\d{1,3}|[A-Z])(?:\.\d{1,3})+)\.?
      | (?P<digit>\d{1,3})[.)]
      | (?P<bare>\d{1,2})
      | (?P<roman>[IVXL]{1,6})\.
      | (?P<letter>[A-Z])\. )
    [ \t]+(?=[^\W\d_"“‘'(\[])
    """,
    re.VERBOSE,
)
_WORD = re.compile(r"[^\W\d_]+(?:['’\-][^\W\d_]+)*")
_LAID_OUT = re.compile(r"\S(?:[ \t]{3,}|\t+)\S")
_FILL_IN = re.compile(r"_{2,}|/s/|\.{4,}|…{2}|[@#$€£]|https?:|www\.")
_INITIAL = re.compile(r"\b[A-Z]\.\s*[A-Z]")
_PLACE = re.compile(r",\s*[A-Z]{2}\.?(?:\s+\d{5}(?:-\d{4})?)?$|\b\d{5}(?:-\d{4})?$|^\d+\s+\w+")
_NOMINAL = re.compile(r"(?:tion|sion|ment|ance|ence|ity|ship|ism|ology|graphy)s?$|(?:ties|ings|cies|ures)$")
_LEADING = re.compile(r"(?:TO|FOR|OF|AND) (?:THE )?")
"""`SCHEDULE A TO THE LEASE` is a title; in small letters it would be part of a sentence."""
_FIELD = re.compile(r"\S+(?:\s+\S+)?\s*:")
"""`TITLE: PRESIDENT`, `JOB TITLE: PRESIDENT`."""
_NO_TITLES = frozenset({"RESERVED", "OMITTED", "REDACTED", "DELETED"})
_SHORTEST_NUMBERED = 4
_MOST_LINES, _MOST_WORDS, _LONGEST = 3, 12, 120


@dataclass(frozen=True, slots=True)
class Heading:
    """What the words of a heading say: its rank, its number as written (`7.3`, `IV`, empty), the words behind it.

    `style` tells kinds of numbers apart (`article`, `digit`, `level`, `roman`, `letter`; empty without a number).
    """

    rank: int
    style: str
    number: str
    words: str


def heading_rank(line: str) -> int | None:
    """Return the rank of a line that stands alone if it reads as a heading (1 is the highest), None if it does not."""
    found = heading(line)
    return found.rank if found else None


def heading_title(line: str) -> str:
    """Return a heading as a section path shows it, with single spaces."""
    return " ".join(line.split())


def heading(line: str, *, bare_numbers: bool = False) -> Heading | None:
    """Return what a block that stands alone says as a heading, None where it does not read as one.

    `bare_numbers` says that the document numbers its headings without a period: `5 Return of Information`.
    """
    block = line.strip()
    if not block or len(block) > _LONGEST or len(block.splitlines()) > _MOST_LINES or _FILL_IN.search(block):
        return None
    labelled = LABELLED.match(block)
    if labelled is not None:
        return _labelled(block, labelled)
    numbered = _NUMBERED.match(block)
    if numbered is not None:
        return _numbered(block, numbered, bare_numbers=bare_numbers)
    return _unnumbered(block)


def _labelled(block: str, found: re.Match[str]) -> Heading | None:
    """`Section 7.3 Fences`; `Section 7.3 of this Agreement` and `Section 7.3 Fences. No fence shall …` are none."""
    label, number = found["label"].lower().rstrip("."), found["number"]
    if found["label"].islower() and label not in {"§", "§§"}:
        return None
    if number.islower() and number[0].isalpha():
        return None
    words = heading_title(block[found.end() :]).lstrip(".:-–— ")
    title = words.removesuffix(".").removesuffix(":")
    if ": " in title:
        return None  # a form: `EXHIBIT A  LEAD FORM  Customer:  Date:`
    named = _LEADING.sub("", title) if title.isupper() else title
    if words and not (is_title(named, sentence_case=found["stop"] is not None) or _has_capitals(named)):
        return None
    rank = _LABEL_RANKS[label]
    if rank == SECTION_RANK:
        rank += number.count(".")
    return Heading(rank, label, number, title)


def _numbered(block: str, found: re.Match[str], *, bare_numbers: bool) -> Heading | None:
    style = found.lastgroup or ""
    number, words = found[style], heading_title(block[found.end() :])
    title = words.removesuffix(".").removesuffix(":")
    depth = number.count(".")
    if style in {"level", "bare"} and _is_quantity(block):
        return None
    if style == "bare" and not bare_numbers and title.lower() not in SINGLE_TITLES:
        return None  # `12 Main Street`, `3 Litres`
    if title.isupper():
        word = title.isalpha() and len(title) >= _SHORTEST_NUMBERED and style != "letter" and title not in _NO_TITLES
        known = _has_capitals(title) or _one_capital_word(title) or (word and _may_be_title(title, [title]))
    elif style == "letter":
        known = " " in title and is_title(title, sentence_case=False)
    else:
        known = is_title(title, sentence_case=style in {"level", "bare"} and not words.endswith((".", ":")))
    if not known:
        return None
    return Heading(SECTION_RANK + depth + (style == "letter"), style, number, title)


def _is_quantity(block: str) -> bool:
    """`2.5 Acres` has a number of acres, not of a section."""
    found = quantities(block.lower())
    return bool(found) and found[0].span.start == 0


def _unnumbered(block: str) -> Heading | None:
    title = heading_title(block).removesuffix(":")
    if title.lower() in SINGLE_TITLES and title[0].isupper() and not block.endswith("."):
        return Heading(CAPITALS_RANK if title.isupper() else TITLE_RANK, "", "", title)
    if (
        not title.isupper()
        or _FIELD.match(title)
        or block.endswith((".", ",", ";", "!", "?"))
        or _LAID_OUT.search(block)
    ):
        return None
    if " " not in title or not _has_capitals(title) or (block.endswith(":") and _ends_open(title)):
        single = _one_capital_word(title) and " " not in title and not block.endswith(":")
        return Heading(CAPITALS_RANK, "", "", title) if single else None
    return Heading(CAPITALS_RANK, "", "", title)


def is_title(words: str, *, sentence_case: bool) -> bool:
    """Whether words are a title in title case; with `sentence_case`, a short phrase that states nothing will do."""
    found = _WORD.findall(words)
    if not found or not words[0].isupper() or not _may_be_title(words, found):
        return False
    if len(found) > 1 and found[-1] in SMALL_WORDS:
        return False
    large = [word for word in found if word not in SMALL_WORDS]
    if sentence_case and not re.search(r"[\d;]", words):
        return True
    return all(word[0].isupper() for word in large)


def _has_capitals(words: str) -> bool:
    """Whether words in capitals are a title, and not a shouted sentence, a name, an address or a date."""
    found = _WORD.findall(words)
    if not words.isupper() or not found or not _may_be_title(words, found) or _ends_open(words):
        return False
    lower = [word.lower() for word in found]
    if len(lower) == 1:
        return _one_capital_word(words)
    long_words = [word for word in lower if len(word) >= 4]
    named = lower[-1] in COMPANY_FORMS or lower[-1] in COMPANY_WORDS or _INITIAL.search(words)
    doubled = len(lower) > 1 and lower[: len(lower) // 2] == lower[len(lower) // 2 :]
    return bool(long_words) and not named and not doubled and not _PLACE.search(words)


def _one_capital_word(words: str) -> bool:
    """`DEFINITIONS` is a title; `AND`, `NASA` and `ATRAZINE` are not: a noun that names an act or a state, or a word
    that heads sections everywhere."""
    lower = words.lower()
    if not _WORD.fullmatch(words) or lower in ALERTS | MARKS | CONNECTIVES or lower.upper() in _NO_TITLES:
        return False
    return lower in SINGLE_TITLES or (len(lower) > 6 and _NOMINAL.search(lower) is not None)


def _may_be_title(words: str, found: list[str]) -> bool:
    """What a title never has, in capitals or not: a verb that states, an order, an alert, a list, a date."""
    lower = [word.lower() for word in found]
    if len(lower) > _MOST_WORDS or words.endswith((",", ";", "!", "?", "…")) or words[0] in "[({<":
        return False
    if re.search(r"[.!?]\s", re.sub(r"\b(?:[A-Za-z]|vs|no|etc|st|dr|inc|ltd|co|corp)\.", "", words, flags=re.I)):
        return False
    if lower[0] in ALERTS or not STATING_WORDS.isdisjoint(lower) or lower[0] in CONNECTIVES:
        return False
    if lower[0] in COMMANDS and (len(lower) == 1 or lower[1] not in {"of", "and", "or", "for", "in", "by", "to"}):
        return False
    if any(word in MONTHS and word != "may" for word in lower) and re.search(r"\d", words):
        return False
    return len(re.findall(r"\d+", words)) <= 2 and "=" not in words and "|" not in words


def _ends_open(words: str) -> bool:
    return (_WORD.findall(words.lower()) or [""])[-1] in CLOSING_WORDS
