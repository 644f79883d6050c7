"""In which encoding a text file is written."""

from __future__ import annotations

import codecs
import re

from quoth.errors import UnreadableFile

# The four-byte marks come first: one of them begins with a two-byte one.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_DETECTION_SAMPLE = 1 << 20
# What Western text never holds: several accented letters in a row, or a sign inside a word. Other encodings do.
_NOT_WESTERN = re.compile(r"(?=[^\x00-\x7f]{4})\W{0,3}[^\W\d_a-zA-Z]|[^\W\d_][¡-©«-¯±-³¶¸¹»-¿][^\W\d_]")


def encoding_of(data: bytes, *, label: str) -> str:
    """By its byte order mark; else UTF-8 when it is; else as its text suggests, or refused when nothing fits."""
    for mark, name in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return name
    if b"\x00" in data:
        raise UnreadableFile(label, "it holds NUL bytes", hint="It is not a text file, or it is damaged.")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        if mostly_utf8(data):
            why = f"it is UTF-8 with a broken character at byte {error.start}"
            raise UnreadableFile(label, why, hint="Save the file as UTF-8 again.") from error
        return "cp1252" if looks_western(data) else detected(data, label, near=error.start)
    return "utf-8"


def mostly_utf8(data: bytes) -> bool:
    """Whether more characters beyond ASCII are whole than broken: other encodings hardly ever look so."""
    broken = data.decode("utf-8", "replace").count("\ufffd") - data.count("\ufffd".encode())
    whole = sum(1 for character in data.decode("utf-8", "ignore") if not character.isascii())
    return whole > broken


def looks_western(data: bytes) -> bool:
    """Whether it reads well as Windows' Western encoding, of which Latin-1 is a part: guessers mistake short texts."""
    try:
        return _NOT_WESTERN.search(data.decode("cp1252")) is None
    except UnicodeDecodeError:
        return False


def detected(data: bytes, label: str, *, near: int) -> str:
    """The encoding that fits the text around the byte `near`, which is no UTF-8; `UnreadableFile` when none does."""
    import charset_normalizer  # only an odd file needs it

    start = max(0, near - _DETECTION_SAMPLE // 2)
    sample = data[start : start + _DETECTION_SAMPLE]
    best = charset_normalizer.from_bytes(sample, cp_exclusion=["cp1252", "latin_1"]).best()
    if best is None:
        raise UnreadableFile(label, "its encoding is not known", hint="Save the file as UTF-8.")
    return best.encoding
