"""Documents as resources: their addresses, and where a list of them goes on."""

from __future__ import annotations

import base64
import binascii
from urllib.parse import quote, unquote

PAGE = 250
"""Documents in one answer to `resources/list`."""
SCHEME = "quoth:///documents/"
TEMPLATE = SCHEME + "{doc_id}"


def uri_of(doc_id: str) -> str:
    """The address of a document; a slash in its id is encoded too, as the template has one variable."""
    return SCHEME + quote(doc_id, safe="")


def doc_id_of(uri: str) -> str | None:
    """The document at an address; None for an address of something else."""
    encoded = uri.removeprefix(SCHEME)
    if encoded == uri or not encoded:
        return None
    try:
        return unquote(encoded, errors="strict")
    except UnicodeDecodeError:
        return None


def cursor_after(doc_id: str) -> str:
    """A mark that nobody needs to understand: the next page begins behind this document."""
    return base64.urlsafe_b64encode(doc_id.encode("utf-8")).decode("ascii")


def doc_id_before(cursor: str) -> str | None:
    """The document that a page begins behind; None for a mark that `cursor_after` never made."""
    try:
        return base64.b64decode(cursor.encode("ascii"), altchars=b"-_", validate=True).decode("utf-8")
    except (UnicodeError, binascii.Error):
        return None
