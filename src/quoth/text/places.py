"""Places where a sentence may end, and what stands around them."""

from __future__ import annotations

import re

from quoth.text.abbreviations import SENTENCE_STARTERS

_CLOSER = r"""(?:["'”’»›)\]}*_`~]|[ \u00a0\u202f]»)"""
_NOTE = r"(?:[ ]\[\d[\d,;–\- ]{0,30}\]|\[\^?[\w,;–\- ]{1,12}\]|[¹²³⁰⁴-⁹†‡]+|<sup>[^<]{1,20}</sup>)"
_GAP = r"(?:\s*[\r\n][ \t]*(?:>[ \t]*)+|\s+)"  # a quoted line starts with `>`, which is not text

PLACE = re.compile(
    rf"""
    [.!?…。！？｡؟।॥۔։።]  # a plain set first: the engine skips to the next of them without trying the rest
    (?: (?<=[.!?…])(?<![.!?…].) (?P<more>[.!?…]*+) (?P<close>(?:{_CLOSER}|</\w+>|{_NOTE})*)
        (?: (?P<note>(?<=[a-z]\.)\d{{1,3}})?(?P<gap>{_GAP})(?=\S) | (?<=[a-z]{{3}}\.)(?=[A-Z][a-z]) )
      | (?P<wide>(?<![.!?…])(?<![。！？｡؟।॥۔։።].)[。！？｡؟।॥۔։።]*+[”’»」』）】》"')\]]*)\s*(?=\S)
    )
    """,
    re.VERBOSE,
)
"""A terminator, the marks that close with it, and the gap to the next visible character."""

LINE_PLACE = re.compile(
    r"""
    (?: [;:,](?:[ \t]+(?:and|or|and/or))? (?P<clause>[^\S\r\n]*+[\r\n]\s*+) (?=\((?:[a-z]{1,4}|[A-Z]|\d{1,2})\)[ \t])
      | (?<!\s) (?P<bullet>[^\S\r\n]*+[\r\n]\s*+) (?=[•◦▪‣●]\s)
      | (?<![,;(\-–—\s\d]) (?P<hard>[ ]{2,}+(?:\r\n?|\n)\s*|(?<=\\)(?:\r\n?|\n)\s*) (?=[^\s\w]*[A-Z])
    )
    """,
    re.VERBOSE,
)
"""A line break that the author meant: before `(b)` after a semicolon, before a bullet, Markdown's hard break."""

_BEFORE_WORD = re.compile(r"[\s\"“”‘(\[{<>*_`~|,;:!?…/–—=]")
_LONGEST_WORD = 40
_OPENERS = re.compile(r"""(?:["'“‘«‹„(\[{*_`~¿¡>\s]|<\w+>)*""")
_NEXT_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_CLAUSE_LETTER = re.compile(r"\((?:[a-z]{1,4}|[A-Z]|\d{1,2})\)\s+(?=\S)|(?:[ivx]{2,5}|[a-z])\.\s+(?=[\"“]?[A-Z])")


class Place:
    """A place where a sentence may end, with what the rules look at."""

    __slots__ = (
        "clause",
        "close",
        "end",
        "first",
        "key",
        "mark",
        "match",
        "next",
        "next_at",
        "opened",
        "starts",
        "text",
        "word",
    )

    def __init__(self, text: str, opened: int, match: re.Match[str], end: int) -> None:
        self.text, self.opened, self.match, self.end = text, opened, match, end
        self.mark: str | None = text[match.start()] + match["more"] if match["wide"] is None else None
        self.close: str = match["close"] or ""
        clause = _CLAUSE_LETTER.match(text, match.end(), end)
        self.clause = clause is not None
        openers = clause or _OPENERS.match(text, match.end(), end)
        self.next_at = openers.end() if openers else match.end()
        self.first = text[self.next_at] if self.next_at < end else ""
        next_word = _NEXT_WORD.match(text, self.next_at, end)
        self.next = next_word.group().lower() if next_word else ""
        self.starts = self.first.isupper() and self.next in SENTENCE_STARTERS
        self.word = _last_word(text[max(opened, match.start() - _LONGEST_WORD) : match.start()])
        self.key = self.word.lower().lstrip(".'’-")


def _last_word(text: str) -> str:
    """Return what follows the last blank, bracket or quote."""
    blank = text.rfind(" ")
    word = text[blank + 1 :]
    return word if word.isalpha() else _BEFORE_WORD.split(word)[-1]
