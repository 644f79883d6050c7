"""Books that unpack to too much, lie about their parts, or point elsewhere."""

from __future__ import annotations

from hostile_docx import archive
from hostile_parts import SAID, Hostile, World, hostile

CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
)
P = f"<p>{SAID}</p>"


def chapter(body: str, declared: str = "") -> str:
    return f'<?xml version="1.0"?>{declared}<html xmlns="http://www.w3.org/1999/xhtml"><body>{body}</body></html>'


def package(items: str, spine: str, declared: str = "", title: str = "Barley") -> str:
    return (
        f'<?xml version="1.0"?>{declared}<package xmlns="http://www.idpf.org/2007/opf" version="3.0">'
        f'<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}</dc:title></metadata>'
        f"<manifest>{items}</manifest><spine>{spine}</spine></package>"
    )


def item(name: str) -> str:
    return f'<item id="{name}" href="{name}" media-type="application/xhtml+xml"/>'


def listed(name: str) -> str:
    return f'<itemref idref="{name}"/>'


ONE = package(item("a.xhtml"), listed("a.xhtml"))


def book(body: str = P, *, opf: str = ONE, more: dict[str, str | bytes] | None = None) -> bytes:
    parts: dict[str, str | bytes] = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": CONTAINER,
        "book.opf": opf,
        "a.xhtml": chapter(body),
        **(more or {}),
    }
    return archive(parts)


def _laughs() -> str:
    grown = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 12))
    return f'<!DOCTYPE x [<!ENTITY a0 "ha">{grown}]>'


def _outside(world: World) -> bytes:
    declared = f'<!DOCTYPE x [<!ENTITY a SYSTEM "{world.outside.as_uri()}">]>'
    return book(more={"a.xhtml": chapter(f"<p>&a;</p>{P}<img src='{world.url}/a.png'/>", declared)})


def _many_chapters(world: World) -> bytes:
    names = [f"{number}.xhtml" for number in range(50)]
    opf = package("".join(map(item, names)), "".join(map(listed, names)))
    return book(opf=opf, more={name: chapter("<p>x</p>" * world.many(900_000) + P) for name in names})


FILES: tuple[Hostile, ...] = (
    hostile("book/plain.epub", "taken", lambda _: book()),
    hostile("book/truncated.epub", "refused", lambda _: book()[:-40]),
    hostile("book/chapter-of-a-gigabyte.epub", "refused", lambda w: book("x" * max(9 << 20, w.many(1 << 30)))),
    hostile("book/many-chapters-that-grow.epub", "either", _many_chapters),
    hostile(
        "book/package-of-laughs.epub",
        "refused",
        lambda _: book(opf=package(item("a.xhtml"), "&a11;", _laughs(), "&a11;")),
    ),
    hostile(
        "book/chapter-of-laughs.epub",
        "either",
        lambda _: book(more={"a.xhtml": chapter(f"<p>&a11;</p>{P}", _laughs())}),
    ),
    hostile("book/entity-of-a-file.epub", "either", _outside),
    hostile(
        "book/chapter-outside-the-archive.epub",
        "refused",
        lambda w: book(opf=ONE.replace('href="a.xhtml"', f'href="../..{w.outside}"')),
    ),
    hostile(
        "book/spine-that-repeats.epub",
        "taken",
        lambda w: book(opf=package(item("a.xhtml"), listed("a.xhtml") * w.many(200_000))),
    ),
    hostile("book/package-that-nests.epub", "either", lambda w: book(opf="<package>" * w.many(100_000))),
    hostile("book/chapter-that-nests.epub", "refused", lambda _: book("<div>" * 100_000 + P)),
    hostile("book/package-is-missing.epub", "refused", lambda _: archive({"META-INF/container.xml": CONTAINER})),
    hostile("book/nul-in-a-chapter.epub", "taken", lambda _: book(f"\x00{P}")),
    hostile("book/really-a-text.epub", "refused", lambda _: SAID.encode()),
)
