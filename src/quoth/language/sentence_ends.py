"""Positions where a sentence may end, and the text around them."""

from __future__ import annotations

import re
from functools import cache

from quoth.language.conventions import Conventions
from quoth.language.words import (
    BEFORE_A_NUMBER,
    FUNCTION_WORDS,
    MAY_BE_LAST,
    MONTHS,
    NEGATIONS,
    NEVER_LAST,
    SENTENCE_STARTERS,
)

_CLOSER = r"""(?:["'”’»›)\]}*_`~]|[ \u00a0\u202f]»)"""
_CLOSERS = r"""["'”’›)\]}*_`~"""
_WIDE = "。！？｡؟।॥۔։።"
_IDEOGRAPH = r"[\u3040-\u30ff\u3400-\u9fff]"
_NOTE = r"(?:[ ]\[\d[\d,;–\- ]{0,30}\]|\[\^?[\w,;–\- ]{1,12}\]|[¹²³⁰⁴-⁹†‡]+|<sup>[^<]{1,20}</sup>)"
_BREAKS = r"(?:\s*+<[bB][rR]\b[^<>]{0,80}>)++\s*+"
# A quoted line starts with `>`, which is not text; nor is a `<br>`.
_GAP = rf"(?:{_BREAKS}|\s*[\r\n][ \t]*(?:>[ \t]*)+|\s+)"

BREAK_TAGS = re.compile(_BREAKS)
"""One or more `<br>` with the whitespace around them: HTML's line break, which Markdown knows too."""


def _pattern(marks: str, wide: str, closer: str, *, glued: str) -> re.Pattern[str]:
    return re.compile(
        rf"""
        [{marks}{wide}]  # a plain set first: the engine skips to the next of them without trying the rest
        (?: (?<=[{marks}])(?<![{marks}].) (?P<more>[{marks}]*+) (?P<close>(?:{closer}|</\w+>|{_NOTE})*)
            (?: (?P<note>(?<=[a-z]\.)\d{{1,3}})?(?:\\(?=[\r\n]))?(?P<gap>{_GAP})(?=\S) | {glued} )
          | (?P<wide>(?<![{marks}])(?<![{wide}].)[{wide}]*+[”’»」』）】》"')\]]*)\s*(?=\S)
        )
        """,
        re.VERBOSE,
    )


_ENGLISH_END = _pattern(".!?…", _WIDE, _CLOSER, glued="(?<=[a-z]{3}\\.)(?=[A-Z][a-z])")


def sentence_end(language: Conventions) -> re.Pattern[str]:
    """Return a pattern for a terminator, the marks that close with it, and the gap to the next visible character."""
    if language.english:
        return _ENGLISH_END
    return _sentence_end(language.terminators, language.quotes, language.solid)


@cache
def _sentence_end(terminators: str, quotes: tuple[str, ...], solid: bool) -> re.Pattern[str]:
    plain = "".join(mark for mark in terminators if mark.isascii())
    wide = "".join(mark for mark in terminators if not mark.isascii())
    closing = "".join(sorted({pair[1] for pair in quotes} - set(_CLOSERS)))
    spaced = "" if "»«" in quotes else r"|[ \u00a0\u202f]»"
    glued = r"(?<=[^\W\d_A-Z]{3}\.)(?=[^\W\d_])"
    if solid:  # `是什么?它`
        glued += rf"""|(?<=[!?"'）)])(?={_IDEOGRAPH})"""
    return _pattern(f".!?…{plain}", _WIDE + wide, f"(?:{_CLOSERS}{closing}]{spaced})", glued=f"(?:{glued})")


