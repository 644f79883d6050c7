"""Reads the visible text of one paragraph: its runs in order, without deletions, hidden text and field codes."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field

from quoth.documents.formats.docx.package import Element, attribute, child, name, number, switched, value
from quoth.documents.formats.docx.styles import ParagraphStyle, Styles

_LEFT_OUT = frozenset(
    "w:del w:moveFrom w:pPr w:rPr w:sdtPr w:sdtEndPr w:delText w:delInstrText w:fldChar w:instrText w:rt w:rubyPr "
    "m:rPr m:ctrlPr m:fPr m:radPr m:naryPr m:dPr m:mPr".split()
)
_NOTES = frozenset({"w:footnoteReference", "w:endnoteReference"})
_SIGNS = {"w:tab": "\t", "w:ptab": "\t", "w:br": "\n", "w:cr": "\n", "w:noBreakHyphen": "-", "w:softHyphen": "\u00ad"}
"""A soft hyphen stays: search skips it inside a word, and between digits it may be meant to be seen."""
_FIELDS = frozenset({"w:fldChar", "w:instrText", "w:fldSimple"})
_PICTURES = frozenset({"w:drawing", "w:pict", "w:object"})
_LEAST_SHIFT = 2
_TABLES_OF_CONTENTS = frozenset({"TOC", "TOA", "INDEX"})
_LONGEST_BARE = 12  # code points of an operand that needs no brackets, if it is one word or number

_UNKNOWN = "\ufffd"  # stands for a sign of unknown meaning, so that a reader sees there is one

_FONT_AREA = range(0xF000, 0xF100)  # where Word puts the 256 positions of a symbol font

_SURROGATES = range(0xD800, 0xE000)  # halves of characters, which are no text on their own

_SYMBOL = (
    dict(enumerate(" !∀#∃%&∋()∗+,−./0123456789:;<=>?", 0x20))
    | dict(enumerate("≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼", 0x40))
    | dict(enumerate("€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪", 0xA0))
    | dict(enumerate("〉∫⌠⎮⌡⎞⎟⎠⎤⎥⎦⎫⎬⎭", 0xF1))
)
_WINGDINGS = {
    **{0x20: " ", 0x6C: "●", 0x6D: "❍", 0x6E: "■", 0x6F: "□", 0x71: "❑", 0x72: "❒", 0x75: "◆", 0x76: "❖", 0x77: "◆"},
    **{0x9E: "•", 0x9F: "•", 0xA1: "○", 0xA7: "▪", 0xA8: "☐", 0xD8: "➢", 0xFB: "✗", 0xFC: "✓", 0xFD: "☒", 0xFE: "☑"},
    **{0xDF: "←", 0xE0: "→", 0xE1: "↑", 0xE2: "↓", 0xE8: "➔", 0xF0: "⇨", 0x36: "⌛", 0x28: "☎", 0x2A: "✉", 0x4A: "☺"},
}

_SUPERSCRIPT = str.maketrans("0123456789+-−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")
_SUBSCRIPT = str.maketrans("0123456789+-−", "₀₁₂₃₄₅₆₇₈₉₊₋₋")


@dataclass(slots=True)
class Paragraph:
    """The visible text of a paragraph, the notes it refers to, and the text boxes anchored in it."""

    texts: list[str] = field(default_factory=list)
    notes: list[Element] = field(default_factory=list)
    boxes: list[Element] = field(default_factory=list)
    contents: bool = False
    """Whether it lies in a table of contents."""
    set_bold: bool = True
    """Whether all its text is bold."""
    pictures: int = 0

    @property
    def text(self) -> str:
        return "".join(self.texts)


@dataclass(frozen=True, slots=True)
class _Print:
    """The print of a run, as far as it changes how the run is read."""

    hidden: bool
    font: str
    position: str | None
    bold: bool


@dataclass(slots=True)
class _Field:
    instruction: str
    in_result: bool


class ParagraphReader:
    """Reads the paragraphs of one package part in order; a field may begin in one and end in another."""

    def __init__(self, root: Element, styles: Styles) -> None:
        self._styles = styles
        self._fields: list[_Field] = []
        self._in_code = 0  # how many field codes are open: their text is not shown
        self._in_contents = 0  # how many tables of contents are open
        _mark_unended_fields(root)

    def read(self, paragraph: Element, style: ParagraphStyle) -> Paragraph:
        """Read a `w:p`: leave out hidden text, deletions and comments, keep insertions."""
        found = Paragraph(contents=self._in_contents > 0)
        ordinary = _Print(hidden=style.hidden, font="", position=None, bold=style.bold)
        tasks: list[tuple[Element | str, _Print]] = [(part, ordinary) for part in reversed(paragraph)]
        while tasks:
            task, printed = tasks.pop()
            tag = "" if isinstance(task, str) else name(task)
            text = task if isinstance(task, str) else _shown(task, tag)
            if text is not None:
                self._emit(found, text, printed)
            elif tag == "w:r":
                tasks.extend(self._run(task, style))
            elif tag == "w:txbxContent":
                found.boxes.append(task)
            elif tag not in _NOTES:
                if tag in _FIELDS:
                    self._field(tag, task, found)
                found.pictures += tag in _PICTURES
                parts = _formula_parts(task) if tag.startswith("m:") else inside(task)
                tasks.extend((part, printed) for part in reversed(() if tag in _LEFT_OUT else parts))
            elif not printed.hidden:
                found.notes.append(task)
        found.set_bold = found.set_bold and bool(found.text.strip())
        return found

    def _run(self, run: Element, style: ParagraphStyle) -> list[tuple[Element | str, _Print]]:
        properties = child(run, "w:rPr")
        styled_hidden, styled_position = self._styles.character(value(properties, "w:rStyle"))
        hides = switched(properties, "w:vanish")
        bold = switched(properties, "w:b")
        fonts = child(properties, "w:rFonts")
        printed = _Print(
            hidden=styled_hidden or style.hidden if hides is None else hides,
            font="" if fonts is None else attribute(fonts, "ascii") or "",
            position=value(properties, "w:vertAlign") or _shifted(properties) or styled_position,
            bold=style.bold if bold is None else bold,
        )
        own_mark = [
            part for part in run if name(part) in _NOTES and attribute(part, "customMarkFollows") in {"1", "true"}
        ]
        # A note mark that the author typed follows in the same run; it is left out like a number.
        return [(part, printed) for part in reversed(own_mark or run)]

    def _emit(self, found: Paragraph, text: str, printed: _Print) -> None:
        if printed.hidden or self._in_code or not text:
            return
        text = _plain(text, font=printed.font)
        if printed.position == "superscript":  # 10 and a raised 5 must not read 105
            text = text.translate(_SUPERSCRIPT)
        elif printed.position == "subscript" and found.texts and found.texts[-1][-1:].isdigit():
            text = text.translate(_SUBSCRIPT)  # after a letter, digits stay as people type them (`CO2`)
        if text.strip():
            found.contents = found.contents or self._in_contents > 0
            found.set_bold = found.set_bold and printed.bold
        if text:
            found.texts.append(text)

    def _field(self, tag: str, element: Element, found: Paragraph) -> None:
        """Follow a field: its code is never shown, its result is."""
        if tag == "w:fldSimple":
            found.contents = found.contents or _is_contents(attribute(element, "instr") or "")
        elif tag == "w:instrText":
            if self._fields and not self._fields[-1].in_result and len(self._fields[-1].instruction) < 100:
                self._fields[-1].instruction += element.text or ""
        else:
            self._field_part(attribute(element, "fldCharType"), element, found)

    def _field_part(self, part: str | None, element: Element, found: Paragraph) -> None:
        inner = self._fields[-1] if self._fields else None
        if part == "begin" and element.get("unended") is None:
            box = child(child(element, "w:ffData"), "w:checkBox")
            if box is not None and not self._in_code:
                checked = switched(box, "w:checked")
                found.texts.append("☒" if (switched(box, "w:default") if checked is None else checked) else "☐")
            self._fields.append(_Field("", in_result=False))
            self._in_code += 1
        elif part == "separate" and inner is not None and not inner.in_result:
            inner.in_result = True
            self._in_code -= 1
            self._in_contents += _is_contents(inner.instruction)
        elif part == "end" and inner is not None:
            self._fields.pop()
            self._in_code -= not inner.in_result
            self._in_contents -= inner.in_result and _is_contents(inner.instruction)


def inside(wrapper: Element) -> list[Element]:
    """Return the content of an element that only wraps what is read.

    Of a content control, that is nothing where it only prompts for an entry; of several alternatives, the first with
    text, since the others repeat the same shape.
    """
    match name(wrapper):
        case "w:sdt":
            prompts = switched(child(wrapper, "w:sdtPr"), "w:showingPlcHdr")
            content = None if prompts else child(wrapper, "w:sdtContent")
        case "mc:AlternateContent":
            shown = (choice for choice in wrapper if any(name(inner) in {"w:t", "m:t"} for inner in choice.iter()))
            content = next(shown, None)
        case _:
            content = wrapper
    return [] if content is None else list(content)


def _shifted(properties: Element | None) -> str | None:
    """Recognise how LibreOffice writes a raised or lowered sign: as smaller text, shifted by half points."""
    shift = number(value(properties, "w:position")) or 0
    if child(properties, "w:sz") is None or abs(shift) < _LEAST_SHIFT:
        return None
    return "superscript" if shift > 0 else "subscript"


def _shown(element: Element, tag: str) -> str | None:
    """Return the text that an element stands for; None where it has none of its own."""
    if tag in {"w:t", "m:t"}:
        return (element.text or "").replace("\n", " ")
    if tag == "w:sym":
        return _symbol(_hexadecimal(attribute(element, "char")), font=attribute(element, "font") or "")
    return _SIGNS.get(tag)


def _is_contents(instruction: str) -> bool:
    first, _, _ = instruction.strip().partition(" ")
    return first.upper() in _TABLES_OF_CONTENTS


def _mark_unended_fields(root: Element) -> None:
    """Mark the fields that never end, to be ignored: they would swallow the rest of the document."""
    begun: list[Element] = []
    for element in root.iter("{*}fldChar"):
        match attribute(element, "fldCharType"):
            case "begin":
                begun.append(element)
            case "end" if begun:
                begun.pop()
    for element in begun:
        element.set("unended", "true")


def _symbol(position: int, *, font: str) -> str:
    """Return the character at a position of a symbol font; `_UNKNOWN` if Unicode has no such character."""
    if position in _FONT_AREA:
        position -= _FONT_AREA.start
    elif position > 0xFF:
        return chr(position) if position <= sys.maxunicode and position not in _SURROGATES else _UNKNOWN
    table = _WINGDINGS if font.lower().startswith(("wingdings", "webdings")) else _SYMBOL
    if font.lower() in {"wingdings 2", "wingdings 3", "webdings"} and position != 0x20:
        return _UNKNOWN
    return table.get(position, _UNKNOWN)


def _plain(text: str, *, font: str) -> str:
    """Return `text` with the characters of symbol fonts in Unicode: `m` in the font Symbol is `μ`."""
    if font.lower() == "symbol":
        return "".join(_symbol(ord(c), font=font) if ord(c) < 0x100 or ord(c) in _FONT_AREA else c for c in text)
    if text.isascii():
        return text
    return "".join(_symbol(ord(c), font=font) if ord(c) in _FONT_AREA else c for c in text)


def _hexadecimal(text: str | None) -> int:
    try:
        return min(int(text or "", 16), 0xFFFF)
    except ValueError:
        return 0


def _formula_parts(element: Element) -> list[Element | str]:
    """Return the children of a formula's element in reading order, with the signs that its layout stands for.

    A fraction must not read as one number, nor a power as another.
    """
    parts: list[Element | str] = list(element)
    match name(element):
        case "m:f":
            parts = [*_bracketed(child(element, "m:num")), "/", *_bracketed(child(element, "m:den"))]
        case "m:sup" | "m:sub" as script:
            parts = ["^" if script == "m:sup" else "_", *_bracketed(element)] if _formula_text(element) else []
        case "m:rad":
            radicand = child(element, "m:e")
            parts = ["√", "(", *(() if radicand is None else radicand), ")"]
        case "m:nary":
            parts = [value(child(element, "m:naryPr"), "m:chr") or "∫", *parts]
        case "m:d":
            properties = child(element, "m:dPr")
            begin, end = value(properties, "m:begChr"), value(properties, "m:endChr")
            parts = ["(" if begin is None else begin, *parts, ")" if end is None else end]
        case "m:mr":
            parts = [part for cell in parts for part in (cell, " ")] + ["; "]
    return parts


def _bracketed(element: Element | None) -> list[Element | str]:
    if element is None:
        return ["(", ")"]
    text = _formula_text(element)
    bare = len(text) <= _LONGEST_BARE and text.replace(".", "").replace("−", "").replace("-", "").isalnum()
    return list(element) if bare else ["(", *element, ")"]


def _formula_text(element: Element) -> str:
    return "".join(inner.text or "" for inner in element.iter() if name(inner) in {"m:t", "w:t"})
