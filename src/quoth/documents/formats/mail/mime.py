"""Parses a message as it is sent: headers with encoded words, and a tree of parts.

What is broken is read as far as possible.
"""

from __future__ import annotations

import binascii
import quopri
import re
from collections.abc import Iterator
from email.message import Message
from email.parser import BytesParser
from email.policy import compat32

from quoth.documents.formats.html.html_document import broken_note
from quoth.documents.formats.mail.mail_text import (
    Attachment,
    Mail,
    below,
    cleaned,
    decoded,
    html_blocks,
    mail_blocks,
    plain_text_blocks,
)
from quoth.documents.text_blocks import Block
from quoth.errors import UnreadableFile

MOST_PARTS = 10_000
"""Parts of one message."""

_SHOWN = ("From", "To", "Cc", "Date")
_ENCODED_WORD = re.compile(r"=\?([\w.:+-]{1,40})(?:\*[\w-]{0,20})?\?([bBqQ])\?([^?\r\n]*)\?=")
_BETWEEN_WORDS = re.compile(r"(?<=\?=)\s+(?==\?)")
_FOLD = re.compile(r"\r?\n[ \t]*|\t")
_BLANKS = re.compile(r"\s+")
_NESTED = "Open it in a mail program and save it again."
_UNNAMED = {"application/pdf": "pdf", "text/html": "html", "text/plain": "txt", "text/markdown": "md"}


def read_message(data: bytes) -> Mail:
    """Return a message; raise `UnreadableFile` when it nests without end."""
    try:
        message = BytesParser(policy=compat32).parsebytes(data.removeprefix(b"\xef\xbb\xbf").lstrip())
        if sum(1 for _ in message.walk()) > MOST_PARTS:
            raise UnreadableFile("", f"it has more than {MOST_PARTS:,} parts", hint=_NESTED)
        return _mail(message)
    except RecursionError as error:
        raise UnreadableFile("", "its parts are nested too deeply", hint=_NESTED) from error


def header_text(message: Message, name: str) -> str:
    """Return the first header of that name on one line, its encoded words decoded; empty where there is none."""
    wanted = name.lower()
    raw = next((value for key, value in message.raw_items() if key.lower() == wanted), "")
    return header_value(str(raw))


def header_value(raw: str) -> str:
    """Return what a header says. Neighbouring words are joined before they are decoded: a character may be cut."""
    unfolded = _BETWEEN_WORDS.sub("", _FOLD.sub(" ", decoded(raw.encode("utf-8", "surrogateescape"), "")))
    texts: list[str] = []
    pending, charset, at = b"", "", 0
    for word in _ENCODED_WORD.finditer(unfolded):
        if pending and (word.start() > at or word[1].lower() != charset):
            texts.append(decoded(pending, charset))
            pending = b""
        texts.append(unfolded[at : word.start()])
        pending += _word_bytes(word[3], word[2].lower())
        charset, at = word[1].lower(), word.end()
    if pending:
        texts.append(decoded(pending, charset))
    return _BLANKS.sub(" ", cleaned("".join([*texts, unfolded[at:]]))).strip()


def _word_bytes(content: str, coding: str) -> bytes:
    raw = content.encode("utf-8", "replace")
    if coding == "q":
        return quopri.decodestring(raw, header=True)
    try:
        return binascii.a2b_base64(raw + b"=" * (-len(raw) % 4))
    except binascii.Error:
        return raw


def _mail(message: Message) -> Mail:
    reading = _Reading()
    reading.part(message)
    notes = list(dict.fromkeys(reading.notes))
    if reading.broken:
        notes.append(broken_note(reading.broken))
    return Mail(
        subject=header_text(message, "Subject"),
        headers=tuple((name, header_text(message, name)) for name in _SHOWN),
        blocks=tuple(reading.blocks),
        attachments=tuple(reading.attachments),
        notes=tuple(notes),
    )


