"""Run-in headings: `Section 4.2 Notices. All notices shall be in writing.` names its section and states something."""

from __future__ import annotations

import re
from typing import NamedTuple

from quoth.text.headings import LABELLED, Heading, heading, heading_title

_NUMBER = re.compile(r"(?:\d{1,3}(?:\.\d{1,3})*[.)]?|[IVXL]{1,6}\.|[A-Z]\.)[ \t]+")
_TITLE_END = re.compile(r"[.:](?:[—–\-]|[\"”’]?\s)\s*(?=\S)|\s*[—–]\s*(?=\S)")
_LONGEST_TITLE = 90
_SHORTEST_WORD = re.compile(r"[^\W\d_]{3}")
_INNER_NUMBER = re.compile(r"\s+\d{1,3}\.\d{1,3}\b")
_SHOUTED = re.compile(r"(?:[A-Z][A-Z&,;/'’\-]+\s+){2,12}(?=[A-Z][a-z]|[A-Z]\s+[a-z])")
"""`3.2 DELIVERY AND INSTALLATION As detailed`: the title ends where the capitals do."""
_LOOSE = re.compile(r"(?:[ \t]{2,}|[ \t]*[\r\n]+[ \t]*)(?=[\"“(]?[A-Z])")


class RunIn(NamedTuple):
    heading: Heading
    title: str


def run_in(block: str) -> RunIn | None:
    """Return the heading that opens a block of text, None where the block has none."""
    labelled = LABELLED.match(block)
    number = labelled or _NUMBER.match(block)
    if number is None:
        return None
    end = _TITLE_END.search(block, number.end(), number.end() + _LONGEST_TITLE)
    shouted = _SHOUTED.match(block, number.end())
    for stop in (end.start() if end else 0, shouted.end() if shouted else 0):
        inner = _INNER_NUMBER.search(block, number.end(), stop)
        title = heading_title(block[: inner.start() if inner else stop])
        found = heading(title) if title else None
        if found is not None and _SHORTEST_WORD.search(found.words) and not _may_be_initial(found):
            return RunIn(found, title)
    if labelled is None or labelled.end() >= len(block):
        return None
    bare = heading(block[: labelled.end()])
    if bare is None or not (labelled["stop"] or _LOOSE.match(block, labelled.end())):
        return None
    after = block[labelled.end() :].lstrip()
    return None if after[:1].islower() else RunIn(bare, heading_title(block[: labelled.end()]).rstrip(".:-–— "))


def _may_be_initial(found: Heading) -> bool:
    """`V. Paul Hill, 65. Director`: a person, not the fifth section."""
    return len(found.number) == 1 and found.number.isalpha() and re.search(r"\d", found.words) is not None