LINE_END = re.compile(
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
_LEAVES_OPEN = _JOINS | NEVER_LAST | BEFORE_A_NUMBER | MAY_BE_LAST | MONTHS
_NO_NAMES = FUNCTION_WORDS | SENTENCE_STARTERS | NEGATIONS

_BEFORE_WORD = re.compile(r"[\s\"“”‘(\[{<>*_`~|,;:!?…/–—=]")
_LONGEST_WORD = 40
_LONGEST_PART = 4
_OPENERS = re.compile(r"""(?:["'“‘«‹„(\[{*_`~¿¡>\s]|<\w+>)*""")
_ANY_OPENERS = re.compile(r"""(?:["'“‘«‹„‚”»›「『（《(\[{*_`~¿¡>\s]|<\w+>)*""")
_NEXT_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_ANY_NEXT_WORD = re.compile(r"""[^\s\d_.,;:!?…()\[\]{}"“”«»„/]+""")
"""A word of any script, the marks above and below its letters included."""
_SPACED = re.compile(r"(?<![\w.])(?:[^\W\d_]{1,4}\.[ \u00a0\u202f]?){1,3}[^\W\d_]{1,4}$")
"""`z. B`, `и т. д`: an abbreviation of several words, up to its last period."""
_CLAUSE_LETTER = re.compile(r"\((?:[a-z]{1,4}|[A-Z]|\d{1,2})\)\s+(?=\S)|(?:[ivx]{2,5}|[a-z])\.\s+(?=[\"“]?[A-Z])")


class SentenceEnd:
    """A position where a sentence may end, with what the rules look at."""

    def __init__(self, text: str, opened: int, match: re.Match[str], end: int, language: Conventions) -> None:
        self.text, self.opened, self.match, self.end, self.language = text, opened, match, end, language
        english = language.english
        self.mark: str | None = text[match.start()] + match["more"] if match["wide"] is None else None
        self.close: str = match["close"] or ""
        clause = self.behind_gap(_CLAUSE_LETTER)
        self.clause = clause is not None
        openers = clause or self.behind_gap(_OPENERS if english else _ANY_OPENERS)
        self.next_at = openers.end() if openers else match.end()
        self.first = text[self.next_at] if self.next_at < end else ""
        next_word = self.ahead(_NEXT_WORD if english else _ANY_NEXT_WORD)
        self.next = next_word.group().lower() if next_word else ""
        cased = self.first.isupper() or (not english and self.first.lower() == self.first.upper())
        self.starts = cased and self.next in language.starters
        # The last word: what follows the last blank, bracket or quote.
        word = text[max(opened, match.start() - _LONGEST_WORD) : match.start()].rpartition(" ")[2]
        self.word = word if word.isalpha() else _BEFORE_WORD.split(word)[-1]
        self.key = self.word.lower().lstrip(".'’-")
        if not english and self.mark == "." and len(self.key) <= _LONGEST_PART:
            self.key = self._spaced_key() or self.key

    def _spaced_key(self) -> str | None:
        """Return the key of an abbreviation that is written with blanks: `z.b` for `z. B.`"""
        run = _SPACED.search(self.text, max(self.opened, self.match.start() - _LONGEST_WORD), self.match.start())
        parts = re.split(r"\.\s?", run.group().lower()) if run else []
        joined = (".".join(parts[first:]) for first in range(len(parts) - 1))
        return next((key for key in joined if key in self.language.abbreviations), None)

    def behind_gap(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Match at the first visible character behind the gap."""
        return pattern.match(self.text, self.match.end(), self.end)

    def ahead(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Match at the next word, behind opening quotes and brackets."""
        return pattern.match(self.text, self.next_at, self.end)


def behind_breaks(text: str, at: int, end: int) -> int:
    """Return where the line goes on behind any `<br>` at `at`."""
    breaks = BREAK_TAGS.match(text, at, end)
    return breaks.end() if breaks else at


def stands_alone(text: str, opened: int, hard: re.Match[str]) -> bool:
    """Return whether the text from `opened` to a hard break is surely a line of its own: a name, a title, a label.

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
    """Return whether a line is a name: capitals throughout, and no last word that could leave a sentence open."""
    last = words[-1].lower()
    if not last.isalpha() or len(last) < 3 or last in _LEAVES_OPEN:
        return False
    names = [word for word in words if word not in _JOINS]
    return all(word.lower() not in _NO_NAMES and (word[0].isupper() or word[0].isdigit()) for word in names)


def _opens_a_line(text: str, at: int) -> bool:
    openers = _OPENERS.match(text, at)
    word = _NEXT_WORD.match(text, openers.end() if openers else at)
    if word is None or len(word.group()) < 2 or _NUMERAL.fullmatch(word.group()):
        return False
    return word.group().lower() not in SENTENCE_STARTERS
