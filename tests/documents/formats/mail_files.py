"""Small messages for the tests, and what is read of them."""

from __future__ import annotations

from email.message import EmailMessage

from quoth.documents.formats.mail import eml, mbox
from quoth.types import Extract, RegionKind


def blocks(found: Extract) -> list[tuple[RegionKind, str]]:
    return [(region.kind, found.text[region.span.start : region.span.end]) for region in found.regions or ()]


def texts(data: bytes) -> list[str]:
    return [text for _, text in blocks(eml.extract(data))]


def box(data: bytes) -> list[tuple[tuple[str, ...], str]]:
    found = mbox.extract(data)
    return [(region.section, found.text[region.span.start : region.span.end]) for region in found.regions or ()]


def letter(text: str = "Sow the barley at 3 cm.") -> EmailMessage:
    message = EmailMessage()
    message["From"], message["To"] = "Ann <ann@example.org>", "Bob <bob@example.org>"
    message["Date"], message["Subject"] = "Mon, 02 Mar 2026 08:15:00 +0000", "Barley"
    message.set_content(text)
    return message
