"""The sections of a plain text: which blocks are headings, and under which each block stands.

The words of a block say whether it may be a heading (`headings`); the document decides. A numbered line followed by its
own next number is an item of a list, a line in capitals above a signature is a party, and a line that comes again and
again belongs to the page. What stands before the first prose is the title: it opens the section path but stays
evidence, as it is often the answer to what a document is called.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from quoth.language.enumerations import ENUMERATOR
from quoth.language.headings import (
    CAPITALS_RANK,
    SECTION_RANK,
    SINGLE_TITLES,
    TITLE_RANK,
    Heading,
    SectionPath,
    heading,
    heading_title,
    is_caption,
    is_title,
    run_in_heading,
)
from quoth.language.numbering import follows, holds, is_later
from quoth.types import RegionKind, Span

_SIGNATURE = re.compile(
    r"(?:by|name|title|its|signature|signed|date|print(?:ed)?(?: name)?|address|attn|attention|email|phone|fax"
    r"|telephone|witness)\b\s*[:_.]|_{3,}|/s/",
    re.IGNORECASE,
)
_WORD = re.compile(r"\S+")
_LONG_WORD = re.compile(r"[^\W\d_]{4}")
_NO_TITLE = re.compile(
    r"[.!?:;,*][\"'”’)\]]*$|\S(?:[ \t]{3,}|\t)\S|\b[A-Z]\.\s+[A-Z]|,\s*[A-Z]{2}\b|\d{3}"
    r"|\b(?:Inc|LLC|Ltd|Corp|Blvd|Ave|Attn)\b"
)
"""What ends a statement, columns, initials, an address, a company."""
_SENTENCE_END = re.compile(r"[.!?:;][\"'”’)\]]*$")
_DIGITS = re.compile(r"\d+")
_FIRST_NUMBERS = frozenset({"1", "A", "I"})
_LISTED = frozenset({"digit", "letter", "roman", "level", "bare"})
_COUNTED = frozenset({"digit", "level", "bare", "section", "sec", "sect", "clause"})
_UNNUMBERED = frozenset({CAPITALS_RANK, TITLE_RANK})
_TITLE_LEVEL, _SUBTITLE_LEVEL = 0, 99
_HABIT = 3  # lines alike that make a style of heading
_PROSE_WORDS = 8
_LONGEST_HEADING = 120
_OFTEN = 3  # times that a line comes again before it belongs to the page
_LONGEST_LIST_OF_CAPITALS = 3


_BARE_NUMBER = re.compile(r"(?P<number>\d{1,2})[ \t]+[A-Z]")


class PlainBlock(NamedTuple):
    span: Span
    contents: bool
    """Whether it is a table of contents."""
    centred: bool


_Placed: TypeAlias = tuple[RegionKind, tuple[str, ...]]


class SectionFinder:
    """Finds the kind and the section of each block of a document in one pass: call `place` for each block in order."""

    def __init__(self, text: str, blocks: Sequence[PlainBlock]) -> None:
        self._blocks = blocks
        self._texts = ["" if block.contents else text[block.span.start : block.span.end] for block in blocks]
        masked = Counter(_masked(block) for block in self._texts)
        counts = Counter(block for block in self._texts if len(block) <= _LONGEST_HEADING)
        self._often = frozenset(block for block, count in counts.items() if count >= _OFTEN)
        self._of_pages = frozenset(block for block, count in masked.items() if count >= _OFTEN)
        bare = _numbers_without_period(self._texts)
        self._found = [None if block in self._often else heading(block, bare_numbers=bare) for block in self._texts]
        self._prose = [_is_prose(block) for block in self._texts]
        self._first_prose = next((at for at, prose in enumerate(self._prose) if prose), len(blocks))
        self._outline = SectionPath()
        self._open: dict[int, Heading] = {}
        self._levels: dict[str, int] = {}
        self._groups: dict[int, str | None] = {}
        self._spoken: set[int] = set()
        self._bare: tuple[int, str] | None = None
        self._titled: int | None = None
        self._by_habit = self._habitual_titles()

    def place(self, at: int) -> _Placed:
        """Return what a block is, and the titles that it stands under."""
        block = self._texts[at]
        if self._blocks[at].contents:
            return RegionKind.CONTENTS, self._outline.section
        bare, self._bare = self._bare, None
        if self._names_document(at):
            return self._title(at)
        if bare is not None and self._names_label(at):
            self._enter(bare[0], f"{bare[1]} {heading_title(block)}", self._open[bare[0]])
            return RegionKind.HEADING, self._outline.section
        found = self._heading(at)
        if found is not None:
            return self._headed(block, found)
        self._text(block)
        return (RegionKind.CAPTION if is_caption(block) else RegionKind.PARAGRAPH), self._outline.section

    def _names_document(self, at: int) -> bool:
        """Return whether a block is a title before all prose, or the first title below a preamble."""
        found = self._found[at]
        if found is None:
            first = at == 0 or (at == 1 and self._found[0] is not None)
            return first and self._titled is None and at < self._first_prose and self._is_short_title(at)
        if found.style or found.words.lower() in SINGLE_TITLES:
            return False
        return at < self._first_prose or (self._titled is None and not self._open and self._introduces(at))

    def _title(self, at: int) -> _Placed:
        """Enter a title of the document: the first line names it, and those below it belong to it."""
        weak = self._titled is not None and self._found[self._titled] is None and self._found[at] is not None
        if self._titled is None or weak:  # a title in capitals says more than `Execution Version` above it
            level = _TITLE_LEVEL if at < self._first_prose else CAPITALS_RANK
            self._enter(level, heading_title(self._texts[at]), None)
            self._titled = at
        return RegionKind.PARAGRAPH, self._outline.section

    def _names_label(self, at: int) -> bool:
        """Return whether a block below a bare `ARTICLE III` is its title."""
        found = self._found[at]
        return found.style == "" if found is not None else self._is_short_title(at) and self._introduces(at)

    def _is_short_title(self, at: int) -> bool:
        """Return whether a block reads as a title in title case, not as a name, an address or page furniture."""
        block = self._texts[at]
        return (
            len(block) <= _LONGEST_HEADING
            and not self._prose[at]
            and _masked(block) not in self._of_pages
            and _LONG_WORD.search(block) is not None
            and _NO_TITLE.search(block) is None
            and _SIGNATURE.match(block) is None
            and not is_caption(block)
            and is_title(heading_title(block), sentence_case=False)
        )

    def _heading(self, at: int) -> Heading | None:
        found = self._found[at]
        if found is None:
            centred = self._blocks[at].centred and self._is_short_title(at) and self._introduces(at)
            return Heading(TITLE_RANK, "", "", self._texts[at]) if centred or at in self._by_habit else None
        if found.style in _LISTED:
            return None if self._is_listed(at, found) else found
        if found.style:
            return found
        return found if self._introduces(at) and _masked(self._texts[at]) not in self._of_pages else None

    def _habitual_titles(self) -> frozenset[int]:
        """Return the lines in title case between two paragraphs if there are several: then they are headings."""
        inner = range(1, len(self._blocks) - 1)
        found = [at for at in inner if self._found[at] is None and self._prose[at + 1] and self._is_short_title(at)]
        between = [at for at in found if self._prose[at - 1] or self._found[at - 1] is not None]
        return frozenset(between if len(between) >= _HABIT else ())

    def _introduces(self, at: int) -> bool:
        """Return whether prose or a list item follows, with at most other headings in between."""
        for later in range(at + 1, min(at + 4, len(self._blocks))):
            block = self._texts[later]
            if _SIGNATURE.match(block):
                return False
            if self._prose[later] or ENUMERATOR.match(block):
                return True
            if self._found[later] is None:
                return False
        return False

    def _is_listed(self, at: int, found: Heading) -> bool:
        """Return whether a numbered line is an item of a list: its next number follows with nothing between."""
        introduces = at + 1 < len(self._blocks) and ENUMERATOR.match(self._texts[at + 1]) is not None
        if self._texts[at].endswith(":") and introduces and not found.words.isupper():
            return True
        if found.words.isupper():
            run = [self._next_to(found, at, step) for step in (-2, -1, 1, 2)]
            return any(all(run[first : first + 2]) for first in range(_LONGEST_LIST_OF_CAPITALS))
        return self._next_to(found, at, 1) or self._next_to(found, at, -1) or at + 1 == len(self._blocks)

    def _next_to(self, found: Heading, at: int, step: int) -> bool:
        """Return whether the block `step` away is a sibling of this heading."""
        if not 0 <= at + step < len(self._blocks):
            return False
        other = self._found[at + step]
        if other is not None:
            return other.style == found.style and other.number.count(".") == found.number.count(".")
        if step < 0 or found.words.isupper():
            return False
        mark = ENUMERATOR.match(self._texts[at + step])
        return mark is not None and follows(mark[mark.lastgroup or 0], found.number)

    def _headed(self, block: str, found: Heading) -> _Placed:
        self._leave_others(found)
        level = self._level(found)
        title = heading_title(block)
        self._enter(level, title, found)
        if found.style not in _LISTED and found.style and not found.words:
            self._bare = level, title
        return RegionKind.HEADING, self._outline.section

    def _text(self, block: str) -> None:
        """Enter the section that a text opens, if it does; a number of its own ends the sections beside it."""
        opened = run_in_heading(block)
        if opened is not None:
            found, title = opened
            self._leave_others(found)
            self._enter(self._level(found), title, found)
        elif (mark := ENUMERATOR.match(block)) is not None:
            number = mark[mark.lastgroup or 0]
            self._leave_where(lambda heading: heading.style in _COUNTED and is_later(number, heading.number))
        self._spoken.update(self._groups)

    def _leave_others(self, found: Heading) -> None:
        """Leave the sections that cannot hold this number: `8.7` does not stand under `5`."""
        if found.style in _COUNTED and "." in found.number:
            self._leave_where(lambda heading: heading.style in _COUNTED and not holds(heading.number, found.number))

    def _leave_where(self, ended: Callable[[Heading], bool]) -> None:
        level = next((level for level, heading in self._open.items() if ended(heading)), None)
        if level is not None:
            self._leave(level)

    def _level(self, found: Heading) -> int:
        """Return the level of a heading here.

        A style of numbers that first appears below another one goes deeper, and a title in lower case below a number
        belongs to that number.
        """
        below_number = any(heading.style in _LISTED for heading in self._open.values())
        if found.rank == TITLE_RANK and found.words.lower() not in SINGLE_TITLES and below_number:
            return _SUBTITLE_LEVEL
        if found.style not in _LISTED:
            return found.rank
        style = "digit" if found.style in {"level", "bare"} else self._letter_or_numeral(found)
        depth = found.number.count(".")
        base = SECTION_RANK + (style == "letter")
        inner = self._outline.level
        if style not in self._levels:
            below = found.number in _FIRST_NUMBERS and inner is not None and inner >= base and self._may_hold_numbers()
            self._levels[style] = inner + 1 if below and inner is not None else base
        return self._levels[style] + depth

    def _letter_or_numeral(self, found: Heading) -> str:
        """Return the style of a number; `I.` behind `H.` is a letter."""
        behind = any(
            heading.style == "letter" and follows(found.number, heading.number) for heading in self._open.values()
        )
        return "letter" if behind else found.style

    def _may_hold_numbers(self) -> bool:
        """Return whether `1.` may stand below: `A.` holds numbers only where it stands below a number itself."""
        numbered = [heading.style for heading in self._open.values() if heading.style]
        return bool(numbered) and (numbered[-1] != "letter" or len(numbered) > 1)

    def _enter(self, level: int, title: str, found: Heading | None) -> None:
        self._leave(level)
        if found is not None and found.style:
            self._leave_titles_beside(found.style)
        self._outline.enter(level, title)
        if found is not None:
            self._open[level] = found
            if not found.style:
                self._groups[level] = None
                self._spoken.discard(level)

    def _leave_titles_beside(self, style: str) -> None:
        """Leave titles that do not hold numbers of this style.

        A title without a number groups the numbers that follow it at once, and no others. It ends when it has had a
        text of its own (`RECITALS`) or when another kind of numbers follows.
        """
        while (level := self._outline.level) in _UNNUMBERED and level is not None:
            if self._groups.get(level) is None and level not in self._spoken:
                self._groups[level] = style
            if self._groups.get(level) == style:
                return
            self._leave(level)

    def _leave(self, level: int) -> None:
        self._outline.enter(level, "")
        self._open = {rank: found for rank, found in self._open.items() if rank < level}
        self._groups = {rank: style for rank, style in self._groups.items() if rank < level}


def _masked(block: str) -> str:
    return _DIGITS.sub("0", block) if len(block) <= _LONGEST_HEADING else ""


def _is_prose(block: str) -> bool:
    words = len(_WORD.findall(block))
    return words >= 2 * _PROSE_WORDS or (words >= _PROSE_WORDS and _SENTENCE_END.search(block) is not None)


def _numbers_without_period(blocks: Sequence[str]) -> bool:
    """Return whether short blocks count up in plain numbers: `1 Scope`, …, `2 Definitions`, …, `3 Term`."""
    expected = 1
    for block in blocks:
        found = _BARE_NUMBER.match(block) if len(block) <= _LONGEST_HEADING else None
        if found is not None and int(found["number"]) == expected and heading(block, bare_numbers=True) is not None:
            expected += 1
    return expected > _HABIT
