"""Counts the numbers that Word shows (`1.`, `(a)`, `7.3`, `Article VII`, the mark of a note) and does not store.

`Numbering` counts the paragraphs of each list, `Notes` the notes. `Lists` finds how deep an item stands, and where a
list begins.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from quoth.documents.formats.docx.package import Element, attribute, child, children, name, number, switched, value
from quoth.documents.formats.docx.styles import ParagraphStyle, Styles, indent_of
from quoth.language.numbering import ORDINALS, TENS, UNDER_TWENTY, to_roman

BULLET = "•"
"""Stands for every bullet: the file only says where in a symbol font its bullet is."""

_LEVELS = 9
_LONGEST_LABEL = 80  # code points. Each paragraph repeats its label, so a hostile pattern must stay short.
_LARGEST = 3_999  # larger counts are written in digits, whatever their form
_LEVEL_REFERENCE = re.compile(r"%([1-9])")
_ORDINAL_ENDINGS = {1: "st", 2: "nd", 3: "rd"}


@dataclass(frozen=True, slots=True)
class ListLevel:
    """The definition of one level of a list."""

    start: int
    form: str
    pattern: str
    suffix: str
    indent: int | None
    legal: bool
    """Whether its label shows the numbers of all levels in digits."""
    restarts_after: int | None
    """The outer level that restarts its count; 0 means none does, None that each does."""
    owner: str | None
    """The paragraph style that this level belongs to."""


@dataclass(frozen=True, slots=True)
class Label:
    """The number or bullet of one paragraph, with the space behind it.

    `first` says that the count starts here. Paragraphs that are counted together have the same `list_key`.
    """

    text: str
    list_key: str
    level: int
    first: bool
    bullet: bool
    indent: int | None


_PLAIN_LEVEL = ListLevel(1, "decimal", "", "tab", None, legal=False, restarts_after=None, owner=None)


class Numbering:
    """Counts the numbered paragraphs of a document in reading order."""

    def __init__(self, root: Element | None, styles: Styles) -> None:
        self._root = root
        self._abstract = {
            attribute(element, "abstractNumId") or "": element for element in children(root, "w:abstractNum")
        }
        self._lists = {attribute(element, "numId") or "": element for element in children(root, "w:num")}
        self._styles = styles
        self._defined = cache(self._resolved)
        self._counts: dict[str, list[int | None]] = {}
        self._starts: dict[tuple[str, int], int] = {}  # where a list still has to restart its count, by list and level
        for list_id, element in self._lists.items():
            for override in children(element, "w:lvlOverride"):
                start, index = number(value(override, "w:startOverride")), number(attribute(override, "ilvl"))
                if start is not None and index is not None:
                    self._starts[list_id, index] = start

    def reset(self) -> Numbering:
        """Return the same lists with nothing counted: notes and text boxes have counts of their own."""
        return Numbering(self._root, self._styles)

    def label(self, layout: Element | None, style: ParagraphStyle) -> Label | None:
        """Count a paragraph and return its label; None where it is in no list, or its list shows nothing."""
        own = child(layout, "w:numPr")
        list_id, level = value(own, "w:numId"), number(value(own, "w:ilvl"))
        if list_id is None and style.numbering is not None:
            list_id, styled = style.numbering
            level = styled if level is None else level
        # List 0 means no list at all.
        if list_id is None or list_id == "0" or switched(child(layout, "w:rPr"), "w:vanish"):
            return None
        key, levels = self._defined(list_id)
        if level is None:
            owners = [defined.owner for defined in levels]
            level = next((owners.index(owner) for owner in style.owners if owner in owners), 0)
        return self._counted(list_id, key, levels, min(max(level, 0), _LEVELS - 1)) if levels else None

    def _counted(self, list_id: str, key: str, levels: list[ListLevel], index: int) -> Label | None:
        level = levels[index]
        counts = self._counts.setdefault(key, [None] * _LEVELS)
        start = self._starts.pop((list_id, index), None)
        if start is not None:  # without a restart, a list continues the count of the lists with its definition
            counts[index] = start - 1
        before = counts[index]
        counts[index] = level.start if before is None else before + 1
        first = start is not None or before is None
        for above in range(index):  # a skipped level counts as if it had been there
            if counts[above] is None:
                counts[above] = levels[above].start
        for deeper in range(index + 1, _LEVELS):
            after = levels[deeper].restarts_after
            if after is None or index < after:
                counts[deeper] = None
        bullet = level.form == "bullet"
        text = BULLET if bullet else self._written(levels, counts, index).strip()
        if not text:
            return None
        gap = "" if level.suffix == "nothing" and not bullet else " "
        return Label(text + gap, key, index, first=first, bullet=bullet, indent=level.indent)

    @staticmethod
    def _written(levels: list[ListLevel], counts: list[int | None], index: int) -> str:
        def shown(reference: re.Match[str]) -> str:
            referred = int(reference[1]) - 1
            count = counts[referred]
            form = "decimal" if levels[index].legal else levels[referred].form
            return formatted(levels[referred].start if count is None else count, form)

        return _LEVEL_REFERENCE.sub(shown, levels[index].pattern)[:_LONGEST_LABEL]

    def _resolved(self, list_id: str) -> tuple[str, list[ListLevel]]:
        key = value(self._lists.get(list_id), "w:abstractNumId")
        abstract = self._abstract.get(key or "")
        linked = value(abstract, "w:numStyleLink")
        if linked is not None:  # the list of a numbering style defines the levels
            key = value(self._lists.get(self._styles.list_of(linked) or ""), "w:abstractNumId")
            abstract = self._abstract.get(key or "")
        if key is None or abstract is None:
            return "", []
        levels = [_PLAIN_LEVEL] * _LEVELS
        for source in (abstract, *children(self._lists.get(list_id), "w:lvlOverride")):
            for element in children(source, "w:lvl"):
                index = number(attribute(element, "ilvl"))
                if index is not None and 0 <= index < _LEVELS:
                    levels[index] = _level(element)
        return key, levels


def _level(element: Element) -> ListLevel:
    start = number(value(element, "w:start"))
    return ListLevel(
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
    """Return a number in one of Word's forms; in digits where the form is unknown."""
    if form == "none":
        return ""
    return _FORMS.get(form, str)(count) if 0 < count <= _LARGEST else str(count)


