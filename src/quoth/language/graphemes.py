"""Characters as people see them, which may be several code points."""

from __future__ import annotations

import unicodedata

_JOINER = "\N{ZERO WIDTH JOINER}"


def parts_grapheme(text: str, place: int) -> bool:
    """Return whether a cut at `place` would fall inside one character as people see it."""
    if not 0 < place < len(text):
        return False
    before, behind = text[place - 1], text[place]
    if before.isspace():
        return before == "\r" and behind == "\n"
    return (
        _JOINER in (before, behind)
        or unicodedata.category(behind).startswith("M")
        or "\N{EMOJI MODIFIER FITZPATRICK TYPE-1-2}" <= behind <= "\N{EMOJI MODIFIER FITZPATRICK TYPE-6}"
        or "\N{HANGUL JUNGSEONG FILLER}" <= behind <= "\N{HANGUL JONGSEONG SSANGNIEUN}"
        or "\N{TAG SPACE}" <= behind <= "\N{CANCEL TAG}"
        or (_is_flag_half(behind) and _flag_halves_before(text, place) % 2 == 1)
    )


def _is_flag_half(character: str) -> bool:
    return "\N{REGIONAL INDICATOR SYMBOL LETTER A}" <= character <= "\N{REGIONAL INDICATOR SYMBOL LETTER Z}"


def _flag_halves_before(text: str, place: int) -> int:
    first = place
    while first > 0 and _is_flag_half(text[first - 1]):
        first -= 1
    return place - first
