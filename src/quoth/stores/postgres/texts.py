"""Text as PostgreSQL can hold it: everything but the NUL character, for which an escape stands."""

from __future__ import annotations

# A noncharacter, which no real text holds; where one does all the same, it is doubled.
_ESCAPE = "\ufdd0"
_NUL = _ESCAPE + "0"


def storable(text: str) -> str:
    """`text` without NUL; `original` undoes it."""
    if _ESCAPE in text:
        text = text.replace(_ESCAPE, _ESCAPE * 2)
    return text.replace("\0", _NUL)


def original(stored: str) -> str:
    """What `storable` was given."""
    if _ESCAPE not in stored:
        return stored
    return _ESCAPE.join(part.replace(_NUL, "\0") for part in stored.split(_ESCAPE * 2))


def comparable(text: str) -> str:
    """`text` to look for: a lone surrogate, which is in no stored text, becomes `?`."""
    return storable(text.encode("utf-8", "replace").decode("utf-8"))
