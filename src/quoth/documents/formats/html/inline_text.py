"""The text inside one block of a page: white space, raised and lowered signs, formulas, and the marks of notes."""

from __future__ import annotations

import re
from itertools import groupby

from quoth.documents.formats.html.element_tree import Element, preorder
from quoth.documents.formats.html.main_content import NOTES

_COLLAPSIBLE = re.compile(r"[ \t\n\r\f]+")  # what a browser shows as one space. A no-break space stays.

_INVISIBLE = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\u00ad\u200b\u2060\ufeff\ufff9-\ufffb\ud800-\udfff]")
"""Control characters, and the marks of where a word may be broken: a browser shows none of them."""

_PLAIN, _RAISED, _LOWERED = "plain", "raised", "lowered"
_SUPERSCRIPT = str.maketrans("0123456789+-−–=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻⁼⁽⁾ⁿ")
_SUBSCRIPT = str.maketrans("0123456789+-−–=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₋₌₍₎")
_EXPONENT = re.compile(r"[0-9+\-−–=()n, ]+")
_DIGITS = re.compile(r"[0-9]+")
_TRADE = {"tm": "™", "sm": "℠", "r": "®", "(r)": "®", "®": "®", "™": "™"}
_ORDINALS = frozenset("st nd rd th er ere ère re e eme ème es ste de ter bis".split())
_DEGREE = re.compile(r"\s?[CF]\b")  # what follows a raised `o` or `0` that stands for the degree sign

_NOT_WRITTEN = frozenset({"annotation", "annotation-xml", "mphantom", "none", "mprescripts", "maction"})
_SPACED = re.compile(r"[=<>≤≥≈≠±×÷→←⇒⇔∈∼≡∝]|[+−-](?=$)")
_SIMPLE = re.compile(r"[−-]?[\w.,]+|\([^()]*\)|[^\W\d_]\w*")

_NOTE_MARK = re.compile(
    r"[\[(]?(?:[\d*†‡§¶#]{1,4}|[a-zA-Z]|[ivxIVX]{1,5})(?:\s?[,;–-]\s?[\da-z]{1,4})*[\])]?|\[[^\[\]]{1,10}\]"
)
_LONGEST_NOTE_MARK = 12
_RAISED_NAMES = frozenset("reference footnote fn footnotereference".split())
_LINK_NAMES = frozenset(
    """footnote-ref footnote-reference footnoteref fnref noteref doc-noteref endnote-ref sdfootnotesym
    sdendnotesym""".split()
)
_NOTE_TARGET = re.compile(r"#(?:_ftn|_edn|sdfootnote|sdendnote|fn:?-?\d|fnref|cite_note|footnote)", re.IGNORECASE)
"""Names that programs give to notes and to the places that refer to them."""
_NOTE_ID = re.compile(r"(?:sdfootnote|sdendnote|ftn|edn|fn:?-?)\d+")
_WHOLE_DOCUMENT = frozenset({"body", "main", "article"})


class InlineText:
    """Collects the text of one block; `take` returns it and starts the next."""

    def __init__(self) -> None:
        self._runs: list[tuple[str, str]] = []
        self._last = "\n"  # the last character so far; a line end while the line is empty

    @property
    def is_line_start(self) -> bool:
        return self._last == "\n"

    def add(self, text: str) -> None:
        """Add running text: white space collapses, also with the text before it."""
        text = _COLLAPSIBLE.sub(" ", _INVISIBLE.sub("", text))
        if self._last in {" ", "\n"}:
            text = text.lstrip(" ")
        self._append(_PLAIN, text)

    def add_preformatted(self, text: str) -> None:
        """Add preformatted text: every space and line end stays."""
        self._append(_PLAIN, _INVISIBLE.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).replace("\f", "\n"))

    def end_line(self) -> None:
        self._append(_PLAIN, "\n")

    def add_script(self, text: str, *, raised: bool) -> None:
        self._append(_RAISED if raised else _LOWERED, " ".join(_INVISIBLE.sub("", text).split()))

    def take(self) -> str:
        """Return the text without space at the ends of its lines (the first line keeps its indentation)."""
        text = _plain(self._runs).rstrip()
        if "\n" in text:
            text = "\n".join(line.rstrip(" \t") for line in text.split("\n")).lstrip("\n")
        self._runs, self._last = [], "\n"
        return text

    def _append(self, style: str, text: str) -> None:
        if text:
            self._runs.append((style, text))
            self._last = text[-1]


def paragraphs(text: str) -> list[str]:
    """Split text at its blank lines: on many pages two line breaks in a row part the paragraphs."""
    lines = groupby(text.split("\n"), key=lambda line: bool(line.strip()))
    return ["\n".join(run) for visible, run in lines if visible]


def _plain(runs: list[tuple[str, str]]) -> str:
    """Return plain text in which no raised or lowered sign joins a number.

    Raised digits and signs become superscript characters (`m²`, `10⁻³`, `Ca²⁺`). Lowered digits behind a letter stay as
    people type them (`CO2`), and so do ordinals and trade marks (`1st`, `™`). A fraction is written with a stroke
    (`2 1/2`). In all other cases a `^` or `_` parts the sign from the text before it.
    """
    if all(style == _PLAIN for style, _ in runs):
        return "".join(text for _, text in runs)
    written: list[str] = []
    last = ""
    at = 0
    while at < len(runs):
        style, text = runs[at]
        fraction = _fraction(runs, at)
        behind = runs[at + 1][1] if at + 1 < len(runs) and runs[at + 1][0] == _PLAIN else ""
        if fraction is not None:
            text = f" {fraction}" if last.isdigit() else fraction
            at += 2
        elif style == _RAISED:
            text = _superscript(text, last=last, behind=behind)
        elif style == _LOWERED:
            text = _subscript(text, last=last, behind=behind)
        written.append(text)
        last = text[-1:] or last
        at += 1
    return "".join(written)


