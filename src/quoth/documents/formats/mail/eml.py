"""A message in a file of its own, as mail programs save it."""

from __future__ import annotations

import re

from quoth.documents.formats.html.html_document import VERSION as PAGE_VERSION
from quoth.documents.formats.mail.mail_text import Mail, mail_blocks
from quoth.documents.formats.mail.mime import read_message
from quoth.documents.text_blocks import assemble
from quoth.errors import UnreadableFile
from quoth.types import Extract

_HEADER = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:>?From [^\r\n]*\r?\n)?[!-9;-~]{1,200}:")
VERSION = f"mail / {PAGE_VERSION} / 2"


def extract(data: bytes) -> Extract:
    """Return the text of a message; raise `UnreadableFile` when the file is none."""
    if _HEADER.match(data) is None:
        raise UnreadableFile("", "it is no message: it has no headers", hint="Give it its true ending.")
    return mail_extract(read_message(data))


def mail_extract(mail: Mail) -> Extract:
    """Return a single message as a document whose title is its subject."""
    assembled = assemble(mail_blocks(mail))
    properties = {"title": mail.subject} if mail.subject else {}
    return Extract(assembled.text, assembled.regions, (), (), properties, mail.notes)
