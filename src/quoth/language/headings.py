"""Headings and captions by their words alone: `ARTICLE VII`, `Section 7.3`, `4.2.1 Materials`, a line in capitals.

A heading is no evidence, so a line mistaken for a heading is lost as an answer, while a missed heading only makes a
section path shorter. Every doubtful line therefore stays text. The ranks are the same for every document:

    1  Exhibit, Schedule, Appendix, Annex, Attachment, Addendum, Book, Volume: they end whatever came before
    2  Part, Title, Division
    3  Article, Chapter
    4  Subpart, Subchapter
    5  a line in capitals without a number
    6  a title that stands alone in most reports (`Introduction`)
    7  Section 7, § 12, Clause 3, `4. Materials`, `IV. MATERIALS`
    8  Section 7.3, `4.2 Materials`, `A. Materials`; 9 `4.2.1 Materials`, and so on

A line in capitals ranks above numbered headings because it mostly groups them; a caller who sees the whole document
may know better.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from quoth.language.numbering import SECTION_NUMBER_WORDS
from quoth.language.quantities import quantities
from quoth.language.words import COMPANY_FORMS, MONTHS, word_list

_SMALL_WORDS = word_list("title_small_words")
_STATING_WORDS = word_list("stating_words")
_COMMANDS = word_list("commands")
_ALERTS = word_list("alerts")
_MARKS = word_list("marks")
_CONNECTIVES = word_list("connectives")
_CLOSING_WORDS = word_list("closing_words")
_COMPANY_WORDS = COMPANY_FORMS.union("company corporation incorporated limited llc partnership trust bank gmbh".split())
"""A line in capitals that ends with one names a party."""
SINGLE_TITLES = frozenset(title.replace("_", " ") for title in word_list("single_titles"))

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
    rf"""
    (?P<label>exhibit|schedule|appendix|annex|attachment|addendum|book|volume|part|title|division|article|chapter
      |subpart|subchapter|section|sect?\.|clause|§§?)
    \s*(?:\bno\.\s*)?
    (?P<number>(?<!\w)(?:[A-Z]?-?\d{{1,4}}[A-Z]?(?:[.\-]\d{{1,4}}[a-z]?)*(?:\([A-Za-z\d]{{1,4}}\))*
      |(?:\([A-Za-z\d]{{1,4}}\)){{1,3}}
      |[IVXLC]{{1,7}}|[A-Z](?:-\d{{1,3}})?(?:\.\d{{1,3}})*
      |{SECTION_NUMBER_WORDS})(?!\w))
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
_NO_SINGLE_TITLES = _ALERTS | _MARKS | _CONNECTIVES | {title.lower() for title in _NO_TITLES}
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
    """Parse a block that stands alone as a heading; return None when it does not read like one.

    `bare_numbers` says that the document numbers its headings without a period: `5 Return of Information`.
    """
    block = line.strip()
    if not block or len(block) > _LONGEST or len(block.splitlines()) > _MOST_LINES or _FILL_IN.search(block):
        return None
    if (labelled := LABELLED.match(block)) is not None:
        return _labelled(block, labelled)
    if (numbered := _NUMBERED.match(block)) is not None:
        return _numbered(block, numbered, bare_numbers=bare_numbers)
    return _unnumbered(block)


def _labelled(block: str, found: re.Match[str]) -> Heading | None:
    """Read `Section 7.3 Fences`; return None for `Section 7.3 of this Agreement`."""
    label, number = found["label"].lower().rstrip("."), found["number"]
    if (found["label"].islower() and label not in {"§", "§§"}) or (number.islower() and number[0].isalpha()):
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
    if style in {"level", "bare"} and any(quantity.span.start == 0 for quantity in quantities(block.lower())):
        return None  # `2.5 Acres`
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


def _unnumbered(block: str) -> Heading | None:
    title = heading_title(block).removesuffix(":")
    if title.lower() in SINGLE_TITLES and title[0].isupper() and not block.endswith("."):
        return Heading(CAPITALS_RANK if title.isupper() else TITLE_RANK, "", "", title)
    open_end = block.endswith((".", ",", ";", "!", "?"))
    if not title.isupper() or open_end or _FIELD.match(title) or _LAID_OUT.search(block):
        return None
    colon = block.endswith(":")
    if " " in title:
        known = _has_capitals(title) and not (colon and _ends_open(title))
    else:
        known = _one_capital_word(title) and not colon
    return Heading(CAPITALS_RANK, "", "", title) if known else None


def is_title(words: str, *, sentence_case: bool) -> bool:
    """Return whether words are a title in title case; with `sentence_case`, also a short phrase without a verb."""
    found = _WORD.findall(words)
    if not found or not words[0].isupper() or not _may_be_title(words, found):
        return False
    if len(found) > 1 and found[-1] in _SMALL_WORDS:
        return False
    if sentence_case and not re.search(r"[\d;]", words):
        return True
    return all(word[0].isupper() for word in found if word not in _SMALL_WORDS)