def _fraction(runs: list[tuple[str, str]], at: int) -> str | None:
    """Return `1/2` for a raised 1, a stroke and a lowered 2 at `at`; None where there is no such fraction."""
    if at + 2 >= len(runs) or [style for style, _ in runs[at : at + 3]] != [_RAISED, _PLAIN, _LOWERED]:
        return None
    above, stroke, below = (text.strip() for _, text in runs[at : at + 3])
    if stroke not in {"/", "⁄", "∕"} or not _DIGITS.fullmatch(above) or not _DIGITS.fullmatch(below):
        return None
    return f"{above}/{below}"


def _superscript(text: str, *, last: str, behind: str) -> str:
    if last.isdigit() and text.lower() in {"o", "0"} and _DEGREE.match(behind):
        return "°"
    if _EXPONENT.fullmatch(text):
        return text.translate(_SUPERSCRIPT)
    if (trade := _TRADE.get(text.lower())) is not None:
        return trade
    ordinal = last.isdigit() and text.lower() in _ORDINALS
    if ordinal or not last.isalnum() or not any(character.isalnum() for character in text):
        return text
    return f"^({text})" if " " in text else f"^{text}"


def _subscript(text: str, *, last: str, behind: str) -> str:
    if not _EXPONENT.fullmatch(text.replace("n", "?")):
        return f"_{text}" if last.isdigit() else text
    # A lowered digit beside another digit would read as one number with it.
    apart = last.isdigit() or behind[:1].isdigit() or not last.strip()
    return text.translate(_SUBSCRIPT) if apart else text


def formula_text(formula: Element) -> str:
    """Return a MathML formula as people type it, on one line: `a^2`, `x_1`, `(a + b)/2`, `√(x)`."""
    done: dict[int, str] = {}
    waiting: list[tuple[Element, bool]] = [(formula, False)]
    while waiting:
        element, ready = waiting.pop()
        if element.tag in _NOT_WRITTEN:
            done[id(element)] = ""
        elif ready:
            texts = [child if isinstance(child, str) else done[id(child)] for child in element.children]
            done[id(element)] = _typed(element, texts)
        else:
            waiting.append((element, True))
            waiting += [(child, False) for child in element.children if isinstance(child, Element)]
    return " ".join(done[id(formula)].split())


def _typed(element: Element, texts: list[str]) -> str:  # noqa: PLR0911 - one for each layout
    if element.tag in {"mi", "mn", "mo", "mtext", "ms"}:
        text = "".join(texts).strip()
        return f" {text} " if element.tag == "mo" and _SPACED.fullmatch(text) else text
    operands = [text.strip() for text in texts if text.strip()]
    match element.tag, operands:
        case "mfrac", [above, below]:
            return f"{_bracketed(above)}/{_bracketed(below)}"
        case "msup" | "mover", [base, power]:
            return f"{base}^{_bracketed(power)}"
        case "msub" | "munder", [base, index]:
            return f"{base}_{_bracketed(index)}"
        case "msubsup" | "munderover", [base, index, power]:
            return f"{base}_{_bracketed(index)}^{_bracketed(power)}"
        case "msqrt", _:
            return f"√({''.join(texts).strip()})"
        case "mroot", [base, index]:
            return f"{_bracketed(base)}^(1/{index})"
        case "mtr" | "mlabeledtr", _:
            return " ".join(operands) + "; "
        case "mtd", _:
            return "".join(texts)
    return "".join(text for text in texts if text.strip())


def _bracketed(text: str) -> str:
    return text if _SIMPLE.fullmatch(text) else f"({text})"


def holds_notes(element: Element) -> bool:
    """Return whether a block is a note, or holds the notes of the document."""
    if not element.attributes or element.tag in _WHOLE_DOCUMENT:
        return False
    return not element.names.isdisjoint(NOTES) or _NOTE_ID.fullmatch(element.get("id")) is not None


def is_note_link(link: Element, text: str) -> bool:
    """Return whether `text`, the text of a link, marks a note: it is raised, or its name or target is one of notes."""
    too_long = not 0 < link.inside.letters <= _LONGEST_NOTE_MARK
    if too_long or link.inside.blocks or _NOTE_MARK.fullmatch(text) is None:
        return False
    inner = link.visible_children()
    raised = len(inner) == 1 and isinstance(inner[0], Element) and inner[0].tag == "sup" and "#" in link.get("href")
    return raised or not link.names.isdisjoint(_LINK_NAMES) or _NOTE_TARGET.search(link.get("href")) is not None


def is_raised_mark(element: Element, text: str) -> bool:
    """Return whether raised `text` marks a note. A number that does not link to a note may be an exponent."""
    if _NOTE_MARK.fullmatch(text) is None:
        return False
    if text.startswith("[") or not element.names.isdisjoint(_RAISED_NAMES | _LINK_NAMES):
        return True
    links = [inner for inner in preorder(element) if inner.tag == "a"]
    return any("#" in link.get("href") or not link.names.isdisjoint(_LINK_NAMES) for link in links)
