"""The words of one paragraph: its runs in order, without what was deleted, hidden, or is only an instruction."""

from __future__ import annotations

from dataclasses import dataclass, field

from quoth.corpus.formats.docx_math import opened
from quoth.corpus.formats.docx_package import Element, attribute, child, name, number, switched, value
from quoth.corpus.formats.docx_styles import Style, Styles
from quoth.corpus.formats.docx_symbols import lowered, plain, raised, symbol

_LEFT_OUT = frozenset(
    "w:del w:moveFrom w:pPr w:rPr w:sdtPr w:sdtEndPr w:delText w:delInstrText w:fldChar w:instrText w:rt w:rubyPr "
    "m:rPr m:ctrlPr m:fPr m:radPr m:naryPr m:dPr m:mPr".split()
)
_NOTES = frozenset({"w:footnoteReference", "w:endnoteReference"})
_SIGNS = {"w:tab": "\t", "w:ptab": "\t", "w:br": "\n", "w:cr": "\n", "w:noBreakHyphen": "-", "w:softHyphen": "\u00ad"}
"""A soft hyphen stays what it is: searching skips it inside a word, and between digits it may be meant to be seen."""
_FIELDS = frozenset({"w:fldChar", "w:instrText", "w:fldSimple"})
_PICTURES = frozenset({"w:drawing", "w:pict", "w:object"})
_LEAST_SHIFT = 2
_TABLES_OF_CONTENTS = frozenset({"TOC", "TOA", "INDEX"})


@dataclass(slots=True)
class Paragraph:
    """The visible text of a paragraph, the notes it refers to, the text boxes anchored in it."""

    pieces: list[str] = field(default_factory=list)
    notes: list[Element] = field(default_factory=list)
    boxes: list[Element] = field(default_factory=list)
    contents: bool = False
    """Whether it lies in a table of contents."""
    set_bold: bool = True
    """Whether all its text is bold."""
    pictures: int = 0

    @property
    def text(self) -> str:
        return "".join(self.pieces)


@dataclass(frozen=True, slots=True)
class _Print:
    """How a run is printed, as far as it changes what is read."""

    hidden: bool
    font: str
    raised: bool
    lowered: bool
    bold: bool


@dataclass(slots=True)
class _Field:
    instruction: str
    in_result: bool


class Reader:
    """Reads the paragraphs of one part in order; a field may begin in one and end in another."""

    def __init__(self, root: Element, styles: Styles) -> None:
        self._styles = styles
        self._fields: list[_Field] = []
        self._instructing = 0
        self._listing = 0
        _mark_unended_fields(root)

    def read(self, paragraph: Element, style: Style) -> Paragraph:
        """The words of a `w:p`; hidden text, deletions and comments are left out, insertions are kept."""
        found = Paragraph(contents=self._listing > 0)
        ordinary = _Print(hidden=style.hidden, font="", raised=False, lowered=False, bold=style.bold)
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
                tasks.extend((part, printed) for part in reversed(_inside(task, tag)))
            elif not printed.hidden:
                found.notes.append(task)
        found.set_bold = found.set_bold and bool(found.text.strip())
        return found

    def _run(self, run: Element, style: Style) -> list[tuple[Element | str, _Print]]:
        how = child(run, "w:rPr")
        styled_hidden, styled_position = self._styles.character(value(how, "w:rStyle"))
        hides = switched(how, "w:vanish")
        bold = switched(how, "w:b")
        fonts = child(how, "w:rFonts")
        position = value(how, "w:vertAlign") or _shifted(how) or styled_position
        printed = _Print(
            hidden=styled_hidden or style.hidden if hides is None else hides,
            font="" if fonts is None else attribute(fonts, "ascii") or "",
            raised=position == "superscript",
            lowered=position == "subscript",
            bold=style.bold if bold is None else bold,
        )
        own_mark = [
            part for part in run if name(part) in _NOTES and attribute(part, "customMarkFollows") in {"1", "true"}
        ]
        # Where the author typed the mark of a note, it follows in the same run; like a number it is left out.
        return [(part, printed) for part in reversed(own_mark or run)]

    def _emit(self, found: Paragraph, text: str, printed: _Print) -> None:
        if printed.hidden or self._instructing or not text:
            return
        text = plain(text, font=printed.font)
        if printed.raised:
            text = raised(text)
        elif printed.lowered:
            text = lowered(text, after=found.pieces[-1][-1:] if found.pieces else "")
        if text.strip():
            found.contents = found.contents or self._listing > 0
            found.set_bold = found.set_bold and printed.bold
        if text:
            found.pieces.append(text)

    def _field(self, tag: str, element: Element, found: Paragraph) -> None:
        """Follow a field: its instruction is never shown, its result is."""
        if tag == "w:fldSimple":
            found.contents = found.contents or _lists(attribute(element, "instr") or "")
        elif tag == "w:instrText":
            if self._fields and not self._fields[-1].in_result and len(self._fields[-1].instruction) < 100:
                self._fields[-1].instruction += element.text or ""
        elif attribute(element, "fldCharType") == "begin":
            if element.get("unended") is None:
                box = child(child(element, "w:ffData"), "w:checkBox")
                if box is not None and not self._instructing:
                    checked = switched(box, "w:checked")
                    found.pieces.append("☒" if (switched(box, "w:default") if checked is None else checked) else "☐")
                self._fields.append(_Field("", in_result=False))
                self._instructing += 1
        elif self._fields and attribute(element, "fldCharType") == "separate":
            if not self._fields[-1].in_result:
                self._fields[-1].in_result = True
                self._instructing -= 1
                self._listing += _lists(self._fields[-1].instruction)
        elif self._fields and attribute(element, "fldCharType") == "end":
            ended = self._fields.pop()
            self._instructing -= not ended.in_result
            self._listing -= ended.in_result and _lists(ended.instruction)


