"""Opens the package of an EPUB: a ZIP archive that lists its chapters in reading order. Nothing outside it is read."""

from __future__ import annotations

import io
import posixpath
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import unquote

from lxml import etree

from quoth.errors import UnreadableFile

Element: TypeAlias = Any
"""An lxml element; lxml has no types of its own."""

MOST_ENTRIES = 20_000
"""Files in the archive."""
MOST_TEXT_BYTES = 256 << 20
"""What the parts that are read may unpack to together. The longest books have a few megabytes of text."""
MOST_PART_BYTES = 32 << 20
"""One part unpacked."""
MOST_EXPANSION, SMALL_PART_BYTES = 300, 8 << 20
"""How much larger than its packed size a large part may be. Text in XML seldom reaches 50 times."""
MOST_CHAPTERS = 10_000
"""Entries of the reading order, and of the table of contents."""

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_PAGES = frozenset({"application/xhtml+xml", "text/html", "application/x-dtbook+xml", "text/x-oeb1-document"})
_DAMAGED = "The file is damaged: get it again, or convert it with an e-book program."
_FAULTS = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError, ValueError)


@dataclass(frozen=True, slots=True)
class TocEntry:
    """A line of the table of contents. `depth` counts from 1."""

    path: str
    anchored: bool
    """Whether it points into the part, and not to its top."""
    label: str
    depth: int


@dataclass(frozen=True, slots=True)
class BookPackage:
    """A book: its chapters in reading order, as paths of parts, and what its package says of it."""

    title: str
    language: str
    chapters: tuple[str, ...]
    toc: tuple[TocEntry, ...]
    parts: Parts


class Parts:
    """The files of the archive. A path is read when it is asked for, within the limits."""

    def __init__(self, data: bytes) -> None:
        try:
            self._archive = zipfile.ZipFile(io.BytesIO(data))
        except _FAULTS as error:
            raise UnreadableFile("", "it is not an EPUB: it cannot be unpacked", hint=_DAMAGED) from error
        entries = self._archive.infolist()
        if len(entries) > MOST_ENTRIES:
            raise UnreadableFile("", f"the archive holds more than {MOST_ENTRIES:,} files", hint=_DAMAGED)
        self._entries = {posixpath.normpath(entry.filename.replace("\\", "/")): entry for entry in entries}
        self._room = MOST_TEXT_BYTES

    def holds(self, path: str) -> bool:
        return path in self._entries

    def read(self, path: str) -> bytes:
        """Return a part; raise `UnreadableFile` when it is missing, damaged or unpacks to too much."""
        entry = self._entries.get(path)
        if entry is None:
            raise UnreadableFile("", f"it has no part {path}", hint=_DAMAGED)
        if entry.flag_bits & 1:
            hint = "Only its reader program can open it; convert it there."
            raise UnreadableFile("", "it is protected by a password", hint=hint)
        too_dense = entry.file_size > max(SMALL_PART_BYTES, MOST_EXPANSION * entry.compress_size)
        if too_dense or entry.file_size > min(MOST_PART_BYTES, self._room):
            raise UnreadableFile("", f"its part {path} unpacks to too much", hint="Split the book.")
        try:
            with self._archive.open(entry) as stream:
                data = stream.read(entry.file_size + 1)
        except _FAULTS as error:
            raise UnreadableFile("", f"its part {path} cannot be unpacked: {error}", hint=_DAMAGED) from error
        self._room -= len(data)
        return data

    def xml(self, path: str) -> Element:
        """Return the root element of a part. One that declares entities is refused: they can grow or read files."""
        data = self.read(path)
        if b"<!ENTITY" in (data.replace(b"\x00", b"") if b"\x00" in data[:200] else data):
            raise UnreadableFile("", f"its part {path} declares entities", hint=_DAMAGED)
        parser = etree.XMLParser(
            resolve_entities=False,
            no_network=True,
            load_dtd=False,
            huge_tree=False,
            recover=True,
            remove_comments=True,
            remove_pis=True,
        )
        try:
            root = etree.fromstring(data, parser)
        except (etree.XMLSyntaxError, ValueError) as error:
            raise UnreadableFile("", f"its part {path} is broken XML: {error}", hint=_DAMAGED) from error
        if root is None:
            raise UnreadableFile("", f"its part {path} is broken XML", hint=_DAMAGED)
        return root


