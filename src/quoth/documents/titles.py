"""Titles of documents: which one is believed, for every format whose files may state another one than they print."""

from __future__ import annotations

import re

_READ = 12_000
"""Code points, from the beginning, in which the title that a file states should be found."""
_PART = re.compile(
    r"(?:\d|[ivxlc]+[.)]\s|(?:article|section|chapter|part|rule|appendix|annex|schedule|exhibit)\b|"
    r"(?:(?:table of )?contents|introduction|abstract|(?:executive )?summary|preface|foreword|background|purpose|scope|"
    r"overview|recitals|definitions|general)\W*$)",
    re.IGNORECASE,
)


def title_key(text: str) -> str:
    """Return the letters and digits of a title, to compare titles however they are printed."""
    return "".join(char for char in text.casefold() if char.isalnum())


def believed_title(stated: str | None, printed: str | None, text: str) -> str | None:
    """Return the title of a document: the one that its file states, if `text` prints it or prints no title at all.

    Files are often made from other files and keep the title of these. `printed` is the title at the top, if there is
    one.
    """
    if not stated or not printed:
        return stated or printed or None
    return stated if title_key(stated) in title_key(text[:_READ]) else printed


def names_a_part(heading: str) -> bool:
    """Return whether a heading is that of a part, such as `1. Scope` or `Introduction`, and no title of a document."""
    return _PART.match(heading.strip()) is not None