def chosen(alternatives: Element) -> list[Element]:
    """What stands in one of the alternatives that a shape is stored in: the others say the same again."""
    for alternative in alternatives:
        if any(name(part) in {"w:t", "m:t"} for part in alternative.iter()):
            return list(alternative)
    return []


def control_content(control: Element) -> list[Element]:
    """What stands in a content control; nothing where it only prompts for an entry."""
    if switched(child(control, "w:sdtPr"), "w:showingPlcHdr"):
        return []
    content = child(control, "w:sdtContent")
    return [] if content is None else list(content)


def _shifted(how: Element | None) -> str | None:
    """LibreOffice writes a raised or lowered sign as smaller text that is shifted, in half points."""
    shift = number(value(how, "w:position")) or 0
    if child(how, "w:sz") is None or abs(shift) < _LEAST_SHIFT:
        return None
    return "superscript" if shift > 0 else "subscript"


def _shown(element: Element, tag: str) -> str | None:
    """What an element prints by itself, None where it does not."""
    if tag in {"w:t", "m:t"}:
        return (element.text or "").replace("\n", " ")
    if tag == "w:sym":
        return symbol(_hexadecimal(attribute(element, "char")), font=attribute(element, "font") or "")
    return _SIGNS.get(tag)


def _inside(element: Element, tag: str) -> list[Element | str]:
    if tag in _LEFT_OUT:
        return []
    if tag == "mc:AlternateContent":
        return chosen(element)
    if tag == "w:sdt":
        return control_content(element)
    return opened(element) if tag.startswith("m:") else list(element)


def _lists(instruction: str) -> bool:
    first, _, _ = instruction.strip().partition(" ")
    return first.upper() in _TABLES_OF_CONTENTS


def _mark_unended_fields(root: Element) -> None:
    """A field that never ends would swallow the rest of the document: it is taken for no field at all."""
    begun: list[Element] = []
    for element in root.iter("{*}fldChar"):
        match attribute(element, "fldCharType"):
            case "begin":
                begun.append(element)
            case "end" if begun:
                begun.pop()
    for element in begun:
        element.set("unended", "true")


def _hexadecimal(text: str | None) -> int:
    try:
        return min(int(text or "", 16), 0xFFFF)
    except ValueError:
        return 0


def note_id(reference: Element) -> tuple[str, int | None]:
    """Which part a reference points into (`footnote`, `endnote`), and to which note of it."""
    return name(reference)[2:].removesuffix("Reference"), number(attribute(reference, "id"))