def _letters(count: int) -> str:
    """Return a to z, then aa, bb, cc, as Word does."""
    return chr(ord("a") + (count - 1) % 26) * min((count - 1) // 26 + 1, _LONGEST_LABEL)


def _words(count: int, *, ordinal: bool) -> str:
    """Return `One` or `Twenty-third`, as Word writes them; digits from 100 on."""
    if count >= 100:
        return str(count)
    table = ORDINALS if ordinal else UNDER_TWENTY
    if count < 20:
        return table[count].capitalize()
    tens = list(TENS)[count // 10 - 2]
    if count % 10:
        return f"{tens}-{table[count % 10]}".capitalize()
    return (tens.removesuffix("y") + "ieth" if ordinal else tens).capitalize()


_FORMS: dict[str, Callable[[int], str]] = {
    "lowerRoman": to_roman,
    "upperRoman": lambda count: to_roman(count).upper(),
    "lowerLetter": _letters,
    "upperLetter": lambda count: _letters(count).upper(),
    "decimalZero": lambda count: f"{count:02}",
    "ordinal": lambda count: f"{count}{_ORDINAL_ENDINGS.get(count % 10, 'th') if count % 100 // 10 != 1 else 'th'}",
    "cardinalText": lambda count: _words(count, ordinal=False),
    "ordinalText": lambda count: _words(count, ordinal=True),
    "decimalEnclosedParen": lambda count: f"({count})",
    "decimalEnclosedFullstop": lambda count: f"{count}.",
    "numberInDash": lambda count: f"- {count} -",
}


_NOTE_FORMS = {"footnote": "decimal", "endnote": "lowerRoman"}


class Notes:
    """The footnotes and endnotes of a document. Each is handed out once, with its number, at its first reference.

    `roots` holds the part with the notes of a kind, `footnote` or `endnote`; None where the document has none.
    """

    def __init__(self, roots: Mapping[str, Element | None], settings: Element | None) -> None:
        self.roots = {kind: root for kind, root in roots.items() if root is not None}
        self._elements = {
            (kind, number(attribute(element, "id"))): element
            for kind, root in self.roots.items()
            for element in children(root, f"w:{kind}")
        }
        self._forms: dict[str, str] = {}
        self._counts: dict[str, int] = {}
        for kind, form in _NOTE_FORMS.items():
            properties = child(settings, f"w:{kind}Pr")
            self._forms[kind] = value(properties, "w:numFmt") or form
            self._counts[kind] = (number(value(properties, "w:numStart")) or 1) - 1

    def take(self, reference: Element) -> tuple[str, str, Element] | None:
        """Return the kind, the mark (`[3]`; empty where the author typed one) and the element of a note, else None."""
        kind = name(reference)[2:].removesuffix("Reference")
        element = self._elements.pop((kind, number(attribute(reference, "id"))), None)
        if element is None:
            return None
        if attribute(reference, "customMarkFollows") in {"1", "true"}:
            return kind, "", element
        self._counts[kind] += 1
        return kind, f"[{formatted(self._counts[kind], self._forms[kind])}]", element


class _OpenList(NamedTuple):
    key: str
    level: int
    indent: int

    def holds(self, inner: _OpenList) -> bool:
        """Compare levels within one list, indents across two lists."""
        return inner.level > self.level if inner.key == self.key else inner.indent > self.indent


class Lists:
    """The lists that are open at one place of a document, outermost first."""

    def __init__(self) -> None:
        self._open: list[_OpenList] = []
        self._interrupted = False

    @property
    def inside(self) -> bool:
        return bool(self._open) and not self._interrupted

    def item(self, label: Label, indent: int) -> tuple[int, bool]:
        """Return the depth of an item, 1 for the outermost, and whether it is the first of its list."""
        item = _OpenList(label.list_key, label.level, indent)
        levels = [opened[:2] for opened in self._open]
        if self._interrupted and (label.bullet or label.first or item[:2] not in levels):
            self._open.clear()
            levels.clear()
        self._interrupted = False
        if item[:2] in levels:
            del self._open[levels.index(item[:2]) + 1 :]
            return len(self._open), label.first and not label.bullet
        while self._open and not self._open[-1].holds(item):
            self._open.pop()
        self._open.append(item)
        return len(self._open), True

    def paragraph(self, indent: int) -> None:
        """Note a paragraph without a number: unless it is indented like an item, it interrupts the lists."""
        if self._open and (indent <= 0 or indent < self._open[0].indent):
            self._interrupted = True

    def end(self) -> None:
        self._open.clear()
        self._interrupted = False
