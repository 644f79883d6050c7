"""Numbers as a language writes them, in English figures: `2,5` becomes `2.5`, and no offset changes."""

from __future__ import annotations

import re
import unicodedata

from quoth.language.conventions import Conventions

_OTHER_DIGIT = re.compile(r"(?![0-9])\d")
_NUMBER = re.compile(
    r"(?<![\d.,])(?:\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?![\d.])(?:,\d+)?|\d{1,3}(?:['’]\d{3})+(?:\.\d+)?"
    r"|\d+(?:[.,٫٬]\d+)+)(?!\d)"
)
_PARTS = re.compile(r"[^\d]")
_ARABIC = str.maketrans({"٫": ".", "٬": ","})


def english_figures(text: str, language: Conventions) -> str:
    """Return `text` with its numbers in ASCII digits, with a decimal point and no grouping, padded with zeros.

    A single mark before three digits is read as the language does: `1.234` is over a thousand in German. What is no
    number, such as a version or a date, stays as it is.
    """
    if not text.isascii():
        text = _OTHER_DIGIT.sub(lambda digit: str(unicodedata.digit(digit[0])), text)
    return _NUMBER.sub(lambda number: _plain(number[0], language).rjust(len(number[0]), "0"), text)


def _plain(number: str, language: Conventions) -> str:
    written = number.translate(_ARABIC)
    marks = _PARTS.findall(written)
    last = marks[-1]
    if len(set(marks)) > 1:
        decimal = last if marks.count(last) == 1 else None
    elif "٫" in number:
        decimal = "."
    elif len(marks) == 1 and last in ".,":
        decimal = last if last == language.decimal or not _is_grouped(written, last) else None
    else:
        decimal = None
    whole, _, rest = written.rpartition(decimal) if decimal else (written, "", "")
    groups = set(_PARTS.findall(whole))
    if len(groups) > 1 or (groups and not _is_grouped(whole, groups.pop())):
        return number
    return f"{_PARTS.sub('', whole)}.{rest}" if decimal else _PARTS.sub("", whole)


def _is_grouped(whole: str, mark: str) -> bool:
    """Return whether marks stand before each three digits, or as in India: `1,00,000`."""
    first, *inner, last = whole.split(mark)
    lengths = {len(group) for group in inner}
    return 1 <= len(first) <= 3 and first != "0" and len(last) == 3 and (lengths <= {3} or lengths <= {2})
