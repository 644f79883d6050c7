"""A mailbox: one document, with a section for each message in the order of the file."""

from __future__ import annotations

import re
from collections.abc import Iterator

from quoth.documents.formats.mail.eml import VERSION as MESSAGE_VERSION
from quoth.documents.formats.mail.mail_text import Mail, mail_blocks
from quoth.documents.formats.mail.mime import read_message
from quoth.documents.text_blocks import Block, assemble
from quoth.errors import UnreadableFile
from quoth.types import Extract

VERSION = MESSAGE_VERSION

# A line in a body that begins with `From ` is quoted by most programs, but not by all: a message begins only where a
# header follows.
_BEGIN = re.compile(rb"(?:\A|(?<=\n))(?:\xef\xbb\xbf)?From [^\r\n]*\r?\n(?=[!-9;-~]{1,100}:)")
_QUOTED_FROM = re.compile(rb"^>(?=>*From )", re.M)
_MOST_NOTES = 20


def extract(data: bytes) -> Extract:
    """Return the text of all messages; raise `UnreadableFile` when there is none."""
    blocks: list[Block] = []
    notes: list[str] = []
    number = 0
    for number, message in enumerate(messages(data), 1):
        try:
            mail = read_mail(message)
        except UnreadableFile as error:
            notes.append(f"message {number} was left out: {str(error).removeprefix(': ')}")
            continue
        blocks += mail_blocks(mail)
        notes += (f"message {number}: {note}" for note in mail.notes)
    if not number:
        raise UnreadableFile("", "it is no mailbox: no message begins in it", hint="Give it its true ending.")
    assembled = assemble(blocks)
    if len(notes) > _MOST_NOTES:
        notes[_MOST_NOTES:] = [f"and {len(notes) - _MOST_NOTES} more such remarks"]
    return Extract(assembled.text, assembled.regions, (), (), {}, tuple(notes))


def messages(data: bytes) -> Iterator[bytes]:
    """Yield the bytes of each message, without the line before it."""
    begins = list(_BEGIN.finditer(data))
    ends = [*(begin.start() for begin in begins[1:]), len(data)]
    for begin, end in zip(begins, ends, strict=False):
        yield data[begin.end() : end]


def read_mail(message: bytes) -> Mail:
    """Return a message of a mailbox, where `>From` at the start of a line stands for `From`."""
    return read_message(_QUOTED_FROM.sub(b"", message))
