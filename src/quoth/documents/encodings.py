"""Decode text files: find the encoding, and keep every character, line end and byte order mark as it is."""

from __future__ import annotations

import codecs
import hashlib
import re

from quoth.errors import UnreadableFile

# The four-byte marks come first: one of them begins with a two-byte one.
BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_DETECTION_SAMPLE = 1 << 20
# What Western text never holds, but other encodings read as cp1252 do: several accented letters in a row, or a sign
# inside a word.
_NOT_WESTERN = re.compile(r"(?=[^\x00-\x7f]{4})\W{0,3}[^\W\d_a-zA-Z]|[^\W\d_][¡-©«-¯±-³¶¸¹»-¿][^\W\d_]")


def text_sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def decode(data: bytes, *, label: str) -> tuple[str, str]:
    """Return the text of a file and its encoding. Raise `UnreadableFile` when it is not text."""
    encoding = encoding_of(data, label=label)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise UnreadableFile(label, f"it is not {encoding}: {error.reason}", hint="Save the file as UTF-8.") from error
    if "\x00" in text:
        raise UnreadableFile(label, "it holds NUL characters", hint="It is not a text file, or it is damaged.")
    return text, encoding


def encoding_of(data: bytes, *, label: str) -> str:
    """Return the encoding that a byte order mark names, else UTF-8 if it decodes, else the one that fits the text best.

    Raise `UnreadableFile` when none fits.
    """
    for mark, name in BYTE_ORDER_MARKS:
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
    """Return whether more non-ASCII characters are whole than broken, which other encodings hardly ever show."""
    broken = data.decode("utf-8", "replace").count("\ufffd") - data.count("\ufffd".encode())
    whole = sum(1 for character in data.decode("utf-8", "ignore") if not character.isascii())
    return whole > broken


def looks_western(data: bytes) -> bool:
    """Return whether the data reads well as cp1252, which includes Latin-1: detectors misjudge short Western texts."""
    try:
        return _NOT_WESTERN.search(data.decode("cp1252")) is None
    except UnicodeDecodeError:
        return False


def detected(data: bytes, label: str, *, near: int) -> str:
    """Return the encoding that fits the text around the byte `near`. Raise `UnreadableFile` when none does."""
    import charset_normalizer  # only an odd file needs it

    start = max(0, near - _DETECTION_SAMPLE // 2)
    sample = data[start : start + _DETECTION_SAMPLE]
    best = charset_normalizer.from_bytes(sample, cp_exclusion=["cp1252", "latin_1"]).best()
    if best is None:
        raise UnreadableFile(label, "its encoding is not known", hint="Save the file as UTF-8.")
    return best.encoding
