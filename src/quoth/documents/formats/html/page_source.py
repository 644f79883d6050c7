"""Decodes the bytes of a web page, and refuses pages that would keep the parser busy for minutes."""

from __future__ import annotations

import codecs
import re

from quoth.documents.encodings import BYTE_ORDER_MARKS, detected, looks_western, mostly_utf8
from quoth.errors import UnreadableFile

MOST_BYTES = 64 << 20
"""A page larger than this is an archive or an attack."""
DEEPEST = 5_000
"""Blocks open at once. Nesting costs the parser quadratic time, and no page that people read comes near this."""
MOST_COPIES = 2_000_000
"""How often the parser may have to open `<b>` and the like again because they were never closed."""
MOST_ATTRIBUTES = 2_000
"""Attributes of one tag. The parser compares each with all before it."""

_DECLARATION_WINDOW = 4_096
_DECLARED = re.compile(
    rb"""<meta\s[^>]{0,400}?charset\s*=\s*["']?\s*([\w.:-]{2,30})
    | ^\s*<\?xml\s[^>]{0,200}?encoding\s*=\s*["']([\w.:-]{2,30})""",
    re.IGNORECASE | re.VERBOSE,
)
_KNOWN = re.compile(
    r"utf-?8|(?:windows|cp)-?\d{3,4}|iso-?8859-\d{1,2}|koi8-[ru]|euc-(?:jp|kr)|iso-2022-jp|tis-620|mac(?:intosh|-?roman)|latin-?\d"
)
"""The names of encodings that browsers know; others (UTF-7, Python's escapes) could hide markup."""
# Browsers read these names as the larger encodings that programs write under them.
_WIDER = {
    **dict.fromkeys(("iso-8859-1", "iso8859-1", "latin1", "latin-1", "us-ascii", "ascii"), "cp1252"),
    **dict.fromkeys(("gb2312", "gbk", "gb18030"), "gb18030"),
    **dict.fromkeys(("shift_jis", "shift-jis", "x-sjis", "sjis"), "cp932"),
    **dict.fromkeys(("euc-kr", "ks_c_5601-1987"), "cp949"),
    **dict.fromkeys(("big5", "big5-hkscs"), "big5hkscs"),
    **{"iso-8859-9": "cp1254", "macintosh": "mac_roman"},
}
_OTHER_FILES = (b"%PDF", b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"\x1f\x8b", b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"Rar!")
ONE_BYTE = ("utf-8", "cp125", "iso8859", "koi8", "mac", "tis")
"""How the names of UTF-8 itself and of the encodings with one byte per character begin."""
_FEW_BROKEN = 0.01
_SAVE_AGAIN = "Save it again from a browser, or ingest the text that it was made from."

_SELF_CLOSED = re.compile(r"<([A-Za-z][\w:.-]*)((?:\s[^<>]*)?)/>")
_VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())
_CDATA, _CDATA_END = "<![CDATA[", "]]>"
_TAG = re.compile(
    r"""<(?: (?P<close>/)? (?:
        (?P<block>div|[uod]l|section|article|main|aside|header|footer|nav|blockquote|center|fieldset|figure|details|
                  address|menu|table|form|pre|dir|dialog|summary|hgroup|search)
      | (?P<format>a|b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u)
      | (?P<paragraph>p|li|dt|dd|td|th|h[1-6])
    ) (?=[\s/>]) [^<>]* >)""",
    re.IGNORECASE | re.VERBOSE,
)
_LONG_TAG = re.compile(rf"<[A-Za-z][^<>]{{{2 * MOST_ATTRIBUTES},}}")
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
_ATTRIBUTE_END = re.compile(r"[\s/=]+")


def decode_page(data: bytes) -> tuple[str, int]:
    """Return the text of a page, and how many of its characters could not be decoded; each is U+FFFD in the text.

    The encoding is told by a byte-order mark, by being UTF-8, by a declaration, else by the characters.
    """
    if len(data) > MOST_BYTES:
        why = f"the page has more than {MOST_BYTES >> 20} MiB"
        raise UnreadableFile("", why, hint="Split it, or ingest the text that it was made from.")
    if data.startswith(_OTHER_FILES):
        raise UnreadableFile("", "it is not a web page but another kind of file", hint="Give it its true ending.")
    text, broken = _decoded(data)
    text = text.replace("\x00", "")
    text = _as_html(text) if text.lstrip().startswith("<?xml") else text
    _refuse_nesting(text)
    _refuse_attributes(text)
    return text, broken


