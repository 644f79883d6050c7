"""Characters of symbol fonts: Word stores where they stand in the font, not what they mean."""

from __future__ import annotations

import sys
from itertools import count

UNKNOWN = "\ufffd"
"""A sign whose meaning is not known; that there is one must stay visible."""

_FONT_AREA = range(0xF000, 0xF100)
"""Where Word puts the 256 places of a symbol font."""

_SURROGATES = range(0xD800, 0xE000)
"""Halves of characters, which no text holds by themselves."""

_SYMBOL = dict(
    zip(
        count(0x20),
        " !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼",
        strict=False,
    )
) | dict(
    zip(
        count(0xA0),
        "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪",
        strict=False,
    )
)
_SYMBOL |= dict(zip(count(0xF1), "〉∫⌠⎮⌡⎞⎟⎠⎤⎥⎦⎫⎬⎭", strict=False))

_WINGDINGS = {
    **{0x20: " ", 0x6C: "●", 0x6D: "❍", 0x6E: "■", 0x6F: "□", 0x71: "❑", 0x72: "❒", 0x75: "◆", 0x76: "❖", 0x77: "◆"},
    **{0x9E: "•", 0x9F: "•", 0xA1: "○", 0xA7: "▪", 0xA8: "☐", 0xD8: "➢", 0xFB: "✗", 0xFC: "✓", 0xFD: "☒", 0xFE: "☑"},
    **{0xDF: "←", 0xE0: "→", 0xE1: "↑", 0xE2: "↓", 0xE8: "➔", 0xF0: "⇨", 0x36: "⌛", 0x28: "☎", 0x2A: "✉", 0x4A: "☺"},
}

_SUPERSCRIPT = str.maketrans("0123456789+-−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")
_SUBSCRIPT = str.maketrans("0123456789+-−", "₀₁₂₃₄₅₆₇₈₉₊₋₋")


def symbol(place: int, *, font: str) -> str:
    """The character at a place of a symbol font; `UNKNOWN` for one that no other font has."""
    if place in _FONT_AREA:
        place -= _FONT_AREA.start
    elif place > 0xFF:
        return chr(place) if place <= sys.maxunicode and place not in _SURROGATES else UNKNOWN
    table = _WINGDINGS if font.lower().startswith(("wingdings", "webdings")) else _SYMBOL
    if font.lower() in {"wingdings 2", "wingdings 3", "webdings"} and place != 0x20:
        return UNKNOWN
    return table.get(place, UNKNOWN)


def plain(text: str, *, font: str) -> str:
    """`text` with the characters of symbol fonts as everyone writes them: `m` set in Symbol is `μ`, not `m`."""
    if font.lower() == "symbol":
        return "".join(symbol(ord(c), font=font) if ord(c) < 0x100 or ord(c) in _FONT_AREA else c for c in text)
    if text.isascii():
        return text
    return "".join(symbol(ord(c), font=font) if ord(c) in _FONT_AREA else c for c in text)


def raised(text: str) -> str:
    """Digits and signs of an exponent: 10 and a raised 5 side by side must not read 105."""
    return text.translate(_SUPERSCRIPT)


def lowered(text: str, *, after: str) -> str:
    """Digits of an index; after a letter they stay as they are usually typed (`CO2`), after a digit they may not."""
    return text.translate(_SUBSCRIPT) if after.isdigit() else text
