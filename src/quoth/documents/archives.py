"""ZIP archives as containers: each readable file inside is a document with the id `archive.zip/path/inside.pdf`.

A file inside never gives more bytes than it declares.
"""

from __future__ import annotations

import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from typing import BinaryIO

from quoth.documents.containers import LARGEST_NESTED, MOST_MEMBERS, SPLIT
from quoth.documents.formats.recognition import HEAD, is_too_long
from quoth.errors import UnreadableFile

MOST_EXPANSION, SMALL_BYTES = 300, 8 << 20
"""How much larger than its packed size a large file inside may be."""

_FAULTS = (zipfile.BadZipFile, OSError, NotImplementedError, RuntimeError, ValueError, struct.error)
_LOCAL_HEADER = struct.Struct("<4s22xHH")
_LOCAL_MARK = b"PK\x03\x04"
_ENCRYPTED = 0x1
_AGAIN = "Pack it again as an ordinary ZIP archive, or unpack it into the folder."


class ZipContainer:
    """See `containers.Container`. Each call of `reopen` opens the archive anew. Folders and links are left out."""

    what = "the archive"

    def __init__(self, reopen: Callable[[], BinaryIO]) -> None:
        self._reopen = reopen
        with reopen() as file:
            self._entries = _entries(file)
        self.sizes = {name: entry.file_size for name, entry in self._entries.items()}

    def check(self, name: str, label: str) -> None:
        entry = self._entries[name]
        if entry.flag_bits & _ENCRYPTED:
            hint = "Unpack it with its password, and ingest what was unpacked."
            raise UnreadableFile(label, "it is protected by a password", hint=hint)
        if entry.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
            raise UnreadableFile(label, "it is packed by a method that is not read", hint=_AGAIN)
        if entry.file_size > max(SMALL_BYTES, MOST_EXPANSION * entry.compress_size):
            why = f"it unpacks to more than {MOST_EXPANSION} times its packed size"
            raise UnreadableFile(label, why, hint="Unpack it yourself, if you trust it.")

    def beginning(self, name: str, label: str) -> bytes:
        entry = self._entries[name]
        with self._reopen() as file:
            head = _unpacked(file, entry, label, HEAD, whole=False)
            # The names inside an office file stand at its end, so it is unpacked as a whole.
            if head.startswith(_LOCAL_MARK) and entry.file_size <= LARGEST_NESTED:
                return _unpacked(file, entry, label, LARGEST_NESTED)
        return head

    def read(self, name: str, label: str, *, most_bytes: int) -> bytes:
        with self._reopen() as file:
            return _unpacked(file, self._entries[name], label, most_bytes)


def _entries(file: BinaryIO) -> Mapping[str, zipfile.ZipInfo]:
    """Return the files in an archive by name; of two with the same name the last, as when it is unpacked."""
    if is_too_long(file):
        raise UnreadableFile("", f"the archive holds more than {MOST_MEMBERS:,} files", hint=SPLIT)
    try:
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
    except _FAULTS as error:
        raise UnreadableFile("", "the archive cannot be opened: it is damaged", hint=_AGAIN) from error
    # Some programs write the separators of Windows.
    return {
        entry.filename.replace("\\", "/"): entry
        for entry in entries
        if not entry.filename.endswith(("/", "\\")) and not stat.S_ISLNK(entry.external_attr >> 16)
    }


def _unpacked(file: BinaryIO, entry: zipfile.ZipInfo, label: str, most: int, *, whole: bool = True) -> bytes:
    """Return a member, or its beginning if it need not be `whole`; never more bytes than it declares."""
    if whole and entry.file_size > most:
        hint = "Unpack it into the folder, and raise ingest.max_file_mb if it is needed."
        raise UnreadableFile(label, f"it has more than {most >> 20:,} MB", hint=hint)
    damaged = UnreadableFile(label, "it cannot be unpacked: the archive is damaged", hint=_AGAIN)
    wanted = min(entry.file_size, most)
    try:
        file.seek(entry.header_offset)
        mark, name, extra = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
        if mark != _LOCAL_MARK:
            raise damaged
        file.seek(name + extra, os.SEEK_CUR)
        packed = file.read(entry.compress_size if whole else min(entry.compress_size, 2 * HEAD))
        data = packed[:wanted]
        if entry.compress_type == zipfile.ZIP_DEFLATED:
            data = zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, wanted) if wanted else b""
    except (*_FAULTS, zlib.error) as error:
        raise damaged from error
    if whole and (len(data) != entry.file_size or zlib.crc32(data) != entry.CRC):
        raise damaged
    return data
