"""A message as Outlook saves it: an OLE file with a stream for each property."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from typing import Any

from quoth.documents.formats.mail.eml import VERSION as MESSAGE_VERSION
from quoth.documents.formats.mail.eml import mail_extract
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
from quoth.documents.formats.mail.mime import header_value
from quoth.documents.text_blocks import Block
from quoth.errors import MissingExtra, UnreadableFile
from quoth.types import Extract

VERSION = f"outlook / {MESSAGE_VERSION} / 1"
MOST_STREAM_BYTES = 256 << 20
"""One property or attachment."""
MOST_ATTACHMENTS = 2_000
DEEPEST = 20
"""Messages attached to each other."""

_DAMAGED = "Open it in Outlook and save it again, as .msg or .eml."
_TEXT, _ANSI, _BINARY, _STORAGE = "001F", "001E", "0102", "000D"
_SUBJECT, _BODY, _HTML, _RTF = "0037", "1000", "1013", "1009"
_SENDER, _ADDRESS, _SMTP = "0C1A", "0C1F", "5D01"
_TO, _CC = "0E04", "0E03"
_SENT, _RECEIVED, _CODE_PAGE, _BODY_CODE_PAGE = 0x0039, 0x0E06, 0x3FFD, 0x3FDE
_LONG_NAME, _SHORT_NAME, _DATA = "3707", "3704", "3701"
_PROPERTIES = "__properties_version1.0"
_ATTACHED = "__attach_version1.0_#"
_WINDOWS_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)


def extract(data: bytes) -> Extract:
    """Return the text of a message; raise `UnreadableFile` when the file is none."""
    return mail_extract(read_msg(data))


def read_msg(data: bytes) -> Mail:
    """Return a message of Outlook. Raise `MissingExtra` without the library that opens OLE files."""
    if find_spec("olefile") is None:
        raise MissingExtra("reading .msg files", "msg")
    import olefile

    try:
        with olefile.OleFileIO(io.BytesIO(data)) as ole:
            storage = _Storage(ole, [])
            if storage.properties() == b"":
                raise UnreadableFile("", "it is no message of Outlook", hint="Give it its true ending.")
            return _mail(storage, depth=1)
    except (OSError, ValueError, IndexError, KeyError, struct.error, AttributeError, TypeError) as error:
        why = f"it cannot be opened: {' '.join(str(error).split())[:120]}"
        raise UnreadableFile("", why, hint=_DAMAGED) from error


class _Storage:
    """A folder of the OLE file that holds a message or an attachment."""

    def __init__(self, ole: Any, path: list[str]) -> None:  # noqa: ANN401 - olefile has no types
        self._ole = ole
        self._path = path

    def stream(self, name: str) -> bytes:
        """Return a stream; empty where there is none. One that claims to be huge is refused."""
        path = [*self._path, name]
        if not self._ole.exists(path) or self._ole.get_type(path) != 2:
            return b""
        if self._ole.get_size(path) > MOST_STREAM_BYTES:
            raise UnreadableFile("", f"its part {name} is too large", hint=_DAMAGED)
        with self._ole.openstream(path) as opened:
            read: bytes = opened.read(MOST_STREAM_BYTES)
        return read

    def properties(self) -> bytes:
        return self.stream(_PROPERTIES)

    def text(self, tag: str) -> str:
        """Return a property as text on one line or many; empty where there is none."""
        if wide := self.stream(f"__substg1.0_{tag}{_TEXT}"):
            return cleaned(wide.decode("utf-16-le", "replace"))
        return decoded(self.stream(f"__substg1.0_{tag}{_ANSI}"), self._code_page(_CODE_PAGE))

    def binary(self, tag: str) -> bytes:
        return self.stream(f"__substg1.0_{tag}{_BINARY}")

    def html(self) -> str:
        wide = self.stream(f"__substg1.0_{_HTML}{_TEXT}")
        narrow = self.binary(_HTML) or self.stream(f"__substg1.0_{_HTML}{_ANSI}")
        return (
            cleaned(wide.decode("utf-16-le", "replace")) if wide else decoded(narrow, self._code_page(_BODY_CODE_PAGE))
        )

    def date(self) -> str:
        """Return the day and time of sending in UTC; empty where none is given."""
        for tag in (_SENT, _RECEIVED):
            if ticks := int.from_bytes(self._fixed(tag), "little"):
                try:
                    moment = _WINDOWS_EPOCH + timedelta(microseconds=ticks // 10)
                except OverflowError:
                    continue
                return moment.strftime("%Y-%m-%d %H:%M:%S UTC")
        return ""

    def embedded(self) -> _Storage | None:
        """Return the message that an attachment holds, None when it holds a file."""
        path = [*self._path, f"__substg1.0_{_DATA}{_STORAGE}"]
        return _Storage(self._ole, path) if self._ole.exists(path) else None

    def attachments(self) -> Iterator[_Storage]:
        depth = len(self._path)
        names = sorted(
            {
                path[depth]
                for path in self._ole.listdir(streams=True, storages=True)
                if path[:depth] == self._path and len(path) > depth and path[depth].startswith(_ATTACHED)
            }
        )
        for name in names[:MOST_ATTACHMENTS]:
            yield _Storage(self._ole, [*self._path, name])

    def _code_page(self, tag: int) -> str:
        page = int.from_bytes(self._fixed(tag)[:4], "little")
        return {0: "", 65001: "utf-8", 20127: "", 28591: "iso-8859-1"}.get(page, f"cp{page}")

    def _fixed(self, tag: int) -> bytes:
        """Return the eight bytes of a property of fixed size; empty where there is none."""
        stream = self.properties()
        # The header of the list is 32 bytes long in a message, 24 in a message inside another, 8 in an attachment.
        for start in (32, 24, 8):
            for at in range(start, len(stream) - 15, 16):
                if int.from_bytes(stream[at + 2 : at + 4], "little") == tag:
                    return stream[at + 8 : at + 16]
        return b""


def _mail(storage: _Storage, *, depth: int) -> Mail:
    name, address = storage.text(_SENDER), storage.text(_SMTP) or storage.text(_ADDRESS)
    sender = f"{name} <{address}>" if name and "@" in address and address != name else name or address
    blocks, notes = _body(storage)
    mail = Mail(
        subject=header_value(storage.text(_SUBJECT)),
        headers=(
            ("From", " ".join(sender.split())),
            ("To", " ".join(storage.text(_TO).split())),
            ("Cc", " ".join(storage.text(_CC).split())),
            ("Date", storage.date()),
        ),
        blocks=tuple(blocks),
        attachments=(),
        notes=tuple(notes),
    )
    return _with_attachments(mail, storage, depth=depth)


def _body(storage: _Storage) -> tuple[list[Block], list[str]]:
    if (text := storage.text(_BODY)).strip():
        return plain_text_blocks(text), []
    if (html := storage.html()).strip():
        try:
            return list(html_blocks(html).blocks), []
        except UnreadableFile as error:
            return [], [f"its page was left out: {str(error).removeprefix(': ')}"]
    if storage.binary(_RTF):
        return [], ["its text is there as RTF only and was not read: save it as .eml"]
    return [], []


def _with_attachments(mail: Mail, storage: _Storage, *, depth: int) -> Mail:
    """Return the message with its files; a message attached to it becomes a section of its text."""
    files: list[Attachment] = []
    blocks, notes = list(mail.blocks), list(mail.notes)
    for attached in storage.attachments():
        inner = attached.embedded()
        if inner is None:
            name = attached.text(_LONG_NAME) or attached.text(_SHORT_NAME)
            if name := " ".join(name.replace("\\", "/").split("/")[-1].split()).strip(". "):
                files.append(Attachment(name, attached.binary(_DATA)))
        elif inner.properties() and depth < DEEPEST:
            forwarded = _mail(inner, depth=depth + 1)
            blocks += below(mail_blocks(forwarded))
            files += forwarded.attachments
            notes += forwarded.notes
    return replace(mail, blocks=tuple(blocks), attachments=tuple(files), notes=tuple(notes))
