"""Small books for the tests, and what is read of them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence

from quoth.documents.formats.epub.epub_document import extract
from quoth.types import RegionKind

OPF = "http://www.idpf.org/2007/opf"
CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
)


def archive(parts: Mapping[str, str | bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in parts.items():
            stored = zipfile.ZIP_STORED if name == "mimetype" else zipfile.ZIP_DEFLATED
            file.writestr(zipfile.ZipInfo(name), content, stored)
    return made.getvalue()


def chapter(body: str) -> str:
    return (
        f'<?xml version="1.0" encoding="utf-8"?><html xmlns="http://www.w3.org/1999/xhtml"><body>{body}</body></html>'
    )


def package(names: Sequence[str], *, spine: Sequence[str] | None = None, extra: str = "", toc: str = "") -> str:
    items = "".join(f'<item id="{name}" href="{name}.xhtml" media-type="application/xhtml+xml"/>' for name in names)
    order = "".join(f'<itemref idref="{name}"/>' for name in (names if spine is None else spine))
    return (
        f'<package xmlns="{OPF}" version="3.0"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<dc:title>Barley &amp; Rye</dc:title><dc:language>en</dc:language></metadata>"
        f"<manifest>{items}{extra}</manifest><spine{toc}>{order}</spine></package>"
    )


def book(bodies: Mapping[str, str], *, opf: str | None = None, more: Mapping[str, str | bytes] | None = None) -> bytes:
    """A book whose chapters come in the order of `bodies`, unless `opf` says otherwise."""
    parts: dict[str, str | bytes] = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": CONTAINER,
        "OEBPS/book.opf": package(list(bodies)) if opf is None else opf,
        **{f"OEBPS/{name}.xhtml": chapter(body) for name, body in bodies.items()},
        **(more or {}),
    }
    return archive(parts)


def blocks(data: bytes) -> list[tuple[RegionKind, str, tuple[str, ...]]]:
    found = extract(data)
    return [
        (region.kind, found.text[region.span.start : region.span.end], region.section) for region in found.regions or ()
    ]
