"""Opens the package of an Office file (DOCX, XLSX, PPTX): a ZIP archive of XML parts that refer to each other.

Nothing outside the archive is read.
"""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
import zlib
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, TypeAlias

from lxml import etree

from quoth.documents.formats.recognition import OLE
from quoth.errors import UnreadableFile

Element: TypeAlias = Any
"""An lxml element; lxml has no types of its own."""

MOST_ENTRIES = 20_000
"""Files in the archive. Even thousands of pages with a picture each stay far below."""
MOST_BYTES = 512 * 1024 * 1024
"""The unpacked size that the archive declares."""
MOST_PART_BYTES = 128 * 1024 * 1024
"""One XML part unpacked: about ten thousand pages of text."""
MOST_EXPANSION, SMALL_PART_BYTES = 300, 8 * 1024 * 1024
"""How much larger than its packed size a large part may be. Text in XML seldom reaches 50 times."""

_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_PROGRAM_TITLE = re.compile(
    r"(?:microsoft word\s*-.*|document\d*|untitled|(?:powerpoint )?presentation)", re.IGNORECASE
)
_ARCHIVE_FAULTS = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError, ValueError)

_PREFIXES = {
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main": "w:",
    "http://purl.oclc.org/ooxml/wordprocessingml/main": "w:",
    "http://schemas.openxmlformats.org/officeDocument/2006/math": "m:",
    "http://purl.oclc.org/ooxml/officeDocument/math": "m:",
    "http://schemas.openxmlformats.org/spreadsheetml/2006/main": "x:",
    "http://purl.oclc.org/ooxml/spreadsheetml/main": "x:",
    "http://schemas.openxmlformats.org/presentationml/2006/main": "p:",
    "http://purl.oclc.org/ooxml/presentationml/main": "p:",
    "http://schemas.openxmlformats.org/drawingml/2006/main": "a:",
    "http://purl.oclc.org/ooxml/drawingml/main": "a:",
    "http://schemas.openxmlformats.org/drawingml/2006/diagram": "dgm:",
    "http://purl.oclc.org/ooxml/drawingml/diagram": "dgm:",
    "http://schemas.openxmlformats.org/officeDocument/2006/relationships": "r:",
    "http://purl.oclc.org/ooxml/officeDocument/relationships": "r:",
    "http://schemas.openxmlformats.org/markup-compatibility/2006": "mc:",
    "http://purl.org/dc/elements/1.1/": "dc:",
}
"""The two dialects of the format, transitional and strict, differ only in their namespaces."""
_ATTRIBUTE_SPACES = tuple(f"{{{space}}}" for space, prefix in _PREFIXES.items() if prefix in {"w:", "m:"})
_RELATION_SPACES = tuple(f"{{{space}}}" for space, prefix in _PREFIXES.items() if prefix == "r:")


@lru_cache(maxsize=4_096)
def _short(tag: str) -> str:
    space, _, local = tag[1:].partition("}")
    return _PREFIXES.get(space, "?:") + local


@lru_cache(maxsize=4_096)
def _tags(wanted: str) -> tuple[str, ...]:
    """Return the tags that a short name stands for, one for each dialect."""
    prefix, _, local = wanted.partition(":")
    return tuple(f"{{{space}}}{local}" for space, short in _PREFIXES.items() if short == f"{prefix}:")


def name(element: Element) -> str:
    """Return `w:p` or `m:t`; `?:…` for other namespaces, the empty string for a comment or an instruction."""
    tag = element.tag
    return _short(tag) if isinstance(tag, str) else ""


def attribute(element: Element, local: str) -> str | None:
    """Return an attribute by its local name, in either dialect."""
    for space in _ATTRIBUTE_SPACES:
        value = element.get(space + local)
        if value is not None:
            return str(value)
    return None


def relation(element: Element, local: str = "id") -> str | None:
    """Return the id of the relation that an attribute (`r:id`) names."""
    found = (element.get(space + local) for space in _RELATION_SPACES)
    return next((str(value) for value in found if value is not None), None)


def child(element: Element | None, wanted: str) -> Element | None:
    """Return the first child of that name; None where there is none, or no element."""
    return next(children(element, wanted), None)


def children(element: Element | None, wanted: str) -> Iterator[Element]:
    return iter(()) if element is None else iter(element.iterchildren(*_tags(wanted)))


def value(element: Element | None, wanted: str) -> str | None:
    """Return the `val` attribute of a child."""
    found = child(element, wanted)
    return None if found is None else attribute(found, "val")


def switched(element: Element | None, wanted: str) -> bool | None:
    """Return whether a property is on; None where it is not given."""
    found = child(element, wanted)
    return None if found is None else attribute(found, "val") not in {"0", "false", "off", "none"}


def number(text: str | None) -> int | None:
    """Return a whole number of at most nine characters; None for anything else."""
    try:
        return None if text is None or len(text) > 9 else int(text)
    except ValueError:
        return None


