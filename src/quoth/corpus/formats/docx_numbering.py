"""The numbers that Word shows before paragraphs (`1.`, `(a)`, `7.3`, `Article VII`): they are counted, not stored."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from quoth.corpus.formats.docx_package import Element, attribute, child, children, number, switched, value
from quoth.corpus.formats.docx_styles import Styles, indent_of

BULLET = "•"
"""Stands for every bullet: in the file they are places in a symbol font."""

_LEVELS = 9
_LONGEST_LABEL = 80
"""Code points; it is written once for each paragraph, so a hostile pattern must stay short."""
_LARGEST = 3_999
"""Beyond it roman numbers and letters are written in digits."""
_PLACE = re.compile(r"%([1-9])")
_ROMAN = (
    *((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x")),
    *((9, "ix"), (5, "v"), (4, "iv"), (1, "i")),
)
_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_ORDINALS = {"one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth"}
_ORDINALS |= {"twelve": "twelfth"}


@dataclass(frozen=True, slots=True)
class Level:
    """One level of a list as it is defined."""

    start: int
    form: str
    pattern: str
    suffix: str
    indent: int | None
    legal: bool
    """Whether all its numbers are written in digits, whatever the form of their levels."""
    restarts_after: int | None
    """The level above which starts it anew; 0 for never, None for every one."""
    owner: str | None
    """The paragraph style that this level belongs to."""


@dataclass(frozen=True, slots=True)
class Label:
    """The number or bullet of one paragraph, with the space behind it; `first` where the counting began here.

    `list_key` is the same for paragraphs that are counted together.
    """

    text: str
    list_key: str
    level: int
    first: bool
    bullet: bool
    indent: int | None


_PLAIN_LEVEL = Level(1, "decimal", "", "tab", None, legal=False, restarts_after=None, owner=None)


class Numbering:
    """Counts the numbered paragraphs of a document as they go by."""

    def __init__(self, root: Element | None, styles: Styles) -> None:
        self._root = root
        self._abstract = {attribute(found, "abstractNumId") or "": found for found in children(root, "w:abstractNum")}
        self._lists = {attribute(found, "numId") or "": found for found in children(root, "w:num")}
        self._styles = styles
        self._levels: dict[str, tuple[str, list[Level]]] = {}
        self._counts: dict[str, list[int | None]] = {}
        self._starts: dict[tuple[str, int], int] = {}
        """Where a list begins to count anew, by list and level, until it has."""
        for list_id, found in self._lists.items():
            for override in children(found, "w:lvlOverride"):
                start, place = number(value(override, "w:startOverride")), number(attribute(override, "ilvl"))
                if start is not None and place is not None:
                    self._starts[list_id, place] = start

    def anew(self) -> Numbering:
        """The same lists, not yet counted: notes and text boxes count for themselves."""
        return Numbering(self._root, self._styles)

    def level_of(self, list_id: str, owners: tuple[str, ...]) -> int:
        """The level that belongs to a paragraph's style, else the outermost."""
        _, levels = self._defined(list_id)
        for owner in owners:
            for place, level in enumerate(levels):
                if level.owner == owner:
                    return place
        return 0

    def label(self, list_id: str, place: int) -> Label | None:
        """Count one paragraph of a list; None where the list is not defined or shows nothing."""
        key, levels = self._defined(list_id)
        if not levels:
            return None
        place = min(max(place, 0), _LEVELS - 1)
        level = levels[place]
        counts = self._counts.setdefault(key, [None] * _LEVELS)
        first = self._restart(list_id, place, counts) or counts[place] is None
        before = counts[place]
        counts[place] = level.start if before is None else before + 1
        for above in range(place):  # a level that was skipped counts as if it had been there
            if counts[above] is None:
                counts[above] = levels[above].start
        for deeper in range(place + 1, _LEVELS):
            after = levels[deeper].restarts_after
            if after is None or place < after:
                counts[deeper] = None
        text = BULLET if level.form == "bullet" else self._written(levels, counts, place).strip()
        if not text:
            return None
        gap = "" if level.suffix == "nothing" and level.form != "bullet" else " "
        bullet = level.form == "bullet"
        return Label(text + gap, key, place, first=first, bullet=bullet, indent=level.indent)

    def _restart(self, list_id: str, place: int, counts: list[int | None]) -> bool:
        """A list that shares its definition with another goes on counting, unless it says where it starts."""
        start = self._starts.pop((list_id, place), None)
        if start is None:
            return False
        counts[place] = start - 1
        return True

    @staticmethod
    def _written(levels: list[Level], counts: list[int | None], place: int) -> str:
        def shown(match: re.Match[str]) -> str:
            at = int(match[1]) - 1
            count = counts[at]
            form = "decimal" if levels[place].legal else levels[at].form
            return formatted(levels[at].start if count is None else count, form)

        return _PLACE.sub(shown, levels[place].pattern)[:_LONGEST_LABEL]

    def _defined(self, list_id: str) -> tuple[str, list[Level]]:
        if list_id not in self._levels:
            self._levels[list_id] = self._resolved(list_id)
        return self._levels[list_id]

    def _resolved(self, list_id: str) -> tuple[str, list[Level]]:
        key = value(self._lists.get(list_id), "w:abstractNumId")
        abstract = self._abstract.get(key or "")
        linked = value(abstract, "w:numStyleLink")
        if linked is not None:  # the levels are defined where the numbering style says
            key = value(self._lists.get(self._styles.list_of(linked) or ""), "w:abstractNumId")
            abstract = self._abstract.get(key or "")
        if key is None or abstract is None:
            return "", []
        levels = [_PLAIN_LEVEL] * _LEVELS
        for source in (abstract, *children(self._lists.get(list_id), "w:lvlOverride")):
            for element in children(source, "w:lvl"):
                place = number(attribute(element, "ilvl"))
                if place is not None and 0 <= place < _LEVELS:
                    levels[place] = _level(element)
        return key, levels


