"""Messages and mailboxes as containers of their attachments: `mail.eml/plan.pdf`, `inbox.mbox/3/plan.pdf`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import PurePosixPath

from quoth.documents.containers import MOST_MEMBERS, may_attach
from quoth.documents.formats.mail import mbox, mime, msg
from quoth.documents.formats.mail.mail_text import Attachment
from quoth.errors import UnreadableFile


class MailContainer:
    """See `containers.Container`. The attachments are in memory."""

    def __init__(self, data: bytes, form: str) -> None:
        self.what = "the mailbox" if form == "mbox" else "the message"
        self._files: dict[str, bytes] = {}
        for folder, attachment in _attachments(data, form):
            self._files[_free_name(f"{folder}{attachment.name}", self._files)] = attachment.data
            if len(self._files) > MOST_MEMBERS:
                break  # more than there is room for
        self.sizes = {name: len(data) for name, data in self._files.items()}

    def check(self, name: str, label: str) -> None:
        """All of it has been read already."""

    def beginning(self, name: str, label: str) -> bytes:
        return self._files[name]

    def read(self, name: str, label: str, *, most_bytes: int) -> bytes:
        if len(self._files[name]) > most_bytes:
            hint = "Save it beside the message, and raise ingest.max_file_mb if it is needed."
            raise UnreadableFile(label, f"it has more than {most_bytes >> 20:,} MB", hint=hint)
        return self._files[name]


def _attachments(data: bytes, form: str) -> Iterator[tuple[str, Attachment]]:
    """Yield each attachment, and the folder before its name: in a mailbox the number of its message."""
    if form == "msg":
        yield from (("", attachment) for attachment in msg.read_msg(data).attachments)
    elif form == "eml":
        if may_attach(data):
            yield from (("", attachment) for attachment in mime.read_message(data).attachments)
    else:
        for number, message in enumerate(mbox.messages(data), 1):
            if may_attach(message):
                with suppress(UnreadableFile):  # the text of the mailbox notes it
                    yield from ((f"{number}/", attachment) for attachment in mbox.read_mail(message).attachments)


def _free_name(name: str, taken: Mapping[str, bytes]) -> str:
    """Return the name, with a number before its ending when another file has it already."""
    path = PurePosixPath(name)
    number = 2
    while name in taken:
        name = path.with_name(f"{path.stem} ({number}){path.suffix}").as_posix()
        number += 1
    return name
