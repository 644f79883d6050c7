"""Word files, and those that are converted to one, that lie, loop, nest, grow or point elsewhere."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence

from hostile_parts import SAID, Hostile, World, hostile

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
TYPES = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
HEAD = '<?xml version="1.0" encoding="UTF-8"?>'
P = f"<w:p><w:r><w:t>{SAID}</w:t></w:r></w:p>"
OLE = bytes.fromhex("d0cf11e0a1b11ae1")


def archive(parts: Mapping[str, str | bytes] | Sequence[tuple[str, str | bytes]]) -> bytes:
    """A ZIP file of these parts, in this order; a name may come twice. The same parts give the same bytes."""
    made = io.BytesIO()
    pairs = parts.items() if isinstance(parts, Mapping) else parts
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in pairs:
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            file.NameToInfo.pop(name, None)  # or it warns that the name is there already
            file.writestr(info, content)
    return made.getvalue()


def part(root: str, content: str) -> str:
    return f'<w:{root} xmlns:w="{W}" xmlns:r="{TYPES}">{content}</w:{root}>'


def relations(*rows: str) -> str:
    return f'{HEAD}<Relationships xmlns="{RELATIONS}">{"".join(rows)}</Relationships>'


def relation(kind: str, target: str, *, external: bool = False) -> str:
    mode = ' TargetMode="External"' if external else ""
    return f'<Relationship Id="r{kind}" Type="{TYPES}/{kind}" Target="{target}"{mode}/>'


def parts(body: str, *rows: str, head: str = HEAD, **others: str) -> dict[str, str | bytes]:
    """The parts of a file with that body; `others` are the contents of `styles`, `numbering`, `footnotes`."""
    rows = (*rows, *(relation(kind, f"{kind}.xml") for kind in others))
    return {
        "[Content_Types].xml": f'{HEAD}<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
        "_rels/.rels": relations(relation("officeDocument", "word/document.xml")),
        "word/document.xml": head + part("document", f"<w:body>{body}</w:body>"),
        "word/_rels/document.xml.rels": relations(*rows),
        **{f"word/{kind}.xml": HEAD + part(kind, content) for kind, content in others.items()},
    }


def word(body: str, *rows: str, head: str = HEAD, **others: str) -> bytes:
    return archive(parts(body, *rows, head=head, **others))


def nested(tag_pairs: str, times: int, inner: str = P) -> str:
    """`inner` inside these elements (`tbl tr tc`) over and over."""
    names = tag_pairs.split()
    return (
        "".join(f"<w:{name}>" for name in names) * times
        + inner
        + "".join(f"</w:{name}>" for name in reversed(names)) * times
    )


def _entities(declared: str, used: str) -> bytes:
    return word(f"<w:p><w:r><w:t>{used}</w:t></w:r></w:p>{P}", head=f"{HEAD}<!DOCTYPE d [{declared}]>")


def _laughs() -> str:
    return '<!ENTITY a0 "ha">' + "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 12))


def overlapping(_world: World) -> bytes:
    """Thousands of directory entries that all point at one packed megabyte of nothing."""
    data = b"\x00" * (1 << 20)
    packed = zlib.compressobj(9, zlib.DEFLATED, -15)
    squeezed = packed.compress(data) + packed.flush()
    sizes = struct.pack("<III", zlib.crc32(data), len(squeezed), len(data))
    local = (
        b"PK\x03\x04" + struct.pack("<HHHHH", 20, 0, 8, 0, 0x21) + sizes + struct.pack("<HH", 1, 0) + b"a" + squeezed
    )
    names = ["word/document.xml", *(f"word/media/{number}.bin" for number in range(5_000))]
    directory = b"".join(
        b"PK\x01\x02"
        + struct.pack("<HHHHHH", 20, 20, 0, 8, 0, 0x21)
        + sizes
        + struct.pack("<HHHHHII", len(name), 0, 0, 0, 0, 0, 0)
        + name.encode()
        for name in names
    )
    end = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, len(names), len(names), len(directory), len(local), 0)
    return local + directory + end


def _bomb(world: World, megabytes: int) -> int:
    """So many megabytes; on a smaller scale still more than a part may hold that packs this well."""
    return max(20 << 20, world.many(megabytes << 20))


def _lying(world: World) -> bytes:
    """The main part says that it is 100 bytes long, and is 50 megabytes."""
    content = HEAD + part("document", " " * _bomb(world, 50))
    data = archive({"word/document.xml": content})
    return data.replace(struct.pack("<I", len(content)), struct.pack("<I", 100))


def _bombs(_world: World) -> bytes:
    """Archives in an archive, each of ten copies of the one below."""
    inner: bytes = archive({f"{n}.bin": b"\x00" * (1 << 20) for n in range(10)})
    for _ in range(4):
        inner = archive({f"{n}.zip": inner for n in range(10)})
    return archive({**parts(P), "word/embeddings/bomb.zip": inner})


def _numbered(levels: str, count: int) -> bytes:
    body = (
        '<w:p><w:pPr><w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr>'
        "</w:pPr><w:r><w:t>Item.</w:t></w:r></w:p>"
    )
    numbering = (
        f'<w:abstractNum w:abstractNumId="7">{levels}</w:abstractNum><w:num w:numId="1">'
        f'<w:abstractNumId w:val="7"/></w:num>'
    )
    return word(P + body * count, numbering=numbering)


def _level(form: str, text: str, start: str, place: str = "0") -> str:
    return (
        f'<w:lvl w:ilvl="{place}"><w:start w:val="{start}"/><w:numFmt w:val="{form}"/>'
        f'<w:lvlText w:val="{text}"/></w:lvl>'
    )


def _absurd_lists(_world: World) -> bytes:
    item = (
        '<w:p><w:pPr><w:numPr><w:ilvl w:val="{}"/><w:numId w:val="{}"/></w:numPr>'
        "</w:pPr><w:r><w:t>Item.</w:t></w:r></w:p>"
    )
    body = "".join(item.format(place, 1) for place in ("0", "-5", "99999999", "x", "8", "9")) + item.format(0, 10**30)
    levels = (
        _level("decimal", "%1%2%3%99", "9" * 30)
        + _level("upperRoman", "%9.", "999999999", "8")
        + _level("decimal", "%1", "-7", "-5")
    )
    return word(
        P + body,
        numbering=(
            f'<w:abstractNum w:abstractNumId="7">{levels}</w:abstractNum><w:num w:numId="1">'
            f'<w:abstractNumId w:val="7"/></w:num>'
        ),
    )


_REFERENCE = '<w:r><w:footnoteReference w:id="2"/></w:r>'


def _note(text: str, references: int) -> bytes:
    note = f'<w:footnote w:id="2"><w:p><w:r><w:t>{text}</w:t></w:r>{_REFERENCE}</w:p></w:footnote>'
    return word(f"<w:p><w:r><w:t>{SAID}</w:t></w:r>{_REFERENCE * references}</w:p>", footnotes=note)


def _styles(*based: tuple[str, str]) -> str:
    return "".join(
        (
            f'<w:style w:type="paragraph" w:styleId="{one}"><w:name w:val="{one}"/>'
            f'<w:basedOn w:val="{other}"/><w:link w:val="{one}"/></w:style>'
        )
        for one, other in based
    )


def _spans(_world: World) -> bytes:
    cell = '<w:tc><w:tcPr><w:gridSpan w:val="1000000000"/><w:vMerge/></w:tcPr>' + P + "</w:tc>"
    return word(
        f'<w:tbl><w:tblGrid/><w:tr><w:trPr><w:gridBefore w:val="999999999"/></w:trPr>'
        f"{cell * 3}</w:tr><w:tr>{cell}</w:tr></w:tbl>"
    )


def _remote(world: World) -> bytes:
    rows = [
        relation(kind, f"{world.url}/{kind}", external=True)
        for kind in ("styles", "image", "hyperlink", "subDocument", "oleObject")
    ]
    rows += [relation("numbering", f"{world.url}/numbering"), relation("footnotes", f"file://{world.outside}")]
    rows += [relation("attachedTemplate", f"{world.url}/template", external=True)]
    field = (
        f'<w:p><w:fldSimple w:instr=" INCLUDETEXT &quot;{world.outside}&quot;'
        f' "/><w:fldSimple w:instr=" INCLUDEPICTURE {world.url}/x.png "/></w:p>'
    )
    settings = '<w:attachedTemplate r:id="rattachedTemplate"/>'
    return word(P + field + '<w:subDoc r:id="rsubDocument"/><w:altChunk r:id="rimage"/>', *rows, settings=settings)


def _old_office(name: str) -> bytes:
    """The beginning of an OLE container with one directory entry of that name."""
    entry = name.encode("utf-16-le").ljust(64, b"\x00") + struct.pack("<H", 2 * len(name) + 2) + b"\x02" + b"\x00" * 61
    return OLE + b"\x00" * 504 + entry + b"\xff" * 2_000


def _traversal(world: World) -> bytes:
    return archive(
        {
            **parts(P),
            "../../../../x": "out",
            "/etc/cron.d/x": "out",
            "word\\..\\..\\x": "out",
            str(world.outside): "out",
            "C:\\x": "out",
        }
    )


def _rtf(text: str | bytes) -> bytes:
    return b"{\\rtf1\\ansi " + (text if isinstance(text, bytes) else text.encode()) + b" " + SAID.encode() + b"\\par}"


def _rtf_links(world: World) -> bytes:
    there, here = world.url, world.outside
    fields = "".join(
        f'{{\\field{{\\*\\fldinst {{ {kind} "{place}" \\\\d }}}}{{\\fldrslt x}}}}'
        for kind, place in (
            ("INCLUDEPICTURE", f"{there}/a.png"),
            ("INCLUDETEXT", here),
            ("INCLUDETEXT", f"{there}/a.txt"),
            ("DDEAUTO", "sh -c true"),
        )
    )
    return _rtf(f"{{\\*\\template {there}/template.dot}}{fields}")


def _odt(world: World) -> bytes:
    """A section and a picture that stand elsewhere."""
    spaces = " ".join(
        f'xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for short, name in (("office", "office"), ("text", "text"), ("draw", "drawing"))
    )
    body = f"""<office:document-content {spaces} xmlns:xlink="http://www.w3.org/1999/xlink" office:version="1.3">
    <office:body><office:text><text:p>{SAID}</text:p>
    <text:section text:name="a"><text:section-source xlink:href="file://{world.outside}"/></text:section>
    <text:section text:name="b"><text:section-source xlink:href="{world.url}/b.odt"/></text:section>
    <text:p><draw:frame>
    <draw:image xlink:href="{world.url}/c.png" xlink:type="simple" xlink:actuate="onLoad"/>
    </draw:frame></text:p></office:text></office:body></office:document-content>"""
    manifest = (
        '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
        '<manifest:file-entry manifest:full-path="/" manifest:media-type="application/vnd.oasis.opend'
        'ocument.text"/><manifest:file-entry manifest:full-path="content.xml" '
        'manifest:media-type="text/xml"/></manifest:manifest>'
    )
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as file:
        for name, content in (
            ("mimetype", "application/vnd.oasis.opendocument.text"),
            ("content.xml", HEAD + body),
            ("META-INF/manifest.xml", manifest),
        ):
            file.writestr(zipfile.ZipInfo(name), content)
    return made.getvalue()


def _mimetype_bomb(world: World) -> bytes:
    return archive({"mimetype": b"\x00" * _bomb(world, 200), "content.xml": "<x/>"})


FILES: tuple[Hostile, ...] = (
    hostile("docx/truncated.docx", "refused", lambda _: word(P)[:-80]),
    hostile("docx/truncated-early.docx", "refused", lambda _: word(P)[:100]),
    hostile(
        "docx/zip-bomb-of-200-mb-of-zeros.docx",
        "refused",
        lambda w: archive({**parts(P), "word/document.xml": b"\x00" * _bomb(w, 200)}),
    ),
    hostile("docx/zip-bomb-of-200-mb-of-xml.docx", "either", lambda w: word(P * (w.many(200 << 20) // len(P)))),
    hostile("docx/zip-bomb-in-the-styles.docx", "refused", lambda _: word(P, styles=" " * (20 << 20))),
    hostile("docx/zip-bomb-nested.docx", "taken", _bombs),
    hostile("docx/zip-bomb-overlapping.docx", "refused", overlapping),
    hostile("docx/zip-that-lies-about-sizes.docx", "refused", _lying),
    hostile(
        "docx/zip-of-a-hundred-thousand-names.docx",
        "refused",
        lambda w: archive([*parts(P).items(), *((f"word/{n}", "") for n in range(max(21_000, w.many(100_000))))]),
    ),
    hostile("docx/zip-mimetype-bomb.odt", "refused", _mimetype_bomb),
    hostile("docx/billion-laughs.docx", "refused", lambda _: _entities(_laughs(), "&a11;")),
    hostile(
        "docx/quadratic-blowup.docx", "refused", lambda _: _entities(f'<!ENTITY a "{"x" * 100_000}">', "&a;" * 50_000)
    ),
    hostile(
        "docx/entity-of-a-file.docx",
        "refused",
        lambda w: _entities(
            f'<!ENTITY a SYSTEM "file://{w.outside}"><!ENTITY b SYSTEM "file:///etc/passwd">', "&a;&b;"
        ),
    ),
    hostile(
        "docx/entity-of-the-net.docx",
        "refused",
        lambda w: _entities(f'<!ENTITY a SYSTEM "{w.url}/a"><!ENTITY % b SYSTEM "{w.url}/b">%b;', "&a;"),
    ),
    hostile(
        "docx/dtd-of-the-net.docx", "refused", lambda w: word(P, head=f'{HEAD}<!DOCTYPE d SYSTEM "{w.url}/d.dtd">')
    ),
    hostile("docx/encoded-as-utf-7.docx", "either", lambda _: word(P, head='<?xml version="1.0" encoding="UTF-7"?>')),
    hostile("docx/points-to-the-net-and-to-files.docx", "taken", _remote),
    hostile(
        "docx/main-part-outside.docx",
        "refused",
        lambda w: archive({"_rels/.rels": relations(relation("officeDocument", f"../../..{w.outside}"))}),
    ),
    hostile("docx/hundred-thousand-nested-tables.docx", "refused", lambda _: word(nested("tbl tr tc", 100_000))),
    hostile("docx/hundred-thousand-nested-sdt.docx", "refused", lambda _: word(nested("sdt sdtContent", 100_000))),
    hostile("docx/eighty-nested-tables.docx", "either", lambda _: word(nested("tbl tr tc", 80))),
    hostile("docx/names-that-climb-out.docx", "taken", _traversal),
    hostile(
        "docx/names-that-come-twice.docx",
        "either",
        lambda _: archive(
            [*parts(P).items(), ("word/document.xml", part("document", "<w:body/>")), ("WORD/Document.XML", "<")]
        ),
    ),
    hostile("docx/without-its-main-part.docx", "refused", lambda _: archive({"word/styles.xml": part("styles", "")})),
    hostile(
        "docx/styles-that-cycle.docx",
        "taken",
        lambda _: word(
            P.replace("<w:r>", '<w:pPr><w:pStyle w:val="A"/></w:pPr><w:r>', 1),
            styles=_styles(("A", "B"), ("B", "C"), ("C", "A"), ("D", "D")),
        ),
    ),
    hostile("docx/lists-of-absurd-levels.docx", "taken", _absurd_lists),
    hostile(
        "docx/roman-numbers-of-a-billion.docx",
        "either",
        lambda w: _numbered(_level("upperRoman", "%1.", "999999999"), max(100, w.many(2_000))),
    ),
    hostile(
        "docx/letter-numbers-of-a-billion.docx",
        "either",
        lambda w: _numbered(_level("lowerLetter", "%1.", "999999999"), max(100, w.many(2_000))),
    ),
    hostile(
        "docx/numbers-that-are-books.docx",
        "either",
        lambda w: _numbered(_level("decimal", "%1 x" * 20_000, "1"), max(500, w.many(5_000))),
    ),
    hostile("docx/note-that-points-to-itself.docx", "taken", lambda _: _note("A note.", 1)),
    hostile(
        "docx/note-that-is-printed-fifty-thousand-times.docx",
        "either",
        lambda w: _note("A long note. " * 3_000, max(2_000, w.many(50_000))),
    ),
    hostile("docx/cells-a-billion-wide.docx", "taken", _spans),
    hostile(
        "docx/fields-that-never-end.docx",
        "either",
        lambda w: word(P + '<w:p><w:r><w:fldChar w:fldCharType="begin"/></w:r></w:p>' * w.many(50_000) + P),
    ),
    hostile(
        "docx/attributes-by-the-hundred-thousand.docx",
        "either",
        lambda w: word("<w:p " + " ".join(f'a{n}="x"' for n in range(w.many(200_000))) + "/>" + P),
    ),
    hostile(
        "docx/paragraph-of-many-runs.docx",
        "either",
        lambda w: word("<w:p>" + "<w:r><w:t>x </w:t><w:tab/><w:br/></w:r>" * w.many(200_000) + "</w:p>" + P),
    ),
    hostile(
        "docx/characters-that-are-none.docx",
        "either",
        lambda _: word(
            (
                "<w:p><w:r><w:t>&#xFFFD;\ufdd0\U0010ffff\u202e\u200b</w:t><w:sym w:font='x' "
                "w:char='D800'/><w:sym w:font='x' w:char='F000000'/><w:sym w:char='0'/>"
                "</w:r></w:p>"
            )
            + P
        ),
    ),
    hostile("docx/character-of-nul.docx", "refused", lambda _: word("<w:p><w:r><w:t>&#0;</w:t></w:r></w:p>")),
    hostile("docx/encrypted-package.docx", "refused", lambda _: _old_office("EncryptedPackage")),
    hostile(
        "docx/with-macros.docm",
        "taken",
        lambda _: archive(
            {**parts(P, relation("vbaProject", "vbaProject.bin")), "word/vbaProject.bin": _old_office("VBA")}
        ),
    ),
    hostile("legacy/truncated.doc", "refused", lambda _: _old_office("WordDocument"), slow=True),
    hostile("legacy/spreadsheet.doc", "refused", lambda _: _old_office("Workbook")),
    hostile("legacy/truncated.rtf", "either", lambda _: _rtf("")[:20], slow=True),
    hostile("legacy/nested-by-the-hundred-thousand.rtf", "either", lambda w: _rtf("{" * w.many(200_000)), slow=True),
    hostile("legacy/binary-that-lies.rtf", "either", lambda _: _rtf("\\bin2147483647 x"), slow=True),
    hostile("legacy/points-to-the-net-and-to-files.rtf", "either", _rtf_links, slow=True),
    hostile(
        "legacy/object-that-is-junk.rtf",
        "either",
        lambda _: _rtf("{\\object\\objemb{\\*\\objdata " + "41" * 20_000 + "}}"),
        slow=True,
    ),
    hostile("legacy/points-to-the-net-and-to-files.odt", "either", _odt, slow=True),
)