def _decoded(data: bytes) -> tuple[str, int]:
    for mark, name in ((codecs.BOM_UTF8, "utf-8-sig"), *BYTE_ORDER_MARKS):
        if data.startswith(mark):
            return _decoded_as(data, name)
    if (wide := _unmarked_utf16(data)) is not None:
        return _decoded_as(data, wide)
    declared = _declared(data)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    else:
        # Bytes that form whole UTF-8 characters are UTF-8, whatever the page declares: many pages were converted and
        # still declare the old encoding. Only encodings with several bytes per character can look like UTF-8 by chance.
        if declared is None or declared.startswith(ONE_BYTE):
            return text, 0
    for encoding in (declared, "utf-8" if mostly_utf8(data) else None):
        if encoding is not None:
            text, broken = _decoded_as(data, encoding)
            if broken <= len(data) * _FEW_BROKEN:
                return text, broken
    return _decoded_as(data, "cp1252" if looks_western(data) else detected(data, "", near=0))


def _decoded_as(data: bytes, encoding: str) -> tuple[str, int]:
    text = data.decode(encoding, "replace")
    own = data.count("\ufffd".encode()) if encoding == "utf-8" else 0
    return text, max(0, text.count("\ufffd") - own)


def _declared(data: bytes) -> str | None:
    found = _DECLARED.search(data[:_DECLARATION_WINDOW])
    if found is None:
        return None
    name = (found[1] or found[2]).decode("ascii", "ignore").lower()
    if name.startswith(("utf-16", "utf-32", "ucs-")):
        return "utf-8"  # the declaration could be read as ASCII, so the page is not in it
    return declared_encoding(name)


def declared_encoding(name: str) -> str | None:
    """Return the encoding that a name in lower case stands for in pages and messages, None for an unknown one."""
    if name in _WIDER:
        return _WIDER[name]
    try:
        return codecs.lookup(name).name if _KNOWN.fullmatch(name) else None
    except LookupError:
        return None


def _unmarked_utf16(data: bytes) -> str | None:
    """Return the byte order of UTF-16 without a mark, in which every other byte of Western text is NUL; else None."""
    sample = data[:_DECLARATION_WINDOW]
    half = len(sample) // 2
    if half < 8:
        return None
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    if odd > half * 0.7 and even < half * 0.1:
        return "utf-16-le"
    return "utf-16-be" if even > half * 0.7 and odd < half * 0.1 else None


def _as_html(text: str) -> str:
    """Rewrite XML as HTML: expand self-closed elements, which HTML takes for open, and escape raw text."""
    begin, *sections = text.split(_CDATA)
    texts = [begin]
    for section in sections:
        raw, end, rest = section.partition(_CDATA_END)
        texts += [raw.replace("&", "&amp;").replace("<", "&lt;"), rest] if end else [section]
    text = "".join(texts)
    return _SELF_CLOSED.sub(lambda tag: tag[0] if tag[1].lower() in _VOID else f"<{tag[1]}{tag[2]}></{tag[1]}>", text)


def _refuse_nesting(text: str) -> None:
    """Raise `UnreadableFile` for nesting that would keep the parser busy for minutes; a rough count is enough."""
    depth = copies = 0
    unclosed: list[str] = []
    for tag in _TAG.finditer(text):
        if (name := tag["format"]) is not None:
            _count_format(unclosed, tag[0] if tag["close"] is None else None, name.lower())
        elif tag["close"] is None:
            copies += len(unclosed)
            depth += tag["block"] is not None
        elif tag["block"] is not None:
            depth = max(0, depth - 1)
        if depth > DEEPEST or copies > MOST_COPIES:
            why = f"its elements are nested more than {DEEPEST:,} deep, or left open too often"
            raise UnreadableFile("", why, hint=_SAVE_AGAIN)


def _refuse_attributes(text: str) -> None:
    """Raise `UnreadableFile` for a tag with very many attributes; text in quotes is a value, however long."""
    for tag in _LONG_TAG.finditer(text):
        if sum(1 for _ in _ATTRIBUTE_END.finditer(_QUOTED.sub("", tag[0]))) > 2 * MOST_ATTRIBUTES:
            raise UnreadableFile("", f"an element has more than {MOST_ATTRIBUTES:,} attributes", hint=_SAVE_AGAIN)


def _count_format(unclosed: list[str], opening: str | None, name: str) -> None:
    """Track the tags that the parser would open again in each block: at most three equal ones."""
    if opening is not None:
        if unclosed[-64:].count(opening) < 3:
            unclosed.append(opening)
    else:
        for at in range(len(unclosed) - 1, max(-1, len(unclosed) - 65), -1):
            if unclosed[at][1 : 1 + len(name)].lower() == name:
                del unclosed[at]
                break