class _Reading:
    """Collects the text and the attachments of a message while its parts are read in order."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.attachments: list[Attachment] = []
        self.notes: list[str] = []
        self.broken = 0

    def part(self, part: Message) -> None:
        kind = part.get_content_type()
        inner = [one for one in _payload(part) if isinstance(one, Message)]
        if kind == "message/rfc822" and inner:
            self._forwarded(inner[0])
        elif kind == "multipart/alternative":
            self._alternative(inner)
        elif kind == "multipart/related":
            self._related(inner)
        elif kind == "multipart/encrypted" or kind.endswith("pkcs7-mime"):
            self.notes.append("a part of it is encrypted and was not read")
        elif kind == "message/delivery-status":
            self._text("\n\n".join("\n".join(f"{name}: {value}" for name, value in one.items()) for one in inner))
        elif part.is_multipart():
            for one in inner:
                self.part(one)
        elif _is_attached(part):
            self._attach(part)
        elif kind == "text/html":
            self._page(part)
        elif kind.startswith("text/"):
            self._plain(part)
        else:
            self._attach(part)

    def _alternative(self, choices: list[Message]) -> None:
        """Read the plain text, else the page; the others say the same. What is attached to one of them counts."""
        chosen = next((one for one in choices if _is_plain_text(one)), None)
        pages = [one for one in choices if one.get_content_type() == "text/html" or one.is_multipart()]
        chosen = chosen or (pages[-1] if pages else None)
        for one in choices:
            if one is chosen or (chosen is None and one is choices[0]):
                self.part(one)
            elif one.get_content_type() not in {"text/html", "text/plain"}:
                for leaf in _leaves(one):
                    if _is_attached(leaf):
                        self._attach(leaf)

    def _related(self, inner: list[Message]) -> None:
        """Read the root, which is the first part; the others are its pictures."""
        for at, one in enumerate(inner):
            if at == 0 or one.get_content_disposition() == "attachment":
                self.part(one)

    def _forwarded(self, message: Message) -> None:
        mail = _mail(message)
        self.blocks += below(mail_blocks(mail))
        self.attachments += mail.attachments
        self.notes += mail.notes

    def _plain(self, part: Message) -> None:
        flowed = str(part.get_param("format", "")).lower() == "flowed"
        deleted = str(part.get_param("delsp", "")).lower() == "yes"
        self._text(decoded(_content(part), _charset(part)), flowed=flowed, joined_by_space=not deleted)

    def _text(self, text: str, *, flowed: bool = False, joined_by_space: bool = True) -> None:
        self.broken += text.count("\ufffd")
        self.blocks += plain_text_blocks(text, flowed=flowed, joined_by_space=joined_by_space)

    def _page(self, part: Message) -> None:
        content = _content(part)
        text = decoded(content, _charset(part) or "utf-8")
        try:
            page = html_blocks(text)
        except UnreadableFile as error:
            self.notes.append(f"its page was left out: {str(error).removeprefix(': ')}")
            return
        self.broken += text.count("\ufffd")
        self.blocks += page.blocks

    def _attach(self, part: Message) -> None:
        name = _file_name(part)
        if not name and (ending := _UNNAMED.get(part.get_content_type())):
            name = f"attachment-{len(self.attachments) + 1}.{ending}"
        if name:
            self.attachments.append(Attachment(name, _content(part)))


def _payload(part: Message) -> list[object]:
    payload = part.get_payload()
    return list(payload) if isinstance(payload, list) else []


def _leaves(part: Message) -> Iterator[Message]:
    return (one for one in part.walk() if not one.is_multipart())


def _is_plain_text(part: Message) -> bool:
    return part.get_content_type() == "text/plain" and not _is_attached(part) and bool(_content(part).strip())


def _is_attached(part: Message) -> bool:
    """Return whether a part is a file beside the text. Many programs give the text itself no disposition at all."""
    if part.get_content_disposition() == "attachment":
        return True
    named = bool(_file_name(part))
    return named and not (part.get_content_disposition() == "inline" and part.get_content_type() == "text/plain")


def _file_name(part: Message) -> str:
    """Return the name of an attachment without folders, as one that can stand in an id; empty where there is none."""
    try:
        given = part.get_filename() or ""
    except (LookupError, ValueError, TypeError, IndexError):
        return ""
    name = re.split(r"[/\\]", header_value(given.encode("utf-8", "surrogateescape").decode("utf-8", "replace")))[-1]
    return name.strip(". ")


def _charset(part: Message) -> str:
    try:
        return part.get_content_charset("") or ""
    except (LookupError, ValueError, TypeError):
        return ""


def _content(part: Message) -> bytes:
    """Return the decoded bytes of a part; what its transfer encoding hides is given as it stands."""
    try:
        content = part.get_payload(decode=True)
    except (ValueError, LookupError, binascii.Error, AssertionError):
        content = part.get_payload()
    if isinstance(content, str):
        return content.encode("utf-8", "surrogateescape")
    return content if isinstance(content, bytes) else b""
