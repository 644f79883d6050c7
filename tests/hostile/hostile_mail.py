"""Messages that nest, lie about their parts, or never end."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import TypeAlias

from hostile_parts import SAID, Hostile, World, hostile

Storage: TypeAlias = Mapping[str, "bytes | Storage"]
"""A folder of an OLE file: streams and folders by name."""

HEAD = (
    "From: Ann <ann@example.org>\nTo: Bob <bob@example.org>\nDate: Mon, 02 Mar 2026 08:15:00 +0000\nSubject: Barley\n"
)
_END, _FREE, _FAT = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD


def message(body: str, more: str = "") -> bytes:
    return f"{HEAD}{more}\n{body}\n".encode()


def multipart(*parts: str, kind: str = "mixed") -> bytes:
    body = "".join(f"--b\n{part}\n" for part in parts) + "--b--"
    return message(body, f"Content-Type: multipart/{kind}; boundary=b\n")


def _nested(world: World) -> bytes:
    levels = range(max(2_000, world.many(10_000)))
    return HEAD.encode() + b"".join(
        b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (level, level) for level in levels
    )


def _mailbox(count: int) -> bytes:
    return b"".join(b"From ann Mon Mar  2 08:15:00 2026\n" + message(SAID) + b"\n" for _ in range(count))


def _looping_ole() -> bytes:
    """An OLE file whose table of sectors leads back to itself."""
    made = bytearray(ole(outlook("Barley", SAID)))
    made[-512:] = struct.pack("<128I", *[0] * 128)
    return bytes(made)


def ole(root: Storage) -> bytes:
    """An OLE file of these streams, all of which are small."""
    entries: list[list[int | str]] = []  # name, type, right, child, first sector, size
    small, big = _Sectors(64), _Sectors(512)

    def placed(name: str, content: bytes | Storage, kind: int) -> int:
        at = len(entries)
        entries.append([name, kind, _FREE, _FREE, 0, 0])
        if isinstance(content, bytes):
            entries[at][1:] = [2, _FREE, _FREE, small.stored(content), len(content)]
            return at
        children = [placed(inner, part, 1) for inner, part in content.items()]
        for this, right in zip(children, [*children[1:], _FREE], strict=True):
            entries[this][2] = right
        entries[at][3] = children[0] if children else _FREE
        return at

    placed("Root Entry", root, 5)
    held = b"".join(small.data)
    entries[0][4:] = [big.stored(held), len(held)]
    table = big.stored(struct.pack(f"<{len(small.next)}I", *small.next))
    directory = big.stored(b"".join(_entry(*entry) for entry in entries))  # type: ignore[arg-type]
    fat = [*big.next, _FAT] + [_FREE] * (128 - len(big.next) - 1)
    header = struct.pack(
        "<8s16xHHHHH6xIIIIIIIIII",
        bytes.fromhex("d0cf11e0a1b11ae1"),
        *(0x3E, 3, 0xFFFE, 9, 6),
        *(0, 1, directory, 0, 4096, table, -(-len(small.next) // 128), _END, 0, len(big.data)),
    )
    return header + struct.pack("<108I", *[_FREE] * 108) + b"".join(big.data) + struct.pack("<128I", *fat)


class _Sectors:
    """Data in sectors of one size, and for each sector the one that follows it."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.data: list[bytes] = []
        self.next: list[int] = []

    def stored(self, data: bytes) -> int:
        if not data:
            return _END
        first = len(self.data)
        self.data += [data[at : at + self.size].ljust(self.size, b"\0") for at in range(0, len(data), self.size)]
        self.next += [*range(first + 1, len(self.data)), _END]
        return first


def _entry(name: str, kind: int, right: int, child: int, first: int, size: int) -> bytes:
    wide = name.encode("utf-16-le")
    return struct.pack("<64sHBBIII16x4x16xIQ", wide, len(wide) + 2, kind, 1, _FREE, right, child, first, size)


