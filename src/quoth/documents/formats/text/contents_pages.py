"""Tables of contents: they repeat the headings with page numbers, and answer nothing themselves."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

_TITLE = re.compile(
    r"(?:table\s+of\s+contents?|contents|list\s+of\s+(?:tables|figures|exhibits|schedules|appendices))"
    r"(?:\s*[\-–—(]*\s*(?:continued|cont'?d?)\.?\)?)?\s*:?",
    re.IGNORECASE,
)
_INDEX = re.compile(r"(?:index|table|page(?:\s+no\.?)?|section(?:\s+page)?)\s*:?", re.IGNORECASE)
"""Lines that are a title or a column heading of a table of contents only where entries follow."""
_ENTRY = re.compile(
    r"""
    (?P<words>\S.*?)
    (?: (?P<leaders>[ \t]?(?:[.·•_](?:[ \t]?[.·•_]){2,}|…[ \t]?(?:…|\.)*)[ \t]*) | [ \t]{3,} | [ \t]*\t[ \t]* )
    (?:page[ \t]+|p\.[ \t]*)?
    (?P<page>(?P<arabic>\d{1,4})|[ivxlc]{1,7}|[IVXLC]{1,7}|[A-Z]{1,2}-?\d{1,3})
    """,
    re.VERBOSE,
)
_NUMBERING = re.compile(
    r"(?:(?:article|chapter|part|section|sec\.|schedule|exhibit|appendix|annex|§)\s*)?"
    r"(?:\d{1,3}(?:\.\d{1,3})*|[IVXLC]{1,7}|[A-Z])(?:[.):]|\s)",
    re.IGNORECASE,
)
_GAP = re.compile(r"[ \t]{3,}|\t")
_LETTERS = re.compile(r"[^\W\d_]{2}")
_ENDS_IN_PAGE = re.compile(r"[\s.·•_…](?:\d{1,4}|[ivxlc]{1,7}|[IVXLC]{1,7}|[A-Z]{1,2}-?\d{1,3})$")
_SENTENCE = re.compile(r"[a-z]{3}[.;]\s+[A-Z]|[.;]$")
_LONGEST, _LONGEST_BETWEEN = 200, 100
_MOST_BETWEEN = 2  # lines in a row that are no entries: the first half of a long entry, a part without a page
_FARTHEST = 12  # lines from one entry to the next, blank ones and page numbers included
_FEWEST, _FEWEST_TITLED = 3, 2
_NUMBERED_ENTRY = re.compile(r"(?<!\S)\d{1,3}(?:\.\d{1,3})*\.?[ \t]+[^\W\d_]")
_WIDEST_NUMBERED = 60  # code points from one number to the next in entries that share a line
_FEWEST_NUMBERED = 5


@dataclass(frozen=True, slots=True)
class _ContentsEntry:
    page: int | None
    """None for a roman numeral or a page of an appendix."""
    sure: bool
    """Dot leaders, or a numbering in front: a row of a price list has neither, or its numbers do not rise."""


def is_contents_title(line: str) -> bool:
    """Return whether a line is the title of a table of contents on its own; `INDEX` also needs entries below it."""
    return _TITLE.fullmatch(line.strip()) is not None


def is_contents_entry(line: str) -> bool:
    """Return whether a line reads as `4.2 Fences ........ 17`: words, then dots or a wide gap, then a page number."""
    return _entry(line) is not None


def contents_runs(lines: Sequence[str]) -> list[range]:
    """Return the tables of contents among lines (or blocks) in reading order, each with its title if it has one.

    A table of contents has a title and at least two entries, or a title and three lines that all come again later, or
    three entries in a row whose pages never fall.
    """
    runs: list[range] = []
    # An entry without a page comes again as a heading.
    later = {_key(line): at for at, line in enumerate(lines) if line.strip()}
    at = 0
    while at < len(lines):
        if _may_be_titled(lines[at]):
            stop = _titled(lines, at, later)
            found = stop is not None
        else:
            stop, found = _untitled(lines, at)
        if stop is not None and found:
            runs.append(range(at, stop))
        at = max(at + 1, stop or 0)
    return runs


def _entry(line: str) -> _ContentsEntry | None:
    line = line.strip()
    if len(line) > _LONGEST or not _ENDS_IN_PAGE.search(line, max(0, len(line) - 8)):
        return None
    found = _ENTRY.fullmatch(line)
    if found is None or not _LETTERS.search(found["words"]):
        return None
    numbering = _NUMBERING.match(found["words"])
    if _GAP.search(found["words"], numbering.end() if numbering else 0) or "|" in line:
        return None  # a second column: a table
    page = int(found["arabic"]) if found["arabic"] else None
    return _ContentsEntry(page, found["leaders"] is not None or numbering is not None)


def _may_be_titled(line: str) -> bool:
    return is_contents_title(line) or _INDEX.fullmatch(line.strip()) is not None


def _untitled(lines: Sequence[str], at: int) -> tuple[int, bool]:
    """Return where entries that begin here end, and whether they are a table of contents."""
    entries: list[_ContentsEntry] = []
    while at < len(lines) and (entry := _entry(lines[at])) is not None:
        entries.append(entry)
        at += 1
    pages = [entry.page for entry in entries if entry.page is not None]
    rising = all(page <= following for page, following in pairwise(pages)) and len(set(pages)) > 1
    enough = len(entries) >= _FEWEST and sum(entry.sure for entry in entries) * 2 > len(entries)
    return at, enough and rising


def _titled(lines: Sequence[str], title: int, later: dict[str, int]) -> int | None:
    """Return where the entries below a title end, None where there are none."""
    stop, entries, between = title + 1, 0, 0
    for at in range(title + 1, len(lines)):
        line = lines[at].strip()
        if _entry(line) is not None or _run_together(line):
            entries += 1 if _entry(line) else _FEWEST_TITLED
            stop, between = at + 1, 0
        elif at - stop >= _FARTHEST:
            break
        elif not line or _may_be_titled(line) or not _LETTERS.search(line):
            continue
        elif between < _MOST_BETWEEN and len(line) <= _LONGEST_BETWEEN and line[-1] not in ".!?;:,":
            between += 1
        else:
            break
    if entries >= _FEWEST_TITLED:
        return stop
    return _without_pages(lines, title, later) if is_contents_title(lines[title]) else None


def _without_pages(lines: Sequence[str], title: int, later: dict[str, int]) -> int | None:
    """Return where entries without pages end: at the first heading that repeats one of them."""
    keys: set[str] = set()
    stop = title + 1
    for at in range(title + 1, len(lines)):
        key = _key(lines[at])
        if key and (key in keys or later[key] == at or len(key) > _LONGEST_BETWEEN):
            break
        if key:
            keys.add(key)
            stop = at + 1
    return stop if len(keys) >= _FEWEST else None


def _run_together(line: str) -> bool:
    """Return whether the entries were written into one line: `1. Definitions 1.1 Background 1.2 Terms 2. Term …`."""
    entries = len(_NUMBERED_ENTRY.findall(line))
    return entries >= _FEWEST_NUMBERED and len(line) <= entries * _WIDEST_NUMBERED and not _SENTENCE.search(line)


def _key(line: str) -> str:
    return " ".join(line.split()).casefold().strip(".: ")
