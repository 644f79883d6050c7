"""An EPUB is read chapter by chapter in its reading order; a hostile one is refused with a reason."""

from __future__ import annotations

import io
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quoth.documents.formats.epub import book_package
from quoth.documents.formats.epub.epub_document import extract
from quoth.errors import UnreadableFile
from quoth.types import RegionKind

from .epub_files import CONTAINER, archive, blocks, book, chapter, package

NAV = '<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>'
NCX = '<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>'
HEADING, PARAGRAPH = RegionKind.HEADING, RegionKind.PARAGRAPH


def refusal(data: bytes) -> UnreadableFile:
    with pytest.raises(UnreadableFile) as refused:
        extract(data)
    assert refused.value.path == ""
    assert refused.value.hint
    return refused.value


def test_chapters_come_in_the_order_of_the_spine() -> None:
    bodies = {"b": "<h1>Rye</h1><p>Sow rye at 2 cm.</p>", "a": "<h1>Barley</h1><p>Sow barley at 3 cm.</p>"}

    assert blocks(book(bodies, opf=package(["a", "b"], spine=["b", "a", "b", "gone"]))) == [
        (HEADING, "Rye", ("Rye",)),
        (PARAGRAPH, "Sow rye at 2 cm.", ("Rye",)),
        (HEADING, "Barley", ("Barley",)),
        (PARAGRAPH, "Sow barley at 3 cm.", ("Barley",)),
    ]


def test_title_and_language_come_from_the_package() -> None:
    assert dict(extract(book({"a": "<p>Sow.</p>"})).properties) == {"title": "Barley & Rye", "language": "en"}


def test_a_chapter_without_a_heading_takes_its_title_from_the_contents() -> None:
    nav = chapter(
        '<nav xmlns:epub="http://www.idpf.org/2007/ops" epub:type="toc"><ol><li><a href="a.xhtml">One <i>Barley</i></a>'
        '<ol><li><a href="b.xhtml#top">Two</a></li></ol></li></ol></nav>'
    )
    opf = package(["a", "b"], spine=["nav", "a", "b"], extra=NAV)

    found = blocks(book({"a": "<p>Sow it.</p>", "b": "<p>Reap it.</p>"}, opf=opf, more={"OEBPS/nav.xhtml": nav}))

    assert found == [
        (HEADING, "One Barley", ("One Barley",)),
        (PARAGRAPH, "Sow it.", ("One Barley",)),
        (HEADING, "Two", ("One Barley", "Two")),
        (PARAGRAPH, "Reap it.", ("One Barley", "Two")),
    ]


def test_the_older_table_of_contents_is_read_too() -> None:
    ncx = (
        '<?xml version="1.0"?><!DOCTYPE ncx PUBLIC "-//NISO//DTD ncx 2005-1//EN" "http://www.daisy.org/z3986/2005/ncx-2005-1.dtd">'
        '<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navMap><navPoint><navLabel><text>SOWING</text></navLabel>'
        '<content src="a%2Exhtml"/></navPoint></navMap></ncx>'
    )
    opf = package(["a"], extra=NCX, toc=' toc="ncx"')

    found = blocks(book({"a": "<p>Sowing</p><p>Sow it.</p>"}, opf=opf, more={"OEBPS/toc.ncx": ncx}))

    assert found == [(HEADING, "Sowing", ("Sowing",)), (PARAGRAPH, "Sow it.", ("Sowing",))]


def test_what_only_repeats_the_titles_is_a_table_of_contents() -> None:
    titles = [f"Part {n}" for n in range(6)]
    listed = "<ul>" + "".join(f"<li>{title}</li>" for title in titles) + "</ul>"
    parts = "".join(f"<h2>{title}</h2><p>Sow.</p>" for title in titles)

    found = blocks(book({"a": f"<h1>Barley</h1><p>Table of Contents</p>{listed}", "b": parts}))

    assert [kind for kind, _, _ in found[:8]] == [HEADING] + [RegionKind.CONTENTS] * 7
    assert found[8:10] == [(HEADING, "Part 0", ("Barley", "Part 0")), (PARAGRAPH, "Sow.", ("Barley", "Part 0"))]


