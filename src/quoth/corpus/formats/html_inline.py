"""The words of one block of a page: white space as a browser shows it, raised and lowered signs that keep apart."""

from __future__ import annotations

import re

_COLLAPSIBLE = re.compile(r"[ \t\n\r\f]+")
"""What a browser shows as one space. A no-break space is not among them."""

_UNSEEN = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\u00ad\u200b\u2060\ufeff\ufff9-\ufffb\ud800-\udfff]")
"""Controls, and the marks for where a word may be broken: a browser shows none of them."""

_PLAIN, _RAISED, _LOWERED = "plain", "raised", "lowered"
_SUPERSCRIPT = str.maketrans("0123456789+-−–=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻⁼⁽⁾ⁿ")
_SUBSCRIPT = str.maketrans("0123456789+-−–=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₋₌₍₎")
_EXPONENT = re.compile(r"[0-9+\-−–=()n, ]+")
_DIGITS = re.compile(r"[0-9]+")
_TRADE = {"tm": "™", "sm": "℠", "r": "®", "(r)": "®", "®": "®", "™": "™"}
_ORDINALS = frozenset("st nd rd th er ere ère re e eme ème es ste de ter bis".split())
_DEGREE = re.compile(r"\s?[CF]\b")
"""What follows a raised `o` or `0` that stands for the sign of a degree."""


class Line:
    """Collects the text of a block piece by piece; `take` gives it and begins anew."""

    def __init__(self) -> None:
        self._runs: list[tuple[str, str]] = []
        self._last = "\n"
        """The last character so far; a line end where nothing stands on the line yet."""

    @property
    def begins(self) -> bool:
        """Whether nothing visible stands on the line yet."""
        return self._last == "\n"

    def add(self, text: str) -> None:
        """Running text: white space collapses, also with what stands before."""
        text = _COLLAPSIBLE.sub(" ", _UNSEEN.sub("", text))
        if self._last in {" ", "\n"}:
            text = text.lstrip(" ")
        self._append(_PLAIN, text)

    def keep(self, text: str) -> None:
        """Preformatted text: every space and line end stays."""
        self._append(_PLAIN, _UNSEEN.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).replace("\f", "\n"))

    def end_line(self) -> None:
        self._append(_PLAIN, "\n")

    def space(self) -> None:
        """A gap between what would run together, unless there is one."""
        self.add(" ")

    def raised(self, text: str) -> None:
        self._append(_RAISED, " ".join(_UNSEEN.sub("", text).split()))

    def lowered(self, text: str) -> None:
        self._append(_LOWERED, " ".join(_UNSEEN.sub("", text).split()))

    def take(self) -> str:
        """The text so far, without space at the ends of its lines (the first keeps its indentation)."""
        text = _resolved(self._runs).rstrip()
        if "\n" in text:
            text = "\n".join(line.rstrip(" \t") for line in text.split("\n")).lstrip("\n")
        self._runs, self._last = [], "\n"
        return text

    def _append(self, style: str, text: str) -> None:
        if text:
            self._runs.append((style, text))
            self._last = text[-1]


def paragraphs(text: str) -> list[str]:
    """The parts between blank lines: two line breaks in a row are how many a page sets its paragraphs apart."""
    if "\n" not in text:
        return [text] if text.strip() else []
    parts: list[list[str]] = [[]]
    for line in text.split("\n"):
        if line.strip():
            parts[-1].append(line)
        elif parts[-1]:
            parts.append([])
    return ["\n".join(lines) for lines in parts if lines]


def _resolved(runs: list[tuple[str, str]]) -> str:
    """Plain text in which no raised or lowered sign has joined a number.

    Digits and signs get their own characters (`m²`, `10⁻³`, `Ca²⁺`), lowered digits behind a letter stay as they are
    typed everywhere (`CO2`), ordinals and trade marks lose nothing (`1st`, `™`), a fraction is written with a stroke
    (`2 1/2`), and for what is left a `^` or `_` stands between.
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
    """`1/2`, where it is set as a raised 1, a stroke and a lowered 2."""
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
    # A digit behind would be read together with a lowered one, as would one before.
    apart = last.isdigit() or behind[:1].isdigit() or not last.strip()
    return text.translate(_SUBSCRIPT) if apart else text