class Package:
    """The parts of an archive by name. A part is read when it is asked for."""

    def __init__(self, data: bytes, ending: str = ".docx") -> None:
        self._damaged = f"The file is damaged: open it in its own program and save it again as {ending}."
        self._archive = _opened(data, ending, self._damaged)
        entries = self._archive.infolist()
        if len(entries) > MOST_ENTRIES:
            raise UnreadableFile("", f"the archive holds more than {MOST_ENTRIES:,} files", hint=self._damaged)
        if sum(entry.file_size for entry in entries) > MOST_BYTES:
            raise UnreadableFile("", f"it unpacks to more than {MOST_BYTES >> 20} MB", hint="Split the document.")
        # Some programs capitalise the name of a part differently in the relation to it.
        self._entries = {entry.filename.replace("\\", "/").lower(): entry for entry in entries}

    def holds(self, part: str) -> bool:
        return part.lower() in self._entries

    def xml(self, part: str) -> Element | None:
        """Return the root element of a part; None where there is no such part."""
        data = self.read(part)
        return None if data is None else _parsed(data, part, self._damaged)

    def elements(self, part: str, *wanted: str) -> Iterator[Element]:
        """Yield the elements of these names at any depth of a part, each once it is complete; then forget it.

        This holds one element at a time in memory, where `xml` holds them all.
        """
        data = self.read(part)
        if data is None:
            return
        _refuse_document_type(data, part)
        tags = [tag for one in wanted for tag in _tags(one)]
        try:
            for _, element in etree.iterparse(io.BytesIO(data), tag=tags, **_SAFELY):
                yield element
                element.clear()
                while element.getprevious() is not None:
                    del element.getparent()[0]
        except (etree.XMLSyntaxError, ValueError) as error:
            raise UnreadableFile("", f"its part {part} is broken XML: {error}", hint=self._damaged) from error

    def read(self, part: str) -> bytes | None:
        """Return the content of a part; None where there is no such part."""
        entry = self._entries.get(part.lower())
        if entry is None:
            return None
        too_large = UnreadableFile("", f"its part {part} unpacks to too much", hint="Split the document.")
        too_dense = entry.file_size > max(SMALL_PART_BYTES, MOST_EXPANSION * entry.compress_size)
        if entry.file_size > MOST_PART_BYTES or too_dense:
            raise too_large
        try:
            with self._archive.open(entry) as stream:
                data = stream.read(MOST_PART_BYTES + 1)
        except _ARCHIVE_FAULTS as error:
            raise UnreadableFile("", f"its part {part} cannot be unpacked: {error}", hint=self._damaged) from error
        if len(data) > MOST_PART_BYTES:
            raise too_large
        return data

    def main(self, usual: str, root_name: str, what: str, *, hint: str) -> tuple[str, Element]:
        """Return the name of the part that holds the content, and its root. `what` names the kind of file in an error.

        Raise `UnreadableFile` when the archive has no such part, or the part is of another kind.
        """
        candidates = [*self.related("").get("officeDocument", ()), usual]
        part = next((part for part in candidates if self.holds(part)), None)
        if part is None:
            raise UnreadableFile("", f"it is an archive without a {what} in it", hint=hint)
        root = self.xml(part)
        if root is None or name(root) != root_name:
            raise UnreadableFile("", f"its main part {part} is not a {what}", hint=hint)
        return part, root

    def properties(self) -> dict[str, str]:
        """Return the `title` and the `language` that the file states, as far as it does; not a title of the program."""
        core = next((self.xml(part) for part in self.related("").get("core-properties", ())), None)
        named = {name(element): " ".join((element.text or "").split()) for element in (() if core is None else core)}
        title, language = named.get("dc:title", ""), named.get("dc:language", "")
        found = {"title": "" if _PROGRAM_TITLE.fullmatch(title) else title, "language": language}
        return {key: text for key, text in found.items() if text}

    def related(self, part: str) -> dict[str, list[str]]:
        """Return the parts that `part` (the package, if empty) refers to, by the last word of the relation's type."""
        found: dict[str, list[str]] = {}
        for _, kind, path in self._relations(part):
            found.setdefault(kind, []).append(path)
        return found

    def related_by_id(self, part: str) -> dict[str, str]:
        """Return the parts that `part` refers to, by the id of the relation."""
        return {key: path for key, _, path in self._relations(part)}

    def _relations(self, part: str) -> Iterator[tuple[str, str, str]]:
        """Yield the id, the last word of the type, and the target of each relation inside the package."""
        folder, file = posixpath.split(part)
        root = self.xml(posixpath.join(folder, "_rels", f"{file}.rels"))
        for found in () if root is None else root:
            target = found.get("Target")
            if target and found.get("TargetMode") != "External":
                path = posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
                yield found.get("Id") or "", (found.get("Type") or "").rpartition("/")[2], path


def _opened(data: bytes, ending: str, damaged: str) -> zipfile.ZipFile:
    if data.startswith(OLE):
        if _ENCRYPTED in data:
            hint = "Open it with its password and save it without one."
            raise UnreadableFile("", "it is protected by a password", hint=hint)
        raise UnreadableFile("", f"it is a file of an older Office, not a {ending}", hint=f"Save it as {ending}.")
    try:
        return zipfile.ZipFile(io.BytesIO(data))
    except _ARCHIVE_FAULTS as error:
        raise UnreadableFile("", f"it is not a {ending}: it cannot be unpacked", hint=damaged) from error


_SAFELY = {
    **{"resolve_entities": False, "no_network": True, "load_dtd": False, "huge_tree": False},
    **{"remove_comments": True, "remove_pis": True},
}


def _parsed(data: bytes, part: str, damaged: str) -> Element:
    """Parse a part. Refuse one that declares entities, before and after parsing: they can grow or read files."""
    _refuse_document_type(data, part)
    try:
        root = etree.fromstring(data, etree.XMLParser(**_SAFELY))
    except (etree.XMLSyntaxError, ValueError) as error:
        raise UnreadableFile("", f"its part {part} is broken XML: {error}", hint=damaged) from error
    if root.getroottree().docinfo.internalDTD is not None:
        raise _declares_type(part)
    return root


def _refuse_document_type(data: bytes, part: str) -> None:
    if b"<!DOCTYPE" in (data.replace(b"\x00", b"") if b"\x00" in data[:200] else data):
        raise _declares_type(part)


def _declares_type(part: str) -> UnreadableFile:
    return UnreadableFile("", f"its part {part} declares a document type", hint="Save it again in its own program.")
