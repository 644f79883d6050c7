"""A hostile or broken DOCX is refused with a sentence and a next step, or survived."""

from __future__ import annotations

import io
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quoth.documents.formats.docx import docx_document as docx
from quoth.documents.formats.docx import package as docx_package
from quoth.errors import UnreadableFile

from .docx_files import archive, p, part, relations, texts, word

OLE = bytes.fromhex("d0cf11e0a1b11ae1")


def refusal(data: bytes) -> UnreadableFile:
    with pytest.raises(UnreadableFile) as refused:
        docx.extract(data)
    assert refused.value.path == ""
    assert refused.value.hint
    return refused.value


def document(xml: str | bytes) -> bytes:
    return archive({"word/document.xml": xml})


def test_what_is_no_archive_is_refused() -> None:
    assert "it is not a .docx" in str(refusal(b"just words"))
    assert "it is not a .docx" in str(refusal(b""))
    assert "it is not a .docx" in str(refusal(word(p("Cut off."))[:-40]))


def test_a_password_is_named() -> None:
    error = refusal(OLE + b"\x00" * 504 + "EncryptedPackage".encode("utf-16-le"))

    assert "it is protected by a password" in str(error)
    assert error.hint == "Open it with its password and save it without one."


def test_an_older_format_under_the_new_name_is_named() -> None:
    assert "older Office" in str(refusal(OLE + b"\x00" * 600))


def test_another_kind_of_archive_is_refused() -> None:
    assert "without a Word document" in str(refusal(archive({"hello.txt": "hello"})))
    sheet = '<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"/>'
    parts = {"_rels/.rels": relations({"xl/workbook.xml": "officeDocument"}), "xl/workbook.xml": sheet}
    assert "is not a Word document" in str(refusal(archive(parts)))


def test_broken_xml_is_refused() -> None:
    assert "broken XML" in str(refusal(document("<w:document")))
    assert "broken XML" in str(refusal(document("")))
    assert "broken XML" in str(refusal(document(b"\xff\xfe\xff")))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_entities_are_refused_before_they_grow(encoding: str) -> None:
    laughs = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
    body = part("document", f"<w:body>{p('&e11;')}</w:body>").split("?>", 1)[1]
    hostile = f'<?xml version="1.0" encoding="{encoding}"?><!DOCTYPE d [<!ENTITY e0 "ha">{laughs}]>{body}'

    assert "declares a document type" in str(refusal(document(hostile.encode(encoding))))


def test_no_file_of_the_machine_is_read(tmp_path: object) -> None:
    hostile = '<!DOCTYPE d [<!ENTITY e SYSTEM "file:///etc/passwd">]>'
    body = part("document", f"<w:body>{p('&e;')}</w:body>").split("?>", 1)[1]

    assert "declares a document type" in str(refusal(document(hostile + body)))


def test_what_lies_outside_the_package_is_not_followed() -> None:
    outside = (
        f'<Relationships xmlns="{"http://schemas.openxmlformats.org/package/2006/relationships"}">'
        '<Relationship Type="t/styles" Target="http://127.0.0.1:9/styles.xml" TargetMode="External"/>'
        '<Relationship Type="t/numbering" Target="../../../../etc/passwd"/></Relationships>'
    )
    parts = {
        "word/document.xml": part("document", f"<w:body>{p('Still read.')}</w:body>"),
        "word/_rels/document.xml.rels": outside,
    }

    assert texts(archive(parts)) == ["Still read."]


def test_a_part_that_unpacks_to_too_much_is_refused() -> None:
    blank = " " * (docx_package.SMALL_PART_BYTES + 1)

    assert "unpacks to too much" in str(refusal(document(f"{blank}")))


def test_an_archive_that_declares_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = archive({"word/document.xml": part("document", ""), "word/media/film.bin": b"\x00" * 4_096})

    monkeypatch.setattr(docx_package, "MOST_BYTES", 4_096)
    assert "unpacks to more than" in str(refusal(data))


def test_too_many_files_are_refused() -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as file:
        for place in range(docx_package.MOST_ENTRIES + 1):
            file.writestr(zipfile.ZipInfo(str(place)), b"")

    assert "holds more than" in str(refusal(made.getvalue()))


def test_a_damaged_part_is_refused() -> None:
    data = bytearray(word(p("Some words that are packed."), styles=""))
    at = data.find(b"word/document.xml") + len("word/document.xml")
    data[at + 5 : at + 25] = b"\xff" * 20

    assert "cannot be unpacked" in str(refusal(bytes(data)))


def test_nesting_without_end_is_refused_or_survived() -> None:
    deep = "<w:sdt><w:sdtContent>" * 100 + p("Deep.") + "</w:sdtContent></w:sdt>" * 100
    assert texts(word(deep)) == ["Deep."]

    deeper = "<w:customXml>" * 100_000 + "</w:customXml>" * 100_000
    assert "broken XML" in str(refusal(word(deeper)))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_file_with_flipped_bytes_is_read_or_refused_never_worse(data: st.DataObject) -> None:
    whole = bytearray(word(p("One.") + p("Two.", style="berschrift1"), footnotes="", header=p("Draft")))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    try:
        extract = docx.extract(bytes(whole))
    except UnreadableFile:
        return
    assert "\x00" not in extract.text


TAGS = [
    "p",
    "r",
    "t",
    "tbl",
    "tr",
    "tc",
    "sdt",
    "sdtContent",
    "ins",
    "del",
    "pPr",
    "txbxContent",
    "fldChar",
    "numPr",
    "br",
]


@settings(max_examples=150, deadline=None)
@given(
    st.recursive(
        st.sampled_from(["<w:t>word 2.5</w:t>", "<w:tab/>", "<w:br/>", "text"]),
        lambda inner: st.builds(
            lambda tag, parts: f"<w:{tag}>{''.join(parts)}</w:{tag}>",
            st.sampled_from(TAGS),
            st.lists(inner, max_size=4),
        ),
        max_leaves=30,
    )
)
def test_any_nesting_of_elements_gives_a_whole_text(body: str) -> None:
    extract = docx.extract(word(body))
    covered = {place for region in extract.regions or () for place in range(region.span.start, region.span.end)}

    assert all(extract.text[place].isspace() for place in set(range(len(extract.text))) - covered)