def open_book(data: bytes) -> BookPackage:
    """Return the package of a book; raise `UnreadableFile` when it is none, or encrypted."""
    parts = Parts(data)
    path = _package_path(parts)
    package = parts.xml(path)
    folder = posixpath.dirname(path)
    items = {item.get("id", ""): item for item in _named(package, "item")}
    spine = next(_named(package, "spine"), None)
    listed = [] if spine is None else [items.get(entry.get("idref", "")) for entry in _named(spine, "itemref")]
    pages = [item for item in listed if item is not None and item.get("media-type", "") in _PAGES]
    navigation = next((item for item in items.values() if "nav" in item.get("properties", "").split()), None)
    chapters = [_resolved(folder, item.get("href", "")) for item in pages if item is not navigation]
    chapters = [chapter for chapter in dict.fromkeys(chapters) if parts.holds(chapter)][:MOST_CHAPTERS]
    if not chapters:
        raise UnreadableFile("", "its package lists no chapters", hint=_DAMAGED)
    _refuse_encrypted(parts, chapters)
    outline = items.get(spine.get("toc", "")) if spine is not None else None
    return BookPackage(
        title=_stated(package, "title"),
        language=_stated(package, "language"),
        chapters=tuple(chapters),
        toc=_toc(parts, folder, navigation=navigation, outline=outline),
        parts=parts,
    )


def _package_path(parts: Parts) -> str:
    if not parts.holds(_CONTAINER):
        raise UnreadableFile("", "it is an archive without a book", hint=_DAMAGED)
    roots = [str(root.get("full-path", "")) for root in _named(parts.xml(_CONTAINER), "rootfile")]
    found = next((path for path in map(posixpath.normpath, roots) if parts.holds(path)), None)
    if found is None:
        raise UnreadableFile("", "its package is missing", hint=_DAMAGED)
    return found


def _refuse_encrypted(parts: Parts, chapters: list[str]) -> None:
    """Raise `UnreadableFile` when a chapter is encrypted; many books encrypt only their fonts."""
    if not parts.holds(_ENCRYPTION):
        return
    hidden = {
        posixpath.normpath(unquote(one.get("URI", ""))) for one in _named(parts.xml(_ENCRYPTION), "CipherReference")
    }
    if not hidden.isdisjoint(chapters):
        raise UnreadableFile("", "its text is encrypted (DRM)", hint="Ask the publisher for a copy without protection.")


def _toc(parts: Parts, folder: str, *, navigation: Element | None, outline: Element | None) -> tuple[TocEntry, ...]:
    """Return the table of contents, of EPUB 3 or else of EPUB 2; nothing when it cannot be read, as the text can."""
    for item, entries in ((navigation, _nav_entries), (outline, _ncx_entries)):
        path = "" if item is None else _resolved(folder, item.get("href", ""))
        if not parts.holds(path):
            continue
        try:
            root = parts.xml(path)
        except UnreadableFile:
            continue
        found = [
            TocEntry(_resolved(posixpath.dirname(path), href), "#" in href, " ".join(label.split()), depth)
            for href, label, depth in entries(root)
            if label.strip()
        ]
        if found:
            return tuple(found[:MOST_CHAPTERS])
    return ()


def _nav_entries(root: Element) -> Iterator[tuple[str, str, int]]:
    navs = list(_named(root, "nav"))
    toc = next((nav for nav in navs if "toc" in [value for name, value in nav.items() if name.endswith("type")]), None)
    for link in () if toc is None else _named(toc, "a"):
        depth = sum(1 for above in link.iterancestors() if _local(above) == "ol")
        yield link.get("href", ""), "".join(link.itertext()), max(1, depth)


def _ncx_entries(root: Element) -> Iterator[tuple[str, str, int]]:
    for point in _named(root, "navPoint"):
        label = next(_named(point, "navLabel"), None)
        content = next(_named(point, "content"), None)
        if label is not None and content is not None:
            depth = 1 + sum(1 for above in point.iterancestors() if _local(above) == "navPoint")
            yield content.get("src", ""), "".join(label.itertext()), depth


def _named(element: Element, local: str) -> Iterator[Element]:
    """Yield the elements of that name below, in any namespace: books mix up versions of the format."""
    return iter(element.iter(f"{{*}}{local}"))


def _local(element: Element) -> str:
    """Return the name of an element without its namespace; a broken part may hold names that XML does not allow."""
    return str(element.tag).rpartition("}")[2]


def _stated(package: Element, local: str) -> str:
    found = next(_named(package, local), None)
    return "" if found is None else " ".join("".join(found.itertext()).split())


def _resolved(folder: str, href: str) -> str:
    """Return the path of a part that a link names; it cannot lead out of the archive, where no such part exists."""
    return posixpath.normpath(posixpath.join(folder, unquote(href.partition("#")[0])))