def outlook(
    subject: str = "Barley", body: str = "", more: Mapping[str, bytes | Storage] | None = None, *, sent: int = 0
) -> Storage:
    """The streams of a message of Outlook."""
    properties = bytes(32) + struct.pack("<HHIQ", 0x40, 0x39, 6, sent)
    return {
        "__properties_version1.0": properties,
        "__substg1.0_0037001F": subject.encode("utf-16-le"),
        "__substg1.0_0C1A001F": "Ann".encode("utf-16-le"),
        "__substg1.0_5D01001F": "ann@example.org".encode("utf-16-le"),
        "__substg1.0_0E04001F": "Bob; Cid".encode("utf-16-le"),
        "__substg1.0_1000001F": body.encode("utf-16-le"),
        **(more or {}),
    }


FILES: tuple[Hostile, ...] = (
    hostile("mail/plain.eml", "taken", lambda _: message(SAID)),
    hostile("mail/ten-thousand-nested-multiparts.eml", "refused", _nested),
    hostile(
        "mail/messages-in-messages.eml",
        "refused",
        lambda w: b"Content-Type: message/rfc822\n\n" * max(2_000, w.many(10_000)),
    ),
    hostile("mail/more-than-ten-thousand-parts.eml", "refused", lambda _: multipart(*["\nx"] * 10_100)),
    hostile("mail/boundary-that-never-ends.eml", "taken", lambda _: multipart(f"\n{SAID}")[:-8]),
    hostile("mail/boundary-that-is-missing.eml", "taken", lambda _: message(SAID, "Content-Type: multipart/mixed\n")),
    hostile(
        "mail/base64-that-is-none.eml",
        "taken",
        lambda _: message("%%%" + SAID, "Content-Transfer-Encoding: base64\n"),
    ),
    hostile(
        "mail/charset-of-python.eml",
        "taken",
        lambda _: message(SAID, "Content-Type: text/plain; charset=punycode\n"),
    ),
    hostile("mail/nul-bytes.eml", "taken", lambda _: message(f"\x00{SAID}\x00", "X: \x00\n")),
    hostile(
        "mail/header-of-a-megabyte.eml",
        "taken",
        lambda w: message(SAID, "Cc: " + "=?utf-8?q?=C3?= " * w.many(60_000) + "\n"),
    ),
    hostile("mail/headers-by-the-hundred-thousand.eml", "taken", lambda w: message(SAID, "X: y\n" * w.many(100_000))),
    hostile(
        "mail/quotes-of-quotes.eml",
        "taken",
        lambda w: message("\n".join(">" * depth + " x" for depth in range(w.many(2_000))) + SAID),
    ),
    hostile(
        "mail/page-that-nests.eml", "taken", lambda _: message("<div>" * 6_000 + SAID, "Content-Type: text/html\n")
    ),
    hostile("mail/no-message.eml", "refused", lambda _: SAID.encode()),
    hostile("mail/crlf-and-a-mark.eml", "taken", lambda _: b"\xef\xbb\xbf" + message(SAID).replace(b"\n", b"\r\n")),
    hostile("mail/many-messages.mbox", "taken", lambda w: _mailbox(w.many(20_000))),
    hostile("mail/no-mailbox.mbox", "refused", lambda _: SAID.encode()),
    hostile("mail/one-bad-message.mbox", "taken", lambda w: b"From a\n" + _nested(w) + b"\n" + _mailbox(1)),
    hostile("mail/outlook.msg", "taken", lambda _: ole(outlook("Barley", SAID))),
    hostile("mail/truncated.msg", "either", lambda _: ole(outlook("Barley", SAID))[:900]),
    hostile("mail/sectors-in-a-circle.msg", "either", lambda _: _looping_ole()),
    hostile("mail/not-outlook.msg", "refused", lambda _: ole({"WordDocument": b"x"})),
    hostile("mail/really-a-text.msg", "refused", lambda _: SAID.encode()),
)
