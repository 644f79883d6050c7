"""Places where a sentence may end, and what stands around them."""

from __future__ import annotations

import re

from quoth.text.abbreviations import BEFORE_A_NUMBER, MAY_BE_LAST, MONTHS, NEGATIONS, NEVER_LAST, SENTENCE_STARTERS
from quoth.text.words import FUNCTION_WORDS

_CLOSER = r"""(?:["'”’»›)\]}*_`~]|[ \u00a0\u202f]»)"""
_NOTE = r"(?:[ ]\[\d[\d,;–\- ]{0,30}\]|\[\^?[\w,;–\- ]{1,12}\]|[¹²³⁰⁴-⁹†‡]+|<sup>[^<]{1,20}</sup>)"
_BREAKS = r"(?:\s*+<[bB][rR]\b[^<>]{0,80}>)++\s*+"
# A quoted line starts with `>`, which is not text; nor is a `<br>`.
_GAP = rf"(?:{_BREAKS}|\s*[\r\n][ \t]*(?:>[ \t]*)+|\s+)"

BREAK_TAGS = re.compile(_BREAKS)
"""One or more `<br>` with the whitespace around them: HTML's line break, which Markdown knows too."""

PLACE = re.compile(
    rf"""
    [.!?…。！？｡؟।॥۔։።]  # a plain set first: the engine skips to the next of them without trying the rest
    (?: (?<=[.!?…])(?<![.!?…].) (?P<more>[.!?…]*+) (?P<close>(?:{_CLOSER}|</\w+>|{_NOTE})*)
        (?: (?P<note>(?<=[a-z]\.)\d{{1,3}})?(?:\\(?=[\r\n]))?(?P<gap>{_GAP})(?=\S) | (?<=[a-z]{{3}}\.)(?=[A-Z][a-z]) )
      | (?P<wide>(?<![.!?…])(?<![。！？｡؟।॥۔։።].)[。！？｡؟।॥۔։።]*+[”’»」』）】》"')\]]*)\s*(?=\S)
    )
    """,
    re.VERBOSE,
)
"""A terminator, the marks that close with it, and the gap to the next visible character."""

LINE_PLACE = re.compile(
    rf"""
    (?: [;:,](?:[ \t]+(?:and|or|and/or))?
        (?P<clause>[^\S\r\n]*+[\r\n]\s*+) (?=\((?:[a-z]{{1,4}}|[A-Z]|\d{{1,2}})\)[ \t])
      | (?<!\s) (?P<bullet>[^\S\r\n]*+[\r\n]\s*+) (?=[•◦▪‣●]\s)
      | (?<!\s) (?P<hard>[ ]{{2,}}+(?:\r\n?|\n)\s*|(?<=\\)(?:\r\n?|\n)\s*|{_BREAKS}) (?=[^\s\w]*[A-Z])
    )
    """,
    re.VERBOSE,
)
"""A line break that the author meant: before `(b)` after a semicolon, before a bullet, or a hard break.

A hard break cuts only where `stands_alone` says so.
"""
_LINE_BREAK = re.compile(r"[\r\n]|<br\b[^<>]*>", re.IGNORECASE)
_LONGEST_LINE = 100
_LABELLED = re.compile(r"[*_]*[A-Z][^\W\d_][^:.;!?<>\r\n]{0,40}:[*_]*[ \t]+(?=\S)")
"""`**Author:** J. Smith`."""
_LINE_WORD = re.compile(r"[\w&][\w&'’/-]*")
_NUMERAL = re.compile(r"[IVXLCDM]+\b")
_JOINS = frozenset("and at de der for in la of on the to van von &".split())
"""Words that stay small inside a name or a title."""

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


def behind_breaks(text: str, at: int, end: int) -> int:
    """Return where the line goes on behind any `<br>` at `at`."""
    breaks = BREAK_TAGS.match(text, at, end)
    return breaks.end() if breaks else at


def stands_alone(text: str, opened: int, hard: re.Match[str]) -> bool:
    """Whether what lies between `opened` and a hard break is surely a line of its own: a name, a title, a label.

    Sentences are broken by hand too (`Contact Mr.`, `Apply 5 kg`, `unless`): any doubt keeps the lines together.
    """
    at = hard.start("hard")
    opened = behind_breaks(text, opened, at)
    line = _LINE_BREAK.split(text[max(opened, at - _LONGEST_LINE) : at].strip())[-1].strip().rstrip("\\")
    words = _LINE_WORD.findall(line)
    if not words or not line.rstrip('*_)"”’')[-1:].isalnum() or words[-1].lower() in FUNCTION_WORDS:
        return False
    if _LABELLED.match(line) and _LABELLED.match(text, hard.end()):
        return True
    alone = at - opened <= _LONGEST_LINE and _LINE_BREAK.search(text[opened:at].strip()) is None
    return alone and _is_title(words) and _opens_a_line(text, hard.end())


def _is_title(words: list[str]) -> bool:
    """`Tamarind Hollow`, `60 Merluna Road`: capitals throughout, and no word that could leave a sentence open."""
    last = words[-1].lower()
    abbreviated = last in NEVER_LAST or last in BEFORE_A_NUMBER or last in MAY_BE_LAST
    if not last.isalpha() or len(last) < 3 or last in _JOINS or abbreviated or last in MONTHS:
        return False
    return all(_is_name(word) for word in words if word not in _JOINS)


def _is_name(word: str) -> bool:
    key = word.lower()
    if key in FUNCTION_WORDS or key in SENTENCE_STARTERS or key in NEGATIONS:
        return False
    return word[0].isupper() or word[0].isdigit()


def _opens_a_line(text: str, at: int) -> bool:
    openers = _OPENERS.match(text, at)
    word = _NEXT_WORD.match(text, openers.end() if openers else at)
    if word is None or len(word.group()) < 2 or _NUMERAL.fullmatch(word.group()):
        return False
    return word.group().lower() not in SENTENCE_STARTERS
