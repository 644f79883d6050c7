"""Writes small PDF files for the tests: text at given places, in given sizes, with bookmarks and the like."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

WIDTH, HEIGHT = 600, 800
_FONTS = {
    "plain": "Helvetica",
    "bold": "Helvetica-Bold",
    "italic": "Helvetica-Oblique",
    "serif": "Times-Roman",
    "typewriter": "Courier",
}


@dataclass(frozen=True)
class Text:
    """A run of text whose baseline begins at `x`, `y` points from the top left corner."""

    x: float
    y: float
    text: str
    size: float = 10
    font: str = "plain"
    turned: str = "1 0 0 1"
    """The text matrix without its place."""
    clip: tuple[float, float, float, float] | None = None
    """The box (x, y, width, height) that it is clipped to."""


@dataclass(frozen=True)
class Sheet:
    """A page. `rules` are level and `uprights` upright lines (x, y, length); `picture` covers it whole."""

    texts: Sequence[Text]
    rules: Sequence[tuple[float, float, float]] = ()
    uprights: Sequence[tuple[float, float, float]] = ()
    picture: NDArray[np.uint8] | None = None
    entries: str = ""
    """Further entries of the page dictionary, such as `/Rotate 90`."""


@dataclass
class _Objects:
    bodies: list[bytes] = field(default_factory=list)

    def add(self, body: str | bytes) -> int:
        self.bodies.append(body.encode("cp1252") if isinstance(body, str) else body)
        return len(self.bodies)

    def reserve(self) -> int:
        return self.add(b"null")

    def put(self, number: int, body: str) -> None:
        self.bodies[number - 1] = body.encode("cp1252")


def lines(
    text: str, *, x: float = 50, y: float = 60, size: float = 10, step: float = 12, font: str = "plain"
) -> list[Text]:
    """Each line of `text` below the last; an empty line leaves a gap of half a line."""
    found = []
    for line in text.split("\n"):
        if line:
            found.append(Text(x, y, line, size, font))
        y += step if line else step / 2
    return found


def pdf(
    sheets: Sequence[Sheet],
    *,
    bookmarks: Sequence[tuple[str, int, int]] = (),
    title: str = "",
    catalog: str = "",
    trailer: str = "",
) -> bytes:
    """Return the file; `bookmarks` are (title, page from 1, level from 1) in their order."""
    objects = _Objects()
    root, tree = objects.reserve(), objects.reserve()
    fonts = " ".join(
        f"/{name} {objects.add(f'<< /Type /Font /Subtype /Type1 /BaseFont /{base} /Encoding /WinAnsiEncoding >>')} 0 R"
        for name, base in _FONTS.items()
    )
    fonts += f" /ligature {_with_ligature(objects)} 0 R"
    pages = [_page(objects, sheet, tree, fonts) for sheet in sheets]
    objects.put(tree, f"<< /Type /Pages /Kids [{' '.join(f'{page} 0 R' for page in pages)}] /Count {len(pages)} >>")
    outline = f"/Outlines {_outline(objects, bookmarks, pages)} 0 R" if bookmarks else ""
    objects.put(root, f"<< /Type /Catalog /Pages {tree} 0 R {outline} {catalog} >>")
    info = f"/Info {objects.add(f'<< /Title ({title}) >>')} 0 R" if title else ""
    return assembled(objects.bodies, f"/Root {root} 0 R {info} {trailer}")


def assembled(bodies: Sequence[bytes], trailer: str) -> bytes:
    out = bytearray(b"%PDF-1.6\n")
    places = []
    for number, body in enumerate(bodies, start=1):
        places.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(bodies) + 1)
    for place in places:
        out += b"%010d 00000 n \n" % place
    out += f"trailer\n<< /Size {len(bodies) + 1} {trailer} >>\nstartxref\n{start}\n%%EOF\n".encode()
    return bytes(out)


def _with_ligature(objects: _Objects) -> int:
    """A font in which `~` stands for `fi`, and `|` for an italic mu as in formulas."""
    cmap = (
        "/CIDInit /ProcSet findresource begin begincmap 1 begincodespacerange <00> <FF> endcodespacerange "
        "2 beginbfchar <7C> <D835DF07> <7E> <00660069> endbfchar endcmap end"
    )
    unicode = objects.add(_stream("", cmap.encode()))
    return objects.add(
        f"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding /ToUnicode {unicode} 0 R >>"
    )


def _stream(entries: str, data: bytes) -> bytes:
    return f"<< {entries} /Length {len(data)} >>\nstream\n".encode() + data + b"\nendstream"


def _page(objects: _Objects, sheet: Sheet, tree: int, fonts: str) -> int:
    drawn = [f"{x} {HEIGHT - y} m {x + length} {HEIGHT - y} l S" for x, y, length in sheet.rules]
    drawn += [f"{x} {HEIGHT - y} m {x} {HEIGHT - y - length} l S" for x, y, length in sheet.uprights]
    for text in sheet.texts:
        words = text.text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
        shown = f"BT /{text.font} {text.size} Tf {text.turned} {text.x} {HEIGHT - text.y} Tm ({words}) Tj ET"
        if text.clip is not None:
            x, y, wide, high = text.clip
            shown = f"q {x} {HEIGHT - y - high} {wide} {high} re W n {shown} Q"
        drawn.append(shown)
    images = ""
    if sheet.picture is not None:
        high, wide = sheet.picture.shape[:2]
        kind = f"/Type /XObject /Subtype /Image /Width {wide} /Height {high} /ColorSpace /DeviceRGB /BitsPerComponent 8"
        picture = _stream(f"{kind} /Filter /FlateDecode", zlib.compress(sheet.picture.tobytes()))
        images = f"/XObject << /Picture {objects.add(picture)} 0 R >>"
        drawn.insert(0, f"q {WIDTH} 0 0 {HEIGHT} 0 0 cm /Picture Do Q")
    content = objects.add(_stream("", "\n".join(drawn).encode("cp1252")))
    return objects.add(
        f"<< /Type /Page /Parent {tree} 0 R /MediaBox [0 0 {WIDTH} {HEIGHT}] /Contents {content} 0 R "
        f"/Resources << /Font << {fonts} >> {images} >> {sheet.entries} >>"
    )


def _outline(objects: _Objects, bookmarks: Sequence[tuple[str, int, int]], pages: Sequence[int]) -> int:
    root = objects.reserve()
    numbers = [objects.reserve() for _ in bookmarks]
    levels = [level for _, _, level in bookmarks]
    for index, (title, page, level) in enumerate(bookmarks):
        after = next((place for place in range(index + 1, len(levels)) if levels[place] <= level), None)
        following = f"/Next {numbers[after]} 0 R" if after is not None and levels[after] == level else ""
        child = index + 1 < len(levels) and levels[index + 1] == level + 1
        first = f"/First {numbers[index + 1]} 0 R /Last {numbers[index + 1]} 0 R" if child else ""
        dest = f"[{pages[page - 1]} 0 R /Fit]"
        objects.put(numbers[index], f"<< /Title ({title}) /Parent {root} 0 R /Dest {dest} {following} {first} >>")
    objects.put(root, f"<< /Type /Outlines /First {numbers[0]} 0 R /Last {numbers[-1]} 0 R /Count {len(numbers)} >>")
    return root
