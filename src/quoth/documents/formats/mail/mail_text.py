"""A message as blocks: its subject is the heading, who wrote to whom and when comes next, then the text.

Quoted replies lose their `>` and become quotes. A signature stays: people ask for phone numbers and addresses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from quoth.documents.encodings import detected, looks_western
from quoth.documents.formats.html.html_document import WebPage, read_page
from quoth.documents.formats.html.page_source import ONE_BYTE, declared_encoding
from quoth.documents.formats.text.plain_text import plain_blocks
from quoth.documents.text_blocks import Block
from quoth.errors import UnreadableFile
from quoth.types import RegionKind

NO_SUBJECT = "(no subject)"

_LINE_END = re.compile(r"\r\n?|\n")
_QUOTED = re.compile(r"(?:>[ \t]?)+")
_FLOWED_QUOTE = re.compile(r">+")
_SIGNATURE = "-- "
_ARMOUR = re.compile(
    r"^-----BEGIN PGP SIGNATURE-----$.*?(?:^-----END PGP SIGNATURE-----$|\Z)"
    r"|^-----BEGIN PGP SIGNED MESSAGE-----\n(?:Hash:[^\n]*\n)*",
    re.M | re.S,
)
_PATCH = re.compile(r"^(?:diff --git |Index: \S+$|--- [^\n]+\n\+\+\+ )", re.M)
_PATCH_END = re.compile(r"^-- ?$", re.M)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_SPOKEN = frozenset({RegionKind.PARAGRAPH, RegionKind.LIST_ITEM, RegionKind.HEADING})


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file in a message. `name` has no folders."""

    name: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Mail:
    """A message. `headers` are the lines that are shown: who wrote to whom, and when."""

    subject: str
    headers: tuple[tuple[str, str], ...]
    blocks: tuple[Block, ...]
    """The text; the highest heading in it has level 1."""
    attachments: tuple[Attachment, ...]
    notes: tuple[str, ...]


def mail_blocks(mail: Mail) -> list[Block]:
    """Return the blocks of a message, headed by its subject."""
    return [
        Block(RegionKind.HEADING, mail.subject or NO_SUBJECT, 1, opens=False),
        *(Block(RegionKind.PARAGRAPH, f"{name}: {value}", 0, opens=False) for name, value in mail.headers if value),
        *below(mail.blocks),
    ]


def below(blocks: Sequence[Block]) -> list[Block]:
    """Return the blocks with each heading one level lower."""
    return [replace(block, level=block.level + 1) if block.kind is RegionKind.HEADING else block for block in blocks]


def decoded(data: bytes, charset: str) -> str:
    """Return a text in the encoding that the message names, if it fits, else in the one that does.

    A character that is broken becomes U+FFFD; one that no text holds is left out.
    """
    encoding = _named_encoding(charset)
    # Bytes that form whole UTF-8 characters are UTF-8, whatever one-byte encoding the message names.
    for candidate in (encoding, "utf-8") if encoding and not encoding.startswith(ONE_BYTE) else ("utf-8", encoding):
        try:
            return cleaned(data.decode(candidate or "utf-8"))
        except UnicodeDecodeError:
            continue
    if encoding is None:
        encoding = "cp1252" if looks_western(data) else _detected(data)
    return cleaned(data.decode(encoding, "replace"))


def _named_encoding(charset: str) -> str | None:
    name = charset.strip().lower()
    return name if name in {"utf-16", "utf-16le", "utf-16be", "utf-32"} else declared_encoding(name)


def _detected(data: bytes) -> str:
    try:
        return detected(data, "", near=0)
    except UnreadableFile:
        return "cp1252"


def cleaned(text: str) -> str:
    """Return the text without control characters and halves of surrogate pairs."""
    return _CONTROL.sub("", text.removeprefix("\ufeff")).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def html_blocks(text: str) -> WebPage:
    return read_page(b"\xef\xbb\xbf" + text.encode())


def plain_text_blocks(text: str, *, flowed: bool = False, joined_by_space: bool = True) -> list[Block]:
    """Return the blocks of a plain text: paragraphs and lists, and quotes where lines begin with `>`.

    `flowed` lines that end in a space go on in the next line; `joined_by_space` says whether that space is text.
    """
    text = _ARMOUR.sub("", "\n".join(_LINE_END.split(text)))
    lines = _flowed_lines(text, joined_by_space=joined_by_space) if flowed else _quoted_lines(text)
    return [
        block
        for depth, group in groupby(lines, key=lambda line: line[0])
        for block in _spoken("\n".join(line for _, line in group), quoted=depth > 0)
    ]


def _quoted_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield each line without its `>` signs, and their number."""
    for line in text.split("\n"):
        mark = _QUOTED.match(line)
        yield (mark[0].count(">"), line[mark.end() :]) if mark else (0, line)


def _flowed_lines(text: str, *, joined_by_space: bool) -> Iterator[tuple[int, str]]:
    depth, begun = 0, ""
    for line in text.split("\n"):
        mark = _FLOWED_QUOTE.match(line)
        this, content = (len(mark[0]), line[mark.end() :]) if mark else (0, line)
        content = content.removeprefix(" ")
        if begun and this != depth:
            yield depth, begun
            begun = ""
        depth = this
        if content.endswith(" ") and content != _SIGNATURE:
            begun += content if joined_by_space else content[:-1]
        else:
            yield depth, begun + content
            begun = ""
    if begun:
        yield depth, begun


def _spoken(text: str, *, quoted: bool) -> Iterator[Block]:
    """Yield the blocks of lines that are quoted, or not, as a whole. A patch among them is code."""
    patch = _PATCH.search(text)
    if patch is None:
        yield from _plain(text, quoted=quoted)
        return
    end = _PATCH_END.search(text, patch.end())
    stop = end.start() if end else len(text)
    yield from _plain(text[: patch.start()], quoted=quoted)
    yield Block(RegionKind.CODE, text[patch.start() : stop].rstrip(), 0, opens=False)
    yield from _plain(text[stop:], quoted=quoted)


def _plain(text: str, *, quoted: bool) -> Iterator[Block]:
    before: RegionKind | None = None
    for region in plain_blocks(text):
        kind = RegionKind.QUOTE if quoted and region.kind in _SPOKEN else region.kind
        level = len(region.section) if kind is RegionKind.HEADING else int(kind is RegionKind.LIST_ITEM)
        opens = kind is RegionKind.LIST_ITEM and before is not RegionKind.LIST_ITEM
        yield Block(kind, text[region.span.start : region.span.end], max(1, level) if level else 0, opens)
        before = kind