def _level(element: Element) -> Level:
    start = number(value(element, "w:start"))
    return Level(
        start=0 if start is None else start,
        form=value(element, "w:numFmt") or "decimal",
        pattern=(value(element, "w:lvlText") or "")[:_LONGEST_LABEL],
        suffix=value(element, "w:suff") or "tab",
        indent=indent_of(child(element, "w:pPr")),
        legal=bool(switched(element, "w:isLgl")),
        restarts_after=number(value(element, "w:lvlRestart")),
        owner=value(element, "w:pStyle"),
    )


def formatted(count: int, form: str) -> str:
    """A number in one of Word's forms; in digits where the form is not known."""
    if form == "none":
        return ""
    return _FORMS.get(form, str)(count) if 0 < count <= _LARGEST else str(count)


def _letters(count: int) -> str:
    """Word goes on after `z` with `aa`, `bb`, `cc`."""
    return chr(ord("a") + (count - 1) % 26) * min((count - 1) // 26 + 1, _LONGEST_LABEL)


def _ordinal(count: int) -> str:
    ending = "th" if count % 100 in {11, 12, 13} else {1: "st", 2: "nd", 3: "rd"}.get(count % 10, "th")
    return f"{count}{ending}"


def _roman(count: int) -> str:
    written = ""
    for amount, letters in _ROMAN:
        written += letters * (count // amount)
        count %= amount
    return written


def _words(count: int, *, ordinal: bool) -> str:
    """`One`, `Twenty-third`: as Word writes them, with a capital; in digits from 100 on."""
    if count >= 100:
        return str(count)
    words = [_ONES[count]] if count < 20 else [_TENS[count // 10 - 2], *([_ONES[count % 10]] if count % 10 else [])]
    if ordinal:
        last = words[-1]
        regular = last[:-1] + "ieth" if last.endswith("y") else last + "th"
        words[-1] = _ORDINALS.get(last, regular)
    return "-".join(words).capitalize()


_FORMS: dict[str, Callable[[int], str]] = {
    "lowerRoman": _roman,
    "upperRoman": lambda count: _roman(count).upper(),
    "lowerLetter": _letters,
    "upperLetter": lambda count: _letters(count).upper(),
    "decimalZero": lambda count: f"{count:02}",
    "ordinal": _ordinal,
    "cardinalText": lambda count: _words(count, ordinal=False),
    "ordinalText": lambda count: _words(count, ordinal=True),
    "decimalEnclosedParen": lambda count: f"({count})",
    "decimalEnclosedFullstop": lambda count: f"{count}.",
    "numberInDash": lambda count: f"- {count} -",
}