def test_a_broken_table_of_contents_is_read_as_far_as_it_goes() -> None:
    nav = chapter('<nav epub:type="toc"><x:y><ol><li><a href="a.xhtml">One</a></li></ol></x:y></nav>')
    opf = package(["a"], extra=NAV)

    assert blocks(book({"a": "<p>Sow.</p>"}, opf=opf, more={"OEBPS/nav.xhtml": nav}))[0][1] == "One"


def test_headings_over_a_text_are_no_table_of_contents() -> None:
    found = blocks(book({"a": "<h1>A</h1><h2>B</h2><h3>C</h3><h4>D</h4><h5>E</h5><p>Sow.</p>"}))

    assert [kind for kind, _, _ in found] == [HEADING] * 5 + [PARAGRAPH]


def test_a_chapter_that_cannot_be_read_is_named_and_the_rest_is_read() -> None:
    found = extract(book({"a": "<div>" * 6_000 + "x", "b": "<p>Sow.</p>"}))

    assert found.text == "Sow."
    assert found.notes[0].startswith("the chapter OEBPS/a.xhtml was left out: its elements are nested")


def test_an_encrypted_chapter_is_refused_but_not_an_encrypted_font() -> None:
    def locked(path: str) -> dict[str, str]:
        reference = f'<CipherData><CipherReference URI="{path}"/></CipherData>'
        return {"META-INF/encryption.xml": f'<encryption xmlns="urn:x">{reference}</encryption>'}

    assert "DRM" in str(refusal(book({"a": "<p>Sow.</p>"}, more=locked("OEBPS/a.xhtml"))))
    assert extract(book({"a": "<p>Sow.</p>"}, more=locked("OEBPS/font.otf"))).text == "Sow."


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "it is not an EPUB"),
        (b"PK\x03\x04 broken", "it is not an EPUB"),
        (book({"a": "<p>Sow.</p>"})[:-60], "it is not an EPUB"),
        (archive({"mimetype": "application/epub+zip"}), "without a book"),
        (archive({"META-INF/container.xml": CONTAINER}), "its package is missing"),
        (archive({"META-INF/container.xml": ""}), "broken XML"),
        (book({"a": "<p>Sow.</p>"}, opf=package([])), "lists no chapters"),
        (book({"a": "<p>Sow.</p>"}, opf="<package/>"), "lists no chapters"),
        (book({"a": "<img src='x'/>"}), "no text"),
    ],
)
def test_what_is_no_book_is_refused(data: bytes, why: str) -> None:
    assert why in str(refusal(data))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_entities_are_refused_before_they_grow(encoding: str) -> None:
    laughs = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
    hostile = (
        f'<?xml version="1.0" encoding="{encoding}"?><!DOCTYPE p [<!ENTITY e0 "ha">{laughs}]><package>&e11;</package>'
    )
    parts: dict[str, str | bytes] = {
        "META-INF/container.xml": CONTAINER,
        "OEBPS/book.opf": hostile.encode(encoding),
    }

    assert "declares entities" in str(refusal(archive(parts)))


def test_a_part_that_unpacks_to_too_much_is_refused() -> None:
    blank = " " * (book_package.SMALL_PART_BYTES + 1)

    assert "unpacks to too much" in str(refusal(book({"a": f"<p>{blank}</p>"})))


def test_what_the_chapters_unpack_to_together_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(book_package, "MOST_TEXT_BYTES", 4_000)

    found = extract(book({"a": "<p>Sow.</p>", "b": f"<p>{'Reap. ' * 800}</p>"}))

    assert found.text == "Sow."
    assert found.notes == ("the chapter OEBPS/b.xhtml was left out: its part OEBPS/b.xhtml unpacks to too much",)


def test_too_many_files_are_refused() -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as file:
        for place in range(book_package.MOST_ENTRIES + 1):
            file.writestr(zipfile.ZipInfo(str(place)), b"")

    assert "holds more than" in str(refusal(made.getvalue()))


def test_no_path_leads_out_of_the_archive() -> None:
    opf = package(["a"]).replace('href="a.xhtml"', 'href="../../../../etc/passwd"')

    assert "lists no chapters" in str(refusal(book({"a": "<p>Sow.</p>"}, opf=opf)))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_file_with_flipped_bytes_is_read_or_refused_never_worse(data: st.DataObject) -> None:
    whole = bytearray(book({"a": "<h1>One</h1><p>Sow.</p>", "b": "<p>Reap.</p>"}))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = extract(bytes(whole))
    except UnreadableFile:
        return
    assert "\x00" not in found.text