def _has_capitals(words: str) -> bool:
    """Return whether words in capitals are a title, and not a shouted sentence, a name, an address or a date."""
    found = _WORD.findall(words)
    if not words.isupper() or not found or not _may_be_title(words, found) or _ends_open(words):
        return False
    lower = [word.lower() for word in found]
    if len(lower) == 1:
        return _one_capital_word(words)
    named = lower[-1] in _COMPANY_WORDS or _INITIAL.search(words)
    doubled = lower[: len(lower) // 2] == lower[len(lower) // 2 :]
    return any(len(word) >= 4 for word in lower) and not named and not doubled and not _PLACE.search(words)


def _one_capital_word(words: str) -> bool:
    """Return whether a word in capitals is a title: `DEFINITIONS` is, `AND`, `NASA` and `ATRAZINE` are not."""
    lower = words.lower()
    if not _WORD.fullmatch(words) or lower in _NO_SINGLE_TITLES:
        return False
    return lower in SINGLE_TITLES or (len(lower) > 6 and _NOMINAL.search(lower) is not None)


def _may_be_title(words: str, found: list[str]) -> bool:
    """Return whether words lack what a title never has: a finite verb, a command, an alert, a list, a date."""
    lower = [word.lower() for word in found]
    if len(lower) > _MOST_WORDS or words.endswith((",", ";", "!", "?", "…")) or words[0] in "[({<":
        return False
    if re.search(r"[.!?]\s", re.sub(r"\b(?:[A-Za-z]|vs|no|etc|st|dr|inc|ltd|co|corp)\.", "", words, flags=re.I)):
        return False
    if lower[0] in _ALERTS | _CONNECTIVES or not _STATING_WORDS.isdisjoint(lower):
        return False
    if lower[0] in _COMMANDS and (len(lower) == 1 or lower[1] not in {"of", "and", "or", "for", "in", "by", "to"}):
        return False
    if any(word in MONTHS and word != "may" for word in lower) and re.search(r"\d", words):
        return False
    return len(re.findall(r"\d+", words)) <= 2 and "=" not in words and "|" not in words


def _ends_open(words: str) -> bool:
    return (_WORD.findall(words.lower()) or [""])[-1] in _CLOSING_WORDS


class SectionPath:
    """Follows headings in reading order; a heading ends every section of its own level and below."""

    def __init__(self) -> None:
        self._headings: list[tuple[int, str]] = []

    @property
    def section(self) -> tuple[str, ...]:
        """The titles over the current text, outermost first."""
        return tuple(title for _, title in self._headings)

    @property
    def level(self) -> int | None:
        """The level of the innermost section, None outside of all."""
        return self._headings[-1][0] if self._headings else None

    def enter(self, level: int, title: str) -> tuple[str, ...]:
        """Begin the section `title`; 1 is the highest level. Return its path, itself included."""
        while self._headings and self._headings[-1][0] >= level:
            self._headings.pop()
        if title:
            self._headings.append((level, title))
        return self.section


_CAPTION = re.compile(
    r"""
    [*_]{0,3}
    (?:(?:supplement(?:ary|al)|extended\ data|appendix)\s+)?
    (?:figure|fig|table|tab|plate|chart|box|map|scheme|photo|illustration|image)s?\.?\s{1,3}
    (?:[A-Z]{1,2}[-.]?)?\d{1,3}(?:[.\-–]\d{1,3})*(?:[a-z]|\([a-z]\))?(?!\w)
    (?P<stop>[*_]{0,3}\s{0,3}[.:|–—\-]|[*_]{1,3}|\s{2,}|[^\S\r\n]*(?:[\r\n]\s*|$))
    """,
    re.VERBOSE | re.IGNORECASE,
)


def is_caption(block: str) -> bool:
    """Return whether a block begins as a caption: `Figure 3. Yield`, but not `Figure 3 shows the yield`."""
    found = _CAPTION.match(block)
    if found is None or not block.lstrip("*_")[:1].isupper():
        return False
    return not found["stop"].isspace() or not block[found.end() :][:1].islower()


_RUN_IN_NUMBER = re.compile(r"(?:\d{1,3}(?:\.\d{1,3})*[.)]?|[IVXL]{1,6}\.|[A-Z]\.)[ \t]+")
_TITLE_END = re.compile(r"[.:](?:[—–\-]|[\"”’]?\s)\s*(?=\S)|\s*[—–]\s*(?=\S)")
_LONGEST_TITLE = 90
_SHORTEST_WORD = re.compile(r"[^\W\d_]{3}")
_INNER_NUMBER = re.compile(r"\s+\d{1,3}\.\d{1,3}\b")
_SHOUTED = re.compile(r"(?:[A-Z][A-Z&,;/'’\-]+\s+){2,12}(?=[A-Z][a-z]|[A-Z]\s+[a-z])")
"""`3.2 DELIVERY AND INSTALLATION As detailed`: the title ends where the capitals do."""
_LOOSE_TEXT = re.compile(r"(?:[ \t]{2,}|[ \t]*[\r\n]+[ \t]*)(?=[\"“(]?[A-Z])")


def run_in_heading(block: str) -> tuple[Heading, str] | None:
    """Return the heading and the title that open a text, or None: `Section 4.2 Notices. All notices shall ...`."""
    labelled = LABELLED.match(block)
    number = labelled or _RUN_IN_NUMBER.match(block)
    if number is None:
        return None
    end = _TITLE_END.search(block, number.end(), number.end() + _LONGEST_TITLE)
    shouted = _SHOUTED.match(block, number.end())
    for stop in (end.start() if end else 0, shouted.end() if shouted else 0):
        inner = _INNER_NUMBER.search(block, number.end(), stop)
        title = heading_title(block[: inner.start() if inner else stop])
        found = heading(title) if title else None
        # `V. Paul Hill, 65. Director` is a person, not the fifth section.
        initial = found and len(found.number) == 1 and found.number.isalpha() and re.search(r"\d", found.words)
        if found is not None and _SHORTEST_WORD.search(found.words) and not initial:
            return found, title
    if labelled is None or labelled.end() >= len(block):
        return None
    bare = heading(block[: labelled.end()])
    if bare is None or not (labelled["stop"] or _LOOSE_TEXT.match(block, labelled.end())):
        return None
    if block[labelled.end() :].lstrip()[:1].islower():
        return None
    return bare, heading_title(block[: labelled.end()]).rstrip(".:-–— ")
