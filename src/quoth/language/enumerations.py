"""Enumerators that are words of the text (`(a)`, `1.02`, `IV.`, `•`), and which line introduces which of them."""

from __future__ import annotations

import re

from quoth.language.boundaries import last_sentence
from quoth.language.words import NEGATIONS
from quoth.types import Span

ENUMERATOR = re.compile(
    r"""
    (?: (?P<bullet>[•◦▪▫‣●○■□➢✓✔–—*·+-]|o(?=[ \t]{2}))(?=[ \t]+\S)
      | \((?P<paren>[a-z]{1,2}|[A-Z]{1,2}|[ivxlc]{1,6}|[IVXLC]{1,6}|\d{1,3})\)(?=\s)
      | (?P<half>[a-z]|[A-Z]|[ivxlc]{1,5}|\d{1,3})\)(?=\s)
      | (?P<level>\d{1,3}(?:\.\d{1,3})+)\.?(?=\s)
      | (?P<dot>[A-Za-z]|[ivxlc]{1,5}|[IVXLC]{1,6}|\d{1,3})\.(?=\s)(?!\s[A-Z]\.\s)
    )
    """,
    re.VERBOSE,
)
_FIRST_LABELS = frozenset({"a", "i", "1"})
_ROMAN = frozenset("ivxlc")
_INTRODUCES = (":", "—", "–", ":-", ":—")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_STATEMENT = re.compile(r"(?:\w+,?\s+){2}\w*[^\W\d_]{2}[\"'”’)\]]*[.!?][\"'”’)\]]*\s")
"""The end of a sentence of three words or more, which `2.` and `Rent.` are not."""
_LONGEST_LEAD, _LONGEST_DENIAL = 600, 2_000
"""Code points that the introductions of nested lists may take together, and may where the outer one denies."""


def introduction(text: str, block: Span, outer: Span | None) -> Span:
    """Return what introduces a list below `block`, itself introduced by `outer`.

    It is one slice from the outermost introduction to the innermost, as `apply nitrogen` below `In spring:` below
    `Never:` means its opposite without the first. Where that is too long, or items between the two state something of
    their own, the nearer one says more, but a denial stays.
    """
    inner = last_sentence(text, block)
    if outer is None:
        return inner
    both = Span(outer.start, inner.end)
    if len(both) <= _LONGEST_LEAD and not _STATEMENT.search(text, outer.end, block.start):
        return both
    if NEGATIONS.isdisjoint(_WORD.findall(text[outer.start : outer.end].lower().replace("’", "'"))):
        return inner
    return both if len(both) <= _LONGEST_DENIAL else outer


class Enumeration:
    """Follows the enumerated blocks of a text in reading order and knows the line that introduces each.

    A style of enumerator seen for the first time opens a level below the block before it; the same style again goes
    on with that level; anything else ends them all.
    """

    def __init__(self) -> None:
        self._levels: list[tuple[str, Span | None]] = []
        self._label = ""
        self._left = False
        self._before: Span | None = None

    def follow(
        self, text: str, block: Span, enumerator: re.Match[str] | None, *, lead: Span | None = None
    ) -> Span | None:
        """Take the next block; return the line that introduces it, or None. `lead` introduces it if nothing else does.

        A block without an enumerator ends every list, unless the next number continues one.
        """
        if enumerator is not None:
            lead = self._enter(enumerator)
        self._left = enumerator is None
        ends_open = text[max(block.start, block.end - 40) : block.end].endswith(_INTRODUCES)
        self._before = introduction(text, block, lead) if ends_open else None
        return lead

    def _enter(self, enumerator: re.Match[str]) -> Span | None:
        """Enter the level of an enumerator; return the line that introduces its list, or None."""
        style = self._style(enumerator)
        if self._left and (self._label.lower() in _FIRST_LABELS or style not in self._styles()):
            self._levels.clear()
        styles = self._styles()
        if style in styles:
            del self._levels[styles.index(style) + 1 :]
        else:
            self._levels.append((style, self._before))
        return self._levels[-1][1]

    def _styles(self) -> list[str]:
        return [style for style, _ in self._levels]

    def _style(self, enumerator: re.Match[str]) -> str:
        form = enumerator.lastgroup or ""
        label = enumerator[form]
        if form == "bullet":
            return label
        follows = len(label) == len(self._label) == 1 and ord(label) == ord(self._label) + 1
        self._label = label
        if label[0].isdigit():
            return f"{form}:{label.count('.')}"
        case = "upper" if label[0].isupper() else "lower"
        roman = _ROMAN.issuperset(label.lower()) and not follows and label.lower() not in {"c", "l"}
        return f"{form}:{case}:{'roman' if roman else 'letter'}"
